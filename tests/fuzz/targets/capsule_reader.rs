//! Any bytes as a capsule's file, as they are and with the digest that they should have: what is taken
//! is written again byte for byte, and what is refused has a place and a reason.
#![no_main]

use std::sync::LazyLock;

use ctxrelay_core::wire::capsule::hostile::check;
use ctxrelay_core::wire::capsule::samples::{cited_all, exported};
use ctxrelay_core::wire::capsule::write;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static WHOLE: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [exported(), cited_all()].map(|it| write(&it).unwrap_or_default().0));

/// One in so many inputs begins again with a whole file: without one nothing gets behind the first
/// checks.
const WHOLE_PER: u32 = 1_001;

fuzz_target!(|bytes: &[u8]| check(bytes));

fuzz_mutator!(
    |bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
        let whole = &WHOLE[seed as usize % WHOLE.len()];
        if whole.len() <= max_size && (size < 2 || seed.is_multiple_of(WHOLE_PER)) {
            bytes[..whole.len()].copy_from_slice(whole);
            return whole.len();
        }
        fuzzer_mutate(bytes, size, max_size)
    }
);
