//! What it costs. `cargo bench` prints two things:
//!
//! - a table of whole-process figures: the durable append, the way of a message, starts, memory and
//!   idle CPU, and all of it again at the end of long records, each with its baseline *from the
//!   same run* and its target;
//! - divan's table of what costs nothing but CPU: a line, the fold, `verify`.
//!
//! `cargo bench -- table` prints the first alone, `cargo bench -- table ledger` one part of it; any
//! other word is divan's filter. A figure on a busy machine says little by itself, its ratio to the
//! baseline beside it says more.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failed unwrap ends it"
)]

mod agent;
mod appends;
mod approvals;
mod backlog;
mod busy;
mod capsule;
mod codex_approvals;
mod continuity;
mod cpu;
mod deck;
mod delivery;
mod figure;
mod forecast;
mod hook;
mod ledger;
mod messages;
mod process;
mod review;
mod search;
mod starts;
#[path = "../support/mod.rs"]
mod support;
mod timeline;
mod wake;

use figure::Table;
use support::record;

/// A part of the table, and the word that chooses it.
type Part = (&'static str, fn(&mut Table));

const PARTS: [Part; 19] = [
    ("appends", appends::measure),
    ("messages", messages::measure),
    ("delivery", delivery::measure),
    ("hook", hook::measure),
    ("continuity", continuity::measure),
    ("forecast", forecast::measure),
    ("approvals", approvals::measure),
    ("codex_approvals", codex_approvals::measure),
    ("wake", wake::measure),
    ("starts", starts::measure),
    ("process", process::measure),
    ("ledger", ledger::measure),
    ("review", review::measure),
    ("search", search::measure),
    ("capsule", capsule::measure),
    ("busy", busy::measure),
    ("backlog", backlog::measure),
    ("timeline", timeline::measure),
    ("deck", deck::measure),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let says = |flag: &str| args.iter().any(|arg| arg == flag);
    // `cargo bench` says `--bench`. `cargo test --benches` says nothing, or `--test` when a person
    // adds it: then divan runs each of its benches once, and the table, which takes minutes and
    // starts daemons, is left out.
    let is_bench = says("--bench") && !says("--test");
    let words: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let (wants_table, chosen) = match words.split_first() {
        None => (true, &[][..]),
        Some((&"table", chosen)) => (true, chosen),
        Some(_) => (false, &[][..]),
    };
    if is_bench && wants_table {
        for word in chosen {
            let known = PARTS.iter().any(|(name, _)| name == word);
            let names = PARTS.map(|(name, _)| name);
            assert!(known, "the table has no part {word:?}; it has {names:?}");
        }
        let mut table = Table::begin();
        for (name, measure) in PARTS {
            if chosen.is_empty() || chosen.contains(&name) {
                measure(&mut table);
            }
        }
        table.end();
    }
    if words.first() != Some(&"table") {
        divan::main();
    }
}
