//! [`RecoveredState`]: where the work stands, as its notes tell: what one needs first who takes it up.

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};
use serde_json::{Value, json};

use super::TEXT_CHARS;
use super::counted_latest::CountedLatest;
use super::pair_note::{LatestNote, PairNote};
use super::pairs::RecoveredPairs;
use super::parts::{counted, row, words};
use super::seen_claude::SeenClaude;
use crate::cli::words::short;
use crate::core::agent::Agent;
use crate::core::entry::{Entry, EntryKind, NoteKind};
use crate::core::id::{RuntimeSession, ThreadId};
use crate::core::policy::SignOffMode;
use crate::core::resume_command::{CODEX_GOES_ON, claude_goes_on, is_plain};
use crate::core::snapshot::{NoteSnapshot, Snapshot};
use crate::wire::status::{DecidedStatus, FinalityStatus};

/// How many decisions are told, of the agents and of the operator each.
const DECISIONS_MAX: usize = 5;

/// How many conversations of Claude's are told.
const CONVERSATIONS_MAX: usize = 3;

/// How much of a note is told, in characters.
const NOTE_CHARS: usize = 1_000;

/// The latest notes of each sort, however many of other sorts came after them: a snapshot keeps
/// only the latest of all.
pub(super) struct RecoveredState {
    goal: LatestNote,
    plan: LatestNote,
    next_step: LatestNote,
    /// Of all pairs: what is decided holds for the project.
    decisions: CountedLatest<PairNote>,
    last_note: LatestNote,
    /// Claude was here.
    had_claude: bool,
    /// The conversations in which it had prompts, the latest of them, newest first.
    conversations: Vec<ThreadId>,
    /// The last process that it was. It is kept when the daemon loses it: only its process tells that
    /// it has ended.
    seen_claude: Option<SeenClaude>,
}

impl Default for RecoveredState {
    fn default() -> Self {
        Self {
            goal: LatestNote::default(),
            plan: LatestNote::default(),
            next_step: LatestNote::default(),
            decisions: CountedLatest::new(DECISIONS_MAX),
            last_note: LatestNote::default(),
            had_claude: false,
            conversations: Vec::new(),
            seen_claude: None,
        }
    }
}

impl RecoveredState {
    /// Takes in an entry that was just folded into a world; `own`: the pair that recovers.
    pub(super) fn take(&mut self, entry: &Entry, world: &Snapshot, own: &RuntimeSession) {
        let pair = entry.pair();
        let note = match &entry.kind {
            EntryKind::Note { note, .. } => note,
            EntryKind::AgentChanged(change) if change.agent == Agent::Claude && pair == *own => {
                self.had_claude = true;
                if let Some(id) = &change.thread_id {
                    self.conversations.retain(|known| known != id);
                    self.conversations.insert(0, id.clone());
                    self.conversations.truncate(CONVERSATIONS_MAX);
                }
                if let Some(pid) = change.pid {
                    let at_ms = entry.timestamp_ms;
                    self.seen_claude = Some(SeenClaude { pid, at_ms });
                }
                return;
            }
            _ => return,
        };
        let Some(folded) = world.notes.back().cloned() else {
            return;
        };
        let folded = PairNote { note: folded, pair };
        self.last_note.take(folded.clone(), own);
        match note {
            NoteKind::Goal => self.goal.take(folded, own),
            NoteKind::Plan => self.plan.take(folded, own),
            NoteKind::NextStep => self.next_step.take(folded, own),
            NoteKind::Decision => self.decisions.push(folded),
            // Blockers are open or not, which the world knows.
            _ => {}
        }
    }

    /// The last thing that was noted.
    pub(super) fn last_note(&self) -> Option<&NoteSnapshot> {
        self.last_note.told().map(|told| &told.note)
    }

    /// How a person takes an agent's conversation up again.
    pub(super) fn resume_command(&self, agent: Agent) -> String {
        match agent {
            Agent::Codex => CODEX_GOES_ON.to_owned(),
            Agent::Claude => claude_goes_on(self.had_claude.then(|| self.conversations.first())),
        }
    }

    /// The conversations of this pair's Claude that can be taken up again, newest first.
    pub(super) fn conversations(&self) -> impl Iterator<Item = &str> {
        let known = self.conversations.iter().map(ThreadId::as_str);
        known.filter(|id| is_plain(id))
    }

    /// The process of this pair's Claude, as far as the record named one.
    pub(super) fn seen_claude(&self) -> Option<SeenClaude> {
        self.seen_claude
    }

