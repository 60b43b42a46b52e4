//! Which home a process works in. Decided before anything else reads the disk.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::paths::normal;
use crate::profile::Name;
use crate::{Env, Error, Home, Result};

/// The command line with the profile option taken out of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Argv {
    pub profile: Option<String>,
    pub rest: Vec<OsString>,
}

impl Argv {
    /// Finds `-p NAME`, `--profile NAME` or `--profile=NAME` anywhere before a bare `--`, or before `--args`,
    /// behind which everything is for another program.
    ///
    /// A separate value that can't be a profile name is left alone: then `-p` belongs to somebody else.
    pub fn split(args: impl IntoIterator<Item = OsString>) -> Self {
        let mut args = args.into_iter().peekable();
        let mut split = Self {
            profile: None,
            rest: Vec::new(),
        };
        while let Some(arg) = args.next() {
            if arg == "--" || arg == "--args" {
                split.rest.push(arg);
                split.rest.extend(args);
                break;
            }
            if let Some(name) = arg.to_str().and_then(|arg| arg.strip_prefix("--profile=")) {
                split.profile = Some(name.to_owned());
            } else if arg == "-p" || arg == "--profile" {
                match args
                    .peek()
                    .and_then(|next| next.to_str())
                    .filter(|next| Name::is_valid(next))
                {
                    Some(name) => {
                        split.profile = Some(name.to_owned());
                        args.next();
                    }
                    None => split.rest.push(arg),
                }
            } else {
                split.rest.push(arg);
            }
        }
        split
    }
}

/// Where the home is, and how that was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub dir: PathBuf,
    /// Holds `profiles/` and `active_profile`; the same as `dir` for the default profile.
    pub root: PathBuf,
    /// `None` is the default profile.
    pub profile: Option<Name>,
}

impl Resolved {
    /// Applies the order flag, profile-scoped `HERMES_HOME`, `active_profile`, `HERMES_HOME`, `~/.hermes`.
    pub fn from(flag: Option<&str>, env: &Env) -> Result<Self> {
        let root = root(env);
        let given = env.filled("HERMES_HOME").map(PathBuf::from);
        if let Some(flag) = flag {
            return Self::profile(root, &flag.trim().to_lowercase(), Choice::Flag);
        }
        if let Some(dir) = given.as_deref().filter(|dir| parent_is_profiles(dir)) {
            let profile = dir
                .file_name()
                .and_then(OsStr::to_str)
                .and_then(|name| Name::parse(name).ok());
            return Ok(Self {
                dir: dir.to_owned(),
                root,
                profile,
            });
        }
        // An unreadable marker counts as none: a permission slip must not lock the owner out.
        let active = fs::read_to_string(root.join("active_profile")).unwrap_or_default();
        match active.trim() {
            "" | "default" => Ok(Self {
                dir: given.unwrap_or_else(|| root.clone()),
                root,
                profile: None,
            }),
            name => Self::profile(root, name, Choice::Active),
        }
    }

    fn profile(root: PathBuf, name: &str, choice: Choice) -> Result<Self> {
        if name == "default" {
            return Ok(Self {
                dir: root.clone(),
                root,
                profile: None,
            });
        }
        let profile = Name::parse(name).map_err(|error| choice.explain(&error))?;
        let dir = root.join("profiles").join(profile.as_str());
        if !dir.is_dir() {
            return Err(choice.explain(&Error::NoProfile {
                name: name.to_owned(),
                root,
            }));
        }
        Ok(Self {
            dir,
            root,
            profile: Some(profile),
        })
    }

    /// Adds the rules for writing there.
    pub fn home(self, env: &Env) -> Home {
        Home::new(self, env)
    }
}

/// Who asked for the profile: the way out of a wrong one differs.
#[derive(Clone, Copy)]
enum Choice {
    Flag,
    Active,
}

impl Choice {
    fn explain(self, error: &Error) -> Error {
        match self {
            Self::Flag => Error::invalid(error.to_string()),
            Self::Active => Error::invalid(format!(
                "the active profile cannot be used: {error}. `hermes -p default profile use default` goes back to the default profile"
            )),
        }
    }
}

