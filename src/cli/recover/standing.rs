//! [`RecoveredState`]: where the work stands, as its notes tell: what one needs first who takes it up.

use std::collections::VecDeque;

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};
use serde_json::{Value, json};

use super::TEXT_CHARS;
use super::parts::{counted, row, words};
use crate::cli::words::short;
use crate::core::entry::{Entry, EntryKind, NoteKind};
use crate::core::policy::SignOffMode;
use crate::core::snapshot::{NoteSnapshot, Snapshot};
use crate::wire::status::FinalityStatus;

/// How many decisions are told, of the agents and of the operator each.
const DECISIONS_MAX: usize = 5;

/// How much of a note is told, in characters.
const NOTE_CHARS: usize = 1_000;

/// The latest notes of each sort, however many of other sorts came after them: a snapshot keeps
/// only the latest of all.
#[derive(Default)]
pub(super) struct RecoveredState {
    goal: Option<NoteSnapshot>,
    plan: Option<NoteSnapshot>,
    next_step: Option<NoteSnapshot>,
    /// Oldest first.
    decisions: VecDeque<NoteSnapshot>,
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
            NoteKind::Decision => {
                if self.decisions.len() == DECISIONS_MAX {
                    self.decisions.pop_front();
                }
                self.decisions.push_back(folded);
            }
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
    pub(super) fn parts(&self, world: &Snapshot) -> Vec<RecoveryPart> {
        let mut parts = vec![
            noted("Goal", self.goal.as_ref()),
            noted("Plan", self.plan.as_ref()),
            noted("Next step", self.next_step.as_ref()),
        ];
        let mut part = |title, rows: Vec<RecoveryRow>| {
            parts.push(counted(title, rows.len(), rows));
        };
        let decisions = self.decisions.iter().rev().map(|note| {
            let text = format!("{}: {}", note.by.title(), short(&note.text, TEXT_CHARS));
            row(note.at_ms, "", text)
        });
        part("Decisions", decisions.collect());
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
            let reason = decision.reason.as_deref().unwrap_or_default();
            let text = format!("{} {}", decision.verdict, short(reason, TEXT_CHARS));
            row(decision.at, decision.proposal_id.as_str(), text)
        });
        part("What you decided last", decided.collect());
        let questions = world.open_questions.values().map(|question| {
            let text = format!("{} → {}: {}", question.from, question.to, question.text);
            row(question.at_ms, question.id.as_str(), text)
        });
        part("Open questions", questions.collect());
        parts
    }
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
