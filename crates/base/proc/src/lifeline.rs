//! Children must not outlive us, even if we are killed in a way that lets us do nothing about it.
//!
//! The kernel could signal a child when its parent dies, but only that one child, not what it started, and it
//! takes the end of a *thread* for the end of the parent. So a small shell waits for our death instead: it reads
//! the groups in our care from a pipe, and when the pipe ends, which the kernel sees to, it ends them.

use std::io::{self, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Group;

/// Lines are `+ GROUP` and `- GROUP`. Only builtins until the end, so that waiting costs nothing.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT PIPE
groups=' '
while read -r what group; do
  case $what in
  +) groups="$groups$group " ;;
  -) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
  esac
done
case $groups in *[0-9]*) ;; *) exit 0 ;; esac
for group in $groups; do kill -s TERM -- "-$group"; kill -s CONT -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
"#;

/// Ends the groups it watches when this process is gone. Clones are the same line.
#[derive(Clone, Debug)]
pub struct Lifeline(Arc<Mutex<Line>>);

#[derive(Debug)]
struct Line {
    pipe: io::PipeWriter,
    /// Kept so that it is waited for; it ends by itself when the pipe does.
    _shell: tokio::process::Child,
}

/// While this lives, the group dies with us.
#[derive(Debug)]
pub struct Watched {
    line: Lifeline,
    group: Group,
}

impl Lifeline {
    pub fn start() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        #[expect(clippy::disallowed_methods, reason = "this is the crate that may")]
        let mut command = tokio::process::Command::new("/bin/sh");
        let shell = command
            .args(["-c", SCRIPT])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C and a kill of our own group must not reach it.
            .process_group(0)
            .spawn()?;
        let line = Line {
            pipe: writer,
            _shell: shell,
        };
        Ok(Self(Arc::new(Mutex::new(line))))
    }

    #[must_use]
    pub fn watch(&self, group: Group) -> Watched {
        self.tell('+', group);
        Watched {
            line: self.clone(),
            group,
        }
    }

    fn tell(&self, what: char, group: Group) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If somebody killed the shell, children are only as safe as without it.
        let _ = line
            .pipe
            .write_all(format!("{what} {}\n", group.leader()).as_bytes());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.line.tell('-', self.group);
    }
}
