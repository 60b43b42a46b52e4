//! Whom a client trusts and how it proves who it is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// The system's certificates are replaced now and then, and we run for months.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// Reading the system's certificates takes many milliseconds, so all clients share what was read last.
static SYSTEM: Mutex<Option<(Instant, Tls)>> = Mutex::new(None);

/// A finished TLS setup. Cheap to clone; clones also share what speeds up a second handshake.
#[derive(Clone, Debug)]
pub struct Tls(ClientConfig);

/// What a TLS setup is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    pub trust: Trust,
    pub identity: Option<Identity>,
}

/// Whose certificates count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    #[default]
    System,
    /// Those signed by what this PEM file holds.
    Bundle(PathBuf),
    /// Everybody's: no protection against a forger.
    Anybody,
}

/// The certificate a client shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub cert: PathBuf,
    /// `None`: in the same file as the certificate.
    pub key: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {source}")]
    File { path: PathBuf, source: pem::Error },
    #[error("{path} holds no certificate")]
    NoCertificate { path: PathBuf },
    #[error("the certificates cannot be used: {0}")]
    Unusable(String),
}

impl Tls {
    pub fn load(settings: &TlsSettings) -> Result<Self, TlsError> {
        if *settings == TlsSettings::default() {
            return Self::system();
        }
        let provider = provider();
        let verifier: Arc<dyn ServerCertVerifier> = match &settings.trust {
            Trust::System => system_verifier(&provider)?,
            Trust::Bundle(path) => bundle_verifier(path, &provider)?,
            Trust::Anybody => Arc::new(Unverified(provider.clone())),
        };
        Self::build(provider, verifier, settings.identity.as_ref())
    }

    /// The system's certificates, and none of our own.
    pub fn system() -> Result<Self, TlsError> {
        let mut cached = SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, tls)) = &*cached
            && read.elapsed() < FRESH
        {
            return Ok(tls.clone());
        }
        let provider = provider();
        let verifier = system_verifier(&provider)?;
        let tls = Self::build(provider, verifier, None)?;
        *cached = Some((Instant::now(), tls.clone()));
        Ok(tls)
    }

    /// For clients that never speak TLS.
    pub fn nobody() -> Result<Self, TlsError> {
        let config = builder(provider())?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        Ok(Self(config))
    }

    fn build(
        provider: Arc<CryptoProvider>,
        verifier: Arc<dyn ServerCertVerifier>,
        identity: Option<&Identity>,
    ) -> Result<Self, TlsError> {
        let builder = builder(provider)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = certificates(&identity.cert)?;
                let key_file = identity.key.as_ref().unwrap_or(&identity.cert);
                let key = PrivateKeyDer::from_pem_file(key_file).map_err(unreadable(key_file))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(unusable)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(config))
    }

    pub(crate) fn into_config(self) -> ClientConfig {
        self.0
    }
}

fn provider() -> Arc<CryptoProvider> {
    // Fails only if a provider is there already, which is what we want.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match CryptoProvider::get_default() {
        Some(provider) => provider.clone(),
        None => Arc::new(rustls::crypto::ring::default_provider()),
    }
}

fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TlsError> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)
}

fn system_verifier(
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let verifier = rustls_platform_verifier::Verifier::new(provider.clone()).map_err(unusable)?;
    Ok(Arc::new(verifier))
}

fn bundle_verifier(
    path: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(unusable)?;
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    verifier.map_err(unusable).map(|verifier| verifier as _)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(path).map_err(unreadable(path))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unreadable(path))?;
    match found.is_empty() {
        true => Err(TlsError::NoCertificate { path: path.into() }),
        false => Ok(found),
    }
}

fn unreadable(path: &Path) -> impl FnOnce(pem::Error) -> TlsError {
    move |source| TlsError::File {
        path: path.into(),
        source,
    }
}

fn unusable(error: impl std::fmt::Display) -> TlsError {
    TlsError::Unusable(error.to_string())
}

/// Believes every certificate, but still wants the peer to hold its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let check = |settings: TlsSettings, name: &str| {
            let error = Tls::load(&settings).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        };
        let missing = dir.path().join("missing.pem");
        let empty = dir.path().join("empty.pem");
        std::fs::write(&empty, "no pem here\n").unwrap();
        for path in [&missing, &empty] {
            let name = path.file_name().unwrap().to_str().unwrap();
            let bundle = TlsSettings {
                trust: Trust::Bundle(path.clone()),
                identity: None,
            };
            check(bundle, name);
            let identity = TlsSettings {
                trust: Trust::Anybody,
                identity: Some(Identity {
                    cert: path.clone(),
                    key: None,
                }),
            };
            check(identity, name);
        }
    }
}
