//! What the integration tests build on: private homes and projects, scripted model services, the
//! real agents in terminals, and raw clients of the program's own ports.
#![allow(
    dead_code,
    reason = "a vocabulary for scenarios; not every word is used in every build"
)]

pub mod account;
pub mod agents;
pub mod altered;
pub mod chance;
pub mod child;
pub mod claude_home;
pub mod codex_home;
pub mod contextrelay3;
pub mod daemon;
pub mod fake_gh;
pub mod gate_scene;
pub mod hand_over;
pub mod http;
pub mod launch;
pub mod mcp;
pub mod message_way;
pub mod messages_server;
pub mod model_request;
pub mod model_server;
pub mod operator;
pub mod pair;
pub mod panes;
pub mod picture;
pub mod pipe;
pub mod privileged;
pub mod project;
pub mod pty;
pub mod published;
pub mod record;
pub mod responses_server;
pub mod script;
pub mod script_file;
pub mod skipped;
pub mod small_disk;
pub mod wait;
pub mod ws;
