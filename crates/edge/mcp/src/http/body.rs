//! Reads bodies: bounded in size, and never waiting for ever.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::channel::broken;
use crate::failure::{Class, Failure};

/// Nobody reads more of an error.
const MAX_ERROR: usize = 64 << 10;
/// Reading more than this as JSON takes so long that others should not have to wait for it.
const LONG: usize = 1 << 20;

/// A body that is read piece by piece.
pub(super) struct Body {
    response: Response,
    url: Url,
    /// How long it may be silent.
    patience: Duration,
}

impl Body {
    pub(super) fn new(response: Response, patience: Duration) -> Self {
        let url = response.url().clone();
        Self {
            response,
            url,
            patience,
        }
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        match timeout(self.patience, self.response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(cut(broken(&error, &self.url))),
            Err(_) => Err(silent(self.patience)),
        }
    }

    /// All of it, unless it is larger than `limit`: then reading ends there and then.
    pub(super) async fn whole(mut self, limit: usize) -> Result<Vec<u8>, Failure> {
        let announced = self.response.content_length().unwrap_or(0);
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(too_large(limit));
        }
        let mut all = Vec::with_capacity(announced);
        while let Some(piece) = self.next().await? {
            if all.len() + piece.len() > limit {
                return Err(too_large(limit));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// Reads to the end without looking, so that the connection can be used again.
    pub(super) async fn drain(mut self) {
        while let Ok(Some(_)) = self.next().await {}
    }
}

/// The beginning of a body that is only shown or searched for words.
pub(super) async fn beginning(mut response: Response, limit: Duration) -> String {
    let mut text = Vec::new();
    let read = async {
        while text.len() < MAX_ERROR
            && let Ok(Some(piece)) = response.chunk().await
        {
            text.extend_from_slice(&piece);
        }
    };
    // What has come by then has to do.
    let _ = timeout(limit, read).await;
    text.truncate(MAX_ERROR);
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads JSON; `Err` says what is wrong with it.
pub(super) async fn parse(text: Vec<u8>) -> Result<Value, String> {
    if text.len() < LONG {
        return serde_json::from_slice(&text).map_err(|error| error.to_string());
    }
    let parsed = tokio::task::spawn_blocking(move || serde_json::from_slice(&text)).await;
    match parsed {
        Ok(parsed) => parsed.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn too_large(limit: usize) -> Failure {
    let message = format!("too large: a message of more than {limit} bytes was refused");
    Failure::new(Class::Protocol, "Protocol error", message)
}

pub(super) fn silent(patience: Duration) -> Failure {
    let message = format!("not a byte came for {:.0} s", patience.as_secs_f64());
    Failure::new(Class::Cut, "Connection silent", message)
}

/// Once a body is being read, the request has certainly been sent.
fn cut(failure: Failure) -> Failure {
    Failure {
        class: Class::Cut,
        ..failure
    }
}
