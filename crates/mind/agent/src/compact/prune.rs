//! What can be left out without asking anybody: results that were given again later, long results of long ago,
//! pictures, and the bulk of what was written.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use hermes_types::{Args, Content, KnownPart, Message, Part, Role, ToolOutput};
use serde_json::{Map, Value};

use crate::toolbox::Toolbox;

/// A result up to here is its own digest.
const SHORT: usize = 200;
/// Arguments up to here stay as they are.
const SHORT_ARGUMENTS: usize = 500;
const LEAF_HEAD: usize = 120;
const ABOUT: usize = 80;
const PICTURE: &str = "[picture left out]";

/// Shortens what comes before `upto`; doing it again changes nothing.
pub fn prune(messages: &mut [Message], upto: usize, toolbox: &Toolbox) {
    let repeated = repeated(messages);
    let mut calls: HashMap<String, (String, String)> = HashMap::new();
    for (at, message) in messages.iter_mut().enumerate().take(upto) {
        drop_pictures(message);
        if message.role != Role::Tool {
            calls = message
                .tool_calls
                .iter()
                .map(|call| {
                    (
                        call.id.clone(),
                        (call.function.name.clone(), call.function.arguments.clone()),
                    )
                })
                .collect();
            shorten_arguments(message);
            continue;
        }
        let call = message.tool_call_id.as_ref().and_then(|id| calls.get(id));
        let Some(Content::Text(text)) = &mut message.content else {
            continue;
        };
        if is_short(text) {
            continue;
        }
        let (name, arguments) = call.map_or(("tool", "{}"), |(name, arguments)| (name, arguments));
        let output = std::mem::take(text);
        *text = if repeated.contains(&at) {
            line(name, arguments, output, toolbox, Later::Again)
        } else {
            line(name, arguments, output, toolbox, Later::Gone)
        };
    }
}

/// What is said about a result instead of it.
enum Later {
    /// The same result stands further down.
    Again,
    Gone,
}

/// Long results that come again, word for word.
fn repeated(messages: &[Message]) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let mut repeated = HashSet::new();
    for (at, message) in messages.iter().enumerate().rev() {
        if let (Role::Tool, Some(Content::Text(text))) = (&message.role, &message.content)
            && !is_short(text)
        {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            if !seen.insert((text.len(), hasher.finish())) {
                repeated.insert(at);
            }
        }
    }
    repeated
}

fn is_short(text: &str) -> bool {
    text.len() <= SHORT || text.chars().nth(SHORT).is_none()
}

/// `[terminal] cargo test -> exit 0, 120 lines, 5.2 KB`
fn line(name: &str, arguments: &str, output: String, toolbox: &Toolbox, later: Later) -> String {
    let (lines, bytes) = (output.lines().count(), output.len());
    let outcome = outcome(&output);
    let args: Args = serde_json::from_str(arguments).unwrap_or_default();
    let about = match toolbox.get(name) {
        Some(tool) => (tool.spec().digest)(&args, &ToolOutput::done(output)),
        None => first_text(&args),
    };
    let about: String = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let about = cut(&about, ABOUT);
    let size = format!("{lines} lines, {:.1} KB", bytes as f64 / 1024.0);
    let told = match later {
        Later::Again => "same result again below".to_owned(),
        Later::Gone => format!("{outcome}{size}"),
    };
    let gap = if about.is_empty() { "" } else { " " };
    format!("[{}]{gap}{about} -> {told}", cut(name, 40))
}

