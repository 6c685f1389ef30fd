//! What the operator does about an agent that is silent, at its usage limit, or nearly full.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, LimitInput};
use crate::core::entry::LifecycleEvent;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer, no_adapter};
use crate::wire::control::{AttendParams, Attendance, Recorded, Refusal, RefusalCode, Reply};

/// How long an answer waits for the disk: a person looks at the key's effect.
const RECORDED_WAIT: Duration = Duration::from_secs(2);

impl Daemon {
    pub(super) fn attend(&mut self, params: AttendParams, reply: ReplySender) {
        let agent = params.agent;
        let done = match params.act {
            Attendance::Interrupt => return self.interrupt(params, reply),
            Attendance::Compact => return self.compact_context(agent, params.placed, reply),
            Attendance::Requeue => self.requeue(agent),
            Attendance::Wait if self.let_turn_be(agent) => Ok(()),
            Attendance::Wait => Err(Refusal::new(
                RefusalCode::NotSilent,
                format!("{} is not silent", agent.title()),
                "there is nothing to wait for",
            )),
            Attendance::TryNow | Attendance::Cancel if !self.limits.holds(agent) => {
                Err(Refusal::new(
                    RefusalCode::NotLimited,
                    format!("{} is at no usage limit", agent.title()),
                    "there is nothing to try or to cancel",
                ))
            }
            Attendance::TryNow => {
                self.limit_input(agent, LimitInput::TryNow);
                Ok(())
            }
            Attendance::Cancel => {
                self.limit_input(agent, LimitInput::Cancel);
                self.clients.status_changed();
                Ok(())
            }
        };
        answer(reply, done.map(|()| Reply::Done));
    }

    /// Sends the messages again whose turn ended early.
    fn requeue(&mut self, agent: Agent) -> Result<(), Refusal> {
        let ids = self.cut_off(agent);
        if ids.is_empty() {
            return Err(Refusal::new(
                RefusalCode::NothingCutOff,
                format!("no message for {} is without its turn", agent.title()),
                "see `ctxrelay queue list` for what waits",
            ));
        }
        let why = "the operator asked for another try: its turn ended early";
        self.send_again(agent, ids, why, move |daemon| {
            if agent == Agent::Codex && daemon.codex.is_held() {
                // What the human stopped goes on, because they say so.
                daemon.codex_input(CodexInput::Released);
            }
        });
        Ok(())
    }

    /// Stops a turn of Codex. Claude's can be stopped in its terminal only.
    fn interrupt(&mut self, params: AttendParams, reply: ReplySender) {
        if params.agent == Agent::Claude {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::NotFromHere,
                    "a turn of Claude can only be stopped in its own terminal",
                    "press Esc there",
                )),
            );
        }
        let running = self.codex.running_turn();
        let (Some(turn), true) = (running.clone(), running == params.turn_id) else {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::NoSuchTurn,
                    "that turn does not run any more",
                    "look again: nothing was stopped",
                )),
            );
        };
        let Some(stopped) = self.codex.interrupt(turn.clone()) else {
            return answer(reply, Err(no_adapter()));
        };
        let recorded = self.record_deed(
            LifecycleEvent::TurnInterrupted,
            format!("the operator stopped Codex's turn {turn}"),
        );
        tokio::spawn(async move {
            let stopped = told(stopped, "look again: the turn may have ended").await;
            let reply_to = deed_reply(params.placed, recorded).await;
            answer(reply, stopped.map(|()| reply_to));
        });
    }

    /// Records what the operator did to an agent; where that is, for who waits for it.
    pub(super) fn record_deed(
        &mut self,
        event: LifecycleEvent,
        text: impl Into<String>,
    ) -> oneshot::Receiver<Recorded> {
        let (told, recorded) = oneshot::channel();
        let entry = self.recorder.entry(Party::Human, None, event, text, None);
        self.recorder.record(
            vec![entry],
            Box::new(move |_, result| {
                if let Some(stored) = result.ok().and_then(|stored| stored.first()) {
                    let _ = told.send(Recorded::of(&stored.entry));
                }
            }),
        );
        recorded
    }
}

/// The answer to what was done, with the entry that says so where that was `placed` and is durable
/// soon.
pub(super) async fn deed_reply(placed: bool, recorded: oneshot::Receiver<Recorded>) -> Reply {
    if !placed {
        return Reply::Done;
    }
    match timeout(RECORDED_WAIT, recorded).await {
        Ok(Ok(recorded)) => Reply::Recorded(recorded),
        _ => Reply::Done,
    }
}

/// What the app-server says, and the next step where it refuses. Its request has a deadline in the
/// adapter.
pub(super) async fn told(
    done: oneshot::Receiver<Result<(), String>>,
    hint: &str,
) -> Result<(), Refusal> {
    match done.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Refusal::new(
            RefusalCode::CodexRefused,
            format!("codex refused it: {why}"),
            hint,
        )),
        Err(_) => Err(Refusal::new(
            RefusalCode::CodexUnavailable,
            "the app-server went away over it",
            "look again: its turns are gone with it",
        )),
    }
}
