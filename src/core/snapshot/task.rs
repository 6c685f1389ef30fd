//! [`TaskSnapshot`]: a task that can travel, as the record tells it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{FindingSnapshot, FindingState, Snapshot};
use crate::agent::Party;
use crate::continuity_state::StatedText;
use crate::entry::{ArtifactStatus, CommandRun, Entry, TaskRecord};
use crate::id::{CapsuleId, EntryId, RuntimeSession, Seq};

/// How many tasks can be open at a time.
pub const TASKS_OPEN_MAX: usize = 16;

/// How many closed tasks are kept with all that is said of them: the latest ones.
pub const TASKS_CLOSED_MAX: usize = 32;

/// Of how many imported capsules the digest is kept: the latest ones.
pub const IMPORTED_MAX: usize = 256;

/// How many statements of a kind, files, handoffs and claims a task keeps: the latest ones.
pub const TASK_ITEMS_MAX: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSnapshot {
    pub id: CapsuleId,
    /// Its title, one line.
    pub title: String,
    /// Where it was opened.
    pub seq: Seq,
    /// Where it got its title.
    pub named: Seq,
    /// When it was opened, ms since the epoch.
    pub opened_ms: i64,
    /// Its latest entry.
    pub head: Seq,
    /// When that was recorded, ms since the epoch.
    pub updated_ms: i64,
    pub end: Option<TaskEnd>,
    /// What is to be reached.
    pub goal: Option<StatedText>,
    /// What agents say is to be reached, where the operator said it: each one's latest.
    #[serde(default)]
    pub agent_goals: VecDeque<StatedText>,
    /// What is taken to be the cause.
    pub hypothesis: Option<StatedText>,
    /// What must hold, oldest first, as all lists here.
    pub constraints: VecDeque<StatedText>,
    /// What was decided.
    pub decisions: VecDeque<StatedText>,
    /// What is taken to be so.
    pub assumptions: VecDeque<StatedText>,
    /// What is not known yet.
    pub questions: VecDeque<StatedText>,
    /// What comes next.
    pub next_steps: VecDeque<StatedText>,
    /// Work that was handed over for it.
    pub handoffs: VecDeque<TaskHandoff>,
    /// Files that the agents touched for it.
    pub files: VecDeque<TaskFile>,
    /// What the agents claim of it.
    pub claims: VecDeque<TaskClaim>,
    /// How many of each list are older than what is kept, by its name in a capsule.
    pub dropped: BTreeMap<String, u64>,
    /// Which those are, as numbers made of their words: what is dropped, said again and dropped again
    /// is one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub forgotten: BTreeSet<u64>,
    /// Its capsule, as it was kept last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptDigest>,
}

/// A capsule as it was kept: its file lies where agents can write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDigest {
    /// The entry that says so.
    pub seq: Seq,
    /// The SHA-256 that its file has, in lower-case hex.
    pub digest: String,
}

/// The task to which the work of a runtime session belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentTask {
    /// The task.
    pub id: CapsuleId,
    /// The entry that made it so.
    pub seq: Seq,
}

/// A capsule from elsewhere, as it was imported last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedCapsule {
    /// The entry that says so.
    pub seq: Seq,
    /// The SHA-256 that its file had, in lower-case hex.
    pub digest: String,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskEnd {
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What came of it, where the operator said.
    pub outcome: Option<String>,
    /// The entry that says so; none in what earlier versions kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EntryId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskHandoff {
    pub id: EntryId,
    /// Where it stands.
    #[serde(default)]
    pub seq: Seq,
    /// Who handed over.
    pub from: Party,
    /// To whom.
    pub to: Option<Party>,
    pub ask: String,
    /// The operator had this very task told by it.
    #[serde(default)]
    pub tells_task: bool,
    /// Nobody owes an answer to it any more. Builds that know no other end of a handoff read it by
    /// this name.
    #[serde(rename = "isAnswered")]
    pub is_over: bool,
    /// It is over without its receiver's answer.
    #[serde(default)]
    pub is_unanswered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskFile {
    /// Below the project's folder where it is.
    pub path: String,
    /// Who touched it last.
    pub by: Party,
    /// It was written, and not only read.
    pub is_written: bool,
    /// The entry that says so.
    pub seq: Seq,
}

/// What an agent says that something came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskClaim {
    pub id: EntryId,
    /// Where its entry stands.
    pub seq: Seq,
    /// One line.
    pub title: String,
    /// Its outcome.
    pub status: ArtifactStatus,
    /// The command whose end it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<CommandRun>,
}

