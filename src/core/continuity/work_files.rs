//! [`WorkFiles`]: what the record holds of an agent's work, as files for an editor or a script.
//! They are views: nothing reads them back.
//!
//! The names are those of the plugin `relay`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::packet::{PACKET_CHARS_MAX, Packet, PacketTerms};
use super::packet_sections::waiting;
use super::reminder::reminder;
use super::state_json::{changed_since_by, state_json};
use crate::agent::Agent;
use crate::continuity_state::{ContinuityState, StateTag, is_note_for, is_state};
use crate::entry::{
    ArtifactStatus, ContinuityFact, ContinuityRecord, Entry, EntryKind, EntryType, Reload,
    ReloadCause, ReloadStep,
};
use crate::hidden::letters;
use crate::id::{RuntimeSession, Seq};
use crate::snapshot::{ArtifactSnapshot, Snapshot};

/// How many faults are shown: the latest ones.
const ERRORS_MAX: usize = 50;

/// How many lines the log has: the latest ones.
const LOG_LINES_MAX: usize = 200;

/// Of a text in a line, in characters.
const LINE_CHARS_MAX: usize = 200;

/// The latest entries of each sort that tells of an agent's work, and how many of them are looked at.
pub const RECENT_WORK: [(EntryType, usize); 2] =
    [(EntryType::Note, 200), (EntryType::RuntimeEvent, 1_000)];

/// The files of one agent in one runtime session: their paths below its folder, and what they say.
pub type WorkFiles = Vec<(String, String)>;

/// A file that an agent wrote or read last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFileRow {
    pub path: String,
    /// `written`, `read`.
    pub how: &'static str,
    /// The entry that says so.
    pub seq: Seq,
    /// Who wrote it since.
    pub changed_by: Option<Agent>,
}

/// A result of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkResultRow {
    pub title: String,
    pub sort: String,
    pub status: ArtifactStatus,
    pub seq: Seq,
}

/// Something that happened in an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkEventRow {
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub seq: Seq,
    pub what: String,
}

/// Where such files belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFolder {
    pub pair: RuntimeSession,
    pub agent: Agent,
    pub files: WorkFiles,
}

/// What they are made of.
pub struct WorkSources<'a> {
    /// The world as the record has it.
    pub world: &'a Snapshot,
    /// Whose work.
    pub agent: Agent,
    pub pair: &'a RuntimeSession,
    /// Entries of the record, oldest first; those about this work count. With those of its
    /// compactions and of its last packet.
    pub entries: &'a [Entry],
    /// How the files that it changed last begin, by their paths.
    pub heads: &'a [(String, String)],
    /// Puts a time in words, ms since the epoch.
    pub time: &'a dyn Fn(i64) -> String,
}

impl std::fmt::Debug for WorkSources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkSources")
            .field("agent", &self.agent)
            .field("pair", &self.pair)
            .finish_non_exhaustive()
    }
}

