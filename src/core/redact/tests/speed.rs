//! Texts made to be slow.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, json};

use super::super::found::READ_ON;
use super::{OwnRules, REDACTOR, ROUNDS_MAX, alnum, hexa, redactor};

const MEGABYTE: usize = 1_000_000;

/// Far above what an unoptimised build needs and far below what a quadratic one would.
const ENOUGH: Duration = Duration::from_secs(20);

/// What this thread has computed for so far, whatever else the machine does.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

#[test]
fn a_megabyte_of_anything_is_done_in_time() {
    let fill = |piece: &str| piece.repeat(MEGABYTE / piece.len());
    let prose = "The parser takes a token and returns the next one; see src/lexer.rs for why. ";
    for text in [
        fill(prose),
        fill("token="),
        fill("token=\""),
        fill("password: \\"),
        fill("secret='x"),
        fill("token,"),
        fill("token,["),
        fill("auth](\\"),
        fill("auth],"),
        fill("secret,é"),
        fill("token:\n "),
        fill("+ token: |\\n+  "),
        fill("a://b:c"),
        fill("a://b@c"),
        fill("a://b@c:d@e"),
        fill("amqp://a@b:1,"),
        fill("sk-"),
        fill("_sk-"),
        fill("\\n%20[0m_ghp_"),
        fill("eyJaaaaaaaa."),
        fill("-----BEGIN PRIVATE KEY-----"),
        fill(&format!("-----BEGIN PRIVATE KEY-----\n| {}\n| ", alnum(40))),
        format!("-----BEGIN PRIVATE KEY-----{}", fill("a ")),
        fill("Authorization: "),
        fill("mysql "),
        fill("login x "),
        fill("key value"),
        fill("[REDACTED_"),
        fill("é"),
        alnum(MEGABYTE),
        hexa(MEGABYTE),
        fill(&format!("password={}\n", alnum(12))),
    ] {
        let start = computed();
        let (masked, _) = REDACTOR.redact_text(&text);
        let took = computed() - start;
        assert!(
            took < ENOUGH,
            "{:?}… took {took:?}",
            &text[..20.min(text.len())]
        );
        assert!(!masked.is_empty());
    }
}

const NAMES: [&str; 9] = [
    "token",
    "password",
    "API_KEY",
    "auth",
    "--token",
    "<secret",
    "\"token\"",
    "auth]",
    "pwd'",
];
const JOINTS: [&str; 14] = [
    "=",
    ":",
    ",",
    ">",
    "(",
    "=>",
    "<-",
    "==",
    "value=",
    ",value:",
    " ",
    "\u{1b}[0m=",
    ":|\\n+ ",
    "",
];
const OPENINGS: [&str; 14] = [
    "",
    "\"",
    "'",
    "\\\"",
    "\\",
    "[",
    "(",
    "<",
    "Some(",
    "b'",
    "é",
    "x",
    "$",
    "[REDACTED_",
];
const ENDS: [&str; 7] = ["", ",", ")", "]", "\\", "é", "\u{1b}[0m"];

/// A name, a joint, an opening and an end, of each one.
fn shapes() -> impl Iterator<Item = String> {
    let count = NAMES.len() * JOINTS.len() * OPENINGS.len() * ENDS.len();
    (0..count).map(|at| {
        let (name, at) = (NAMES[at % NAMES.len()], at / NAMES.len());
        let (joint, at) = (JOINTS[at % JOINTS.len()], at / JOINTS.len());
        let (opening, at) = (OPENINGS[at % OPENINGS.len()], at / OPENINGS.len());
        format!("{name}{joint}{opening}{}", ENDS[at])
    })
}

/// A value is read beyond what is looked at only when it goes: else the next name in it would
/// have it read again.
#[test]
fn whatever_a_text_repeats_each_of_its_values_is_read_to_its_end_once_a_round() {
    for shape in shapes() {
        let text = shape.repeat(300);
        READ_ON.set(0);
        REDACTOR.redact_text(&text);
        let read = READ_ON.get();
        assert!(read <= text.len() * (ROUNDS_MAX + 1), "{read} of {shape:?}");
    }
}

#[test]
fn as_many_keys_with_the_same_mark_as_a_line_can_hold_are_told_apart_in_time() {
    let keys = (0..30_000).map(|n| (format!("AKIA{n:016}"), json!(n)));
    let mut line = json!({"x": keys.collect::<Map<_, _>>()});
    let start = computed();
    REDACTOR.redact_entry(&mut line);
    let took = computed() - start;
    assert!(took < ENOUGH, "took {took:?}");
    assert_eq!(line["x"]["[REDACTED_AWS_ACCESS_KEY] 30000"], 29_999);
}

#[test]
fn rules_of_a_project_that_were_made_to_be_slow_are_done_in_time() {
    let fill = |piece: &str, len: usize| piece.repeat(len / piece.len());
    for (pattern, len) in [
        // Each find of one letter looks for a `b` to the end of the text.
        ("a.*b|a", MEGABYTE),
        (r"(?:[ab]{0,60}){0,20}c", MEGABYTE),
        (r"(?:a?){200}a{200}c", MEGABYTE),
        (r"\w+\s+\w+@", MEGABYTE),
        (r"[ab]+[ab]+[ab]+c", MEGABYTE),
        // States without number: the slowest that fits into the bound on what is compiled.
        (r"(?:[a-z].{0,60}){3}[0-9]x", MEGABYTE / 20),
    ] {
        let mut own = OwnRules::default();
        own.add_rule("SLOW", pattern).unwrap();
        let redactor = redactor(own);
        for text in [
            fill("a", len),
            fill("ab ", len),
            fill("[REDACTED_X]a", len),
            alnum(len),
        ] {
            let start = computed();
            let (masked, _) = redactor.redact_text(&text);
            let took = computed() - start;
            assert!(took < ENOUGH, "{pattern} took {took:?}");
            assert!(!masked.is_empty());
        }
    }
}