/// The directory above all profiles.
fn root(env: &Env) -> PathBuf {
    let native = env.user_home().join(".hermes");
    match env.filled("HERMES_HOME").map(|dir| normal(Path::new(dir))) {
        None => native,
        Some(dir) if dir.starts_with(&native) => native,
        Some(dir) if parent_is_profiles(&dir) => dir
            .parent()
            .and_then(Path::parent)
            .map_or_else(|| dir.clone(), Path::to_owned),
        Some(dir) => dir,
    }
}

fn parent_is_profiles(dir: &Path) -> bool {
    dir.parent().and_then(Path::file_name) == Some(OsStr::new("profiles"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_profile_option_is_taken_out_of_the_command_line() {
        let check = |args: &str, profile: Option<&str>, rest: &str| {
            let split = Argv::split(args.split_whitespace().map(OsString::from));
            let expected = Argv {
                profile: profile.map(str::to_owned),
                rest: rest.split_whitespace().map(OsString::from).collect(),
            };
            assert_eq!(split, expected, "{args}");
        };
        check("hermes config path", None, "hermes config path");
        check(
            "hermes -p work config path",
            Some("work"),
            "hermes config path",
        );
        check(
            "hermes config path --profile work",
            Some("work"),
            "hermes config path",
        );
        check("hermes --profile=Work chat", Some("Work"), "hermes chat");
        check("hermes tool -p /etc/x", None, "hermes tool -p /etc/x");
        check("hermes tool -p", None, "hermes tool -p");
        check("hermes run -- -p work", None, "hermes run -- -p work");
        check(
            "hermes mcp --args -p work",
            None,
            "hermes mcp --args -p work",
        );
    }

    /// Resolves inside a temp user home that has a profile `work` in `~/.hermes` and in `/c`-like `box`.
    fn check(
        flag: Option<&str>,
        home: Option<&str>,
        active: &str,
        expected: std::result::Result<&str, &str>,
    ) {
        let user = tempfile::tempdir().unwrap();
        let at = |path: &str| user.path().join(path);
        for dir in [".hermes/profiles/work", "box/profiles/work"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        fs::write(at(".hermes/active_profile"), active).unwrap();
        let mut env = Env::from([("HOME", user.path().to_str().unwrap())]);
        if let Some(home) = home {
            env.set("HERMES_HOME", at(home).to_str().unwrap());
        }
        let resolved = Resolved::from(flag, &env);
        match expected {
            Ok(dir) => assert_eq!(resolved.unwrap().dir, at(dir), "{flag:?} {home:?} {active}"),
            Err(part) => {
                let text = resolved.unwrap_err().to_string();
                assert!(text.contains(part), "{text}");
            }
        }
    }

    #[test]
    fn the_order_of_resolution() {
        check(None, None, "", Ok(".hermes"));
        check(None, None, "default\n", Ok(".hermes"));
        check(None, None, " work \n", Ok(".hermes/profiles/work"));
        check(None, Some("box"), "work", Ok("box"));
        check(
            None,
            Some(".hermes/profiles/work"),
            "",
            Ok(".hermes/profiles/work"),
        );
        check(
            None,
            Some(".hermes/profiles/other"),
            "work",
            Ok(".hermes/profiles/other"),
        );
        check(Some("work"), None, "", Ok(".hermes/profiles/work"));
        check(Some("default"), None, "work", Ok(".hermes"));
        check(Some("work"), Some("box"), "", Ok("box/profiles/work"));
        check(Some("default"), Some("box/profiles/work"), "", Ok("box"));
        check(
            Some("work"),
            Some(".hermes/profiles/other"),
            "",
            Ok(".hermes/profiles/work"),
        );
        check(Some("nosuch"), None, "", Err("no profile named 'nosuch'"));
        check(
            None,
            None,
            "gone",
            Err("hermes -p default profile use default"),
        );
        check(Some("../evil"), None, "", Err("../evil"));
    }
}
