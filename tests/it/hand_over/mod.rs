//! The daemon goes from one process to another: nobody else can take the project in between, the
//! agents are back at once, and what Codex does goes on.

mod faults;
mod owners;
mod versions;
