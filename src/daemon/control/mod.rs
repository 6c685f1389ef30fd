//! The control port: who may come in, and what is served.
//!
//! - [`listener`]: the routes.
//! - [`guard`]: `Host`, `Origin` and tokens, before anything else sees a request.
//! - [`connection`]: one WebSocket, on the control port or on the operator's socket.

pub mod connection;
pub mod guard;
pub mod listener;
