//! [`ApprovalTexts`]: the texts of approval requests, read before the request reaches the loop.
//!
//! All of a request's text is searched for what the masks hide, up to 200,000 characters: 2 ms for
//! a plain command, 70 ms where each line has a secret. So a long text is read where it comes from,
//! and the loop gets the result first. The result is used only for exactly that request, and only
//! while the rules are those it was read by; otherwise the loop reads the text itself.

use std::collections::VecDeque;

use crate::core::agent::Agent;
use crate::core::entry::ApprovalRequest;
use crate::core::policy::read_unmasked;
use crate::core::redact::Redactor;
use crate::core::snapshot::ApprovalSnapshot;

/// From which length on a text is read before, in bytes: a shorter one takes the loop less than a
/// handover.
const LONG_BYTES: usize = 2_000;

/// How many wait for their requests, which come right behind them. Of more the oldest go.
const WAITING_MAX: usize = 4;

/// The most of each text of Claude's that is taken, in characters: the hook cuts them far earlier.
const TEXT_CHARS_MAX: usize = 250_000;

/// The most choices that are taken.
const CHOICES_MAX: usize = 16;

/// Whether a request of Claude's is longer than its hook makes it.
pub(in crate::daemon) fn is_too_long(request: &ApprovalRequest, details: &str) -> bool {
    let texts = [request.subject.as_str(), request.key.as_str(), details];
    let is_long = |text: &&str| text.chars().nth(TEXT_CHARS_MAX).is_some();
    texts.iter().any(is_long) || request.choices.len() > CHOICES_MAX
}

/// What was read, for requests that are about to come.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ApprovalTexts(VecDeque<ReadApproval>);

/// A request as it was asked, and what was read of it.
#[derive(Debug)]
pub struct ReadApproval {
    agent: Agent,
    asked: ApprovalRequest,
    details: String,
    text: ApprovalText,
    rules: u64,
}

/// What goes on record of a request.
#[derive(Debug)]
pub(in crate::daemon) struct ApprovalText {
    /// With what its masked parts hide.
    pub(in crate::daemon) request: ApprovalRequest,
    /// In words.
    pub(in crate::daemon) content: String,
}

impl ApprovalText {
    /// Reads a request: that takes the processor for as long as the text is. `root`: the project's
    /// folder.
    pub(in crate::daemon) fn read(
        agent: Agent,
        mut request: ApprovalRequest,
        details: &str,
        root: &str,
        redactor: &Redactor,
    ) -> Self {
        let content = ApprovalSnapshot::in_words(agent, &request, details);
        read_unmasked(&mut request, &content, root, redactor);
        Self { request, content }
    }
}

impl ReadApproval {
    /// Whether it is worth it.
    pub(in crate::daemon) fn is_long(request: &ApprovalRequest, details: &str) -> bool {
        let wants = request.also_wants.iter().map(|wish| wish.to_string().len());
        let bytes = request.subject.len() + details.len() + wants.sum::<usize>();
        bytes >= LONG_BYTES && !request.is_user_question()
    }

    /// As [`ApprovalText::read`].
    pub(in crate::daemon) fn read(
        agent: Agent,
        asked: ApprovalRequest,
        details: String,
        root: &str,
        redactor: &Redactor,
    ) -> Self {
        // Before the first look: of rules that change meanwhile nothing counts.
        let rules = redactor.rules_number();
        let text = ApprovalText::read(agent, asked.clone(), &details, root, redactor);
        Self {
            agent,
            asked,
            details,
            text,
            rules,
        }
    }

    fn is_of(&self, agent: Agent, asked: &ApprovalRequest, details: &str) -> bool {
        self.agent == agent && self.asked == *asked && self.details == details
    }
}

impl ApprovalTexts {
    /// A request was read, and is about to come.
    pub(in crate::daemon) fn was_read(&mut self, read: ReadApproval) {
        self.0.push_back(read);
        if self.0.len() > WAITING_MAX {
            self.0.pop_front();
        }
    }

    /// What was read of a request that is made now, if it counts.
    pub(in crate::daemon) fn take(
        &mut self,
        agent: Agent,
        asked: &ApprovalRequest,
        details: &str,
        redactor: &Redactor,
    ) -> Option<ApprovalText> {
        let at = (self.0.iter()).position(|read| read.is_of(agent, asked, details))?;
        let read = self.0.remove(at)?;
        (read.rules == redactor.rules_number()).then_some(read.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::entry::ApprovalKind;
    use crate::core::redact::OwnRules;

    fn asks(command: &str) -> ApprovalRequest {
        ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), command.to_owned())
    }

    fn read(command: &str, redactor: &Redactor) -> ReadApproval {
        ReadApproval::read(
            Agent::Codex,
            asks(command),
            String::new(),
            "/proj",
            redactor,
        )
    }

    #[test]
    fn what_was_read_counts_for_that_request_alone_and_while_its_rules_do() {
        let redactor = Redactor::new();
        let secret = "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789'";
        let mut texts = ApprovalTexts::default();
        let take = |texts: &mut ApprovalTexts, agent, command, details, redactor: &Redactor| {
            texts.take(agent, &asks(command), details, redactor)
        };
        texts.was_read(read(secret, &redactor));
        assert!(take(&mut texts, Agent::Claude, secret, "", &redactor).is_none());
        assert!(take(&mut texts, Agent::Codex, "ls", "", &redactor).is_none());
        assert!(take(&mut texts, Agent::Codex, secret, "more", &redactor).is_none());
        let taken = take(&mut texts, Agent::Codex, secret, "", &redactor).unwrap();
        let now = ApprovalText::read(Agent::Codex, asks(secret), "", "/proj", &redactor);
        assert!(taken.request.unmasked.is_some());
        assert_eq!(taken.request, now.request);
        assert_eq!(taken.content, now.content);
        assert!(take(&mut texts, Agent::Codex, secret, "", &redactor).is_none());

        texts.was_read(read("ls", &redactor));
        redactor.replace(OwnRules::default());
        assert!(take(&mut texts, Agent::Codex, "ls", "", &redactor).is_none());

        for command in ["a", "b", "c", "d", "e"] {
            texts.was_read(read(command, &redactor));
        }
        assert!(take(&mut texts, Agent::Codex, "a", "", &redactor).is_none());
        assert!(take(&mut texts, Agent::Codex, "e", "", &redactor).is_some());
    }
}
