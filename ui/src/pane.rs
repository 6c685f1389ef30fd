//! [`Pane`]: the regions that can have the focus.

use crate::named::named;

named! {
    /// A pane, in the order of its number.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum Pane {
        /// Who does what.
        #[default]
        Agents = "Agents",
        /// What happened.
        Timeline = "Timeline",
        /// What waits for the operator.
        Inbox = "Inbox",
        /// What is to be done, by column.
        Tasks = "Tasks",
        /// Who owes whom an answer.
        Handoffs = "Handoffs",
    }
    pub fn title;
}

impl Pane {
    /// Its number, the key that focuses it.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// The pane `steps` further, round the end.
    pub fn step(self, steps: isize) -> Self {
        let len = Self::ALL.len() as isize;
        Self::ALL[(self as isize + steps).rem_euclid(len) as usize]
    }
}
