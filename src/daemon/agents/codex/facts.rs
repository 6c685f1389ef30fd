//! Takes what the adapter reports of the app-server, its thread and the terminal into the lane.

use super::turn_end::TurnEnd;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{Activity, AdapterAnswer, CodexInput};
use crate::core::entry::{ErrorCode, LifecycleEvent, ReloadCause, ReloadStep};
use crate::core::id::{EntryId, RuntimeSession, ThreadId};
use crate::core::redact::Redactor;
use crate::daemon::agents::codex_lane::CodexNews;
use crate::daemon::agents::metering::codex_context;
use crate::daemon::agents::shown_turn::ShownTurn;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::decisions::approvals::OverAtCodex;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::fault::DaemonFault;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::wire::status::{AppServerStatus, NoticeKey};

impl Daemon {
    pub(in crate::daemon) fn on_codex(&mut self, fact: CodexFact) {
        match fact {
            CodexFact::ServerStarted {
                pid, version, port, ..
            } => {
                let server = AppServerStatus { pid, version };
                let life = self.agents.codex.server_started(server, port);
                self.agents.rules_watch.codex_says_nothing();
                self.base.clients.status_changed();
                self.codex_input(CodexInput::ServerStarted { life });
            }
            CodexFact::ServerLost { why, gave_up } => self.server_lost(&why, gave_up),
            CodexFact::Unavailable { code, why } => self.codex_unavailable(code, &why),
            CodexFact::InstructionsRead { paths } => self.agents.codex_read(&self.base, &paths),
            CodexFact::ThreadReplaced { why } => {
                let code = ErrorCode::CodexFailed;
                self.base.recorder.keep(Party::System, code, why);
            }
            CodexFact::ThreadAdopted { thread_id } => self.thread_adopted(thread_id),
            CodexFact::ThreadStatus { status } => self.thread_status(status),
            CodexFact::TurnStarted { turn_id, .. } => {
                let life = self.agents.codex.life();
                self.codex_input(CodexInput::TurnStarted {
                    life,
                    turn: turn_id,
                });
                self.agents.codex_lives(&mut self.base);
                self.base.clients.status_changed();
            }
            CodexFact::UserMessage {
                turn_id,
                client_id,
                preview,
                steered,
            } => self.user_message(turn_id, client_id, &preview, steered),
            CodexFact::TurnCompleted {
                thread_id,
                turn_id,
                status,
                final_answer,
                client_ids,
                error,
                usage_limited,
                died,
            } => self.turn_completed(
                TurnEnd {
                    thread_id,
                    turn_id,
                    status,
                    error,
                    usage_limited,
                    died,
                },
                final_answer,
                &client_ids,
            ),
            CodexFact::Queued { message_id } => {
                self.answered(message_id, AdapterAnswer::Queued);
            }
            CodexFact::StillQueued { message_id } => {
                self.answered(message_id, AdapterAnswer::StillQueued);
            }
            CodexFact::NotTaken { message_id, why } => self.not_taken(message_id, &why),
            CodexFact::TooLarge { message_id, why } => {
                let told = format!("Codex takes no message of this size: {why}");
                self.deliveries
                    .reject(&mut self.base, &message_id, None, told);
            }
            CodexFact::Unanswered { message_id } => {
                self.deliveries.outbox.following(&message_id).in_scope(|| {
                    tracing::info!("codex went away before it answered; recovery will tell");
                });
                self.answered(message_id, AdapterAnswer::Unanswered);
            }
            CodexFact::TakenBack { message_id } => {
                self.answered(message_id, AdapterAnswer::TakenBack);
            }
            CodexFact::Tui { attached, pid } => self.tui(attached, pid),
            CodexFact::ProxyRefused { count, is_full } => self.proxy_refused(count, is_full),
            CodexFact::TerminalFailed => self.base.work_failed(&WorkBeside::Terminal),
            CodexFact::ProxyHasRoom => {
                self.base.notice_over(&NoticeKey::ProxyFull);
            }
            CodexFact::ContextUsed { used, window } => {
                let now_ms = self.base.clock.now_ms();
                if codex_context(&mut self.agents.contexts, now_ms, used, window) {
                    self.base.clients.status_changed();
                }
            }
            CodexFact::CompactionBegan => self.codex_compaction_began(),
            CodexFact::HookReviewed { review } => {
                self.agents.codex_hook_reviewed(&mut self.base, review)
            }
            CodexFact::HookGaveNothing => self
                .agents
                .codex_hook_gave_nothing(&mut self.base, &mut self.deliveries.held),
            CodexFact::NotCompacted => self.codex_not_compacted(),
            CodexFact::Compacted { turn_id, in_turn } => self.codex_compacted(&turn_id, in_turn),
            CodexFact::TurnTraced {
                files,
                said,
                is_over,
            } => self
                .agents
                .codex_touched(&mut self.base, files, &said, is_over),
            CodexFact::CommandRan { run, cwd } => {
                self.base
                    .agent_ran(Agent::Codex, &RuntimeSession::default(), run, &cwd);
            }
            CodexFact::PacketGiven {
                packet_id,
                is_put_in,
                is_earlier,
            } => {
                // A turn came behind it, and what the record has since then is not in it.
                if !is_earlier {
                    self.agents.codex_has_what_it_goes_on_with();
                }
                self.agents
                    .codex_packet_given(&mut self.base, &packet_id, is_put_in);
            }
            CodexFact::PacketNotGiven { packet_id, why } => {
                self.agents.settle_codex_packet(
                    &mut self.base,
                    &packet_id,
                    ReloadStep::NotGiven { why },
                );
            }
            CodexFact::Failed => self.base.operations.fail(DaemonFault::Codex),
            CodexFact::ToolBegan { item_id, act, text } => {
                self.agents
                    .show_turn(&mut self.base, |turn, redactor, now_ms| {
                        turn.tool_began(redactor, now_ms, item_id, act, &text);
                    });
            }
            CodexFact::ToolEnded { item_id } => {
                if self.agents.shown_turn.tool_ended(&item_id) {
                    self.base.clients.status_changed();
                }
            }
            CodexFact::TurnDid { act, text } => {
                self.agents
                    .show_turn(&mut self.base, |turn, redactor, now_ms| {
                        turn.did(redactor, now_ms, act, &text)
                    });
            }
            CodexFact::FilesWritten { paths } => {
                let now_ms = self.base.clock.now_ms();
                for path in paths {
                    self.agents.recent_writes.wrote(Agent::Codex, path, now_ms);
                }
            }
            CodexFact::TurnPlanned { steps } => {
                self.agents.show_turn(&mut self.base, |turn, redactor, _| {
                    turn.planned(redactor, steps)
                });
            }
            CodexFact::Retrying { why } => {
                self.agents
                    .show_turn(&mut self.base, |turn, redactor, now_ms| {
                        turn.retries(redactor, now_ms, &why)
                    });
            }
            CodexFact::Heartbeat => {
                if self.agents.shown_turn.goes_on() {
                    self.base.clients.status_changed();
                }
                self.agents.codex_lives(&mut self.base);
            }
            CodexFact::LimitEnds { at_ms } => self.agents.limits.codex_ends(Some(at_ms)),
            CodexFact::SignIn { needed } => self.sign_in(needed),
            CodexFact::ApprovalAsked {
                request_id,
                request,
                details,
            } => self.decisions.approval_asked(
                &mut self.base,
                &self.agents.recent_writes,
                request_id,
                *request,
                &details,
            ),
            CodexFact::ApprovalResolved { request_id } => self
                .decisions
                .approval_resolved(&mut self.base, &request_id),
            CodexFact::ApprovalsPending { count, helpers } => {
                self.agents.codex.approvals_pending(count, helpers);
                self.base.clients.status_changed();
            }
        }
    }

