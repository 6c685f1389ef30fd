//! Claude's hooks: they report what Claude does, and take message bodies into the running turn.

use std::path::Path;

use super::policy::note_refused_tool;
use super::status_line::status_line;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{ClaudeInput, ClaudeState, HookPoint, LadderInput};
use crate::core::entry::ReloadStep;
use crate::core::id::RuntimeSession;
use crate::core::relay_cost::CostSort;
use crate::daemon::agents::claude::conversing::conversation;
use crate::daemon::agents::claude::receivers_hook::is_receivers_hook;
use crate::daemon::agents::metering::{meter_claude, meter_status_line};
use crate::daemon::attach::ConnId;
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::daemon::reply::{ReplySender, answer, is_answered};
use crate::wire::control::{
    HookEvent, HookParams, HookReply, IdsParams, NotificationKind, Reply, SessionSource,
    ToolBeginsParams, TurnFailure,
};

/// The call of a hook, which waits for its answer.
struct HookCall {
    conn: ConnId,
    reply: ReplySender,
}

impl HookCall {
    /// Answers. Whether somebody was there to take it.
    fn with(self, daemon: &mut Daemon, handed: HookReply) -> bool {
        daemon.base.clients.give_bodies(self.conn, &handed.ids);
        is_answered(self.reply, Ok(Reply::Hook(handed)))
    }

    /// Nobody waits for the answer any more.
    fn is_gone(&self) -> bool {
        self.reply.is_closed()
    }

    fn with_nothing(self) {
        answer(self.reply, Ok(Reply::Hook(HookReply::default())));
    }
}

impl Daemon {
    pub(super) fn hook(&mut self, conn: ConnId, params: &HookParams, reply: ReplySender) {
        if params.event == HookEvent::StatusLine {
            let line =
                self.agents
                    .status_line_for(&self.base, &self.deliveries.outbox, conn, params);
            return answer(reply, Ok(Reply::Hook(HookReply::of_text(Some(line)))));
        }
        if params.event == HookEvent::CodexCompacted {
            return self.agents.codex_hook_asks(
                &mut self.base,
                &mut self.deliveries.held,
                params,
                reply,
            );
        }
        if let Some(pid) = params.claude_pid {
            self.agents.claude_processes.hook_ran(pid, params.is_judged);
        }
        if params.event == HookEvent::PreToolUse {
            // It asks nothing: what became of the call was judged before.
            note_refused_tool(&mut self.base.recorder, params);
            return answer(reply, Ok(Reply::Hook(HookReply::default())));
        }
        let pair = self.base.clients.pair(conn, None);
        let call = HookCall { conn, reply };
        if is_receivers_hook(
            &self.agents.claude,
            &self.base.clients,
            conn,
            params.claude_pid,
        ) {
            self.receivers_hook(&pair, params, call);
        } else {
            call.with_nothing();
        }
    }

    /// Claude's hook before a tool says what begins.
    pub(super) fn tool_begins(
        &mut self,
        conn: ConnId,
        params: &ToolBeginsParams,
        reply: ReplySender,
    ) {
        if let Some(pid) = params.claude_pid {
            self.agents.claude_processes.hook_ran(pid, params.is_judged);
        }
        let pair = self.base.clients.pair(conn, None);
        if is_receivers_hook(
            &self.agents.claude,
            &self.base.clients,
            conn,
            params.claude_pid,
        ) {
            self.claude_hears(&pair, ClaudeInput::ToolBegins);
            let (redactor, now_ms) = (self.base.recorder.redactor(), self.base.clock.now_ms());
            self.agents
                .claude
                .tool_begins(&pair, redactor, &self.base.dirs.root, now_ms, params);
            self.agents.watch_claudes_tools(&mut self.base, &pair);
            self.base.clients.status_changed();
        }
        answer(reply, Ok(Reply::Done));
    }

    /// A hook has printed these. It can have printed only what it was given itself: what it says of
    /// other messages proves nothing.
    pub(super) fn hook_handed(&mut self, conn: ConnId, mut params: IdsParams, reply: ReplySender) {
        params.ids = self.base.clients.bodies_done(conn, params.ids);
        self.fetched(conn, params, reply);
    }

