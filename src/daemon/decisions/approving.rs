//! A request for approval, of any agent: how its beginning and its end are recorded.

use std::collections::BTreeMap;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{ApprovalEnd, ApprovalRequest, ApprovalStep, Entry, EntryKind};
use crate::core::id::EntryId;
use crate::core::policy::named_files;
use crate::core::trace;
use crate::daemon::agents::recent_writes::RECENT_MS;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::decisions::approval_texts::ApprovalText;
use crate::daemon::decisions::approvals::{AnswerNumber, AskedAs, KnownRequest};
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::owners::continuation::Then;
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{Recorded, Reply};

/// How many files of the other agent's are named with a request.
const PEER_FILES_MAX: usize = 20;

impl Decisions {
    /// What goes on record of a request that is made now.
    pub(in crate::daemon) fn approval_text(
        &mut self,
        base: &Base,
        agent: Agent,
        request: ApprovalRequest,
        details: &str,
    ) -> ApprovalText {
        let redactor = base.recorder.redactor();
        let read = self.approval_texts.take(agent, &request, details, redactor);
        read.unwrap_or_else(|| {
            let root = base.dirs.root.to_string_lossy();
            ApprovalText::read(agent, request, details, &root, redactor)
        })
    }

    /// A request is on its way to the record: what to append it with. `reply`: who asked by a call, and
    /// hears that it is recorded.
    pub(in crate::daemon) fn then_asked(
        &mut self,
        agent: Agent,
        asked: AskedAs,
        id: EntryId,
        reply: Option<ReplySender>,
    ) -> Then {
        trace::approval(&id).in_scope(|| tracing::debug!(%agent, "asked"));
        self.approvals.comes(asked, id.clone());
        Box::new(move |daemon, result| {
            let (decisions, base) = (&mut daemon.decisions, &mut daemon.base);
            decisions.asked_is_recorded(base, agent, id, result.is_ok());
            if let Some(reply) = reply {
                let recorded = result.map(|stored| Recorded::of(&stored[0].entry));
                answer(reply, recorded.map(Reply::Recorded).map_err(Clone::clone));
            }
        })
    }

    /// A request is in the record, or could not be recorded.
    fn asked_is_recorded(&mut self, base: &mut Base, agent: Agent, id: EntryId, is_recorded: bool) {
        if is_recorded {
            if let Some(how) = self.approvals.recorded(&id) {
                self.end_approval(base, id, agent, how);
            }
        } else if let Some(hook) = self.approvals.not_recorded(&id) {
            answer(hook, Ok(Reply::Approval(None)));
        }
        base.clients.status_changed();
    }

    /// The request that waits already for what an agent asks now. One of the same name that is about
    /// something else is over, although nobody has told its end.
    pub(in crate::daemon) fn waiting_already(
        &mut self,
        base: &mut Base,
        agent: Agent,
        asked: &AskedAs,
    ) -> Option<EntryId> {
        match self.approvals.known(base.recorder.world(), asked)? {
            KnownRequest::Same(id) => Some(id),
            KnownRequest::Other(id) => {
                self.approvals.waits_no_more(&id);
                self.end_approval(base, id, agent, HowOver::Replaced);
                None
            }
        }
    }

    /// This answer of the operator's reached nobody: the request waits for one again.
    pub(in crate::daemon) fn answer_reached_nobody(
        &mut self,
        base: &mut Base,
        id: &EntryId,
        number: AnswerNumber,
    ) {
        if self.approvals.no_longer_answering(id, number) {
            self.record_undelivered(base, id);
        }
    }

    /// An agent asks again for what waits already. An answer that was given has not reached it then:
    /// what is answered it does not ask again.
    pub(in crate::daemon) fn asked_again(&mut self, base: &mut Base, id: &EntryId) {
        let asked = base.recorder.world().open_approvals.get(id);
        // One that is not recorded yet has not left.
        if asked.is_some_and(|asked| asked.given.is_some()) {
            self.record_undelivered(base, id);
        }
    }

