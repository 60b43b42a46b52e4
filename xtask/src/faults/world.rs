//! Namespaces of our own: a loopback that can lose its packets and a hosts file that can lose a name, while the
//! machine's stay as they are. Nothing in there reaches the outside network.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache::Scratch;
use crate::command::{self, Finished};

/// The longest a group of cells may take before the whole run counts as hanging.
const LIMIT_S: &str = "420";
const SETUP: &str =
    r#"ip link set lo up && mount --bind "$FAULT_MATRIX_HOSTS" /etc/hosts && exec "$@""#;

pub struct World {
    program: PathBuf,
}

impl World {
    /// Fails if there can be none.
    pub fn new(program: &Path) -> Result<Self> {
        let world = Self {
            program: program.to_owned(),
        };
        let scratch = Scratch::new("hosts")?;
        let tried = command::finish(enter(scratch.path())?.arg("true"))?;
        if tried.code != Some(0) {
            bail!(
                "no namespaces of our own ({}): this needs root, or user namespaces for everybody, and the \
                 programs unshare, ip and tc",
                tried.err.trim()
            );
        }
        Ok(world)
    }

    /// Runs the program in namespaces made for this one run; what it wrote.
    pub fn run(&self, args: &[String]) -> Result<String> {
        let scratch = Scratch::new("hosts")?;
        let mut command = enter(scratch.path())?;
        let Finished { code, out, err } = command::finish(command.arg(&self.program).args(args))?;
        match code {
            Some(0) => Ok(out),
            Some(124 | 137) => bail!("the driver hangs: {err}"),
            code => bail!("the driver ended with {code:?}: {err}"),
        }
    }
}

/// A command in there; what to run is still to be added.
fn enter(scratch: &Path) -> Result<Command> {
    let hosts = scratch.join("hosts");
    fs::write(&hosts, "127.0.0.1 localhost\n").context("the private hosts file")?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LIMIT_S, "unshare", "--mount", "--net"]);
    if fs::metadata("/proc/self").context("/proc")?.uid() != 0 {
        command.arg("--map-root-user");
    }
    command
        .args(["--", "sh", "-c", SETUP, "sh"])
        .env("FAULT_MATRIX_HOSTS", hosts);
    Ok(command)
}
