//! [`applies`]: whether an action would do something now; hint bar and palette show no other.

use ratatui::layout::Rect;

use crate::action::Action;
use crate::can_act_on::{can_act_on, can_start};
use crate::deck::Deck;
use crate::layout::Layout;
use crate::model::{CapsuleLine, InboxCard, InboxKind};
use crate::overlays::{CardSheet, CardStage, MessagesStage, Overlay, Subject};
use crate::pane::Pane;
use crate::selected::{
    selected_agent, selected_capsule, selected_card, selected_finding, selected_fold, selected_kind,
};

/// Whether the action would do something now.
pub(crate) fn applies(deck: &Deck, action: Action) -> bool {
    match deck.overlays.last() {
        Some(overlay) => on_overlay(deck, overlay, action),
        None => on_panes(deck, action),
    }
}

fn on_panes(deck: &Deck, action: Action) -> bool {
    let view = &deck.view;
    let can_act = view.daemon.state.can_act();
    match action {
        // One can write without a daemon: what is typed behind a refused key would be commands.
        Action::Message | Action::Handoff | Action::Note | Action::NewTask => true,
        Action::Coordinator => can_act,
        Action::LockKey => view.is_key_unlocked,
        Action::Clear => can_act && view.ledger.entries > 0,
        Action::Suspend => deck.seen && !view.daemon.state.is_own(),
        Action::Restart => deck.seen && !view.demo && view.daemon.state.can_restart(),
        Action::Steps => view.missing.iter().any(|step| !step.done),
        Action::Start => selected_agent(deck).is_some_and(|agent| can_start(deck, agent)),
        _ if action.is_of_agent() => {
            selected_agent(deck).is_some_and(|agent| can_act_on(deck, agent, action))
        }
        Action::WorkState | Action::Instructions => can_act && selected_agent(deck).is_some(),
        Action::Approve | Action::Reject => {
            deck.focus == Pane::Inbox
                && selected_card(deck).is_some_and(|card| is_decided(action, card))
        }
        Action::Retry => {
            deck.focus == Pane::Inbox && selected_kind(deck).is_some_and(is_tried_again)
        }
        Action::Acknowledge => {
            deck.focus == Pane::Inbox && selected_kind(deck) == Some(InboxKind::Tampering)
        }
        Action::Gates
        | Action::Diff
        | Action::Resolve
        | Action::Dismiss
        | Action::Import
        | Action::Export
        | Action::CloseTask
        | Action::GiveUp
        | Action::Mark
        | Action::MarkRange => false,
        Action::SearchNext | Action::SearchPrev => !deck.timeline.search.is_empty(),
        Action::Return => deck.visited.leads_from_panes(),
        Action::ClearChips => !deck.timeline.chips.is_empty(),
        Action::LandmarkOlder | Action::LandmarkNewer => deck.focus == Pane::Timeline,
        Action::Open => Subject::selected(deck).is_some() || selected_fold(deck).is_some(),
        Action::Thread => {
            Subject::selected(deck).is_some_and(|subject| subject.thread_place(deck).is_some())
        }
        Action::NextColumn | Action::PrevColumn => deck.focus == Pane::Tasks,
        Action::Copy | Action::CopyId | Action::Edit => {
            Subject::selected(deck).is_some_and(|subject| subject.has_text(deck))
        }
        Action::Zoom => Layout::of(deck, Rect::new(0, 0, deck.size.0, deck.size.1)).can_zoom,
        Action::Follow | Action::Newest | Action::Oldest => true,
        Action::Raw
        | Action::ToggleChip
        | Action::Send
        | Action::Newline
        | Action::NextField
        | Action::OtherAgent
        | Action::OtherPlace
        | Action::WhenBusy => false,
        _ => true,
    }
}

