//! The tools of a session, built from the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::{Todo, Toolbox};
use hermes_checkpoints::Checkpoints;
use hermes_exec::backend::LocalBackend;
use hermes_exec::files::{
    Cwd, FileServices, FileState, Limits as FileLimits, PathGuard, Territory, Watch, file_tools,
};
use hermes_exec::process::{Farewell, Process, Processes, Registry};
use hermes_exec::terminal::{
    Granted, Passthrough, Password, Shell, Terminal, TerminalLimits, TerminalServices, child_env,
};
use hermes_gate::{
    Allowlist, Gate, Isolation, Mode, Otherwise, Places, Policy, Surface, Tirith, Unasked, Yolo,
};
use hermes_home::config::{Document, Settings};
use hermes_home::profile::Profiles;
use hermes_home::yaml;
use hermes_model::{MixtureOfAgents, RoutedModels};
use hermes_proc::sandbox::Sandbox;
use hermes_session::toolsets::{Selection, names};
use hermes_session::{AuditLog, Clarify, SessionSearch, Shape};
use hermes_skills::Skills;
use hermes_store::Store;
use hermes_types::{Args, Availability, CallCx, SessionId, Tool, ToolOutput, ToolSpec, Witness};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use hermes_session::{Controls, Forget, Losing, QuickCommands, QuickShell, StopJobs, ToolSource};

use super::keep::checkpoints;
use super::learning::{self, Learning, Writer};
use super::open::Presence;
use super::place::Place;
use crate::cli::Talk;
use crate::mcp::Running;
use crate::wire::{App, Scratch};

/// Everything a session can do, and what must be put in order afterwards.
pub struct Hands {
    /// The tools of our own; those of MCP servers come and go.
    pub toolbox: Toolbox,
    /// `None` where no server is configured.
    pub mcp: Option<Running>,
    pub cwd: Cwd,
    pub(super) terminal: Arc<TerminalServices>,
    pub(super) files: Arc<FileServices>,
    pub(super) gate: Arc<Gate>,
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) checkpoints: Arc<Checkpoints>,
    /// `None` where the toolsets leave them out.
    pub skills: Option<Arc<Skills>>,
    pub(super) learning: Learning,
    /// Children that tasks were handed to and scripts that were stopped: they may still be putting things down.
    pub(super) children: TaskTracker,
    /// Who writes down what the tools do.
    pub(super) witness: Option<Arc<dyn Witness>>,
    /// Where the conversation is, if it cannot be kept.
    _scratch: Option<Scratch>,
}

impl Hands {
    pub fn new(
        app: &App,
        store: &Store,
        talk: &Talk,
        selection: &Selection,
        presence: Presence,
        place: &Place,
    ) -> std::io::Result<Self> {
        let cwd = match place.dir() {
            Some(dir) => Cwd::new(dir),
            None => Cwd::first_of(
                [app.settings.text("terminal.cwd")],
                &std::env::current_dir()?,
            ),
        };
        let granted = Granted::default();
        let sandbox = sandbox(app, place, &cwd.get());
        let backend = LocalBackend::new(shell_env(app, place)).granting(granted.clone());
        let backend = Arc::new(match &sandbox {
            Some(sandbox) => backend.within(sandbox.clone()),
            None => backend,
        });
        let terminal = Arc::new(terminal_services(app, backend.clone()));
        let gate = Arc::new(gate(app, talk, presence));
        let shell = learning::Shell {
            backend: &backend,
            granted: &granted,
            gate: &gate,
        };
        let skills = learning::skills(app, selection, &shell);
        let max_wait = terminal.limits.timeout;
        let files = Arc::new(file_services(app));
        let mut others: Vec<Arc<dyn Tool>> = vec![
            Arc::new(terminal_tool(app, &terminal, gate.clone(), &cwd, presence)),
            Arc::new(Process::new(
                terminal.processes.clone(),
                app.redactor,
                max_wait,
            )),
            Arc::new(Todo::default()),
            Arc::new(recall(app, store)),
        ];
        if presence.is_person() {
            others.push(Arc::new(Clarify::default()));
        }
        let learning = Learning::new(app);
        others.extend(learning.tools(skills.as_ref(), Writer::Agent));
        let checkpoints = checkpoints(app, talk);
        let tools = checkpoints.guard(noticed(&files, others));
        let allowed = |tool: &Arc<dyn Tool>| selection.allows(&tool.spec().name);
        let toolbox = Toolbox::new(tools.into_iter().filter(allowed));
        Ok(Self {
            toolbox,
            mcp: None,
            cwd,
            terminal,
            files,
            gate,
            sandbox,
            checkpoints,
            skills,
            learning,
            children: TaskTracker::new(),
            witness: AuditLog::wanted(&app.home, &app.settings),
            _scratch: None,
        })
    }

