//! Any bytes as lines of a ledger: read, written again and folded.
#![no_main]

use ctxrelay_core::wire::line::hostile::check_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_file(bytes));
