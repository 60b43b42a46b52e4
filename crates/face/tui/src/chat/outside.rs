//! What the chat does outside its own rows: the owner's editor, settings, skins.

use std::io;
use std::path::{Path, PathBuf};

use crossterm::event::EventStream;
use futures::FutureExt;
use hermes_home::config::Document;
use hermes_home::yaml;
use hermes_proc::foreground;
use serde_json::{Value, json};

use super::room::Room;
use super::run::Chat;
use super::start;
use crate::look::Skin;
use crate::screen::restore_now;

impl Chat {
    /// Ctrl+G: the draft in the owner's editor.
    pub(super) fn edit_outside(&mut self) -> io::Result<()> {
        let dir = tempfile::Builder::new().prefix("hermes-draft").tempdir()?;
        let file = dir.path().join("draft.md");
        std::fs::write(&file, self.room.editor.text())?;
        // Nobody else may read keys meanwhile.
        self.events = None;
        self.screen.leave()?;
        restore_now();
        let edited = edit(&file, &self.world.env);
        self.terminal.renew()?;
        self.events = Some(EventStream::new());
        self.resized();
        self.screen.invalidate();
        match edited {
            Ok(()) => {
                let text = std::fs::read_to_string(&file)?;
                self.room.editor.set(text.trim_end());
            }
            Err(why) => self.room.warn(why),
        }
        Ok(())
    }

    /// Ctrl+Z.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.screen.leave()?;
        self.terminal.suspend().await?;
        // That was us.
        while self.continued.recv().now_or_never().flatten().is_some() {}
        self.resized();
        self.screen.invalidate();
        Ok(())
    }

    /// Somebody else had stopped us, and a shell had the terminal: it wrote over the screen and may have changed modes.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        self.terminal.renew()?;
        self.resized();
        let room = &mut self.room;
        self.screen.repaint(&mut |width| room.history_rows(width));
        Ok(())
    }

    pub(super) fn keep(&mut self, key: &str, value: Value) {
        let home = self.world.home.clone();
        let write = || -> hermes_home::Result<()> {
            home.writable()?;
            let path = yaml::Path::parse(key)?;
            Document::edit(&home, |document| document.set(&path, &value))
        };
        if let Err(error) = write() {
            self.room.warn(format!("only for now: {error}"));
        }
    }

    pub(super) fn skin(&mut self, name: &str) {
        if name.is_empty() {
            let own = start::own_skins(&self.world.home);
            let names: Vec<String> = Skin::builtins().map(str::to_owned).chain(own).collect();
            return self.room.notice(format!("skins: {}", names.join(", ")));
        }
        let (skin, warnings) = start::skin(&self.world.home, name);
        for warning in &warnings {
            self.room.warn(warning.clone());
        }
        if !warnings.is_empty() {
            return;
        }
        self.room.look = self.room.look.dressed(skin);
        self.room.notice(format!("skin: {name}"));
        self.keep("display.skin", json!(name));
        let room = &mut self.room;
        self.screen.repaint(&mut |width| room.history_rows(width));
    }
}

impl Room {
    pub fn attach_image(&mut self, path: PathBuf) {
        let path = match path.strip_prefix("~") {
            Ok(rest) => self.user_home.join(rest),
            Err(_) => self.dir.join(path),
        };
        match super::picture::check(&path) {
            Ok(()) => {
                self.editor.insert_image(path);
            }
            Err(why) => self.warn(why),
        }
    }
}

/// Runs the first editor there is on our terminal.
fn edit(file: &Path, env: &hermes_home::Env) -> Result<(), String> {
    let chosen = ["VISUAL", "EDITOR"].into_iter();
    let chosen = chosen.filter_map(|name| env.filled(name));
    for editor in chosen.chain(["nano", "vim", "vi"]) {
        // An editor may come with arguments of its own: `code --wait`.
        let mut words = editor.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let args = words.chain([file.display().to_string()]);
        match foreground(&program, args, env.iter()) {
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error.to_string()),
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => {
                return Err(format!(
                    "{editor} ended with {status}; the draft is as it was"
                ));
            }
        }
    }
    Err("no editor found; set VISUAL or EDITOR".to_owned())
}
