//! [`AskedRequest`]: how far one request for approval has come, and where it can be answered.
//!
//! It does not know what else is asked, nor how its steps are recorded.

use super::{AnswerNumber, AskedAs, TextDigest};
use crate::core::id::RuntimeSession;
use crate::daemon::attach::ConnId;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::reply::ReplySender;

/// A request that was asked. One of which nothing is known here was asked of an earlier daemon, and
/// is in the record.
#[derive(Debug, Default)]
pub(super) struct AskedRequest {
    /// `None` where an earlier daemon was asked.
    text: Option<TextDigest>,
    /// Where it can be answered now.
    way: Option<AnswerWay>,
    phase: RequestPhase,
}

/// Where a request can be answered.
#[derive(Debug)]
pub(in crate::daemon) enum AnswerWay {
    /// The number of Codex's request, on its connection of now.
    Codex(String),
    /// The hook of Claude's that waits, or waited.
    Claude(WaitingHook),
}

/// It ends in the record only where it has begun there, and once.
#[derive(Debug)]
enum RequestPhase {
    /// On its way to the record.
    Coming {
        asked: AskedAs,
        /// It has ended meanwhile.
        over: Option<HowOver>,
    },
    /// In the record.
    Recorded {
        /// An answer of the operator's is being recorded or sent, or was sent.
        answer: Option<AnswerNumber>,
        /// That an answer before that one reached nobody is on its way to the record.
        is_undelivered: bool,
    },
    /// Its end is on its way to the record.
    Ending,
    /// Its end is in the record. It is kept for its hook, until that has left or Claude goes on.
    Over,
}

impl RequestPhase {
    const WAITING: Self = Self::Recorded {
        answer: None,
        is_undelivered: false,
    };
}

impl Default for RequestPhase {
    fn default() -> Self {
        Self::WAITING
    }
}

impl AskedRequest {
    pub(super) fn coming(asked: AskedAs) -> Self {
        Self {
            text: Some(asked.text),
            way: None,
            phase: RequestPhase::Coming { asked, over: None },
        }
    }

    /// While it is on its way to the record.
    pub(super) fn as_coming(&self) -> Option<&AskedAs> {
        match &self.phase {
            RequestPhase::Coming { asked, .. } => Some(asked),
            _ => None,
        }
    }

    /// Whether it asks for this, as far as is known.
    pub(super) fn may_ask(&self, text: &TextDigest) -> bool {
        self.text.as_ref().is_none_or(|it| it == text)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, RequestPhase::Ending)
    }

    /// Nothing of it is under way, to the record or to its agent.
    pub(super) fn is_at_rest(&self) -> bool {
        let is_under_way = match &self.phase {
            RequestPhase::Coming { .. } | RequestPhase::Ending => true,
            RequestPhase::Recorded {
                answer,
                is_undelivered,
            } => answer.is_some() || *is_undelivered,
            RequestPhase::Over => false,
        };
        !is_under_way && self.way.is_none()
    }

    pub(super) fn is_answerable(&self) -> bool {
        match &self.way {
            Some(AnswerWay::Codex(_)) => true,
            Some(AnswerWay::Claude(hook)) => hook.waits(),
            None => false,
        }
    }

    pub(super) fn codex_request(&self) -> Option<&str> {
        match &self.way {
            Some(AnswerWay::Codex(request_id)) => Some(request_id),
            _ => None,
        }
    }

    pub(super) fn hook(&self) -> Option<&WaitingHook> {
        match &self.way {
            Some(AnswerWay::Claude(hook)) => Some(hook),
            _ => None,
        }
    }

    pub(super) fn hook_mut(&mut self) -> Option<&mut WaitingHook> {
        match &mut self.way {
            Some(AnswerWay::Claude(hook)) => Some(hook),
            _ => None,
        }
    }

    /// Its agent waits there, and so it is not over.
    pub(super) fn waits(&mut self, way: AnswerWay) {
        self.way = Some(way);
        if let RequestPhase::Coming { over, .. } = &mut self.phase {
            *over = None;
        }
    }

    pub(super) fn waits_no_more(&mut self) {
        self.way = None;
    }

    /// As [`Approvals::recorded`](super::Approvals::recorded).
    pub(super) fn recorded(&mut self) -> Option<HowOver> {
        let RequestPhase::Coming { over, .. } = self.phase else {
            return None;
        };
        self.phase = RequestPhase::WAITING;
        over
    }

    /// As [`Approvals::begin_end`](super::Approvals::begin_end).
    pub(super) fn begin_end(&mut self, how: HowOver) -> bool {
        match &mut self.phase {
            RequestPhase::Coming { over, .. } => {
                over.get_or_insert(how);
                false
            }
            RequestPhase::Recorded { .. } => {
                self.phase = RequestPhase::Ending;
                true
            }
            RequestPhase::Ending | RequestPhase::Over => false,
        }
    }

    /// As [`Approvals::end_is_told`](super::Approvals::end_is_told).
    pub(super) fn end_is_told(&mut self, is_recorded: bool) {
        if self.is_ending() {
            self.phase = match is_recorded {
                true => RequestPhase::Over,
                false => RequestPhase::WAITING,
            };
        }
    }

    /// The answer of the operator's that is on its way.
    pub(super) fn answer(&self) -> Option<AnswerNumber> {
        match self.phase {
            RequestPhase::Recorded { answer, .. } => answer,
            _ => None,
        }
    }

    /// Only of what is in the record and not over.
    pub(super) fn set_answer(&mut self, number: Option<AnswerNumber>) {
        if let RequestPhase::Recorded { answer, .. } = &mut self.phase {
            *answer = number;
        }
    }

    /// As [`Approvals::begin_undelivered`](super::Approvals::begin_undelivered).
    pub(super) fn begin_undelivered(&mut self) -> bool {
        match self.phase {
            RequestPhase::Recorded {
                is_undelivered: false,
                ..
            } => {
                self.phase = RequestPhase::Recorded {
                    answer: None,
                    is_undelivered: true,
                };
                true
            }
            _ => false,
        }
    }

    pub(super) fn undelivered_is_told(&mut self) {
        if let RequestPhase::Recorded { is_undelivered, .. } = &mut self.phase {
            *is_undelivered = false;
        }
    }
}

