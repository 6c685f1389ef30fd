//! [`found`]: what a search came to, as the screen lists it.

use ctxrelay_ui::model as ui;

use super::present::party_of;
use crate::core::agent::Party;
use crate::wire::search::SearchPage;

/// The hits of a search for `words`.
pub(super) fn found(words: String, page: SearchPage) -> ui::FoundEntries {
    ui::FoundEntries {
        words,
        rows: page
            .hits
            .into_iter()
            .map(|hit| ui::FoundRow {
                seq: hit.seq,
                kind: hit.entry_type,
                from: party_of(&Party::from(hit.source)),
                snippet: hit.snippet,
            })
            .collect(),
        total: page.total,
        total_is_at_least: page.total_is_at_least,
        behind: page.behind,
    }
}
