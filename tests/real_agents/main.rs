//! The tests with the real Claude Code and the real Codex, on scripted model services: a binary of
//! their own, so that all others need no agent and take no time for one.
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod altered;
mod approvals;
mod ask_user;
mod asked_back;
mod blocked;
mod capsule;
mod claudes_approvals;
mod codex_continuity;
mod codex_hook;
mod codex_packets;
mod compacting;
mod continuity;
mod delivery;
mod dormant;
mod exchanged;
mod finding;
mod followed;
mod gate;
mod gates_ran;
mod going_back;
mod hand_over;
mod harness;
mod held_queue;
mod hydrated;
mod inferred;
mod instructions;
mod ladder;
mod limits;
mod meter;
mod pages;
mod pair;
mod policy;
mod proposals;
mod published;
mod raced;
mod recovered;
mod reloaded;
mod reminded;
mod resume_view;
mod review;
mod rules;
mod sent_again;
mod signing_in;
mod status_line;
#[path = "../support/mod.rs"]
mod support;
mod told;
mod two_pairs;
mod wake;
mod working;
