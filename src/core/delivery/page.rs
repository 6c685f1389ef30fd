//! [`MessageCursor`]: an agent's position in its waiting messages; and [`page_order`]: what comes
//! next.
//!
//! Messages that were never shown whole come first, oldest first; then those that were, once more.
//! A message that arrives in between is not overtaken by a repeat, and no repeat comes twice in one
//! walk: the first page of a walk fixes the last repeat that belongs to it.

use super::Delivery;
use crate::id::{EntryId, Seq};

/// A position in the messages that wait for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageCursor {
    /// Repeats up to this position were on earlier pages.
    pub after: Seq,
    /// The last repeat of this walk; `None`: the last one at present.
    pub until: Option<Seq>,
    /// The message in whose middle the previous page ended.
    pub cut: Option<CutMessage>,
}

/// A message of which a page showed a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutMessage {
    /// The message.
    pub id: EntryId,
    /// How many characters of its text are left. Counted from the end because the envelope at the
    /// head of a text tells its age and changes.
    pub rest: usize,
}

/// The rows that a page at this place shows, in their order, and the last repeat of this walk.
/// `rows`: what waits, oldest first.
pub fn page_order<'a>(rows: &[&'a Delivery], cursor: &MessageCursor) -> (Vec<&'a Delivery>, Seq) {
    let is_cut = |row: &Delivery| cursor.cut.as_ref().is_some_and(|cut| cut.id == row.id);
    let repeats = || rows.iter().copied().filter(|row| row.is_repeat());
    let until = cursor
        .until
        .unwrap_or_else(|| repeats().map(|row| row.seq).max().unwrap_or_default());
    let goes_on = rows.iter().copied().filter(|row| is_cut(row));
    let new = rows.iter().copied().filter(|row| !row.is_repeat());
    let again = repeats().filter(|row| cursor.after < row.seq && row.seq <= until);
    let rest = new.chain(again).filter(|row| !is_cut(row));
    (goes_on.chain(rest).collect(), until)
}
