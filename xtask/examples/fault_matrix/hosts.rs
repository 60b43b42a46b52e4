//! A name that can be taken away: a private `/etc/hosts`, which the chore mounts over the real one for us alone.

use std::fs;

use anyhow::{Context, Result};

pub enum Name {
    Known,
    Unknown,
}

/// Whether `matrix.test` means this machine from now on. Only inside the chore's mount namespace.
pub fn set(name: Name) -> Result<()> {
    let path =
        std::env::var("FAULT_MATRIX_HOSTS").context("not inside the chore's mount namespace")?;
    let line = match name {
        Name::Known => "127.0.0.1 localhost matrix.test\n",
        Name::Unknown => "127.0.0.1 localhost\n",
    };
    fs::write(path, line).context("writing the private hosts file")
}
