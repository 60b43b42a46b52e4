//! Results too long for the conversation go to a file the model can page through.

use hermes_types::Workspace;

/// How much of a long result stays in the conversation.
const PREVIEW_CHARS: usize = 1_500;

/// Replaces a long text by a preview and the place of the rest.
pub async fn spill(text: &str, call_id: &str, workspace: &dyn Workspace) -> String {
    let path = workspace
        .temp_dir()
        .join("hermes-results")
        .join(format!("{}.txt", file_name(call_id)));
    let size = text.chars().count();
    let preview = preview(text);
    match workspace.write(&path, text.as_bytes()).await {
        Ok(()) => format!(
            "<persisted-output>\nThis result is {size} characters ({}) long. All of it is in {}; \
             read_file with offset and limit reaches the rest. It begins:\n\n{preview}\n</persisted-output>",
            human(text.len()),
            path.display()
        ),
        Err(error) => format!(
            "{preview}\n\n[Truncated to {} of {size} characters; the rest could not be saved: {error}]",
            preview.chars().count()
        ),
    }
}

/// The beginning, cut at a line end if one is near.
fn preview(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(PREVIEW_CHARS) else {
        return text.to_owned();
    };
    let head = &text[..end];
    let cut = head
        .rfind('\n')
        .filter(|newline| *newline > end / 2)
        .unwrap_or(end);
    format!("{}\n...", &head[..cut])
}

/// The id comes from the model: only harmless characters reach the file system.
fn file_name(call_id: &str) -> String {
    let safe: String = call_id
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(80)
        .collect();
    if safe.is_empty() {
        "result".to_owned()
    } else {
        safe
    }
}

fn human(bytes: usize) -> String {
    let kilobytes = bytes as f64 / 1024.0;
    if kilobytes >= 1024.0 {
        format!("{:.1} MB", kilobytes / 1024.0)
    } else {
        format!("{kilobytes:.1} KB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_end_at_a_line_and_ids_become_file_names() {
        let text = format!("{}\n{}", "a".repeat(1_000), "b".repeat(1_000));
        assert_eq!(preview(&text), format!("{}\n...", "a".repeat(1_000)));
        assert_eq!(
            preview(&"é".repeat(2_000)),
            format!("{}\n...", "é".repeat(1_500))
        );
        assert_eq!(preview("short"), "short");
        assert_eq!(file_name("call_1; rm -rf /"), "call_1rm-rf");
        assert_eq!(file_name("../../.."), "result");
    }
}