    /// For a program.
    pub(super) fn to_json(&self, world: &Snapshot) -> Value {
        let proposals = world.pending_proposals.values().map(|pending| {
            json!({
                "id": pending.id,
                "by": pending.by,
                "at": pending.at_ms,
                "summary": pending.proposal.summary,
                "blockers": world.blockers(&pending.proposal),
            })
        });
        json!({
            "conversations": {"claude": self.conversations().collect::<Vec<_>>()},
            "goal": self.goal.told(),
            "plan": self.plan.told(),
            "nextStep": self.next_step.told(),
            "decisions": self.decisions.iter().rev().collect::<Vec<_>>(),
            "blockers": world.open_blockers,
            "openQuestions": world.open_questions.values().collect::<Vec<_>>(),
            "proposals": proposals.collect::<Vec<_>>(),
            "decided": FinalityStatus::of(world, SignOffMode::default()).decided,
        })
    }

    /// For people: what there is to reach, how, what is decided, what stands in the way.
    pub(super) fn parts(&self, world: &Snapshot, pairs: &RecoveredPairs) -> Vec<RecoveryPart> {
        let mut parts = vec![
            noted("Goal", &self.goal, pairs),
            noted("Plan", &self.plan, pairs),
            noted("Next step", &self.next_step, pairs),
        ];
        let decisions = self.decisions.iter().rev().map(|PairNote { note, pair }| {
            let (by, mark) = (note.by.title(), pairs.mark(Some(pair)));
            let text = format!("{by}{mark}: {}", short(&note.text, TEXT_CHARS));
            row(note.at_ms, "", text)
        });
        parts.push(counted(
            "Decisions",
            self.decisions.total(),
            decisions.collect(),
        ));
        let mut part = |title, rows: Vec<RecoveryRow>| {
            parts.push(counted(title, rows.len(), rows));
        };
        let blockers = world.open_blockers.iter().map(|blocker| {
            let text = format!("{}: {}", blocker.by.title(), blocker.text);
            row(blocker.at_ms, blocker.id.as_str(), text)
        });
        part("Blockers", blockers.collect());
        let proposals = world.pending_proposals.values().map(|pending| {
            let summary = short(&pending.proposal.summary, TEXT_CHARS);
            let text = format!("{}: {summary}", pending.by);
            row(pending.at_ms, pending.id.as_str(), text)
        });
        part("Proposals that wait for you", proposals.collect());
        let decided = FinalityStatus::of(world, SignOffMode::default()).decided;
        let decided = decided.iter().map(|decision| {
            row(
                decision.at,
                decision.proposal_id.as_str(),
                verdict(world, decision),
            )
        });
        part("What you decided last", decided.collect());
        part("Open questions", questions(world, pairs));
        parts
    }
}

/// What was said of which work, and why where that was said too.
fn verdict(world: &Snapshot, decision: &DecidedStatus) -> String {
    let mut text = decision.verdict.to_string();
    if let Some(decided) = world.proposal(&decision.proposal_id) {
        let summary = short(&decided.proposal.summary, TEXT_CHARS);
        text.push_str(&format!(" {}: {summary}", decided.by));
    }
    let reason = decision.reason.as_deref().unwrap_or_default();
    if !reason.is_empty() {
        text.push_str(&format!("; why: {}", short(reason, TEXT_CHARS)));
    }
    text
}

/// What was asked of an agent and has no answer, and what the agents note that they do not know.
fn questions(world: &Snapshot, pairs: &RecoveredPairs) -> Vec<RecoveryRow> {
    let asked = world.open_questions.values().map(|question| {
        let mark = pairs.mark(question.runtime_session.as_ref());
        let (from, to) = (&question.from, question.to);
        let text = format!("{from} → {to}{mark}: {}", question.text);
        row(question.at_ms, question.id.as_str(), text)
    });
    let states = Agent::ALL.into_iter();
    let states = states.filter_map(|agent| world.work_of(agent, pairs.own()));
    let noted = states.flat_map(|state| &state.questions).map(|noted| {
        let text = format!("{}: {}", noted.by, short(&noted.text, TEXT_CHARS));
        row(noted.at_ms, noted.id.as_str(), text)
    });
    asked.chain(noted).collect()
}

/// The last note of a sort, whole.
fn noted(title: &str, latest: &LatestNote, pairs: &RecoveredPairs) -> RecoveryPart {
    let told = latest.told();
    let note = told.map(|told| &told.note);
    RecoveryPart {
        title: title.to_owned(),
        note: told.map_or_else(
            || "nobody noted one".to_owned(),
            |told| {
                let mark = pairs.mark(Some(&told.pair));
                format!("by {}{mark}", told.note.by.title())
            },
        ),
        at_ms: note.map(|note| note.at_ms),
        rows: note
            .map(|note| words(short(&note.text, NOTE_CHARS)))
            .into_iter()
            .collect(),
    }
}
