//! Claude's requests for approval: its hook waits here, beside Claude's own dialog.

use crate::adapters::claude::plugin::PERSON_TIMEOUT_S;
use crate::core::agent::Agent;
use crate::core::delivery::ClaudeInput;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::claude::receivers_hook::is_receivers_hook;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::attach::ConnId;
use crate::daemon::decisions::approval_texts::is_too_long;
use crate::daemon::decisions::approvals::{AnswerWay, AskedAs, WaitingHook};
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::owners::{Base, Daemon, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    AskApprovalParams, HookEvent, HookParams, NotificationKind, Refusal, RefusalCode, Reply, Role,
};

/// When a hook that still waits may be ended by its time, a little before that.
const HOOK_ENDS_ITSELF_MS: i64 = (PERSON_TIMEOUT_S as i64 - 60) * 1_000;

impl Daemon {
    /// A hook of Claude's asks, and shows by it that Claude's own dialog is open: what told so before
    /// may have told a daemon that is gone.
    pub(in crate::daemon) fn ask_approval(
        &mut self,
        conn: ConnId,
        params: AskApprovalParams,
        reply: ReplySender,
    ) {
        let process = params.claude_pid;
        let asks = self.decisions.ask_approval(
            &mut self.base,
            &self.agents.claude,
            &self.agents.recent_writes,
            conn,
            params,
            reply,
        );
        let pair = self.base.clients.pair(conn, None);
        if asks && is_receivers_hook(&self.agents.claude, &self.base.clients, conn, process) {
            self.claude_hears(&pair, ClaudeInput::Asks);
        }
    }

    /// The Claude of a pair is there, and may have a dialog open of which its hook has told already.
    pub(in crate::daemon) fn claude_attached(&mut self, pair: &RuntimeSession, pid: Option<u32>) {
        self.claude_hears(pair, ClaudeInput::Attached { pid });
        let asks = self.decisions.approvals.asking(pair).any(|conn| {
            let process = self
                .base
                .clients
                .get(conn)
                .and_then(|it| it.hello.agent_pid);
            is_receivers_hook(&self.agents.claude, &self.base.clients, conn, process)
        });
        if asks {
            self.claude_hears(pair, ClaudeInput::Asks);
        }
    }
}

impl Decisions {
    /// Whether Claude's own dialog is open.
    fn ask_approval(
        &mut self,
        base: &mut Base,
        claude: &ClaudeLane,
        recent_writes: &RecentWrites,
        conn: ConnId,
        params: AskApprovalParams,
        reply: ReplySender,
    ) -> bool {
        let AskApprovalParams {
            request,
            details,
            claude_pid,
            tool_use,
            asked_ago_ms,
        } = params;
        if is_too_long(&request, &details) {
            let refusal = Refusal::new(
                RefusalCode::TooLarge,
                "the question is too long",
                "it is answered in Claude's own terminal",
            );
            answer(reply, Err(refusal));
            return true;
        }
        let pair = base.clients.pair(conn, None);
        let is_receivers = is_receivers_hook(claude, &base.clients, conn, claude_pid);
        let is_looked_at =
            (base.clients.iter()).any(|(_, it)| it.operator && it.hello.role == Role::Deck);
        let asked = AskedAs::of(Agent::Claude, &request, &details);
        let known = match is_receivers {
            true => self.waiting_already(base, Agent::Claude, &asked),
            false => None,
        };
        if self.asks_late(base, &pair, tool_use.as_deref(), asked_ago_ms) {
            if let Some(id) = known {
                self.end_approval(base, id, Agent::Claude, HowOver::Answered);
            }
            answer(reply, Ok(Reply::Approval(None)));
            return false;
        }
        let mut may_wait = || is_looked_at && self.approvals.has_room(base.recorder.world());
        if !is_receivers || known.is_none() && !may_wait() {
            answer(reply, Ok(Reply::Approval(None)));
            return true;
        }
        let hook = WaitingHook::new(conn, pair.clone(), tool_use, reply);
        let hook = AnswerWay::Claude(hook);
        if let Some(id) = known {
            self.approvals.waits(id.clone(), hook);
            self.asked_again(base, &id);
            return true;
        }
        let text = self.approval_text(base, Agent::Claude, request, &details);
        let mut entry = base.asked_entry(recent_writes, Agent::Claude, text);
        entry.runtime_session = Some(pair);
        let id = entry.id.clone();
        let recorded = self.then_asked(Agent::Claude, asked, id.clone(), None);
        self.approvals.waits(id, hook);
        // What the disk refuses is not kept: the hook is let go at once, and Claude's own dialog is open
        // beside it.
        base.recorder.append(vec![entry], recorded);
        true
    }

