//! The slash commands: one table for help, completion and every face.

/// A command of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Slash {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub args: &'static str,
    pub about: &'static str,
    pub group: &'static str,
    /// Whether it may be given while a turn runs.
    pub anytime: bool,
    pub face: Face,
}

/// Who carries a command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// The session, whatever face it has.
    Any,
    /// A face with a screen, by itself.
    Screen,
}

const fn slash(
    name: &'static str,
    args: &'static str,
    about: &'static str,
    group: &'static str,
) -> Slash {
    Slash {
        name,
        aliases: &[],
        args,
        about,
        group,
        anytime: false,
        face: Face::Any,
    }
}

/// What only a screen has: possible at any time.
const fn on_screen(name: &'static str, args: &'static str, about: &'static str) -> Slash {
    Slash {
        anytime: true,
        face: Face::Screen,
        ..slash(name, args, about, "Screen")
    }
}

/// Every command there is.
pub const TABLE: &[Slash] = &[
    Slash {
        aliases: &["reset"],
        ..slash("new", "[title]", "start a new conversation", "Session")
    },
    Slash {
        aliases: &["sessions"],
        ..slash(
            "resume",
            "[id or title]",
            "go back to an earlier conversation",
            "Session",
        )
    },
    slash("retry", "", "ask the last question again", "Session"),
    slash(
        "clear",
        "",
        "start a new conversation on an empty screen",
        "Session",
    ),
    slash(
        "undo",
        "[N]",
        "take back the last question and its answer, or the last N",
        "Session",
    ),
    Slash {
        anytime: true,
        ..slash(
            "stop",
            "",
            "end what is running, background processes too",
            "Session",
        )
    },
    Slash {
        anytime: true,
        ..slash("title", "[title]", "show or set the title", "Session")
    },
    Slash {
        anytime: true,
        ..slash("history", "", "show the conversation so far", "Session")
    },
    Slash {
        aliases: &["bg", "btw"],
        anytime: true,
        ..slash(
            "background",
            "<prompt>",
            "a task of its own beside this conversation",
            "Session",
        )
    },
    Slash {
        aliases: &["tasks"],
        anytime: true,
        ..slash("agents", "", "what is running", "Session")
    },
    Slash {
        aliases: &["q"],
        anytime: true,
        ..slash(
            "queue",
            "<prompt>",
            "say this when the running turn is over",
            "Session",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "steer",
            "<prompt>",
            "guide the running turn without ending it",
            "Session",
        )
    },
    Slash {
        aliases: &["fork"],
        ..slash(
            "branch",
            "[title]",
            "go on in a copy of this conversation",
            "Session",
        )
    },
    slash("save", "", "write the conversation to a file", "Session"),
    slash(
        "rollback",
        "[N|diff N|N file]",
        "bring files back to how they were",
        "Session",
    ),
    Slash {
        aliases: &["compact"],
        ..slash(
            "compress",
            "[topic|--preview|--undo]",
            "sum up the older part of the conversation",
            "Session",
        )
    },
    Slash {
        anytime: true,
        ..slash("context", "", "what fills the model's window", "Info")
    },
    Slash {
        anytime: true,
        ..slash(
            "status",
            "",
            "which session, model and place this is",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "usage",
            "",
            "tokens, cost and limits of this session",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "insights",
            "[days] [--source S]",
            "what the last days were spent on",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "tools",
            "[list|enable|disable]",
            "what the model can use; NAMEs on or off",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash("toolsets", "", "groups of tools: on or off", "Info")
    },
    Slash {
        anytime: true,
        ..slash("config", "", "what is set, and where", "Configuration")
    },
    Slash {
        anytime: true,
        ..slash("profile", "", "which profile this is, and its home", "Info")
    },
    Slash {
        aliases: &["provider"],
        anytime: true,
        ..slash(
            "model",
            "[provider:model] [--global]",
            "show or change the model",
            "Configuration",
        )
    },
    slash(
        "reasoning",
        "[none|minimal|low|medium|high|xhigh|show|hide]",
        "how hard the model thinks, and whether that is shown",
        "Configuration",
    ),
    slash(
        "fast",
        "[fast|normal|status]",
        "answers before others, for more money, where that is sold",
        "Configuration",
    ),
    Slash {
        anytime: true,
        ..slash(
            "busy",
            "[interrupt|queue|steer]",
            "what becomes of input while a turn runs",
            "Configuration",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "yolo",
            "",
            "ask about dangerous commands, or don't",
            "Configuration",
        )
    },
    slash(
        "reload",
        "",
        "read keys and the settings of models again",
        "Configuration",
    ),
    slash(
        "reload-mcp",
        "[now|always]",
        "load the MCP servers of the configuration anew",
        "Configuration",
    ),
    Slash {
        anytime: true,
        ..slash(
            "reload-skills",
            "",
            "look at the skills anew; say what has come and gone",
            "Configuration",
        )
    },
    slash(
        "personality",
        "[name|none]",
        "show or choose how the model speaks",
        "Configuration",
    ),
    Slash {
        anytime: true,
        ..slash(
            "skills",
            "[list|view NAME]",
            "what has been learned; /NAME calls a skill",
            "Info",
        )
    },
    on_screen("redraw", "", "draw everything again"),
    Slash {
        aliases: &["compose"],
        ..on_screen("prompt", "[text]", "write the next message in your editor")
    },
    Slash {
        aliases: &["ts"],
        ..on_screen("timestamps", "", "show the time of answers, or don't")
    },
    on_screen(
        "transcript",
        "",
        "everything said so far, to scroll and search in",
    ),
    on_screen(
        "copy",
        "[n]",
        "the last answer, or the n-th from the end, to the clipboard",
    ),
    on_screen("paste", "", "attach the image in the clipboard"),
    on_screen("image", "<path>", "attach an image"),
    Slash {
        aliases: &["sb"],
        ..on_screen("statusbar", "", "show the status bar, or don't")
    },
    on_screen("skin", "[name]", "show or change how the screen looks"),
    on_screen(
        "indicator",
        "[kaomoji|emoji|unicode|ascii]",
        "show or change what moves while the model works",
    ),
    on_screen(
        "verbose",
        "",
        "how much of the tools is shown: off, new, all, verbose",
    ),
    Slash {
        anytime: true,
        ..slash(
            "curator",
            "[status|run|pin NAME|…]",
            "who tidies up what was learned, and the way back",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "memory",
            "",
            "what every session begins with, as it is now",
            "Info",
        )
    },
    Slash {
        anytime: true,
        ..slash(
            "journey",
            "[N|show N|undo N]",
            "what was learned, when and by whom; and the way back",
            "Info",
        )
    },
    Slash {
        aliases: &["v"],
        anytime: true,
        ..slash("version", "", "which Hermes this is", "Info")
    },
    Slash {
        anytime: true,
        ..slash("help", "", "this list", "Info")
    },
    Slash {
        aliases: &["exit"],
        anytime: true,
        ..slash("quit", "", "leave", "Exit")
    },
];

/// What a line of input turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed<'t> {
    /// Not a command: something for the model.
    Text,
    Command {
        slash: &'static Slash,
        rest: &'t str,
    },
    /// A command of the owner's configuration.
    Quick {
        name: String,
        rest: &'t str,
    },
    /// A skill of that name.
    Skill {
        name: &'t str,
        rest: &'t str,
    },
    /// More than one command begins like this.
    Ambiguous(Vec<&'static str>),
    Unknown(&'t str),
}

/// What has a name beside the commands of the table.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    pub is_quick: &'k dyn Fn(&str) -> bool,
    pub is_skill: &'k dyn Fn(&str) -> bool,
}

/// Reads a line where there is nothing but the table.
pub fn read(line: &str) -> Typed<'_> {
    let nothing = |_: &str| false;
    let known = Known {
        is_quick: &nothing,
        is_skill: &nothing,
    };
    read_with(line, known)
}

