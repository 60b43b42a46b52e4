//! `terminal.sandbox`: what the settings ask for, and what `hermes doctor` says about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_proc::sandbox::{Means, Mode, Network, Sandbox, Survey, survey};
use hermes_types::Finding;
use serde_json::Value;

use crate::backend::{Surroundings, temp_dir};

const INSTALL: &str = "install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package `bubblewrap`) and allow user \
    namespaces, or use Linux 6.2 or later with Landlock";

/// What a sandbox is made from.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub settings: &'a Settings,
    /// Hermes' own environment.
    pub env: &'a Env,
    pub home: &'a Home,
    /// Our own program: see [`hermes_proc::sandbox::confine`].
    pub program: &'a Path,
}

impl Plan<'_> {
    /// The bounds for commands of a session that begins in `dir`; `None`: off. `child_env` is what commands get.
    pub fn sandbox(&self, dir: &Path, child_env: &[(String, String)]) -> Option<Arc<Sandbox>> {
        let mode = mode(self.settings)?;
        let child_env: Env = child_env.iter().cloned().collect();
        let user_home = self.env.user_home();
        let places = Surroundings {
            dir: dir.to_owned(),
            temp_dir: temp_dir(&child_env),
            also_writable: also_writable(self.settings, &user_home),
            hermes_home: self.home.dir().to_owned(),
            hermes_root: self.home.root().to_owned(),
            agents: Surroundings::agents_in(self.env),
            user_home,
        };
        let policy = places.policy(network(self.settings, mode));
        Some(Arc::new(Sandbox::new(mode, policy, self.means())))
    }

    /// What could confine commands here, and whether anything does.
    pub async fn findings(&self) -> Vec<Finding> {
        let survey = survey(&self.means()).await;
        let mut findings = vec![verdict(self.settings, &survey)];
        for tried in [&survey.bubblewrap, &survey.landlock] {
            if let Err(why) = tried {
                findings.push(Finding::ok(format!("not usable: {why}")));
            }
        }
        findings
    }

    fn means(&self) -> Means {
        Means {
            search: self.env.get("PATH").unwrap_or_default().to_owned(),
            confiner: self.program.to_owned(),
        }
    }
}

/// Relative to the home, which is what `~` means too.
fn also_writable(settings: &Settings, user_home: &Path) -> Vec<PathBuf> {
    let listed = settings.get("terminal.sandbox_writable");
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let paths = listed.filter_map(Value::as_str);
    paths
        .map(|path| user_home.join(path.trim_start_matches("~/")))
        .collect()
}

/// A word nobody knows is taken for "yes": whoever wrote it wants to be safe.
fn mode(settings: &Settings) -> Option<Mode> {
    match settings.text("terminal.sandbox") {
        "off" | "" => None,
        "auto" | "on" => Some(Mode::Auto),
        "strict" => Some(Mode::Strict),
        odd => {
            tracing::warn!("terminal.sandbox is '{odd}', not auto, off or strict: auto is used");
            Some(Mode::Auto)
        }
    }
}

fn network(settings: &Settings, mode: Mode) -> Network {
    match (settings.text("terminal.sandbox_network"), mode) {
        ("on", _) | ("", Mode::Auto) => Network::On,
        ("off", _) | ("", Mode::Strict) => Network::Off,
        (odd, _) => {
            tracing::warn!("terminal.sandbox_network is '{odd}', not on or off: off is used");
            Network::Off
        }
    }
}

