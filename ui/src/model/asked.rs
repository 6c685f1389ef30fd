//! [`AskedCard`]: an agent's request for permission, and the possible answers.

/// The part of a card that is about a request for approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskedCard {
    /// What is asked, for example `to run a command`.
    pub what: String,
    /// All else that a person should read before answering: reason, folder, diff; raw.
    pub details: String,
    /// What was read from the text of what is asked, for example that it writes to git. No answer.
    pub hints: Vec<String>,
    /// What may be answered, in the vendor's order. None where it is answered in the agent's own
    /// terminal only.
    pub choices: Vec<AskedChoice>,
    /// The operator's answer, given and not heard of since.
    pub given: Option<String>,
    /// A question of `ask_user`: until when its call waits at most, ms since the epoch. A later
    /// answer reaches the agent too.
    pub call_waits_until_ms: Option<i64>,
}

impl AskedCard {
    /// Whether this answer is words that the operator types.
    pub(crate) fn is_own_words(&self, choice: &str) -> bool {
        let mut choices = self.choices.iter();
        choices.any(|it| it.id == choice && it.effect == AnswerEffect::OwnWords)
    }

    /// The first choice that says no to this alone.
    pub(crate) fn denial(&self) -> Option<&AskedChoice> {
        let mut choices = self.choices.iter();
        choices.find(|choice| choice.effect == AnswerEffect::Deny)
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedChoice {
    /// Comes back in the effect.
    pub id: String,
    /// What it means; raw.
    pub label: String,
    /// The same in two parts, where the label is one of ours.
    pub parts: Option<AnswerParts>,
    /// What it does.
    pub effect: AnswerEffect,
}

/// An answer of ours, and what it comes to; raw: that can name a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerParts {
    pub short: String,
    pub comes_to: String,
}

/// What an answer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerEffect {
    /// Allows something, or answers a question.
    Allow,
    /// Answers a question in words that are typed first.
    OwnWords,
    /// Says no; the agent goes on.
    Deny,
    /// Says no now and from now on.
    DenyMore,
    /// Says no and stops the turn.
    Stop,
}
