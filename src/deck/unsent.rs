//! [`OpenWishes`]: the person's wishes without a result yet, in words for a person who leaves.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use ctxrelay_ui::model::Level;
use ctxrelay_ui::{Effect, Msg, UnsentText};

use crate::core::lock::lock;

/// Wishes without an outcome.
#[derive(Debug, Default)]
pub(super) struct OpenWishes {
    /// The one that is being done.
    under_way: Option<Effect>,
    /// Those that are being done beside the loop.
    pub(super) beside: WishesBeside,
    /// Those that wait for that, in their order.
    pub(super) kept: VecDeque<Effect>,
    /// What was written and never asked for: drafts, and what was in front when the deck was left.
    pub(super) written: Vec<UnsentText>,
}

/// Wishes that are done beside the loop, shared with what does them.
#[derive(Debug, Clone, Default)]
pub(super) struct WishesBeside(Arc<Mutex<BTreeMap<u64, Effect>>>);

impl WishesBeside {
    /// This is being done until what is returned is dropped; `None` for what is not worth a word.
    pub(super) fn began(&self, effect: &Effect) -> Option<WishBeside> {
        in_words(effect)?;
        let mut all = lock(&self.0);
        let number = all.last_key_value().map_or(0, |(last, _)| last + 1);
        all.insert(number, effect.clone());
        let all = self.clone();
        Some(WishBeside { all, number })
    }

    fn all(&self) -> Vec<Effect> {
        let all = lock(&self.0);
        all.values().cloned().collect()
    }
}

/// One of them.
#[derive(Debug)]
pub(super) struct WishBeside {
    all: WishesBeside,
    number: u64,
}

impl Drop for WishBeside {
    fn drop(&mut self) {
        lock(&self.all.0).remove(&self.number);
    }
}

impl OpenWishes {
    /// This is being done from now on.
    pub(super) fn began(&mut self, effect: &Effect) {
        // Nothing else is worth a copy, least of all a passphrase.
        self.under_way = in_words(effect).map(|_| effect.clone());
    }

    /// It is done.
    pub(super) fn ended(&mut self) {
        self.under_way = None;
    }

    /// A line each, with what was typed below.
    pub(super) fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut tell = |line: String, text: &str| {
            lines.push(line);
            lines.extend(text.lines().map(|line| format!("    {line}")));
        };
        let beside = self.beside.all();
        let under_way = self.under_way.iter().chain(&beside);
        for (what, text) in under_way.filter_map(in_words) {
            let line = format!("no answer came to {what}: the record says whether it counts");
            tell(line, text);
        }
        for (what, text) in self.kept.iter().filter_map(in_words) {
            tell(format!("not done before the deck was left: {what}"), text);
        }
        for UnsentText { what, text } in &self.written {
            tell(format!("not sent before the deck was left: {what}"), text);
        }
        lines
    }
}

/// What the screen is told where there is no place for a wish.
pub(super) fn dropped(effect: &Effect) -> Msg {
    match effect.draft() {
        Some(number) => Msg::NotSent {
            why: "too much waits for an answer already".to_owned(),
            draft: Some(number),
        },
        None if is_written(effect) => Msg::Refused {
            why: "busy: press the key again".to_owned(),
            effect: Box::new(effect.clone()),
        },
        None => Msg::Notice(Level::Error, "busy: press the key again".to_owned()),
    }
}

/// Whether it has words that come back with it: a card keeps its own.
fn is_written(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ResolveFinding { .. }
            | Effect::DismissFinding { .. }
            | Effect::BeginTask { .. }
            | Effect::EditCapsule { .. }
            | Effect::CloseCapsule { .. }
    )
}

