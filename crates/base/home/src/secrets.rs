//! Where secrets lie, as paths: asked by everybody who keeps others away from them.

/// Credentials in the user's home.
pub const USER: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
];

/// Files in the user's home that a shell runs at its start: no secrets, but whoever changes them is run.
pub const SHELL_START: &[&str] = &[
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zprofile",
];

/// What Hermes keeps secrets in, in any profile.
pub const HERMES: &[&str] = &[
    ".env",
    "auth",
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    "webhook_subscriptions.json",
    "cache/bws_cache.json",
    "mcp-tokens",
];

/// The owner's conversations, and who may speak to Hermes.
pub const HERMES_PRIVATE: &[&str] = &[
    "pairing",
    "sessions",
    "state.db",
    "state.db-wal",
    "state.db-shm",
];
