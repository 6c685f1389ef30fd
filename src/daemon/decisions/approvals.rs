//! [`Approvals`]: where each waiting request for approval can be answered.
//!
//! The requests themselves are in the record and in the world; this holds only what depends on a
//! current connection.

mod asked_request;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use self::asked_request::AskedRequest;
pub(in crate::daemon) use self::asked_request::{AnswerWay, WaitingHook};
use crate::core::agent::Agent;
use crate::core::entry::ApprovalRequest;
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::core::snapshot::{APPROVALS_OPEN_MAX, ApprovalSnapshot, Snapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::decisions::shown_over::ShownOver;
use crate::daemon::reply::ReplySender;
use crate::wire::control::Refusal;

/// What is known here of the requests, by the entries that ask.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Approvals {
    requests: BTreeMap<EntryId, AskedRequest>,
    /// How many answers have begun.
    begun: u64,
    /// There was no room when it was last looked for.
    is_full: bool,
    /// What Claude does not ask any more, also where a hook says so later.
    shown_over: ShownOver,
}

/// Of the subject and the details of a request, as they were asked.
type TextDigest = [u8; 32];

/// What a request is known by when it is asked again.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct AskedAs {
    agent: Agent,
    /// As [`ApprovalRequest::key`].
    key: String,
    text: TextDigest,
    thread_id: Option<ThreadId>,
    turn_id: Option<TurnId>,
}

impl AskedAs {
    pub(in crate::daemon) fn of(agent: Agent, request: &ApprovalRequest, details: &str) -> Self {
        let mut text = Sha256::new();
        text.update(request.subject.as_bytes());
        text.update([0]);
        text.update(details.as_bytes());
        Self {
            agent,
            key: request.key.clone(),
            text: text.finalize().into(),
            thread_id: request.thread_id.clone(),
            turn_id: request.turn_id.clone(),
        }
    }
}

/// What of Codex's no longer waits for anybody.
#[derive(Debug, Clone, Copy)]
pub(in crate::daemon) enum OverAtCodex<'a> {
    All,
    /// What this thread asked, and what names no thread.
    Thread(Option<&'a ThreadId>),
    /// What this turn asked.
    Turn(&'a TurnId),
}

impl OverAtCodex<'_> {
    fn has(self, thread: Option<&ThreadId>, turn: Option<&TurnId>) -> bool {
        match self {
            Self::All => true,
            Self::Thread(over) => thread.is_none() || thread == over,
            Self::Turn(over) => turn == Some(over),
        }
    }
}

/// A request of the same name that waits already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::daemon) enum KnownRequest {
    /// It asks for the same.
    Same(EntryId),
    /// It asks for something else, and is over: at a time there is one of a name.
    Other(EntryId),
}

/// An answer of the operator's, among all of this daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerNumber(u64);

/// What Claude asked and goes on from.
#[derive(Debug)]
pub(in crate::daemon) struct GoneOn {
    pub id: EntryId,
    /// The hook that shows it is of the use of the tool that it asked about.
    pub is_its_use: bool,
    /// It is over on the record: Claude was told to stop, or no hook took the refusal.
    pub is_told_over: bool,
}

/// A hook of Claude's that is gone, and with it what it asked.
#[derive(Debug)]
pub(in crate::daemon) struct LeftHook {
    pub id: EntryId,
    /// The pair of its Claude.
    pub pair: RuntimeSession,
    /// It was told to stop the turn; else no answer reached it.
    pub is_stopped: bool,
}

