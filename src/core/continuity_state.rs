//! [`ContinuityState`]: what one agent is working on, in one runtime session.

mod inferred;
mod stated_text;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::entry::{
    ChangedRules, Compaction, ContinuityFact, Entry, Inference, NoteKind, Reload, ReloadCause,
    ReloadStep, ReloadWay, TurnFiles,
};
use crate::id::{EntryId, Seq};
pub use inferred::{INFERRED_TURNS, InferencesSeen, InferredSeen, day_of};
pub use stated_text::{PINNED, STATE_TAG, StateTag, StatedText, is_note_for, is_state};

/// How many files an agent works on, at most: the latest ones.
pub const WORKING_SET_MAX: usize = 10;

/// How many files that an agent only read are kept: the latest ones.
pub const READS_MAX: usize = 5;

/// How many values of a list are kept: the latest ones.
pub const LISTED_MAX: usize = 20;

/// How many compactions are kept: the latest ones.
const COMPACTIONS_MAX: usize = 20;

/// How many commands without an end are kept.
const UNFINISHED_MAX: usize = 5;

/// How many files of rules that differ are kept.
pub const CHANGED_RULES_MAX: usize = 20;

/// The longest path or command that is kept, in characters.
const PATH_CHARS_MAX: usize = 400;

/// What one agent is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinuityState {
    /// What is to be reached.
    pub objective: Option<StatedText>,
    pub plan: Option<StatedText>,
    /// What is taken to be the cause.
    pub hypothesis: Option<StatedText>,
    /// What must hold, oldest first, as all lists here.
    pub constraints: VecDeque<StatedText>,
    /// What is taken to be so.
    pub assumptions: VecDeque<StatedText>,
    /// What was decided.
    pub decisions: VecDeque<StatedText>,
    /// What comes next: all that was said of it in one turn.
    pub next_steps: VecDeque<StatedText>,
    /// What is not known yet.
    pub questions: VecDeque<StatedText>,
    /// What is done, as the agent says.
    pub done: VecDeque<StatedText>,
    /// The files that it wrote last.
    pub files: VecDeque<TouchedFile>,
    /// The files that it read last.
    pub reads: VecDeque<TouchedFile>,
    /// Commands that saw no end, as they were told last.
    pub unfinished: VecDeque<String>,
    /// How many turns it had begun when they were told.
    pub unfinished_turn: u64,
    /// The entry that told them.
    pub unfinished_seq: Seq,
    /// Turns that it began.
    pub turns: u64,
    /// The entry by which the last of them began.
    pub turn_seq: Seq,
    /// Turns that it began since it last said something of its state.
    pub turns_since_written: u64,
    /// Helpers of its own that came to an end.
    pub helpers_total: u64,
    /// Compactions of its context, the latest of them.
    pub compactions: VecDeque<CompactionSeen>,
    /// All of them.
    pub compactions_total: u64,
    /// The last packet that it was given or is to be given.
    pub packet: Option<PacketSeen>,
    /// The agent itself, or its program, told something of this: also where the operator has replaced
    /// all of that since, or had it forgotten.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_own: bool,
    /// Rules of the project that are not what it was told any more.
    pub rules_changed: Vec<RulesSeen>,
    /// What a model took from its words, as long as nobody has said more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inferred: Option<InferredSeen>,
    /// When a model was asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inferences: Option<InferencesSeen>,
}

/// A file that an agent touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TouchedFile {
    /// Below the project's folder where it is.
    pub path: String,
    /// The entry that says so.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
}

/// A file of rules that is not what an agent was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RulesSeen {
    /// The entry that says so.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What differs.
    pub changed: ChangedRules,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSeen {
    /// Its entry.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What its vendor told of it.
    pub compaction: Compaction,
    /// How many turns the agent had begun by then.
    #[serde(default)]
    pub turn: u64,
}

