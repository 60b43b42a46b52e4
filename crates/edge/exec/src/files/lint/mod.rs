//! Whether a file that was just written can be parsed. JSON and YAML are checked here, Python by its own program;
//! whatever cannot be checked is reported as skipped.

mod programs;

use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::programs::Checker;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lint {
    Ok,
    Error(String),
    Skipped(String),
}

impl Lint {
    /// Checks new content. If the old was broken the same way, says so instead of blaming the change.
    ///
    /// `env` is what programs run with; empty: none is run.
    pub async fn of(path: &Path, old: Option<&str>, new: &str, env: &[(String, String)]) -> Self {
        let found = check(path, new, env).await;
        if let (Self::Error(now), Some(old)) = (&found, old)
            && check(path, old, env).await == found
        {
            return Self::Error(format!("{now} (the file was already broken like this)"));
        }
        found
    }

    pub fn to_json(&self) -> Value {
        match self {
            Self::Ok => json!({"status": "ok", "output": ""}),
            Self::Error(output) => json!({"status": "error", "output": output}),
            Self::Skipped(message) => json!({"status": "skipped", "message": message}),
        }
    }
}

async fn check(path: &Path, text: &str, env: &[(String, String)]) -> Lint {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_lowercase();
    let error = match extension.as_str() {
        "json" => json_error(text),
        "yaml" | "yml" => yaml_error(text),
        other => match Checker::of(other) {
            Some(checker) if !env.is_empty() => return checker.run(text, env).await,
            _ => return Lint::Skipped(format!("No syntax check for '.{other}' files")),
        },
    };
    error.map_or(Lint::Ok, Lint::Error)
}

fn json_error(text: &str) -> Option<String> {
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    Some(format!("JSON: {error}"))
}

fn yaml_error(text: &str) -> Option<String> {
    let error = hermes_home::yaml::parse(text).err()?;
    let (line, column) = (error.line, error.column);
    Some(format!(
        "YAML: {} at line {line} column {column}",
        error.message
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn syntax_by_extension() {
        let check = async |name: &str, text: &str, status: &str, says: &str| {
            let lint = Lint::of(Path::new(name), None, text, &[]).await.to_json();
            assert_eq!(lint["status"], status, "{name} {text:?}: {lint}");
            assert!(lint.to_string().contains(says), "{lint}");
        };
        check("a.json", "{\"a\": [1]}", "ok", "").await;
        check("a.JSON", "{\"a\":", "error", "line 1").await;
        check("a.json", "{}\n{}", "error", "line 2").await;
        check("a.yaml", "a: !custom [1, 2]\n---\nb: 1\n", "ok", "").await;
        check("a.yml", "a: [1\nb: 2\n", "error", "line").await;
        check("a.py", "def f(:", "skipped", ".py").await;
        check("Makefile", "", "skipped", "").await;
    }

    #[tokio::test]
    async fn an_old_fault_is_not_blamed_on_the_change() {
        let check = async |old: &str, new: &str, says: bool| {
            let lint = Lint::of(Path::new("a.json"), Some(old), new, &[]).await;
            let lint = lint.to_json();
            assert_eq!(lint.to_string().contains("already"), says, "{lint}");
        };
        check("{\"a\":", "{\"b\":", true).await;
        check("{}", "{\"b\":", false).await;
        check("{\"a\":\n", "{\n\"b\": 1,}", false).await;
    }
}
