//! What the cursor is on, in a pane or in the sheet in front.

use crate::deck::Deck;
use crate::model::{Agent, CapsuleLine, FindingRow, InboxCard, InboxKind, TaskColumn};
use crate::overlays::Overlay;
use crate::pane::Pane;
use crate::task_list::TaskItem;

pub(crate) fn selected_agent(deck: &Deck) -> Option<Agent> {
    let selected = deck.view.agents.get(deck.agents.selected)?;
    (deck.focus == Pane::Agents).then_some(selected.agent)
}

/// The folded column of tasks that the cursor stands on.
pub(crate) fn selected_fold(deck: &Deck) -> Option<TaskColumn> {
    match deck.tasks.selected(&deck.work.tasks)? {
        TaskItem::Fold(column) if deck.focus == Pane::Tasks => Some(column),
        _ => None,
    }
}

/// The card under the cursor of the Inbox, as long as it waits.
pub(crate) fn selected_card(deck: &Deck) -> Option<&InboxCard> {
    let row = deck.inbox.selected()?;
    row.gone_until_ms.is_none().then_some(&row.card)
}

pub(crate) fn selected_kind(deck: &Deck) -> Option<InboxKind> {
    selected_card(deck).map(|card| card.kind)
}

/// The finding that a key is about.
pub(crate) fn selected_finding(deck: &Deck) -> Option<&FindingRow> {
    let rows = &deck.view.findings;
    match deck.overlays.last()? {
        Overlay::Findings(sheet) => sheet.selected(rows),
        Overlay::Finding(sheet) => rows.iter().find(|row| row.id == sheet.id),
        _ => None,
    }
}

/// The task that a key is about.
pub(crate) fn selected_capsule(deck: &Deck) -> Option<&CapsuleLine> {
    match deck.overlays.last()? {
        Overlay::Capsules(sheet) => sheet.selected(),
        Overlay::Capsule(sheet) => sheet.view().map(|view| &view.row),
        _ => None,
    }
}
