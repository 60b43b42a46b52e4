//! Somebody whose model is scripted.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use crate::cache::Scratch;
use crate::command::{self, as_user};
use crate::scripted::Server;

pub struct User {
    pub home: Scratch,
    pub server: Server,
}

impl User {
    pub fn new(name: &str, script: &Value) -> Result<Self> {
        let program = command::build_program("release", "scripted-model")?;
        let home = Scratch::new(name)?;
        let file = home.path().join("script.json");
        fs::write(&file, script.to_string())?;
        let server = Server::start(&program, &file)?;
        fs::create_dir_all(home.path().join(".hermes"))?;
        fs::write(
            home.path().join(".hermes/config.yaml"),
            format!(
                "model:\n  default: scripted\n  provider: custom\n  base_url: {}/v1\n  api_key: not-needed\n  context_length: 131072\n",
                server.url
            ),
        )?;
        Ok(Self { home, server })
    }

    pub fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = as_user(program, self.home.path());
        command.args(args);
        command
    }
}
