//! The control port: who may come in, and what is served.
//!
//! - [`listener`]: the routes.
//! - [`guard`]: `Host`, `Origin` and tokens, before anything else sees a request.
//! - [`admission`]: what was shown, and the role in which one may say hello with it.
//! - [`lobby`]: connections that have not shown a token yet.
//! - [`refusals`]: refused connections, for the log.
//! - [`client_calls`]: the calls of one client that are in progress.
//! - [`connection`]: one WebSocket, on the control port or on the operator's socket.

pub mod admission;
mod client_calls;
pub mod connection;
pub mod guard;
pub mod listener;
pub(super) mod lobby;
pub(super) mod refusals;
