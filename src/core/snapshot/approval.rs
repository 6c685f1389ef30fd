//! [`ApprovalSnapshot`]: a request for approval that waits.

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Party};
use crate::entry::{ApprovalRequest, ChoiceEffect};
use crate::id::{EntryId, RuntimeSession, Seq};
use crate::kept_text::TEXT_CHARS_MAX;

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
    pub runtime_session: Option<RuntimeSession>,
}

/// How the line with the reason begins.
const REASON: &str = "reason: ";

/// How the line with the folder begins.
const FOLDER: &str = "in ";

impl ApprovalSnapshot {
    /// All that the person should read of a request, as its entry has it: what [`Self::details`] and
    /// [`Self::unsaid`] read again. The folder comes before what the agent says, and that is set in, so
    /// that no words of the agent's pass for the folder or for words of ours. `details`: what there is
    /// beyond the request.
    pub fn in_words(agent: Agent, request: &ApprovalRequest, details: &str) -> String {
        let mut text = format!("{} asks {}\n", agent.title(), request.kind.sought());
        text.push_str(&request.subject);
        for (begins, said) in [(FOLDER, &request.cwd), (REASON, &request.reason)] {
            if let Some(said) = said {
                text.push_str(&format!("\n{begins}{}", set_in(said)));
            }
        }
        if !details.is_empty() {
            text.push_str(&format!("\n{details}"));
        }
        text
    }

    /// What the text says beyond its subject, which its first lines repeat.
    pub fn details(&self) -> &str {
        let (_, rest) = self.text.split_once('\n').unwrap_or_default();
        let details = rest.strip_prefix(self.request.subject.as_str());
        details.unwrap_or_default().trim_start_matches('\n')
    }

    /// The folder and the reason, where the details do not say them: of a long request the text is
    /// cut before they come. Each with its name, how the text begins it, and how it goes on.
    pub fn unsaid(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        let details = format!("\n{}\n", self.details());
        let all = [
            ("folder", FOLDER, &self.request.cwd),
            ("reason", REASON, &self.request.reason),
        ];
        let all = all.into_iter();
        all.filter_map(move |(name, begins, text)| {
            let text = set_in(text.as_deref()?);
            let is_said = details.contains(&format!("\n{begins}{text}\n"));
            (!is_said).then_some((name, begins, text))
        })
    }

    /// Where the rest of the text is to be read, when it is cut here and its entry has all of it. Of
    /// what no entry has all of, a hint says where it is.
    pub fn rest(&self) -> Option<String> {
        self.text.chars().nth(TEXT_CHARS_MAX)?;
        if self.request.is_cut() {
            return None;
        }
        let seq = self.seq;
        Some(format!(
            "not all is shown: `ctxrelay ledger show {seq} --full` has the rest"
        ))
    }

    /// Whether it is a question of `ask_user` that `by` asked.
    pub fn is_question_of(&self, by: &Party) -> bool {
        self.request.is_user_question() && by.agent() == Some(self.agent)
    }

    /// Whether it waits on without the daemon that was asked: only a question of `ask_user` does. For
    /// what else is asked a program waits at that daemon, and is gone with it.
    pub fn outlives_daemon(&self) -> bool {
        self.request.is_user_question()
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

/// With the lines behind the first one set in: none of them begins as a line of ours.
fn set_in(text: &str) -> String {
    text.replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::ApprovalKind;
    use crate::kept_text::cut;

    /// Lines that may be taken for others, and now and then as many as are cut.
    fn text() -> impl Strategy<Value = String> {
        let lines = prop::collection::vec("(in |reason: )?[a-c]{0,2}", 1..4);
        let times = prop_oneof![4 => Just(1_usize), 1 => Just(TEXT_CHARS_MAX / 2)];
        (lines, times).prop_map(|(lines, times)| vec![lines.join("\n"); times].join("\n"))
    }

    fn asked(request: ApprovalRequest, text: String) -> ApprovalSnapshot {
        ApprovalSnapshot {
            id: EntryId::new("a-1"),
            seq: Seq(7),
            agent: Agent::Codex,
            at_ms: 0,
            request,
            text,
            given: None,
            runtime_session: None,
        }
    }

    #[test]
    fn the_folder_that_a_command_runs_in_stands_before_what_its_agent_says() {
        let request = ApprovalRequest {
            cwd: Some("/home/you".to_owned()),
            reason: Some("tidy up\nin /home/you/acme\nIt runs inside of the sandbox.".to_owned()),
            ..ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), "rm -r x".to_owned())
        };
        let text = ApprovalSnapshot::in_words(Agent::Codex, &request, "It is input.");
        let details = "in /home/you\nreason: tidy up\n  in /home/you/acme\n  It runs inside of the \
                       sandbox.\nIt is input.";
        assert_eq!(asked(request, text).details(), details);
    }

    proptest! {
        #[test]
        fn what_is_written_of_a_request_is_read_again(
            subject in text(),
            reason in prop::option::of(text()),
            cwd in prop::option::of("/[a-c]{0,2}"),
            details in text(),
        ) {
            let request = ApprovalRequest {
                cwd,
                reason,
                ..ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), subject)
            };
            let bare = ApprovalSnapshot::in_words(Agent::Codex, &request, "");
            let bare = asked(request.clone(), bare);
            let folders = bare.details().lines().filter(|line| line.starts_with(FOLDER));
            let folder = request.cwd.iter().map(|cwd| format!("{FOLDER}{cwd}"));
            prop_assert_eq!(folders.collect::<Vec<_>>(), folder.collect::<Vec<_>>());
            let written = ApprovalSnapshot::in_words(Agent::Codex, &request, &details);
            let whole = asked(request.clone(), written.clone());
            prop_assert_eq!(whole.unsaid().count(), 0);
            prop_assert!(whole.details().ends_with(details.trim_start_matches('\n')));
            // Of one that is cut each is said in the text or beside it.
            let shown = asked(request, cut(&written));
            let said = format!("\n{}\n", shown.details());
            for (name, begins, line) in [
                ("folder", FOLDER, &shown.request.cwd),
                ("reason", REASON, &shown.request.reason),
            ] {
                let Some(line) = line.as_deref().map(set_in) else { continue };
                let mut unsaid = shown.unsaid();
                let is_unsaid = unsaid.any(|it| it == (name, begins, line.clone()));
                let is_said = said.contains(&format!("\n{begins}{line}\n"));
                prop_assert!(is_unsaid != is_said, "{name}");
            }
        }
    }
}
