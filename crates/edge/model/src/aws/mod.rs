//! Amazon's way of proving who asks: a pair of keys, found where its owner's other tools find it, and a
//! signature over each request.

mod files;
mod sign;

use std::fmt;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_types::ModelError;
use reqwest::Url;

use crate::resolve::not_configured;
use crate::route::Key;
use files::Found;

pub(crate) use sign::sign;

/// Where to ask if nobody says.
const REGION: &str = "us-east-1";
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
/// Where a base address has the region in it.
const PLACE: &str = "{region}";

/// What requests are signed with. The secret never travels.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    pub id: String,
    pub(crate) secret: String,
    /// Pairs that were lent for a while come with one.
    pub(crate) session_token: Option<String>,
    /// A signature counts in one region.
    pub region: String,
}

impl KeyPair {
    pub fn new(id: &str, secret: &str, region: &str) -> Self {
        Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
            session_token: None,
            region: region.to_owned(),
        }
    }

    #[must_use]
    pub fn with_session_token(mut self, token: &str) -> Self {
        self.session_token = Some(token.to_owned());
        self
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.id, self.region)
    }
}

/// `bedrock.region`, the environment, the profile.
pub(crate) fn region(settings: &Settings, env: &Env) -> String {
    let set = settings.text("bedrock.region").trim();
    let set = (!set.is_empty()).then(|| set.to_owned());
    let of_env = || {
        let names = ["AWS_REGION", "AWS_DEFAULT_REGION"];
        names
            .iter()
            .find_map(|name| env.filled(name))
            .map(str::to_owned)
    };
    set.or_else(of_env)
        .or_else(|| files::region(env))
        .unwrap_or_else(|| REGION.to_owned())
}

/// An address with the region filled in.
pub(crate) fn in_region(url: &str, settings: &Settings, env: &Env) -> String {
    match url.contains(PLACE) {
        true => url.replace(PLACE, &region(settings, env)),
        false => url.to_owned(),
    }
}

/// What requests to Bedrock are authorised with, and what it is called.
pub(crate) fn key(settings: &Settings, env: &Env, url: &Url) -> Result<(Key, String), ModelError> {
    if let Some(token) = env.filled(BEARER) {
        return Ok((Key::new(token), BEARER.to_owned()));
    }
    let found = found(env).ok_or_else(|| not_configured(nothing(env)))?;
    let pair = KeyPair {
        id: found.id,
        secret: found.secret,
        session_token: found.session_token,
        region: of_host(url).unwrap_or_else(|| region(settings, env)),
    };
    Ok((Key::pair(pair), found.place))
}

/// Whether [`key`] would find something.
pub(crate) fn has_key(env: &Env) -> bool {
    env.filled(BEARER).is_some() || found(env).is_some()
}

fn found(env: &Env) -> Option<Found> {
    let id = env.filled("AWS_ACCESS_KEY_ID");
    match id.zip(env.filled("AWS_SECRET_ACCESS_KEY")) {
        Some((id, secret)) => Some(Found {
            id: id.to_owned(),
            secret: secret.to_owned(),
            session_token: env.filled("AWS_SESSION_TOKEN").map(str::to_owned),
            place: "AWS_SECRET_ACCESS_KEY".to_owned(),
        }),
        None => files::pair(env),
    }
}

fn nothing(env: &Env) -> String {
    let profile = files::profile(env);
    format!(
        "There are no keys for Bedrock. Set {BEARER}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put a key \
         pair into the profile '{profile}' of {}. Container, web identity, SSO and instance credentials are not \
         supported; `aws configure export-credentials --format env` turns them into variables",
        files::credentials(env).display()
    )
}

