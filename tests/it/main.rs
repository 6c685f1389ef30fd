//! The program from outside, without an agent: one binary, so that the program and its support are
//! linked once. Those with the real agents are another, `tests/real_agents`.
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod agents_find;
mod agents_installed;
mod bad_input;
mod capsule;
mod capsule_along;
mod capsule_bad_input;
mod capsule_beside;
mod capsule_git;
mod capsule_live;
mod capsule_now;
mod capsule_pages;
mod capsule_patch;
mod capsule_readme;
mod capsule_sealed;
mod capsule_trust;
mod cli;
mod cli_says;
mod config;
mod contextrelay3;
mod continuity;
mod control;
mod deck;
mod deck_agent_pages;
mod deck_alarms;
mod deck_bad_input;
mod deck_capsules;
mod deck_daemon_lost;
mod deck_editor;
mod deck_record_gone;
mod deck_recovery;
mod deck_sealed;
mod deck_thread;
mod deck_unclear;
mod demo;
mod doctor;
#[cfg(debug_assertions)]
mod failures;
mod followed;
mod gate;
mod gates;
mod hand_over;
mod harness;
mod hidden;
mod inference;
mod keeping;
mod killed_before;
mod ledger;
mod monorepo;
mod next_step;
mod no_agent;
mod one_value;
mod operators_hour;
mod own_files;
mod pair_goes_on;
mod pair_panes;
mod projects;
mod published;
mod queue_names;
mod reading_shown;
mod readme;
mod recovered_work;
mod recovery;
mod relay;
mod review;
mod roles;
mod search;
mod search_everywhere;
mod secret_corpus;
mod signing;
mod status_line;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod tidy;
mod timeline;
mod work_files;
