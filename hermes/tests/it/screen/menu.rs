//! The list below the input.

use serde_json::json;

use super::{Chat, WAIT, bench, turns};

// spec: cli-tui §20.11
#[test]
fn commands_are_offered_taken_and_run() {
    let bench = bench(json!([]));
    let mut chat = Chat::open(&bench);
    chat.type_in("/re");
    let screen = chat.wait_for("/retry", WAIT);
    for name in ["/reset", "/resume", "/reasoning"] {
        assert!(screen.contains(name), "{screen}");
    }
    chat.send("\t");
    // What is taken stands in the input whole.
    let screen = chat.wait_until(
        |screen| {
            let mut lines = screen.lines();
            lines.any(|line| line.starts_with("❯ /re") && line.trim_end().len() > "❯ /re".len() + 1)
        },
        WAIT,
    );
    assert!(!screen.contains("⚙"), "nothing was run: {screen}");
    chat.send("\u{3}");
    chat.wait_until(|screen| !screen.contains("❯ /re"), WAIT);

    let about = "how much of the tools is shown";
    chat.type_in("/verbos");
    chat.wait_for(about, WAIT);
    chat.send("\x1b");
    chat.wait_until(|screen| !screen.contains(about), WAIT);
    chat.enter();
    let screen = chat.wait_for("tools are shown: ", WAIT);
    assert!(screen.contains("⚙ /verbos"), "{screen}");
    assert!(screen.lines().any(|line| line == "❯"), "{screen}");
    assert!(turns(&bench).is_empty());
}