    /// A hook of a helper's tells that it goes on, or asks: whether what it asks is over already.
    pub(in crate::daemon) fn helper_goes_on(
        &mut self,
        base: &Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) -> bool {
        let helper = params.helper.as_deref().unwrap_or_default();
        let named = params.tool_use.as_ref();
        let its_use = named.map(|tool_use| format!("{helper} {tool_use}"));
        if params.event == HookEvent::HelperToolUse && its_use.is_some() {
            let at_ms = base.clock.now_ms();
            self.approvals.note_over(pair, its_use.as_deref(), at_ms);
        }
        // The end of Claude's turn tells nothing of a helper.
        let over = self.approvals.shown_over();
        let since = params.asked_ago_ms.map(|ms| base.clock.ago(ms));
        let is_over = |since_ms| over.is_over(pair, its_use.as_deref(), since_ms);
        its_use.is_some() && since.is_some_and(is_over)
    }

    /// Whether a hook that has been asking for so long asks what Claude was answered meanwhile, in its
    /// own dialog.
    pub(in crate::daemon) fn asks_late(
        &self,
        base: &Base,
        pair: &RuntimeSession,
        tool_use: Option<&str>,
        asked_ago_ms: Option<u64>,
    ) -> bool {
        let over = self.approvals.shown_over();
        asked_ago_ms.is_some_and(|ago_ms| {
            let since_ms = base.clock.ago(ago_ms);
            over.is_over(pair, tool_use, since_ms) || over.is_over(pair, None, since_ms)
        })
    }

    /// A hook is gone. The pair whose turn is over with it: told to stop, or stopped in Claude's own
    /// dialog. "No" there, or Esc, stops the turn and ends the hook; "Yes" leaves it running (Claude
    /// Code 2.1.330, observed). At the end of its time it ends too, and the dialog stays.
    pub(in crate::daemon) fn asking_hook_left(
        &mut self,
        base: &mut Base,
        conn: ConnId,
    ) -> Option<RuntimeSession> {
        let left = self.approvals.hook_left(conn)?;
        // One that is on its way to the record is young.
        let asked = base.recorder.world().open_approvals.get(&left.id);
        let age_ms = asked.map_or(0, |asked| base.clock.now_ms() - asked.at_ms);
        let is_stopped = left.is_stopped || age_ms < HOOK_ENDS_ITSELF_MS;
        let how = match is_stopped {
            true => HowOver::Answered,
            false => HowOver::TimedOut,
        };
        self.end_approval(base, left.id, Agent::Claude, how);
        is_stopped.then_some(left.pair)
    }

    /// The Claude of a pair goes on, as one of its hooks shows, or waits for a prompt.
    pub(in crate::daemon) fn claude_goes_on(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) {
        // It asks for one thing after the other (Claude Code 2.1.330, observed), so that what it
        // asked before is over when it asks again.
        let is_over = !matches!(
            params.event,
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure | HookEvent::Notification
        );
        // It tells of a dialog, which may be open; a prompt is waited for where none is.
        if params.event == HookEvent::Notification
            && params.notification() != Some(NotificationKind::IdlePrompt)
        {
            return;
        }
        let tool_use = params.tool_use.as_deref();
        let ends_turn = matches!(
            params.event,
            HookEvent::Stop | HookEvent::StopFailure | HookEvent::SessionEnd
        );
        if ends_turn || !is_over && tool_use.is_some() {
            let at_ms = base.clock.now_ms();
            self.approvals.note_over(pair, tool_use, at_ms);
        }
        for on in self.approvals.claude_goes_on(pair, tool_use, is_over) {
            // What was refused may be told of as a failure.
            let has_run = on.is_its_use && params.event == HookEvent::PostToolUse;
            let how = match has_run {
                true => HowOver::Done,
                false => HowOver::Answered,
            };
            match (on.is_told_over, has_run) {
                (false, _) => self.end_approval(base, on.id, Agent::Claude, how),
                (true, true) => Self::refusal_came_too_late(base, on.id),
                (true, false) => {}
            }
        }
    }

    /// No Claude of this pair is here any more.
    pub(in crate::daemon) fn end_claude_approvals(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
    ) {
        for on in self.approvals.claude_goes_on(pair, None, true) {
            self.end_approval(base, on.id, Agent::Claude, HowOver::Gone);
        }
    }
}
