//! The foot of a card: the question before a decision, and the keys; or the line that is being
//! typed instead.

use ratatui::text::Line;

use super::card_gates::{gates_key, gates_question};
use super::card_sheet::{CardSheet, CardStage};
use super::key_footer::KeyFooter;
use super::typed_line::TypedLine;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{Agent, GateState, InboxCard, InboxKind};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// From this width on, keys are explained in more than a word.
const ROOMY: usize = 72;

type Keys = Vec<(Action, &'static str)>;

impl CardSheet {
    pub(super) fn asked(
        &self,
        deck: &Deck,
        card: &InboxCard,
        columns: usize,
    ) -> Vec<Line<'static>> {
        let theme = &deck.theme;
        let question = match &self.stage {
            CardStage::Approving { .. } => {
                let on = match &card.commit {
                    Some(commit) => {
                        format!(" on commit {}", text::short(&sanitize::line(commit), 7))
                    }
                    None => String::new(),
                };
                let starts = starts_codex(deck, card).map(|words| format!(" {words}"));
                format!(
                    "Record your approval{on}? It goes into the ledger as your decision.{}",
                    starts.unwrap_or_default()
                )
            }
            CardStage::Retrying if card.held > 0 => {
                let s = if card.held == 1 { "" } else { "s" };
                let (n, to) = (text::grouped(card.held), sanitize::line(card.by.title()));
                format!("Release {n} message{s} to {to} now?")
            }
            CardStage::Retrying => {
                "Try it again? What may have arrived once may arrive twice.".to_owned()
            }
            CardStage::Gates { stop } => gates_question(card, *stop),
            CardStage::Acknowledging => {
                "Record that you have seen this? It ends the alarm; what was set aside stays set \
                 aside."
                    .to_owned()
            }
            CardStage::Reading
            | CardStage::Gone
            | CardStage::Rejecting(_)
            | CardStage::Denying(_)
            | CardStage::Answering { .. } => {
                return Vec::new();
            }
        };
        let warnings = match self.stage {
            CardStage::Approving { .. } => warnings(card),
            _ => Vec::new(),
        };
        let warnings = warnings.into_iter().map(|text| {
            Line::styled(
                format!("{} {text}", deck.glyphs.wrong()),
                theme.style(ThemeRole::OutcomeAttention),
            )
        });
        let lines = text::wrap(&question, columns).into_iter();
        let wait = theme.style(ThemeRole::Wait);
        warnings
            .chain(lines.map(|line| Line::styled(line, wait)))
            .collect()
    }

    /// The keys that do something now. What is typed has a box of its own.
    pub(super) fn keys(&self, deck: &Deck, card: &InboxCard, columns: usize) -> KeyFooter {
        let keys = match &self.stage {
            CardStage::Reading => reading_keys(card, columns, self.at.is_some()),
            CardStage::Approving { .. } => {
                vec![(Action::Open, "approve"), (Action::Back, "not yet")]
            }
            CardStage::Retrying => {
                vec![(Action::Open, retry_key(card)), (Action::Back, "not yet")]
            }
            CardStage::Gates { stop } => {
                vec![(Action::Open, gates_key(*stop)), (Action::Back, "not now")]
            }
            CardStage::Acknowledging => {
                vec![(Action::Open, "I have seen it"), (Action::Back, "not yet")]
            }
            CardStage::Gone => vec![(Action::Back, "close")],
            CardStage::Rejecting(_) | CardStage::Denying(_) | CardStage::Answering { .. } => {
                Vec::new()
            }
        };
        KeyFooter::new(deck, &keys)
    }

    pub(super) fn typed(&self) -> Option<TypedLine<'_>> {
        let (title, field, does) = match &self.stage {
            CardStage::Denying(field) => ("Do not allow: why?", field, "do not allow"),
            CardStage::Rejecting(field) => ("Reject: why?", field, "reject"),
            CardStage::Answering { field, .. } => ("Your answer", field, "answer"),
            _ => return None,
        };
        Some(TypedLine {
            ticks: None,
            title,
            field,
            does,
            goes: "the agent reads this",
        })
    }
}

