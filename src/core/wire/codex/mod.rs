//! The subset of the Codex app-server protocol that we use, read leniently.
//!
//! Requests are typed structs that name their method and answer ([`call::Call`]); what comes in is
//! a [`frame::Incoming`]. An unknown method, field or word never fails: the protocol of a newer
//! Codex may say more than we know.

pub mod approval;
pub mod call;
pub mod frame;
pub mod item;
pub mod limits;
pub mod notification;
pub mod thread;
pub mod turn;
