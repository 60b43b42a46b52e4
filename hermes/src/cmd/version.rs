//! `hermes version`

use std::io::Write;

use anyhow::Result;
use hermes_lines::Out;
use serde_json::json;

use crate::cli::Format;

/// When this version was released; changes with the version in Cargo.toml.
const RELEASED: &str = "2026-11-15";

pub fn print(out: &mut Out, format: Format) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let program = std::env::current_exe()
        .map(|path| path.display().to_string())
        .unwrap_or_default();
    match format {
        Format::Json => {
            out.json(&json!({"version": version, "released": RELEASED, "program": program}))?
        }
        Format::Text => {
            writeln!(out, "Hermes Agent v{version} ({RELEASED})")?;
            writeln!(out, "Program: {program}")?;
        }
    }
    Ok(out.flush()?)
}
