//! What follows from what is known of Codex, as flows of the loop over its owners: `facts` takes in
//! what the adapter tells and hands it on, `delivering` tells the lane, `to_adapter` gives messages
//! to the adapter, `turns` keeps the record of turns and relays answers, `turn_end` is what it is told
//! of an end, `markers` reads what a final message asks for, `context_answer` gives it the record
//! where it asks for that, `approving` has the person asked, `unended` goes back into the turn that
//! outlived the daemon before, `continuing` gives Codex back what a compaction took, `hooking` does
//! so by our hook in Codex, `on_record` has the record say what happened to it.
//!
//! What is known stands in [`CodexLane`](crate::daemon::agents::codex_lane::CodexLane).

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