    fn receivers_hook(&mut self, pair: &RuntimeSession, params: &HookParams, call: HookCall) {
        match &params.event {
            // It tells of a helper and not of Claude's turn.
            HookEvent::SubagentStop => {
                self.agents.touched.helper(pair);
                self.helper_tells(pair, params);
                return call.with_nothing();
            }
            // Neither do these, and Claude's messages are not for a helper.
            HookEvent::HelperToolUse | HookEvent::HelperAsks => {
                self.agents.helper_touched(&self.base, pair, params);
                // A tool that runs may be the one that waits for this helper.
                if self.agents.claude.runs_tool(pair) {
                    self.claude_hears(pair, ClaudeInput::GivesSign);
                }
                if !self.decisions.helper_goes_on(&self.base, pair, params) {
                    self.helper_tells(pair, params);
                }
                return call.with_nothing();
            }
            HookEvent::InstructionsLoaded => {
                let path = params.path.as_deref().unwrap_or_default();
                self.agents.claude_read(&self.base, pair, path);
                return call.with_nothing();
            }
            // It comes behind what tells that the dialog is closed.
            HookEvent::PermissionRequest
                if self.decisions.asks_late(
                    &self.base,
                    pair,
                    params.tool_use.as_deref(),
                    params.asked_ago_ms,
                ) =>
            {
                return call.with_nothing();
            }
            // So may this, which tells what Claude waits for.
            HookEvent::Notification if self.notifies_late(pair, params.asked_ago_ms) => {
                return call.with_nothing();
            }
            // And this, of a turn that is over: the one that runs reads what that was given.
            HookEvent::StopFailure if self.fails_late(pair, params.asked_ago_ms) => {
                return call.with_nothing();
            }
            _ => self.hears_of_turn(pair, params),
        }
        match &params.event {
            HookEvent::UserPromptSubmit => return self.prompted(pair, params, call),
            HookEvent::PostToolUse => {
                self.claude_hears(pair, ClaudeInput::ToolUsed);
                let give = |daemon: &mut Self, handed| call.with(daemon, handed);
                return self.context_for(pair, HookPoint::Tool, give);
            }
            // No message is carried here: what a failure says is the model's whole attention.
            HookEvent::PostToolUseFailure => self.claude_hears(pair, ClaudeInput::ToolUsed),
            HookEvent::Stop if !params.stop_hook_active => return self.stopped(pair, call),
            HookEvent::Stop => self.claude_hears(pair, ClaudeInput::Worked),
            // The hook runs beside the dialog, and says nothing about its answer.
            HookEvent::PermissionRequest => {
                let about = params.tool_use.as_deref();
                self.agents.claude.asks_about(pair, about);
                self.claude_hears(pair, ClaudeInput::Asks);
            }
            HookEvent::Notification => {
                match params.notification() {
                    // It does not say whose dialog it is.
                    Some(NotificationKind::PermissionPrompt) => {
                        self.claude_hears(pair, ClaudeInput::DialogIsOpen);
                    }
                    Some(
                        NotificationKind::AgentNeedsInput | NotificationKind::ElicitationDialog,
                    ) => self.claude_hears(pair, ClaudeInput::Asks),
                    // It waits for a prompt, whatever became of its last turn.
                    Some(NotificationKind::IdlePrompt) if self.agents.claude_is_at_work(pair) => {
                        self.claude_stopped(pair);
                    }
                    _ => {}
                }
            }
            HookEvent::StopFailure => {
                let why = params.detail.clone().unwrap_or_default();
                // There will be no other turn for now.
                let limited = matches!(
                    TurnFailure::from(why.as_str()),
                    TurnFailure::RateLimit | TurnFailure::BillingError
                );
                self.claude_hears(pair, ClaudeInput::Failed { limited, why });
            }
            HookEvent::SessionStart => return self.converses(pair, params, call),
            HookEvent::PostCompact => self.claude_hears(pair, ClaudeInput::CompactionOver),
            HookEvent::SessionEnd => self.claude_hears(pair, ClaudeInput::ConversationEnds),
            HookEvent::PreCompact => {
                let at_ms = self.base.clock.now_ms();
                self.claude_hears(pair, ClaudeInput::Compacts { at_ms });
                let handed = HookReply::of_text(self.base.ids_to_keep(pair));
                call.with(self, handed);
                return;
            }
            _ => {}
        }
        call.with_nothing();
    }

