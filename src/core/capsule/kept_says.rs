//! [`KeptSays`]: how far a kept capsule is believed.

/// Of a kept capsule whose digest no record tells.
pub const DIGEST_UNTOLD: &str = "the record of an earlier version tells no digest of what was kept: \
                                 where git stood, and its files, only the kept file says";

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
