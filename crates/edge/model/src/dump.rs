//! Requests written down for whoever wants to know why they failed: `sessions/request_dump_<session>_<time>.json`.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::redact::{Redactor, is_secret_name, mask_token};
use hermes_home::{Env, Home, Modes, clock, replace_secret};
use hermes_types::{ModelError, SessionId};
use serde_json::{Value, json};

use crate::dialect::{self, Wire};
use crate::route::Route;

/// Longer texts are cut: pictures, mostly.
const MAX_TEXT: usize = 64 << 10;
/// A larger dump says only how large its body was.
const MAX_DUMP: usize = 4 << 20;
/// The newest of each session stay.
const MAX_FILES: usize = 50;

/// Where requests are written down, and which.
#[derive(Clone, Debug)]
pub struct Dumps {
    dir: PathBuf,
    modes: Modes,
    every_request: bool,
}

/// Why a request is written down.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why<'a> {
    /// Every one is: it is about to be sent.
    Sending,
    Failed(&'a ModelError),
}

impl Dumps {
    /// Those that fail; with `HERMES_DUMP_REQUESTS` all.
    pub fn new(home: &Home, env: &Env) -> Self {
        Self {
            dir: home.sessions_dir(),
            modes: home.modes().clone(),
            every_request: env.is_on("HERMES_DUMP_REQUESTS"),
        }
    }

    pub(crate) fn wants_all(&self) -> bool {
        self.every_request
    }

    /// Writes a request down, without secrets. Nobody waits for it to succeed.
    pub(crate) async fn write(&self, session: &SessionId, route: &Route, wire: Wire, why: Why<'_>) {
        let name = FileName::of(session);
        let dump = content(session, route, wire, why);
        let dumps = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            let path = dumps.dir.join(name.now());
            let written = replace_secret(&path, dump, &dumps.modes);
            name.keep_newest(&dumps.dir);
            written.map(|()| path)
        });
        match written.await {
            Ok(Ok(path)) => tracing::info!("the request is in {}", path.display()),
            Ok(Err(error)) => tracing::warn!("the request could not be written down: {error}"),
            Err(error) => tracing::warn!("the request could not be written down: {error}"),
        }
    }
}

/// What the files of one session begin with.
struct FileName(String);

impl FileName {
    fn of(session: &SessionId) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let plain = session.as_str().chars();
        let session: String = plain.map(|c| if is_plain(c) { c } else { '_' }).collect();
        Self(format!("request_dump_{session}_"))
    }

    fn now(&self) -> String {
        format!(
            "{}{}.json",
            self.0,
            clock::now().strftime("%Y%m%d_%H%M%S_%6f")
        )
    }

    /// Names end with the time, so the oldest come first.
    fn keep_newest(&self, dir: &Path) {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| name.starts_with(&self.0)).collect();
        names.sort();
        let surplus = names.len().saturating_sub(MAX_FILES);
        for name in &names[..surplus] {
            // One too many does no harm.
            let _ = fs::remove_file(dir.join(name));
        }
    }
}

fn content(session: &SessionId, route: &Route, wire: Wire, why: Why<'_>) -> String {
    let (reason, error) = match why {
        Why::Sending => ("preflight", None),
        Why::Failed(error) => ("failed", Some(error)),
    };
    let clean = Clean { route };
    let headers = wire.headers.iter();
    let mut headers: Value = headers
        .map(|(name, value)| (name.clone(), Value::String(clean.field(name, value))))
        .collect();
    if let Some((name, _)) = dialect::auth_header(route) {
        headers[name] = route.key.masked().into();
    }
    let mut dump = json!({
        "timestamp": clock::now().strftime("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string(),
        "session_id": session.as_str(),
        "reason": reason,
        "request": {
            "method": "POST",
            "url": clean.text(wire.url.as_str()),
            "headers": headers,
            "body": clean.value("", wire.body),
        },
    });
    if let Some(error) = error {
        dump["error"] = json!({
            "kind": format!("{:?}", error.kind),
            "status": error.status,
            "message": clean.text(&error.message),
        });
    }
    bounded(dump)
}

fn bounded(mut dump: Value) -> String {
    let text = format!("{dump:#}\n");
    if text.len() <= MAX_DUMP {
        return text;
    }
    dump["request"]["body"] = format!("[left out: {} bytes]", text.len()).into();
    format!("{dump:#}\n")
}

/// Takes out what must not lie around.
struct Clean<'a> {
    route: &'a Route,
}

impl Clean<'_> {
    fn value(&self, name: &str, value: Value) -> Value {
        match value {
            Value::String(text) => self.field(name, &text).into(),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.value(name, item))
                .collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields
                    .map(|(name, value)| {
                        let value = self.value(&name, value);
                        (name, value)
                    })
                    .collect()
            }
            other => other,
        }
    }

    fn field(&self, name: &str, text: &str) -> String {
        match is_secret_name(&name.replace('-', "_")) {
            true => mask_token(text),
            false => self.text(text),
        }
    }

    fn text(&self, text: &str) -> String {
        let key = self.route.key.expose();
        let text = match key.len() >= 4 {
            true => text.replace(key, &self.route.key.masked()),
            false => text.to_owned(),
        };
        let cut = text.floor_char_boundary(MAX_TEXT.min(text.len()));
        let rest = text.len() - cut;
        let mut clean = Redactor::default().force(&text[..cut]).into_owned();
        if rest > 0 {
            clean.push_str(&format!("[{rest} more bytes]"));
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_the_newest_stay() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..MAX_FILES + 3 {
            fs::write(
                dir.path().join(format!("request_dump_s_{number:03}.json")),
                "",
            )
            .unwrap();
        }
        fs::write(dir.path().join("request_dump_other_1.json"), "").unwrap();
        FileName::of(&"s".into()).keep_newest(dir.path());
        let names = fs::read_dir(dir.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), MAX_FILES + 1);
        assert_eq!(
            names[..2],
            ["request_dump_other_1.json", "request_dump_s_003.json"]
        );
    }

    #[test]
    fn a_session_cannot_lead_elsewhere() {
        let name = FileName::of(&"../../x".into()).now();
        assert!(name.starts_with("request_dump_.._.._x_2"), "{name}");
    }

    #[test]
    fn a_huge_body_is_left_out() {
        let dump = json!({"request": {"body": "x".repeat(MAX_DUMP)}});
        assert!(bounded(dump).contains("[left out: 4194"));
    }
}
