#![allow(clippy::unwrap_used, reason = "tests")]
//! Sessions, and the adapter's task, against a scripted app-server.

mod app_server;
mod conversation;
mod delivery;
mod recovering;
mod running;
