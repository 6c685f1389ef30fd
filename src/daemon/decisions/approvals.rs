//! [`Approvals`]: where each waiting request for approval can be answered.
//!
//! The requests themselves are in the record and in the world; this holds only what depends on a
//! current connection.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::core::agent::Agent;
use crate::core::entry::{ApprovalEnd, ApprovalRequest};
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::core::snapshot::{APPROVALS_OPEN_MAX, ApprovalSnapshot, Snapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::decisions::shown_over::ShownOver;
use crate::daemon::reply::ReplySender;
use crate::wire::control::Refusal;

/// Requests that can be answered.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Approvals {
    /// Those of Codex's, by the request of its connection.
    codex: BTreeMap<String, EntryId>,
    /// Those of Claude's, with the hook that waits.
    claude: BTreeMap<EntryId, AskingHook>,
    /// Asked, and not in the folded world yet.
    asked: BTreeMap<EntryId, AskedAs>,
    /// Those of them that have ended meanwhile: nothing ends in the record that does not begin there.
    ended_early: BTreeMap<EntryId, ApprovalEnd>,
    /// The texts of those that this daemon was asked.
    texts: BTreeMap<EntryId, TextDigest>,
    /// An answer of the operator's is being recorded or sent, or was sent: which one.
    answering: BTreeMap<EntryId, AnswerNumber>,
    /// How many answers have begun.
    begun: u64,
    /// That an answer to it reached nobody is on its way to the record.
    undelivered: BTreeSet<EntryId>,
    /// Their end is on its way to the record.
    ending: BTreeSet<EntryId>,
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

/// A hook of Claude's that asked. Claude's own dialog is open beside it.
#[derive(Debug)]
pub(in crate::daemon) struct AskingHook {
    pub conn: ConnId,
    /// The pair of its Claude.
    pub pair: RuntimeSession,
    /// `None` once it was answered.
    pub reply: Option<ReplySender>,
    /// It was gone when it was answered.
    pub has_missed: bool,
    /// It was told to stop the turn.
    pub stops: bool,
    /// It is gone with that, and what it asked is over on the record.
    pub is_told_over: bool,
    /// Names the use of the tool that it asks about.
    pub tool_use: Option<String>,
}

/// What Claude asked and goes on from.
#[derive(Debug)]
pub(in crate::daemon) struct GoneOn {
    pub id: EntryId,
    /// The hook that shows it is of the use of the tool that it asked about.
    pub is_its_use: bool,
    /// It is over on the record: Claude was told to stop.
    pub is_told_over: bool,
}

/// A hook of Claude's that is gone, and with it what it asked.
#[derive(Debug)]
pub(in crate::daemon) struct LeftHook {
    pub id: EntryId,
    /// The pair of its Claude.
    pub pair: RuntimeSession,
    /// It left without an answer.
    pub is_unanswered: bool,
    /// There was one, which found it gone.
    pub has_missed: bool,
}

impl Approvals {
    /// The request of this name, if it waits already. One whose end is on its way to the record does
    /// not. Of one that an earlier daemon was asked the name alone is known.
    pub(in crate::daemon) fn known(
        &self,
        world: &Snapshot,
        asked: &AskedAs,
    ) -> Option<KnownRequest> {
        let open = world.open_approvals.values();
        let open = open.filter(|it| it.agent == asked.agent && it.request.key == asked.key);
        let open = open.map(|it| &it.id);
        let coming = self.asked.iter();
        let coming = coming.filter(|(_, it)| it.agent == asked.agent && it.key == asked.key);
        let named = open.chain(coming.map(|(id, _)| id));
        let named: Vec<&EntryId> = named.filter(|id| !self.ending.contains(*id)).collect();
        let is_same = |id: &EntryId| self.texts.get(id).is_none_or(|text| *text == asked.text);
        // An earlier one may have ended, and wait for its own place in the record.
        let same = named.iter().copied().find(|id| is_same(id));
        match (same, named.first()) {
            (Some(id), _) => Some(KnownRequest::Same(id.clone())),
            (None, Some(id)) => Some(KnownRequest::Other((*id).clone())),
            (None, None) => None,
        }
    }

    /// Nobody waits for an answer to this request any more: its agent asks for something else.
    pub(in crate::daemon) fn forget(&mut self, id: &EntryId) {
        self.codex.retain(|_, waiting| waiting != id);
        self.claude.remove(id);
    }

    /// How many requests are on their way to the record.
    pub(in crate::daemon) fn on_their_way(&self) -> usize {
        self.asked.len()
    }

    /// How many of Codex's are in the record or on their way to it.
    pub(in crate::daemon) fn of_codex(&self, world: &Snapshot) -> usize {
        let open = &world.open_approvals;
        let coming = self.asked.iter();
        let coming = coming.filter(|(id, it)| it.agent == Agent::Codex && !open.contains_key(*id));
        recorded_of_codex(world).count() + coming.count()
    }

    /// Whether one more can wait here, beside what the record does not have yet. If not it is answered
    /// where its agent asks, which the log says once.
    pub(in crate::daemon) fn has_room(&mut self, world: &Snapshot) -> bool {
        let open = &world.open_approvals;
        self.texts
            .retain(|id, _| open.contains_key(id) || self.asked.contains_key(id));
        let coming = self.asked.keys().filter(|id| !open.contains_key(*id));
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
    pub(in crate::daemon) fn asked(&mut self, asked: AskedAs, id: EntryId) {
        self.texts.insert(id.clone(), asked.text);
        self.asked.insert(id, asked);
    }

    /// It is in the record. If it has ended meanwhile, how: that is to be recorded behind it.
    pub(in crate::daemon) fn recorded(&mut self, id: &EntryId) -> Option<ApprovalEnd> {
        self.asked.remove(id)?;
        self.ended_early.remove(id)
    }

    /// It could not be recorded, so that nobody can be asked about it: nothing of it is left. The
    /// way to the hook that waits.
    pub(in crate::daemon) fn not_recorded(&mut self, id: &EntryId) -> Option<ReplySender> {
        self.asked.remove(id)?;
        self.ended_early.remove(id);
        self.codex.retain(|_, waiting| waiting != id);
        self.claude.remove(id)?.reply
    }

    /// Codex can be answered under this number of its connection.
    pub(in crate::daemon) fn codex_waits(&mut self, request_id: String, id: EntryId) {
        // Under one number only: it was asked again on another connection.
        self.codex.retain(|_, waiting| *waiting != id);
        self.ended_early.remove(&id);
        self.codex.insert(request_id, id);
    }

    /// Codex was answered, by whomever.
    pub(in crate::daemon) fn codex_resolved(&mut self, request_id: &str) -> Option<EntryId> {
        self.codex.remove(request_id)
    }

    /// The number under which Codex can be answered.
    pub(in crate::daemon) fn codex_request(&self, id: &EntryId) -> Option<&str> {
        let mut waiting = self.codex.iter();
        waiting.find_map(|(request, waiting)| (waiting == id).then_some(request.as_str()))
    }

    /// This waits at Codex no more: all of it that did.
    pub(in crate::daemon) fn forget_codex(
        &mut self,
        world: &Snapshot,
        over: OverAtCodex<'_>,
    ) -> BTreeSet<EntryId> {
        let coming = self.codex.values();
        let coming = coming.filter_map(|id| Some((id, self.asked.get(id)?)));
        let coming = coming.map(|(id, it)| (id, it.thread_id.as_ref(), it.turn_id.as_ref()));
        let open = recorded_of_codex(world).map(|it| {
            let request = &it.request;
            (&it.id, request.thread_id.as_ref(), request.turn_id.as_ref())
        });
        let ended = coming.chain(open);
        let ended = ended.filter(|(_, thread, turn)| over.has(*thread, *turn));
        let ended: BTreeSet<EntryId> = ended.map(|(id, ..)| id.clone()).collect();
        self.codex.retain(|_, id| !ended.contains(id));
        ended
    }

    /// Whether the end of a request is to be recorded now: not when it is on its way already, and
    /// not before the request itself.
    pub(in crate::daemon) fn end(&mut self, id: &EntryId, end: ApprovalEnd) -> bool {
        self.answering.remove(id);
        if self.asked.contains_key(id) {
            self.ended_early.entry(id.clone()).or_insert(end);
            return false;
        }
        self.ending.insert(id.clone())
    }

    /// Its end is in the record, or could not be recorded.
    pub(in crate::daemon) fn ended(&mut self, id: &EntryId) {
        self.ending.remove(id);
    }

    /// This hook waits for the answer. One that waited before was a connection ago.
    pub(in crate::daemon) fn claude_waits(&mut self, id: EntryId, hook: AskingHook) {
        self.ended_early.remove(&id);
        self.claude.insert(id, hook);
    }

    /// The hooks of a pair's Claude that wait for an answer.
    pub(in crate::daemon) fn asking(&self, pair: &RuntimeSession) -> impl Iterator<Item = ConnId> {
        let waiting = self.claude.values().filter(|hook| hook.reply.is_some());
        waiting
            .filter(move |hook| hook.pair == *pair)
            .map(|hook| hook.conn)
    }

    /// The way to the hook that waits, to be answered once. `stops`: with an end of the turn.
    pub(in crate::daemon) fn take_hook(
        &mut self,
        id: &EntryId,
        stops: bool,
    ) -> Option<ReplySender> {
        let hook = self.claude.get_mut(id)?;
        hook.stops |= stops;
        hook.reply.take()
    }

    /// The answer came when the hook was gone, of which nobody has told yet.
    pub(in crate::daemon) fn answer_missed(&mut self, id: &EntryId) {
        if let Some(hook) = self.claude.get_mut(id) {
            hook.has_missed = true;
        }
    }

    /// A hook went away, and with it what it asked: unanswered, for Claude was answered in its own
    /// dialog or the turn was stopped there; or told to stop the turn, behind which no hook runs that
    /// would tell the end.
    pub(in crate::daemon) fn hook_left(&mut self, conn: ConnId) -> Option<LeftHook> {
        let is_unanswered = |hook: &AskingHook| hook.reply.is_some() || hook.has_missed;
        let is_over = |hook: &AskingHook| is_unanswered(hook) || hook.stops;
        let mut asking = self.claude.iter_mut();
        let (id, hook) = asking.find(|(_, hook)| hook.conn == conn && is_over(hook))?;
        let left = LeftHook {
            id: id.clone(),
            pair: hook.pair.clone(),
            is_unanswered: is_unanswered(hook),
            has_missed: hook.has_missed,
        };
        // Kept: where Claude had been answered in its own dialog its tool runs on, and says so.
        hook.is_told_over = true;
        if left.is_unanswered {
            self.claude.remove(&left.id);
        }
        Some(left)
    }

    /// The pair whose Claude goes on with the answer of the operator's that this hook was given.
    pub(in crate::daemon) fn answered_by(&self, conn: ConnId) -> Option<&RuntimeSession> {
        let has_it = |hook: &AskingHook| hook.reply.is_none() && !hook.has_missed && !hook.stops;
        let mut hooks = self.claude.values();
        let hook = hooks.find(|hook| hook.conn == conn && has_it(hook))?;
        // Another dialog may be open beside it.
        self.asking(&hook.pair)
            .next()
            .is_none()
            .then_some(&hook.pair)
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
        let has_run =
            |hook: &AskingHook| tool_use.is_some() && hook.tool_use.as_deref() == tool_use;
        let is_ended = |hook: &AskingHook| {
            hook.pair == *pair && (is_over || hook.reply.is_none() || has_run(hook))
        };
        let ended = self.claude.extract_if(.., |_, hook| is_ended(hook));
        let gone_on = ended.map(|(id, hook)| GoneOn {
            id,
            is_its_use: has_run(&hook),
            is_told_over: hook.is_told_over,
        });
        gone_on
            .filter(|on| !on.is_told_over || on.is_its_use)
            .collect()
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
        let hook = self.claude.get(id);
        self.codex_request(id).is_some() || hook.is_some_and(|hook| hook.reply.is_some())
    }

    /// Begins an answer.
    ///
    /// # Errors
    ///
    /// As of [`Self::check`].
    pub(in crate::daemon) fn begin(&mut self, id: &EntryId) -> Result<AnswerNumber, Refusal> {
        self.check(id)?;
        self.begun += 1;
        let number = AnswerNumber(self.begun);
        self.answering.insert(id.clone(), number);
        Ok(number)
    }

    /// # Errors
    ///
    /// When an answer is on its way.
    pub(in crate::daemon) fn check(&self, id: &EntryId) -> Result<(), Refusal> {
        if !self.answering.contains_key(id) {
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
        let is_it = self.answering.get(id) == Some(&number);
        if is_it {
            self.answering.remove(id);
        }
        is_it
    }

    /// The request is asked again behind an answer that is on record: whatever was sent, it did not
    /// arrive.
    pub(in crate::daemon) fn forget_answer(&mut self, id: &EntryId) {
        self.answering.remove(id);
    }

    /// Whether it is to be recorded now that an answer reached nobody: not when that is on its way
    /// already, and not of a request that is over.
    pub(in crate::daemon) fn tells_undelivered(&mut self, id: &EntryId) -> bool {
        !self.ending.contains(id) && self.undelivered.insert(id.clone())
    }

    /// That is in the record, or could not be recorded.
    pub(in crate::daemon) fn undelivered_is_told(&mut self, id: &EntryId) {
        self.undelivered.remove(id);
    }
}

/// What Codex's program asked, as the record has it.
fn recorded_of_codex(world: &Snapshot) -> impl Iterator<Item = &ApprovalSnapshot> {
    let open = world.open_approvals.values();
    open.filter(|it| it.agent == Agent::Codex && !it.request.is_user_question())
}
