//! One file per family of commands; [`Daemon::command`] only delegates.

mod answers;
mod attend;
mod clear;
mod compact;
pub(super) mod context;
mod decide;
mod gates;
mod hook;
mod inbox;
mod ledger;
mod queue;
pub(super) mod record;
mod search;
mod send;
mod trust;

use std::sync::Arc;

use super::attach::ConnId;
use super::event::TreePurpose;
use super::inbox::sender;
use super::owners::Daemon;
use super::reply::{ReplySender, answer};
use super::stop::Stop;
use crate::core::delivery::ClaudeInput;
use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::{EntryId, RuntimeSession};
use crate::wire::control::{Command, Refusal, RefusalCode, Reply, Role, TEXT_CHARS_MAX};

/// How many open handoffs a refusal names; `read_context` has all.
const HANDOFFS_NAMED: usize = 5;

/// How much of an unknown id a refusal repeats, in characters.
const ID_CHARS_MAX: usize = 60;

impl Daemon {
    /// Carries a command out, or refuses it.
    pub(super) fn command(&mut self, conn: ConnId, command: Command, reply: ReplySender) {
        let Some(attachment) = self.clients.get(conn) else {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::NoHello,
                    "say hello first",
                    "send a `hello` request with protocol, role and pid",
                )),
            );
        };
        if self.operations.is_stopping() {
            return answer(reply, Err(self.operations.refusal()));
        }
        if command.is_operator_only() && !attachment.operator {
            self.count_refused_operator(conn);
            return answer(reply, Err(not_the_operator()));
        }
        let role = attachment.hello.role;
        if !command.may_come_from(role) {
            return answer(reply, Err(not_its_own(role)));
        }
        if role == Role::Claude && attachment.receiver {
            // It calls a tool.
            self.tools_called(conn);
            self.claude_hears(ClaudeInput::Called);
        }
        if let Err(refusal) = self.check_space(&command) {
            return answer(reply, Err(refusal));
        }
        match command {
            Command::Send(params) => self.send(conn, params, reply),
            Command::Handoff(params) => self.hand_off(conn, params, reply),
            Command::GetMessages(params) => self.get_messages(conn, params, reply),
            Command::WaitMessages(params) => self.wait_messages(conn, params, reply),
            Command::Fetched(params) => self.fetched(params, reply),
            Command::Ack(params) => self.ack(params, reply),
            Command::AppendNote(params) => self.append_note(conn, params, reply),
            Command::RecordArtifact(params) => self.record_artifact(conn, params, reply),
            Command::ProposeFinal(params) => self.read_tree(TreePurpose::Propose {
                conn,
                params,
                reply: Some(reply),
            }),
            Command::ReadContext(params) => self.read_context(params, reply),
            Command::ReadSnapshot => answer(
                reply,
                Ok(Reply::Snapshot(Arc::clone(self.recorder.world()))),
            ),
            Command::ReadStatus => answer(reply, Ok(Reply::Status(Box::new(self.status())))),
            Command::LedgerList(params) => self.ledger_list(params, reply),
            Command::LedgerShow { entry, full } => self.ledger_show(entry, full, reply),
            Command::LedgerSearch(params) => self.ledger_search(&params, reply),
            Command::LedgerRebuild(params) => answer(reply, self.ledger_rebuild(&params)),
            Command::QueueList => answer(reply, Ok(Reply::Queue(self.queue_rows()))),
            Command::Subscribe => {
                self.clients.subscribe(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::RegisterAgent => answer(reply, self.register_agent(conn)),
            Command::Hook(params) => self.hook(conn, &params, reply),
            Command::HookHanded(params) => self.hook_handed(conn, params, reply),
            Command::DoorbellAttach => {
                self.attach_doorbell(conn);
                answer(reply, Ok(Reply::Done));
            }
            Command::EnsureCodex => self.ensure_codex(reply),
            Command::Decide(params) => self.read_tree(TreePurpose::Decide { params, reply }),
            Command::ListGates => answer(reply, Ok(self.list_gates())),
            Command::RunGates(params) => {
                let begun = self.run_gates(&params);
                answer(reply, begun);
            }
            Command::StopGates => {
                let stopped = self.stop_gates();
                answer(reply, stopped);
            }
            Command::Clear(params) => self.clear(&params, reply),
            Command::Compact(params) => self.compact(&params, reply),
            Command::Stop(params) => {
                answer(reply, Ok(Reply::Done));
                self.stop(Stop::now(params.kill));
            }
            Command::HandOver(params) => self.ask_successor(params, reply),
            Command::QueueChange(params) => self.change_queue(params, reply),
            Command::QueueDrain(params) => self.drain_queue(&params, reply),
            Command::QueueRebuild => self.rebuild_queue(reply),
            Command::Trust(params) => self.trust(&params, reply),
            Command::Attend(params) => self.attend(params, reply),
            Command::AcknowledgeAlarm(params) => self.acknowledge_alarm(&params, reply),
        }
    }

    /// Refuses to answer what nobody asked: an id with a slip in it would leave the handoff open
    /// while its receiver believes it closed. One that is closed already may be named again.
    pub(in crate::daemon) fn check_handles(&self, handles: &[EntryId]) -> Result<(), Refusal> {
        let is_asked = |id: &EntryId| {
            self.recorder.world().open_handoffs.contains_key(id)
                || self
                    .recorder
                    .ledger()
                    .seq_of(id)
                    .and_then(|seq| self.recorder.stored(seq))
                    .is_some_and(|stored| {
                        matches!(
                            stored.entry.kind,
                            EntryKind::Handoff(_)
                                | EntryKind::Message(_)
                                | EntryKind::Note {
                                    note: NoteKind::Blocker,
                                    ..
                                }
                        )
                    })
        };
        match handles.iter().find(|id| !is_asked(id)) {
            None => Ok(()),
            Some(unknown) => {
                let open: Vec<&str> = self
                    .recorder
                    .world()
                    .open_handoffs
                    .keys()
                    .take(HANDOFFS_NAMED)
                    .map(EntryId::as_str)
                    .collect();
                let hint = if open.is_empty() {
                    "nothing was recorded; no handoff is open, leave the id out".to_owned()
                } else {
                    format!("nothing was recorded; open are: {}", open.join(", "))
                };
                Err(record::not_found(
                    &format!("handoff {} in this session", shortened(unknown)),
                    &hint,
                ))
            }
        }
    }

    /// The pair of a call: named in it, or the connection's own.
    fn runtime_session(&self, conn: ConnId, named: Option<RuntimeSession>) -> RuntimeSession {
        named.unwrap_or_else(|| {
            self.clients
                .get(conn)
                .map(|attachment| attachment.hello.runtime_session_id.clone())
                .unwrap_or_default()
        })
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

/// An id that somebody made up may be long.
fn shortened(id: &EntryId) -> String {
    id.as_str().chars().take(ID_CHARS_MAX).collect()
}

/// Refuses free text that is empty or too long.
fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new(
            RefusalCode::InvalidArguments,
            format!("`{field}` is empty"),
            format!("say something in `{field}`"),
        ));
    }
    check_length(field, text)
}

/// Refuses free text that is too long.
fn check_length(field: &str, text: &str) -> Result<(), Refusal> {
    // Bytes bound characters from above, so most texts need no counting.
    if text.len() > TEXT_CHARS_MAX && text.chars().count() > TEXT_CHARS_MAX {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            format!("`{field}` is longer than {TEXT_CHARS_MAX} characters"),
            "put it into a file in the project and name the file",
        ));
    }
    Ok(())
}
