//! Choosing where the browser comes back to. Providers pin the port a client was registered with.

use std::io;

use serde_json::Value;
use url::{Host, Url};

use crate::oauth::config::Access;
use crate::oauth::login::LoginError;
use crate::oauth::store::Fields;
use hermes_net::callback::Callback;

/// Where the browser is sent, and who waits there.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub uri: String,
    pub port: Option<u16>,
    /// `None` where the answer cannot come here by itself and is pasted.
    pub listener: Option<Callback>,
}

/// Takes the configured port, else the registered one, else any.
pub(crate) async fn reserve(
    access: &Access,
    registration: Option<&Fields>,
) -> Result<Redirect, LoginError> {
    let config = &access.config;
    if let Some(uri) = &config.redirect_uri {
        let port = config.redirect_port.or_else(|| local_port(uri));
        let listener = match port {
            Some(port) => Some(listen(access, port).await?),
            None => None,
        };
        return Ok(Redirect {
            uri: uri.clone(),
            port,
            listener,
        });
    }
    let listener = match config.redirect_port {
        Some(port) => listen(access, port).await?,
        None => match registration.and_then(registered_port) {
            // If the registered port is taken, a new registration can still have another one.
            Some(port) => match Callback::reserve(port).await {
                Ok(listener) => listener,
                Err(_) => listen(access, 0).await?,
            },
            None => listen(access, 0).await?,
        },
    };
    let port = listener
        .port()
        .map_err(|source| no_port(access, 0, source))?;
    Ok(Redirect {
        uri: format!("http://{}:{port}/callback", config.redirect_host),
        port: Some(port),
        listener: Some(listener),
    })
}

async fn listen(access: &Access, port: u16) -> Result<Callback, LoginError> {
    let reserved = Callback::reserve(port).await;
    reserved.map_err(|source| no_port(access, port, source))
}

fn no_port(access: &Access, port: u16, source: io::Error) -> LoginError {
    LoginError::Port {
        server: access.server.clone(),
        port,
        source,
    }
}

fn registered_port(registration: &Fields) -> Option<u16> {
    let uris = registration.get("redirect_uris")?.as_array()?;
    uris.iter().filter_map(Value::as_str).find_map(local_port)
}

/// The port of an address on this machine.
fn local_port(uri: &str) -> Option<u16> {
    let url = Url::parse(uri).ok()?;
    let is_local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    url.port().filter(|_| is_local)
}
