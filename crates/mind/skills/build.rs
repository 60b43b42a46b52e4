//! Puts the bundled skills into the library: one table of their files, and a stamp that changes with any of them.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "this is how a build script talks with cargo"
)]

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("bundled");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut table = String::from("pub(super) static FILES: &[(&str, &[u8])] = &[\n");
    let mut stamp = Stamp::default();
    for file in &files {
        let path = file.strip_prefix(&root)?.to_string_lossy().into_owned();
        writeln!(table, "    ({path:?}, include_bytes!({file:?})),")?;
        stamp.add(path.as_bytes());
        stamp.add(&fs::read(file)?);
    }
    writeln!(
        table,
        "];\npub(super) static STAMP: &str = \"{:016x}\";",
        stamp.0
    )?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("bundled.rs");
    Ok(fs::write(out, table)?)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a: the same on every machine, and nobody tries to fool it.
struct Stamp(u64);

impl Default for Stamp {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Stamp {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
