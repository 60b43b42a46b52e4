//! What can go wrong with keys and logins, said so that their owner knows what to do next.

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error(transparent)]
    Home(#[from] hermes_home::Error),

    #[error("another program has held {0} for too long; try again when it is done")]
    Locked(String),

    #[error("{0}")]
    Invalid(String),

    /// The server could not be asked, or its answer is none.
    #[error("{host}: {reason}")]
    Unreachable { host: String, reason: String },

    /// The server said no. `code` is its own word for why.
    #[error("{host} refused: {reason}")]
    Refused {
        host: String,
        code: String,
        reason: String,
    },

    #[error("nobody has confirmed the login within {0} minutes")]
    TooLate(u64),

    #[error("the login was cancelled")]
    Cancelled,
}

impl AuthError {
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// Whether only a new login can help.
    pub fn needs_login(&self) -> bool {
        let codes = [
            "invalid_grant",
            "invalid_token",
            "invalid_request",
            "refresh_token_reused",
            "unauthorized_client",
        ];
        matches!(self, Self::Refused { code, .. } if codes.contains(&code.as_str()))
    }
}