    /// Whether Claude has gone on since a notification was sent that says what it waits for.
    /// Another use of a tool may end beside its dialog.
    fn notifies_late(&self, pair: &RuntimeSession, ago_ms: Option<u64>) -> bool {
        let went_on = |ago_ms| {
            let since_ms = self.base.clock.ago(ago_ms);
            self.agents.claude.went_on_since(pair, since_ms)
        };
        let about = self.agents.claude.asked_about(pair);
        ago_ms.is_some_and(went_on) || self.decisions.asks_late(&self.base, pair, about, ago_ms)
    }

    /// Whether Claude was prompted since a turn failed: it does not wait for the hook of a failure.
    fn fails_late(&self, pair: &RuntimeSession, ago_ms: Option<u64>) -> bool {
        ago_ms.is_some_and(|ago_ms| {
            let since_ms = self.base.clock.ago(ago_ms);
            self.agents.claude.prompted_since(pair, since_ms)
        })
    }

    /// A helper of Claude's shows a dialog in Claude's terminal, or goes on.
    fn helper_tells(&mut self, pair: &RuntimeSession, params: &HookParams) {
        let Some(helper) = params.helper.clone() else {
            return;
        };
        let tool_use = params.tool_use.clone();
        let input = match params.event {
            HookEvent::HelperAsks => ClaudeInput::HelperAsks { helper, tool_use },
            _ => ClaudeInput::HelperGoesOn { helper, tool_use },
        };
        self.claude_hears(pair, input);
        self.base.clients.status_changed();
    }

    /// What a hook tells of Claude's turn, whatever comes of it.
    fn hears_of_turn(&mut self, pair: &RuntimeSession, params: &HookParams) {
        if let (Some(process), Some(runs)) = (params.claude_pid, params.monitor_runs) {
            self.monitor_runs(pair, process, runs);
        }
        self.decisions.claude_goes_on(&mut self.base, pair, params);
        let redactor = self.base.recorder.redactor();
        if self.agents.claude.turn_hears(pair, redactor, params) {
            self.base.clients.status_changed();
        }
        self.agents.watch_claudes_tools(&mut self.base, pair);
        let now_ms = self.base.clock.now_ms();
        if meter_claude(
            &mut self.agents.contexts,
            &self.base.reads(),
            now_ms,
            params,
        ) {
            self.base.clients.status_changed();
        }
        self.agents.claude_continues(&mut self.base, pair, params);
        let is_end = matches!(
            params.event,
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure
        );
        if let (true, Some(run), Some(cwd)) = (is_end, &params.ran, &params.cwd) {
            self.base
                .agent_ran(Agent::Claude, pair, run.clone(), Path::new(cwd));
        }
    }

    /// A prompt begins a turn.
    fn prompted(&mut self, pair: &RuntimeSession, params: &HookParams, call: HookCall) {
        if !params.from_monitor {
            let said = "a prompt was typed into Claude's terminal";
            self.base.person_spoke(Some(pair), said);
        }
        // A turn that ends at the limit would have them and do nothing with them.
        if self.agents.limits.is_active(Agent::Claude) {
            call.with_nothing();
        } else {
            let more = self.agents.rides_along(&self.base, Agent::Claude, pair);
            let chars = more.as_ref().map_or(0, |more| more.text.chars().count());
            let now_ms = self.base.clock.outside_ms();
            self.agents
                .costs
                .add(Agent::Claude, CostSort::Envelopes, chars, now_ms);
            let of = pair.clone();
            let give = move |daemon: &mut Self, handed: HookReply| {
                if let Some(more) = more.as_ref().filter(|_| !call.is_gone()) {
                    daemon.agents.reminders.said(Agent::Claude, &of, more);
                }
                call.with(daemon, handed.followed_by(more.map(|more| more.text)))
            };
            self.context_for(pair, HookPoint::Prompt, give);
        }
        self.claude_hears(pair, ClaudeInput::TurnBegan);
        let session = params.claude_session_id.as_deref();
        let conversation = conversation(&self.base.recorder, &self.agents.claude, pair, session);
        if let Some((session, changed)) =
            conversation.and_then(|it| Some((it.thread_id.clone()?, it)))
        {
            let said = format!("Claude converses in session {session}");
            let entry = self.base.entry_of_agent(pair, changed, said);
            self.base.recorder.keep_entry(entry);
        }
    }

