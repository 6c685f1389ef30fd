//! The loop's decisions, one event after the other, without an app-server: requests to the
//! adapter are looked at, facts of it are made up. Ledger and queue are the real ones.
#![allow(clippy::unwrap_used, reason = "tests")]

mod answers;
mod approvals;
mod ask_user;
mod bodies;
mod bounds;
mod claude;
mod clear;
mod codex;
mod codex_hook;
mod compact;
mod compacting;
mod compacting_waits;
mod contexts;
mod decisions;
mod discard;
mod faults;
mod given;
mod held;
mod inferring;
mod ladder;
mod leaving;
mod limits;
mod liveness_probe;
mod markers;
mod packets;
mod page;
mod policy;
mod proposals;
mod queue;
mod reads;
mod resolved;
mod rig;
mod rollover;
mod rules;
mod running_tools;
mod silence;
mod space;
mod spoken;
mod start;
mod storing;
mod tamper;
mod tasks;
mod unwritten;
mod whole;
