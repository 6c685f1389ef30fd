//! [`RecoveredState`]: where the work stands, which is what somebody who resumes it needs first.

use std::collections::BTreeMap;

use ctxrelay_ui::model::{RecoveryPart, RecoveryRow};
use serde_json::{Value, json};

use super::TEXT_CHARS;
use super::pairs::RecoveredPairs;
use super::parts::{counted, counted_to_bound, row, words};
use super::told_work::{PairNote, ToldWork};
use crate::cli::offline::seen_claude::SeenClaude;
use crate::cli::text::words::short;
use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, LISTED_MAX, StatedText};
use crate::core::entry::{Entry, EntryKind};
use crate::core::id::{RuntimeSession, ThreadId};
use crate::core::policy::SignOffMode;
use crate::core::resume_command::{CODEX_GOES_ON, claude_goes_on, is_plain};
use crate::core::snapshot::Snapshot;
use crate::wire::status::{DecidedStatus, FinalityStatus};

/// How many decisions are told: the latest ones.
const DECISIONS_MAX: usize = 5;

/// How many conversations of Claude's are told.
const CONVERSATIONS_MAX: usize = 3;

/// How much of a note is told, in characters.
const NOTE_CHARS: usize = 1_000;

/// What the record alone tells of a pair's Claude.
#[derive(Default)]
pub(super) struct RecoveredState {
    /// Claude was here.
    had_claude: bool,
    /// The conversations in which it had prompts, the latest of them, newest first.
    conversations: Vec<ThreadId>,
    /// The last process that it was. It is kept when the daemon loses it: only its process tells that
    /// it has ended.
    seen_claude: Option<SeenClaude>,
}

