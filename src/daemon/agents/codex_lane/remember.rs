//! What the lane remembers of app-server, terminal and turns: one call per fact, and the calls that
//! read it.

use super::CodexLane;
use super::relayed::Relayed;
use crate::core::delivery::Outcome;
use crate::core::id::{AttemptId, EntryId, RuntimeSession, TurnId};
use crate::wire::status::{AppServerStatus, HookReview};

impl CodexLane {
    /// An app-server answers. Returns its life: that of the one before, where it is the same one
    /// and only the daemon's process has changed.
    pub(in crate::daemon) fn server_started(&mut self, server: AppServerStatus, port: u16) -> u64 {
        let goes_on = self.server() == Some(&server);
        self.server = Some((server, Some(port)));
        if goes_on {
            return self.life();
        }
        self.trouble = None;
        self.life() + 1
    }

    /// The configuration says whether our hook is wanted.
    pub(in crate::daemon) fn want_hook(&mut self, is_wanted: bool) {
        self.hook.want(is_wanted);
        if !is_wanted {
            self.review = None;
        }
    }

    /// Whether our hook is to stand in the app-server.
    pub(in crate::daemon) fn wants_hook(&self) -> bool {
        self.hook.is_wanted()
    }

    /// Codex says what it thinks of our hook.
    pub(in crate::daemon) fn hook_reviewed(&mut self, review: Option<HookReview>) {
        self.review = review;
    }

    /// What Codex thinks of our hook, as far as is known.
    pub(in crate::daemon) fn hook_review(&self) -> Option<&HookReview> {
        self.review.as_ref()
    }

    /// The app-server is gone, and what waited for an approval with it.
    pub(in crate::daemon) fn server_gone(&mut self) {
        self.approvals = 0;
        self.waiting_helpers = 0;
    }

    /// The terminal came or left. Returns whether that is new.
    pub(in crate::daemon) fn terminal(&mut self, attached: bool, pid: Option<u32>) -> bool {
        if self.tui == attached {
            return false;
        }
        self.tui = attached;
        self.tui_pid = pid;
        true
    }

    pub(in crate::daemon) fn approvals_pending(&mut self, count: u64, helpers: u64) {
        self.approvals = count;
        self.waiting_helpers = helpers;
    }

    /// Why the lane rests. Returns whether that is new.
    pub(in crate::daemon) fn rests_because(&mut self, why: &str) -> bool {
        if self.trouble.as_deref() == Some(why) {
            return false;
        }
        self.trouble = Some(why.to_owned());
        true
    }

    /// Codex shows a message of this turn, so nothing is wrong. Returns whether it is the turn's
    /// first.
    pub(in crate::daemon) fn shows_message_of(&mut self, turn: &TurnId) -> bool {
        self.trouble = None;
        let is_first = self.turns_noted.get(turn).is_none();
        self.turns_noted.insert(turn.clone(), ());
        is_first
    }

    /// A message that we brought into a turn; the same one counts once.
    pub(in crate::daemon) fn relayed_into(&mut self, turn: &TurnId, message: Relayed) {
        match self.relayed.get_mut(turn) {
            Some(known) if known.iter().any(|known| known.id == message.id) => {}
            Some(known) => known.push(message),
            None => self.relayed.insert(turn.clone(), vec![message]),
        }
    }

    /// The messages that we brought into a turn, in their order.
    pub(in crate::daemon) fn relayed(&self, turn: &TurnId) -> &[Relayed] {
        self.relayed.get(turn).map_or(&[], Vec::as_slice)
    }

    /// The last message that we brought into a turn.
    pub(in crate::daemon) fn last_relayed(&self, turn: &TurnId) -> Option<&Relayed> {
        self.relayed(turn).last()
    }

    /// The question that started a turn.
    pub(in crate::daemon) fn question_of(&self, turn: &TurnId) -> Option<&Relayed> {
        let first = self.relayed(turn).first()?;
        (first.starts && first.asks).then_some(first)
    }

    /// What started a turn that Claude waits for the end of: a question, or work of its that it handed
    /// over.
    pub(in crate::daemon) fn asked_of(&self, turn: &TurnId) -> Option<&Relayed> {
        let first = self.relayed(turn).first()?;
        let is_work = first.is_handoff && first.from.agent().is_some();
        (first.starts && (first.asks || is_work)).then_some(first)
    }

    /// What the turn that ended last died of; the entry about a limit says it.
    pub(in crate::daemon) fn set_last_error(&mut self, error: Option<String>) {
        self.last_error = error;
    }

    /// A tool call of this turn answered the Claude of a pair: to that one its final answer need not
    /// be relayed.
    pub(in crate::daemon) fn answered_by_tool(&mut self, turn: &TurnId, pair: RuntimeSession) {
        match self.answered.get_mut(turn) {
            Some(Some(pairs)) if !pairs.contains(&pair) => pairs.push(pair),
            Some(_) => {}
            None => self.answered.insert(turn.clone(), Some(vec![pair])),
        }
    }

    /// Whether a tool call of this turn answered the Claude of a pair.
    pub(in crate::daemon) fn has_answered_by_tool(
        &self,
        turn: &TurnId,
        pair: &RuntimeSession,
    ) -> bool {
        let answered = self.answered.get(turn);
        answered.is_some_and(|pairs| pairs.as_ref().is_none_or(|pairs| pairs.contains(pair)))
    }

    /// So many characters of ours go with a message, by the attempt that begins.
    pub(in crate::daemon) fn carries_of_ours(&mut self, id: &EntryId, chars: usize) {
        self.ours.insert(id.clone(), chars);
    }

    /// How many characters of ours came with a message that Codex shows; each counts once.
    pub(in crate::daemon) fn take_ours_with(&mut self, id: &EntryId) -> usize {
        self.ours
            .get_mut(id)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// What became of a message.
    pub(in crate::daemon) fn receipt(&self, id: &EntryId) -> Option<Outcome> {
        self.receipts.get(id).copied()
    }

    pub(in crate::daemon) fn last_attempt(&self, id: &EntryId) -> Option<AttemptId> {
        self.attempts.get(id).cloned()
    }
}
