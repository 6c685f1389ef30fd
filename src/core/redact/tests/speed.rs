//! Texts made to be slow.

use std::time::{Duration, Instant};

use super::{REDACTOR, alnum, hexa};

const MEGABYTE: usize = 1_000_000;

/// Far above what an unoptimised build needs and far below what a quadratic one would.
const DEADLINE: Duration = Duration::from_secs(20);

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
        fill("sk-"),
        fill("eyJaaaaaaaa."),
        fill("-----BEGIN PRIVATE KEY-----"),
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
        let start = Instant::now();
        let (masked, _) = REDACTOR.redact_text(&text);
        let took = start.elapsed();
        assert!(
            took < DEADLINE,
            "{:?}… took {took:?}",
            &text[..20.min(text.len())]
        );
        assert!(!masked.is_empty());
    }
}
