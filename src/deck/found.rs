//! [`found`]: what a search came to, as the screen lists it.

use ctxrelay_ui::model as ui;

use super::present::party_of;
use crate::client::ClientError;
use crate::core::agent::Party;
use crate::wire::control::Reply;

/// The answer to a search for `words`.
pub(super) fn found(
    number: u64,
    words: String,
    answer: Result<Reply, ClientError>,
) -> ui::FoundEntries {
    let mut found = ui::FoundEntries {
        number,
        words,
        rows: Vec::new(),
        total: 0,
        total_is_at_least: false,
        behind: 0,
        fault: None,
    };
    let page = match answer {
        Ok(Reply::Found(page)) => page,
        Ok(_) => {
            found.fault = Some("the daemon answers something else".to_owned());
            return found;
        }
        Err(error) => {
            let refusal = error.to_refusal();
            found.fault = Some(format!("{}: {}", refusal.message, refusal.hint));
            return found;
        }
    };
    let row = |hit: crate::wire::search::SearchHit| ui::FoundRow {
        seq: hit.seq,
        kind: hit.entry_type,
        session: hit.session.map(|id| id.to_string()),
        at_ms: hit.at,
        from: party_of(&Party::from(hit.source)),
        to: hit.target.map(|target| party_of(&Party::from(target))),
        snippet: hit.snippet,
        marks: hit.marks,
    };
    found.rows = page.hits.into_iter().map(row).collect();
    found.total = page.total;
    found.total_is_at_least = page.total_is_at_least;
    found.behind = page.behind;
    found
}