fn verdict(settings: &Settings, survey: &Survey) -> Finding {
    let mode = mode(settings);
    let offline = mode.is_some_and(|mode| network(settings, mode) == Network::Off);
    let by = match survey {
        Survey {
            bubblewrap: Ok(()), ..
        } => Some("bubblewrap"),
        Survey {
            landlock_network: Ok(()),
            ..
        } if offline => Some("Landlock, which holds TCP but not UDP"),
        Survey {
            landlock: Ok(()), ..
        } if !offline => Some("Landlock"),
        _ => None,
    };
    let network = if offline { ", without network" } else { "" };
    match (mode, by) {
        (None, Some(by)) => Finding::ok(format!(
            "off; {by} would confine commands: hermes config set terminal.sandbox auto"
        )),
        (None, None) => Finding::ok(format!("off; to have one, {INSTALL}")),
        (Some(_), Some(by)) => Finding::ok(format!("commands are confined by {by}{network}")),
        (Some(Mode::Auto), None) => Finding::warning(
            format!("terminal.sandbox is auto, but commands cannot be confined{network}"),
            "commands run with all of your rights, or with the network",
            INSTALL,
        ),
        (Some(Mode::Strict), None) => Finding::error(
            format!("terminal.sandbox is strict, and commands cannot be confined{network}"),
            "every command is refused",
            INSTALL,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_home::config::Document;

    fn settings(text: &str) -> Settings {
        let document = Document::parse(Path::new("config.yaml"), text.to_owned());
        Settings::from_document(&document, &Env::default())
    }

    #[test]
    fn words_mean_what_their_writer_wants() {
        use Network::{Off, On};
        let check = |terminal: &str, expected: Option<(Mode, Network)>| {
            let settings = settings(&format!("terminal: {terminal}\n"));
            let read = mode(&settings).map(|mode| (mode, network(&settings, mode)));
            assert_eq!(read, expected, "{terminal}");
        };
        check("{}", None);
        for off in ["off", "\"off\"", "false", "no"] {
            check(&format!("{{sandbox: {off}}}"), None);
        }
        for auto in ["auto", "on", "true", "bubblewrap"] {
            check(&format!("{{sandbox: {auto}}}"), Some((Mode::Auto, On)));
        }
        check("{sandbox: strict}", Some((Mode::Strict, Off)));
        check(
            "{sandbox: strict, sandbox_network: on}",
            Some((Mode::Strict, On)),
        );
        check(
            "{sandbox: auto, sandbox_network: off}",
            Some((Mode::Auto, Off)),
        );
        check(
            "{sandbox: auto, sandbox_network: lan}",
            Some((Mode::Auto, Off)),
        );
    }

    #[test]
    fn further_paths_are_meant_from_the_home() {
        let settings = settings("terminal: {sandbox_writable: [~/.cargo, /srv, cache]}\n");
        let paths = also_writable(&settings, Path::new("/home/u"));
        let expected: [PathBuf; 3] = ["/home/u/.cargo", "/srv", "/home/u/cache"].map(PathBuf::from);
        assert_eq!(paths, expected);
    }

    #[test]
    fn doctor_says_what_is_on_and_what_is_missing() {
        let no = || Err("no".to_owned());
        let check = |terminal: &str, bubblewrap, landlock, landlock_network, says: &str| {
            let survey = Survey {
                bubblewrap,
                landlock,
                landlock_network,
            };
            let found = verdict(&settings(&format!("terminal: {terminal}\n")), &survey);
            let said = format!("{:?} {}", found.level, found.text);
            assert!(said.starts_with(says), "{terminal}: {said}");
        };
        check("{}", Ok(()), Ok(()), Ok(()), "Ok off; bubblewrap would");
        check("{}", no(), no(), no(), "Ok off; to have one, install");
        check(
            "{sandbox: auto}",
            no(),
            Ok(()),
            no(),
            "Ok commands are confined by Landlock",
        );
        check(
            "{sandbox: auto}",
            no(),
            no(),
            no(),
            "Warning terminal.sandbox is auto",
        );
        check(
            "{sandbox: strict}",
            no(),
            Ok(()),
            no(),
            "Error terminal.sandbox is strict",
        );
        check(
            "{sandbox: strict}",
            no(),
            Ok(()),
            Ok(()),
            "Ok commands are confined by Landlock, which",
        );
    }
}
