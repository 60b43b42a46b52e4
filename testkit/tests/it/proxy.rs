//! The proxy between a blocking client and an upstream that sends back what it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use hermes_testkit::{Fault, FaultProxy};

/// An upstream that echoes each connection until its end.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                let mut reader = connection.try_clone().unwrap();
                std::io::copy(&mut reader, &mut connection)
            });
        }
    });
    addr
}

fn connect(proxy: &FaultProxy) -> TcpStream {
    let client = TcpStream::connect(proxy.addr()).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    client
}

/// Sends `text` and reads as many bytes back.
fn exchange(client: &mut TcpStream, text: &str) -> String {
    client.write_all(text.as_bytes()).unwrap();
    let mut back = vec![0; text.len()];
    client.read_exact(&mut back).unwrap();
    String::from_utf8(back).unwrap()
}

#[test]
fn passes_both_ways_and_counts() {
    let proxy = FaultProxy::start(echo());
    let mut client = connect(&proxy);
    assert_eq!(exchange(&mut client, "hello"), "hello");
    assert_eq!((proxy.accepted(), proxy.open()), (1, 1));
    assert_eq!(proxy.bytes_to_client(), 5);
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn delay_holds_back_answers() {
    let proxy = FaultProxy::start(echo());
    proxy.set(Fault::Delay(Duration::from_millis(200)));
    let mut client = connect(&proxy);
    let start = Instant::now();
    assert_eq!(exchange(&mut client, "hello"), "hello");
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn stall_holds_an_open_connection_until_it_is_lifted() {
    let proxy = FaultProxy::start(echo());
    let mut client = connect(&proxy);
    assert_eq!(exchange(&mut client, "a"), "a");
    proxy.set(Fault::Stall);
    client.write_all(b"b").unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let error = client.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    proxy.set(Fault::Pass);
    client
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut back = [0; 1];
    client.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"b");
}

#[test]
fn reset_ends_old_and_new_connections() {
    let proxy = FaultProxy::start(echo());
    let mut old = connect(&proxy);
    assert_eq!(exchange(&mut old, "a"), "a");
    proxy.set(Fault::Reset);
    let mut new = connect(&proxy);
    for client in [&mut old, &mut new] {
        let error = client.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    proxy.set(Fault::Pass);
    assert_eq!(exchange(&mut connect(&proxy), "b"), "b");
}

#[test]
fn cut_closes_after_so_many_bytes() {
    let proxy = FaultProxy::start(echo());
    proxy.set(Fault::CutAfter(3));
    let mut client = connect(&proxy);
    client.write_all(b"hello").unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"hel");
}

#[test]
fn refuse_closes_the_port_and_gives_it_back() {
    let proxy = FaultProxy::start(echo());
    let mut old = connect(&proxy);
    assert_eq!(exchange(&mut old, "a"), "a");
    for _ in 0..3 {
        proxy.set(Fault::Refuse);
        let error = TcpStream::connect(proxy.addr()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        proxy.set(Fault::Pass);
        assert_eq!(exchange(&mut connect(&proxy), "b"), "b");
    }
    assert_eq!(old.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(proxy.accepted(), 4);
}

#[test]
fn dropping_the_proxy_closes_everything() {
    let proxy = FaultProxy::start(echo());
    let mut client = connect(&proxy);
    assert_eq!(exchange(&mut client, "a"), "a");
    drop(proxy);
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
}