    /// Has the record say so: what is shown, and what a restart finds, is the request without its
    /// answer.
    fn record_undelivered(&mut self, base: &mut Base, id: &EntryId) {
        let Some(asked) = base.recorder.world().open_approvals.get(id) else {
            return;
        };
        let agent = asked.agent;
        if !self.approvals.begin_undelivered(id) {
            return;
        }
        let who = agent.title();
        let content = format!("the operator's answer did not reach {who}: it can be given again");
        let kind = ApprovalStep::Undelivered.of(id.clone(), agent);
        let entry = base
            .recorder
            .entry(Party::System, None, kind, content, None);
        let id = id.clone();
        base.recorder.keep_then(
            vec![entry],
            Box::new(move |daemon, _| {
                daemon.decisions.approvals.undelivered_is_told(&id);
                daemon.base.clients.status_changed();
            }),
        );
    }

    /// A request is over.
    pub(in crate::daemon) fn end_approval(
        &mut self,
        base: &mut Base,
        id: EntryId,
        agent: Agent,
        how: HowOver,
    ) {
        if self.approvals.begin_end(&id, how) {
            let asked = base.recorder.world().open_approvals.get(&id);
            let content = how.in_words(agent, asked);
            record_end(base, id, agent, how.end(), content);
        }
    }

    /// What is told over already by a refusal of the operator's has run: that came too late.
    pub(in crate::daemon) fn refusal_came_too_late(base: &mut Base, id: EntryId) {
        let content = "Claude was answered in its own terminal, and it was done: the operator's answer \
                       came too late";
        let end = ApprovalEnd::Answered;
        record_end(base, id, Agent::Claude, end, content.to_owned());
    }
}

fn record_end(base: &mut Base, id: EntryId, agent: Agent, end: ApprovalEnd, content: String) {
    let kind = ApprovalStep::Ended(end).of(id.clone(), agent);
    let entry = base
        .recorder
        .entry(Party::System, None, kind, content, None);
    base.recorder.keep_then(
        vec![entry],
        Box::new(move |daemon, result| {
            let approvals = &mut daemon.decisions.approvals;
            approvals.end_is_told(&id, result.is_ok());
            daemon.base.clients.status_changed();
        }),
    );
}

impl Base {
    /// What it names of the files that the other agent has written in the last minutes: what this
    /// daemon saw, and what the record has of turns that are over.
    fn peer_files(
        &self,
        recent_writes: &RecentWrites,
        agent: Agent,
        request: &ApprovalRequest,
    ) -> Vec<String> {
        let (peer, since_ms) = (agent.peer(), self.clock.outside_ms() - RECENT_MS);
        let seen = recent_writes.since(peer, since_ms);
        let states = self.recorder.world().continuity.get(&peer);
        let states = states.into_iter().flat_map(BTreeMap::values);
        let recorded = states.flat_map(|state| state.files.iter().rev());
        let recorded = recorded.filter(|file| file.at_ms >= since_ms);
        let files = seen.chain(recorded.map(|file| file.path.as_str()));
        let mut named = named_files(&self.dirs.root.to_string_lossy(), request, files);
        named.truncate(PEER_FILES_MAX);
        named
    }

    /// The entry of a request as it was asked.
    pub(in crate::daemon) fn asked_entry(
        &self,
        recent_writes: &RecentWrites,
        agent: Agent,
        text: ApprovalText,
    ) -> Entry {
        let ApprovalText {
            mut request,
            content,
        } = text;
        request.peer_files = self.peer_files(recent_writes, agent, &request);
        let mut entry = self.recorder.entry(
            Party::Agent(agent),
            Some(Party::Human),
            ApprovalStep::Asked(Box::new(request)).of(EntryId::new(""), agent),
            content,
            None,
        );
        let id = entry.id.clone();
        if let EntryKind::Approval(record) = &mut entry.kind {
            record.approval_id = id;
        }
        entry
    }
}