/// A packet, and what is known of its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PacketSeen {
    /// Its first entry, which holds the text.
    pub id: EntryId,
    /// Where that stands.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Why.
    pub cause: ReloadCause,
    pub way: ReloadWay,
    /// How far it came.
    pub step: ReloadStep,
    /// How many turns the agent had begun by then.
    #[serde(default)]
    pub turn: u64,
}

impl PacketSeen {
    /// What the record says of it, for an entry that says more.
    pub fn as_reload(&self) -> Reload {
        Reload {
            packet_id: self.id.clone(),
            cause: self.cause.clone(),
            way: self.way.clone(),
            step: self.step.clone(),
        }
    }
}

impl ContinuityState {
    /// A turn of the agent's begins.
    pub fn turn_began(&mut self) {
        self.turns = self.turns.saturating_add(1);
        self.turns_since_written = self.turns_since_written.saturating_add(1);
        let turns = self.turns;
        // By the count of turns and not by what they touched: one turn may tell of its files in
        // several parts, or of none.
        if turns > self.unfinished_turn.saturating_add(1) {
            self.unfinished.clear();
        }
        self.inferred
            .take_if(|inferred| turns > inferred.turn.saturating_add(INFERRED_TURNS));
    }

    /// Whether a model is to be asked what the agent is at: it has marked nothing for so many turns,
    /// and none was asked in as many.
    pub fn is_inference_due(&self, every_turns: u64) -> bool {
        let asked = self.inferences.map_or(0, |asked| asked.turn);
        self.inferred.is_none()
            && self.turns_since_written >= every_turns
            && (self.inferences.is_none() || self.turns.saturating_sub(asked) >= every_turns)
    }

    /// A note of its own, or one of the operator's for it.
    pub fn take_note(&mut self, entry: &Entry, kind: NoteKind) {
        if !is_state(kind) {
            return;
        }
        let said = StatedText::of(entry, self.turns);
        if entry.source.agent().is_some() {
            self.turns_since_written = 0;
            self.is_own = true;
        }
        if entry.source.agent().is_some() || said.tag == StateTag::Auto {
            self.inferred = None;
        }
        match kind {
            NoteKind::Goal => replace(&mut self.objective, said),
            NoteKind::Plan => replace(&mut self.plan, said),
            NoteKind::Hypothesis => replace(&mut self.hypothesis, said),
            NoteKind::Decision => list(&mut self.decisions, said),
            NoteKind::Constraint => list(&mut self.constraints, said),
            NoteKind::Assumption => list(&mut self.assumptions, said),
            NoteKind::Question => list(&mut self.questions, said),
            NoteKind::NextStep => {
                // What a later turn says is all that comes next; what only is inferred waits.
                let steps = &mut self.next_steps;
                let last = steps.iter().rfind(|step| !step.is_beside(&said));
                if last.is_some_and(|last| !said.replaces(last)) {
                    return;
                }
                let is_same = |step: &StatedText| step.turn == said.turn && step.tag == said.tag;
                steps.retain(|step| step.is_beside(&said) || is_same(step));
                list(steps, said);
            }
            NoteKind::Done => {
                self.next_steps.retain(|step| step.is_beside(&said));
                list(&mut self.done, said);
            }
            NoteKind::Note | NoteKind::Blocker => {}
        }
    }

