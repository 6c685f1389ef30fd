//! What the operator does about an agent that is silent, at its usage limit, or nearly full.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::compact_context::{check_compaction, no_thread};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, LimitInput};
use crate::core::entry::LifecycleEvent;
use crate::core::id::EntryId;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::event::Event;
use crate::daemon::owners::{Agents, Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer, no_adapter};
use crate::wire::control::{
    AgentActionKind, AgentActionParams, Recorded, Refusal, RefusalCode, Reply,
};

/// How long an answer waits for the disk: a person looks at the key's effect.
const RECORDED_WAIT: Duration = Duration::from_secs(2);

impl Daemon {
    pub(super) fn agent_action(&mut self, params: AgentActionParams, reply: ReplySender) {
        let agent = params.agent;
        let done = match params.act {
            AgentActionKind::Interrupt => return self.agents.interrupt(&self.base, params, reply),
            AgentActionKind::Compact => return self.compact_context(agent, params.placed, reply),
            AgentActionKind::Requeue => {
                self.deliveries
                    .requeue(&mut self.base, &self.agents.claude, agent)
            }
            AgentActionKind::Snooze if self.agents.snooze_turn(&mut self.base, agent) => Ok(()),
            AgentActionKind::Snooze => Err(Refusal::new(
                RefusalCode::NotSilent,
                format!("{} is not silent", agent.title()),
                "there is nothing to wait for",
            )),
            AgentActionKind::TryNow | AgentActionKind::CancelRetries
                if !self.agents.limits.is_active(agent) =>
            {
                Err(Refusal::new(
                    RefusalCode::NotLimited,
                    format!("{} is at no usage limit", agent.title()),
                    "there is nothing to try or to cancel",
                ))
            }
            AgentActionKind::TryNow => {
                self.limit_input(agent, LimitInput::TryNow);
                Ok(())
            }
            AgentActionKind::CancelRetries => {
                self.limit_input(agent, LimitInput::Cancel);
                self.base.clients.status_changed();
                Ok(())
            }
        };
        answer(reply, done.map(|()| Reply::Done));
    }

    fn compact_context(&mut self, agent: Agent, placed: bool, reply: ReplySender) {
        let (codex, claude) = (&self.agents.codex, &self.agents.claude);
        if let Err(refusal) = check_compaction(codex, claude, &self.base.clock, agent) {
            return answer(reply, Err(refusal));
        }
        let life = self.agents.codex.life();
        // Before it is asked for: nothing may begin a turn that it would cut off.
        self.codex_input(CodexInput::CompactionBegan {
            life,
            is_asked: true,
        });
        let Some(begun) = self.agents.codex.compact() else {
            self.codex_input(CodexInput::CompactionOver { life });
            return answer(reply, Err(no_thread()));
        };
        self.base.clients.status_changed();
        let action = DoneAction {
            done: LifecycleEvent::CompactionAsked,
            text: "the operator had Codex's context compacted".to_owned(),
            placed,
        };
        self.base
            .answer_action(begun, action, "look again: it may be at work", reply);
    }
}

impl Deliveries {
    /// Sends the messages again whose turn ended early.
    fn requeue(
        &mut self,
        base: &mut Base,
        claude: &ClaudeLane,
        agent: Agent,
    ) -> Result<(), Refusal> {
        let ids = self.cut_off(base, claude, agent);
        if ids.is_empty() {
            return Err(Refusal::new(
                RefusalCode::NothingCutOff,
                format!("no message for {} is without its turn", agent.title()),
                "see `ctxrelay queue list` for what waits",
            ));
        }
        self.send_cut_off(base, agent, ids, |_| {});
        Ok(())
    }

    /// Sends messages again whose turn ended early, because the operator says so.
    pub(super) fn send_cut_off(
        &mut self,
        base: &mut Base,
        agent: Agent,
        ids: Vec<EntryId>,
        then: impl FnOnce(&mut Daemon) + Send + 'static,
    ) {
        let why = "the operator asked for another try: its turn ended early";
        self.send_again(base, agent, ids, why, move |daemon| {
            if agent == Agent::Codex && daemon.agents.codex.is_paused() {
                // What the human stopped goes on, because they say so.
                daemon.codex_input(CodexInput::Released);
            }
            then(daemon);
        });
    }
}

impl Agents {
    /// Stops a turn of Codex. Claude's can be stopped in its terminal only.
    fn interrupt(&self, base: &Base, params: AgentActionParams, reply: ReplySender) {
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
        let action = DoneAction {
            done: LifecycleEvent::TurnInterrupted,
            text: format!("the operator stopped Codex's turn {turn}"),
            placed: params.placed,
        };
        let hint = "look again: the turn may have ended";
        base.answer_action(stopped, action, hint, reply);
    }
}

impl Base {
    /// Answers once Codex has said whether it did it; only then it is on record as done. `hint` is
    /// the next step where it refuses.
    fn answer_action(
        &self,
        asked: oneshot::Receiver<Result<(), String>>,
        action: DoneAction,
        hint: &'static str,
        reply: ReplySender,
    ) {
        let events = self.events.clone();
        tokio::spawn(async move {
            if let Err(refusal) = told(asked, hint).await {
                return answer(reply, Err(refusal));
            }
            let DoneAction { done, text, placed } = action;
            let (told, recorded) = oneshot::channel();
            if let Some(events) = events.upgrade() {
                let action = done;
                let _ = events.send(Event::ActionDone { action, text, told }).await;
            }
            answer(reply, Ok(action_reply(placed, recorded).await));
        });
    }

    pub(in crate::daemon) fn on_action_done(
        &mut self,
        action: LifecycleEvent,
        text: String,
        told: oneshot::Sender<Recorded>,
    ) {
        let entry = self.recorder.entry(Party::Human, None, action, text, None);
        self.recorder.append(
            vec![entry],
            Box::new(move |_, result| {
                if let Some(stored) = result.ok().and_then(|stored| stored.first()) {
                    let _ = told.send(Recorded::of(&stored.entry));
                }
            }),
        );
    }
}

/// What the operator has Codex do.
struct DoneAction {
    done: LifecycleEvent,
    text: String,
    /// Who asked wants to know where it is recorded.
    placed: bool,
}

/// The answer to what was done, with the entry that says so where that was `placed` and is durable
/// soon.
async fn action_reply(placed: bool, recorded: oneshot::Receiver<Recorded>) -> Reply {
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
async fn told(done: oneshot::Receiver<Result<(), String>>, hint: &str) -> Result<(), Refusal> {
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