/// Reads a line. A first word with a second slash is a path; a unique beginning is enough. Commands win over
/// quick commands, these over skills, and skills over beginnings of commands.
pub fn read_with<'t>(line: &'t str, known: Known<'_>) -> Typed<'t> {
    let Some(command) = line.trim().strip_prefix('/') else {
        return Typed::Text;
    };
    let (word, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    if word.is_empty() || word.contains('/') {
        return Typed::Text;
    }
    let lower = spelled(word);
    let exact = exact(word);
    if exact.is_none() && (known.is_quick)(&lower) {
        return Typed::Quick {
            name: lower,
            rest: rest.trim(),
        };
    }
    if exact.is_none() && (known.is_skill)(&lower) {
        return Typed::Skill {
            name: word,
            rest: rest.trim(),
        };
    }
    let begins = |slash: &&Slash| {
        slash.name.starts_with(&lower)
            || slash.aliases.iter().any(|alias| alias.starts_with(&lower))
    };
    let candidates: Vec<&'static Slash> = TABLE.iter().filter(begins).collect();
    match (exact, candidates.as_slice()) {
        (Some(slash), _) | (None, &[slash]) => Typed::Command {
            slash,
            rest: rest.trim(),
        },
        (None, []) => Typed::Unknown(word),
        // `status` is meant by all that `statusbar` could be meant by, too.
        (None, &[first, ref others @ ..])
            if others.iter().all(|o| o.name.starts_with(first.name)) =>
        {
            Typed::Command {
                slash: first,
                rest: rest.trim(),
            }
        }
        (None, several) => Typed::Ambiguous(several.iter().map(|slash| slash.name).collect()),
    }
}

/// The command of exactly this name, or with this alias.
pub(crate) fn exact(word: &str) -> Option<&'static Slash> {
    let word = spelled(word);
    let is_it = |slash: &&Slash| slash.name == word || slash.aliases.contains(&word.as_str());
    TABLE.iter().find(is_it)
}