    /// A fact about the agent's context.
    pub fn take_fact(&mut self, entry: &Entry, fact: &ContinuityFact) {
        self.is_own |= entry.source.agent().is_some();
        match fact {
            ContinuityFact::TurnFiles(files) => {
                let carried = entry.carried.as_ref();
                let held = carried.and_then(|carried| carried.held.as_deref());
                self.take_files(entry, held.unwrap_or(files));
            }
            ContinuityFact::Compacted(compaction) => {
                self.compactions_total = self.compactions_total.saturating_add(1);
                let seen = CompactionSeen {
                    seq: entry.seq,
                    at_ms: entry.timestamp_ms,
                    compaction: compaction.clone(),
                    turn: self.turns,
                };
                push(&mut self.compactions, seen, COMPACTIONS_MAX);
            }
            ContinuityFact::Reloaded(reload) => self.take_packet(entry, reload),
            ContinuityFact::RulesChanged(change) => {
                let files = change.files.iter().take(CHANGED_RULES_MAX);
                let seen = files.map(|changed| RulesSeen {
                    seq: entry.seq,
                    at_ms: entry.timestamp_ms,
                    changed: changed.clone(),
                });
                self.rules_changed = seen.collect();
            }
            ContinuityFact::Inferred(inference) => self.take_inference(entry, inference),
            ContinuityFact::Forgotten { what: Some(what) } => self.forget(what),
            ContinuityFact::Forgotten { what: None } => {
                *self = Self {
                    turns: self.turns,
                    turn_seq: self.turn_seq,
                    helpers_total: self.helpers_total,
                    compactions: std::mem::take(&mut self.compactions),
                    compactions_total: self.compactions_total,
                    packet: self.packet.take(),
                    is_own: self.is_own,
                    rules_changed: std::mem::take(&mut self.rules_changed),
                    inferences: self.inferences,
                    ..Self::default()
                };
            }
        }
    }

    /// The latest compaction, where no packet followed it.
    pub fn unmended_compaction(&self) -> Option<&CompactionSeen> {
        let packet = self.packet.as_ref().map(|packet| packet.seq);
        let latest = self.compactions.back();
        latest.filter(|compaction| packet < Some(compaction.seq))
    }

    /// Whether the latest compaction had its packet, the agent is known not to have it, and has gone
    /// on without it for no more than a turn.
    pub fn has_lost_packet(&self) -> bool {
        let latest = self.compactions.back().zip(self.packet.as_ref());
        latest.is_some_and(|(compaction, packet)| {
            packet.seq > compaction.seq
                && packet.cause == ReloadCause::Compacted
                && matches!(packet.step, ReloadStep::NotGiven { .. })
                && self.turns <= packet.turn.saturating_add(1)
        })
    }

    /// Every value that was said, in the order in which it is shown.
    pub fn stated(&self) -> impl Iterator<Item = &StatedText> {
        let single = [&self.objective, &self.plan, &self.hypothesis];
        let listed = [
            &self.constraints,
            &self.assumptions,
            &self.decisions,
            &self.next_steps,
            &self.questions,
            &self.done,
        ];
        let single = single.into_iter().flatten();
        single.chain(listed.into_iter().flatten())
    }

    /// What it holds of what this entry told of a turn.
    pub(crate) fn held_of(&self, seq: Seq) -> TurnFiles {
        let of = |kept: &VecDeque<TouchedFile>| {
            let kept = kept.iter().filter(|file| file.seq == seq);
            kept.map(|file| file.path.clone()).collect()
        };
        let unfinished = self.unfinished.iter();
        let unfinished = unfinished.filter(|_| self.unfinished_seq == seq);
        TurnFiles {
            read: of(&self.reads),
            written: of(&self.files),
            unfinished: unfinished.cloned().collect(),
            helpers: 0,
        }
    }

    /// Whether it holds something of this name: a file's path, or the id of the entry that said a
    /// value.
    pub fn knows(&self, what: &str) -> bool {
        let mut files = self.files.iter().chain(&self.reads);
        files.any(|file| file.path == what) || self.stated().any(|said| said.id.as_str() == what)
    }

    /// Whether there is nothing of its work that could be forgotten.
    pub fn is_blank(&self) -> bool {
        let has_files = !(self.files.is_empty() && self.reads.is_empty());
        !has_files && self.unfinished.is_empty() && self.stated().next().is_none()
    }

