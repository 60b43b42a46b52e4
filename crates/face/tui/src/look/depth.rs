//! What the environment says about the terminal: how many colours, on which background.

use hermes_home::Env;

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

impl Background {
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
