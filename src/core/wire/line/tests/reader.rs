//! Nothing makes the reader panic, run on or take more memory than the line is worth, and both
//! readers say the same of it.

use proptest::prelude::*;
use serde_json::Value;

use crate::wire::line::{BadLine, GENESIS, hash_line, hostile, parse, parse_link, serialize};

/// How much longer an entry may be when it is written again: a number of three characters, `1e9`,
/// becomes one of thirteen, and defaults are written out.
const GROWTH: usize = 8;
const DEFAULTS: usize = 2_000;

fn check(line: &[u8]) -> Result<(), TestCaseError> {
    let thorough = parse(line);
    let quick = parse_link(line);
    // The one difference that is documented.
    let too_large = matches!(&thorough, Err(BadLine::NotJson(why)) if why.contains("out of range"));
    if !too_large {
        let link = thorough.as_ref().map(|parsed| parsed.link.clone());
        prop_assert_eq!(quick.is_ok(), link.is_ok(), "{:?} {:?}", quick, link);
        prop_assert_eq!(quick.ok(), link.ok());
    }
    if let Ok(parsed) = thorough {
        let again = Value::Object(serialize(&parsed.entry)).to_string();
        prop_assert!(again.len() <= line.len() * GROWTH + DEFAULTS);
        // What was read can be written, and what is written is read as the same entry.
        let reread = parse(again.as_bytes()).unwrap().entry;
        prop_assert_eq!(
            (&reread.id, &reread.content),
            (&parsed.entry.id, &parsed.entry.content)
        );
        prop_assert_eq!(reread.kind.type_name(), parsed.entry.kind.type_name());
    }
    drop(hash_line(line, GENESIS));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_hostile_line_is_too_much_for_the_reader(line in hostile::bytes()) {
        check(&line)?;
    }
}

#[test]
fn lines_of_ten_megabytes_are_read_or_refused_like_short_ones() {
    const LONG: usize = 10 * 1024 * 1024;
    let around = |start: &str, middle: u8, end: &str| {
        let mut line = start.as_bytes().to_vec();
        line.resize(start.len() + LONG, middle);
        line.extend_from_slice(end.as_bytes());
        line
    };
    let entry = "{\"id\":\"a\",\"type\":\"note\",\"content\":";
    for (line, is_entry) in [
        (around(&format!("{entry}\""), b'x', "\"}"), true),
        (around(entry, b'9', "}"), false),
        (around(entry, b'[', "}"), false),
        (around(entry, b' ', "null}"), true),
        (around("", b'{', ""), false),
        (around("", 0, ""), false),
        (around("", 0xff, ""), false),
        (around(&format!("{entry}\""), b'\\', "\"}"), true),
        (around(&format!("{{\"{}", "id"), b'i', "\":1}"), false),
    ] {
        check(&line).unwrap();
        assert_eq!(parse(&line).is_ok(), is_entry, "{:?}", &line[..40]);
    }
}

#[test]
fn nesting_ends_where_both_readers_end() {
    let nested = |depth: usize| {
        format!(
            "{{\"id\":\"a\",\"type\":\"x\",\"deep\":{}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let reads = |depth: &usize| parse(nested(*depth).as_bytes()).is_ok();
    let deepest = (1..1000).take_while(reads).last().unwrap();
    assert!(deepest > 100, "{deepest}");
    for depth in [deepest, deepest + 1, 100_000] {
        let line = nested(depth);
        let quick = parse_link(line.as_bytes());
        assert_eq!(quick.is_ok(), depth == deepest, "{depth}: {quick:?}");
    }
}
