//! What it costs. `cargo bench` prints two things:
//!
//! - a table of whole-process figures: the durable append, the way of a message, starts, memory and
//!   idle CPU, each with its baseline *from the same run* and its target;
//! - divan's table of what costs nothing but CPU: a line, the fold, `verify`.
//!
//! `cargo bench -- table` prints the first alone; any other word is divan's filter. A figure on a
//! busy machine says little by itself, its ratio to the baseline beside it says more.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failed unwrap ends it"
)]

mod agent;
mod appends;
mod cpu;
mod figure;
mod messages;
mod process;
mod search;
mod starts;
#[path = "../it/support/mod.rs"]
mod support;

use figure::Table;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let table_alone = words == ["table"];
    // As `cargo test --benches` runs it: only see that it works.
    let only_tests = std::env::args().any(|word| word == "--test");
    if table_alone || (words.is_empty() && !only_tests) {
        let mut table = Table::begin();
        appends::measure(&mut table);
        messages::measure(&mut table);
        starts::measure(&mut table);
        process::measure(&mut table);
        search::measure(&mut table);
        table.end();
    }
    if !table_alone {
        divan::main();
    }
}