    fn codex_unavailable(&mut self, code: ErrorCode, why: &str) {
        // One that fails at each try, for as long as messages wait for it, may name a time or a
        // process in its words: the record has the first ones, and the operator sees the last.
        let is_another = self.agents.codex.flow().unavailable_for() != Some(&code);
        let stood = self.base.notices.has(&NoticeKey::Codex);
        self.base.notices.set(NoticeKey::Codex, why);
        if is_another || !stood {
            self.base.recorder.mention(Party::System, code.clone(), why);
        }
        self.codex_input(CodexInput::Unavailable { code });
        self.agents.codex_trouble(&self.base, why);
    }

    fn not_taken(&mut self, id: EntryId, why: &str) {
        self.deliveries
            .outbox
            .following(&id)
            .in_scope(|| tracing::info!(why, "codex did not take a message"));
        self.answered(id, AdapterAnswer::NotTaken);
        if self.agents.codex.is_resting() {
            self.agents.codex_trouble(&self.base, why);
        }
    }

    fn proxy_refused(&mut self, count: u64, is_full: bool) {
        let (key, why, notice) = match is_full {
            true => (
                NoticeKey::ProxyFull,
                "too many connections",
                "the Codex proxy has more connections than it takes, and ended some: see what of \
                 yours connects to its port; terminals that are connected go on",
            ),
            false => (
                NoticeKey::Proxy,
                "wrong token",
                "somebody came to the Codex proxy with a wrong token; start the terminal with \
                 `ctxrelay codex`",
            ),
        };
        if self.base.notice(key, notice) {
            self.base.recorder.mention(
                Party::System,
                ErrorCode::ProxyRefused,
                format!("refused {count} connection(s) to the Codex proxy: {why}"),
            );
        }
    }

