//! The index against a plain look through the file.
#![allow(clippy::unwrap_used, reason = "tests")]

mod capsules;
mod faults;
mod same;
mod sealed;
mod support;
