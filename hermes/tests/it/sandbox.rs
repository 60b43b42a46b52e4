//! Commands within bounds that the kernel enforces: what cannot be done, and what still can, with each mechanism.
//!
//! Ignored because they need a kernel and a program that not every machine has; `cargo xtask real sandbox` sees to
//! both, or says aloud what is missing.

mod escapes;
mod secrets;
mod session;
mod work;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hermes_exec::backend::Surroundings;
use hermes_proc::sandbox::{Means, Mode, Network, Sandbox};
use hermes_proc::{Event, Exit, Running, Spawn, Stdin, Tty};
use hermes_testkit::TempHome;

const LIMIT: Duration = Duration::from_secs(20);

/// What holds the commands of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Bubblewrap,
    Landlock,
}

impl By {
    /// Only this one: the other is not to be found.
    fn means(self) -> Means {
        match self {
            Self::Bubblewrap => Means {
                search: std::env::var("PATH").unwrap(),
                confiner: "/nonexistent/hermes".into(),
            },
            Self::Landlock => Means {
                search: String::new(),
                confiner: env!("CARGO_BIN_EXE_hermes").into(),
            },
        }
    }
}

/// Runs each of these functions with each mechanism, as a test of that name.
macro_rules! with_both {
    ($($name:ident),+ $(,)?) => {
        mod bubblewrap {
            $(
                #[tokio::test]
                #[ignore = "needs bubblewrap: cargo xtask real sandbox"]
                async fn $name() {
                    super::$name(super::By::Bubblewrap).await;
                }
            )+
        }
        mod landlock {
            $(
                #[tokio::test]
                #[ignore = "needs Landlock: cargo xtask real sandbox"]
                async fn $name() {
                    super::$name(super::By::Landlock).await;
                }
            )+
        }
    };
}
use with_both;

/// A user with secrets, whose session has begun somewhere.
struct Yard {
    home: TempHome,
    sandbox: Sandbox,
}

/// What a command said and how it ended.
#[derive(Debug)]
struct Said {
    text: String,
    exit: Exit,
}

impl Yard {
    fn new(by: By) -> Self {
        let home = TempHome::new();
        let dir = home.work();
        Self::begun(home, by, dir, Network::On)
    }

    fn offline(by: By) -> Self {
        let home = TempHome::new();
        let dir = home.work();
        Self::begun(home, by, dir, Network::Off)
    }

    fn begun(home: TempHome, by: By, dir: PathBuf, network: Network) -> Self {
        let temp_dir = home.work().with_file_name("tmp");
        fs::create_dir_all(&temp_dir).unwrap();
        for (path, text) in [
            (".ssh/id", "PRIVATE"),
            (".netrc", "PRIVATE"),
            (".config/gh/hosts.yml", "PRIVATE"),
            (".bashrc", "# mine"),
            ("notes", "public"),
        ] {
            home.write(home.home().join(path), text);
        }
        home.write("config.yaml", "{}");
        for secret in [
            ".env",
            "state.db",
            "mcp-tokens/t.json",
            "profiles/other/.env",
        ] {
            home.write(secret, "PRIVATE");
        }
        let places = Surroundings {
            dir,
            temp_dir,
            user_home: home.home(),
            hermes_home: home.hermes(),
            hermes_root: home.hermes(),
            ..Surroundings::default()
        };
        let sandbox = Sandbox::new(Mode::Strict, places.policy(network), by.means());
        Self { home, sandbox }
    }

    fn spawn(&self, script: &str) -> Spawn {
        let temp = self.home.work().with_file_name("tmp");
        let var = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Spawn {
            program: "/bin/bash".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![
                var("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
                var("HOME", self.home.home().to_str().unwrap()),
                var("TMPDIR", temp.to_str().unwrap()),
            ],
            dir: self.home.work(),
            stdin: Stdin::Null,
            tty: Tty::None,
        }
    }

    async fn start(&self, spawn: Spawn) -> Running {
        self.sandbox.wrap(spawn).await.unwrap().start().unwrap()
    }

    async fn run(&self, script: &str) -> Said {
        let mut running = self.start(self.spawn(script)).await;
        said(&mut running).await
    }

    /// The output of a script that must succeed.
    async fn ok(&self, script: &str) -> String {
        let said = self.run(script).await;
        assert_eq!(said.exit, Exit::Code(0), "{script}: {}", said.text);
        said.text
    }

    /// Panics if the script succeeds.
    async fn fails(&self, script: &str) {
        let said = self.run(script).await;
        assert_ne!(said.exit, Exit::Code(0), "{script}: {}", said.text);
        assert!(!said.text.contains("PRIVATE"), "{script}: {}", said.text);
    }
}

async fn said(running: &mut Running) -> Said {
    let end = async {
        let mut text = String::new();
        loop {
            match running.next().await {
                Event::Output(more) => text += &more,
                Event::Ended(exit) => return Said { text, exit },
            }
        }
    };
    tokio::time::timeout(LIMIT, end).await.expect("it ends")
}
