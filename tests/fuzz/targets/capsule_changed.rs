//! A whole capsule's file with some bytes changed: it is refused, with a place and a reason.
#![no_main]

use std::sync::LazyLock;

use ctxrelay_core::wire::capsule::hostile::check_refusal;
use ctxrelay_core::wire::capsule::samples::{cited_all, exported};
use ctxrelay_core::wire::capsule::{read, write};
use libfuzzer_sys::fuzz_target;

static WHOLE: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [exported(), cited_all()].map(|it| write(&it).unwrap_or_default().0));

/// Where, how many bytes go, and what is put there.
type Change = (u16, u8, Vec<u8>);

fuzz_target!(|input: (bool, Vec<Change>)| {
    let (which, changes) = input;
    let whole = &WHOLE[usize::from(which)];
    let mut bytes = whole.clone();
    for (at, gone, put) in changes {
        let start = usize::from(at) % (bytes.len() + 1);
        let end = bytes.len().min(start + usize::from(gone));
        bytes.splice(start..end, put);
    }
    match read(&bytes) {
        Ok(_) => assert!(
            bytes == *whole,
            "taken: {}",
            String::from_utf8_lossy(&bytes)
        ),
        Err(bad) => check_refusal(&bad),
    }
});
