//! A server that is a program: which one it is, and what it gets to know of our environment.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_home::Env;
use hermes_mcp::{Secret, StdioEndpoint};

use super::section::Section;
use super::{Problem, ProblemKind, Surroundings, path};
use crate::screen;

/// What a child gets from our environment, beside `XDG_*`. No key of ours is among it.
const PASSED_ON: &[&str] = &[
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR",
];

/// Programs that are often installed where no PATH points to.
const NODE_TOOLS: &[&str] = &["npx", "npm", "node"];

/// The endpoint, and the values of the entry's own `env`.
pub(super) fn read(
    section: &Section<'_>,
    around: Surroundings<'_>,
) -> Result<(StdioEndpoint, Vec<Secret>), Problem> {
    let server = section.notes().server();
    let refuse = |key: &str, message: &str| Problem::broken(server, key, message);
    let command = section
        .text("command")
        .ok_or_else(|| refuse("command", "there is neither url nor command"))?;
    let args = section.list("args").unwrap_or_default();
    let own = section.texts("env");
    let bad_name = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    if let Some(name) = own.keys().find(bad_name) {
        return Err(refuse("env", &format!("'{name}' is no name of a variable")));
    }
    screen::screen(&command, &args, &own).map_err(|reason| Problem {
        kind: ProblemKind::Suspicious,
        ..refuse("command", &reason.to_string())
    })?;
    let mut env = child_env(around.env, &own);
    let program = find(&command, env.get("PATH"), around)
        .ok_or_else(|| refuse("command", &missing(&command)))?;
    prepend(&mut env, &program);
    let lifecycle = section.section("lifecycle");
    let limit = |key: &str| section.limit(key).or_else(|| lifecycle.limit(key));
    let endpoint = StdioEndpoint {
        program,
        args,
        env: env
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect(),
        dir: around.dir.to_owned(),
        stderr: Some(around.home.logs_dir().join("mcp-stderr.log")),
        idle_limit: limit("idle_timeout_seconds"),
        lifetime: limit("max_lifetime_seconds"),
    };
    Ok((endpoint, own.into_values().map(Secret::new).collect()))
}

/// The whole environment of a child: the little it may know of ours, and the entry's own on top.
pub fn child_env(env: &Env, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let passed = env
        .iter()
        .filter(|(name, _)| PASSED_ON.contains(name) || name.starts_with("XDG_"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    passed.chain(own.clone()).collect()
}

/// The program behind a command as people write it.
fn find(command: &str, search: Option<&String>, around: Surroundings<'_>) -> Option<PathBuf> {
    if command.contains('/') || command.starts_with('~') {
        return Some(path(command, around)).filter(|program| is_program(program));
    }
    let listed = search.map(String::as_str).unwrap_or_default().split(':');
    let listed = listed.filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let extra = if NODE_TOOLS.contains(&command) {
        let user = around.env.user_home();
        vec![
            around.home.dir().join("node/bin"),
            user.join(".local/bin"),
            PathBuf::from("/usr/local/bin"),
        ]
    } else {
        Vec::new()
    };
    listed
        .chain(extra)
        .map(|dir| around.dir.join(dir).join(command))
        .find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A program finds its companions (`npx` needs `node`) first beside itself.
fn prepend(env: &mut BTreeMap<String, String>, program: &Path) {
    let Some(dir) = program.parent().and_then(Path::to_str) else {
        return;
    };
    let path = env.entry("PATH".to_owned()).or_default();
    if path.split(':').next() != Some(dir) {
        *path = match path.as_str() {
            "" => dir.to_owned(),
            rest => format!("{dir}:{rest}"),
        };
    }
}

fn missing(command: &str) -> String {
    let hint = match NODE_TOOLS.contains(&command) {
        true => {
            ". Install Node.js, or give an absolute path as command and a PATH in env that holds node"
        }
        false => "",
    };
    format!("the executable '{command}' was not found{hint}")
}
