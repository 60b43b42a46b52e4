//! Clients against a TLS server whose certificates only tests trust.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod guarded;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_net::{
    Identity, Options, Reach, Tls, TlsSettings, Trust, client, trouble_kind, was_never_sent,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/certs")
        .join(name)
}

/// Serves one good answer per connection, to anybody or only to who shows a certificate.
fn acceptor(wants_certificate: bool) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if wants_certificate {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(file("ca.pem")).unwrap())
            .unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("server.key.pem")).unwrap();
    TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // A client that does not like us goes away, which is part of the tests.
        let Ok(mut stream) = acceptor.accept(stream).await else {
            continue;
        };
        if stream.read(&mut [0; 1024]).await.is_ok() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    }
}

async fn ask(wants_certificate: bool, settings: TlsSettings) -> Result<String, reqwest::Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(listener, acceptor(wants_certificate)));
    let mut options = Options::new("HermesAgent/test", Duration::from_secs(10), Reach::Loopback);
    options.tls = Some(Tls::load(&settings).unwrap());
    let client = client(&options).unwrap();
    client.get(url).send().await?.text().await
}

fn settings(trust: Trust, identity: Option<Identity>) -> TlsSettings {
    TlsSettings { trust, identity }
}

#[tokio::test]
async fn only_who_is_trusted_is_talked_to() {
    let bundle = Trust::Bundle(file("ca.pem"));
    assert_eq!(ask(false, settings(bundle, None)).await.unwrap(), "hi");
    assert_eq!(
        ask(false, settings(Trust::Anybody, None)).await.unwrap(),
        "hi"
    );
    let wrong = Trust::Bundle(file("client.pem"));
    let refused = ask(false, settings(wrong, None)).await.unwrap_err();
    assert!(was_never_sent(&refused));
    assert_eq!(trouble_kind(&refused), "TLS error");
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let split = Identity {
        cert: file("client.pem"),
        key: Some(file("client.key.pem")),
    };
    let dir = tempfile::tempdir().unwrap();
    let joined = dir.path().join("both.pem");
    let read = |name| std::fs::read_to_string(file(name)).unwrap();
    std::fs::write(&joined, read("client.pem") + &read("client.key.pem")).unwrap();
    let joined = Identity {
        cert: joined,
        key: None,
    };
    for identity in [split, joined] {
        let bundle = Trust::Bundle(file("ca.pem"));
        let settings = settings(bundle, Some(identity));
        assert_eq!(ask(true, settings).await.unwrap(), "hi");
    }
    let bundle = Trust::Bundle(file("ca.pem"));
    assert!(ask(true, settings(bundle, None)).await.is_err());
}
