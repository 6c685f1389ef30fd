//! Serde types only, one file per protocol. Nothing here opens a file or a socket.

mod beginning;
pub mod capsule;
pub mod claude;
pub mod codex;
pub mod config;
pub mod control;
pub mod found_pages;
pub mod github;
pub mod json_size;
pub mod jsonrpc;
pub mod line;
pub mod search;
pub mod status;
pub mod window;
