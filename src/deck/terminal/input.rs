//! [`Input`]: the messages to the drawing thread, and the two slots shared with its callers.

use std::sync::{Arc, Mutex};

use ctxrelay_ui::model::DeckView;
use ctxrelay_ui::{Msg, UnsentText};

/// What goes to the drawing thread.
pub(in crate::deck) enum Input {
    Msg(Box<Msg>),
    /// A new view lies in the slot.
    Look,
    /// The process was stopped and goes on.
    Continued,
    End,
}

/// Where the next view lies.
pub(in crate::deck) type ViewSlot = Arc<Mutex<Option<Box<DeckView>>>>;

/// Where what was written and not sent lies once the deck has ended.
pub(in crate::deck) type UnsentSlot = Arc<Mutex<Vec<UnsentText>>>;
