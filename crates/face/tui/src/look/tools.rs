//! The picture and the word each tool goes by in the transcript.

/// How a tool is called where there is room for one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub emoji: &'static str,
    pub verb: &'static str,
}

/// `None` for tools of others: they go by their own name.
pub(super) fn named(tool: &str) -> Option<Named> {
    let (_, emoji, verb) = TABLE.iter().find(|(name, ..)| *name == tool)?;
    Some(Named { emoji, verb })
}

const TABLE: &[(&str, &str, &str)] = &[
    ("terminal", "💻", "$"),
    ("process", "⚙️", "proc"),
    ("read_file", "📖", "read"),
    ("write_file", "✍️", "write"),
    ("patch", "🔧", "patch"),
    ("search_files", "🔎", "grep"),
    // Several of the above, as one.
    ("explored", "🔎", "explored"),
    ("web_search", "🔍", "search"),
    ("web_extract", "📄", "fetch"),
    ("browser_navigate", "🌐", "navigate"),
    ("browser_snapshot", "📸", "snapshot"),
    ("browser_click", "👆", "click"),
    ("browser_type", "⌨️", "type"),
    ("browser_press", "⌨️", "press"),
    ("browser_scroll", "↓", "scroll"),
    ("browser_back", "◀️", "back"),
    ("browser_get_images", "🖼️", "images"),
    ("browser_vision", "👁️", "vision"),
    ("todo", "📋", "plan"),
    ("session_search", "🔍", "recall"),
    ("memory", "🧠", "memory"),
    ("skills_list", "📚", "skills"),
    ("skill_view", "📚", "skill"),
    ("skill_manage", "📚", "skill"),
    ("image_generate", "🎨", "create"),
    ("image_edit", "🎨", "edit"),
    ("text_to_speech", "🔊", "speak"),
    ("vision_analyze", "👁️", "vision"),
    ("send_message", "📨", "send"),
    ("cronjob", "⏰", "cron"),
    ("delegate_task", "🔀", "delegate"),
    ("execute_code", "🐍", "exec"),
    ("mixture_of_agents", "🧠", "reason"),
    ("clarify", "❓", "ask"),
];
