//! One file per family of commands; [`Daemon::command`] only delegates. A command that needs a few
//! owners is a free function over them: it reads, or says [what is to be recorded](to_record); one
//! that changes several owners, or goes on behind what it had recorded, is a flow.

mod answers;
mod approve;
mod ask_user;
mod attend;
mod auto_sign_off;
mod capsules;
mod carrying;
pub(super) mod checks;
mod clear;
mod compact;
mod compact_context;
pub(super) mod context;
mod decide;
mod gates;
mod hook;
mod inbox;
pub(super) mod ledger;
pub(in crate::daemon) mod pair_to_send_to;
mod pending;
mod policy;
mod propose;
mod queue;
pub(super) mod record;
mod reopening;
mod review;
mod search;
mod send;
mod session_ending;
mod settings;
mod status_line;
mod task;
mod to_record;
mod tree_read;
mod trust;
mod work_state;

use std::sync::Arc;

use self::record::{append_note, record_artifact};
use self::review::{change_review, read_finding};
use self::to_record::ToRecord;
use self::work_state::{forget_work, state_work};
use super::attach::ConnId;
use super::claude::tools;
use super::event::TreePurpose;
use super::foreign::{acknowledgement, raise_alarm};
use super::inbox::sender;
use super::operator_refusals::{count_refused_operator, note_refusals};
use super::owners::Daemon;
use super::registering::register_agent;
use super::reply::{ReplySender, answer, no_hello};
use super::settings::SettingsChange;
use super::signing::meet_key;
use super::space::check_space;
use super::stop::Stop;
use super::tree::read_tree;
use crate::core::agent::Agent;
use crate::core::delivery::ClaudeInput;
use crate::wire::control::{Command, Refusal, RefusalCode, Reply, Role};

impl Daemon {
    /// Carries a command out, or refuses it.
    pub(super) fn command(&mut self, conn: ConnId, command: Command, reply: ReplySender) {
        match self.admit(conn, &command) {
            Ok(role) => self.carry_out(conn, role, command, reply),
            Err(refusal) => answer(reply, Err(refusal)),
        }
    }

    /// Whether this client may have it carried out now; as what it came.
    fn admit(&mut self, conn: ConnId, command: &Command) -> Result<Role, Refusal> {
        let Some(attachment) = self.clients.get(conn) else {
            return Err(no_hello());
        };
        if self.operations.is_stopping() && !(command.is_proof() && self.waits_for_proofs()) {
            return Err(self.operations.refusal());
        }
        if command.is_operator_only() && !attachment.operator {
            let counted = count_refused_operator(&mut self.clients, &self.clock, conn);
            note_refusals(&mut self.recorder, counted);
            return Err(not_the_operator());
        }
        let role = attachment.hello.role;
        if !command.may_come_from(role) {
            return Err(not_its_own(role));
        }
        if role == Role::Claude && attachment.receiver {
            // It calls a tool.
            tools::called(&self.clients, &mut self.claude_processes, conn);
            let pair = self.clients.pair(conn, None);
            self.claude_hears(&pair, ClaudeInput::Called);
        }
        check_space(self.recorder.space(), command)?;
        Ok(role)
    }

