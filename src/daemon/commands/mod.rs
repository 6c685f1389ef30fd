//! One file per family of commands; [`Daemon::command`] only delegates. A command that needs a few
//! owners is a free function over them: it reads, or returns [what to record](to_record). A command
//! that continues after its entries are recorded is a flow of the group that it is about; one that
//! changes several groups is a flow of [`Daemon`].

mod agent_action;
mod answer_approval;
mod answers;
mod ask_user;
mod asked_gates;
mod auto_sign_off;
mod capsules;
mod carrying;
pub(super) mod checks;
mod clear;
mod compact;
mod compact_context;
pub(super) mod context;
mod decide;
mod gate_evidence;
mod gates;
mod hook;
pub(super) mod ledger;
mod mail;
pub(in crate::daemon) mod pair_to_send_to;
mod pending;
pub(super) mod policy;
mod propose;
mod queue;
mod queue_step;
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
mod verdict;
mod work_state;

use std::sync::Arc;

use self::asked_gates::{list_gates, stop_gates};
use self::capsules::CapsuleInputs;
use self::record::{append_artifact, append_note};
use self::review::{change_review, read_finding, read_places};
use self::task::{TaskWish, change_task};
use self::to_record::ToRecord;
use self::work_state::{forget_work, state_work};
use super::attach::ConnId;
use super::event::TreePurpose;
use super::operator_refusals::{count_refused_operator, note_refusals};
use super::owners::Daemon;
use super::reply::{ReplySender, answer, no_hello};
use super::stop::Stop;
use crate::core::delivery::ClaudeInput;
use crate::core::entry::Entry;
use crate::daemon::agents::claude::tools;
use crate::daemon::agents::registering::register_agent;
use crate::daemon::base::disk_space::check_space;
use crate::daemon::base::foreign::acknowledgement;
use crate::daemon::base::settings::SettingsChange;
use crate::daemon::decisions::signing::meet_key;
use crate::daemon::deliveries::envelope::sender;
use crate::daemon::sessions::carrying::EndingWish;
use crate::wire::control::{Command, Refusal, RefusalCode, Reply, Role};

