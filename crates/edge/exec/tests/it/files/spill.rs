use hermes_exec::files::{Cwd, LocalWorkspace, Spill};
use serde_json::json;

use super::desk::Desk;

// spec: tools §8.16
#[tokio::test]
async fn a_long_result_is_put_into_a_file() {
    let desk = Desk::new();
    let workspace = LocalWorkspace::new(desk.cwd.clone());
    let text = "0123456789 line\n".repeat(9375);
    assert_eq!(text.len(), 150_000);
    let spill = Spill::new(&desk.path("tmp"));
    let shown = spill.put(&workspace, "call_1", &text).await;
    assert!(Spill::is_stand_in(&shown) && shown.ends_with("</persisted-output>"));
    assert!(shown.contains("150,000 characters (146.5 KB)"), "{shown}");
    assert!(shown.len() < 2000);
    let path = desk.path("tmp/hermes-results/call_1.txt");
    assert!(shown.contains(path.to_str().unwrap()));
    assert_eq!(desk.text("tmp/hermes-results/call_1.txt"), text);
    let read = desk
        .call("read_file", json!({"path": path, "offset": 9375}))
        .await;
    assert_eq!(read["content"], "9375|0123456789 line");
    // The tool that reads it is never stored itself.
    assert_eq!(desk.tool("read_file").spec().max_output, None);
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_is_cut() {
    let desk = Desk::new();
    desk.put("tmp", "a file, where a directory should be");
    let workspace = LocalWorkspace::new(Cwd::new("/"));
    let spill = Spill::new(&desk.path("tmp"));
    let shown = spill.put(&workspace, "call_1", &"x".repeat(5000)).await;
    assert!(
        !Spill::is_stand_in(&shown) && shown.contains("Truncated to 1500 of 5,000"),
        "{shown}"
    );
}
