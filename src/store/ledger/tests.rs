#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

mod append;
mod checkpoint;
mod faults;
mod formats;
mod open;
mod page;
mod tamper;
mod whole;
