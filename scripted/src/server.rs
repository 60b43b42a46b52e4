//! The server's life: a thread with a runtime of its own, ended by dropping the handle.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::sync::oneshot;

use crate::handle::handle;
use crate::script::Script;
use crate::state::{Recorded, Shared};

/// A running server, for blocking and async callers alike. Dropping it closes every connection.
#[derive(Debug)]
pub struct ScriptedModel {
    addr: SocketAddr,
    shared: Arc<Shared>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Serves `script` on a free port of loopback.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_at(script, 0)
    }

    /// Serves `script` on `port` of loopback; 0 means any.
    pub fn start_at(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let service = Router::new().fallback(handle).with_state(shared.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("scripted-model".to_owned())
            .spawn(move || runtime.block_on(serve(listener, service, stopped)))?;
        Ok(Self {
            addr,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`. OpenAI's clients want `/v1` added, Anthropic's don't.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests()
    }

    /// The requests for a model's reply so far: not those for the list of models, nor stray ones.
    pub fn calls(&self) -> Vec<Recorded> {
        self.shared.calls()
    }

    /// Blocks until there have been `count` calls or `timeout` has passed; returns those there are.
    pub fn wait_for_calls(&self, count: usize, timeout: Duration) -> Vec<Recorded> {
        self.shared.wait_for_calls(count, timeout)
    }

    /// How many steps have not answered any request yet.
    pub fn unused_steps(&self) -> usize {
        self.shared.unused_steps()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; nothing to add.
            let _ = thread.join();
        }
    }
}

/// Ends with `stopped`; the runtime, dropped after it, closes what is still open.
async fn serve(listener: TcpListener, service: Router, stopped: oneshot::Receiver<()>) {
    // Fails only without a runtime.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    // Small writes go out at once, so that a client sees a stream as the script cut it.
    let listener = listener.tap_io(|stream| {
        // A socket without this option still works.
        let _ = stream.set_nodelay(true);
    });
    tokio::select! {
        // Never ends by itself: it waits out failures to accept.
        _ = axum::serve(listener, service) => {}
        _ = stopped => {}
    }
}
