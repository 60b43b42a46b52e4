//! Whose certificates count: a server that speaks TLS with one nobody else trusts.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use futures::StreamExt;
use hermes_model::Overrides;
use hermes_types::{ModelError, ModelErrorKind, Models, Purpose, Scope};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::support::{Owner, hi};

const REFUSAL: &[u8] =
    b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A server that refuses every key, once it is trusted. Lives as long as the test.
fn server() -> SocketAddr {
    let chain = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut tls = ServerConnection::new(config.clone()).unwrap();
            let mut stream = Stream::new(&mut tls, &mut socket);
            // A client without trust hangs up here.
            if stream.read(&mut [0; 64 << 10]).is_ok() {
                let _ = stream.write_all(REFUSAL);
            }
        }
    });
    addr
}

async fn error(addr: SocketAddr, variables: &[(&str, &str)]) -> ModelError {
    let settings = format!(
        "model: {{default: m, provider: custom, base_url: 'https://{addr}/v1', context_length: 99000}}\n\
         agent: {{api_max_retries: 1}}"
    );
    let owner = Owner::new(&settings, variables);
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    let events = client.stream(hi(), Scope::new("test".into()));
    let last = events.collect::<Vec<_>>().await.pop().unwrap();
    last.unwrap_err()
}

#[tokio::test]
async fn the_owners_certificates_count() {
    let addr = server();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/ca.pem");
    let untrusted = error(addr, &[]).await;
    assert!(untrusted.message.contains("certificate"), "{untrusted}");
    for variable in ["HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
        let trusted = error(addr, &[(variable, bundle)]).await;
        assert_eq!(trusted.kind, ModelErrorKind::Auth, "{variable}: {trusted}");
    }
    // Ours comes first.
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/server.pem");
    let both = [("SSL_CERT_FILE", other), ("HERMES_CA_BUNDLE", bundle)];
    assert_eq!(error(addr, &both).await.kind, ModelErrorKind::Auth);
}

#[tokio::test]
async fn certificates_the_owner_names_must_be_there() {
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
    let missing = "/nowhere/ca.pem";
    let named = error(nowhere, &[("HERMES_CA_BUNDLE", missing)]).await;
    assert_eq!(named.kind, ModelErrorKind::NotConfigured, "{named}");
    for part in [missing, "HERMES_CA_BUNDLE"] {
        assert!(named.message.contains(part), "{named}");
    }
    // Other programs' variables are only a hint.
    let hinted = error(nowhere, &[("REQUESTS_CA_BUNDLE", missing)]).await;
    assert_eq!(hinted.kind, ModelErrorKind::Transport, "{hinted}");
}
