//! Each mistake that other relays have made is found when it is put back.

use super::fault::Fault;
use super::world::World;

/// Worlds in which a mistake has to show itself.
const SEEDS: u64 = 20_000;

#[test]
fn every_mistake_is_found() {
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        let found = (0..SEEDS)
            .find_map(|seed| Some((seed, World::new(seed, Some(fault), false).run().err()?)));
        match found {
            Some((seed, wrong)) => eprintln!("{fault:?}: seed {seed}: {wrong}"),
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "nobody noticed {missed:?}");
}
