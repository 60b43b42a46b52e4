//! Answers and what the model reads of them.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_home::{Env, Home, Resolved};
use hermes_mcp::{PromptArgument, PromptMessage, Secret};
use hermes_testkit::TempHome;
use hermes_types::Outcome;
use pretty_assertions::assert_eq;

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn home(temp: &TempHome) -> Home {
    let hermes = temp.hermes().display().to_string();
    let env = Env::from([("HERMES_HOME", hermes.as_str())]);
    Resolved::from(None, &env).unwrap().home(&env)
}

fn shelf(temp: &TempHome) -> Shelf {
    Shelf {
        caches: Caches::of(&home(temp)),
        secrets: Secrets::new([Secret::new("hunter2-hunter2")]),
        reader: Some("mcp__s__read_resource".to_owned()),
    }
}

fn output(answer: Answer) -> ToolOutput {
    shelf(&TempHome::new()).output(answer)
}

fn check(answer: Answer, expected: &str) {
    let output = output(answer);
    assert_eq!(
        (output.text.as_str(), output.outcome),
        (expected, Outcome::Done)
    );
}

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

fn tool(content: Vec<Content>, structured: Option<Value>) -> Answer {
    Answer::Tool(ToolResult {
        content,
        structured,
        is_error: false,
    })
}

fn blob(uri: &str, bytes: &[u8]) -> Content {
    Content::Embedded(ResourceContents {
        uri: uri.to_owned(),
        mime_type: Some("application/pdf".to_owned()),
        body: ResourceBody::Blob(STANDARD.encode(bytes)),
    })
}

