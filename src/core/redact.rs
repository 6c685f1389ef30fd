//! [`Redactor`]: takes secrets out of text before it is recorded or delivered.
//!
//! Three layers, from sure to likely: formats that only a secret has ([`rule::RULES`]), names that
//! say that a secret follows ([`assign`]), and the same names as keys of structured values
//! ([`walk`]). A mark names the rule that set it: `[REDACTED_GITHUB_TOKEN]`. Knows nothing of
//! lines but which of their fields are the protocol's own.
//!
//! Linear in the text: regular expressions without backtracking, and look-arounds by hand with
//! fixed bounds.

mod assign;
mod mark;
mod name;
mod rule;
mod value;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use assign::Assignments;
use rule::{Rule, mask_all};

/// How often the rules are applied to one text. One rule's mark can uncover what another one
/// looks for, and the second round finds nothing new unless a text was made to need it.
const ROUNDS_MAX: usize = 6;

/// Masks secrets. Made once: it compiles some hundred expressions.
#[derive(Debug)]
pub struct Redactor {
    /// For each rule, and last for the assignments, the beginning that a match must have. One
    /// pass over a text tells which rules are worth trying, which mostly is none.
    hints: RegexSet,
    /// Compiled when first hinted at: all of them at once take longer than a short command may.
    rules: Vec<(Rule, OnceLock<Regex>)>,
    assignments: Assignments,
}

impl Redactor {
    /// The built-in rules.
    ///
    /// # Panics
    ///
    /// Never: the expressions are constants that a test compiles.
    #[expect(clippy::expect_used, reason = "constants, compiled by every test run")]
    pub fn new() -> Self {
        let hints = rule::RULES
            .iter()
            .map(|rule| rule.hint)
            .chain([assign::HINT]);
        Self {
            hints: RegexSet::new(hints).expect("the hints of the rule table compile"),
            rules: rule::RULES
                .iter()
                .map(|rule| (*rule, OnceLock::new()))
                .collect(),
            assignments: Assignments::new(),
        }
    }

    /// Masks every string of a ledger line, keys included, except what the protocol itself puts
    /// there, and sets `meta.redacted` when anything was masked. Returns how many marks were set.
    ///
    /// Idempotent: a line that was redacted is left as it is.
    pub fn redact_entry(&self, line: &mut Value) -> u32 {
        walk::entry(self, line)
    }

    /// Masks a text. The second value is how many marks were set.
    pub fn redact_text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u32) {
        let mut text = Cow::Borrowed(text);
        let mut marks = 0;
        for _ in 0..ROUNDS_MAX {
            let set = self.round(&mut text);
            if set == 0 {
                break;
            }
            marks += set;
        }
        (text, marks)
    }

    fn round(&self, text: &mut Cow<'_, str>) -> u32 {
        let hinted = self.hints.matches(text);
        let mut marks = 0;
        for at in hinted.iter() {
            let masked = match self.rules.get(at) {
                Some((rule, pattern)) => {
                    mask_all(rule, pattern.get_or_init(|| rule.compile()), text)
                }
                None => self.assignments.mask_all(text),
            };
            if let Some((masked, set)) = masked {
                *text = Cow::Owned(masked);
                marks += set;
            }
        }
        marks
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}