    fn codex_compaction_began(&mut self) {
        let (life, is_asked) = (self.agents.codex.life(), false);
        self.codex_input(CodexInput::CompactionBegan { life, is_asked });
        self.agents.codex.compaction_began();
        self.agents.contexts.compaction_begins(Agent::Codex);
        self.base.clients.status_changed();
    }

    /// Codex waits for somebody to sign in, or no longer.
    fn sign_in(&mut self, needed: bool) {
        if self.agents.codex.needs_sign_in() == needed {
            return;
        }
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::SignIn { life, needed });
        let news = CodexNews::SignIn;
        self.agents.record_codex(&mut self.base, news);
        self.base.clients.status_changed();
    }

    /// What became of a request. The adapter speaks of one attempt at a time: the last one.
    fn answered(&mut self, id: EntryId, answer: AdapterAnswer) {
        self.deliveries
            .outbox
            .following(&id)
            .in_scope(|| tracing::debug!(?answer, "answered by the Codex adapter"));
        let attempt = self
            .deliveries
            .outbox
            .get(&id)
            .and_then(|row| row.attempt.clone());
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::Answer {
            life,
            id,
            attempt,
            answer,
        });
        if matches!(answer, AdapterAnswer::Queued | AdapterAnswer::StillQueued) {
            // It lies behind the turn that runs, which may wait for it.
            self.answer_waiters_of(Agent::Codex);
        }
        self.base.clients.status_changed();
    }

    pub(super) fn server_lost(&mut self, why: &str, gave_up: bool) {
        let news = CodexNews::Lost { why };
        self.agents.record_codex(&mut self.base, news);
        self.agents.codex.server_gone();
        let (all, how) = (OverAtCodex::All, HowOver::Gone);
        self.decisions.end_codex_approvals(&mut self.base, all, how);
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::ServerLost { life, gave_up });
        if gave_up {
            self.agents.codex_trouble(&self.base, why);
        }
        self.base.clients.status_changed();
    }

    pub(super) fn thread_adopted(&mut self, thread_id: ThreadId) {
        // Not before: an app-server that answers may not have the conversation.
        self.base.notices.clear(&NoticeKey::Codex);
        let contexts = &mut self.agents.contexts;
        contexts.converses(Agent::Codex, thread_id.as_str());
        let known = self.base.recorder.world().agent(Agent::Codex);
        let is_another = known.thread_id.as_ref() != Some(&thread_id);
        let pid = self.agents.codex.server().map(|server| server.pid);
        let is_other_server = known.pid != pid;
        let is_first = self.agents.codex.converses();
        self.agents.shown_turn.forget();
        if is_another {
            self.agents.codex.is_to_be_told(ReloadCause::Started);
            self.agents
                .inferences
                .forget(Agent::Codex, &RuntimeSession::default());
        }
        let news = CodexNews::Adopted { thread: &thread_id };
        self.agents.record_codex(&mut self.base, news);
        self.base.clients.status_changed();
        self.answer_waiters();
        let life = self.agents.codex.life();
        self.codex_input(CodexInput::Adopted {
            life,
            thread: thread_id,
        });
        self.agents.find_codex_packet(&self.base);
        if is_another {
            self.agents.settle_hook_packet();
        } else if !self.agents.find_owed_packet(
            &mut self.base,
            &mut self.deliveries.held,
            is_other_server,
        ) && is_first
            && is_other_server
        {
            // In the life of one daemon its thread holds what it was told, over all connections and
            // app-servers.
            self.agents.codex.is_to_be_told(ReloadCause::Resumed);
            // Its status may have been told before this, and is told only where it changes.
            self.agents
                .tell_codex_at_start(&mut self.base, &mut self.deliveries.held);
        }
    }

    pub(super) fn thread_status(&mut self, status: ReportedStatus) {
        // A turn that waits for messages gets them into that very turn.
        self.answer_waiters();
        let was = self.agents.codex.state();
        let life = self.agents.codex.life();
        let activity = match status {
            ReportedStatus::Idle | ReportedStatus::SystemError => Activity::Idle,
            ReportedStatus::Active { waiting } => Activity::Busy { waiting },
            ReportedStatus::NotLoaded => Activity::NotLoaded,
        };
        self.codex_input(CodexInput::Activity { life, activity });
        let now = self.agents.codex.state();
        // The app-server tells of each that was answered, and not while we were not connected. A
        // thread that was left behind waits on.
        if was == AgentState::Waiting && now != AgentState::Waiting {
            let over = OverAtCodex::Thread(self.agents.codex.thread());
            self.decisions
                .end_codex_approvals(&mut self.base, over, HowOver::Answered);
        }
        if was != now && (was == AgentState::Waiting || now == AgentState::Waiting) {
            self.agents.record_codex(&mut self.base, CodexNews::Waits);
        }
        self.agents
            .tell_codex_at_start(&mut self.base, &mut self.deliveries.held);
        self.base.clients.status_changed();
    }

    pub(super) fn tui(&mut self, attached: bool, pid: Option<u32>) {
        if attached {
            self.base.notices.clear(&NoticeKey::Proxy);
            self.base.work_done(&WorkBeside::Terminal);
        }
        if self.agents.codex.terminal(attached, pid) {
            self.base.recorder.mention(
                Party::System,
                if attached {
                    LifecycleEvent::CodexTuiAttached
                } else {
                    LifecycleEvent::CodexTuiLeft
                },
                if attached {
                    "the Codex terminal attached"
                } else {
                    "the Codex terminal left"
                },
            );
        }
        self.codex_input(CodexInput::Terminal { attached });
        self.base.clients.status_changed();
    }
}

impl Agents {
    /// What Codex's turn shows is another thing now.
    fn show_turn(&mut self, base: &mut Base, change: impl FnOnce(&mut ShownTurn, &Redactor, i64)) {
        let now_ms = base.clock.now_ms();
        change(&mut self.shown_turn, base.recorder.redactor(), now_ms);
        base.clients.status_changed();
    }
}