    /// A conversation begins, or goes on.
    fn converses(&mut self, pair: &RuntimeSession, params: &HookParams, call: HookCall) {
        let source = params.source();
        self.began_anew(pair, source.as_ref());
        let now_ms = self.base.clock.outside_ms();
        self.agents.costs.conversation_began(Agent::Claude, now_ms);
        self.agents.rules_watch.claude_begins(pair);
        if matches!(source, Some(SessionSource::Startup | SessionSource::Clear)) {
            self.agents.inferences.forget(Agent::Claude, pair);
        }
        let of = pair.clone();
        self.agents.reload_claude(
            &mut self.base,
            &mut self.deliveries.held,
            pair,
            source,
            move |daemon, text| {
                if call.is_gone() {
                    let why = "Claude's hook was over before the packet was ready".to_owned();
                    daemon.agents.settle_reload(
                        &mut daemon.base,
                        Agent::Claude,
                        &of,
                        ReloadStep::NotGiven { why },
                    );
                }
                call.with(daemon, HookReply::of_text(text));
            },
        );
    }

    /// The turn ends, unless it is prolonged by what has found no other way. Once: what a stop
    /// has prolonged is not prolonged again, or two machines would talk for ever.
    fn stopped(&mut self, pair: &RuntimeSession, call: HookCall) {
        self.claude_hears(pair, ClaudeInput::CompactionOver);
        self.tell_ladder(pair, LadderInput::TurnStops);
        let (of, since_ms) = (pair.clone(), self.base.clock.now_ms());
        self.context_for(pair, HookPoint::Stop, move |daemon, handed| {
            let is_prolonged = handed.additional_context.is_some() && !call.is_gone();
            if is_prolonged {
                daemon.claude_hears(&of, ClaudeInput::Prolonged);
            } else if !daemon.agents.claude.prompted_since(&of, since_ms) {
                // Where the disk takes longer than the hook waits, the next turn may run by now.
                daemon.claude_hears(&of, ClaudeInput::Worked);
            }
            call.with(daemon, handed)
        });
    }

    /// The human stopped the turn.
    pub(in crate::daemon) fn claude_stopped(&mut self, pair: &RuntimeSession) {
        self.agents.append_touched(&mut self.base, pair);
        self.claude_hears(pair, ClaudeInput::Idle);
    }

    /// What Claude knew of the messages it was told of is gone: started, cleared, compacted,
    /// resumed or forked.
    fn began_anew(&mut self, pair: &RuntimeSession, source: Option<&SessionSource>) {
        // A compaction can be in the middle of a turn, everything else is at its end.
        if source == Some(&SessionSource::Compact) {
            self.claude_hears(pair, ClaudeInput::Compacted);
        } else {
            self.claude_hears(pair, ClaudeInput::NewConversation);
            self.claude_hears(pair, ClaudeInput::Idle);
            self.tell_ladder(pair, LadderInput::NewContext);
        }
    }
}

impl Agents {
    /// The status line, and what Claude says of its context on the way.
    fn status_line_for(
        &mut self,
        base: &Base,
        outbox: &Outbox,
        conn: ConnId,
        params: &HookParams,
    ) -> String {
        let is_receiver = is_receivers_hook(&self.claude, &base.clients, conn, params.claude_pid);
        if is_receiver && meter_status_line(&mut self.contexts, base.clock.now_ms(), params) {
            base.clients.status_changed();
        }
        let context = is_receiver.then(|| self.contexts.fill(Agent::Claude));
        let world = base.recorder.world();
        status_line(world, &self.codex, outbox, context, params.columns)
    }

    fn claude_is_in_turn(&self, pair: &RuntimeSession) -> bool {
        let state = self.claude.state(pair);
        state.is_some_and(ClaudeState::is_in_turn)
    }

    /// It shows a dialog.
    fn claude_waits(&self, pair: &RuntimeSession) -> bool {
        let state = self.claude.state(pair);
        state.is_some_and(|state| state.now().state == AgentState::Waiting)
    }

    /// A turn of its runs, or one of which only the dialog was told.
    fn claude_is_at_work(&self, pair: &RuntimeSession) -> bool {
        self.claude_is_in_turn(pair) || self.claude_waits(pair)
    }
}
