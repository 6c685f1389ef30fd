//! [`Subject`]: what the cursor is on, read beside the panes or opened over them.

use super::sheet::SheetText;
use super::{AgentSheet, CardSheet, EntrySheet, MessagesSheet, Overlay};
use crate::deck::Deck;
use crate::model::{Agent, EntryPlace, InboxKind, Party};
use crate::pane::Pane;
use crate::selected::{selected_agent, selected_card};
use crate::task_list::TaskItem;

/// Something that can be read in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Entry(EntryPlace),
    /// A card of the inbox, by its id.
    Card(String),
    Agent(Agent),
    /// The messages behind a card, by its id.
    Messages(String),
}

impl Subject {
    /// What the cursor stands on in the pane in focus.
    pub(crate) fn selected(deck: &Deck) -> Option<Self> {
        let view = &deck.view;
        let seq = match deck.focus {
            Pane::Agents => {
                return selected_agent(deck).map(Self::Agent);
            }
            Pane::Inbox => {
                let card = selected_card(deck)?;
                return Some(match (card.kind, &card.by) {
                    // Its keys stand on the agent's own sheet.
                    (
                        InboxKind::Stuck | InboxKind::Limited | InboxKind::Full,
                        Party::Agent(agent),
                    ) => Self::Agent(*agent),
                    _ if !card.unclear.is_empty() => Self::Messages(card.id.clone()),
                    _ => Self::Card(card.id.clone()),
                });
            }
            Pane::Timeline => deck.timeline.selected(&view.timeline)?.seq,
            Pane::Tasks => match deck.tasks.selected(&deck.work.tasks)? {
                TaskItem::Row(row) => row.seq,
                TaskItem::Fold(_) => return None,
            },
            Pane::Handoffs => deck.work.handoffs.get(deck.handoffs.list.selected)?.seq,
        };
        Some(Self::Entry(deck.place(seq)))
    }

    /// Whether what is next to it in the pane in focus can be gone to: it is selected there, or
    /// stands among the rows of a timeline that has followed what came since. What a search of
    /// sealed sessions led to stands in no pane.
    pub(crate) fn has_neighbours(&self, deck: &Deck) -> bool {
        if Self::selected(deck).as_ref() == Some(self) {
            return true;
        }
        let Self::Entry(place) = self else {
            return false;
        };
        let rows = &deck.view.timeline;
        deck.focus == Pane::Timeline
            && deck.is_of_record(place)
            && rows
                .binary_search_by_key(&place.line, |row| row.seq)
                .is_ok()
    }

    /// Opened over the panes.
    pub(crate) fn open(self) -> Overlay {
        match self {
            Self::Entry(place) => Overlay::Entry(EntrySheet::new(place)),
            Self::Card(id) => Overlay::Card(CardSheet::new(id)),
            Self::Agent(agent) => Overlay::Agent(AgentSheet::new(agent)),
            Self::Messages(id) => Overlay::Messages(MessagesSheet::new(id)),
        }
    }

    /// In full.
    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        match self {
            Self::Entry(place) => EntrySheet::new(place.clone()).text(deck, columns),
            Self::Card(id) => CardSheet::new(id.clone()).text(deck, columns),
            Self::Agent(agent) => AgentSheet::new(*agent).text(deck, columns),
            Self::Messages(id) => MessagesSheet::new(id.clone()).text(deck, columns),
        }
    }

    /// The entry that it is, where it is one.
    pub(crate) fn entry(&self, deck: &Deck) -> Option<EntryPlace> {
        match self {
            Self::Entry(place) => Some(place.clone()),
            Self::Card(id) => deck.card(id)?.seq.map(|seq| deck.place(seq)),
            Self::Agent(_) | Self::Messages(_) => None,
        }
    }

    /// Where it stands, if it has a thread: one is read from the record that is being written.
    pub(crate) fn thread_place(&self, deck: &Deck) -> Option<EntryPlace> {
        let place = self.entry(deck)?;
        (deck.is_of_record(&place) && !deck.is_no_entry(&place)).then_some(place)
    }

    /// Why it has none.
    pub(crate) const NO_THREAD: &str = "only an entry of the session that is open has a thread";

    /// Whether it has a text and an id to be copied.
    pub(crate) fn has_text(&self, deck: &Deck) -> bool {
        match self {
            Self::Entry(place) => !deck.is_no_entry(place),
            Self::Card(_) => true,
            Self::Agent(_) | Self::Messages(_) => false,
        }
    }
}