impl WorkSources<'_> {
    /// What the agent is told that it is at, and its peers that they are: their work may stand elsewhere.
    fn states(&self) -> (ContinuityState, Vec<ContinuityState>) {
        let state = self.world.told_of(self.agent, self.pair);
        let peers = self.world.peers_of(self.agent, self.pair);
        (state, peers)
    }

    /// The files; none where the record knows nothing of its work.
    pub fn files(&self) -> WorkFiles {
        let (state, peers) = self.states();
        if state.is_blank() && state.packet.is_none() && state.compactions.is_empty() {
            return WorkFiles::new();
        }
        let mut files = WorkFiles::new();
        let mut add = |name: &str, text: String| files.push((name.to_owned(), text));
        let value = state_json(self.agent, &state, &peers);
        add("STATE.json", in_file(&value));
        if let Some(packet) = self.packet_now() {
            add("EXEC_PACKET.md", packet.text);
        }
        add("INDEX.md", self.index());
        add("TASKLOG.md", self.log().join("\n") + "\n");
        add("errors.log", self.errors());
        for artifact in self.artifacts() {
            let value =
                json!({"seq": artifact.seq, "at": artifact.at_ms, "artifact": artifact.artifact});
            add(
                &format!("artifacts/{}.json", artifact.seq.0),
                in_file(&value),
            );
        }
        for (seq, text) in self.summaries(&state) {
            add(&format!("summaries/{seq}.md"), text);
        }
        if let Some(text) = self.given(&state) {
            add("derived/RELOAD.md", text.to_owned());
        }
        if !self.heads.is_empty() {
            add("derived/file_snapshots.md", self.snapshots());
        }
        let notices = self.notices(&state);
        if !notices.is_empty() {
            add("derived/notifications.txt", notices);
        }
        if let Some(inferred) = &state.inferred {
            add(
                "derived/pending_suggestions.json",
                in_file(&json!(inferred)),
            );
        }
        files
    }

    /// The files that it wrote last and then those that it read, the latest first.
    pub fn file_rows(&self) -> Vec<WorkFileRow> {
        let (state, peers) = self.states();
        let mut rows = Vec::new();
        for (files, how) in [(&state.files, "written"), (&state.reads, "read")] {
            rows.extend(files.iter().rev().map(|file| WorkFileRow {
                path: line(&file.path),
                how,
                seq: file.seq,
                changed_by: changed_since_by(file, self.agent, &peers),
            }));
        }
        rows
    }

    /// What came of it.
    pub fn result_rows(&self) -> Vec<WorkResultRow> {
        let rows = self.artifacts().map(|artifact| WorkResultRow {
            title: line(&artifact.artifact.title),
            sort: line(artifact.artifact.kind.as_str()),
            status: artifact.artifact.status,
            seq: artifact.seq,
        });
        rows.collect()
    }

    /// The files and the results of an agent, as one table each.
    pub fn index(&self) -> String {
        let mut text = format!("# {}: files and results\n", self.agent.title());
        text.push_str("\n| file | how | entry | changed since |\n|---|---|---|---|\n");
        for file in self.file_rows() {
            let since = file.changed_by.map_or("", Agent::title);
            let (path, how, seq) = (cell(&file.path), file.how, file.seq.0);
            text.push_str(&format!("| {path} | {how} | #{seq} | {since} |\n"));
        }
        text.push_str("\n| result | sort | outcome | entry |\n|---|---|---|---|\n");
        for result in self.result_rows() {
            let (title, sort) = (cell(&result.title), cell(&result.sort));
            let (status, seq) = (result.status.as_str(), result.seq.0);
            text.push_str(&format!("| {title} | {sort} | {status} | #{seq} |\n"));
        }
        text
    }

    /// What happened in its work, oldest first.
    pub fn event_rows(&self) -> Vec<WorkEventRow> {
        let entries = self.entries.iter().filter(|entry| self.is_ours(entry));
        let rows = entries.filter_map(|entry| {
            Some(WorkEventRow {
                at_ms: entry.timestamp_ms,
                seq: entry.seq,
                what: self.happened(entry)?,
            })
        });
        let mut rows: Vec<WorkEventRow> = rows.collect();
        rows.drain(..rows.len().saturating_sub(LOG_LINES_MAX));
        rows
    }

    /// The same, a line each.
    pub fn log(&self) -> Vec<String> {
        let rows = self.event_rows().into_iter();
        let line = |row: WorkEventRow| {
            let at = (self.time)(row.at_ms);
            format!("- {at} #{} {}", row.seq.0, row.what)
        };
        rows.map(line).collect()
    }

    /// Of this pair, and neither of somebody else's record nor of a task that nobody was at.
    fn is_ours(&self, entry: &Entry) -> bool {
        let is_here = entry.runtime_session.is_none()
            || self.world.pair_of_entry(self.agent, entry) == *self.pair;
        let is_of_work = !entry.only_rebuilds_task() && !entry.is_of_task_only();
        !self.world.is_foreign(entry.seq) && is_here && is_of_work
    }

    fn fact<'e>(&self, entry: &'e Entry) -> Option<&'e ContinuityFact> {
        match &entry.kind {
            EntryKind::Continuity(ContinuityRecord { agent, fact }) if *agent == self.agent => {
                Some(fact)
            }
            _ => None,
        }
    }

    fn happened(&self, entry: &Entry) -> Option<String> {
        if let Some(fact) = self.fact(entry) {
            return Some(match fact {
                ContinuityFact::TurnFiles(files) => {
                    let mut what = vec!["turn:".to_owned()];
                    for (paths, op) in [(&files.written, "wrote"), (&files.read, "read")] {
                        if !paths.is_empty() {
                            what.push(format!("{op} {}", line(&paths.join(", "))));
                        }
                    }
                    for command in &files.unfinished {
                        what.push(format!("no end was seen of {}", line(command)));
                    }
                    if files.helpers > 0 {
                        what.push(format!("{} helpers ended", files.helpers));
                    }
                    what.join(" ")
                }
                ContinuityFact::Compacted(compaction) => {
                    format!("its context was compacted ({})", compaction.trigger)
                }
                ContinuityFact::Reloaded(reload) => {
                    format!(
                        "packet {}, by {}: {}",
                        reload.cause,
                        reload.way,
                        step(reload)
                    )
                }
                ContinuityFact::RulesChanged(change) if change.files.is_empty() => {
                    "it has the project's rules of now".to_owned()
                }
                ContinuityFact::RulesChanged(change) => {
                    let files = change.files.iter().map(|changed| changed.file.as_str());
                    let files = files.collect::<Vec<_>>().join(", ");
                    format!("rules changed while it runs: {}", line(&files))
                }
                ContinuityFact::Inferred(inference) => match &inference.failure {
                    Some(why) => format!("{} was asked in vain: {}", inference.model, line(why)),
                    None => format!(
                        "{} took {} values from its words",
                        inference.model,
                        inference.values.len()
                    ),
                },
                ContinuityFact::Forgotten { what } => {
                    let what = what.as_deref().unwrap_or("all of it");
                    format!("you had it forget {}", line(what))
                }
            });
        }
        let EntryKind::Note { note, .. } = &entry.kind else {
            return None;
        };
        (is_note_for(entry, self.agent) && is_state(*note)).then(|| {
            let (kind, tag) = (note.as_str(), StateTag::of(entry).as_str());
            format!("{kind} [{tag}]: {}", line(&entry.content))
        })
    }

    fn packet_now(&self) -> Option<Packet> {
        let mut latest = self
            .entries
            .iter()
            .rev()
            .filter(|entry| self.is_ours(entry));
        let latest = latest.find(|entry| self.happened(entry).is_some());
        let last = latest.map_or(0, |entry| entry.timestamp_ms);
        let terms = PacketTerms {
            agent: self.agent,
            pair: self.pair,
            cause: &ReloadCause::Asked,
            at: &(self.time)(last),
            chars_max: PACKET_CHARS_MAX,
        };
        Packet::of(self.world, None, terms)
    }

    fn artifacts(&self) -> impl Iterator<Item = &ArtifactSnapshot> {
        let artifacts = self.world.artifacts.iter();
        artifacts.filter(|artifact| {
            let session = artifact.runtime_session.as_ref();
            artifact.by.agent() == Some(self.agent)
                && !self.world.is_foreign(artifact.seq)
                && session.is_none_or(|of| of == self.pair)
        })
    }

    /// Of each compaction what its vendor kept of the conversation, and what the agent was given
    /// after it.
    fn summaries(&self, state: &ContinuityState) -> Vec<(u64, String)> {
        let summaries = state.compactions.iter().filter_map(|seen| {
            let at = self.entries.iter().position(|entry| entry.seq == seen.seq);
            let (before, rest) = self.entries.split_at(at?);
            let (compacted, after) = rest.split_first()?;
            // Claude is given its packet before its compaction is recorded, Codex after that.
            let given = match self.agent {
                Agent::Claude => self.given_among(before.iter().rev()),
                Agent::Codex => self.given_among(after.iter()),
            };
            let at = (self.time)(seen.at_ms);
            let summary = match compacted.content.as_str() {
                "" => "(its vendor told none)",
                summary => summary,
            };
            let mut text = format!(
                "# Compacted at {at} ({})\n\n## Summary\n\n{summary}\n",
                seen.compaction.trigger
            );
            if let Some(given) = given {
                text.push_str(&format!("\n## Given after it\n\n{}\n", given.content));
            }
            Some((seen.seq.0, text))
        });
        summaries.collect()
    }

    /// The packet of a compaction, where none other lies between.
    fn given_among<'b>(&self, entries: impl Iterator<Item = &'b Entry>) -> Option<&'b Entry> {
        let is_compaction =
            |entry: &&Entry| matches!(self.fact(entry), Some(ContinuityFact::Compacted(_)));
        let mut own = entries.take_while(|entry| !is_compaction(entry));
        own.find(|entry| {
            let offered = self.offered(entry);
            offered.is_some_and(|reload| reload.cause == ReloadCause::Compacted)
        })
    }

    fn offered<'b>(&self, entry: &'b Entry) -> Option<&'b Reload> {
        match self.fact(entry) {
            Some(ContinuityFact::Reloaded(reload)) => {
                matches!(reload.step, ReloadStep::Offered { .. }).then_some(reload)
            }
            _ => None,
        }
    }

    fn given(&self, state: &ContinuityState) -> Option<&str> {
        let packet = state.packet.as_ref()?;
        let mut offers = self
            .entries
            .iter()
            .filter(|entry| self.offered(entry).is_some());
        let offer = offers.find(|entry| entry.id == packet.id)?;
        Some(&offer.content)
    }

    fn snapshots(&self) -> String {
        let mut text = String::from("# How the files begin that it changed last\n");
        for (path, head) in self.heads {
            text.push_str(&format!("\n## {}\n\n", line(path)));
            for row in head.lines() {
                text.push_str("    ");
                text.push_str(row);
                text.push('\n');
            }
        }
        text
    }

    fn notices(&self, state: &ContinuityState) -> String {
        let mut lines: Vec<String> = waiting(self.world, self.agent, self.pair)
            .iter()
            .map(|item| line(item))
            .collect();
        lines.extend(reminder(state.turns_since_written, u64::MAX));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Packets that did not come, or of which nobody knows.
    fn errors(&self) -> String {
        let faults = self.entries.iter().filter(|entry| self.is_ours(entry));
        let faults = faults.filter_map(|entry| match self.fact(entry)? {
            ContinuityFact::Reloaded(
                reload @ Reload {
                    step: ReloadStep::NotGiven { .. } | ReloadStep::Unknown { .. },
                    ..
                },
            ) => {
                let at = (self.time)(entry.timestamp_ms);
                Some(format!("{at} #{} packet {}\n", entry.seq.0, step(reload)))
            }
            _ => None,
        });
        let mut faults: Vec<String> = faults.collect();
        faults.drain(..faults.len().saturating_sub(ERRORS_MAX));
        faults.concat()
    }
}

fn step(reload: &Reload) -> String {
    match &reload.step {
        ReloadStep::NotGiven { why } => format!("not given: {}", line(why)),
        ReloadStep::Unknown { why } => format!("unknown: {}", line(why)),
        known => known.state().to_string(),
    }
}

/// A text as one line of bounded length.
fn line(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = letters(&one_line).filter(|(letter, is_hidden)| !letter.is_control() && !is_hidden);
    let clean: String = seen.map(|(letter, _)| letter).collect();
    match clean.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// A line in a table.
fn cell(line: &str) -> String {
    line.replace('\\', "\\\\").replace('|', "\\|")
}

/// A value as JSON that can be looked at in a terminal: what nobody sees is written as its number.
fn in_file(value: &Value) -> String {
    let mut text = String::new();
    for (letter, is_hidden) in letters(&format!("{value:#}\n")) {
        if letter == '\n' || !(letter.is_control() || is_hidden) {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}
