//! Decisions of the operator: finality, and clearing the session.

use super::check_length;
use super::record::not_found;
use crate::core::agent::Party;
use crate::core::entry::{EntryKind, FinalityDecision, Predecessor, WorkTree};
use crate::core::fold::fold;
use crate::core::id::SessionId;
use crate::core::snapshot::Snapshot;
use crate::daemon::event::{Answer, TreePurpose};
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
        self.record(
            vec![entry],
            Box::new(move |_, result| {
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
            },
            (self.writer_events)(),
        )
        .map_err(|error| failed(&error))?;
        session::write_current(&self.dirs, &next).map_err(|error| failed(&error))?;

        let old = std::mem::replace(&mut self.ledger, opened.ledger);
        old.close();
        let archive = ledger::seal(&self.dirs, &sealed).map_err(|error| failed(&error))?;

        // What is open lives on: agents' attachments and running turns are not history.
        let before = std::mem::take(std::sync::Arc::make_mut(&mut self.world));
        let mut world = Snapshot {
            agents: before.agents,
            ..Snapshot::default()
        };
        for (id, _) in before.unsettled {
            self.outbox.settle(&id);
        }
        self.session_id = next.clone();
        self.recent.clear();
        self.recent_handoffs.clear();
        for stored in &opened.report.recent {
            fold(&mut world, &stored.entry);
        }
        self.world = std::sync::Arc::new(world);
        self.claude.forget_rings();
        self.start_session(
            &next,
            Some(Predecessor {
                session_id: sealed.clone(),
                entries: stats.entries,
                head,
            }),
        );
        Ok(Cleared {
            sealed,
            archive: archive.display().to_string(),
            entries: stats.entries,
            session_id: next,
        })
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
