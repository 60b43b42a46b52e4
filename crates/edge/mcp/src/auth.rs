//! Where requests get their access tokens from.

use futures::future::{self, BoxFuture};

use crate::config::Secret;
use crate::failure::{Class, Failure, Refused};

/// Gives out access tokens and replaces those that were refused.
pub(crate) trait Authorizer: Send + Sync {
    /// The token for the next request; `None` sends none. One about to expire is replaced first. A failure of
    /// class `Auth` means that only a login can help.
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Failure>>;

    /// A request was refused. `Ok`: there is a better token now. A failure of class `Auth`: only a login can
    /// help; of any other class: nobody could tell, try again later.
    fn recover(&self, refused: Refused) -> BoxFuture<'_, Result<(), Failure>>;

    /// Waits until the stored token is another one than the one given out last: somebody logged in.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Waits for what must not be cut off when the program ends.
    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// The values that must not appear in any text.
    fn secrets(&self) -> Vec<Secret>;
}

/// For servers without OAuth: there is nothing to give and nothing to replace.
#[derive(Debug)]
pub(crate) struct NoTokens {
    /// The names of the configured headers, for the text that says what was refused.
    pub headers: Vec<String>,
}

impl Authorizer for NoTokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Failure>> {
        Box::pin(future::ready(Ok(None)))
    }

    fn recover(&self, _: Refused) -> BoxFuture<'_, Result<(), Failure>> {
        let message = match &*self.headers {
            [] => "the server wants credentials and none are configured".to_owned(),
            names => format!(
                "the server refused the configured header {}",
                names.join(", ")
            ),
        };
        // Not of class `Auth`: no login can help, and the server may be taught the key while we run.
        let failure = Failure::new(Class::App, "HTTP 401", message).with_status(401);
        Box::pin(future::ready(Err(failure)))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::pending())
    }

    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}
