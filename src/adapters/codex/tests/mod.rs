#![allow(clippy::unwrap_used, reason = "tests")]
//! Sessions against a scripted app-server.

mod app_server;
mod conversation;
mod delivery;
mod recovering;
