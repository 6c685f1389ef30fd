//! The tests' own foundations, proved: that the scripted services are taken for real ones, and
//! that a terminal of ours is one.

mod claude;
mod codex;
mod tools;
