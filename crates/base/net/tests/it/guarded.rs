//! The guarded client against servers that exist, under names that mean what the test says.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_net::guarded::{Blocklist, Guarded, Private, PrivateSettings, Refused, Rules, read};
use hermes_net::{Options, Reach};
use reqwest::Response;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Names and what they mean: the first time, the second time, …
#[derive(Clone, Default)]
struct Names(Arc<Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>>);

impl Names {
    fn mean(&self, name: &str, addresses: &[&str]) {
        let parsed = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let mut names = self.0.lock().unwrap();
        names.entry(name.to_owned()).or_default().push_back(parsed);
    }

    /// How many answers nobody asked for.
    fn left(&self, name: &str) -> usize {
        self.0.lock().unwrap()[name].len()
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let mut names = self.0.lock().unwrap();
        let next = names.get_mut(name.as_str()).and_then(VecDeque::pop_front);
        Box::pin(async move {
            let found = next.ok_or("no such name")?;
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

/// Says `hi`, or sends whoever asks for `/to/X` to X. Counts the visits, and those that brought a key.
struct Server {
    port: u16,
    visits: Arc<AtomicUsize>,
    keys: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (visits, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        let counts = (visits.clone(), keys.clone());
        tasks.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counts.0.fetch_add(1, Ordering::SeqCst);
                answer(stream, &counts.1).await;
            }
        });
        Self {
            port,
            visits,
            keys,
            _tasks: tasks,
        }
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

async fn answer(mut stream: TcpStream, keys: &AtomicUsize) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8(request).unwrap();
    if request.to_lowercase().contains("\r\nauthorization:") {
        keys.fetch_add(1, Ordering::SeqCst);
    }
    let path = request.split(' ').nth(1).unwrap();
    // A proxy is asked for the whole address.
    let path = path.find("/to/").map_or(path, |at| &path[at..]);
    let head = match path.strip_prefix("/to/") {
        Some(place) => format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\n"),
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    let answer = format!("{head}Content-Length: 2\r\nConnection: close\r\n\r\nhi");
    // A client that goes away has what it wanted.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn guarded(names: &Names, rules: Rules) -> Guarded {
    let options = Options::new("HermesAgent/test", Duration::from_secs(10), Reach::Loopback);
    Guarded::new(options, rules).looking_up(Arc::new(names.clone()))
}

/// `start.test` may be on this machine, as if it were anywhere.
fn from_start() -> Rules {
    Rules {
        trusted: vec!["http://start.test".to_owned()],
        ..Rules::default()
    }
}

async fn get(guarded: &Guarded, url: &str) -> Result<Response, Refused> {
    guarded.get(&read(url)?, HeaderMap::new()).await
}

#[track_caller]
fn is_private(got: Result<Response, Refused>) {
    assert!(matches!(got, Err(Refused::Private(_))), "{got:?}");
}

// spec: terminal-and-safety §13.19
#[tokio::test]
async fn addresses_of_this_network_are_not_visited_unless_the_owner_wants_it() {
    let (server, names) = (Server::start().await, Names::default());
    let port = server.port;
    names.mean("localhost", &["127.0.0.1"]);
    let here = [
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        "http://100.64.0.1/".to_owned(),
        format!("http://2130706433:{port}/"),
    ];
    let careful = guarded(&names, Rules::default());
    for url in &here {
        is_private(get(&careful, url).await);
    }
    let ftp = get(&careful, "ftp://x").await;
    assert!(matches!(ftp, Err(Refused::Scheme(_))), "{ftp:?}");
    assert_eq!(server.visits(), 0);

    let settings = PrivateSettings {
        variable: Some("1"),
        ..PrivateSettings::default()
    };
    let open = Rules {
        private: Private::from(settings),
        ..Rules::default()
    };
    let open = guarded(&names, open);
    names.mean("localhost", &["127.0.0.1"]);
    assert_eq!(
        get(&open, &here[0]).await.unwrap().text().await.unwrap(),
        "hi"
    );
    assert_eq!(get(&open, &here[1]).await.unwrap().status(), 200);
    open.check(&read(&here[2]).unwrap()).await.unwrap();
    names.mean("cloud.test", &["169.254.169.254"]);
    for url in [
        "http://169.254.169.254/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://cloud.test/",
    ] {
        let refused = get(&open, url).await;
        assert!(matches!(refused, Err(Refused::Metadata(_))), "{refused:?}");
    }
}

// spec: terminal-and-safety §13.19
#[tokio::test]
async fn a_name_is_what_it_means() {
    let (server, names) = (Server::start().await, Names::default());
    let careful = guarded(&names, Rules::default());
    names.mean("public.test", &["127.0.0.1"]);
    is_private(get(&careful, &format!("http://public.test:{}/", server.port)).await);
    // One bad address is enough.
    names.mean("mixed.test", &["93.184.215.14", "::ffff:127.0.0.1"]);
    is_private(get(&careful, &format!("http://mixed.test:{}/", server.port)).await);
    let unknown = get(&careful, "http://nobody.test/").await;
    assert!(matches!(unknown, Err(Refused::Unknown(_))), "{unknown:?}");
    names.mean("empty.test", &[]);
    let unknown = get(&careful, "http://empty.test/").await;
    assert!(matches!(unknown, Err(Refused::Unknown(_))), "{unknown:?}");
    assert_eq!(server.visits(), 0);
}

// spec: terminal-and-safety §13.19
#[tokio::test]
async fn a_redirect_is_judged_like_any_address() {
    let (server, names) = (Server::start().await, Names::default());
    let port = server.port;
    let guarded = guarded(&names, from_start());
    names.mean("inside.test", &["127.0.0.1"]);
    let places = [
        format!("http://127.0.0.1:{port}/"),
        format!("//[::1]:{port}/"),
        format!("http://inside.test:{port}/"),
        "http://0x7f.1/".to_owned(),
    ];
    for place in places {
        names.mean("start.test", &["127.0.0.1"]);
        is_private(get(&guarded, &format!("http://start.test:{port}/to/{place}")).await);
    }
    assert_eq!(server.visits(), 4);
    for place in ["ftp://127.0.0.1/", "file:///etc/passwd"] {
        names.mean("start.test", &["127.0.0.1"]);
        let refused = get(&guarded, &format!("http://start.test:{port}/to/{place}")).await;
        assert!(matches!(refused, Err(Refused::Scheme(_))), "{refused:?}");
    }
    // Within the host it goes on, and the answer says where it ended.
    names.mean("start.test", &["127.0.0.1"]);
    names.mean("start.test", &["127.0.0.1"]);
    let there = get(&guarded, &format!("http://start.test:{port}/to//there"))
        .await
        .unwrap();
    assert_eq!(there.url().path(), "/there");
}

#[tokio::test]
async fn it_does_not_go_round_and_round_and_takes_no_key_along() {
    let (server, names) = (Server::start().await, Names::default());
    let rules = Rules {
        max_redirects: 3,
        private: Private::Allowed,
        ..Rules::default()
    };
    let guarded = guarded(&names, rules);
    let url = format!("http://127.0.0.1:{}/to//to//to//to//end", server.port);
    let round = get(&guarded, &url).await;
    assert!(
        matches!(round, Err(Refused::TooManyRedirects(3))),
        "{round:?}"
    );
    assert_eq!(server.visits(), 4);

    let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer x"))]);
    let url = format!(
        "http://127.0.0.1:{0}/to//to/http://127.0.0.2:{0}/",
        server.port
    );
    let other = Server::at(SocketAddr::from(([127, 0, 0, 2], server.port))).await;
    guarded.get(&read(&url).unwrap(), headers).await.unwrap();
    let keys = |server: &Server| server.keys.load(Ordering::SeqCst);
    assert_eq!((keys(&server), keys(&other), other.visits()), (2, 0, 1));
}

#[tokio::test]
async fn what_a_name_means_later_is_not_asked() {
    let (server, names) = (Server::start().await, Names::default());
    let other = Server::at(SocketAddr::from(([127, 0, 0, 2], server.port))).await;
    let guarded = guarded(&names, from_start());
    names.mean("start.test", &["127.0.0.1"]);
    names.mean("start.test", &["127.0.0.2"]);
    let url = format!("http://start.test:{}/", server.port);
    get(&guarded, &url).await.unwrap();
    assert_eq!((server.visits(), other.visits()), (1, 0));
    assert_eq!(names.left("start.test"), 1);
}

// spec: terminal-and-safety §13.20
#[tokio::test]
async fn the_policy_counts_before_and_after_a_redirect() {
    let (server, names) = (Server::start().await, Names::default());
    let domains = ["example.com".to_owned(), "*.test.org".to_owned()];
    let rules = Rules {
        blocklist: Some(Arc::new(Blocklist::new(&domains, Vec::new()))),
        ..from_start()
    };
    let guarded = guarded(&names, rules);
    names.mean("start.test", &["127.0.0.1"]);
    let start = format!("http://start.test:{}/to/http://x.test.org/", server.port);
    let cases = [
        ("http://a.example.com/", "example.com"),
        (&start, "*.test.org"),
    ];
    for (url, rule) in cases {
        match get(&guarded, url).await {
            Err(Refused::Policy(blocked)) => assert_eq!(blocked.rule, rule),
            other => panic!("{url}: {other:?}"),
        }
    }
    names.mean("test.org", &["127.0.0.1"]);
    // Not the policy, but its address.
    is_private(get(&guarded, "http://test.org/").await);
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rules = Rules {
        private: Private::Allowed,
        patience: Duration::from_millis(50),
        ..Rules::default()
    };
    let guarded = guarded(&Names::default(), rules);
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let slow = get(&guarded, &url).await;
    assert!(matches!(slow, Err(Refused::TooSlow(_))), "{slow:?}");
}

/// The proxy's variables belong to a whole process, so what is tested happens in one of its own.
#[tokio::test]
async fn a_proxy_is_only_asked_for_what_was_judged() {
    let proxy = Server::start().await;
    let ended = child(proxy.port).await;
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
    assert_eq!(proxy.visits(), 1);
}

#[allow(
    clippy::disallowed_methods,
    reason = "this test itself, with another environment"
)]
async fn child(port: u16) -> std::process::Output {
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "guarded::child_behind_a_proxy", "--ignored"])
        .env("GUARDED_CHILD", "1")
        .env("http_proxy", format!("http://localhost:{port}"))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .kill_on_drop(true);
    let ended = tokio::time::timeout(Duration::from_secs(60), child.output()).await;
    ended.unwrap().unwrap()
}

/// Not a test of its own: what the child of the test above does.
#[ignore = "started by a_proxy_is_only_asked_for_what_was_judged"]
#[tokio::test]
#[allow(
    clippy::disallowed_methods,
    reason = "says whether there is a proxy; without one this would leave the machine"
)]
async fn child_behind_a_proxy() {
    if std::env::var("GUARDED_CHILD").is_err() {
        return;
    }
    let names = Names::default();
    let options = Options::new("HermesAgent/test", Duration::from_secs(10), Reach::World);
    let guarded = Guarded::new(options, Rules::default()).looking_up(Arc::new(names.clone()));
    names.mean("inside.test", &["10.0.0.1"]);
    is_private(get(&guarded, "http://inside.test/").await);
    is_private(get(&guarded, "http://127.0.0.1/").await);
    // That an answer comes shows that the proxy gave it: nobody else says this.
    names.mean("outside.test", &["93.184.215.14"]);
    let said = get(&guarded, "http://outside.test/").await.unwrap();
    assert_eq!(said.text().await.unwrap(), "hi");
}
