//! [`Page`] and [`Filter`]: the ledger in pieces.

use std::io;

use crate::core::agent::Party;
use crate::core::entry::Entry;
use crate::core::id::RuntimeSession;

use super::handle::{Shared, Stored};

/// How many places are taken from the index at once, so that appends never wait for a reader.
const SLOTS_AT_ONCE: usize = 256;

/// Which entries are wanted; everything when empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only this `type`.
    pub entry_type: Option<String>,
    /// Only from this party.
    pub source: Option<Party>,
    /// Only for this party.
    pub target: Option<Party>,
    /// Only of this pair, and what belongs to no pair.
    pub runtime_session: Option<RuntimeSession>,
}

impl Filter {
    /// Whether an entry is wanted.
    pub fn takes(&self, entry: &Entry) -> bool {
        let kind = self
            .entry_type
            .as_deref()
            .is_none_or(|wanted| entry.kind.type_name() == wanted);
        let source = self
            .source
            .as_ref()
            .is_none_or(|wanted| entry.source == *wanted);
        let target = self
            .target
            .as_ref()
            .is_none_or(|wanted| entry.target.as_ref() == Some(wanted));
        let session = match (&self.runtime_session, &entry.runtime_session) {
            (Some(wanted), Some(has)) => wanted == has,
            _ => true,
        };
        kind && source && target && session
    }
}

/// A piece of the ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The entries, in the order asked for.
    pub entries: Vec<Stored>,
    /// The cursor to go on from; `None` when there is nothing more to look at.
    pub next: Option<u64>,
}

/// Reads a page. Reads on past entries that the filter does not take, to the end of the ledger if
/// it must.
pub(super) fn page(
    shared: &Shared,
    filter: &Filter,
    from: Option<u64>,
    ascending: bool,
    limit: usize,
) -> io::Result<Page> {
    let mut page = Page::default();
    let mut cursor = from;
    loop {
        let slots = shared.index().after(cursor, ascending, SLOTS_AT_ONCE);
        if slots.is_empty() {
            return Ok(page);
        }
        for slot in slots {
            if page.entries.len() >= limit {
                page.next = cursor;
                return Ok(page);
            }
            let stored = shared.load(slot)?;
            if filter.takes(&stored.entry) {
                page.entries.push(stored);
            }
            cursor = Some(slot.seq.into());
        }
    }
}
