//! The operator's gate, from the process trees of the real agents.
#![cfg(target_os = "linux")]

mod agents;
mod orphans;
mod sandbox;
