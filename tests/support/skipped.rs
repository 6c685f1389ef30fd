//! Tests that were skipped. A test that cannot run here must not look like one that passed.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Counts the running test as left out because of a variable; `tests/run` prints the sums.
pub fn note(what: &str, variable: &str) {
    let name = std::thread::current().name().unwrap_or("?").to_owned();
    eprintln!("skipped: {name} ({variable})");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped-{what}"));
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    writeln!(file, "{name}").unwrap();
}
