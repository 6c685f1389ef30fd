//! [`RecoveredState`]: where the work stands, as its notes tell: what one needs first who takes it up.

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};
use serde_json::{Value, json};

use super::TEXT_CHARS;
use super::counted_latest::CountedLatest;
use super::parts::{counted, row, words};
use crate::cli::words::short;
use crate::core::agent::Agent;
use crate::core::entry::{Entry, EntryKind, NoteKind};
use crate::core::id::RuntimeSession;
use crate::core::policy::SignOffMode;
use crate::core::snapshot::{NoteSnapshot, Snapshot};
use crate::wire::status::{DecidedStatus, FinalityStatus};

/// How many decisions are told, of the agents and of the operator each.
const DECISIONS_MAX: usize = 5;

/// How much of a note is told, in characters.
const NOTE_CHARS: usize = 1_000;

/// The latest notes of each sort, however many of other sorts came after them: a snapshot keeps
/// only the latest of all.
pub(super) struct RecoveredState {
    goal: Option<NoteSnapshot>,
    plan: Option<NoteSnapshot>,
    next_step: Option<NoteSnapshot>,
    decisions: CountedLatest<NoteSnapshot>,
}

impl Default for RecoveredState {
    fn default() -> Self {
        Self {
            goal: None,
            plan: None,
            next_step: None,
            decisions: CountedLatest::new(DECISIONS_MAX),
        }
    }
}

impl RecoveredState {
    /// Takes in an entry that was just folded into a world.
    pub(super) fn take(&mut self, entry: &Entry, world: &Snapshot) {
        let EntryKind::Note { note, .. } = &entry.kind else {
            return;
        };
        let Some(folded) = world.notes.back().cloned() else {
            return;
        };
        match note {
            NoteKind::Goal => self.goal = Some(folded),
            NoteKind::Plan => self.plan = Some(folded),
            NoteKind::NextStep => self.next_step = Some(folded),
            NoteKind::Decision => self.decisions.push(folded),
            // Blockers are open or not, which the world knows.
            _ => {}
        }
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
            "goal": self.goal,
            "plan": self.plan,
            "nextStep": self.next_step,
            "decisions": self.decisions.iter().rev().collect::<Vec<_>>(),
            "blockers": world.open_blockers,
            "openQuestions": world.open_questions.values().collect::<Vec<_>>(),
            "proposals": proposals.collect::<Vec<_>>(),
            "decided": FinalityStatus::of(world, SignOffMode::default()).decided,
        })
    }

    /// For people: what there is to reach, how, what is decided, what stands in the way.
    pub(super) fn parts(&self, world: &Snapshot, pair: &RuntimeSession) -> Vec<RecoveryPart> {
        let mut parts = vec![
            noted("Goal", self.goal.as_ref()),
            noted("Plan", self.plan.as_ref()),
            noted("Next step", self.next_step.as_ref()),
        ];
        let decisions = self.decisions.iter().rev().map(|note| {
            let text = format!("{}: {}", note.by.title(), short(&note.text, TEXT_CHARS));
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
        part("Open questions", questions(world, pair));
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
fn questions(world: &Snapshot, pair: &RuntimeSession) -> Vec<RecoveryRow> {
    let asked = world.open_questions.values().map(|question| {
        let text = format!("{} → {}: {}", question.from, question.to, question.text);
        row(question.at_ms, question.id.as_str(), text)
    });
    let states = Agent::ALL.into_iter();
    let states = states.filter_map(|agent| world.state_of(agent, pair));
    let noted = states.flat_map(|state| &state.questions).map(|noted| {
        let text = format!("{}: {}", noted.by, short(&noted.text, TEXT_CHARS));
        row(noted.at_ms, noted.id.as_str(), text)
    });
    asked.chain(noted).collect()
}

/// The last note of a sort, whole.
fn noted(title: &str, note: Option<&NoteSnapshot>) -> RecoveryPart {
    RecoveryPart {
        title: title.to_owned(),
        note: note.map_or_else(
            || "nobody noted one".to_owned(),
            |note| format!("by {}", note.by.title()),
        ),
        at_ms: note.map(|note| note.at_ms),
        rows: note
            .map(|note| words(short(&note.text, NOTE_CHARS)))
            .into_iter()
            .collect(),
    }
}
