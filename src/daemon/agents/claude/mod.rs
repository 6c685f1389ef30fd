//! What follows from what is known of Claude, as flows of the loop over its owners: `delivering`
//! tells the ladders, `pushing` lets leave what they want, `approving` has the person asked,
//! `compacting` records a compaction that is over, `continuing` gives it back what that took,
//! `conversing` names its conversation, `presence` follows which Claude there is, `receivers_hook`
//! which hooks count, `context` writes what a hook hands into a turn, `speaking` reads what Claude
//! says of its work, `noting` records that, `status` what the operator reads, `tools` whether Claude
//! can call us, `turns` what it does.
//!
//! What is known stands in [`ClaudeLane`](crate::daemon::agents::claude_lane::ClaudeLane), and of its processes in
//! [`ClaudeProcesses`](crate::daemon::agents::claude_processes::ClaudeProcesses).

mod approving;
mod compacting;
mod context;
mod continuing;
pub(in crate::daemon) mod conversing;
mod delivering;
mod noting;
mod presence;
mod pushing;
pub(in crate::daemon) mod receivers_hook;
mod ring;
mod speaking;
mod status;
pub(in crate::daemon) mod tools;
pub(in crate::daemon) mod turns;
