//! [`AgentPlace`]: where an agent opens that is started from the deck or beside it, so that the
//! deck keeps the space that it needs.

use std::io::IsTerminal as _;

use ctxrelay_ui::SMALLEST_SCREEN;

/// Where an agent opens that is started from the deck or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum AgentPlace {
    /// In the right half of our pane.
    Right,
    /// In its lower half.
    Below,
    /// In a window of its own: half of our pane has no room for a deck.
    Window,
}

impl AgentPlace {
    /// In a pane of so many columns and rows.
    pub(in crate::cli) fn in_pane((columns, rows): (u16, u16)) -> Self {
        // Between the halves is a line.
        let half = |all: u16| all.saturating_sub(1) / 2;
        let (least_columns, least_rows) = SMALLEST_SCREEN;
        match (half(columns) >= least_columns, half(rows) >= least_rows) {
            (true, _) => Self::Right,
            (false, true) => Self::Below,
            (false, false) => Self::Window,
        }
    }

    /// Beside a deck in our own pane, or in the whole terminal, of which tmux takes a row.
    pub(in crate::cli) fn of_pair(in_own_pane: bool) -> Self {
        // What is only printed may be run in any terminal.
        let is_known = std::io::stdout().is_terminal();
        let Some(Ok((columns, rows))) = is_known.then(crossterm::terminal::size) else {
            return Self::Right;
        };
        Self::in_pane((columns, rows.saturating_sub(u16::from(!in_own_pane))))
    }

    /// As a person is told.
    pub(in crate::cli) fn as_words(self) -> &'static str {
        match self {
            Self::Right => "in a pane beside",
            Self::Below => "in a pane below",
            Self::Window => "in a tmux window of its own",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AgentPlace;

    #[test]
    fn an_agent_that_is_started_from_the_deck_leaves_it_the_room_that_it_needs() {
        let place = |columns, rows| AgentPlace::in_pane((columns, rows));
        assert_eq!(place(200, 50), AgentPlace::Right);
        assert_eq!(place(121, 24), AgentPlace::Right);
        assert_eq!(place(120, 40), AgentPlace::Below);
        assert_eq!(place(80, 31), AgentPlace::Below);
        assert_eq!(place(80, 24), AgentPlace::Window);
        assert_eq!(place(0, 0), AgentPlace::Window);
    }
}
