//! What the chat does outside its own rows: the owner's editor, the clipboard, settings, skins.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossterm::event::EventStream;
use futures::FutureExt;
use hermes_home::config::Document;
use hermes_home::{clock, yaml};
use hermes_proc::{self as proc, Errors, Exit, Spawn, Stdin, Tty as ChildTty, foreground};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::room::Room;
use super::run::Chat;
use super::start;
use crate::look::Skin;
use crate::screen::restore_now;

/// Programs that print the image in the clipboard, and when they are to be asked.
const CLIPBOARDS: &[(&str, &[&str])] = &[
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    (
        "xclip",
        &["-selection", "clipboard", "-t", "image/png", "-o"],
    ),
    ("pngpaste", &["-"]),
];
/// Programs that take what goes into the clipboard, and the variable that says there is one to reach.
const COPIERS: &[(&str, &[&str], &str)] = &[
    ("wl-copy", &[], "WAYLAND_DISPLAY"),
    ("xclip", &["-selection", "clipboard"], "DISPLAY"),
    ("pbcopy", &[], "HOME"),
];
/// A clipboard that does not answer is empty.
const PATIENCE: Duration = Duration::from_secs(3);
/// No larger image is taken from the clipboard.
const LARGEST: usize = 20 * 1024 * 1024;

/// Whether the desktop's clipboard has a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clipboard {
    Taken,
    Untouched,
}

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

    pub(super) async fn paste_image(&mut self) {
        let dir = self.world.home.dir().join("images");
        match from_clipboard(&self.world.env).await {
            Ok(bytes) => match save(&dir, &bytes, &self.world.home) {
                Ok(path) => self.room.attach_image(path),
                Err(error) => self.room.warn(error.to_string()),
            },
            Err(why) => self.room.warn(why),
        }
    }

    /// Hands a text to the desktop's own clipboard, if there is one here.
    pub(super) async fn copy_natively(&mut self, text: String) -> Clipboard {
        let env = &self.world.env;
        let bytes = text.into_bytes();
        for (program, args, variable) in COPIERS {
            if env.filled(variable).is_none() {
                continue;
            }
            let spawn = Spawn {
                stdin: Stdin::Bytes(bytes.clone()),
                ..spawn(program, args, env)
            };
            let taken = tokio::time::timeout(PATIENCE, taken(spawn)).await;
            if let Ok(Some(Exit::Code(0))) = taken {
                return Clipboard::Taken;
            }
        }
        Clipboard::Untouched
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

/// The image in the clipboard, by whichever program can tell.
async fn from_clipboard(env: &hermes_home::Env) -> Result<Vec<u8>, String> {
    let mut missing = true;
    for (program, args) in CLIPBOARDS {
        match tokio::time::timeout(PATIENCE, printed(program, args, env)).await {
            Ok(Ok(bytes)) if !bytes.is_empty() => return Ok(bytes),
            Ok(Err(error)) if error.is_missing() => {}
            Ok(_) | Err(_) => missing = false,
        }
    }
    Err(match missing {
        true => {
            "no program that reads the clipboard: install wl-clipboard or xclip, or use /image PATH"
        }
        false => "there is no image in the clipboard",
    }
    .to_owned())
}

fn spawn(program: &str, args: &[&str], env: &hermes_home::Env) -> Spawn {
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Spawn {
        program: PathBuf::from(program),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: env.iter().map(own).collect(),
        dir: PathBuf::from("/"),
        stdin: Stdin::Null,
        tty: ChildTty::None,
    }
}

/// How a program that takes the clipboard ended; `None`: there is no such program.
async fn taken(spawn: Spawn) -> Option<Exit> {
    let mut running = spawn.start().ok()?;
    loop {
        if let proc::Event::Ended(exit) = running.next().await {
            // What it left behind holds the clipboard until somebody else copies something.
            running.release();
            return Some(exit);
        }
    }
}

async fn printed(
    program: &str,
    args: &[&str],
    env: &hermes_home::Env,
) -> Result<Vec<u8>, hermes_proc::Error> {
    let mut child = spawn(program, args, env).start_piped(Errors::Discard)?;
    let mut bytes = Vec::new();
    // What cannot be read to its end is no image; the kind of the bytes tells.
    let _ = (&mut child.output)
        .take(LARGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .await;
    Ok(bytes)
}

fn save(dir: &Path, bytes: &[u8], home: &hermes_home::Home) -> Result<PathBuf, hermes_home::Error> {
    // Nothing else makes it.
    std::fs::create_dir_all(dir).map_err(hermes_home::Error::io("create", dir))?;
    let stamp = clock::now().strftime("%Y%m%d_%H%M%S%3f");
    let path = dir.join(format!("clipboard_{stamp}.png"));
    hermes_home::replace_cache(&path, bytes, home.modes())?;
    Ok(path)
}
