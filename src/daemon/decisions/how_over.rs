//! [`HowOver`]: how a request for approval came to its end, and what the record says of it.

use crate::core::agent::Agent;
use crate::core::entry::{ApprovalEnd, ChoiceEffect};
use crate::core::snapshot::ApprovalSnapshot;

/// How a request is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) enum HowOver {
    /// The operator's answer had its effect, or the agent was answered in its own terminal.
    Answered,
    /// As [`Self::Answered`], and what was asked about is done: no refusal of the operator's was in
    /// time.
    Done,
    /// Nobody took the operator's answer: the hook that asked was gone.
    Missed,
    /// What asked is gone.
    Gone,
    /// Its agent asks about something else in its place. Claude's hook does where the plan has changed
    /// behind the card: the answer that it has it does not pass on.
    Replaced,
    /// The time of Claude's hook is over without an answer of the operator's.
    TimedOut,
    /// The daemon that was asked has ended, and who waited with it.
    DaemonEnded,
}

impl HowOver {
    pub(in crate::daemon) fn end(self) -> ApprovalEnd {
        match self {
            Self::Answered | Self::Done | Self::Missed => ApprovalEnd::Answered,
            Self::Gone | Self::Replaced | Self::TimedOut | Self::DaemonEnded => ApprovalEnd::Lost,
        }
    }

    /// For people. `asked`: the request, where the record has it.
    pub(in crate::daemon) fn in_words(
        self,
        agent: Agent,
        asked: Option<&ApprovalSnapshot>,
    ) -> String {
        use ChoiceEffect::{Deny, DenyMore, Stop};
        let who = agent.title();
        let label = asked.and_then(ApprovalSnapshot::given_label);
        let effect = asked.and_then(ApprovalSnapshot::given_effect);
        match (self, label) {
            (Self::Answered | Self::Done | Self::Missed, None) => {
                format!("{who} was answered in its own terminal")
            }
            (Self::Done, Some(label)) if matches!(effect, Some(Deny | DenyMore | Stop)) => format!(
                "{who} was answered in its own terminal, and it was done: the operator's answer came \
                 too late, which was {label}"
            ),
            (Self::Answered | Self::Done, Some(label)) if effect == Some(Stop) => {
                format!("{who} was told to stop; the operator's answer was {label}")
            }
            (Self::Answered | Self::Done, Some(label)) => {
                format!("{who} goes on; the operator's answer was {label}")
            }
            (Self::Missed, Some(label)) => {
                format!("nobody took the operator's answer, which was {label}")
            }
            (Self::Replaced, Some(label)) if agent == Agent::Claude => format!(
                "what Claude asked has changed since then and is asked again; the operator's answer \
                 was not passed on, which was {label}"
            ),
            (Self::Gone | Self::Replaced, _) => format!("what {who} asked is gone with it"),
            (Self::TimedOut, _) => {
                "nobody answered here in time; Claude's own dialog waits on".to_owned()
            }
            (Self::DaemonEnded, None) => format!("what {who} asked is gone with the daemon"),
            (Self::DaemonEnded, Some(label)) => format!(
                "what {who} asked is gone with the daemon; the operator's answer was {label}, and \
                 whether {who} got it is not known"
            ),
        }
    }
}