impl Daemon {
    /// Carries a command out, or refuses it.
    pub(super) fn command(&mut self, conn: ConnId, command: Command, reply: ReplySender) {
        let role = match self.admit(conn, &command) {
            Ok(role) => role,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let touched = match command {
            Command::ReadSnapshot | Command::ReadCapsules(_) => {
                self.agents.touched_for_tasks(&self.base)
            }
            _ => Vec::new(),
        };
        if touched.is_empty() {
            return self.carry_out(conn, role, command, reply);
        }
        self.base.recorder.append(
            touched.clone(),
            Box::new(move |daemon, result| {
                if result.is_err() {
                    // Nobody waits for a disk that refuses, which takes them later.
                    for entry in touched {
                        daemon.base.recorder.keep_entry(entry);
                    }
                }
                daemon.command(conn, command, reply);
            }),
        );
    }

    /// Whether this client may have it carried out now; as what it came.
    fn admit(&mut self, conn: ConnId, command: &Command) -> Result<Role, Refusal> {
        let Some(attachment) = self.base.clients.get(conn) else {
            return Err(no_hello());
        };
        if self.base.operations.is_stopping()
            && !(command.is_proof() && self.deliveries.waits_for_proofs(&self.base))
        {
            return Err(self.base.operations.refusal());
        }
        if command.is_operator_only() && !attachment.operator {
            let counted = count_refused_operator(&mut self.base.clients, &self.base.clock, conn);
            note_refusals(&mut self.base.recorder, counted);
            return Err(not_the_operator());
        }
        let role = attachment.hello.role;
        if !command.may_come_from(role) {
            return Err(not_its_own(role));
        }
        if role == Role::Claude && attachment.receiver {
            // It calls a tool, or a helper of it does, beside whatever dialog is open.
            tools::called(&self.base.clients, &mut self.agents.claude_processes, conn);
            let pair = self.base.clients.pair(conn, None);
            self.claude_hears(&pair, ClaudeInput::GivesSign);
        }
        check_space(self.base.recorder.space(), command)?;
        Ok(role)
    }

    fn carry_out(&mut self, conn: ConnId, role: Role, command: Command, reply: ReplySender) {
        let base = &mut self.base;
        match command {
            // What an agent says, and what its bridge and hooks tell.
            Command::Send(params) => self.send(conn, params, reply),
            Command::Handoff(params) => self.hand_off(conn, params, reply),
            Command::GetMessages(params) => self.get_messages(conn, params, reply),
            Command::WaitMessages(params) => self.wait_messages(conn, params, reply),
            Command::Fetched(params) => self.fetched(conn, params, reply),
            Command::Ack(params) => self.ack(conn, params, reply),
            Command::AppendNote(params) => {
                let session = base.clients.pair(conn, params.runtime_session_id.clone());
                let (deciding, approvals) = (&self.decisions.deciding, &self.decisions.approvals);
                let note = append_note(&base.recorder, deciding, approvals, session, params);
                let told = |note: &Entry| base.nothing_comes_of_closed(note);
                let note = note.map(|note| note.with_told(told));
                base.append_wish(note, reply);
            }
            Command::RecordArtifact(params) => {
                let session = base.clients.pair(conn, params.runtime_session_id.clone());
                let artifact = append_artifact(&base.recorder, session, params);
                base.append_wish(artifact, reply);
            }
            Command::ProposeFinal(params) => base.read_tree(TreePurpose::Propose {
                conn,
                params,
                reply: Some(reply),
            }),
            Command::AskUser(params) => {
                self.decisions
                    .ask_user(base, &self.agents.recent_writes, conn, params, reply)
            }
            Command::AskApproval(params) => self.ask_approval(conn, params, reply),
            Command::Hook(params) => self.hook(conn, &params, reply),
            Command::ToolBegins(params) => self.tool_begins(conn, &params, reply),
            Command::HookHanded(params) => self.hook_handed(conn, params, reply),
            Command::DoorbellAttach => {
                self.attach_doorbell(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::RegisterAgent => {
                let agents = &mut self.agents.agent_processes;
                let registered = register_agent(&base.clients, agents, &base.reads(), conn);
                answer(reply, registered);
            }
            Command::EnsureCodex => self.ensure_codex(reply),
            // What is read.
            Command::ReadContext(params) => {
                self.agents.read_context(base, conn, role, params, reply);
            }
            Command::ReadSnapshot => {
                let world = Arc::clone(base.recorder.world());
                answer(reply, Ok(Reply::Snapshot(world)));
            }
            Command::ReadStatus => answer(reply, Ok(Reply::Status(Box::new(self.status())))),
            Command::ReadTurn => {
                answer(
                    reply,
                    Ok(Reply::Turn(self.agents.shown_turn.live().clone())),
                );
            }
            Command::LedgerList(params) => {
                ledger::list(&base.recorder, &base.readers, conn, params, reply)
            }
            Command::LedgerShow {
                entry,
                full,
                placed,
            } => {
                let (recorder, readers) = (&base.recorder, &base.readers);
                ledger::show(recorder, readers, conn, entry, full, placed, reply);
            }
            Command::LedgerWindow(params) => {
                ledger::window(&base.recorder, &base.readers, conn, params, reply)
            }
            Command::LedgerSearch(params) => search::find(&base.recorder, &params, reply),
            Command::SearchCapsules(params) => {
                search::find_capsules(&base.recorder, &params, reply);
            }
            Command::SearchSealed(params) => {
                let dirs = base.dirs.clone();
                let (recorder, readers) = (&base.recorder, &base.readers);
                search::find_sealed(dirs, recorder, readers, conn, &params, reply);
            }
            Command::ReadCapsules(params) => {
                let pair = base.clients.pair(conn, params.runtime_session_id.clone());
                let sources = CapsuleInputs::of(&base.dirs, &base.recorder, &base.configuration);
                let (readers, asking) = (&base.readers, role.agent());
                capsules::read(readers, sources, conn, pair, asking, params, reply);
            }
            Command::ReadFinding(params) => {
                let root = base.dirs.root.clone();
                read_finding(&base.recorder, &base.readers, root, conn, params, reply);
            }
            Command::ReadFindingPlaces(params) => {
                let root = base.dirs.root.clone();
                read_places(&base.recorder, &base.readers, root, conn, params, reply);
            }
            Command::QueueList => {
                let rows = self.deliveries.queue_rows(base, &self.agents.claude);
                answer(reply, Ok(Reply::Queue(rows)));
            }
            Command::ListGates => {
                let (gates, world) = (&self.decisions.gates, base.recorder.world());
                answer(reply, Ok(list_gates(gates, &base.configuration, world)));
            }
            Command::Subscribe => {
                base.clients.subscribe(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::LedgerRebuild(params) => {
                let dirs = base.dirs.clone();
                search::rebuild(dirs, &base.recorder, &base.readers, conn, params, reply);
            }
            // What the operator decides and changes.
            Command::Decide(params) => base.read_tree(TreePurpose::Decide { params, reply }),
            Command::AnswerApproval(params) => self.decisions.answer_approval(base, params, reply),
            Command::StateWork(params) => {
                let session = base.clients.pair(conn, params.runtime_session_id.clone());
                let stated = state_work(&base.recorder, &session, params);
                base.append_wish(stated, reply);
            }
            Command::ForgetWork(params) => {
                let session = base.clients.pair(conn, params.runtime_session_id.clone());
                let forgotten = forget_work(&base.recorder, &session, &params);
                base.append_wish(forgotten, reply);
            }
            Command::ChangeReview(params) => {
                let session = base.clients.pair(conn, params.runtime_session_id);
                let (recorder, imports) = (&base.recorder, &self.decisions.imports);
                let changed = change_review(recorder, imports, &session, params.change);
                base.append_wish(changed, reply);
            }
            Command::ChangeTask(params) => {
                // It is of the task that was the current one then.
                self.agents.append_touched_so_far(base);
                let session = base.clients.pair(conn, params.runtime_session_id);
                match change_task(&base.recorder, session, params.change) {
                    Ok(TaskWish::Find(task, pair)) => base.read_sealed_task(task, pair, reply),
                    Ok(TaskWish::Record(changed)) => base.append_wish(Ok(changed), reply),
                    Err(refusal) => answer(reply, Err(refusal)),
                }
            }
            Command::RunGates(params) => {
                answer(reply, self.decisions.run_gates(base, &params));
            }
            Command::StopGates => answer(reply, stop_gates(&mut self.decisions.gates)),
            Command::SignRelease(params) => self.decisions.sign_release(base, params, reply),
            Command::Clear(params) => self.end_session(EndingWish::Clear(params), reply),
            Command::Compact(params) => self.end_session(EndingWish::Compact(params), reply),
            Command::QueueChange(params) => self.change_queue(params, reply),
            Command::QueueDrain(params) => self.deliveries.drain_queue(base, &params, reply),
            Command::QueueRebuild => self.deliveries.rebuild_queue(base, reply),
            Command::Trust(params) => base.read_settings(
                SettingsChange::Trust {
                    params: Box::new(params),
                    is_signer_forgotten: false,
                },
                reply,
            ),
            Command::SetPolicy(change) => {
                base.read_settings(SettingsChange::Policy(change), reply);
            }
            Command::AgentAction(params) => self.agent_action(params, reply),
            Command::ReportKey(params) => {
                if let Some(replaced) = meet_key(&base.recorder, params.found) {
                    base.raise_alarm(&replaced);
                }
                answer(reply, Ok(Reply::Done));
            }
            Command::AcknowledgeAlarm(params) => {
                let seen = acknowledgement(&base.recorder, &params);
                base.append_wish(seen.map(ToRecord::one), reply);
            }
            Command::HandOver(params) => base.ask_next_daemon(params, reply),
            Command::Stop(params) => {
                answer(reply, Ok(Reply::Done));
                self.stop(Stop::now(params.kill));
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
