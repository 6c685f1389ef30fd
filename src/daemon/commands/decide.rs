//! Decisions of the operator: finality, and clearing the session.

use super::check_length;
use super::record::not_found;
use crate::core::agent::Party;
use crate::core::entry::{
    AgentChanged, EntryKind, FinalityDecision, Predecessor, TurnRecord, TurnStatus, WorkTree,
};
use crate::core::id::{SessionId, ThreadId};
use crate::core::snapshot::Snapshot;
use crate::daemon::event::{Answer, TreePurpose};
use crate::daemon::inbox::Wants;
use crate::daemon::run::{Daemon, answer, now_ms};
use crate::store::{ledger, session};
use crate::wire::control::{ClearParams, Cleared, DecideParams, Recorded, Refusal, Reply};

impl Daemon {
    pub(in crate::daemon) fn on_tree(&mut self, purpose: TreePurpose, tree: Option<WorkTree>) {
        match purpose {
            TreePurpose::Propose {
                conn,
                params,
                reply,
            } => self.propose(conn, params, tree, reply),
            TreePurpose::Decide { params, reply } => self.decide(params, tree, reply),
        }
    }

    fn decide(&mut self, params: DecideParams, tree: Option<WorkTree>, reply: Answer) {
        let Some(pending) = self.world.pending_proposals.get(&params.proposal_id) else {
            return answer(
                reply,
                Err(not_found(
                    &format!("pending proposal {}", params.proposal_id),
                    "see `ctxrelay finality list`; it may be decided already",
                )),
            );
        };
        if self.deciding.contains(&params.proposal_id) {
            return answer(
                reply,
                Err(Refusal::new(
                    "in_flight",
                    "a decision on this proposal is just being recorded",
                    "look again: `ctxrelay finality list`",
                )),
            );
        }
        let reason = params.reason.filter(|reason| !reason.trim().is_empty());
        if !params.approve && reason.is_none() {
            return answer(
                reply,
                Err(Refusal::new(
                    "invalid_arguments",
                    "a rejection needs a reason",
                    "say what has to change: the agents read it",
                )),
            );
        }
        if let Some(Err(refusal)) = reason.as_deref().map(|text| check_length("reason", text)) {
            return answer(reply, Err(refusal));
        }
        let proposal_id = params.proposal_id.clone();
        let proposer = pending.by.clone();
        let summary = pending.proposal.summary.clone();
        let handles = if params.approve {
            pending.proposal.handles.clone()
        } else {
            Vec::new()
        };
        let content = match (&reason, params.approve) {
            (Some(reason), true) => format!("approved: {summary}\nreason: {reason}"),
            (None, true) => format!("approved: {summary}"),
            (reason, false) => format!(
                "rejected: {summary}\nreason: {}",
                reason.as_deref().unwrap_or_default()
            ),
        };
        let entry = self.entry(
            Party::Human,
            Some(proposer),
            EntryKind::FinalityDecision(FinalityDecision {
                proposal_id: params.proposal_id,
                approved: params.approve,
                reason,
                tree,
                handles,
            }),
            content,
            None,
        );
        let entry_id = entry.id.clone();
        self.deciding.insert(proposal_id.clone());
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                daemon.deciding.remove(&proposal_id);
                answer(
                    reply,
                    result
                        .map(|stored| {
                            Reply::Recorded(Recorded {
                                entry_id,
                                seq: stored[0].entry.seq,
                            })
                        })
                        .map_err(Clone::clone),
                );
            }),
        );
    }

    /// Seals the session and starts a new one.
    ///
    /// The new file and `current` are durable before the old file is moved: a crash in between
    /// leaves both where a start finds them.
    pub(super) fn clear(&mut self, params: &ClearParams, reply: Answer) {
        if let Some(named) = params
            .session_id
            .as_ref()
            .filter(|named| **named != self.session_id)
        {
            return answer(
                reply,
                Err(Refusal::new(
                    "stale_session",
                    format!("{named} is not the current session"),
                    "look again: somebody cleared it already",
                )),
            );
        }
        if !self.codex.is_quiet() || self.has_pending() {
            return answer(
                reply,
                Err(Refusal::new(
                    "in_flight",
                    "a message is on its way",
                    "nothing was cleared; try again in a moment",
                )),
            );
        }
        answer(reply, self.clear_now().map(Reply::Cleared));
    }

    fn clear_now(&mut self) -> Result<Cleared, Refusal> {
        let failed = |error: &dyn std::fmt::Display| {
            Refusal::new(
                "clear_failed",
                format!("the session could not be sealed: {error}"),
                "the current session goes on; see that the project folder can be written",
            )
        };
        let stats = self.ledger.stats();
        let sealed = self.session_id.clone();
        let next = session::new_id(now_ms(), crate::daemon::build::rand_u32());
        let head = stats
            .head
            .clone()
            .map_or_else(String::new, |(_, hash)| hash);
        let opened = ledger::open(
            ledger::OpenOptions {
                dirs: self.dirs.clone(),
                session: next.clone(),
                prev_head: Some(head.clone()).filter(|head| !head.is_empty()),
                redactor: std::sync::Arc::clone(&self.redactor),
                checkpoint: None,
            },
            (self.writer_events)(),
        )
        .map_err(|error| failed(&error))?;
        if let Err(error) = session::write_current(&self.dirs, &next) {
            // Nothing has changed yet, and an empty session must not be found at the next start.
            opened.ledger.close();
            let _ = std::fs::remove_file(self.dirs.ledger(&next));
            return Err(failed(&error));
        }

        // From here on there is no way back: `current` names the new session.
        let old = std::mem::replace(&mut self.ledger, opened.ledger);
        self.keepers
            .search
            .follow(self.ledger.clone(), next.clone());
        old.close();
        let before = std::mem::take(std::sync::Arc::make_mut(&mut self.world));
        for id in before.unsettled.keys() {
            self.outbox.settle(id);
        }
        self.session_id = next.clone();
        self.watch_session();
        self.recent.clear();
        self.recent_handoffs.clear();
        self.claude.forget_rings();
        for waiter in &mut self.waiters {
            if let Wants::Messages { after, .. } = &mut waiter.wants {
                *after = None;
            }
        }
        self.start_session(
            &next,
            Some(Predecessor {
                session_id: sealed.clone(),
                entries: stats.entries,
                head,
            }),
        );
        self.carry_agents_over(&before);
        let archive = match ledger::seal(&self.dirs, &sealed) {
            Ok(archive) => archive,
            Err(error) => {
                self.note_fact(
                    Party::System,
                    EntryKind::Error {
                        code: "not_archived".to_owned(),
                    },
                    format!("the old session stays where it was, it could not be moved: {error}"),
                );
                self.dirs.ledger(&sealed)
            }
        };
        Ok(Cleared {
            sealed,
            archive: archive.display().to_string(),
            entries: stats.entries,
            session_id: next,
        })
    }

    /// The agents are still who they are and do what they did. The new record says so itself, for
    /// a later start knows nothing but the new record.
    fn carry_agents_over(&mut self, before: &Snapshot) {
        for (agent, was) in &before.agents {
            if !was.state.is_attached() && was.thread_id.is_none() {
                continue;
            }
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: *agent,
                    state: was.state,
                    pid: was.pid,
                    thread_id: was.thread_id.clone(),
                    why: was.why.clone(),
                }),
                format!("{} is {} as before", agent.title(), was.state.as_str()),
            );
            if let (Some(turn_id), Some(text)) = (&was.turn_id, &was.turn_text) {
                self.note_fact(
                    Party::Agent(*agent),
                    EntryKind::Turn(TurnRecord {
                        thread_id: was.thread_id.clone().unwrap_or_else(|| ThreadId::new("")),
                        turn_id: turn_id.clone(),
                        status: TurnStatus::InProgress,
                        started_by: Party::System,
                    }),
                    text.clone(),
                );
            }
        }
    }

    /// The first entry of a session.
    pub(in crate::daemon) fn start_session(
        &mut self,
        session: &SessionId,
        predecessor: Option<Predecessor>,
    ) {
        let (source, text) = match &predecessor {
            Some(before) => (
                Party::Human,
                format!(
                    "session {session} started; {} with {} entries is sealed, its head is {}",
                    before.session_id, before.entries, before.head
                ),
            ),
            None => (Party::System, format!("session {session} started")),
        };
        self.note_fact(source, EntryKind::SessionStarted { predecessor }, text);
    }
}
