//! The command line: one file per verb, each `run(&CliContext, Args) -> CliOutcome`.
//!
//! - [`args`]: what can be typed; [`settings`]: what the environment adds, checked once.
//! - [`report`]: what a verb tells, filled once; [`output`]: the place that prints
//!   (passphrases are asked for beside it: `passphrase`, `ssh_sign`);
//!   [`exit`]: what the exit codes mean.
//! - [`connect`] and [`operator`]: the two ways to a running daemon; [`disk`]: what is known
//!   without one.
//!
//! Decides nothing about the record: the daemon does, or says no.

mod agent;
mod agent_place;
mod agent_word;
mod alone;
mod apart;
mod approvals;
pub mod args;
mod ask_signed;
mod bridge;
mod by_id;
mod capsule;
mod claude;
mod claude_plugin;
mod codex;
mod codex_mcp;
mod completions;
mod config;
mod connect;
mod context;
mod continuity;
mod daemon;
pub mod deck;
mod deck_screen;
mod demo;
mod destination;
mod detach;
mod dialed;
mod disk;
mod doctor;
mod doorbell;
mod end_signals;
pub mod exit;
mod finality;
mod gates;
mod gauge;
mod guide;
mod handoff;
mod hold;
mod hook;
mod hosted;
mod init;
mod instances;
mod instruction_files;
mod instructions;
mod kill;
mod later;
mod launch;
mod ledger;
mod lock_owner;
pub mod logging;
mod man;
mod masking;
mod newer_state;
mod notification_keys;
mod notify;
mod notify_command;
mod operator;
mod operator_key;
pub mod output;
mod own_pane;
mod pair;
mod pair_tmux;
#[cfg(debug_assertions)]
mod panic_on_order;
mod passphrase;
mod policy;
mod queue;
mod queue_all;
mod queue_names;
mod record_now;
mod recover;
mod redact;
mod replace;
pub mod report;
mod review;
pub mod run;
mod screen_files;
mod screen_watch;
mod search;
pub mod settings;
mod shell;
mod ssh_sign;
mod state_elsewhere;
mod status;
mod statusline;
mod trust;
mod unbuilt;
mod uninit;
mod vendor_command;
mod words;