/// A hook of Claude's that asked. Claude's own dialog is open beside it.
#[derive(Debug)]
pub(in crate::daemon) struct WaitingHook {
    conn: ConnId,
    /// The pair of its Claude.
    pair: RuntimeSession,
    /// Names the use of the tool that it asks about.
    tool_use: Option<String>,
    state: HookState,
}

#[derive(Debug)]
enum HookState {
    Waits(ReplySender),
    Answered,
    /// Answered, and told to stop the turn.
    Stopped,
    /// It was gone when it was answered, of which nobody has told yet. With the answer its request
    /// is over.
    Missed {
        /// The answer said no.
        denied: bool,
    },
    /// It is gone, and its request is over with an answer that was to stop, or that said no and
    /// that it did not take. It is kept: where Claude had been answered in its own dialog its tool
    /// runs on, and says so.
    LeftDenied,
}

impl WaitingHook {
    pub(in crate::daemon) fn new(
        conn: ConnId,
        pair: RuntimeSession,
        tool_use: Option<String>,
        reply: ReplySender,
    ) -> Self {
        Self {
            conn,
            pair,
            tool_use,
            state: HookState::Waits(reply),
        }
    }

    pub(super) fn conn(&self) -> ConnId {
        self.conn
    }

    pub(super) fn pair(&self) -> &RuntimeSession {
        &self.pair
    }

    /// Whether it asks about this use of a tool.
    pub(super) fn is_of_use(&self, tool_use: Option<&str>) -> bool {
        tool_use.is_some() && self.tool_use.as_deref() == tool_use
    }

    pub(super) fn waits(&self) -> bool {
        matches!(self.state, HookState::Waits(_))
    }

    /// Claude goes on with the answer that it was given.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self.state, HookState::Answered)
    }

    /// It is gone, and what it asked is over on the record: it was told to stop, or did not take a
    /// refusal.
    pub(super) fn is_told_over(&self) -> bool {
        matches!(
            self.state,
            HookState::Missed { denied: true } | HookState::LeftDenied
        )
    }

    /// The way to it, once. `stops`: as [`Approvals::take_hook`](super::Approvals::take_hook).
    pub(super) fn take_reply(&mut self, stops: bool) -> Option<ReplySender> {
        let answered = match stops {
            true => HookState::Stopped,
            false => HookState::Answered,
        };
        match std::mem::replace(&mut self.state, answered) {
            HookState::Waits(reply) => Some(reply),
            was => {
                self.state = was;
                None
            }
        }
    }

    pub(super) fn missed_answer(&mut self, denied: bool) {
        self.state = HookState::Missed { denied };
    }

    /// It is gone. Whether it was told to stop the turn; `None` where Claude goes on with an answer.
    pub(super) fn leaves(&mut self) -> Option<bool> {
        match self.state {
            HookState::Waits(_) | HookState::Missed { denied: false } => Some(false),
            HookState::Missed { denied: true } => {
                self.state = HookState::LeftDenied;
                Some(false)
            }
            HookState::Stopped => {
                self.state = HookState::LeftDenied;
                Some(true)
            }
            HookState::Answered | HookState::LeftDenied => None,
        }
    }
}