    fn take_files(&mut self, entry: &Entry, files: &TurnFiles) {
        for (paths, kept, max) in [
            (&files.written, &mut self.files, WORKING_SET_MAX),
            (&files.read, &mut self.reads, READS_MAX),
        ] {
            for path in paths {
                let path: String = path.chars().take(PATH_CHARS_MAX).collect();
                kept.retain(|file| file.path != path);
                let file = TouchedFile {
                    path,
                    seq: entry.seq,
                    at_ms: entry.timestamp_ms,
                };
                push(kept, file, max);
            }
        }
        self.helpers_total = self.helpers_total.saturating_add(files.helpers);
        if !files.unfinished.is_empty() {
            self.unfinished.clear();
            self.unfinished_turn = self.turns;
            self.unfinished_seq = entry.seq;
        }
        for command in &files.unfinished {
            let command = command.chars().take(PATH_CHARS_MAX).collect();
            push(&mut self.unfinished, command, UNFINISHED_MAX);
        }
    }

    fn take_inference(&mut self, entry: &Entry, inference: &Inference) {
        let (turn, day) = (self.turns, day_of(entry.timestamp_ms));
        let before = self.inferences.filter(|asked| asked.day == day);
        let times = before.map_or(0, |asked| asked.times).saturating_add(1);
        self.inferences = Some(InferencesSeen { turn, day, times });
        self.inferred = (!inference.values.is_empty()).then(|| InferredSeen {
            seq: entry.seq,
            at_ms: entry.timestamp_ms,
            turn,
            values: inference.values.clone(),
        });
    }

    fn take_packet(&mut self, entry: &Entry, reload: &Reload) {
        if let ReloadStep::Offered { .. } = reload.step {
            self.packet = Some(PacketSeen {
                id: reload.packet_id.clone(),
                seq: entry.seq,
                at_ms: entry.timestamp_ms,
                cause: reload.cause.clone(),
                way: reload.way.clone(),
                step: reload.step.clone(),
                turn: self.turns,
            });
        } else if let Some(packet) = &mut self.packet
            && packet.id == reload.packet_id
        {
            packet.way = reload.way.clone();
            packet.step = reload.step.clone();
        }
    }

    fn forget(&mut self, what: &str) {
        self.files.retain(|file| file.path != what);
        self.reads.retain(|file| file.path != what);
        self.keep_stated(|said| said.id.as_str() != what);
    }

    /// Drops every value that is not to be kept.
    pub(crate) fn keep_stated(&mut self, is_kept: impl Fn(&StatedText) -> bool) {
        for single in [&mut self.objective, &mut self.plan, &mut self.hypothesis] {
            single.take_if(|said| !is_kept(said));
        }
        for listed in [
            &mut self.constraints,
            &mut self.assumptions,
            &mut self.decisions,
            &mut self.next_steps,
            &mut self.questions,
            &mut self.done,
        ] {
            listed.retain(&is_kept);
        }
    }
}

fn replace(place: &mut Option<StatedText>, said: StatedText) {
    if place.as_ref().is_none_or(|old| said.replaces(old)) {
        *place = Some(said);
    }
}

/// Adds to a list; what was said before in the same words, for no other task, moves to its end. Where
/// it is full, what was said first for another task gives way, then what an agent said first, and what
/// the operator said only to the operator.
fn list(listed: &mut VecDeque<StatedText>, said: StatedText) {
    let is_same =
        |old: &StatedText| old.text == said.text && (old.task == said.task || old.outlasts(&said));
    let same = listed.iter().position(is_same);
    let old = same.and_then(|at| listed.remove(at));
    let said = old.filter(|old| old.outlasts(&said)).unwrap_or(said);
    if listed.len() >= LISTED_MAX {
        let beside = listed.iter().position(|old| old.is_beside(&said));
        let an_agents = || listed.iter().position(|old| old.tag != StateTag::You);
        match beside.or_else(an_agents) {
            Some(at) => listed.remove(at),
            None if said.tag == StateTag::You => listed.pop_front(),
            None => return,
        };
    }
    listed.push_back(said);
}

fn push<T>(kept: &mut VecDeque<T>, item: T, max: usize) {
    if kept.len() == max {
        kept.pop_front();
    }
    kept.push_back(item);
}
