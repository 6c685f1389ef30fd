//! The flows about Claude. `delivering` feeds the ladders and `pushing` sends what they want sent;
//! `approving` asks the person; `compacting` records a finished compaction and `continuing` gives
//! Claude back what it lost; `conversing` names its conversation; `presence` follows which Claude
//! there is and `receivers_hook` which hooks count; `context` writes the text that a hook adds to a
//! turn; `speaking` reads what Claude says of its work and `noting` records it; `status` is what
//! the operator reads; `tools` knows whether Claude can call us; `turns` follows what it does.
//!
//! The state itself is in [`ClaudeLane`](crate::daemon::agents::claude_lane::ClaudeLane), that of
//! its processes in [`ClaudeProcesses`](crate::daemon::agents::claude_processes::ClaudeProcesses).

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
