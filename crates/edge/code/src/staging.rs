//! Where a script and its way to the tools lie while it runs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_proc::Scratch;
use tokio::net::UnixListener;

/// Short enough for a socket, whose whole path may have about a hundred bytes.
const SHORT: &str = "/tmp";

/// A directory of the owner's alone, gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Staging {
    pub listener: UnixListener,
    dir: Scratch,
}

impl Staging {
    /// In `temp`; if no socket can be made there, in `/tmp`.
    pub fn make(temp: &Path, code: &str, module: &str) -> Result<Self, String> {
        let mut problems = Vec::new();
        let places = [temp, Path::new(SHORT)];
        let places = &places[..if temp == places[1] { 1 } else { 2 }];
        for place in places {
            match Self::make_in(place, code, module) {
                Ok(staging) => return Ok(staging),
                Err(problem) => problems.push(format!("{}: {problem}", place.display())),
            }
        }
        Err(format!(
            "The script could not be started: there is no place for its files and its socket ({}). Set TMPDIR to \
             a directory with a short path that can be written to.",
            problems.join("; ")
        ))
    }

    fn make_in(place: &Path, code: &str, module: &str) -> io::Result<Self> {
        let dir = Scratch::make(place, "code")?;
        fs::write(script(dir.path()), code)?;
        fs::write(dir.path().join("hermes_tools.py"), module)?;
        let path = socket(dir.path());
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, dir })
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn script(&self) -> PathBuf {
        script(self.dir())
    }

    pub fn socket(&self) -> PathBuf {
        socket(self.dir())
    }
}

fn script(dir: &Path) -> PathBuf {
    dir.join("script.py")
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("hermes_rpc.sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_else_can_reach_it_and_nothing_stays() {
        let temp = tempfile::tempdir().unwrap();
        let staging = Staging::make(temp.path(), "print(1)", "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(staging.dir()), 0o700);
        assert_eq!(mode(&staging.socket()), 0o600);
        assert_eq!(fs::read_to_string(staging.script()).unwrap(), "print(1)");
        drop(staging);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_path_too_long_for_a_socket_is_left_for_a_shorter_one() {
        let temp = tempfile::tempdir().unwrap();
        let long = temp.path().join("x".repeat(120));
        fs::create_dir(&long).unwrap();
        let staging = Staging::make(&long, "", "").unwrap();
        assert!(staging.dir().starts_with(SHORT));
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
    }

    #[test]
    fn without_a_place_the_reason_is_told() {
        let error = Staging::make_in(Path::new("/nonexistent"), "", "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
