//! A simulated world around the real machines: seeded, on a clock of its own, with an app-server,
//! an adapter, a Claude and people that behave as the real ones were observed to, and everything
//! that can go wrong.
//!
//! What must hold in each world:
//! - what is recorded is confirmed in the end, or visible as ambiguous, rejected, expired or
//!   cancelled;
//! - what is confirmed was shown; shown again it says so; after proof nothing is offered unasked;
//! - what is sent again after its turn ended early is shown once more, and only that proves it;
//! - what nobody knows the fate of is not sent again by itself;
//! - what came later than what died of Claude's usage limit does not go before the record says that
//!   this is sent again;
//! - messages of a lane keep their order, a steer and what a turn of Codex waits for aside;
//! - what lies in the app-server's queue behind the turn that waits for it comes into that turn.
//!
//! ```text
//! cargo test -p ctxrelay-core simulation                       1,000 worlds
//! CTXRELAY_SEEDS=100000 cargo test -p ctxrelay-core simulation  more of them
//! CTXRELAY_SEED=4711 cargo test -p ctxrelay-core simulation     one of them, told step by step
//! ```
//!
//! One thing is assumed: a hook and a call of one Claude that are answered within milliseconds of
//! each other bring their texts in the order of the answers.

mod adapter;
mod checks;
mod claude;
mod codex_waits;
mod daemon;
mod disk;
mod fault;
mod hand_over;
mod judging;
mod leaving;
mod limits;
mod mutant;
mod mutations;
mod people;
mod server;
mod world;

use std::env;

use world::World;

/// How many worlds are run when nobody says.
const SEEDS: u64 = 1_000;

/// Worlds that run beside each other.
fn threads() -> u64 {
    std::thread::available_parallelism().map_or(2, |count| count.get() as u64)
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Runs one world, and tells every step of it.
fn replay(seed: u64) {
    let mut world = World::new(seed, None, true);
    let result = world.run();
    for line in world.trace.take().unwrap_or_default() {
        eprintln!("{line}");
    }
    if let Err(wrong) = result {
        panic!("seed {seed}: {wrong}");
    }
}

#[test]
fn nothing_is_lost_and_nothing_doubled_in_silence() {
    if let Some(seed) = number("CTXRELAY_SEED") {
        return replay(seed);
    }
    let seeds = number("CTXRELAY_SEEDS").unwrap_or(SEEDS);
    let (threads, mut wrong) = (threads(), Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    (first..seeds)
                        .step_by(threads as usize)
                        .find_map(|seed| Some((seed, World::new(seed, None, false).run().err()?)))
                })
            })
            .collect();
        wrong.extend(
            workers
                .into_iter()
                .filter_map(|worker| worker.join().unwrap()),
        );
    });
    if let Some((seed, wrong)) = wrong.into_iter().min() {
        panic!(
            "seed {seed}: {wrong}\nCTXRELAY_SEED={seed} cargo test -p ctxrelay-core simulation tells it"
        );
    }
}
