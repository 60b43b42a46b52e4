//! What the environment says about the terminal: how many colours, on which background.

use hermes_home::Env;

use super::Rgb;

/// How much colour a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// `NO_COLOR`, `TERM=dumb`: bold, faint and reversed at most.
    #[default]
    None,
    Sixteen,
    TwoHundred,
    True,
}

/// Where rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Terminal,
    /// A file or a pipe.
    Elsewhere,
}

/// What text stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
    #[default]
    Unknown,
}

/// Terminals that show every colour without saying so in `COLORTERM`.
const RICH: [&str; 5] = ["kitty", "ghostty", "alacritty", "foot", "wezterm"];

impl Depth {
    /// `NO_COLOR` always wins; `CLICOLOR_FORCE` wins over a pipe and a dumb terminal.
    pub fn detect(env: &Env, target: Target) -> Self {
        if env.filled("NO_COLOR").is_some() {
            return Self::None;
        }
        let forced = env.filled("CLICOLOR_FORCE").is_some_and(|on| on != "0");
        let shown = target == Target::Terminal && env.get("TERM") != Some("dumb");
        match (shown, forced) {
            (false, false) => Self::None,
            _ => Self::of_terminal(env),
        }
    }

    fn of_terminal(env: &Env) -> Self {
        let term = env.get("TERM").unwrap_or_default();
        let said = env.filled("COLORTERM").unwrap_or_default();
        let rich = matches!(said, "truecolor" | "24bit")
            || term.ends_with("-direct")
            || env.filled("WT_SESSION").is_some()
            || RICH.iter().any(|name| term.contains(name));
        match (rich, term.contains("256color")) {
            (true, _) => Self::True,
            (false, true) => Self::TwoHundred,
            (false, false) => Self::Sixteen,
        }
    }
}

