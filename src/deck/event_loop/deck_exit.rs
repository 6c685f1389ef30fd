//! [`DeckExit`]: how the person left the deck.

use ctxrelay_ui::QuitChoice;

/// How the deck was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeckExit {
    /// By key, with this choice.
    Chosen(QuitChoice),
    /// By a signal, or because the terminal went away.
    Gone,
    /// Drawing failed by a fault of our own.
    Failed,
}
