//! [`Shown`]: which parts of a message's text have left for its receiver's model.

use crate::word::words;

words! {
    /// What of a message's text has left for its receiver's model.
    ///
    /// A text that left to its end is marked as a repeat when it is shown once more, and agents
    /// are told to act on each message once: a mark on a first copy would lose it. So a push that
    /// nothing has proven counts for nothing: where channels are off, Claude drops it without a
    /// word (Claude Code 2.1.330, observed).
    #[derive(Default, PartialOrd, Ord)]
    pub closed enum Shown {
        /// Nothing, as far as anybody can tell.
        #[default]
        Nothing = "nothing",
        /// Its beginning. An acknowledgement is about that alone and does not settle the message.
        Head = "head",
        /// Its beginning, and at another time its end. Which of the copies an acknowledgement is
        /// about nobody can tell: a call that fetched the rest may have been cancelled. Only proof
        /// settles it.
        Rest = "rest",
        /// All of it at once, or proven.
        Whole = "whole",
    }
}

impl Shown {
    /// What has left once so much more leaves.
    pub fn and(self, leaving: Self) -> Self {
        match (self, leaving) {
            (Self::Rest, _) | (Self::Head, Self::Whole) | (Self::Whole, Self::Head) => Self::Rest,
            _ => self.max(leaving),
        }
    }
}
