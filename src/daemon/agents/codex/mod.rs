//! The flows about Codex. `facts` takes what the adapter reports and passes it on; `delivering`
//! feeds the lane and `to_adapter` gives messages to the adapter; `turns` records turns and relays
//! answers, `turn_end` describes an end; `markers` reads what a final message asks for, and
//! `context_answer` gives it the record if it asks for that; `approving` asks the person; `unended`
//! follows up the turn that outlived the previous daemon; `continuing` gives Codex back what a
//! compaction took, `hooking` does so through our hook in Codex; `on_record` records what happened
//! to it.
//!
//! The state itself is in [`CodexLane`](crate::daemon::agents::codex_lane::CodexLane).

mod approving;
mod context_answer;
mod continuing;
mod delivering;
mod facts;
mod hooking;
mod markers;
mod on_record;
mod to_adapter;
mod turn_end;
mod turns;
mod unended;