fn spelled(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

/// The commands a face has, as text.
pub fn help(face: Face) -> String {
    let mut text = String::new();
    let mut group = "";
    let has = |slash: &&Slash| slash.face == Face::Any || face == Face::Screen;
    let mut rows: Vec<&Slash> = TABLE.iter().filter(has).collect();
    rows.sort_by_key(|slash| {
        ["Session", "Configuration", "Screen", "Info", "Exit"]
            .iter()
            .position(|group| *group == slash.group)
    });
    for slash in rows {
        if slash.group != group {
            group = slash.group;
            text.push_str(&format!("{group}\n"));
        }
        let aliases: String = slash
            .aliases
            .iter()
            .map(|alias| format!(", /{alias}"))
            .collect();
        let usage = format!("/{}{aliases} {}", slash.name, slash.args);
        text.push_str(&row(usage.trim_end(), slash.about));
    }
    text.trim_end().to_owned()
}

/// A row of the help. Two blanks at least: a narrow screen puts what follows them below.
pub(crate) fn row(usage: &str, about: &str) -> String {
    format!("  {usage:<28}  {about}\n")
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_are_commands_paths_or_text() {
        let check = |line: &str, expected: Option<(&str, &str)>| match (read(line), expected) {
            (Typed::Command { slash, rest }, Some(expected)) => {
                assert_eq!((slash.name, rest), expected, "{line}")
            }
            (Typed::Text, None) => {}
            (other, _) => panic!("{line}: {other:?}"),
        };
        check("hello", None);
        check("/usr/bin/env", None);
        check("/", None);
        check("/new", Some(("new", "")));
        check("/RESET My Title", Some(("new", "My Title")));
        check("/hel", Some(("help", "")));
        check(" /title  a  b ", Some(("title", "a  b")));
        check("/exit", Some(("quit", "")));
        assert_eq!(
            read("/re"),
            Typed::Ambiguous(vec![
                "new",
                "resume",
                "retry",
                "reasoning",
                "reload",
                "reload-mcp",
                "reload-skills",
                "redraw"
            ])
        );
        assert_eq!(read("/frobnicate x"), Typed::Unknown("frobnicate"));
        check("/reload_mcp", Some(("reload-mcp", "")));
    }

    #[test]
    fn skills_come_after_commands_and_before_their_beginnings() {
        let skills = |word: &str| ["sta", "new", "my-skill"].contains(&word);
        let quick = |word: &str| ["new", "gs", "my-skill2"].contains(&word);
        let known = Known {
            is_quick: &quick,
            is_skill: &skills,
        };
        let named = |line| match read_with(line, known) {
            Typed::Quick { name, rest } => format!("quick {name}: {rest}"),
            Typed::Skill { name, rest } => format!("skill {name}: {rest}"),
            Typed::Command { slash, .. } => slash.name.to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(named("/sta now"), "skill sta: now");
        assert_eq!(named("/My_Skill a  b "), "skill My_Skill: a  b");
        assert_eq!(named("/new"), "new");
        assert_eq!(named("/GS -s"), "quick gs: -s");
        assert_eq!(named("/my_skill2"), "quick my-skill2: ");
        assert_eq!(named("/stat"), "status");
        assert_eq!(named("/my/skill"), "Text");
    }

    #[test]
    fn names_are_unique_and_all_are_in_the_help() {
        let mut names: Vec<&str> = TABLE
            .iter()
            .flat_map(|s| s.aliases.iter().copied().chain([s.name]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(
            names
                .iter()
                .all(|name| help(Face::Screen).contains(&format!("/{name}")))
        );
    }
}
