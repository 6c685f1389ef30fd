//! Any text as the comment of a review: cleaned up, rated and made a finding of.
#![no_main]

use ctxrelay_core::review::bodies::BODIES;
use ctxrelay_core::review::hostile::check;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Two in so many inputs get the comment of a known reviewer at their end, or are doubled.
const COMMENT_PER: u32 = 20;

fuzz_target!(|bytes: &[u8]| check(&String::from_utf8_lossy(bytes)));

fuzz_mutator!(
    |bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
        let (chosen, rest) = (seed % COMMENT_PER, seed / COMMENT_PER);
        let (comment, ..) = BODIES[rest as usize % BODIES.len()];
        if chosen == 0 && size + comment.len() <= max_size {
            bytes[size..size + comment.len()].copy_from_slice(comment.as_bytes());
            return size + comment.len();
        }
        if chosen == 1 && 2 * size <= max_size {
            bytes.copy_within(..size, size);
            return 2 * size;
        }
        fuzzer_mutate(bytes, size, max_size)
    }
);
