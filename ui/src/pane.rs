//! [`Pane`]: the regions that can have the focus.

/// A pane, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Pane {
    /// Who does what.
    #[default]
    Agents,
    /// What happened.
    Timeline,
    /// What waits for the operator.
    Inbox,
    /// What is to be done, by column.
    Tasks,
    /// Who owes whom an answer.
    Handoffs,
}

impl Pane {
    /// All, by number.
    pub const ALL: [Self; 5] = [
        Self::Agents,
        Self::Timeline,
        Self::Inbox,
        Self::Tasks,
        Self::Handoffs,
    ];

    /// Its number, the key that focuses it.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Agents => "Agents",
            Self::Timeline => "Timeline",
            Self::Inbox => "Inbox",
            Self::Tasks => "Tasks",
            Self::Handoffs => "Handoffs",
        }
    }

    /// The pane `steps` further, round the end.
    pub fn step(self, steps: isize) -> Self {
        let len = Self::ALL.len() as isize;
        Self::ALL[(self as isize + steps).rem_euclid(len) as usize]
    }
}
