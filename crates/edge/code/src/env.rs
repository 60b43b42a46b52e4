//! What a script may see of our environment: little, and nothing that opens anything.

use std::path::Path;

use hermes_home::Env;

/// Words in the names of secrets.
const SECRET: [&str; 12] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "PASSWD",
    "AUTH",
    "DSN",
    "WEBHOOK",
    "CREDS",
    "BEARER",
    "APIKEY",
];
/// What programs need to find their way.
const PREFIXES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SHELL",
    "LOGNAME",
    "XDG_",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA",
    "TZ",
];
const NAMES: [&str; 4] = [
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
];

/// The environment of a script, but for the way to its staging directory. The owner's `passthrough` names win.
pub(crate) fn script_env(env: &Env, passthrough: &[String], hermes_home: &Path) -> Env {
    let mut child: Env = env
        .iter()
        .filter(|(name, _)| passthrough.iter().any(|passed| passed == name) || passes(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in [
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONIOENCODING", "utf-8"),
        ("PYTHONUTF8", "1"),
        // What was printed before a script is stopped must not stay in its buffer.
        ("PYTHONUNBUFFERED", "1"),
    ] {
        child.set(name, value);
    }
    if let Some(zone) = env.filled("HERMES_TIMEZONE") {
        child.set("TZ", zone);
    }
    // The same place as for commands: if the owner made one.
    let own_home = hermes_home.join("home");
    if own_home.is_dir() {
        child.set("HOME", own_home.to_string_lossy());
    }
    child
}

fn passes(name: &str) -> bool {
    let upper = name.to_uppercase();
    let secret = SECRET.iter().any(|word| upper.contains(word));
    let useful = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !secret && (useful || NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_passes_and_no_secret() {
        let check = |name: &str, expected: bool| {
            let env = Env::from([(name, "value")]);
            let passthrough = ["MY_API_KEY".to_owned()];
            let child = script_env(&env, &passthrough, Path::new("/nonexistent"));
            assert_eq!(child.get(name).is_some(), expected, "{name}");
        };
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "CONDA_PREFIX",
            "VIRTUAL_ENV",
            "HERMES_HOME",
            "TZ",
            "MY_API_KEY",
        ] {
            check(name, true);
        }
        for name in [
            "FOO_API_KEY",
            "EDITOR",
            "HERMES_YOLO_MODE",
            "XDG_SESSION_TOKEN",
            "PATH_secret",
            "CONDA_TOKEN",
            "SENTRY_DSN",
            "LD_PRELOAD",
            "SSH_AUTH_SOCK",
            "USER_CREDS",
        ] {
            check(name, false);
        }
    }

    #[test]
    fn python_is_told_what_it_needs() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("home");
        std::fs::create_dir(&own).unwrap();
        let env = Env::from([("HOME", "/home/me"), ("HERMES_TIMEZONE", "Europe/Oslo")]);
        let child = script_env(&env, &[], home.path());
        assert_eq!(child.get("TZ"), Some("Europe/Oslo"));
        assert_eq!(child.get("HOME"), own.to_str());
        assert_eq!(child.get("PYTHONUTF8"), Some("1"));
    }
}