#[test]
fn tool_results() {
    check(
        tool(vec![text("ä"), text("b")], None),
        r#"{"result":"ä\nb"}"#,
    );
    check(
        tool(vec![text("a")], Some(json!({"n": 1}))),
        r#"{"result":"a","structuredContent":{"n":1}}"#,
    );
    check(tool(vec![], Some(json!([1]))), r#"{"result":[1]}"#);
    check(tool(vec![], Some(Value::Null)), r#"{"result":null}"#);
    check(tool(vec![], None), r#"{"result":""}"#);
    check(
        tool(
            vec![Content::Other(json!({"type": "hologram"})), text("b")],
            None,
        ),
        r#"{"result":"[content of type hologram is not supported]\nb"}"#,
    );
}

#[test]
fn errors_of_tools_are_redacted_and_never_empty() {
    let check = |content: Vec<Content>, expected: &str| {
        let result = ToolResult {
            content,
            structured: Some(json!({"ignored": true})),
            is_error: true,
        };
        let output = output(Answer::Tool(result));
        assert_eq!(
            (output.text.as_str(), output.outcome),
            (expected, Outcome::Failed)
        );
    };
    let embedded = Content::Embedded(ResourceContents {
        uri: "a:b".to_owned(),
        mime_type: None,
        body: ResourceBody::Text("hunter2-hunter2 too".to_owned()),
    });
    check(
        vec![text("no Bearer abc123"), embedded],
        r#"{"error":"no [REDACTED]\n[REDACTED] too"}"#,
    );
    check(
        vec![],
        r#"{"error":"The MCP tool returned an error without a message"}"#,
    );
    check(
        vec![text(" ")],
        r#"{"error":"The MCP tool returned an error without a message"}"#,
    );
}

#[test]
fn resources_and_prompts() {
    let resource = Resource {
        uri: "a:b".to_owned(),
        name: "n".to_owned(),
        description: None,
        mime_type: Some("text/plain".to_owned()),
    };
    check(
        Answer::Resources(vec![resource]),
        r#"{"resources":[{"uri":"a:b","name":"n","mimeType":"text/plain"}]}"#,
    );
    let contents = |body| ResourceContents {
        uri: "a:b".to_owned(),
        mime_type: None,
        body,
    };
    check(
        Answer::Contents(vec![
            contents(ResourceBody::Text("one".to_owned())),
            contents(ResourceBody::Blob("aGkh".to_owned())),
        ]),
        r#"{"result":"one\n[binary data, 3 bytes]"}"#,
    );
    check(Answer::Contents(vec![]), r#"{"result":""}"#);
    let prompt = Prompt {
        name: "p".to_owned(),
        description: Some("d".to_owned()),
        arguments: Some(vec![PromptArgument {
            name: "a".to_owned(),
            description: None,
            required: Some(true),
        }]),
    };
    check(
        Answer::Prompts(vec![prompt]),
        r#"{"prompts":[{"name":"p","description":"d","arguments":[{"name":"a","required":true}]}]}"#,
    );
    let says = |content| PromptMessage {
        role: "user".to_owned(),
        content,
    };
    let image = Content::Image {
        data: "aGkh".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    check(
        Answer::Prompt(PromptMessages {
            description: Some("d".to_owned()),
            messages: vec![says(text("hi")), says(image)],
        }),
        r#"{"messages":[{"role":"user","content":"hi"},{"role":"user","content":"{\"type\":\"image\",\"data\":\"aGkh\",\"mimeType\":\"image/png\"}"}],"description":"d"}"#,
    );
}

#[test]
fn images_sounds_and_documents_become_files() {
    let temp = TempHome::new();
    let shelf = shelf(&temp);
    let render = |block| shelf.block(block);
    let image = || Content::Image {
        data: STANDARD.encode(PNG),
        mime_type: "image/jpeg".to_owned(),
    };
    let note = render(image());
    let path = note.strip_prefix("MEDIA:").unwrap();
    assert!(path.starts_with(&temp.hermes().join("cache/images").display().to_string()));
    assert!(path.ends_with(".png"), "the bytes say what it is: {path}");
    assert_eq!(fs::read(path).unwrap(), PNG);
    assert_eq!(render(image()), note, "the same image is stored once");

    let note = render(Content::Audio {
        data: STANDARD.encode(b"sound"),
        mime_type: "audio/mpeg; x=1".to_owned(),
    });
    assert!(
        note.contains("/cache/audio/audio_") && note.ends_with(".mp3"),
        "{note}"
    );

    let note = render(blob("file:///x/../report.pdf?a=b", b"%PDF"));
    let path = note.strip_prefix("[resource saved to ").unwrap();
    let (path, about) = path.split_once(": ").unwrap();
    assert_eq!(about, "application/pdf, 4 bytes]");
    assert!(
        path.contains("/cache/documents/doc_") && path.ends_with("_report.pdf"),
        "{path}"
    );
    assert_eq!(fs::read(path).unwrap(), b"%PDF");
}

#[test]
fn an_old_home_keeps_its_caches() {
    let temp = TempHome::new();
    fs::create_dir_all(temp.hermes().join("image_cache")).unwrap();
    let note = shelf(&temp).block(Content::Image {
        data: STANDARD.encode(PNG),
        mime_type: String::new(),
    });
    assert!(note.contains("/image_cache/"), "{note}");
}

#[test]
fn what_cannot_be_stored_is_described() {
    let temp = TempHome::new();
    let shelf = shelf(&temp);
    let image = |data: String| Content::Image {
        data,
        mime_type: "image/png".to_owned(),
    };
    assert_eq!(
        shelf.block(image("!!!!".to_owned())),
        "[image not saved, its base64 cannot be read: image/png, 3 bytes]"
    );
    // Too large is told by the length alone: this text is no base64 at all.
    let huge = "!".repeat((50 << 20) / 3 * 4 + 8);
    assert_eq!(
        shelf.block(image(huge)),
        format!(
            "[image not saved, too large: image/png, {} bytes]",
            (50 << 20) / 3 * 3 + 6
        )
    );
    assert!(!temp.hermes().join("cache").exists());
    fs::create_dir_all(temp.hermes()).unwrap();
    fs::write(temp.hermes().join("cache"), "in the way").unwrap();
    let note = shelf.block(blob("a:b", b"x"));
    assert!(
        note.starts_with("[resource not saved, cannot create "),
        "{note}"
    );
}

#[test]
fn links_are_named_and_not_followed() {
    let temp = TempHome::new();
    let link = |name: &str| {
        Content::Link(Resource {
            uri: "file:///a\n".to_owned(),
            name: name.to_owned(),
            description: None,
            mime_type: Some("text/plain".to_owned()),
        })
    };
    let mut shelf = shelf(&temp);
    assert_eq!(
        shelf.block(link("n")),
        "[resource file:///a, name n, type text/plain; read it with mcp__s__read_resource]"
    );
    shelf.reader = None;
    assert_eq!(
        shelf.block(link("")),
        "[resource file:///a, type text/plain]"
    );
}
