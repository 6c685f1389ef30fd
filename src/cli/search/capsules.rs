//! [`find`]: words in tasks that can travel.

use crate::cli::capsule::maker::CapsuleMaker;
use crate::core::capsule::{Capsule, CapsulePassage};
use crate::core::id::{EntryId, Seq, SessionId};
use crate::core::redact::Redactor;
use crate::store::capsules::CapsuleOwner;
use crate::store::search::{Query, find_in};
use crate::wire::search::{FoundHit, FoundIn, SearchHit};

/// The `type` of a hit in a capsule.
const TYPE: &str = "capsule";

/// All of them that have the words: the tasks of the record, latest first, then what else is kept.
/// What cannot be believed is not looked at; `capsule list` says which that is.
pub(super) fn find(maker: &CapsuleMaker, query: &Query, redactor: &Redactor) -> Vec<FoundHit> {
    let mut found = Vec::new();
    for id in maker.ids() {
        let made = match maker.named(id.as_str()) {
            Ok(made) => made,
            Err(failure) => {
                tracing::warn!(%id, failure = failure.message, "a capsule is not searched");
                continue;
            }
        };
        let Some(hit) = hit(&made.capsule, query, redactor) else {
            continue;
        };
        // What is kept of an open task may be no capsule any more; the record still tells of it.
        let kept = maker.last_kept(&id).ok();
        let freshness = kept.map(|kept| maker.compare(&kept.capsule).0);
        found.push(FoundHit {
            kind: FoundIn::Capsule,
            hit,
            freshness,
            foreign: made.owner == CapsuleOwner::Foreign,
        });
    }
    found
}

fn hit(capsule: &Capsule, query: &Query, redactor: &Redactor) -> Option<SearchHit> {
    let passages = capsule.passages();
    let texts = passages.iter().map(|passage| passage.text);
    let (snippet, at) = find_in(texts, query, redactor)?;
    let (session, seq) = place(capsule, &passages[at]);
    Some(SearchHit {
        seq: seq.0,
        id: EntryId::new(capsule.id.as_str()),
        session: Some(session),
        entry_type: TYPE.to_owned(),
        source: match passages[at].by {
            Some(author) => author.to_string(),
            None => capsule.origin.project.clone(),
        },
        target: None,
        at: passages[at].at_ms.unwrap_or(capsule.updated_at),
        snippet: snippet.text,
        marks: snippet.marks,
    })
}

/// Where the text stands in a record: the entry that says so, or the last one that the capsule was
/// made from.
fn place(capsule: &Capsule, passage: &CapsulePassage<'_>) -> (SessionId, Seq) {
    match passage.line {
        Some(line) => (line.session.clone(), line.seq),
        None => (capsule.origin.session.clone(), capsule.origin.head.seq),
    }
}
