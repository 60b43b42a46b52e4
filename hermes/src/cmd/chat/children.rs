//! Tasks for children: what they may do, and the hands each of them gets.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::FutureExt;
use hermes_agent::Todo;
use hermes_exec::files::{Cwd, LocalWorkspace};
use hermes_exec::process::Process;
use hermes_exec::terminal::{Password, Terminal};
use hermes_gate::{Gate, Surface, Unasked};
use hermes_session::toolsets::Selection;
use hermes_session::{ChildHands, ChildServices, Delegate, Delegation, MakeHands, SessionSearch};
use hermes_store::Store;
use hermes_types::{SessionId, Tool};

use super::hands::{Hands, Noticed, gate_for, noticed, unasked};
use super::learning::Writer;
use super::open::{Presence, limits};
use crate::cli::Talk;
use crate::wire::App;

impl Hands {
    /// With a way to hand tasks to children, if the session may.
    #[must_use]
    pub fn with_children(
        mut self,
        app: &App,
        (store, selection): (&Store, &Selection),
        talk: &Talk,
        presence: Presence,
    ) -> Self {
        let gate = Arc::new(gate_for(app, talk, surface(app, presence)));
        let (files, processes) = (self.files.state.clone(), self.terminal.processes.clone());
        let stale = self.files.state.clone();
        let services = ChildServices {
            store: store.clone(),
            hands: self.for_children(app, gate, (store, selection)),
            stale: Arc::new(move |session, since| stale.stale(session, since)),
            farewell: Arc::new(move |id: SessionId| {
                let (files, processes) = (files.clone(), processes.clone());
                async move {
                    // Nobody else knows of them.
                    processes.stop_session(&id).await;
                    files.closed(&id);
                }
                .boxed()
            }),
            logs: app.home.logs_dir(),
            modes: app.home.modes().clone(),
            redactor: app.redactor,
            tasks: self.children.clone(),
        };
        let config = Delegation::read(&app.settings, &app.env, limits(app, talk));
        let delegate = Delegate::new(services, config).with_witness(self.witness.clone());
        if selection.allows(&delegate.spec().name) {
            let tool = Noticed::by(&self.files.state, Arc::new(delegate));
            self.toolbox = self.toolbox.and([tool], []);
        }
        self
    }

    /// The same shell, jobs and files as the session's, but a directory and a list of things to do of its own.
    fn for_children(
        &self,
        app: &App,
        gate: Arc<Gate>,
        (store, selection): (&Store, &Selection),
    ) -> MakeHands {
        let (terminal, files) = (self.terminal.clone(), self.files.clone());
        let checkpoints = self.checkpoints.clone();
        let (store, selection) = (store.clone(), selection.clone());
        let live = self.mcp.as_ref().map(|mcp| mcp.live.clone());
        let own = self.toolbox.clone();
        let password = app.env.get("SUDO_PASSWORD").map(Password::new);
        let (skills, learning) = (self.skills.clone(), self.learning.clone());
        Arc::new(move |dir: PathBuf| {
            let cwd = Cwd::new(dir);
            let shell = Terminal::new(terminal.clone(), gate.clone(), cwd.clone(), Vec::new());
            let shell = match &password {
                Some(password) => shell.knowing(password.clone()),
                None => shell,
            };
            let jobs = Process::new(
                terminal.processes.clone(),
                terminal.redactor,
                terminal.limits.timeout,
            );
            let mut others: Vec<Arc<dyn Tool>> = vec![
                // Its jobs end with it.
                Arc::new(shell.for_one_turn()),
                Arc::new(jobs),
                Arc::new(Todo::default()),
                Arc::new(SessionSearch::new(store.clone())),
            ];
            others.extend(learning.tools(skills.as_ref(), Writer::Agent));
            let mut tools = checkpoints.guard(noticed(&files, others));
            tools.retain(|tool| selection.allows(&tool.spec().name));
            let servers = live.as_ref().map(|live| {
                let servers = live.tools(&|name| own.get(name).is_some());
                let server = |tool: Arc<dyn Tool>| {
                    let server = servers.server_of(&tool.spec().name).unwrap_or_default();
                    (server.to_owned(), tool)
                };
                servers.tools().map(server).collect()
            });
            let hands = ChildHands {
                workspace: Arc::new(LocalWorkspace::new(cwd)),
                tools,
                servers: servers.unwrap_or_default(),
            };
            std::future::ready(hands).boxed()
        })
    }
}

/// Children ask nobody. Where even their parent is not asked, as in a bare `-z`, what holds for it holds for them.
fn surface(app: &App, presence: Presence) -> Surface {
    let auto = app.settings.is_on("delegation.subagent_auto_approve");
    Surface::Child(match presence.is_person() {
        _ if auto => Unasked::Allow,
        true => Unasked::Deny,
        false => unasked(app, presence),
    })
}
