//! Nothing makes the reader panic, run on or take more memory than the line is worth, and both
//! readers say the same of it.

use proptest::prelude::*;

use crate::plain_value::{RAW_TEXT, nested_texts};
use crate::wire::jsonrpc::Frame;
use crate::wire::line::{Stored, hostile, parse, parse_link, serialize};

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_hostile_line_is_too_much_for_the_reader(line in hostile::bytes()) {
        hostile::check_file(&line);
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
        hostile::check(&line);
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

#[test]
fn numbers_that_nobody_knows_are_kept_to_the_last_digit() {
    for number in [
        "126.83155157826687",
        "948546.0504138131",
        "0.00009625726203246887",
        "1e-7",
        "0.1",
    ] {
        let line = format!(
            "{{\"id\":\"a\",\"type\":\"x\",\"cost\":{number},\"meta\":{{\"y\":{number}}}}}"
        );
        let entry = hostile::check(line.as_bytes()).unwrap();
        let again = serialize(&entry);
        assert_eq!(again["cost"].to_string(), number);
        assert_eq!(again["meta"]["y"].to_string(), number);
    }
}

#[test]
fn a_text_that_the_library_would_take_for_json_is_kept_as_it_is() {
    let line = |value: &str| format!("{{\"id\":\"a\",\"type\":\"x\",\"y\":{value}}}");
    for text in ["1", "[1", "not json"] {
        let value = serde_json::json!({RAW_TEXT: text});
        let entry = hostile::check(line(&value.to_string()).as_bytes()).unwrap();
        assert_eq!(serialize(&entry)["y"], value);
    }
    // The library would not come back from this.
    let line = line(&nested_texts(200));
    let entry = hostile::check(line.as_bytes()).unwrap();
    let sent: Stored = serde_json::from_str(&line).unwrap();
    assert_eq!(sent.entry, entry);
    let answer = format!("{{\"id\":1,\"result\":{line}}}");
    let answer: Frame = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer.result, Some(sent.to_value()));
}
