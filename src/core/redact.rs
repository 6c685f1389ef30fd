//! [`Redactor`]: removes secrets from text before it is recorded or delivered.
//!
//! Four layers, from certain to likely: the project's own rules ([`OwnRules`]), formats that only a
//! secret has ([`rule::RULES`]), names that announce a secret ([`assign`]), and the same names as
//! keys of structured values ([`walk`]). A mark names the rule that set it:
//! `[REDACTED_GITHUB_TOKEN]`. Of lines it knows only which fields are the protocol's own, and
//! nothing of where a project's rules come from.
//!
//! Linear in the text: regular expressions without backtracking, and look-arounds by hand with
//! fixed bounds.

mod allow;
mod assign;
mod below;
mod code;
mod drawn;
mod found;
mod mark;
mod name;
mod own;
mod pem;
mod rule;
#[cfg(any(test, feature = "testing"))]
pub mod secret_samples;
mod style;
mod value;
mod walk;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use regex::{Regex, RegexSet};
use serde_json::Value;

use assign::Assignments;
use mark::mark;
use own::{CompiledRule, Work};
use rule::{Rule, mask_all};
use walk::Reach;

pub use mark::{mark_names, marks_of};
pub use own::{BadRule, OwnRules, PATTERN_BYTES_MAX, RULES_MAX};

/// How often the rules are applied to one text. One rule's mark can uncover what another one
/// looks for, and the second round finds nothing new unless a text was made to need it.
const ROUNDS_MAX: usize = 6;

/// The mark of a text that no number of rounds would settle.
const UNSETTLED: &str = "TEXT";

/// Masks secrets. Made once: with the first text it compiles some hundred expressions. The project's own rules can be
/// exchanged while it is in use; a text is redacted by the old ones or by the new ones.
#[derive(Debug)]
pub struct Redactor {
    current: RwLock<Arc<RuleSet>>,
}

/// The rules at one moment.
#[derive(Debug)]
struct RuleSet {
    /// Compiled when a text is first looked at: a short command may have none.
    built_in: Arc<LazyLock<BuiltIn>>,
    own: OwnRules,
    /// How often they were exchanged before.
    number: u64,
}

/// What every project has.
#[derive(Debug)]
struct BuiltIn {
    /// For each rule, and last for the assignments, the beginning that a match must have. One
    /// pass over a text tells which rules are worth trying, which mostly is none.
    hints: RegexSet,
    /// Compiled when first hinted at: all of them at once take longer than a short command may.
    rules: Vec<(Rule, OnceLock<Regex>)>,
    assignments: Assignments,
}

impl Redactor {
    /// The built-in rules alone.
    pub fn new() -> Self {
        Self::with(OwnRules::default())
    }

    /// The built-in rules and a project's own.
    pub fn with(own: OwnRules) -> Self {
        let built_in = Arc::new(LazyLock::new(BuiltIn::new as fn() -> BuiltIn));
        Self {
            current: RwLock::new(Arc::new(RuleSet {
                built_in,
                own,
                number: 0,
            })),
        }
    }

    /// Takes other rules of the project from now on.
    pub fn replace(&self, own: OwnRules) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let built_in = Arc::clone(&current.built_in);
        let number = current.number + 1;
        *current = Arc::new(RuleSet {
            built_in,
            own,
            number,
        });
    }

    /// Masks every string of a ledger line, keys included, except what the protocol itself puts
    /// there, and sets `meta.redacted` when anything was masked. Returns how many marks were set.
    ///
    /// Idempotent: a line that was redacted is left as it is.
    pub fn redact_entry(&self, line: &mut Value) -> u32 {
        walk::entry(&self.rules(), line)
    }

    /// Masks a text. The second value is how many marks were set.
    pub fn redact_text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u32) {
        self.rules().redact_text(text, Reach::All)
    }

    /// Names the rules that count now: other ones have another number.
    pub fn rules_number(&self) -> u64 {
        self.rules().number
    }

    /// Compiles what every text is held against, some milliseconds: for a thread beside somebody who waits
    /// for something else before there is a text.
    pub fn compile(&self) {
        LazyLock::force(&self.rules().built_in);
    }

    fn rules(&self) -> Arc<RuleSet> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl RuleSet {
    fn redact_text<'a>(&self, text: &'a str, reach: Reach) -> (Cow<'a, str>, u32) {
        let own = match reach {
            Reach::All => self.own.rules(),
            Reach::BuiltIn => &[],
        };
        let mut work = Work::for_text(text, own.len());
        let mut text = Cow::Borrowed(text);
        let mut marks = 0;
        for _ in 0..ROUNDS_MAX {
            match self.round(own, &mut text, &mut work) {
                Some(0) => return (text, marks),
                Some(set) => marks += set,
                None => break,
            }
        }
        match self.round(own, &mut text, &mut work) {
            Some(0) => (text, marks),
            // A rule of the project that feeds on its own marks or takes too long, or a text made
            // to defeat the rules one by one: what is left of it cannot be told from a secret.
            _ => (Cow::Owned(mark(UNSETTLED)), marks + 1),
        }
    }

    /// How many marks were set; `None` when the work that a text may cost was used up.
    fn round(&self, own: &[CompiledRule], text: &mut Cow<'_, str>, work: &mut Work) -> Option<u32> {
        let mut marks = 0;
        let mut take = |text: &mut Cow<'_, str>, masked: Option<(String, u32)>| {
            if let Some((masked, set)) = masked {
                *text = Cow::Owned(masked);
                marks += set;
            }
        };
        let allow = self.own.allow();
        for rule in own {
            let masked = rule.mask_all(text, allow, work)?;
            take(text, masked);
        }
        for at in self.built_in.hints.matches(text).iter() {
            let masked = match self.built_in.rules.get(at) {
                Some((rule, pattern)) => {
                    mask_all(rule, pattern.get_or_init(|| rule.compile()), text, allow)
                }
                None => self.built_in.assignments.mask_all(text, allow),
            };
            take(text, masked);
        }
        Some(marks)
    }
}

impl BuiltIn {
    /// # Panics
    ///
    /// Never: the expressions are constants that a test compiles.
    #[expect(clippy::expect_used, reason = "constants, compiled by every test run")]
    fn new() -> Self {
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
}

#[cfg(test)]
mod tests;
