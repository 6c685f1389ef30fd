//! [`Page`]: a piece of the ledger.

use std::io;

use super::Stored;
use super::entry_filter::EntryFilter;
use super::shared::SharedLedger;
use super::unread_lines::{LinesLeftOut, UnreadLines};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::control::{EntryLine, EntryPage};

/// How many places are taken from the index at once, so that appends never wait for a reader.
const SLOTS_AT_ONCE: usize = 256;

/// How many places are looked at under one lock.
const LOOK_AT_ONCE: usize = 64 * 1024;

/// How many entries one page reads and leaves out before it says how far it came: what the index
/// cannot tell costs a read each.
const LEFT_OUT_MAX: usize = 5_000;

/// How many pages of what is left out are looked through for the end of an id, from the newest entry
/// on: a person names what is new, and a long record would take seconds for a name that is mistyped.
const END_PAGES_MAX: usize = 20;

/// Some entries of the ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The entries, in the requested order.
    pub entries: Vec<Stored>,
    /// The cursor for the next page; `None` if there is nothing more. A page may be short or empty
    /// and still have one: the limit of lines to examine was reached.
    pub next: Option<u64>,
    /// The lines that cannot be read, among those that were examined.
    pub(crate) left_out: LinesLeftOut,
}

impl Page {
    /// The numbers of lines that cannot be read and are left out, among those that were looked at; in
    /// the order asked for.
    pub fn unread_lines(&self) -> &[u64] {
        &self.left_out.lines
    }
}

impl From<Page> for EntryPage {
    fn from(page: Page) -> Self {
        Self {
            unread_lines: page.unread_lines().len() as u64,
            places: page.entries.iter().map(|at| at.entry.seq.0).collect(),
            entries: page.entries.into_iter().map(EntryLine::from).collect(),
            cursor: page.next.map(|seq| seq.to_string()),
            ..Self::default()
        }
    }
}

impl SharedLedger {
    /// The latest entries whose id ends like this, at most two: where there is another one the end
    /// names none.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn ending_in(&self, end: &str) -> io::Result<Vec<Seq>> {
        let filter = EntryFilter {
            id_end: Some(end.to_owned()),
            ..EntryFilter::default()
        };
        let mut found = Vec::new();
        let mut cursor = None;
        for _ in 0..END_PAGES_MAX {
            let page = self.page(&filter, cursor, false, 2 - found.len())?;
            found.extend(page.entries.iter().map(|stored| stored.entry.seq));
            cursor = page.next;
            if found.len() == 2 || cursor.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// Up to `limit` entries that pass the filter, beginning after the cursor `from` in the
    /// order asked for; from the end of the file backwards when not `ascending`. What the index can
    /// tell apart costs no reading. A line that cannot be read is left out, and counted.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn page(
        &self,
        filter: &EntryFilter,
        from: Option<u64>,
        ascending: bool,
        limit: usize,
    ) -> io::Result<Page> {
        let mut page = Page::default();
        let mut cursor = from;
        let mut left_out = 0;
        let mut unread = UnreadLines::default();
        let ended = |mut page: Page, unread: UnreadLines| {
            page.left_out = unread.end()?;
            Ok(page)
        };
        loop {
            let wanted = (limit + 1 - page.entries.len()).min(SLOTS_AT_ONCE);
            let (slots, next) =
                self.index()
                    .select(filter, cursor, ascending, wanted, LOOK_AT_ONCE);
            for slot in slots {
                if page.entries.len() == limit || left_out == LEFT_OUT_MAX {
                    page.next = cursor;
                    return ended(page, unread);
                }
                match unread.take(slot.seq.into(), self.load(slot))? {
                    Some(stored) if filter.takes(&stored.entry) => page.entries.push(stored),
                    _ => left_out += 1,
                }
                cursor = Some(slot.seq.into());
            }
            match next {
                Some(next) => cursor = Some(next),
                None => return ended(page, unread),
            }
        }
    }
}
