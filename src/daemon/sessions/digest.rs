//! [`Digest`]: what a compaction says of the session that it leaves behind.

use std::borrow::Cow;
use std::io;

use serde_json::{Map, Value, json};

use crate::core::cut_text::cut_text;
use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::SessionId;
use crate::core::snapshot::{NoteSnapshot, Snapshot};
use crate::store::ledger::{EntryFilter, Ledger};

/// How many decided proposals it names.
const DECISIONS_MAX: usize = 10;

/// How much of a note or a decision stands in it, in characters; the note itself is carried on.
const TEXT_CHARS_MAX: usize = 500;

/// The sorts of notes that it names the latest of.
const KINDS: [NoteKind; 4] = [
    NoteKind::Goal,
    NoteKind::Plan,
    NoteKind::Decision,
    NoteKind::NextStep,
];

/// `1 entry`, `2 entries`.
fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A session in short.
#[derive(Debug)]
pub(in crate::daemon) struct Digest<'a> {
    world: &'a Snapshot,
    session: SessionId,
    from_ms: i64,
    carried: u64,
    /// Sessions, entries and closed handoffs that earlier compactions left behind.
    earlier: [u64; 3],
}

/// What a digest says of the session's beginning: read beside the loop, and it stays so.
#[derive(Debug)]
pub(in crate::daemon) struct DigestBeginning {
    from_ms: Option<i64>,
    /// The digest of the compaction that the session began with.
    before: Option<Value>,
}

impl DigestBeginning {
    /// Of an open ledger and what it folds to. Blocking.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub(in crate::daemon) fn read(ledger: &Ledger, world: &Snapshot) -> io::Result<Self> {
        let first = ledger.page(&EntryFilter::default(), None, true, 1)?;
        let mut beginning = Self {
            from_ms: first.entries.first().map(|it| it.entry.timestamp_ms),
            before: None,
        };
        if world.counts.contains_key(EntryKind::SUMMARY) {
            let filter = EntryFilter {
                entry_type: Some(EntryKind::SUMMARY.to_owned()),
                ..EntryFilter::default()
            };
            let page = ledger.page(&filter, None, true, 1)?;
            if let Some(stored) = page.entries.first()
                && let EntryKind::Other { detail, .. } = &stored.entry.kind
            {
                beginning.before = detail.get("digest").cloned();
            }
        }
        Ok(beginning)
    }
}

impl<'a> Digest<'a> {
    /// Of what a ledger folds to.
    pub(in crate::daemon) fn of(
        beginning: &DigestBeginning,
        world: &'a Snapshot,
        carried: u64,
    ) -> Self {
        let mut digest = Self {
            world,
            session: world
                .session_id
                .clone()
                .unwrap_or_else(|| SessionId::new("")),
            from_ms: beginning.from_ms.unwrap_or(world.last_at_ms),
            carried,
            earlier: [0; 3],
        };
        if let Some(before) = &beginning.before {
            digest.add_earlier(before);
        }
        digest
    }

    fn add_earlier(&mut self, before: &Value) {
        let number = |place: &Value| place.as_u64().unwrap_or(0);
        let earlier = &before["earlier"];
        self.earlier = [
            1 + number(&earlier["sessions"]),
            number(&before["entries"]) + number(&earlier["entries"]),
            number(&before["closedHandoffs"]) + number(&earlier["closedHandoffs"]),
        ];
        if let Some(from) = before["fromMs"].as_i64().filter(|from| *from > 0) {
            self.from_ms = from;
        }
    }

    /// The detail fields of its entry.
    pub(in crate::daemon) fn to_detail(&self) -> Map<String, Value> {
        let world = self.world;
        let decisions: Vec<Value> = world
            .decided_proposals
            .iter()
            .rev()
            .take(DECISIONS_MAX)
            .filter_map(|proposal| {
                let (decision, at_ms) = proposal.decision.as_ref()?;
                Some(json!({
                    "proposalId": proposal.id, "approved": decision.approved, "atMs": at_ms,
                    "summary": cut(&proposal.proposal.summary),
                }))
            })
            .collect();
        let notes: Vec<Value> = self
            .notes()
            .map(|note| {
                json!({
                    "id": note.id, "kind": note.kind.as_str(), "by": note.by,
                    "atMs": note.at_ms, "text": cut(&note.text),
                })
            })
            .collect();
        let [sessions, entries, closed] = self.earlier;
        let digest = json!({
            "sessionId": self.session,
            "entries": world.entries,
            "fromMs": self.from_ms,
            "toMs": world.last_at_ms,
            "counts": world.counts,
            "closedHandoffs": world.closed_handoffs_total,
            "decisions": decisions,
            "notes": notes,
            "carried": self.carried,
            "earlier": {"sessions": sessions, "entries": entries, "closedHandoffs": closed},
        });
        [("digest".to_owned(), digest)].into_iter().collect()
    }

    /// The same for a reader.
    pub(in crate::daemon) fn to_text(&self) -> String {
        let world = self.world;
        let mut lines = vec![format!(
            "{} in short: {}, {} closed; {} carried on",
            self.session,
            count(world.entries, "entry", "entries"),
            count(world.closed_handoffs_total, "handoff", "handoffs"),
            count(self.carried, "entry is", "entries are"),
        )];
        let [sessions, entries, closed] = self.earlier;
        if sessions > 0 {
            lines.push(format!(
                "before it, in {}: {}, {} closed",
                count(sessions, "compacted session", "compacted sessions"),
                count(entries, "entry", "entries"),
                count(closed, "handoff", "handoffs"),
            ));
        }
        let counts: Vec<String> = world
            .counts
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        lines.push(counts.join(", "));
        for note in self.notes() {
            lines.push(format!(
                "{} ({}): {}",
                note.kind.as_str().replace('_', " "),
                note.by,
                cut(&note.text)
            ));
        }
        for proposal in world.decided_proposals.iter().rev().take(DECISIONS_MAX) {
            let approved = proposal
                .decision
                .as_ref()
                .is_some_and(|(decision, _)| decision.approved);
            let word = if approved { "approved" } else { "rejected" };
            lines.push(format!("{word}: {}", cut(&proposal.proposal.summary)));
        }
        lines.join("\n")
    }

    /// The latest note of each sort that says where the work stands. What is somebody else's word is
    /// not told as the daemon's.
    fn notes(&self) -> impl Iterator<Item = &NoteSnapshot> {
        KINDS.iter().filter_map(|kind| {
            self.world
                .notes
                .iter()
                .rev()
                .find(|note| note.kind == *kind && !self.world.is_foreign(note.seq))
        })
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    cut_text(text, TEXT_CHARS_MAX)
}
