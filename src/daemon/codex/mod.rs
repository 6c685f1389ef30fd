//! What follows from what is known of Codex, as flows of the loop over its owners: `delivering`
//! hands over, `facts` takes in what the adapter tells, `turns` keeps the record of turns and
//! relays answers, `markers` reads what a final message asks for.
//!
//! What is known stands in [`CodexLane`](super::codex_lane::CodexLane).

mod approving;
mod continuing;
mod delivering;
mod facts;
mod hooking;
mod markers;
mod turn_end;
mod turns;