fn reading_keys(card: &InboxCard, columns: usize, is_on_entry: bool) -> Keys {
    let mut keys: Keys = Vec::new();
    if is_on_entry {
        keys.push((Action::Open, "go there"));
    }
    match card.kind {
        InboxKind::Finality => {
            let (approve, reject) = match columns < ROOMY {
                true => ("approve", "reject"),
                false => ("approve as the operator", "reject with a reason"),
            };
            if card.forbids.is_empty() {
                keys.push((Action::Approve, approve));
            }
            keys.push((Action::Reject, reject));
        }
        InboxKind::Trust if card.can_be_trusted() => {
            keys.extend(approve_key(card).map(|words| (Action::Approve, words)));
        }
        InboxKind::Alarm => keys.push((Action::Retry, retry_key(card))),
        InboxKind::Tampering => {
            keys.push((Action::Acknowledge, "I have seen it"));
            if card.command.is_some() {
                keys.push((Action::CopyId, "copy the command"));
            }
        }
        InboxKind::Approval | InboxKind::Question if card.asked.is_some() => {
            keys.extend(approve_key(card).map(|words| (Action::Approve, words)));
            if card
                .asked
                .as_ref()
                .is_some_and(|asked| asked.denial().is_some())
            {
                keys.push((Action::Reject, "do not allow, with a reason"));
            }
        }
        InboxKind::Trouble | InboxKind::Setup | InboxKind::Notice => {
            keys.push((Action::Copy, "copy"));
            if card.command.is_some() {
                keys.push((Action::CopyId, "copy the command"));
            }
        }
        InboxKind::Approval
        | InboxKind::Question
        | InboxKind::Trust
        | InboxKind::Stuck
        | InboxKind::CutOff
        | InboxKind::Limited
        | InboxKind::Full => {}
    }
    if !card.gates.is_empty() {
        keys.push((Action::Gates, gates_key(card.are_gates_running())));
    }
    if card.kind == InboxKind::Finality && card.commit.is_some() {
        keys.push((Action::Diff, "diff"));
    }
    if CardSheet::names_entries(card) {
        keys.push((Action::NextField, "what it names"));
    }
    keys.push((Action::Back, "later"));
    keys
}

/// What the key that approves does with a card of which it is another thing.
pub(crate) fn approve_key(card: &InboxCard) -> Option<&'static str> {
    match card.kind {
        InboxKind::Trust => Some("trust it"),
        InboxKind::Approval | InboxKind::Question => Some("answer"),
        _ => None,
    }
}

/// What the key that tries again does with a card.
pub(crate) fn retry_key(card: &InboxCard) -> &'static str {
    match card.held {
        0 => "try again",
        _ => "release",
    }
}

/// That an agent is started by a decision, where it is.
pub(crate) fn starts_codex(deck: &Deck, card: &InboxCard) -> Option<&'static str> {
    let codex = deck.view.agent(Agent::Codex)?;
    let is_told = card.kind == InboxKind::Finality && codex.installed;
    (is_told && !codex.state.is_attached())
        .then_some("Codex is told what you decide; it is not there now, and this starts it.")
}

/// What an operator should know before saying yes.
pub(crate) fn warnings(card: &InboxCard) -> Vec<String> {
    let mut out = Vec::new();
    match card.tree_still_same {
        Some(false) => {
            out.push("STALE: the work tree has changed since the proposal".to_owned());
        }
        None if card.kind == InboxKind::Finality => {
            out.push("nobody could tell whether the work tree is still the same".to_owned())
        }
        _ => {}
    }
    match card.blocker_count() {
        0 => {}
        1 => out.push("one blocker is open".to_owned()),
        n => out.push(format!("{} blockers are open", text::grouped(n))),
    }
    let failed = card
        .gates
        .iter()
        .filter(|gate| gate.state == GateState::Failed)
        .count();
    if failed > 0 {
        out.push(format!("{failed} of {} gates failed", card.gates.len()));
    }
    out
}
