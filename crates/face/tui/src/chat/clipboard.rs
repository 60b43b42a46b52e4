//! The desktop's clipboard, by the programs that reach it. Its owner may be a program that hangs: the chat goes on
//! meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::{Env, Home, clock, replace_cache};
use hermes_proc::{self as proc, Errors, Exit, Spawn, Stdin, Tty};
use tokio::io::AsyncReadExt;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::found::Found;
use super::run::Chat;

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

impl Chat {
    /// By the terminal, and by the desktop if there is one here; only if neither can, that is said.
    pub(super) fn copy(&mut self, text: String) {
        let asked = self.terminal.copy(&text);
        let (env, found) = (self.world.env.clone(), self.found.0.clone());
        self.beside(async move {
            let is_copied = copied(text.into_bytes(), &env).await;
            if let (Err(error), false) = (asked, is_copied) {
                let _ = found.send(Found::Uncopied(error.to_string())); // the chat may be over
            }
        });
    }

    pub(super) fn paste_image(&mut self) {
        let (env, found) = (self.world.env.clone(), self.found.0.clone());
        self.beside(async move {
            let _ = found.send(Found::Image(image(&env).await)); // the chat may be over
        });
    }

    /// One at a time: whoever asks again does not wait for the first answer.
    fn beside(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        let task = TaskTracker::new().spawn(work);
        self.clipboard = Some(AbortOnDropHandle::new(task));
    }

    pub(super) fn pasted(&mut self, image: Result<Vec<u8>, String>) {
        let home = &self.world.home;
        let saved = image.and_then(|bytes| {
            let saved = save(&home.dir().join("images"), &bytes, home);
            saved.map_err(|error| error.to_string())
        });
        match saved {
            Ok(path) => self.room.attach_image(path),
            Err(why) => self.room.warn(why),
        }
    }
}

/// Whether the desktop's own clipboard has it now.
async fn copied(bytes: Vec<u8>, env: &Env) -> bool {
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
            return true;
        }
    }
    false
}

/// The image in the clipboard, by whichever program can tell.
async fn image(env: &Env) -> Result<Vec<u8>, String> {
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

fn spawn(program: &str, args: &[&str], env: &Env) -> Spawn {
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Spawn {
        program: PathBuf::from(program),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: env.iter().map(own).collect(),
        dir: PathBuf::from("/"),
        stdin: Stdin::Null,
        tty: Tty::None,
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

async fn printed(program: &str, args: &[&str], env: &Env) -> Result<Vec<u8>, proc::Error> {
    let mut child = spawn(program, args, env).start_piped(Errors::Discard)?;
    let mut bytes = Vec::new();
    // What cannot be read to its end is no image; the kind of the bytes tells.
    let _ = (&mut child.output)
        .take(LARGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .await;
    Ok(bytes)
}

fn save(dir: &Path, bytes: &[u8], home: &Home) -> Result<PathBuf, hermes_home::Error> {
    // Nothing else makes it.
    std::fs::create_dir_all(dir).map_err(hermes_home::Error::io("create", dir))?;
    let stamp = clock::now().strftime("%Y%m%d_%H%M%S%3f");
    let path = dir.join(format!("clipboard_{stamp}.png"));
    replace_cache(&path, bytes, home.modes())?;
    Ok(path)
}
