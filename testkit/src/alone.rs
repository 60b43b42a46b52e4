//! Tests that measure their process.

use std::env;
use std::process::Command;
use std::thread;

const ALONE: &str = "HERMES_TEST_ALONE";

/// Whether the calling test has its process to itself: memory and open files are everybody's. If not, it runs again
/// in a process of its own, must pass there, and has nothing more to do here.
#[track_caller]
pub fn is_alone() -> bool {
    // Where tests run one after the other, they run on the main thread.
    let name = thread::current().name().unwrap_or("main").to_owned();
    if env::var_os(ALONE).is_some() || name == "main" {
        return true;
    }
    let itself = env::current_exe().expect("the test program");
    let output = Command::new(itself)
        .args([&name, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("run the test program again");
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(passed, "alone, {name} fails:\n{said}\n{errors}");
    false
}
