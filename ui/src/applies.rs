//! [`applies`]: whether an action would do something now; hint bar and palette show no other.

use ratatui::layout::Rect;

use crate::action::Action;
use crate::can_act_on::{can_act_on, can_start};
use crate::deck::Deck;
use crate::layout::Layout;
use crate::model::{InboxCard, InboxKind};
use crate::overlays::{CardStage, MessagesStage, Overlay, Subject};
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
        Action::Interrupt
        | Action::SendAgain
        | Action::Snooze
        | Action::TryNow
        | Action::CancelRetries
        | Action::Compact => {
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
    match (overlay, action) {
        (Overlay::Palette(_), _) => on_panes(deck, action),
        (Overlay::Card(card), Action::Approve | Action::Reject) => {
            matches!(card.stage, CardStage::Reading)
                && deck.card(&card.id).is_some_and(|card| match &card.asked {
                    Some(asked) if action == Action::Approve => !asked.choices.is_empty(),
                    Some(asked) => asked.denial().is_some(),
                    None if action == Action::Approve && card.can_be_trusted() => true,
                    None => card.kind == InboxKind::Finality,
                })
        }
        (Overlay::Card(card), Action::Gates) => {
            matches!(card.stage, CardStage::Reading)
                && deck
                    .card(&card.id)
                    .is_some_and(|card| !card.gates.is_empty())
        }
        (Overlay::Card(card), Action::Diff) => {
            matches!(card.stage, CardStage::Reading)
                && deck
                    .card(&card.id)
                    .is_some_and(|card| card.kind == InboxKind::Finality && card.commit.is_some())
        }
        (_, Action::Diff) => false,
        (Overlay::Card(card), Action::Acknowledge) => {
            matches!(card.stage, CardStage::Reading)
                && deck
                    .card(&card.id)
                    .is_some_and(|card| card.kind == InboxKind::Tampering)
        }
        (Overlay::Card(card), Action::Retry) => {
            matches!(card.stage, CardStage::Reading)
                && deck
                    .card(&card.id)
                    .is_some_and(|card| card.kind == InboxKind::Alarm)
        }
        (
            Overlay::Messages(sheet),
            Action::Retry | Action::GiveUp | Action::Mark | Action::MarkRange,
        ) => sheet.stage == MessagesStage::Reading && deck.card(&sheet.id).is_some(),
        (Overlay::Recovery(sheet), Action::Copy | Action::CopyId | Action::Message) => {
            sheet.agent().is_some()
        }
        (
            Overlay::Findings(_) | Overlay::Finding(_),
            Action::Handoff | Action::Resolve | Action::Dismiss,
        ) => {
            let live = selected_finding(deck).is_some_and(|row| row.state.is_live());
            // Its words are typed, and kept until there is a daemon.
            live && (action != Action::Handoff || deck.view.daemon.state.can_act())
        }
        (Overlay::Findings(_) | Overlay::Finding(_), Action::Copy | Action::CopyId)
        | (Overlay::Findings(_), Action::Open) => selected_finding(deck).is_some(),
        (
            Overlay::Capsules(_) | Overlay::Capsule(_),
            Action::Handoff | Action::Export | Action::CloseTask,
        ) => {
            let row = selected_capsule(deck).filter(|row| row.broken.is_none());
            row.is_some_and(|row| match action {
                Action::CloseTask => row.can_be_closed(),
                Action::Export => true,
                _ => deck.view.daemon.state.can_act(),
            })
        }
        (Overlay::Capsule(sheet), Action::Edit) => {
            let view = sheet.view();
            view.is_some_and(|view| view.row.can_be_closed()) && deck.view.daemon.state.can_act()
        }
        (Overlay::Capsules(_), Action::Edit) => false,
        (Overlay::Capsules(_) | Overlay::Capsule(_), Action::Copy | Action::CopyId)
        | (Overlay::Capsules(_), Action::Open) => selected_capsule(deck).is_some(),
        (
            Overlay::Agent(_) | Overlay::Messages(_),
            Action::Copy | Action::CopyId | Action::Edit,
        ) => false,
        // Keys of agents and entries alone.
        (
            Overlay::Recovery(_),
            Action::Start
            | Action::Handoff
            | Action::Interrupt
            | Action::SendAgain
            | Action::Snooze
            | Action::TryNow
            | Action::CancelRetries
            | Action::Compact
            | Action::Edit
            | Action::Raw,
        ) => false,
        (_, Action::Suspend) => on_panes(deck, action),
        (_, Action::Return) => deck.visited.leads_from_overlay(),
        (overlay, Action::Thread) => {
            let subject = overlay.subject();
            subject.is_some_and(|subject| subject.thread_place(deck).is_some())
        }
        (Overlay::Agent(sheet), Action::Start) => can_start(deck, sheet.agent),
        (
            Overlay::Agent(sheet),
            Action::Interrupt
            | Action::SendAgain
            | Action::Snooze
            | Action::TryNow
            | Action::CancelRetries
            | Action::Compact,
        ) => can_act_on(deck, sheet.agent, action),
        (Overlay::Agent(_), Action::WorkState | Action::Instructions) => {
            deck.view.daemon.state.can_act()
        }
        (_, Action::WorkState | Action::Instructions) => false,
        _ => true,
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
