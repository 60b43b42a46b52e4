use std::path::PathBuf;

use hermes_types::{Args, Parallel, ToolOutput};
use serde_json::{Value, json};

use super::desk::Desk;

/// What the model is sent for each tool, in bytes: the default tools share 12 KB.
#[test]
fn definitions_are_short() {
    let desk = Desk::new();
    let check = |name: &str, most: usize| {
        let spec = desk.tool(name).spec();
        let sent = json!({"type": "function", "function": {"name": spec.name,
            "description": spec.description, "parameters": spec.parameters}});
        let size = sent.to_string().len();
        println!("{name}: {size} bytes");
        assert!(size <= most, "{name}: {size}");
    };
    check("read_file", 700);
    check("write_file", 700);
    check("patch", 1400);
    check("search_files", 700);
}

#[test]
fn what_runs_beside_what() {
    let desk = Desk::new();
    let check = |name: &str, parallel: Parallel, idempotent: bool| {
        let spec = desk.tool(name).spec();
        assert_eq!(
            (spec.parallel, spec.idempotent, spec.toolset),
            (parallel, idempotent, "file")
        );
    };
    check("read_file", Parallel::Always, true);
    check("search_files", Parallel::Always, true);
    check("write_file", Parallel::ByPath, false);
    check("patch", Parallel::ByPath, false);
}

#[test]
fn paths_and_digests() {
    let desk = Desk::new();
    let check = |name: &str, args: Value, paths: &[&str], digest: &str| {
        let args: Args = args.as_object().unwrap().clone();
        let spec = desk.tool(name).spec();
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        assert_eq!((spec.paths)(&args), paths);
        assert_eq!((spec.digest)(&args, &ToolOutput::done("")), digest);
    };
    check(
        "read_file",
        json!({"path": "a", "offset": 7}),
        &["a"],
        "a from line 7",
    );
    check(
        "write_file",
        json!({"path": "a", "content": "xyz"}),
        &["a"],
        "a (3 bytes)",
    );
    check(
        "patch",
        json!({"path": "a", "old_string": "x"}),
        &["a"],
        "a",
    );
    let patch = "*** Update File: a\n-x\n*** Move File: b -> c\n";
    check(
        "patch",
        json!({"mode": "patch", "patch": patch}),
        &["a", "b", "c"],
        "a, b, c",
    );
    check("search_files", json!({"pattern": "x"}), &["."], "x in .");
    check("read_file", json!({}), &[], "?");
}
