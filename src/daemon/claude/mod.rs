//! What follows from what is known of Claude, as flows of the loop over its owners: `delivering`
//! tells the ladders, `pushing` does what leaves to Claude, `approving` has the person asked, `compacting` records a compaction that
//! is over, `continuing` gives it back what that took, `conversing` names its conversation, `noting` records what is said of the work, `presence`
//! follows which Claude there is, `context` writes what a hook hands into a turn, `receivers_hook` which hooks count, `speaking` reads
//! what Claude says of its work, `standing` what the operator reads, `tools` whether Claude can call
//! us, `turns` what it does.
//!
//! What is known stands in [`ClaudeLane`](super::claude_lane::ClaudeLane), and of its processes in
//! [`ClaudeProcesses`](super::claude_processes::ClaudeProcesses).

mod approving;
mod compacting;
mod context;
mod continuing;
pub(super) mod conversing;
mod delivering;
mod noting;
mod presence;
mod pushing;
pub(super) mod receivers_hook;
mod ring;
mod speaking;
mod standing;
pub(super) mod tools;
mod turns;
