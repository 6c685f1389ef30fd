//! [`KeptSays`]: how far a kept capsule is believed.

/// How far a kept capsule says what the record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptSays {
    /// Something else.
    Else,
    /// The same, masked where the folder, the user or the machine had another name.
    Masked,
    /// Just the same.
    Same,
}

impl KeptSays {
    /// This, where the rest is right as well.
    #[must_use]
    pub fn only(self, is_right: bool) -> Self {
        match is_right {
            true => self,
            false => Self::Else,
        }
    }
}