/// The stored text is all that is left of how a call ended.
fn outcome(output: &str) -> String {
    let code = output.rfind("\"exit_code\":").and_then(|at| {
        let rest = output[at + "\"exit_code\":".len()..].trim_start();
        let end = rest
            .find(|c: char| c != '-' && !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse::<i64>().ok()
    });
    match code {
        Some(code) => format!("exit {code}, "),
        None if output.trim_start().starts_with("{\"error\"") => "failed, ".to_owned(),
        None => String::new(),
    }
}

fn first_text(args: &Args) -> String {
    let mut texts = args.values().filter_map(Value::as_str);
    texts.next().unwrap_or_default().to_owned()
}

fn drop_pictures(message: &mut Message) {
    if let Some(Content::Parts(parts)) = &mut message.content {
        for part in parts {
            if matches!(part, Part::Known(KnownPart::ImageUrl { .. })) {
                let text = PICTURE.to_owned();
                *part = Part::Known(KnownPart::Text {
                    text,
                    extra: Map::new(),
                });
            }
        }
    }
}

/// Cuts inside the parsed JSON, so that it stays JSON.
fn shorten_arguments(message: &mut Message) {
    for call in &mut message.tool_calls {
        let arguments = &mut call.function.arguments;
        if arguments.len() > SHORT_ARGUMENTS
            && let Ok(mut value) = serde_json::from_str::<Value>(arguments)
            && shorten(&mut value)
        {
            *arguments = value.to_string();
        }
    }
}

fn shorten(value: &mut Value) -> bool {
    match value {
        Value::String(text) if !is_short(text) => {
            let count = text.chars().count();
            *text = format!("{}… [{count} characters, cut]", cut(text, LEAF_HEAD));
            true
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |cut, item| shorten(item) | cut),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |cut, field| shorten(field) | cut),
        _ => false,
    }
}

pub fn cut(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use hermes_types::{FunctionCall, ToolCall};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: &Value) -> Message {
        let function = FunctionCall {
            name: name.to_owned(),
            arguments: arguments.to_string(),
            extra: Map::new(),
        };
        let call = ToolCall {
            id: "1".to_owned(),
            kind: "function".to_owned(),
            function,
            extra: Map::new(),
        };
        Message {
            tool_calls: vec![call],
            ..Message::assistant("")
        }
    }

    fn said(message: &Message) -> String {
        message.content.as_ref().unwrap().plain()
    }

    #[test]
    fn results_become_lines_and_the_newest_of_two_stays() {
        let long = format!(
            "{{\"output\": \"{}\", \"exit_code\": 3}}",
            "x\\n".repeat(2_000)
        );
        let command = json!({"command": "cargo  test\n--all"});
        let mut messages = vec![
            call("terminal", &command),
            Message::tool("1", "terminal", long.clone()),
            call("terminal", &command),
            Message::tool("1", "terminal", long.clone()),
            Message::user("next"),
        ];
        let mut all = messages.clone();
        prune(&mut messages, 3, &Toolbox::default());
        assert_eq!(
            said(&messages[1]),
            "[terminal] cargo test --all -> same result again below"
        );
        assert_eq!(said(&messages[3]), long, "the end is not touched");
        prune(&mut all, 4, &Toolbox::default());
        assert_eq!(
            said(&all[3]),
            "[terminal] cargo test --all -> exit 3, 1 lines, 5.9 KB"
        );
    }

    #[test]
    fn short_results_and_arguments_stay() {
        let mut messages = vec![
            call("read", &json!({"path": "/a", "note": "y".repeat(300)})),
            Message::tool("1", "read", "short"),
        ];
        let before = messages.clone();
        prune(&mut messages, 2, &Toolbox::default());
        assert_eq!(messages, before);
    }

    #[test]
    fn arguments_are_cut_inside_their_json() {
        let mut messages = vec![call(
            "write_file",
            &json!({"path": "/a", "content": "é".repeat(5_000), "more": [{"deep": "z".repeat(900)}]}),
        )];
        prune(&mut messages, 1, &Toolbox::default());
        let arguments: Value =
            serde_json::from_str(&messages[0].tool_calls[0].function.arguments).unwrap();
        assert_eq!(arguments["path"], "/a");
        assert_eq!(
            arguments["content"],
            format!("{}… [5000 characters, cut]", "é".repeat(120))
        );
        assert!(arguments["more"][0]["deep"].as_str().unwrap().len() < 200);
        let once = messages.clone();
        prune(&mut messages, 1, &Toolbox::default());
        assert_eq!(messages, once);
    }

    #[test]
    fn pictures_become_a_note() {
        let mut message = Message::user("");
        let parts = json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:x"}}]);
        message.content = Some(serde_json::from_value(parts).unwrap());
        let mut messages = vec![message];
        prune(&mut messages, 1, &Toolbox::default());
        assert_eq!(said(&messages[0]), format!("see\n{PICTURE}"));
    }
}
