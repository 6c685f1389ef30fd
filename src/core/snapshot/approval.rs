//! [`ApprovalSnapshot`]: a request for approval that waits.

use serde::{Deserialize, Serialize};

use super::TEXT_CHARS_MAX;
use crate::agent::{Agent, Party};
use crate::entry::{ApprovalRequest, ChoiceEffect};
use crate::id::{EntryId, RuntimeSession, Seq};

/// How many requests can wait at one time; further ones are answered in the agent's terminal.
pub const APPROVALS_OPEN_MAX: usize = 256;

/// A request that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSnapshot {
    /// What names it.
    pub id: EntryId,
    /// The entry that holds all of its text.
    pub seq: Seq,
    /// Who asks.
    pub agent: Agent,
    /// Since when, ms since the epoch.
    pub at_ms: i64,
    /// What is asked.
    pub request: ApprovalRequest,
    /// All of it in words, cut to [`TEXT_CHARS_MAX`].
    pub text: String,
    /// The operator's answer that nobody has heard the effect of yet: the choice's id, and when it
    /// was given.
    pub given: Option<(String, i64)>,
    /// The pair, where the request names one.
    #[serde(default)]
    pub runtime_session: Option<RuntimeSession>,
}

impl ApprovalSnapshot {
    /// What the text says beyond its subject, which its first lines repeat.
    pub fn details(&self) -> &str {
        let (_, rest) = self.text.split_once('\n').unwrap_or_default();
        let details = rest.strip_prefix(self.request.subject.as_str());
        details.unwrap_or_default().trim_start_matches('\n')
    }

    /// The folder and the reason, where the details do not say them: of a long request the text is
    /// cut before they come. Each with its name, and how the text begins it.
    pub fn unsaid(&self) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
        let details = format!("\n{}\n", self.details());
        let all = [
            ("folder", "in ", &self.request.cwd),
            ("reason", "reason: ", &self.request.reason),
        ];
        let all = all.into_iter();
        all.filter_map(move |(name, begins, text)| {
            let text = text.as_deref()?;
            let is_said = details.contains(&format!("\n{begins}{text}\n"));
            (!is_said).then_some((name, begins, text))
        })
    }

    /// Where the rest of the text is to be read, when it is cut.
    pub fn rest(&self) -> Option<String> {
        self.text.chars().nth(TEXT_CHARS_MAX)?;
        let seq = self.seq;
        Some(format!(
            "not all is shown: `ctxrelay ledger show {seq} --full` has the rest"
        ))
    }

    /// Whether it is a question of `ask_user` that `by` asked.
    pub fn is_question_of(&self, by: &Party) -> bool {
        self.request.is_user_question() && by.agent() == Some(self.agent)
    }

    /// The answer that was given and has not shown its effect yet, in words.
    pub fn given_label(&self) -> Option<&str> {
        let (id, _) = self.given.as_ref()?;
        let chosen = self.request.choice(id);
        Some(chosen.map_or(id.as_str(), |choice| &choice.label))
    }

    /// What that answer does.
    pub fn given_effect(&self) -> Option<ChoiceEffect> {
        let (id, _) = self.given.as_ref()?;
        Some(self.request.choice(id)?.effect)
    }
}
