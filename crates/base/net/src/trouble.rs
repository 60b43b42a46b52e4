//! What an error of the HTTP client says about the request it ended.

use std::error::Error;
use std::io;

/// Whether certainly no byte of the request has reached the server: there was no connection, or it was gone
/// before the request was begun.
pub fn was_never_sent(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_builder() || find(error).any(is_unstarted)
}

fn is_unstarted(cause: &(dyn Error + 'static)) -> bool {
    let cause = cause.downcast_ref::<hyper::Error>();
    cause.is_some_and(|cause| cause.is_canceled() || cause.is_closed())
}

/// In a few words, what went wrong.
pub fn trouble_kind(error: &reqwest::Error) -> &'static str {
    let io = find(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    for kind in io.map(io::Error::kind) {
        match kind {
            io::ErrorKind::ConnectionRefused => return "Connection refused",
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                return "Connection reset";
            }
            io::ErrorKind::TimedOut => return "Connection timed out",
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                return "Host unreachable";
            }
            _ => {}
        }
    }
    // The libraries have no types for these two.
    let says = |words| find(error).any(|cause| cause.to_string().contains(words));
    if says("dns error") {
        "DNS error"
    } else if says("tls handshake") || find(error).any(|cause| cause.is::<rustls::Error>()) {
        "TLS error"
    } else if error.is_timeout() {
        "Connection timed out"
    } else if error.is_connect() {
        "Connection failed"
    } else {
        "Connection closed"
    }
}

/// What the innermost cause says. Outer ones repeat the URL, which may hold secrets.
pub fn trouble_cause(error: &reqwest::Error) -> String {
    let innermost = find(error).last();
    innermost.map_or_else(String::new, ToString::to_string)
}

/// The causes, from the outside in, without the error itself.
fn find(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| inner(*cause))
}

/// What is behind a cause. The system's errors hide what they carry.
fn inner<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let io = cause.downcast_ref::<io::Error>();
    match io.and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}
