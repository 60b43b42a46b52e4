//! A TCP proxy on loopback that breaks connections the way networks do, switched while it runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, tcp};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// What the proxy does to connections, those already open included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: bytes go both ways.
    Pass,
    /// Each piece from the upstream is held back this long.
    Delay(Duration),
    /// Connections are accepted and stay open, and no byte moves.
    Stall,
    /// Connections are ended with a TCP reset.
    Reset,
    /// A connection is closed once this many bytes of it have reached the client.
    CutAfter(u64),
    /// As if the upstream weren't running: open connections are closed, new ones refused.
    Refuse,
}

/// The proxy. It runs on a thread of its own, so blocking tests can use it; dropping it ends everything.
#[derive(Debug)]
pub struct FaultProxy {
    addr: SocketAddr,
    counters: Arc<Counters>,
    /// `None` only while dropping: the closed channel is what ends the thread.
    orders: Option<mpsc::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// A new behaviour, and whom to tell once it holds.
type Order = (Fault, blocking::Sender<()>);

#[derive(Debug, Default)]
struct Counters {
    accepted: AtomicU64,
    open: AtomicU64,
    to_client: AtomicU64,
}

impl FaultProxy {
    /// Listens on a free port and passes everything to `upstream`.
    pub fn start(upstream: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("start a runtime for the proxy");
        let listener = runtime
            .block_on(async { bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?.listen(1024) })
            .expect("listen on loopback");
        let addr = listener.local_addr().expect("the proxy's address");
        let counters = Arc::new(Counters::default());
        let (orders, inbox) = mpsc::unbounded_channel();
        let server = Server {
            addr,
            upstream,
            counters: counters.clone(),
        };
        let thread = thread::spawn(move || runtime.block_on(server.run(listener, inbox)));
        Self {
            addr,
            counters,
            orders: Some(orders),
            thread: Some(thread),
        }
    }

    /// Where clients connect. Stays the same through [`Fault::Refuse`].
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes the behaviour; it holds when this returns.
    pub fn set(&self, fault: Fault) {
        let (done, applied) = blocking::channel();
        let orders = self.orders.as_ref().expect("the proxy isn't dropped");
        orders.send((fault, done)).expect("the proxy runs");
        applied.recv().expect("the proxy runs");
    }

    /// Connections accepted since the start.
    pub fn accepted(&self) -> u64 {
        self.counters.accepted.load(Ordering::SeqCst)
    }

    /// Connections open now.
    pub fn open(&self) -> u64 {
        self.counters.open.load(Ordering::SeqCst)
    }

    /// Bytes passed from the upstream to clients since the start.
    pub fn bytes_to_client(&self) -> u64 {
        self.counters.to_client.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the proxy has already been printed; a second one here would abort the test.
            let _ = thread.join();
        }
    }
}

/// The proxy's side of the thread.
struct Server {
    addr: SocketAddr,
    upstream: SocketAddr,
    counters: Arc<Counters>,
}

enum Door {
    Open(TcpListener),
    /// Holds the port, so that nobody else gets it meanwhile.
    Shut(TcpSocket),
}

