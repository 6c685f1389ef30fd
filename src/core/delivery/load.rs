//! [`Load`]: how many waiting messages one hook delivers. Whole messages as long as there is room;
//! what follows the first one that does not fit waits for the next hook, so that nothing overtakes.

/// What a hook hands over is shorter than this, in UTF-16 units: Claude keeps 10,000 and turns
/// more into a file reference (Claude Code 2.1.330, observed).
const UNITS_MAX: usize = 8_000;

/// Kept free for the line that tells how many more wait.
const NOTICE_UNITS: usize = 200;

/// Of a text that no hook can carry so much is shown, in characters. It has to be fetched anyway.
pub const BEGINNING_CHARS: usize = 500;

/// What a hook does with the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It delivers the whole message.
    Whole,
    /// It leaves the message to the next hook, which has room for it.
    Next,
    /// No hook has room for it: Claude has to fetch it.
    Fetch,
}

/// What one hook delivers so far.
#[derive(Debug, Default)]
pub struct Load {
    units: usize,
}

impl Load {
    /// What is done with a message that takes this much with its envelope, in UTF-16 units.
    pub fn fit(&self, units: usize) -> Fit {
        if self.has_room(units) {
            Fit::Whole
        } else if Self::default().has_room(units) {
            Fit::Next
        } else {
            Fit::Fetch
        }
    }

    /// Whether something of this length fits besides, in UTF-16 units.
    pub fn has_room(&self, units: usize) -> bool {
        self.units + units < UNITS_MAX - NOTICE_UNITS
    }

    /// It is handed over with the rest.
    pub fn put(&mut self, units: usize) {
        self.units += units;
    }
}
