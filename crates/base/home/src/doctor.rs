//! What `hermes doctor` says about the home: files, modes, configuration.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_types::Finding;

use crate::config::{self, Document, Settings};
use crate::dotenv::DotEnv;
use crate::{Env, Home};

/// The state of `config.yaml` and `.env`.
pub fn configuration(home: &Home, env: &Env) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = home.config_path();
    let document = match Document::load(&path) {
        Ok(document) => document,
        Err(error) => {
            return vec![Finding::error(
                error.to_string(),
                "no setting of yours is in force",
                "make the file readable",
            )];
        }
    };
    match document.value() {
        Err(error) => findings.push(Finding::error(
            error.to_string(),
            "every setting in the file is ignored, and nothing can be saved",
            "run `hermes config edit` and mend the line named above",
        )),
        Ok(_) if document.text().is_empty() => {
            findings.push(Finding::ok("no config.yaml: the defaults are in force"))
        }
        Ok(_) => findings.push(Finding::ok(format!("{} is readable", path.display()))),
    }
    findings.extend(version(home, env, &document));
    let env_file = DotEnv::load(&home.env_path());
    if let Err(error) = &env_file {
        findings.push(Finding::error(
            error.to_string(),
            "keys stored there are not used",
            "make the file readable",
        ));
    }
    for problem in config::problems(&document, &env_file.unwrap_or_default()) {
        findings.push(Finding::warning(
            problem.text,
            "it has no effect, or not the intended one",
            problem.fix,
        ));
    }
    for warning in Settings::from_document(&document, env).warnings() {
        if document.value().is_ok() {
            findings.push(Finding::warning(
                warning.clone(),
                "the default is used instead",
                "correct the value",
            ));
        }
    }
    findings
}

fn version(home: &Home, env: &Env, document: &Document) -> Option<Finding> {
    if document.value().is_err() || document.text().is_empty() {
        return None;
    }
    let stored = config::version(document);
    if stored >= config::CURRENT_VERSION {
        return Some(Finding::ok(format!("configuration version {stored}")));
    }
    let (home, env) = (home.clone(), env.clone());
    let finding = Finding::warning(
        format!(
            "configuration version {stored}, current is {}",
            config::CURRENT_VERSION
        ),
        "keys that were renamed since then are not all understood",
        "run `hermes config migrate`",
    );
    Some(finding.with_repair(move || {
        let done = config::migrate(&home, &env).map_err(|error| error.to_string())?;
        Ok(format!("configuration migrated to version {}", done.to))
    }))
}

/// Directories, modes of what holds secrets, and whether there is room to write.
pub fn directories(home: &Home) -> Vec<Finding> {
    let mut findings = Vec::new();
    let missing: Vec<&str> = ["sessions", "logs", "memories", "cron", "SOUL.md"]
        .into_iter()
        .filter(|name| !home.dir().join(name).exists())
        .collect();
    if missing.is_empty() {
        findings.push(Finding::ok(format!("{} is complete", home.dir().display())));
    } else {
        let home = home.clone();
        let finding = Finding::warning(
            format!("{} lacks {}", home.dir().display(), missing.join(", ")),
            "they are made when first needed, which fails on a read-only disk",
            "run `hermes doctor --fix`",
        );
        findings.push(finding.with_repair(move || {
            home.ensure()
                .map(|()| "missing directories created".to_owned())
                .map_err(|error| error.to_string())
        }));
    }
    findings.extend(writable(home));
    if home.modes().secret.is_some() {
        findings.extend(loose_modes(home));
    }
    findings
}

fn writable(home: &Home) -> Option<Finding> {
    let probe = home
        .dir()
        .join(format!(".doctor-{:08x}.tmp", fastrand::u32(..)));
    let written = fs::write(&probe, [0_u8; 4096]);
    let _ = fs::remove_file(&probe); // not there if the write failed
    written.err().map(|error| {
        Finding::error(
            format!("{} cannot be written: {error}", home.dir().display()),
            "conversations and settings cannot be saved",
            "free disk space, or check the owner and mount options of the directory",
        )
    })
}

fn loose_modes(home: &Home) -> Vec<Finding> {
    let secrets =
        [".env", "config.yaml", "auth.json", "state.db"].map(|name| (home.dir().join(name), 0o600));
    let own_dir = [(home.dir().to_owned(), home.modes().dir)];
    own_dir
        .into_iter()
        .chain(secrets)
        .filter_map(|(path, wanted)| loose(&path, wanted))
        .collect()
}

fn loose(path: &Path, wanted: u32) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let path: PathBuf = path.to_owned();
    (mode & !wanted & 0o077 != 0).then(|| {
        Finding::warning(
            format!("{} has mode {mode:o}", path.display()),
            "other users of this machine can read your keys or conversations",
            format!("run `chmod {wanted:o} {}`", path.display()),
        )
        .with_repair(move || {
            fs::set_permissions(&path, Permissions::from_mode(wanted))
                .map(|()| format!("{} is now {wanted:o}", path.display()))
                .map_err(|error| error.to_string())
        })
    })
}
