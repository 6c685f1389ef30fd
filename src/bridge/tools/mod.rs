//! The tools of both agents, one file per family.
//!
//! Each family defines its schema and maps arguments to a `Command` and a `Reply` to an
//! [`answer::ToolResult`]. The daemon decides what the arguments mean.

pub(super) mod answer;
mod answer_wait;
pub(super) mod argument;
mod artifact;
mod ask_user;
pub(super) mod call;
mod capsule;
mod context;
mod context_line;
mod context_part;
mod definition;
mod deliberate;
mod finality;
mod finding_places;
mod handoff;
mod message;
mod message_view;
mod note;
mod resume;
mod schema;
mod search;
mod send;
mod session;
mod task;
pub(super) mod tool;
pub(super) mod toolbox;

#[cfg(test)]
mod tests;
