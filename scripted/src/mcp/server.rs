//! The server's life: a thread with a runtime of its own, ended by dropping the handle.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::control;
use super::counters::{Counters, Seen};
use super::fault::{Fault, Times};
use super::http::{Conn, End};
use super::oauth::Tokens;
use super::options::Options;
use super::route;
use super::state::{Down, Job, Net, Shared};

/// A port given up for a moment may be slow to come back.
const REBIND: Duration = Duration::from_millis(20);
/// How long the thread may take to do as it was told.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 4096;

/// A running server, for blocking and async callers alike. Dropping it closes every connection.
#[derive(Debug)]
pub struct Flaky {
    addr: SocketAddr,
    control: SocketAddr,
    shared: Arc<Shared>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flaky {
    /// Serves on a free port of loopback.
    pub fn start(options: Options) -> io::Result<Self> {
        Self::start_at(options, 0)
    }

    /// Serves on `port` of loopback; 0 means any.
    pub fn start_at(options: Options, port: u16) -> io::Result<Self> {
        Self::start_on(options, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Serves on any address, for clients in another network namespace.
    pub fn start_on(options: Options, addr: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (here, elsewhere, control) = {
            // Not `block_on`: the caller may well be in a runtime of its own.
            let _inside = runtime.enter();
            let elsewhere = SocketAddr::new(addr.ip(), 0);
            (bind(addr)?, bind(elsewhere)?, bind(local)?)
        };
        let addr = here.local_addr()?;
        let control_addr = control.local_addr()?;
        let (jobs, work) = mpsc::channel(16);
        let other = format!("http://{}", elsewhere.local_addr()?);
        let shared = Arc::new(Shared::new(options, jobs, other));
        let (stop, stopped) = oneshot::channel();
        let ports = Ports {
            here,
            elsewhere,
            control,
        };
        let state = shared.clone();
        let thread = thread::Builder::new()
            .name("flaky-mcp".to_owned())
            .spawn(move || runtime.block_on(run(state, ports, work, stopped)))?;
        Ok(Self {
            addr,
            control: control_addr,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`
    pub fn origin(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The endpoint of Streamable HTTP.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// The stream of HTTP+SSE.
    pub fn sse_url(&self) -> String {
        format!("{}/sse", self.origin())
    }

    /// The other origin, to which F44 redirects.
    pub fn elsewhere(&self) -> &str {
        &self.shared.elsewhere
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where `flaky-mcp stdio ADDRESS` finds this server, and drivers `/control`.
    pub fn control(&self) -> SocketAddr {
        self.control
    }

    /// From now on, this fault. Open connections are silent or doomed, and the port is closed, when this returns.
    pub fn arm(&self, fault: Fault, times: Times) {
        self.shared.arm(fault, times);
        self.settle();
    }

    /// Healthy from now on. Sessions and tokens that are lost stay so, and so does the silence of old connections.
    pub fn heal(&self) {
        self.shared.heal();
        self.settle();
    }

    fn settle(&self) {
        let wanted = self.shared.net.borrow().down.is_none();
        // A restart may be over before we look.
        let done = |net: &Net| net.down.is_none() != wanted;
        self.shared.wait(PATIENCE, |inner| {
            inner.listening == wanted || done(&self.shared.net.borrow())
        });
    }

    pub fn counters(&self) -> Counters {
        self.shared.with(|inner| inner.counters.clone())
    }

    /// Blocks until the counters are `done` or `timeout` has passed; what they are then.
    pub fn wait_for(&self, timeout: Duration, done: impl Fn(&Counters) -> bool) -> Counters {
        self.shared.wait(timeout, |inner| done(&inner.counters));
        self.counters()
    }

    /// The newest requests, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.with(|inner| inner.seen())
    }

    /// Changes what the healthy server is like. Nobody is told: see [`Flaky::tools_changed`].
    pub fn change(&self, change: impl FnOnce(&mut Options)) {
        self.shared.with(|inner| change(&mut inner.options));
    }

    /// Tells everybody who listens that the list of tools has changed.
    pub fn tools_changed(&self) {
        let method = "notifications/tools/list_changed";
        self.shared.with(|inner| inner.lines.notify(method));
    }

    /// Tokens as if somebody had logged in.
    pub fn issue_tokens(&self) -> Tokens {
        self.shared.with(|inner| inner.grants.issue())
    }

    /// Accepts tokens made by somebody else.
    pub fn admit_tokens(&self, tokens: &Tokens) {
        self.shared.with(|inner| inner.grants.admit(tokens));
    }

    /// From now on no registered client is known: `invalid_client`.
    pub fn forget_clients(&self) {
        self.shared.with(|inner| inner.grants.forget_clients());
    }
}

impl Drop for Flaky {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; nothing to add.
            let _ = thread.join();
        }
    }
}

struct Ports {
    here: TcpListener,
    elsewhere: TcpListener,
    control: TcpListener,
}

fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Closed connections linger on a port that is bound again.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(1024)
}

/// Ends with `stopped`; everything else is dropped with it.
async fn run(
    shared: Arc<Shared>,
    ports: Ports,
    mut work: mpsc::Receiver<Job>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut tasks = JoinSet::new();
    tasks.spawn(accept_here(shared.clone(), ports.here));
    tasks.spawn(accept(ports.control, {
        let shared = shared.clone();
        move |conn| control::serve(shared.clone(), conn)
    }));
    tasks.spawn(accept(ports.elsewhere, {
        let shared = shared.clone();
        move |mut conn| {
            let shared = shared.clone();
            async move { route::elsewhere(&shared, &mut conn).await }
        }
    }));
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            Some(Job::Storm { per_second, seconds }) = work.recv() => {
                tasks.spawn(storm(shared.clone(), per_second, seconds));
            }
            Some(_) = tasks.join_next() => {}
        }
    }
}

async fn storm(shared: Arc<Shared>, per_second: u32, seconds: u32) {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / per_second.max(1));
    for _ in 0..per_second.saturating_mul(seconds) {
        tick.tick().await;
        let method = "notifications/tools/list_changed";
        shared.with(|inner| inner.lines.notify(method));
    }
}

/// Connections that nothing happens to.
async fn accept<F>(listener: TcpListener, serve: impl Fn(Conn) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(Conn::new(stream)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Connections of clients, while the port is open.
async fn accept_here(shared: Arc<Shared>, listener: TcpListener) {
    let Ok(addr) = listener.local_addr() else {
        return;
    };
    let mut net = shared.net.subscribe();
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        let down = net.borrow_and_update().down;
        listener = match (down, listener) {
            (Some(_), _) => None,
            (None, Some(listener)) => Some(listener),
            (None, None) => bind(addr).ok(),
        };
        let open = listener.is_some();
        shared.set_open(open);
        let until = match down {
            Some(Down::Until(time)) => Some(time),
            Some(Down::Healed) => None,
            None => (!open).then(|| tokio::time::Instant::now() + REBIND),
        };
        tokio::select! {
            stream = next(listener.as_ref()), if connections.len() < MAX_CONNECTIONS => {
                connections.extend(stream.map(|stream| connection(shared.clone(), stream)));
            }
            _ = net.changed() => {}
            () = reached(until) => shared.net.send_modify(|net| {
                net.down = net.down.filter(|down| !matches!(down, Down::Until(time) if Some(*time) == until));
            }),
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn next(listener: Option<&TcpListener>) -> Option<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.ok().map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

async fn reached(until: Option<tokio::time::Instant>) {
    match until {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Counts an open connection for as long as it lives.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0
            .with(|inner| inner.counters.open_connections_now -= 1);
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    let number = shared.with(|inner| {
        inner.counters.connections += 1;
        inner.counters.open_connections_now += 1;
        inner.counters.connections
    });
    let _counted = Counted(shared.clone());
    let mut net = shared.net.subscribe();
    let mut conn = Conn::new(stream);
    let end = tokio::select! {
        // Looked at first, so that a request after the order is never served.
        biased;
        end = fate(&mut net, number) => end,
        end = route::here(&shared, &mut conn) => end,
    };
    match end {
        End::Closed => {}
        End::Reset => conn.reset(),
        End::Silent => conn.hold().await,
    }
}

/// What the network does to a connection, once it does something.
async fn fate(net: &mut watch::Receiver<Net>, number: u64) -> End {
    loop {
        let now = *net.borrow_and_update();
        if number <= now.closed_to {
            return End::Closed;
        }
        if now.silent || number <= now.silent_to {
            return End::Silent;
        }
        if net.changed().await.is_err() {
            return End::Closed;
        }
    }
}