    /// Holds on to what must last as long as the session.
    #[must_use]
    pub fn keeping(self, scratch: Option<Scratch>) -> Self {
        Self {
            _scratch: scratch,
            ..self
        }
    }

    /// With the tools that need models.
    #[must_use]
    pub fn thinking_with(
        self,
        app: &App,
        selection: &Selection,
        models: &Arc<RoutedModels>,
    ) -> Self {
        let moa: Arc<dyn Tool> = Arc::new(MixtureOfAgents::new(&app.settings, models.clone()));
        let wanted = Some(moa).filter(|tool| selection.allows(&tool.spec().name));
        Self {
            toolbox: self.toolbox.and(wanted, []),
            ..self
        }
    }

    /// With the tools of these servers.
    #[must_use]
    pub fn with_servers(self, mcp: Option<Running>) -> Self {
        Self { mcp, ..self }
    }

    /// The tools as they are whenever a turn begins.
    pub fn tools(&self) -> ToolSource {
        let own = self.toolbox.clone();
        let Some(live) = self.mcp.as_ref().map(|mcp| mcp.live.clone()) else {
            return Arc::new(move || own.clone());
        };
        Arc::new(move || {
            let servers = live.tools(&|name| own.get(name).is_some());
            own.and(servers.tools(), servers.aliases())
        })
    }

    pub fn processes(&self) -> &Processes {
        &self.terminal.processes
    }

    /// What `/stop` and `/new` end besides the turn.
    pub fn stop_jobs(&self) -> StopJobs {
        let processes = self.terminal.processes.clone();
        Arc::new(move |id| {
            let processes = processes.clone();
            async move { processes.stop_session(&id).await }.boxed()
        })
    }

    /// What another conversation must not inherit.
    pub fn forget(&self) -> Forget {
        let gate = self.gate.clone();
        Arc::new(move || gate.forget())
    }

    /// What the owner can change while the session runs.
    pub fn controls(&self, app: &App) -> Controls {
        let gate = self.gate.clone();
        Controls {
            home: app.home.clone(),
            yolo: Arc::new(move || gate.turn_yolo() == Yolo::On),
            losing: match app.settings.is_on("approvals.destructive_slash_confirm") {
                true => Losing::Asked,
                false => Losing::Unasked,
            },
        }
    }

    /// The owner's own commands: they run as the owner does, with all the owner's variables.
    pub fn quick(&self, app: &App) -> QuickShell {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        QuickShell {
            commands: QuickCommands::read(&app.settings),
            env: app.env.iter().map(own).collect(),
        }
    }

    /// Ends what the session started: a person who leaves, or a script whose answer is there, wants no servers
    /// that hold ports. Only of a Hermes that was killed do jobs stay, for whoever resumes the session.
    pub async fn put_down(self) {
        let servers = async {
            if let Some(mcp) = &self.mcp {
                mcp.live.stop().await;
            }
        };
        let commands = async {
            self.children.close();
            // Each ends by itself soon after its turn did.
            self.children.wait().await;
            self.terminal.processes.close(Farewell::Kill).await;
            self.terminal.shell.close().await;
        };
        tokio::join!(servers, commands);
    }
}

/// The file tools and these others, of whose calls they hear.
pub(super) fn noticed(files: &Arc<FileServices>, others: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
    let others = others.into_iter();
    let others = others.map(|tool| Noticed::by(&files.state, tool));
    file_tools(files).into_iter().chain(others).collect()
}

/// A tool whose calls the file tools hear of: after one, a file may well be worth reading again.
pub(super) struct Noticed {
    tool: Arc<dyn Tool>,
    files: Arc<FileState>,
}

impl Noticed {
    pub(super) fn by(files: &Arc<FileState>, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        Arc::new(Self {
            tool,
            files: files.clone(),
        })
    }
}

impl Tool for Noticed {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        self.files.other_tool_called(&cx.scope.session);
        self.tool.call(args, cx)
    }

    fn available(&self) -> Availability {
        self.tool.available()
    }

    fn most_per_reply(&self) -> Option<usize> {
        self.tool.most_per_reply()
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        self.tool.compacted(session)
    }
}

