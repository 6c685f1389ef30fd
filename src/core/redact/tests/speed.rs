//! Texts made to be slow.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{OwnRules, REDACTOR, alnum, hexa, redactor};

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
