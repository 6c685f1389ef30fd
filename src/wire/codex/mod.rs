//! The subset of the Codex app-server protocol that we use.
