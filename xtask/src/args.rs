//! Command-line arguments, as much of them as a chore needs.

use std::fmt;

/// Called wrongly: `main` turns this into exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What is left of the command line; each question takes its answer out.
#[derive(Debug)]
pub struct Args(Vec<String>);

impl Args {
    pub fn new(given: impl Iterator<Item = String>) -> Self {
        Self(given.collect())
    }

    /// Whether `--name` was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|arg| arg != name);
        self.0.len() < before
    }

    /// The value after `--name`, split at commas.
    pub fn list(&mut self, name: &str) -> Result<Vec<String>, Usage> {
        let Some(at) = self.0.iter().position(|arg| arg == name) else {
            return Ok(Vec::new());
        };
        if at + 1 == self.0.len() {
            return Err(Usage(format!("{name} needs a value")));
        }
        let value = self.0.remove(at + 1);
        self.0.remove(at);
        Ok(value
            .split(',')
            .map(|part| part.trim().to_owned())
            .collect())
    }

    /// The positional words, each of which must be one of `known`.
    pub fn words(self, known: &[&str]) -> Result<Vec<String>, Usage> {
        match self.0.iter().find(|arg| !known.contains(&arg.as_str())) {
            None => Ok(self.0),
            Some(odd) if known.is_empty() => Err(Usage(format!("unexpected `{odd}`"))),
            Some(odd) => {
                let known = known.join(", ");
                Err(Usage(format!("unexpected `{odd}`; known: {known}")))
            }
        }
    }
}
