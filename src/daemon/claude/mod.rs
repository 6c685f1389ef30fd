//! What follows from what is known of Claude, as flows of the loop over its owners: `delivering`
//! does what the ladders say, `approving` has the person asked, `compacting` records a compaction that
//! is over, `continuing` gives it back what that took, `conversing` names its conversation, `presence`
//! follows which Claude there is, `context` writes what a hook hands into a turn, `speaking` reads
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
mod presence;
mod ring;
mod speaking;
mod standing;
pub(super) mod tools;
mod turns;
