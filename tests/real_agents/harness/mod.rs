//! The foundations of these tests, proved: that real agents take the scripted services for real.

mod claude;
mod codex;