impl TaskSnapshot {
    /// One that begins.
    pub fn new(id: CapsuleId, title: String, seq: Seq, at_ms: i64) -> Self {
        Self {
            id,
            title,
            seq,
            named: seq,
            opened_ms: at_ms,
            head: seq,
            updated_ms: at_ms,
            end: None,
            goal: None,
            agent_goals: VecDeque::new(),
            hypothesis: None,
            constraints: VecDeque::new(),
            decisions: VecDeque::new(),
            assumptions: VecDeque::new(),
            questions: VecDeque::new(),
            next_steps: VecDeque::new(),
            handoffs: VecDeque::new(),
            files: VecDeque::new(),
            claims: VecDeque::new(),
            dropped: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            kept: None,
        }
    }

    /// Whether it goes on.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Everything that was said of it.
    pub fn stated(&self) -> impl Iterator<Item = &StatedText> {
        let single = [&self.goal, &self.hypothesis];
        let listed = [
            &self.agent_goals,
            &self.constraints,
            &self.decisions,
            &self.assumptions,
            &self.questions,
            &self.next_steps,
        ];
        let single = single.into_iter().flatten();
        single.chain(listed.into_iter().flatten())
    }

    /// Has the entry that opens it in another file count the handoff that it began with, which is no
    /// work of the task and does not go on there.
    pub fn leave_begun(&self, record: &mut TaskRecord) {
        let begun = record.handoff.take();
        if self
            .handoffs
            .iter()
            .any(|it| Some(&it.id) == begun.as_ref())
        {
            *record.dropped.entry("handoffs".to_owned()).or_default() += 1;
        }
    }

    /// Whether an entry that hands work over is work of this task.
    pub fn has_handoff(&self, entry: &Entry) -> bool {
        let is_its = entry.task().as_ref() == Some(&self.id);
        is_its && self.handoffs.iter().any(|it| it.id == entry.id)
    }
}

impl Snapshot {
    pub fn current_task(&self, pair: &RuntimeSession) -> Option<&TaskSnapshot> {
        self.tasks.get(&self.current_tasks.get(pair)?.id)
    }

    /// Whether the record says that just the capsule with this digest is kept of a task.
    pub fn has_kept(&self, task: &TaskSnapshot, digest: &str) -> bool {
        self.tells_of_kept(task) && task.kept.as_ref().is_some_and(|kept| kept.digest == digest)
    }

    /// As [`Self::has_kept`] of a task that is closed; none where the record tells nothing since its
    /// close: that was cut off, or is of an earlier version.
    pub fn has_kept_since_close(&self, task: &TaskSnapshot, digest: &str) -> Option<bool> {
        let closed = task.end.as_ref()?.seq?;
        let kept = task.kept.as_ref().filter(|kept| kept.seq > closed)?;
        (kept.seq > self.foreign_through).then(|| kept.digest == digest)
    }

    /// Whether the record says that something is kept of a task.
    pub fn tells_of_kept(&self, task: &TaskSnapshot) -> bool {
        let kept = task.kept.as_ref();
        kept.is_some_and(|kept| kept.seq > self.foreign_through)
    }

    /// The entries that make the open tasks what they are, the latest run of each gate among them; and
    /// those that tell of imported capsules, whose files stay, and of findings that the operator does
    /// not count, which another import would bring back.
    pub fn entries_of_open_tasks(&self) -> BTreeSet<Seq> {
        let mut entries = BTreeSet::new();
        if self.open_tasks().next().is_some() {
            entries.extend(self.gates.values().map(|gate| gate.seq));
        }
        for task in self.open_tasks() {
            entries.extend([task.seq, task.named]);
            entries.extend(task.stated().map(|said| said.seq));
            entries.extend(task.files.iter().map(|file| file.seq));
            entries.extend(task.claims.iter().map(|claim| claim.seq));
            entries.extend(task.handoffs.iter().map(|handoff| handoff.seq));
            entries.extend(task.kept.iter().map(|kept| kept.seq));
            let findings = self.findings.values();
            let own = findings.filter(|finding| finding.task.as_ref() == Some(&task.id));
            entries.extend(own.flat_map(FindingSnapshot::entries));
        }
        let current = self.current_tasks.values();
        entries.extend(current.map(|current| current.seq));
        entries.extend(self.imported.values().map(|imported| imported.seq));
        let findings = self.findings.values();
        let dismissed = findings.filter(|finding| finding.state == FindingState::Dismissed);
        entries.extend(dismissed.flat_map(FindingSnapshot::entries));
        entries
    }

    /// The tasks that go on.
    pub fn open_tasks(&self) -> impl Iterator<Item = &TaskSnapshot> {
        self.tasks.values().filter(|task| task.is_open())
    }
}
