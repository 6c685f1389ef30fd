//! [`CodexState`]: what Codex is and does, in one place. The lane, the status and the record derive
//! from it; only [`CodexInput`](super::CodexInput) changes it, through the lane.

use super::{Activity, CarriedFlow};
use crate::agent::AgentState;
use crate::id::{ThreadId, TurnId};

/// What Codex is and does now, as far as its app-server has reported.
#[derive(Debug, Default)]
pub struct CodexState {
    /// The number of the current app-server, in the order of their starts.
    life: u64,
    is_running: bool,
    thread: Option<ThreadId>,
    activity: Option<Activity>,
    /// The running turn.
    turn: Option<TurnId>,
    /// The turn that began last under this app-server, running or not.
    latest_turn: Option<TurnId>,
    /// The lane rests because of a usage limit, for longer than the limit holds: until the messages
    /// that died of it are recorded as sent again, because they go first.
    rests_at_limit: bool,
    /// The human stopped a turn, and decides when the lane goes on.
    is_paused: bool,
    needs_sign_in: bool,
}

impl CodexState {
    /// The app-server that counts.
    pub fn life(&self) -> u64 {
        self.life
    }

    /// Whether its app-server answers.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The thread that is followed, or was last.
    pub fn thread(&self) -> Option<&ThreadId> {
        self.thread.as_ref()
    }

    /// What the thread does; `None` while nothing is known of it.
    pub fn activity(&self) -> Option<Activity> {
        self.activity.filter(|_| self.is_running)
    }

    /// A turn runs.
    pub fn is_busy(&self) -> bool {
        matches!(self.activity, Some(Activity::Busy { .. }))
    }

    /// Whether the turn that runs waits for the human; `None` without one.
    pub fn turn_waits(&self) -> Option<bool> {
        match self.activity {
            Some(Activity::Busy { waiting }) => Some(waiting),
            // Its beginning may be told before the thread's activity.
            _ => self.turn.as_ref().map(|_| false),
        }
    }

    /// The running turn.
    pub fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref()
    }

    /// Whether the lane rests because of a usage limit.
    pub fn rests_at_limit(&self) -> bool {
        self.rests_at_limit
    }

    /// Whether it waits for the human to go on after they stopped a turn.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether what waits for it has to go on waiting: every turn of now would fail, or is not wanted.
    pub fn keeps_back(&self) -> bool {
        self.rests_at_limit || self.is_paused || self.needs_sign_in
    }

    /// Whether it can do nothing before somebody signs in.
    pub fn needs_sign_in(&self) -> bool {
        self.needs_sign_in
    }

    /// What the operator reads of it.
    pub fn agent_state(&self) -> AgentState {
        if self.rests_at_limit {
            return AgentState::Limited;
        }
        match self.activity() {
            None | Some(Activity::NotLoaded) => AgentState::Offline,
            Some(Activity::Busy { waiting: true }) => AgentState::Waiting,
            Some(Activity::Busy { waiting: false }) => AgentState::Busy,
            Some(Activity::Idle) if self.needs_sign_in => AgentState::Waiting,
            Some(Activity::Idle) => AgentState::Idle,
        }
    }

    /// An app-server was started, and what the one before said no longer counts.
    pub(super) fn server_started(&mut self, life: u64) {
        self.server_gone();
        self.life = life;
        self.is_running = true;
    }

    /// There is no app-server. The turn that ran was cut off and not stopped by the human.
    pub(super) fn server_gone(&mut self) {
        self.is_running = false;
        self.activity = None;
        self.turn = None;
        self.latest_turn = None;
        self.needs_sign_in = false;
    }

    /// Whether this is another thread than before. What that one does is told next, and what the one
    /// before did counts no more.
    pub(super) fn adopt(&mut self, thread: ThreadId) -> bool {
        let is_other = self.thread.as_ref() != Some(&thread);
        let before = self.thread.replace(thread);
        if is_other && before.is_some() {
            self.activity = None;
        }
        is_other
    }

    pub(super) fn does(&mut self, activity: Activity) {
        self.activity = Some(activity);
        if !self.is_busy() {
            self.turn = None;
        }
    }

    /// `runs`: it has not ended already.
    pub(super) fn turn_began(&mut self, turn: TurnId, runs: bool) {
        if runs {
            self.turn = Some(turn.clone());
        }
        self.latest_turn = Some(turn);
    }

    /// The turn is over. A history that is read again reports the end a second time.
    pub(super) fn turn_over(&mut self, turn: &TurnId) {
        if self.turn.as_ref() == Some(turn) {
            self.turn = None;
        }
    }

    /// Whether this was the turn that began last under this app-server, the first time.
    pub(super) fn end_latest(&mut self, turn: &TurnId) -> bool {
        self.latest_turn.take_if(|latest| latest == turn).is_some()
    }

    /// Whether that is news.
    pub(super) fn rest_at_limit(&mut self, rests: bool) -> bool {
        std::mem::replace(&mut self.rests_at_limit, rests) != rests
    }

    /// Whether that is news.
    pub(super) fn pause(&mut self, paused: bool) -> bool {
        std::mem::replace(&mut self.is_paused, paused) != paused
    }

    pub(super) fn sign_in(&mut self, needed: bool) {
        self.needs_sign_in = needed;
    }

    /// Takes on the state of the previous process. The adapter reports the thread's activity again.
    pub(super) fn take_over(&mut self, carried: &CarriedFlow, server_stays: bool) {
        self.server_gone();
        self.life = carried.life;
        self.thread.clone_from(&carried.thread);
        self.rests_at_limit = carried.is_limited;
        self.is_paused = carried.is_paused;
        if server_stays {
            self.is_running = carried.is_running;
            self.latest_turn.clone_from(&carried.turn);
            // The adapter knows that it runs, and tells its end only.
            self.turn.clone_from(&carried.running);
        }
    }

    /// What the next process gets of it. The rest is the lane's.
    pub(super) fn carried(&self) -> CarriedFlow {
        CarriedFlow {
            life: self.life,
            is_running: self.is_running,
            thread: self.thread.clone(),
            turn: self.latest_turn.clone(),
            running: self.turn.clone(),
            is_limited: self.rests_at_limit,
            is_paused: self.is_paused,
            ..CarriedFlow::default()
        }
    }
}