/// What was asked for, and what was typed for it; `None` for what is only looked at.
fn in_words(effect: &Effect) -> Option<(String, &str)> {
    let (what, text) = match effect {
        Effect::SendMessage { to, text, .. } => {
            (format!("your message to {}", to.title()), &**text)
        }
        Effect::Handoff { to, ask, .. } => (format!("your handoff to {}", to.title()), &**ask),
        Effect::AppendNote { tag, text, .. } => (format!("your {}", tag.as_str()), &**text),
        Effect::Approve { proposal_id, .. } => (format!("your approval of {proposal_id}"), ""),
        Effect::Reject {
            proposal_id,
            reason,
        } => (format!("your rejection of {proposal_id}"), &**reason),
        Effect::AnswerApproval { id, note, .. } => {
            let note = note.as_deref().unwrap_or_default();
            (format!("your answer to {id}"), note)
        }
        Effect::DismissFinding { id, reason } => {
            (format!("your dismissal of finding {id}"), &**reason)
        }
        Effect::ResolveFinding { id, how } => {
            let how = how.as_deref().unwrap_or_default();
            (format!("that finding {id} is resolved"), how)
        }
        Effect::Trust { .. } => ("your trust in config.json".to_owned(), ""),
        Effect::RunGates => ("the run of the gates".to_owned(), ""),
        Effect::StopGates => ("the end of the gates".to_owned(), ""),
        Effect::Retry { ids } => (format!("sending {} messages again", ids.len()), ""),
        Effect::GiveUp { ids } => (format!("giving up {} messages", ids.len()), ""),
        Effect::Acknowledge { id } => (format!("that you have seen {id}"), ""),
        Effect::SetCoordinator { .. } => ("who writes to git".to_owned(), ""),
        Effect::ClearSession { session, discard } => {
            let verb = if *discard { "deleting" } else { "archiving" };
            (format!("{verb} session {session}"), "")
        }
        Effect::AgentAction { agent, .. } => (format!("what you asked of {}", agent.title()), ""),
        Effect::StartAgent(agent) => (format!("the start of {}", agent.title()), ""),
        Effect::ExportCapsule { id, .. } => (format!("the export of task {id}"), ""),
        Effect::BeginTask { title, .. } => ("the task that you began".to_owned(), &**title),
        Effect::HandCapsule { id, to, .. } => (format!("handing {id} to {}", to.title()), ""),
        Effect::EditCapsule { id, after, .. } => (format!("your edit of task {id}"), &**after),
        Effect::CloseCapsule { id, outcome } => {
            let outcome = outcome.as_deref().unwrap_or_default();
            (format!("closing task {id}"), outcome)
        }
        Effect::ImportReview => ("the import of the review".to_owned(), ""),
        Effect::Notify { .. }
        | Effect::Quit(_)
        | Effect::LookAtTree
        | Effect::Unlock { .. }
        | Effect::LeaveUnlock
        | Effect::LockKey
        | Effect::ReadWords { .. }
        | Effect::OpenEntry { .. }
        | Effect::OpenThread { .. }
        | Effect::ReadWork { .. }
        | Effect::ReadRules { .. }
        | Effect::ReadRecovery
        | Effect::ReadDiff { .. }
        | Effect::ReadCapsules
        | Effect::ReadCapsule { .. }
        | Effect::FindAlike(_)
        | Effect::TellCapsule { .. }
        | Effect::ReadFinding { .. }
        | Effect::ReadFindingPlaces { .. }
        | Effect::Search { .. }
        | Effect::ShowTimeline(_)
        | Effect::OpenEditor { .. }
        | Effect::CopyText(_)
        | Effect::SetTheme(_)
        | Effect::Restart
        | Effect::Redraw
        | Effect::Suspend => return None,
    };
    Some((what, text))
}

#[cfg(test)]
mod tests {
    use ctxrelay_ui::model::Agent;
    use ctxrelay_ui::{Effect, Msg, UnsentText, WhenBusy};

    use super::{OpenWishes, dropped};

    fn message(text: &str, draft: u64) -> Effect {
        Effect::SendMessage {
            to: Agent::Codex,
            text: text.to_owned(),
            when_busy: WhenBusy::Wait,
            draft: Some(draft),
        }
    }

    #[test]
    fn what_was_not_done_is_told_with_its_words() {
        let mut open = OpenWishes::default();
        open.began(&message("first", 1));
        open.kept.push_back(Effect::ReadRecovery);
        open.kept.push_back(message("plums\npears", 2));
        open.written.push(UnsentText {
            what: "your note".to_owned(),
            text: "figs".to_owned(),
        });
        assert_eq!(
            open.in_words(),
            [
                "no answer came to your message to Codex: the record says whether it counts",
                "    first",
                "not done before the deck was left: your message to Codex",
                "    plums",
                "    pears",
                "not sent before the deck was left: your note",
                "    figs",
            ]
        );
        open.ended();
        open.kept.clear();
        open.written.clear();
        assert!(open.in_words().is_empty());
    }

    #[test]
    fn what_is_done_beside_the_loop_is_told_until_it_is_done() {
        let mut open = OpenWishes::default();
        let close = Effect::CloseCapsule {
            id: "cap_1".to_owned(),
            outcome: Some("plums are dried".to_owned()),
        };
        // The loop goes on at once.
        open.began(&close);
        let going_on = open.beside.clone().began(&close);
        open.ended();
        assert!(open.beside.began(&Effect::ReadCapsules).is_none());
        let told = [
            "no answer came to closing task cap_1: the record says whether it counts",
            "    plums are dried",
        ];
        assert_eq!(open.in_words(), told);
        drop(going_on);
        assert!(open.in_words().is_empty());
    }

    #[test]
    fn a_wish_without_a_place_gives_its_words_back() {
        let told = dropped(&message("plums", 7));
        assert!(
            matches!(told, Msg::NotSent { draft: Some(7), .. }),
            "{told:?}"
        );
        let dismissed = Effect::DismissFinding {
            id: "gh:rc:1".to_owned(),
            reason: "not so".to_owned(),
        };
        let told = dropped(&dismissed);
        assert!(
            matches!(&told, Msg::Refused { effect, .. } if **effect == dismissed),
            "{told:?}"
        );
        assert!(matches!(dropped(&Effect::RunGates), Msg::Notice(..)));
    }
}