/// Whether the terminal is known to show text that leads somewhere; others might print the address instead.
/// `FORCE_HYPERLINK` says it where nobody knows, or that it must not be.
pub(crate) fn shows_links(env: &Env) -> bool {
    if Depth::detect(env, Target::Terminal) == Depth::None || env.get("TERM") == Some("dumb") {
        return false;
    }
    if let Some(forced) = env.filled("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let program = env.filled("TERM_PROGRAM").unwrap_or_default();
    let number = |name: &str| {
        let digits = env.filled(name).and_then(|said| said.parse::<u32>().ok());
        digits.unwrap_or_default()
    };
    // What stands between us and the terminal decides.
    if env.filled("TMUX").is_some() {
        let version = env.filled("TERM_PROGRAM_VERSION").unwrap_or_default();
        return program == "tmux" && is_since(version, (3, 4));
    }
    if env.filled("STY").is_some() {
        return false;
    }
    let term = env.get("TERM").unwrap_or_default();
    ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"].contains(&program)
        || RICH.iter().any(|name| term.contains(name))
        || env.filled("WT_SESSION").is_some()
        || number("VTE_VERSION") >= 5000
        || number("KONSOLE_VERSION") >= 201_200
}

/// `3.4`, `3.5a`, `next-3.6`
fn is_since(version: &str, (major, minor): (u32, u32)) -> bool {
    let digits = version.split(|c: char| !c.is_ascii_digit());
    let mut numbers = digits.filter_map(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Whether the terminal may be asked what its background is. Some print the question, or the answer goes astray.
pub(crate) fn tells_background(env: &Env) -> bool {
    let term = env.filled("TERM").unwrap_or("dumb");
    let mute = ["dumb", "linux", "unknown", "vt", "eterm", "cons"];
    let screen =
        env.filled("STY").is_some() || term.starts_with("screen") && env.filled("TMUX").is_none();
    Depth::detect(env, Target::Terminal) != Depth::None
        && !screen
        && !mute.iter().any(|name| term.starts_with(name))
}

impl Background {
    /// What the terminal answered about its colour.
    pub fn of(rgb: Rgb) -> Self {
        match rgb.is_light() {
            true => Self::Light,
            false => Self::Dark,
        }
    }

    /// `COLORFGBG`, as some terminals set it: the last number is the background's.
    pub fn detect(env: &Env) -> Self {
        let Some(said) = env.filled("COLORFGBG") else {
            return Self::Unknown;
        };
        match said.rsplit(';').next().map(str::parse::<u8>) {
            Some(Ok(7 | 9..=15)) => Self::Light,
            Some(Ok(0..=8)) => Self::Dark,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let mut env = Env::default();
        for (name, value) in vars {
            env.set(*name, *value);
        }
        env
    }

    #[test]
    fn colours_follow_the_environment() {
        let check = |vars: &[(&str, &str)], target, expected| {
            assert_eq!(Depth::detect(&env(vars), target), expected, "{vars:?}");
        };
        let here = Target::Terminal;
        check(&[("TERM", "xterm")], here, Depth::Sixteen);
        check(&[("TERM", "xterm-256color")], here, Depth::TwoHundred);
        check(
            &[("TERM", "screen-256color"), ("COLORTERM", "truecolor")],
            here,
            Depth::True,
        );
        check(&[("TERM", "xterm-kitty")], here, Depth::True);
        check(&[("TERM", "dumb")], here, Depth::None);
        check(
            &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
            here,
            Depth::None,
        );
        check(&[("NO_COLOR", ""), ("TERM", "xterm")], here, Depth::Sixteen);
        check(&[("TERM", "xterm")], Target::Elsewhere, Depth::None);
        check(
            &[("TERM", "xterm"), ("CLICOLOR_FORCE", "1")],
            Target::Elsewhere,
            Depth::Sixteen,
        );
        check(
            &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")],
            here,
            Depth::None,
        );
        check(&[], here, Depth::Sixteen);
    }

    #[test]
    fn links_are_for_terminals_that_are_known_to_show_them() {
        let check = |vars: &[(&str, &str)], expected| {
            assert_eq!(shows_links(&env(vars)), expected, "{vars:?}");
        };
        check(&[("TERM", "xterm-256color")], false);
        check(&[("TERM", "xterm-kitty")], true);
        check(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], false);
        check(&[("TERM", "xterm"), ("VTE_VERSION", "7600")], true);
        check(&[("TERM", "xterm"), ("VTE_VERSION", "4205")], false);
        check(&[("TERM", "xterm"), ("TERM_PROGRAM", "iTerm.app")], true);
        check(&[("TERM", "xterm"), ("FORCE_HYPERLINK", "1")], true);
        check(&[("TERM", "dumb"), ("FORCE_HYPERLINK", "1")], false);
        check(&[("TERM", "foot"), ("FORCE_HYPERLINK", "0")], false);
        let tmux = |version| {
            [
                ("TERM", "tmux-256color"),
                ("TMUX", "/tmp/x"),
                ("TERM_PROGRAM", "tmux"),
                ("TERM_PROGRAM_VERSION", version),
                ("WT_SESSION", "x"),
            ]
        };
        check(&tmux("3.3a"), false);
        check(&tmux("3.5"), true);
        check(&tmux("next-3.6"), true);
        check(&[("TERM", "screen.kitty"), ("STY", "1.x")], false);
    }

    #[test]
    fn only_terminals_that_understand_it_are_asked_for_their_background() {
        let check = |vars: &[(&str, &str)], expected| {
            assert_eq!(tells_background(&env(vars)), expected, "{vars:?}");
        };
        check(&[("TERM", "xterm-256color")], true);
        check(&[("TERM", "screen"), ("TMUX", "/tmp/x")], true);
        check(&[("TERM", "screen")], false);
        check(&[("TERM", "linux")], false);
        check(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], false);
        check(&[("TERM", "xterm"), ("NO_COLOR", "1")], false);
        check(&[], false);
        assert_eq!(Background::of(Rgb(255, 255, 238)), Background::Light);
        assert_eq!(Background::of(Rgb(30, 30, 46)), Background::Dark);
    }

    #[test]
    fn the_background_is_the_last_number() {
        let check = |value: &str, expected| {
            let env = env(&[("COLORFGBG", value)]);
            assert_eq!(Background::detect(&env), expected, "{value:?}");
        };
        check("15;0", Background::Dark);
        check("0;15", Background::Light);
        check("0;default;7", Background::Light);
        check("12;8", Background::Dark);
        check("0;default", Background::Unknown);
        check("", Background::Unknown);
    }
}