impl Approvals {
    /// The request of this name, if it waits already; not one whose end is being recorded. Of one that
    /// an earlier daemon was asked only the name is known.
    pub(in crate::daemon) fn known(
        &self,
        world: &Snapshot,
        asked: &AskedAs,
    ) -> Option<KnownRequest> {
        let open = world.open_approvals.values();
        let open = open.filter(|it| it.agent == asked.agent && it.request.key == asked.key);
        let is_ending = |id: &EntryId| self.requests.get(id).is_some_and(AskedRequest::is_ending);
        let open = open.map(|it| &it.id).filter(|id| !is_ending(id));
        let coming = self.coming();
        let coming = coming.filter(|(_, it)| it.agent == asked.agent && it.key == asked.key);
        let named: Vec<&EntryId> = open.chain(coming.map(|(id, _)| id)).collect();
        let request = |id: &EntryId| self.requests.get(id);
        let is_same = |id: &EntryId| request(id).is_none_or(|it| it.may_ask(&asked.text));
        // An earlier one may have ended, and wait for its own place in the record.
        let same = named.iter().copied().find(|id| is_same(id));
        match (same, named.first()) {
            (Some(id), _) => Some(KnownRequest::Same(id.clone())),
            (None, Some(id)) => Some(KnownRequest::Other((*id).clone())),
            (None, None) => None,
        }
    }

    /// What is on its way to the record.
    fn coming(&self) -> impl Iterator<Item = (&EntryId, &AskedAs)> {
        let requests = self.requests.iter();
        requests.filter_map(|(id, it)| Some((id, it.as_coming()?)))
    }

    /// How many requests are on their way to the record.
    pub(in crate::daemon) fn on_their_way(&self) -> usize {
        self.coming().count()
    }

    /// How many of Codex's are in the record or on their way to it.
    pub(in crate::daemon) fn of_codex(&self, world: &Snapshot) -> usize {
        let open = &world.open_approvals;
        let coming = self.coming();
        let coming = coming.filter(|(id, it)| it.agent == Agent::Codex && !open.contains_key(*id));
        recorded_of_codex(world).count() + coming.count()
    }

    /// Whether one more can wait here, beside what the record does not have yet. If not it is answered
    /// where its agent asks, which the log says once.
    pub(in crate::daemon) fn has_room(&mut self, world: &Snapshot) -> bool {
        let open = &world.open_approvals;
        self.requests
            .retain(|id, it| open.contains_key(id) || !it.is_at_rest());
        let coming = self.coming().filter(|(id, _)| !open.contains_key(*id));
        let is_full = open.len() + coming.count() >= APPROVALS_OPEN_MAX;
        if is_full && !self.is_full {
            tracing::warn!(
                APPROVALS_OPEN_MAX,
                "as many requests wait as can: further ones are answered in the agents' terminals"
            );
        }
        self.is_full = is_full;
        !is_full
    }

    /// A new request is on its way to the record.
    pub(in crate::daemon) fn comes(&mut self, asked: AskedAs, id: EntryId) {
        self.requests.insert(id, AskedRequest::coming(asked));
    }

    /// It is in the record. If it has ended meanwhile, how: that is to be recorded behind it.
    pub(in crate::daemon) fn recorded(&mut self, id: &EntryId) -> Option<HowOver> {
        self.requests.get_mut(id)?.recorded()
    }

    /// It could not be recorded, so that nobody can be asked about it: nothing of it is left. The
    /// way to the hook that waits.
    pub(in crate::daemon) fn not_recorded(&mut self, id: &EntryId) -> Option<ReplySender> {
        self.requests.remove(id)?.hook_mut()?.take_reply(false)
    }

    /// Its agent waits for an answer, here and nowhere else: asked again it is on another connection.
    pub(in crate::daemon) fn waits(&mut self, id: EntryId, way: AnswerWay) {
        if let AnswerWay::Codex(request_id) = &way {
            // Another connection may have given this number to another request.
            self.codex_resolved(request_id);
        }
        self.requests.entry(id).or_default().waits(way);
    }

    /// Nobody waits for an answer to this request any more.
    pub(in crate::daemon) fn waits_no_more(&mut self, id: &EntryId) {
        if let Some(request) = self.requests.get_mut(id) {
            request.waits_no_more();
        }
    }

    /// Codex was answered under this number, by whomever.
    pub(in crate::daemon) fn codex_resolved(&mut self, request_id: &str) -> Option<EntryId> {
        let mut requests = self.requests.iter_mut();
        let (id, request) = requests.find(|(_, it)| it.codex_request() == Some(request_id))?;
        request.waits_no_more();
        Some(id.clone())
    }

    /// The number under which Codex can be answered.
    pub(in crate::daemon) fn codex_request(&self, id: &EntryId) -> Option<&str> {
        self.requests.get(id)?.codex_request()
    }