impl Server {
    async fn run(self, listener: TcpListener, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut door = Door::Open(listener);
        let (faults, fault) = watch::channel(Fault::Pass);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                // Orders first: a connection made after `set` returned must see the new behaviour.
                biased;
                order = orders.recv() => {
                    let Some((fault, done)) = order else { return };
                    door = self.turn(door, fault).expect("keep the proxy's port");
                    faults.send_replace(fault);
                    if ends_connections(&fault) {
                        while connections.join_next().await.is_some() {}
                    }
                    // The test may have died meanwhile.
                    let _ = done.send(());
                }
                client = accept(&door) => {
                    self.counters.accepted.fetch_add(1, Ordering::SeqCst);
                    let connection = Connection {
                        upstream: self.upstream,
                        fault: fault.clone(),
                        counters: self.counters.clone(),
                    };
                    connections.spawn(connection.serve(client));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    fn turn(&self, door: Door, fault: Fault) -> io::Result<Door> {
        Ok(match (door, fault) {
            (Door::Open(listener), Fault::Refuse) => {
                drop(listener);
                Door::Shut(bind(self.addr)?)
            }
            (Door::Shut(port), fault) if fault != Fault::Refuse => Door::Open(port.listen(1024)?),
            (door, _) => door,
        })
    }
}

/// A port that is ours. Until it listens, the kernel refuses connections to it.
fn bind(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Closed connections linger on the port when it is bound again.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

async fn accept(door: &Door) -> TcpStream {
    match door {
        Door::Open(listener) => listener.accept().await.expect("accept a client").0,
        Door::Shut(_) => std::future::pending().await,
    }
}

/// One client's connection.
struct Connection {
    upstream: SocketAddr,
    fault: watch::Receiver<Fault>,
    counters: Arc<Counters>,
}

/// How a connection must end.
enum End {
    Close,
    Reset,
}

impl Connection {
    async fn serve(self, mut client: TcpStream) {
        self.counters.open.fetch_add(1, Ordering::SeqCst);
        let end = tokio::select! {
            // Faults first, so that a reset connection never reaches the upstream.
            biased;
            end = ordered_end(self.fault.clone()) => end,
            // An error of either side is what a proxy is for: pass it on by closing.
            _ = self.relay(&mut client) => End::Close,
        };
        if matches!(end, End::Reset) {
            // Fails only on a socket that is closed already.
            let _ = client.set_zero_linger();
        }
        drop(client);
        self.counters.open.fetch_sub(1, Ordering::SeqCst);
    }

    async fn relay(&self, client: &mut TcpStream) -> io::Result<()> {
        let mut fault = self.fault.clone();
        flowing(&mut fault).await;
        let mut upstream = TcpStream::connect(self.upstream).await?;
        let (from_client, to_client) = client.split();
        let (from_upstream, to_upstream) = upstream.split();
        tokio::try_join!(
            self.up(from_client, to_upstream),
            self.down(from_upstream, to_client),
        )?;
        Ok(())
    }

    async fn up(&self, mut from: tcp::ReadHalf<'_>, mut to: tcp::WriteHalf<'_>) -> io::Result<()> {
        let mut fault = self.fault.clone();
        let mut buffer = [0; 8192];
        loop {
            let size = from.read(&mut buffer).await?;
            flowing(&mut fault).await;
            if size == 0 {
                return to.shutdown().await;
            }
            to.write_all(&buffer[..size]).await?;
        }
    }

    /// Ends with an error when the connection must be cut, which ends `up` too.
    async fn down(
        &self,
        mut from: tcp::ReadHalf<'_>,
        mut to: tcp::WriteHalf<'_>,
    ) -> io::Result<()> {
        let mut fault = self.fault.clone();
        let mut buffer = [0; 8192];
        let mut sent = 0;
        loop {
            let size = from.read(&mut buffer).await?;
            let mut allowed = u64::MAX;
            match flowing(&mut fault).await {
                Fault::CutAfter(limit) => allowed = limit.saturating_sub(sent),
                Fault::Delay(delay) => tokio::time::sleep(delay).await,
                _ => {}
            }
            if size == 0 {
                return to.shutdown().await;
            }
            let size = size.min(usize::try_from(allowed).unwrap_or(usize::MAX));
            // Counted first: who has read the bytes must find them counted.
            self.counters
                .to_client
                .fetch_add(size as u64, Ordering::SeqCst);
            to.write_all(&buffer[..size]).await?;
            sent += size as u64;
            if size as u64 == allowed {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
    }
}

fn ends_connections(fault: &Fault) -> bool {
    matches!(fault, Fault::Reset | Fault::Refuse)
}

/// Returns when the behaviour of the moment is to end connections.
async fn ordered_end(mut fault: watch::Receiver<Fault>) -> End {
    match fault.wait_for(ends_connections).await.map(|fault| *fault) {
        Ok(Fault::Reset) => End::Reset,
        // Also when the proxy is gone.
        _ => End::Close,
    }
}

/// Returns when bytes may move, with the behaviour that holds then.
async fn flowing(fault: &mut watch::Receiver<Fault>) -> Fault {
    let flows = |fault: &Fault| *fault != Fault::Stall;
    fault
        .wait_for(flows)
        .await
        .map_or(Fault::Refuse, |fault| *fault)
}
