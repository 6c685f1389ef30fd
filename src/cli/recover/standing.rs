//! [`RecoveredState`]: where the work stands, as its notes tell: what one needs first who takes it up.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{TEXT_CHARS, heading, line};
use crate::cli::output::Tone;
use crate::cli::report::ReportText;
use crate::cli::words::{age, short};
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
    pub(super) fn show(&self, out: &mut ReportText, world: &Snapshot, now_ms: i64) {
        for (what, note) in [
            ("Goal", &self.goal),
            ("Plan", &self.plan),
            ("Next step", &self.next_step),
        ] {
            match note {
                Some(note) => {
                    let about = format!("  by {}, {} ago", note.by, age(now_ms - note.at_ms));
                    out.spans(&[(Tone::Strong, what), (Tone::Faint, &about)]);
                    out.block("  ", short(&note.text, NOTE_CHARS));
                }
                None => out.spans(&[(Tone::Strong, what), (Tone::Faint, "  nobody noted one")]),
            }
        }
        heading(out, "Decisions", self.decisions.len());
        for note in self.decisions.iter().rev() {
            let text = format!("{}: {}", note.by, short(&note.text, TEXT_CHARS));
            line(out, now_ms - note.at_ms, "", &text);
        }
        heading(out, "Blockers", world.open_blockers.len());
        for blocker in &world.open_blockers {
            let text = format!("{}: {}", blocker.by, blocker.text);
            line(out, now_ms - blocker.at_ms, blocker.id.as_str(), &text);
        }
        heading(
            out,
            "Proposals that wait for you",
            world.pending_proposals.len(),
        );
        for pending in world.pending_proposals.values() {
            let summary = short(&pending.proposal.summary, TEXT_CHARS);
            let text = format!("{}: {summary}", pending.by);
            line(out, now_ms - pending.at_ms, pending.id.as_str(), &text);
        }
        let decided = FinalityStatus::of(world, SignOffMode::default()).decided;
        heading(out, "What you decided last", decided.len());
        for decision in &decided {
            let reason = decision.reason.as_deref().unwrap_or_default();
            let text = format!("{} {}", decision.verdict, short(reason, TEXT_CHARS));
            line(
                out,
                now_ms - decision.at,
                decision.proposal_id.as_str(),
                &text,
            );
        }
        heading(out, "Open questions", world.open_questions.len());
        for question in world.open_questions.values() {
            let text = format!("{} → {}: {}", question.from, question.to, question.text);
            line(out, now_ms - question.at_ms, question.id.as_str(), &text);
        }
    }
}