    /// This waits at Codex no more: all of it that did.
    pub(in crate::daemon) fn over_at_codex(
        &mut self,
        world: &Snapshot,
        over: OverAtCodex<'_>,
    ) -> BTreeSet<EntryId> {
        let coming = self.coming();
        let coming = coming.filter(|(id, _)| self.codex_request(id).is_some());
        let coming = coming.map(|(id, it)| (id, it.thread_id.as_ref(), it.turn_id.as_ref()));
        let open = recorded_of_codex(world).map(|it| {
            let request = &it.request;
            (&it.id, request.thread_id.as_ref(), request.turn_id.as_ref())
        });
        let ended = coming.chain(open);
        let ended = ended.filter(|(_, thread, turn)| over.has(*thread, *turn));
        let ended: BTreeSet<EntryId> = ended.map(|(id, ..)| id.clone()).collect();
        for id in &ended {
            self.waits_no_more(id);
        }
        ended
    }

    /// A request is over. Whether that is to be recorded now: not when it is recorded already or about
    /// to be, and not before the request itself.
    pub(in crate::daemon) fn begin_end(&mut self, id: &EntryId, how: HowOver) -> bool {
        self.requests.entry(id.clone()).or_default().begin_end(how)
    }

    /// Its end is in the record, or could not be recorded: given up for good it may be told another
    /// time.
    pub(in crate::daemon) fn end_is_told(&mut self, id: &EntryId, is_recorded: bool) {
        let Some(request) = self.requests.get_mut(id) else {
            return;
        };
        request.end_is_told(is_recorded);
        if is_recorded && request.is_at_rest() {
            self.requests.remove(id);
        }
    }

    /// The hooks of Claude's that asked.
    fn hooks(&self) -> impl Iterator<Item = &WaitingHook> {
        self.requests.values().filter_map(AskedRequest::hook)
    }

    /// The hooks of a pair's Claude that wait for an answer.
    pub(in crate::daemon) fn asking(&self, pair: &RuntimeSession) -> impl Iterator<Item = ConnId> {
        let waiting = self.hooks().filter(|hook| hook.waits());
        waiting
            .filter(move |hook| hook.pair() == pair)
            .map(WaitingHook::conn)
    }

    /// The way to the hook that waits, to be answered once. `stops`: with an end of the turn.
    pub(in crate::daemon) fn take_hook(
        &mut self,
        id: &EntryId,
        stops: bool,
    ) -> Option<ReplySender> {
        let hook = self.requests.get_mut(id)?.hook_mut()?;
        hook.take_reply(stops)
    }

    /// The answer came when the hook was gone. `denies`: it said no.
    pub(in crate::daemon) fn answer_missed(&mut self, id: &EntryId, denies: bool) {
        let request = self.requests.get_mut(id);
        if let Some(hook) = request.and_then(AskedRequest::hook_mut) {
            hook.missed_answer(denies);
        }
    }

    /// A hook went away, and with it what it asked: unanswered, for Claude was answered in its own
    /// dialog or the turn was stopped there; or told to stop the turn, behind which no hook runs that
    /// would tell the end.
    pub(in crate::daemon) fn hook_left(&mut self, conn: ConnId) -> Option<LeftHook> {
        let mut requests = self.requests.iter_mut();
        requests.find_map(|(id, request)| {
            let hook = request.hook_mut().filter(|hook| hook.conn() == conn)?;
            let is_stopped = hook.leaves()?;
            let pair = hook.pair().clone();
            if !hook.is_told_over() {
                request.waits_no_more();
            }
            Some(LeftHook {
                id: id.clone(),
                pair,
                is_stopped,
            })
        })
    }

    /// The pair whose Claude goes on with the answer of the operator's that this hook was given.
    pub(in crate::daemon) fn answered_by(&self, conn: ConnId) -> Option<&RuntimeSession> {
        let mut hooks = self.hooks();
        let hook = hooks.find(|hook| hook.conn() == conn && hook.is_answered())?;
        // Another dialog may be open beside it.
        let mut asking = self.asking(hook.pair());
        asking.next().is_none().then_some(hook.pair())
    }