impl RecoveredState {
    /// Takes in an entry; `own`: the pair that recovers.
    pub(super) fn take(&mut self, entry: &Entry, own: &RuntimeSession) {
        let EntryKind::AgentChanged(change) = &entry.kind else {
            return;
        };
        if change.agent != Agent::Claude || entry.pair() != *own {
            return;
        }
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

    /// For a program; `own`: the pair that recovers.
    pub(super) fn to_json(&self, world: &Snapshot, own: &RuntimeSession) -> Value {
        let work = ToldWork::of(world, own);
        let task = world.current_task(own);
        let questions = noted_questions(world, own).into_iter().map(|noted| {
            json!({
                "id": noted.id,
                "seq": noted.seq,
                "by": noted.by,
                "at": noted.at_ms,
                "text": noted.text,
            })
        });
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
            "task": task.map(|task| json!({"id": task.id, "title": task.title})),
            "goal": work.goal(),
            "plan": work.plan(),
            "nextStep": work.next_step(),
            "decisions": work.decisions().into_iter().take(DECISIONS_MAX).collect::<Vec<_>>(),
            "blockers": world.open_blockers,
            "openQuestions": world.open_questions.values().collect::<Vec<_>>(),
            "notedQuestions": questions.collect::<Vec<_>>(),
            "proposals": proposals.collect::<Vec<_>>(),
            "decided": FinalityStatus::of(world, SignOffMode::default()).decided,
        })
    }

    /// For people: what there is to reach, how, what is decided, what stands in the way.
    pub(super) fn parts(&self, world: &Snapshot, pairs: &RecoveredPairs) -> Vec<RecoveryPart> {
        let work = ToldWork::of(world, pairs.own());
        let task = world.current_task(pairs.own());
        let task = task.map(|task| RecoveryPart {
            title: "Task".to_owned(),
            note: task.id.to_string(),
            at_ms: Some(task.opened_ms),
            rows: vec![words(task.title.clone())],
        });
        let mut parts: Vec<_> = task.into_iter().collect();
        parts.extend([
            noted("Goal", work.goal(), pairs),
            noted("Plan", work.plan(), pairs),
            noted("Next step", work.next_step(), pairs),
        ]);
        let decisions = work.decisions();
        let count = decisions.len();
        let latest = decisions.into_iter().take(DECISIONS_MAX);
        let latest = latest.map(|PairNote { note, pair }| {
            let (by, mark) = (note.by.title(), pairs.mark(Some(&pair)));
            let text = format!("{by}{mark}: {}", short(&note.text, TEXT_CHARS));
            row(note.at_ms, "", text)
        });
        let no_more = is_full(world, |state| state.decisions.len());
        parts.push(counted_to_bound(
            "Decisions",
            count,
            no_more,
            latest.collect(),
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
        let open = questions(world, pairs);
        let no_more = is_full(world, |state| state.questions.len());
        parts.push(counted_to_bound(
            "Open questions",
            open.len(),
            no_more,
            open,
        ));
        parts
    }
}

/// Whether an agent's state has no room for more of a list: what was said before may have given way.
fn is_full(world: &Snapshot, listed: impl Fn(&ContinuityState) -> usize) -> bool {
    let mut states = world.continuity.values().flat_map(BTreeMap::values);
    states.any(|state| listed(state) >= LISTED_MAX)
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
    let noted = noted_questions(world, pairs.own()).into_iter();
    let noted = noted.map(|noted| {
        let text = format!("{}: {}", noted.by, short(&noted.text, TEXT_CHARS));
        row(noted.at_ms, noted.id.as_str(), text)
    });
    asked.chain(noted).collect()
}

/// What this pair's agents are told that is not known, each once: what the operator says to both stands
/// in the states of both.
fn noted_questions(world: &Snapshot, own: &RuntimeSession) -> Vec<StatedText> {
    let states = Agent::ALL.map(|agent| world.told_work_of(agent, own));
    let mut noted: Vec<_> = states
        .into_iter()
        .flat_map(|state| state.questions)
        .collect();
    noted.sort_by_key(|noted| noted.seq);
    noted.dedup_by_key(|noted| noted.seq);
    noted
}

/// The last note of a sort, whole.
fn noted(title: &str, told: Option<PairNote>, pairs: &RecoveredPairs) -> RecoveryPart {
    let note = match &told {
        Some(PairNote { note, pair }) => {
            let mark = pairs.mark(Some(pair));
            format!("by {}{mark}", note.by.title())
        }
        None => "none".to_owned(),
    };
    let told = told.map(|told| told.note);
    RecoveryPart {
        title: title.to_owned(),
        note,
        at_ms: told.as_ref().map(|told| told.at_ms),
        rows: told
            .map(|told| words(short(&told.text, NOTE_CHARS)))
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::Party;
    use crate::core::entry::NoteKind;
    use crate::core::fold::fold;
    use crate::core::id::{EntryId, Seq, SessionId};

    #[test]
    fn a_list_that_is_full_is_not_told_as_all_that_was_said() {
        let mut world = Snapshot::default();
        let mut notes = |heading: &str, kind: NoteKind, until: usize| {
            while world.counts.get("note").copied().unwrap_or_default() < until as u64 {
                let seq = Seq(world.seq.0 + 1);
                let entry = Entry {
                    id: EntryId::new(format!("n{seq}")),
                    session_id: SessionId::new("s"),
                    content: format!("said as number {seq}"),
                    seq,
                    ..Entry::new(Party::Agent(Agent::Codex), kind.into())
                };
                fold(&mut world, &entry);
            }
            let pairs = RecoveredPairs::new(RuntimeSession::default());
            let mut parts = RecoveredState::default().parts(&world, &pairs).into_iter();
            let part = parts.find(|part| part.title == heading);
            part.map(|part| part.note).unwrap_or_default()
        };
        let (few, all) = (LISTED_MAX - 1, LISTED_MAX.to_string());
        let full = format!("{all} or more");
        let decisions = [few, LISTED_MAX + 5];
        let decisions = decisions.map(|to| notes("Decisions", NoteKind::Decision, to));
        assert_eq!(decisions, [few.to_string(), full.clone()]);
        let asked = [LISTED_MAX + 5 + few, 3 * LISTED_MAX];
        let asked = asked.map(|to| notes("Open questions", NoteKind::Question, to));
        assert_eq!(asked, [few.to_string(), full]);
    }
}