fn on_overlay(deck: &Deck, overlay: &Overlay, action: Action) -> bool {
    let can_act = deck.view.daemon.state.can_act();
    let own = match overlay {
        Overlay::Palette(_) => Some(on_panes(deck, action)),
        Overlay::Card(sheet) => on_card(deck, sheet, action),
        Overlay::Messages(sheet) => match action {
            Action::Retry | Action::GiveUp | Action::Mark | Action::MarkRange => {
                Some(sheet.stage == MessagesStage::Reading && deck.card(&sheet.id).is_some())
            }
            Action::Copy | Action::CopyId | Action::Edit => Some(false),
            _ => None,
        },
        Overlay::Recovery(sheet) => match action {
            Action::Copy | Action::CopyId | Action::Message => Some(sheet.agent().is_some()),
            // Keys of agents and entries alone.
            Action::Start | Action::Handoff | Action::Edit | Action::Raw => Some(false),
            _ if action.is_of_agent() => Some(false),
            _ => None,
        },
        Overlay::Findings(_) | Overlay::Finding(_) => {
            let row = selected_finding(deck);
            let is_live = row.is_some_and(|row| row.state.is_live());
            match (action, overlay) {
                (Action::Handoff, _) => Some(is_live && can_act),
                // Its words are typed, and kept until there is a daemon.
                (Action::Resolve | Action::Dismiss, _) => Some(is_live),
                (Action::Copy | Action::CopyId, _) | (Action::Open, Overlay::Findings(_)) => {
                    Some(row.is_some())
                }
                _ => None,
            }
        }
        Overlay::Capsules(_) | Overlay::Capsule(_) => {
            let row = selected_capsule(deck);
            let whole = row.filter(|row| row.broken.is_none());
            match (action, overlay) {
                (Action::Handoff, _) => Some(whole.is_some() && can_act),
                (Action::Export, _) => Some(whole.is_some()),
                (Action::CloseTask, _) => Some(whole.is_some_and(CapsuleLine::can_be_closed)),
                (Action::Edit, Overlay::Capsule(_)) => {
                    Some(row.is_some_and(CapsuleLine::can_be_closed) && can_act)
                }
                (Action::Edit, _) => Some(false),
                (Action::Copy | Action::CopyId, _) | (Action::Open, Overlay::Capsules(_)) => {
                    Some(row.is_some())
                }
                _ => None,
            }
        }
        Overlay::Agent(sheet) => match action {
            Action::Copy | Action::CopyId | Action::Edit => Some(false),
            Action::Start => Some(can_start(deck, sheet.agent)),
            _ if action.is_of_agent() => Some(can_act_on(deck, sheet.agent, action)),
            Action::WorkState | Action::Instructions => Some(can_act),
            _ => None,
        },
        _ => None,
    };
    own.unwrap_or_else(|| match action {
        Action::Diff | Action::WorkState | Action::Instructions => false,
        Action::Suspend => on_panes(deck, action),
        Action::Return => deck.visited.leads_from_overlay(),
        Action::Thread => {
            let subject = overlay.subject();
            subject.is_some_and(|subject| subject.thread_place(deck).is_some())
        }
        _ => true,
    })
}

fn on_card(deck: &Deck, sheet: &CardSheet, action: Action) -> Option<bool> {
    let card = deck.card(&sheet.id);
    let read = card.filter(|_| matches!(sheet.stage, CardStage::Reading));
    let does = |does: fn(&InboxCard) -> bool| Some(read.is_some_and(does));
    match action {
        Action::Approve => does(|card| match &card.asked {
            Some(asked) => !asked.choices.is_empty(),
            None => card.can_be_trusted() || card.kind == InboxKind::Finality,
        }),
        Action::Reject => does(|card| match &card.asked {
            Some(asked) => asked.denial().is_some(),
            None => card.kind == InboxKind::Finality,
        }),
        Action::Gates => does(|card| !card.gates.is_empty()),
        Action::Diff => does(|card| card.kind == InboxKind::Finality && card.commit.is_some()),
        Action::Acknowledge => does(|card| card.kind == InboxKind::Tampering),
        Action::Retry => does(|card| card.kind == InboxKind::Alarm),
        _ => None,
    }
}

/// Whether a card is approved, or answered, and rejected. What an agent asks in its own terminal alone
/// is neither.
pub(crate) fn is_decided(action: Action, card: &InboxCard) -> bool {
    match card.kind {
        InboxKind::Finality => true,
        InboxKind::Approval => card.asked.is_some(),
        InboxKind::Question => action == Action::Approve && card.asked.is_some(),
        InboxKind::Trust => action == Action::Approve,
        _ => false,
    }
}

/// Whether what a card is about can be tried again.
pub(crate) fn is_tried_again(kind: InboxKind) -> bool {
    matches!(kind, InboxKind::Alarm | InboxKind::CutOff)
}
