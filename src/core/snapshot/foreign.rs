//! Which entries of a record somebody else wrote.

use super::Snapshot;
use crate::entry::Predecessor;
use crate::id::Seq;

impl Snapshot {
    /// A world before its first entry, of a record that is somebody else's word up to an entry.
    pub fn believing_after(foreign_through: Seq) -> Self {
        Self {
            foreign_through,
            ..Self::default()
        }
    }

    /// Whether the entry at this place is somebody else's word, or was where a compaction took it
    /// from.
    pub fn is_foreign(&self, seq: Seq) -> bool {
        seq <= self.foreign_through || self.foreign_carried.contains(&seq)
    }

    /// [`Self::is_foreign`] for who does not keep the world: while it is shared, it is copied whole
    /// for the next entry.
    pub fn foreign_places(&self) -> impl Fn(Seq) -> bool + Send + use<> {
        let (through, carried) = (self.foreign_through, self.foreign_carried.clone());
        move |seq| seq <= through || carried.contains(&seq)
    }

    /// The session that this one follows, where that is ours to say: the first entry says it, which
    /// is somebody else's word where any is.
    pub fn believed_predecessor(&self) -> Option<&Predecessor> {
        let before = self.predecessor.as_ref();
        before.filter(|_| self.foreign_through == Seq(0))
    }
}
