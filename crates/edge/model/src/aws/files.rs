//! The profile files Amazon's tools share: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::Env;

/// A pair of keys and where it lies.
pub(super) struct Found {
    pub id: String,
    pub secret: String,
    pub session_token: Option<String>,
    pub place: String,
}

type Fields = BTreeMap<String, String>;

pub(super) fn profile(env: &Env) -> &str {
    env.filled("AWS_PROFILE").unwrap_or("default")
}

pub(super) fn credentials(env: &Env) -> PathBuf {
    file(env, "AWS_SHARED_CREDENTIALS_FILE", "credentials")
}

pub(super) fn pair(env: &Env) -> Option<Found> {
    let path = credentials(env);
    let of_credentials = section(&path, profile(env));
    let of_config = || section(&config(env), &config_name(env));
    let found = of_credentials.and_then(|fields| from(&fields, &path));
    found.or_else(|| from(&of_config()?, &config(env)))
}

pub(super) fn region(env: &Env) -> Option<String> {
    let own = section(&config(env), &config_name(env));
    let own = own.and_then(|mut fields| fields.remove("region"));
    own.or_else(|| section(&credentials(env), profile(env))?.remove("region"))
}

fn from(fields: &Fields, path: &Path) -> Option<Found> {
    let field = |name: &str| fields.get(name).filter(|value| !value.is_empty()).cloned();
    Some(Found {
        id: field("aws_access_key_id")?,
        secret: field("aws_secret_access_key")?,
        session_token: field("aws_session_token"),
        place: path.display().to_string(),
    })
}

fn config(env: &Env) -> PathBuf {
    file(env, "AWS_CONFIG_FILE", "config")
}

/// Sections of the two files are named differently.
fn config_name(env: &Env) -> String {
    match profile(env) {
        "default" => "default".to_owned(),
        name => format!("profile {name}"),
    }
}

fn file(env: &Env, variable: &str, name: &str) -> PathBuf {
    match env.filled(variable) {
        Some(path) => path.into(),
        None => env.user_home().join(".aws").join(name),
    }
}

/// The fields of one section. What is indented belongs to a field and is of no interest.
fn section(path: &Path, name: &str) -> Option<Fields> {
    let text = fs::read_to_string(path).ok()?;
    let mut inside = false;
    let mut fields = None;
    for line in text.lines() {
        let is_part = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(title) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            inside = title.split_whitespace().eq(name.split_whitespace());
            fields = fields.or_else(|| inside.then(Fields::new));
        } else if inside
            && !is_part
            && !line.starts_with(['#', ';'])
            && let (Some((key, value)), Some(fields)) = (line.split_once('='), &mut fields)
        {
            fields.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    fields
}
