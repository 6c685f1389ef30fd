//! The integration tests: one binary, so that the program and its support are linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod cli;
mod control;
mod deck;
mod demo;
mod hand_over;
mod harness;
mod pair;
mod readme;
mod recovery;
mod relay;
mod support;
mod tidy;