/// What commands may see from the start; skills that are loaded may add to it.
fn shell_env(app: &App, place: &Place) -> Vec<(String, String)> {
    let passthrough = Passthrough {
        owner: list(&app.settings, "terminal.env_passthrough"),
        skills: Vec::new(),
    };
    let mut env = child_env(&app.env, &passthrough, app.home.dir());
    env.retain(|(name, _)| place.passes(name));
    env
}

/// The bounds of a session that begins in `dir`, if the owner wants any.
fn sandbox(app: &App, place: &Place, dir: &Path) -> Option<Arc<Sandbox>> {
    let program = std::env::current_exe().unwrap_or_default();
    let plan = app.sandbox_plan(&program);
    plan.sandbox(dir, &shell_env(app, place))
}

fn terminal_services(app: &App, backend: Arc<LocalBackend>) -> TerminalServices {
    let settings = &app.settings;
    let seconds = |key: &str| Duration::from_secs_f64(settings.number(key).clamp(1.0, 86_400.0));
    let registry = Registry {
        path: app.home.dir().join("processes.json"),
        modes: app.home.modes().clone(),
    };
    TerminalServices {
        shell: Shell::new(backend, init_files(app)),
        processes: Processes::recorded_in(registry, app.redactor),
        limits: TerminalLimits {
            timeout: seconds("terminal.timeout"),
            max_output: settings.number("tool_output.max_bytes").max(1.0) as usize,
            ..TerminalLimits::default()
        },
        redactor: app.redactor,
        user_home: app.env.user_home(),
    }
}

fn terminal_tool(
    app: &App,
    services: &Arc<TerminalServices>,
    gate: Arc<Gate>,
    cwd: &Cwd,
    presence: Presence,
) -> Terminal {
    let tool = Terminal::new(services.clone(), gate, cwd.clone(), Vec::new());
    let tool = match presence.is_for_one_turn() {
        true => tool.for_one_turn(),
        false => tool,
    };
    // An empty one counts: it is what some accounts have.
    match app.env.get("SUDO_PASSWORD") {
        Some(password) => tool.knowing(Password::new(password)),
        None => tool,
    }
}

/// Files that set up the shell: those the owner names, else the usual ones.
fn init_files(app: &App) -> Vec<PathBuf> {
    let home = app.env.user_home();
    let named = list(&app.settings, "terminal.shell_init_files");
    if !named.is_empty() {
        return named
            .iter()
            .map(|file| home.join(file.trim_start_matches("~/")))
            .collect();
    }
    if !app.settings.is_on("terminal.auto_source_bashrc") {
        return Vec::new();
    }
    [".profile", ".bash_profile", ".bashrc"]
        .iter()
        .map(|file| home.join(file))
        .filter(|file| file.is_file())
        .collect()
}

/// Searching past conversations, as the settings want it.
fn recall(app: &App, store: &Store) -> SessionSearch {
    let set = |key: &str| app.settings.get(&format!("auxiliary.session_search.{key}"));
    let shape = match set("mode").and_then(Value::as_str) {
        Some("summary") => Shape::Summaries,
        _ => Shape::Messages,
    };
    let at_once = set("max_concurrency").and_then(Value::as_u64).unwrap_or(3);
    let profiles = Profiles::of(&app.home, &app.env);
    SessionSearch::new(store.clone())
        .giving(shape, at_once.min(5) as usize)
        .among(profiles, app.home.profile_name())
}

/// Where nobody can be asked, `-z` runs everything but what is never allowed; the owner can forbid that.
fn gate(app: &App, talk: &Talk, presence: Presence) -> Gate {
    let surface = match presence.is_person() {
        true => Surface::Interactive,
        false => Surface::Headless(unasked(app, presence)),
    };
    gate_for(app, talk, surface)
}

/// What happens to dangerous commands where nobody can be asked.
pub(super) fn unasked(app: &App, presence: Presence) -> Unasked {
    match app.settings.text("approvals.headless_mode") {
        "deny" => Unasked::Deny,
        _ if presence == Presence::Unattended => Unasked::Deny,
        _ => Unasked::Allow,
    }
}

