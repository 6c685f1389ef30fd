//! How much leaks and how much is taken for a secret that is none, over the corpus in
//! `tests/data/redaction`.
//!
//! A third of the kinds is held out: rules are not tuned by them, and their failures are counted
//! but not shown unless `CTXRELAY_CORPUS=all`.
#![expect(clippy::print_stdout, reason = "the rates are what one runs this for")]

use std::fmt;
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::REDACTOR;
use crate::redact::secret_samples::{
    CONTEXTS, DRAWS, Draw, FORMATS, NAMED, around, cases, leaks, unescape, with_secrets,
};

const LOOKALIKES: &str = include_str!("../../../../tests/data/redaction/lookalikes.txt");

/// The shares of texts that may fail, in percent.
const LEAK_MAX: f64 = 1.0;
const FALSE_POSITIVE_MAX: f64 = 2.0;

/// The fewest kinds on each side.
const KINDS_MIN: usize = 120;

fn is_held_out(kind: &str) -> bool {
    Sha256::digest(kind)[0] % 3 == 0
}

#[derive(Debug, Default)]
struct Rate {
    texts: u32,
    failed: u32,
}

impl Rate {
    fn count(&mut self, failed: bool) {
        self.texts += 1;
        self.failed += u32::from(failed);
    }

    fn percent(&self) -> f64 {
        100.0 * f64::from(self.failed) / f64::from(self.texts.max(1))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} of {} ({:.2} %)",
            self.failed,
            self.texts,
            self.percent()
        )
    }
}

/// The rates of the kinds that rules are tuned by, and of those that are held out.
#[derive(Debug, Default)]
struct Rates {
    seen: Rate,
    held_out: Rate,
    shown: Vec<String>,
}

impl Rates {
    fn count(&mut self, kind: &str, failed: bool, show: impl FnOnce() -> String) {
        let held_out = is_held_out(kind);
        if held_out {
            &mut self.held_out
        } else {
            &mut self.seen
        }
        .count(failed);
        if failed && (!held_out || std::env::var("CTXRELAY_CORPUS").is_ok_and(|all| all == "all")) {
            let kind = format!("{kind}: ");
            // One of each kind is enough to see why.
            if self
                .shown
                .last()
                .is_none_or(|last| !last.starts_with(&kind))
            {
                self.shown.push(kind + &show());
            }
        }
    }

    fn all(&self) -> Rate {
        Rate {
            texts: self.seen.texts + self.held_out.texts,
            failed: self.seen.failed + self.held_out.failed,
        }
    }

    fn print(&self, what: &str, kinds: usize) {
        println!(
            "{what}: {kinds} kinds, {}; held out {}",
            self.all(),
            self.held_out
        );
        for line in &self.shown {
            println!("  {line}");
        }
    }
}

#[test]
fn of_the_corpus_s_secrets_at_most_one_in_a_hundred_leaks() {
    let contexts = cases(CONTEXTS);
    let (formats, named) = (cases(FORMATS), cases(NAMED));
    let mut rates = Rates::default();
    let mut check = |kind: &str, template: &str| {
        let template = unescape(template);
        let (text, secrets) = with_secrets(&template);
        let masked = REDACTOR.redact_text(&text).0;
        let kept = around(&template);
        let leak = secrets.iter().any(|secret| leaks(&masked, &kept, secret));
        rates.count(kind, leak, || format!("{text:?} became {masked:?}"));
    };
    for format in &formats {
        for draw in 0..DRAWS {
            for context in &contexts {
                let mut random = Draw::new(format.kind, draw);
                check(
                    format.kind,
                    &context.text.replace('…', &random.fill(format.text)),
                );
            }
        }
    }
    for case in &named {
        for draw in 0..DRAWS {
            check(case.kind, &Draw::new(case.kind, draw).fill(case.text));
        }
    }
    let kinds = formats.len() + named.len();
    rates.print("secrets that leak", kinds);
    assert!(kinds >= KINDS_MIN);
    assert!(rates.all().percent() <= LEAK_MAX, "{}", rates.all());
}

#[test]
fn of_the_corpus_s_lookalikes_at_most_two_in_a_hundred_are_masked() {
    let cases = cases(LOOKALIKES);
    let mut rates = Rates::default();
    for case in &cases {
        let text = unescape(&Draw::new(case.kind, 0).fill(case.text));
        let (masked, marks) = REDACTOR.redact_text(&text);
        rates.count(case.kind, marks > 0, || {
            format!("{text:?} became {masked:?}")
        });
    }
    rates.print("look-alikes that are masked", cases.len());
    assert!(cases.len() >= KINDS_MIN);
    assert!(
        rates.all().percent() <= FALSE_POSITIVE_MAX,
        "{}",
        rates.all()
    );
}

#[test]
fn the_corpus_is_redacted_at_a_speed_that_is_printed() {
    let mut text: String = cases(LOOKALIKES)
        .iter()
        .map(|case| Draw::new(case.kind, 0).fill(case.text) + "\n")
        .collect();
    text = text.repeat(1_000_000 / text.len());
    REDACTOR.redact_text(&text);
    let start = Instant::now();
    let (masked, _) = REDACTOR.redact_text(&text);
    let took = start.elapsed();
    println!("{} bytes of look-alikes in {took:?}", text.len());
    assert!(!masked.is_empty());
}
