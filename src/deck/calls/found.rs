//! The results of a search, as the screen lists them: [`found`], [`listed`] and [`nothing_found`].

use ctxrelay_ui::model as ui;

use crate::client::ClientError;
use crate::core::agent::Party;
use crate::core::entry::EntryType;
use crate::core::word::OpenWord;
use crate::deck::calls::capsules::standing;
use crate::deck::party::party_of;
use crate::wire::search::{FoundHit, FoundIn, FoundPage, SearchHit, SearchPage};

/// The daemon's answer to a search for `words`.
pub(in crate::deck) fn found(
    number: u64,
    words: String,
    answer: Result<SearchPage, ClientError>,
) -> ui::FoundEntries {
    match answer {
        Ok(page) => ui::FoundEntries {
            number,
            words,
            rows: page.hits.into_iter().map(row).collect(),
            total: page.total,
            total_is_at_least: page.total_is_at_least,
            cursor: page.cursor,
            behind: page.behind,
            unread_lines: page.unread_lines,
            ..ui::FoundEntries::default()
        },
        Err(error) => {
            let refusal = error.to_refusal();
            let why = format!("{}: {}", refusal.message, refusal.hint);
            nothing_found(number, words, why)
        }
    }
}

/// Hits of a search for `words` in other places.
pub(in crate::deck) fn listed(number: u64, words: String, page: FoundPage) -> ui::FoundEntries {
    ui::FoundEntries {
        number,
        words,
        rows: page.hits.into_iter().map(found_row).collect(),
        total: page.total,
        total_is_at_least: page.total_is_at_least,
        cursor: page.cursor,
        behind: page.behind,
        unread_lines: page.unread_lines,
        ..ui::FoundEntries::default()
    }
}

fn found_row(found: FoundHit) -> ui::FoundRow {
    let task = (found.kind == FoundIn::Capsule).then(|| ui::FoundTask {
        id: found.hit.id.to_string(),
        title: found.title.unwrap_or_default(),
        standing: found.freshness.map(standing),
    });
    let is_foreign = found.foreign || found.unvouched || found.hit.apart;
    let mut row = row(found.hit);
    // The sessions of the others are where one comes by the timeline, or are no record here.
    row.session = row.session.filter(|_| found.kind == FoundIn::Archive);
    ui::FoundRow {
        task,
        is_foreign,
        ..row
    }
}

fn row(hit: SearchHit) -> ui::FoundRow {
    ui::FoundRow {
        seq: hit.seq,
        kind: kind(&hit.entry_type, hit.finding.is_some()),
        task: None,
        is_foreign: hit.apart,
        session: hit.session.map(|id| id.to_string()),
        at_ms: hit.at,
        from: party_of(&Party::from(hit.source)),
        to: hit.target.map(|target| party_of(&Party::from(target))),
        snippet: hit.snippet,
        marks: hit.marks,
    }
}

/// The timeline's word for an entry of this type, as far as that tells; a finding has that of an
/// artifact.
fn kind(entry_type: &OpenWord<EntryType>, is_finding: bool) -> String {
    let word = match entry_type.known() {
        Some(EntryType::SessionStarted) => "session",
        Some(EntryType::FinalityProposal) => "finality",
        Some(EntryType::FinalityDecision) => "decision",
        Some(EntryType::Artifact) if is_finding => "finding",
        Some(EntryType::ReleaseGate) => "artifact",
        Some(EntryType::RuntimeEvent) => "event",
        _ => return entry_type.to_string(),
    };
    word.to_owned()
}

/// Why nothing could be searched.
pub(in crate::deck) fn nothing_found(number: u64, words: String, why: String) -> ui::FoundEntries {
    ui::FoundEntries {
        number,
        words,
        fault: Some(why),
        ..ui::FoundEntries::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_named_as_on_the_timeline() {
        let words = [
            ("message", "message"),
            ("finality_proposal", "finality"),
            ("finality_decision", "decision"),
            ("runtime_event", "event"),
            ("their_own", "their_own"),
        ];
        for (entry_type, word) in words {
            assert_eq!(kind(&OpenWord::of(entry_type), false), word);
        }
        assert_eq!(kind(&EntryType::Artifact.into(), true), "finding");
    }
}
