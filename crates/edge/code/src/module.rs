//! The Python module that scripts import: one function for each tool of the session that they may call.

use crate::rpc::MAX_REQUEST;

const TRANSPORT: &str = include_str!("python/transport.py");
const STUBS: &str = include_str!("python/stubs.py");

/// What a script may call, with the signature of its function as the model is told.
const CALLABLE: [(&str, &str); 7] = [
    (
        "web_search",
        "web_search(query, limit=5) → {\"data\": {\"web\": [{title, url, description}]}}",
    ),
    (
        "web_extract",
        "web_extract(urls) → {\"results\": [{url, title, content, error}]}",
    ),
    (
        "read_file",
        "read_file(path, offset=1, limit=500) → {\"content\" (lines as N|text), \"total_lines\"}",
    ),
    ("write_file", "write_file(path, content)"),
    (
        "search_files",
        "search_files(pattern, target=\"content\"|\"files\", path=\".\", file_glob=None, limit=50) → \
         {\"total_count\", \"matches\"|\"files\"}",
    ),
    (
        "patch",
        "patch(path, old_string, new_string, replace_all=False)",
    ),
    (
        "terminal",
        "terminal(command, timeout=None, workdir=None) → {\"output\", \"exit_code\"}",
    ),
];

/// Those of `tools` that a script may call.
pub(crate) fn callable<'n>(tools: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let known = |name: &&str| CALLABLE.iter().any(|(callable, _)| callable == name);
    tools.into_iter().filter(known).map(str::to_owned).collect()
}

/// What the model is told about them, a line each.
pub(crate) fn signatures(tools: &[String]) -> String {
    let lines = CALLABLE
        .iter()
        .filter(|(name, _)| tools.iter().any(|tool| tool == name));
    lines.map(|(_, line)| format!("\n  {line}")).collect()
}

/// `hermes_tools.py`
pub(crate) fn text(tools: &[String]) -> String {
    let transport = TRANSPORT.replace("@MAX_REQUEST@", &MAX_REQUEST.to_string());
    let mut module = transport.trim_end().to_owned();
    for stub in STUBS.split("\n\n\n") {
        if tools.iter().any(|tool| defines(stub, tool)) {
            module.push_str("\n\n\n");
            module.push_str(stub.trim_end());
        }
    }
    module.push('\n');
    module
}

fn defines(stub: &str, tool: &str) -> bool {
    let rest = stub
        .strip_prefix("def ")
        .and_then(|stub| stub.strip_prefix(tool));
    rest.is_some_and(|rest| rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_one_function_and_no_other_is_there() {
        for (name, _) in CALLABLE {
            let module = text(&callable(["todo", name, "execute_code"]));
            let defined = |tool: &str| module.contains(&format!("\ndef {tool}("));
            for (other, _) in CALLABLE {
                assert_eq!(defined(other), other == name, "{other} for {name}");
            }
            assert!(defined("json_parse") && defined("shell_quote") && defined("retry"));
            assert!(signatures(&[name.to_owned()]).contains(name));
        }
        assert!(!text(&[]).contains('@'));
    }
}