    /// What the Claude of a pair asked and, as this hook of its shows, does not ask any more, and
    /// whether that has run. An answer of the operator's is followed by anything; what was answered in
    /// the dialog by the use of that very tool (`tool_use`), or by what no dialog is open at (`is_over`).
    /// Of what is over on the record only that it has run is news.
    pub(in crate::daemon) fn claude_goes_on(
        &mut self,
        pair: &RuntimeSession,
        tool_use: Option<&str>,
        is_over: bool,
    ) -> Vec<GoneOn> {
        let mut gone_on = Vec::new();
        for (id, request) in &mut self.requests {
            let Some(hook) = request.hook().filter(|hook| hook.pair() == pair) else {
                continue;
            };
            let is_its_use = hook.is_of_use(tool_use);
            if !is_over && !is_its_use && hook.waits() {
                continue;
            }
            let is_told_over = hook.is_told_over();
            request.waits_no_more();
            if !is_told_over || is_its_use {
                gone_on.push(GoneOn {
                    id: id.clone(),
                    is_its_use,
                    is_told_over,
                });
            }
        }
        gone_on
    }

    /// What hooks of Claude's showed to be over.
    pub(in crate::daemon) fn shown_over(&self) -> &ShownOver {
        &self.shown_over
    }

    /// As [`ShownOver::note`].
    pub(in crate::daemon) fn note_over(
        &mut self,
        pair: &RuntimeSession,
        tool_use: Option<&str>,
        at_ms: i64,
    ) {
        self.shown_over.note(pair, tool_use, at_ms);
    }

    /// Whether somebody waits for the answer.
    pub(in crate::daemon) fn is_answerable(&self, id: &EntryId) -> bool {
        let request = self.requests.get(id);
        request.is_some_and(AskedRequest::is_answerable)
    }

    /// Begins an answer.
    ///
    /// # Errors
    ///
    /// As of [`Self::check`].
    pub(in crate::daemon) fn begin_answer(
        &mut self,
        id: &EntryId,
    ) -> Result<AnswerNumber, Refusal> {
        self.check(id)?;
        self.begun += 1;
        let number = AnswerNumber(self.begun);
        let request = self.requests.entry(id.clone()).or_default();
        request.set_answer(Some(number));
        Ok(number)
    }

    /// # Errors
    ///
    /// When an answer is on its way.
    pub(in crate::daemon) fn check(&self, id: &EntryId) -> Result<(), Refusal> {
        let request = self.requests.get(id);
        if request.and_then(AskedRequest::answer).is_none() {
            return Ok(());
        }
        Err(Refusal::in_flight(
            "an answer to it is on its way",
            "look again: it ends when the agent's program has taken one",
        ))
    }

    /// This answer is not on its way any more, so that the request may be answered again. Returns
    /// whether it was the latest one, which alone is waited for.
    pub(in crate::daemon) fn no_longer_answering(
        &mut self,
        id: &EntryId,
        number: AnswerNumber,
    ) -> bool {
        let request = self.requests.get_mut(id);
        let request = request.filter(|it| it.answer() == Some(number));
        let Some(request) = request else {
            return false;
        };
        request.set_answer(None);
        true
    }

    /// Whatever was sent reached nobody, and the request waits for another answer. Whether that is to
    /// be recorded now: not when it is on its way already, and not of a request that is over.
    pub(in crate::daemon) fn begin_undelivered(&mut self, id: &EntryId) -> bool {
        let request = self.requests.entry(id.clone()).or_default();
        request.begin_undelivered()
    }

    /// That is in the record, or could not be recorded.
    pub(in crate::daemon) fn undelivered_is_told(&mut self, id: &EntryId) {
        if let Some(request) = self.requests.get_mut(id) {
            request.undelivered_is_told();
        }
    }
}

/// What Codex's program asked, as the record has it.
fn recorded_of_codex(world: &Snapshot) -> impl Iterator<Item = &ApprovalSnapshot> {
    let open = world.open_approvals.values();
    open.filter(|it| it.agent == Agent::Codex && !it.request.is_user_question())
}