/// The region in `bedrock-runtime.<region>.amazonaws.com`.
fn of_host(url: &Url) -> Option<String> {
    let mut names = url.host_str()?.split('.');
    let is_bedrock = names.next()?.starts_with("bedrock-runtime");
    let region = names.next()?;
    (is_bedrock && url.host_str()?.contains("amazonaws.com")).then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hermes_home::config::Document;
    use pretty_assertions::assert_eq;

    use super::*;

    fn settings(text: &str, env: &Env) -> Settings {
        let document = Document::parse(Path::new("config.yaml"), text.to_owned());
        Settings::from_document(&document, env)
    }

    fn env(home: &Path, variables: &[(&str, &str)]) -> Env {
        let mut env: Env = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        env.set("HOME", home.to_str().unwrap());
        env
    }

    const CREDENTIALS: &str = "\
# of the tools
[default]
aws_access_key_id = AKID1
aws_secret_access_key=secret/1

[work]
aws_access_key_id=AKID2
aws_secret_access_key = secret2
aws_session_token = token2
";
    const CONFIG: &str = "\
[default]
region = eu-central-1
[profile work]
region=eu-west-1
s3 =
    max_queue_size = 1000
[profile inline]
aws_access_key_id = AKID3
aws_secret_access_key = secret3
";

    #[test]
    fn keys_are_found_in_order() {
        let home = tempfile::tempdir().unwrap();
        let url: Url = "https://bedrock.example".parse().unwrap();
        let check = |variables: &[(&str, &str)], expected: Option<(&str, &str, &str)>| {
            let env = env(home.path(), variables);
            let settings = settings("{}", &env);
            let found = key(&settings, &env, &url);
            assert_eq!(found.is_ok(), has_key(&env));
            let found = found.ok().map(|(key, _)| match key.as_pair() {
                Some(pair) => (pair.id.clone(), pair.secret.clone(), pair.region.clone()),
                None => (String::new(), key.expose().to_owned(), String::new()),
            });
            let text = |text: &str| text.to_owned();
            let expected =
                expected.map(|(id, secret, region)| (text(id), text(secret), text(region)));
            assert_eq!(found, expected, "{variables:?}");
        };
        let pair = [
            ("AWS_ACCESS_KEY_ID", "AKID9"),
            ("AWS_SECRET_ACCESS_KEY", "secret9"),
        ];
        let with = |more: &[(&'static str, &'static str)]| [&pair[..], more].concat();
        check(&[], None);
        check(&pair[..1], None);
        check(&pair, Some(("AKID9", "secret9", "us-east-1")));
        check(
            &with(&[("AWS_BEARER_TOKEN_BEDROCK", "bearer")]),
            Some(("", "bearer", "")),
        );
        check(
            &with(&[("AWS_PROFILE", "work")]),
            Some(("AKID9", "secret9", "us-east-1")),
        );

        let folder = home.path().join(".aws");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("credentials"), CREDENTIALS).unwrap();
        std::fs::write(folder.join("config"), CONFIG).unwrap();
        check(&[], Some(("AKID1", "secret/1", "eu-central-1")));
        check(&pair, Some(("AKID9", "secret9", "eu-central-1")));
        check(
            &with(&[("AWS_PROFILE", "work")]),
            Some(("AKID9", "secret9", "eu-west-1")),
        );
        check(
            &[("AWS_PROFILE", "work")],
            Some(("AKID2", "secret2", "eu-west-1")),
        );
        check(
            &[("AWS_PROFILE", "inline")],
            Some(("AKID3", "secret3", "us-east-1")),
        );
        check(&[("AWS_PROFILE", "gone")], None);
        let moved = home.path().join("moved");
        std::fs::rename(folder.join("credentials"), &moved).unwrap();
        check(
            &[
                ("AWS_SHARED_CREDENTIALS_FILE", moved.to_str().unwrap()),
                ("AWS_REGION", "xx"),
            ],
            Some(("AKID1", "secret/1", "xx")),
        );
    }

    #[test]
    fn regions_are_found_in_order() {
        let home = tempfile::tempdir().unwrap();
        let check = |text: &str, variables: &[(&str, &str)], expected: &str| {
            let env = env(home.path(), variables);
            let url = in_region(
                "https://bedrock-runtime.{region}.amazonaws.com",
                &settings(text, &env),
                &env,
            );
            let host = of_host(&url.parse().unwrap());
            assert_eq!(host.as_deref(), Some(expected), "{text} {variables:?}");
        };
        check("{}", &[], "us-east-1");
        check("{}", &[("AWS_DEFAULT_REGION", "a-1")], "a-1");
        check(
            "{}",
            &[("AWS_DEFAULT_REGION", "a-1"), ("AWS_REGION", "b-1")],
            "b-1",
        );
        check("bedrock: {region: c-1}", &[("AWS_REGION", "b-1")], "c-1");
        let other: Url = "https://bedrock-runtime.x.example".parse().unwrap();
        assert_eq!(of_host(&other), None);
    }

    #[test]
    fn without_keys_it_says_what_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let env = env(home.path(), &[]);
        let url: Url = "https://bedrock.example".parse().unwrap();
        let error = key(&settings("{}", &env), &env, &url).unwrap_err();
        for part in ["AWS_BEARER_TOKEN_BEDROCK", "'default'", "not supported"] {
            assert!(error.message.contains(part), "{error}");
        }
    }
}
