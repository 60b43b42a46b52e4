//! Tools called by scripts.

use hermes_types::ToolOutput;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{ALL, World};

// spec: tools §8.17
#[tokio::test]
async fn tools_give_their_results_as_objects() {
    let world = World::new().answering(|name, args| {
        Some(match name {
            "terminal" => ToolOutput::json(&json!({"output": "X", "exit_code": 0})),
            _ => ToolOutput::json(&json!({"total_lines": 2, "path": args["path"]})),
        })
    });
    let code = "from hermes_tools import terminal, read_file; print(terminal(\"echo X\")[\"output\"]); \
        print(read_file(\"a.py\")[\"total_lines\"])";
    let result = world.run(code).await;
    assert_eq!(
        (
            &result["status"],
            &result["output"],
            &result["tool_calls_made"]
        ),
        (&json!("success"), &json!("X\n2"), &json!(2))
    );
    let read = json!({"path": "a.py", "offset": 1, "limit": 500, "_for_script": true});
    assert_eq!(
        world.caller.calls(),
        [
            ("terminal".to_owned(), json!({"command": "echo X"})),
            ("read_file".to_owned(), read),
        ]
    );
}

#[tokio::test]
async fn every_function_calls_its_tool() {
    let world = World::new();
    let code = r#"
import hermes_tools as t
t.web_search("q", limit=3)
t.web_extract(["https://x"])
t.read_file("a", 2, 3)
t.write_file("a", "line\n")
t.search_files("x", file_glob="*.py")
t.patch("a", "x", "y")
t.patch(mode="patch", patch="*** Begin Patch")
t.terminal("ls", timeout=5, workdir="/")
"#;
    let result = world.run(code).await;
    assert_eq!(result["status"], "success", "{result}");
    assert_eq!(result["tool_calls_made"], 8);
    let calls = world.caller.calls();
    let called: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    for tool in ALL {
        assert!(called.contains(&tool), "{tool} in {called:?}");
    }
    assert_eq!(calls[0].1, json!({"query": "q", "limit": 3}));
    assert_eq!(
        calls[5].1,
        json!({"mode": "replace", "path": "a", "old_string": "x", "new_string": "y", "replace_all": false})
    );
    assert_eq!(
        calls[7].1,
        json!({"command": "ls", "timeout": 5, "workdir": "/"})
    );
}

#[tokio::test]
async fn tools_that_the_session_lacks_are_not_there() {
    let mut world = World::new();
    world.tools = vec!["read_file"];
    let result = world.run("from hermes_tools import terminal").await;
    assert!(
        result["error"].as_str().unwrap().contains("ImportError"),
        "{result}"
    );
    let code = "import hermes_tools; print(hermes_tools._call('terminal', command='ls')['error'])";
    let result = world.run(code).await;
    assert_eq!(
        (&result["output"], &result["tool_calls_made"]),
        (
            &json!("Scripts cannot call 'terminal'. They can call: read_file"),
            &json!(0)
        )
    );
    assert_eq!(world.caller.calls(), Vec::new());
}

// spec: tools §8.18
#[tokio::test]
async fn calls_beyond_the_limit_fail_and_the_script_goes_on() {
    let world = World::new();
    let code = "from hermes_tools import terminal\n\
        errors = [n for n in range(1, 61) if 'error' in terminal(f'echo {n}')]\n\
        print(errors[0], len(errors))\n";
    let result = world.run(code).await;
    assert_eq!(
        (
            &result["status"],
            &result["output"],
            &result["tool_calls_made"]
        ),
        (&json!("success"), &json!("51 10"), &json!(50))
    );
    assert_eq!(world.caller.calls().len(), 50);
}

#[tokio::test]
async fn what_a_tool_says_beside_its_result() {
    let world = World::new().answering(|name, _| {
        Some(match name {
            "terminal" => ToolOutput::failed("no such thing"),
            "read_file" => ToolOutput::done("{\"content\":\"1|a\"}\n\n[Hint: more]"),
            _ => ToolOutput::done("<persisted-output>\nsaved"),
        })
    });
    let code = "from hermes_tools import *\n\
        print(terminal('x')['error'], read_file('a')['_note'], search_files('a')['output'], sep='|')";
    let result = world.run(code).await;
    assert_eq!(
        result["output"],
        "no such thing|[Hint: more]|<persisted-output>\nsaved"
    );
}

#[tokio::test]
async fn helpers() {
    let code = r#"
from hermes_tools import json_parse, retry, shell_quote
print(shell_quote("a b'c"))
print(json_parse('{"a": "x\ty\nz"}'))
left = [2]
def flaky():
    left[0] -= 1
    if left[0] >= 0: raise ValueError(left[0])
    return "at last"
print(retry(flaky, max_attempts=3, delay=0))
try: retry(lambda: 1 / 0, max_attempts=2, delay=0)
except ZeroDivisionError: print("given up")
"#;
    let result = World::new().run(code).await;
    let expected = "'a b'\"'\"'c'\n{'a': 'x\\ty\\nz'}\nat last\ngiven up";
    assert_eq!(result["output"], expected, "{result}");
}

#[tokio::test]
async fn threads_and_children_of_a_script_can_call_too() {
    let code = r#"
import os
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import terminal
with ThreadPoolExecutor(20) as pool:
    answers = list(pool.map(lambda n: terminal(str(n))["command"], range(40)))
assert answers == [str(n) for n in range(40)], answers
children = []
for n in range(9):
    pid = os.fork()
    if pid == 0:
        assert terminal(f"child {n}")["command"] == f"child {n}"
        os._exit(0)
    children.append(pid)
print([os.waitpid(pid, 0)[1] for pid in children], terminal("parent")["command"])
"#;
    let result = World::new().run(code).await;
    assert_eq!(
        result["output"], "[0, 0, 0, 0, 0, 0, 0, 0, 0] parent",
        "{result}"
    );
    assert_eq!(result["tool_calls_made"], 50);
}

#[tokio::test]
async fn large_arguments_and_results_pass_and_larger_ones_are_refused() {
    let world = World::new().answering(|_, args| {
        let size = args["content"].as_str().unwrap().len();
        Some(ToolOutput::json(
            &json!({"size": size, "back": "y".repeat(1_000_000)}),
        ))
    });
    let code = "from hermes_tools import write_file\n\
        one = write_file('a', 'x' * 5_000_000)\n\
        print(one['size'], len(one['back']), 'too large' in write_file('a', 'x' * 9_000_000)['error'])";
    let result = world.run(code).await;
    assert_eq!(result["output"], "5000000 1000000 True", "{result}");
    assert_eq!(result["tool_calls_made"], 1);
}

#[tokio::test]
async fn odd_values_are_answered_not_feared() {
    let code = "from hermes_tools import terminal\n\
        for odd in [float('nan'), '\\ud800']: print('not a call' in terminal(odd)['error'])\n\
        print(terminal('fine')['command'])";
    let result: Value = World::new().run(code).await;
    assert_eq!(result["output"], "True\nTrue\nfine", "{result}");
}