    fn carry_out(&mut self, conn: ConnId, role: Role, command: Command, reply: ReplySender) {
        match command {
            Command::Send(params) => self.send(conn, params, reply),
            Command::Handoff(params) => self.hand_off(conn, params, reply),
            Command::GetMessages(params) => self.get_messages(conn, params, reply),
            Command::WaitMessages(params) => self.wait_messages(conn, params, reply),
            Command::Fetched(params) => self.fetched(params, reply),
            Command::Ack(params) => self.ack(params, reply),
            Command::AppendNote(params) => {
                let session = self.clients.pair(conn, params.runtime_session_id.clone());
                let (deciding, approvals) = (&self.deciding, &self.approvals);
                let note = append_note(&self.recorder, deciding, approvals, session, params);
                self.record_wish(note, reply);
            }
            Command::RecordArtifact(params) => {
                let session = self.clients.pair(conn, params.runtime_session_id.clone());
                let artifact = record_artifact(&self.recorder, session, params);
                self.record_wish(artifact, reply);
            }
            Command::ProposeFinal(params) => read_tree(
                &self.recorder,
                &self.commit,
                &self.events,
                TreePurpose::Propose {
                    conn,
                    params,
                    reply: Some(reply),
                },
            ),
            Command::ReadContext(params) => {
                let agent = Agent::ALL
                    .into_iter()
                    .find(|agent| role == Role::of(*agent));
                let is_of_pair = role == Role::Claude && !params.all_pairs;
                let pair = is_of_pair.then(|| self.clients.pair(conn, None));
                let asking = agent.map(|agent| context::AskingAgent {
                    agent,
                    pair: self.clients.pair(conn, None),
                    root: self.dirs.root.clone(),
                    rules: self
                        .configuration
                        .shares_rules()
                        .then(|| self.rules_reading(agent, true)),
                });
                context::read(
                    &self.recorder,
                    &self.readers,
                    conn,
                    pair,
                    asking,
                    params,
                    reply,
                )
            }
            Command::ReadSnapshot => answer(
                reply,
                Ok(Reply::Snapshot(Arc::clone(self.recorder.world()))),
            ),
            Command::ReadStatus => answer(reply, Ok(Reply::Status(Box::new(self.status())))),
            Command::ReadTurn => answer(reply, Ok(Reply::Turn(self.shown_turn.live().clone()))),
            Command::LedgerList(params) => {
                ledger::list(&self.recorder, &self.readers, conn, params, reply)
            }
            Command::LedgerShow {
                entry,
                full,
                placed,
            } => ledger::show(
                &self.recorder,
                &self.readers,
                conn,
                entry,
                full,
                placed,
                reply,
            ),
            Command::LedgerWindow(params) => {
                ledger::window(&self.recorder, &self.readers, conn, params, reply)
            }
            Command::LedgerSearch(params) => search::find(&self.recorder, &params, reply),
            Command::SearchCapsules(params) => {
                search::find_capsules(&self.recorder, &params, reply);
            }
            Command::SearchSealed(params) => {
                let dirs = self.dirs.clone();
                search::find_sealed(dirs, &self.recorder, &self.readers, conn, &params, reply);
            }
            Command::ReadCapsules(params) => {
                let mut agents = Agent::ALL.into_iter();
                let asking = agents.find(|agent| role == Role::of(*agent));
                self.read_capsules(conn, asking, params, reply);
            }
            Command::ReadFinding(params) => {
                let root = self.dirs.root.clone();
                read_finding(&self.recorder, &self.readers, root, conn, params, reply);
            }
            Command::LedgerRebuild(params) => {
                let dirs = self.dirs.clone();
                search::rebuild(dirs, &self.recorder, &self.readers, conn, params, reply);
            }
            Command::QueueList => answer(reply, Ok(Reply::Queue(self.queue_rows()))),
            Command::Subscribe => {
                self.clients.subscribe(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::RegisterAgent => {
                let agents = &mut self.agent_processes;
                answer(
                    reply,
                    register_agent(&self.clients, agents, &self.events, conn),
                );
            }
            Command::Hook(params) => self.hook(conn, &params, reply),
            Command::ToolBegins(params) => self.tool_begins(conn, &params, reply),
            Command::HookHanded(params) => self.hook_handed(conn, params, reply),
            Command::DoorbellAttach => {
                self.attach_doorbell(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::EnsureCodex => self.ensure_codex(reply),
            Command::Decide(params) => read_tree(
                &self.recorder,
                &self.commit,
                &self.events,
                TreePurpose::Decide { params, reply },
            ),
            Command::AskUser(params) => self.ask_user(conn, params, reply),
            Command::AskApproval(params) => self.ask_approval(conn, params, reply),
            Command::AnswerApproval(params) => self.answer_approval(params, reply),
            Command::StateWork(params) => {
                let session = self.clients.pair(conn, params.runtime_session_id.clone());
                self.record_wish(state_work(&self.recorder, &session, params), reply);
            }
            Command::ForgetWork(params) => {
                let session = self.clients.pair(conn, params.runtime_session_id.clone());
                self.record_wish(forget_work(&self.recorder, &session, &params), reply);
            }
            Command::ChangeReview(params) => {
                let session = self.clients.pair(conn, params.runtime_session_id);
                let (recorder, imports) = (&self.recorder, &self.imports);
                let changed = change_review(recorder, imports, &session, params.change);
                self.record_wish(changed, reply);
            }
            Command::ChangeTask(params) => self.change_task(conn, params, reply),
            Command::ListGates => answer(reply, Ok(self.list_gates())),
            Command::RunGates(params) => {
                let begun = self.run_gates(&params);
                answer(reply, begun);
            }
            Command::StopGates => {
                let stopped = self.stop_gates();
                answer(reply, stopped);
            }
            Command::SignRelease(params) => self.sign_release(params, reply),
            Command::Clear(params) => self.clear(params, reply),
            Command::Compact(params) => self.compact(params, reply),
            Command::Stop(params) => {
                answer(reply, Ok(Reply::Done));
                self.stop(Stop::now(params.kill));
            }
            Command::HandOver(params) => self.ask_successor(params, reply),
            Command::QueueChange(params) => self.change_queue(params, reply),
            Command::QueueDrain(params) => self.drain_queue(&params, reply),
            Command::QueueRebuild => self.rebuild_queue(reply),
            Command::Trust(params) => self.read_settings(
                SettingsChange::Trust {
                    params: Box::new(params),
                    is_signer_forgotten: false,
                },
                reply,
            ),
            Command::SetPolicy(change) => {
                self.read_settings(SettingsChange::Policy(change), reply);
            }
            Command::Attend(params) => self.attend(params, reply),
            Command::ReportKey(params) => {
                if let Some(replaced) = meet_key(&self.recorder, params.found) {
                    raise_alarm(&mut self.recorder, &replaced);
                }
                answer(reply, Ok(Reply::Done));
            }
            Command::AcknowledgeAlarm(params) => {
                let seen = acknowledgement(&self.recorder, &params);
                self.record_wish(seen.map(ToRecord::one), reply);
            }
        }
    }
}

/// Only the operator decides.
pub(super) fn not_the_operator() -> Refusal {
    Refusal::new(
        RefusalCode::OperatorOnly,
        "only the operator may do this",
        "use the deck, or run the command yourself in a terminal of your own",
    )
}

/// A role's commands are not another's.
fn not_its_own(role: Role) -> Refusal {
    Refusal::new(
        RefusalCode::WrongRole,
        format!("a client that came as `{}` may not ask this", role.as_str()),
        "an agent's mail is fetched and acknowledged, and its word recorded, by its own bridge \
         alone; `deck` and `cli` read",
    )
}