pub(super) fn gate_for(app: &App, talk: &Talk, surface: Surface) -> Gate {
    let settings = &app.settings;
    let policy = Policy {
        mode: Mode::from(settings.get("approvals.mode").unwrap_or(&Value::Null)),
        // Read once: a command that exports it changes nothing.
        yolo: if talk.yolo || app.env.is_on("HERMES_YOLO_MODE") {
            Yolo::On
        } else {
            Yolo::Off
        },
        surface,
        isolation: Isolation::Host,
        deny: list(settings, "approvals.deny"),
        sudo_password: app.env.get("SUDO_PASSWORD").is_some(),
        timeout: Duration::from_secs_f64(settings.number("approvals.timeout").clamp(1.0, 3_600.0)),
        places: Places {
            user_home: app.env.user_home(),
            hermes_home: app.home.dir().to_owned(),
            temp_dir: std::env::temp_dir(),
        },
    };
    let home = app.home.clone();
    let allowlist = Allowlist::new(list(settings, "command_allowlist"), move |keys| {
        if let Err(error) = remember(&home, keys) {
            tracing::warn!("the approval was not saved: {error}");
        }
    });
    let gate = Gate::new(policy, allowlist, app.redactor);
    match scanner(app) {
        Some(scanner) => gate.with_scanner(scanner),
        None => gate,
    }
}

/// Tirith, unless the owner doesn't want it. The environment wins over the settings.
fn scanner(app: &App) -> Option<Tirith> {
    let (settings, env) = (&app.settings, &app.env);
    let is_on = |name: &str, key: &str| match env.filled(name) {
        Some(value) => matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"),
        None => settings.is_on(key),
    };
    if !is_on("TIRITH_ENABLED", "security.tirith_enabled") {
        return None;
    }
    let path = env.filled("TIRITH_BIN");
    let path = path.unwrap_or_else(|| settings.text("security.tirith_path"));
    let search = env.get("PATH").unwrap_or_default();
    let program = Tirith::find(path, search, &app.home.dir().join("bin"));
    let timeout = env
        .filled("TIRITH_TIMEOUT")
        .and_then(|text| text.parse().ok());
    let timeout = timeout.unwrap_or_else(|| settings.number("security.tirith_timeout"));
    let passed = ["PATH", "HOME", "LANG"].into_iter();
    Some(Tirith {
        program,
        timeout: Duration::from_secs_f64(timeout.clamp(0.1, 60.0)),
        otherwise: if is_on("TIRITH_FAIL_OPEN", "security.tirith_fail_open") {
            Otherwise::Pass
        } else {
            Otherwise::Ask
        },
        env: passed
            .filter_map(|name| Some((name.to_owned(), env.get(name)?.to_owned())))
            .collect(),
    })
}

/// "Always" goes into the settings.
fn remember(home: &hermes_home::Home, keys: &[String]) -> hermes_home::Result<()> {
    let path = yaml::Path::parse("command_allowlist")?;
    Document::edit(home, |document| {
        let mut known = document.get(&path).map(names).unwrap_or_default();
        known.extend(
            keys.iter()
                .filter(|key| !known.contains(key))
                .cloned()
                .collect::<Vec<_>>(),
        );
        document.set(&path, &json!(known))
    })
}

fn file_services(app: &App) -> FileServices {
    let number = |key: &str| app.settings.number(key).max(1.0) as usize;
    let watch = if app.env.is_on("HERMES_DISABLE_FILE_STATE_GUARD") {
        Watch::Off
    } else {
        Watch::On
    };
    let path = app
        .env
        .get("PATH")
        .map(|path| ("PATH".to_owned(), path.to_owned()));
    FileServices {
        limits: FileLimits {
            max_lines: number("tool_output.max_lines"),
            max_line_length: number("tool_output.max_line_length"),
            max_chars: number("file_read_max_chars"),
        },
        redactor: app.redactor,
        state: Arc::new(FileState::new(watch)),
        guard: PathGuard::new(Territory {
            user_home: app.env.user_home(),
            hermes_home: app.home.dir().to_owned(),
            hermes_root: app.home.root().to_owned(),
            safe_roots: app
                .env
                .filled("HERMES_WRITE_SAFE_ROOT")
                .map(split_paths)
                .unwrap_or_default(),
        }),
        user_home: app.env.user_home(),
        checker_env: path.into_iter().collect(),
    }
}

fn split_paths(paths: &str) -> Vec<PathBuf> {
    std::env::split_paths(paths).collect()
}

pub(super) fn list(settings: &Settings, key: &str) -> Vec<String> {
    names(settings.get(key).unwrap_or(&Value::Null))
}
