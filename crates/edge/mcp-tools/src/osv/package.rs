//! Which package a command line runs.

use std::path::Path;

/// What a package runner is about to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub ecosystem: Ecosystem,
    pub name: String,
    pub version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecosystem {
    Npm,
    PyPi,
}

impl Ecosystem {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::PyPi => "PyPI",
        }
    }
}

/// A program that fetches packages and runs them.
struct Runner {
    ecosystem: Ecosystem,
    /// Options whose value is the package.
    package: &'static [&'static str],
    /// Options whose value is something else.
    other: &'static [&'static str],
    /// A word before the package.
    verb: &'static str,
}

fn runner(program: &Path) -> Option<Runner> {
    let name = program.file_stem()?.to_str()?;
    Some(match name {
        "npx" => Runner {
            ecosystem: Ecosystem::Npm,
            package: &["--package", "-p"],
            other: &["--registry", "--cache", "--prefix", "-w", "--workspace"],
            verb: "",
        },
        "uvx" => Runner {
            ecosystem: Ecosystem::PyPi,
            package: &["--package", "--from"],
            other: &["-p", "--python", "--with", "--index-url", "--index", "-i"],
            verb: "",
        },
        "pipx" => Runner {
            ecosystem: Ecosystem::PyPi,
            package: &["--package", "--spec", "-p"],
            other: &["--python", "--index-url", "-i", "--pip-args"],
            verb: "run",
        },
        _ => return None,
    })
}

/// The package a command line fetches, if it fetches one from a registry.
pub fn package(program: &Path, args: &[String]) -> Option<Package> {
    let runner = runner(program)?;
    let text = named(&runner, args)?;
    let (name, version) = match runner.ecosystem {
        Ecosystem::Npm => npm(text)?,
        Ecosystem::PyPi => pypi(text)?,
    };
    Some(Package {
        ecosystem: runner.ecosystem,
        name,
        version,
    })
}

/// The value of an option that names the package, else the first argument that is no option.
fn named<'a>(runner: &Runner, args: &'a [String]) -> Option<&'a str> {
    let mut bare = None;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, Some(value)),
            _ => (arg, None),
        };
        if runner.package.contains(&option) {
            return value.or_else(|| args.next());
        }
        if runner.other.contains(&option) && value.is_none() {
            args.next();
        } else if !arg.starts_with('-') && arg != runner.verb {
            bare = Some(arg);
            // What follows belongs to the program.
            break;
        }
    }
    bare
}

/// `@scope/name@version`; only an exact version is one.
fn npm(text: &str) -> Option<(String, Option<String>)> {
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '@');
    let (name, version) = match at {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let is_scoped = name.starts_with('@');
    let is_local =
        name.starts_with(['.', '/', '~']) || name.contains(':') || !is_scoped && name.contains('/');
    (!name.is_empty() && !is_local).then(|| (name.to_owned(), exact(version)))
}

/// `name[extra]==version`, or `name@version` as uvx has it.
fn pypi(text: &str) -> Option<(String, Option<String>)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let is_local =
        name.is_empty() || name.starts_with('.') || rest.starts_with([':', '/', '+', '\\']);
    if is_local {
        return None;
    }
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let version = rest
        .trim()
        .strip_prefix("==")
        .or_else(|| rest.strip_prefix('@'));
    Some((name.to_owned(), exact(version)))
}

/// Ranges and tags such as `latest` are no versions.
fn exact(version: Option<&str>) -> Option<String> {
    let version = version?.trim();
    let is_exact = version.starts_with(|c: char| c.is_ascii_digit())
        && !version.contains([' ', '*', '^', '~', '<', '>', '|', 'x', ',']);
    is_exact.then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_command_lines() {
        let check = |line: &str, expected: Option<(&str, Option<&str>)>| {
            let mut words = line.split_whitespace();
            let program = Path::new(words.next().unwrap());
            let args: Vec<String> = words.map(str::to_owned).collect();
            let found = package(program, &args);
            let found = found
                .as_ref()
                .map(|found| (found.name.as_str(), found.version.as_deref()));
            assert_eq!(found, expected, "{line}");
        };
        check(
            "npx -y @scope/name@1.2.3 --flag x",
            Some(("@scope/name", Some("1.2.3"))),
        );
        check("/usr/bin/npx name", Some(("name", None)));
        check("npx name@latest", Some(("name", None)));
        check("npx name@^1.0", Some(("name", None)));
        check(
            "npx --package evil@2.0.0 run-it",
            Some(("evil", Some("2.0.0"))),
        );
        check("npx --package=evil run-it", Some(("evil", None)));
        check("npx -p evil -c run", Some(("evil", None)));
        check("npx --registry https://r name", Some(("name", None)));
        check("npx", None);
        check("npx ./local", None);
        check("npx github:me/repo", None);
        check("npx me/repo", None);
        check("uvx pkg[cli]==1.0 --port 5", Some(("pkg", Some("1.0"))));
        check("uvx pkg@latest", Some(("pkg", None)));
        check("uvx pkg>=1.0", Some(("pkg", None)));
        check("uvx --from evil==3.1 tool", Some(("evil", Some("3.1"))));
        check("uvx -p 3.12 pkg", Some(("pkg", None)));
        check("uvx git+https://x/y", None);
        check("pipx run pkg==2", Some(("pkg", Some("2"))));
        check("pipx run --spec evil tool", Some(("evil", None)));
        check("node server.js", None);
        check("bash -c npx", None);
    }
}
