//! The integration tests: one binary, so that the program and its support are linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod bad_input;
mod cli;
mod config;
mod contextrelay3;
mod control;
mod deck;
mod delivery;
mod demo;
#[cfg(debug_assertions)]
mod failures;
mod followed;
mod gate;
mod hand_over;
mod harness;
mod held_queue;
mod keeping;
mod ladder;
mod ledger;
mod limits;
mod one_value;
mod pages;
mod pair;
mod pair_panes;
mod projects;
mod published;
mod readme;
mod recovery;
mod relay;
mod roles;
mod search;
mod support;
mod tidy;
mod told;
mod wake;
