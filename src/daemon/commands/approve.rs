//! The operator's answers to what the agents ask before they go on.

use tokio::sync::oneshot;

use super::checks::{ID_CHARS_MAX, check_length, not_found};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{
    ApprovalChoice, ApprovalEnd, ApprovalStep, ChoiceEffect, Entry, EntryKind, Message,
};
use crate::core::id::EntryId;
use crate::core::snapshot::ApprovalSnapshot;
use crate::daemon::decisions::track_recorded;
use crate::daemon::event::Event;
use crate::daemon::inbox::note_head;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    AnswerApprovalParams, ApprovalAnswer, Recorded, Refusal, RefusalCode, Reply,
};

/// How much of what was asked a message names, in characters.
const SUBJECT_NAMED_CHARS: usize = 200;

/// An answer that was checked.
struct Approved {
    asked: ApprovalSnapshot,
    choice: ApprovalChoice,
    note: Option<String>,
}

impl Daemon {
    pub(super) fn answer_approval(&mut self, params: AnswerApprovalParams, reply: ReplySender) {
        let id = params.id.clone();
        let checked = self.check_answer(params);
        let begun = checked.and_then(|checked| self.approvals.begin(&id).map(|()| checked));
        let approved = match begun {
            Ok(approved) => approved,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if approved.asked.request.is_user_question() {
            return self.answer_user_question(&approved, reply);
        }
        let entries = self.answer_entries(&approved);
        let agent = approved.asked.agent;
        let given = ApprovalAnswer {
            choice: approved.choice.id,
            note: approved.note,
        };
        self.recorder.record(
            entries,
            Box::new(move |daemon, result| match result {
                Err(refusal) => {
                    daemon.approvals.failed(&id);
                    answer(reply, Err(refusal.clone()));
                }
                Ok(stored) => {
                    let recorded = Recorded::of(&stored[0].entry);
                    // First the answer: what is told with it is for the turn that goes on.
                    daemon.send_answer(&id, agent, given, recorded, reply);
                    track_recorded(&daemon.recorder, &mut daemon.outbox, stored);
                }
            }),
        );
    }

    /// Nothing waits for this answer but the record: with the message it is over.
    fn answer_user_question(&mut self, approved: &Approved, reply: ReplySender) {
        let Approved {
            asked,
            choice,
            note,
        } = approved;
        let id = asked.id.clone();
        let entries = self.user_answer_entries(asked, choice, note.as_deref());
        self.recorder.record(
            entries,
            Box::new(move |daemon, result| {
                daemon.approvals.failed(&id);
                let recorded = result.map_err(Clone::clone).map(|stored| {
                    track_recorded(&daemon.recorder, &mut daemon.outbox, stored);
                    Reply::Recorded(Recorded::of(&stored[0].entry))
                });
                answer(reply, recorded);
                daemon.clients.status_changed();
            }),
        );
    }

    fn check_answer(&self, params: AnswerApprovalParams) -> Result<Approved, Refusal> {
        let AnswerApprovalParams { id, choice, note } = params;
        let Some(asked) = self.recorder.world().open_approvals.get(&id) else {
            let shown: String = id.as_str().chars().take(ID_CHARS_MAX).collect();
            let hint = "it was answered, or what asked is gone: look again";
            return Err(not_found(&format!("request {shown}"), hint));
        };
        let Some(chosen) = asked.request.choice(&choice).cloned() else {
            let choices = asked.request.choices.iter();
            let known: Vec<&str> = choices.map(|choice| choice.id.as_str()).collect();
            return Err(Refusal::new(
                RefusalCode::InvalidArguments,
                "it cannot be answered in this way",
                match known.as_slice() {
                    [] => format!("answer it in {}'s own terminal", asked.agent.title()),
                    known => format!("one of: {}", known.join(", ")),
                },
            ));
        };
        let note = note.filter(|note| !note.trim().is_empty());
        if let Some(note) = &note {
            check_length("note", note)?;
        }
        if note.is_none() && chosen.effect == ChoiceEffect::OwnWords {
            return Err(Refusal::new(
                RefusalCode::InvalidArguments,
                "an answer in own words needs the words",
                "say them in `note`",
            ));
        }
        if !asked.request.is_user_question() && !self.approvals.is_answerable(&id) {
            return Err(reconnecting(asked.agent));
        }
        Ok(Approved {
            asked: asked.clone(),
            choice: chosen,
            note,
        })
    }

    /// The answer; and where nothing else carries it, the operator's word to the agent.
    fn answer_entries(&self, approved: &Approved) -> Vec<Entry> {
        let Approved {
            asked,
            choice,
            note,
        } = approved;
        let ApprovalSnapshot {
            id, agent, request, ..
        } = asked;
        let subject = request.subject.lines().next().unwrap_or_default();
        let subject: String = subject.chars().take(SUBJECT_NAMED_CHARS).collect();
        let mut content = format!("{}: {subject}", choice.label);
        if let Some(note) = note {
            content.push_str(&format!("\nreason: {note}"));
        }
        let given = ApprovalStep::Given {
            choice: choice.id.clone(),
            note: note.clone(),
        };
        let to = Some(Party::Agent(*agent));
        let kind = given.of(id.clone(), *agent);
        let mut entries = vec![
            self.recorder
                .entry(Party::Human, to.clone(), kind, content, None),
        ];
        let denies = matches!(choice.effect, ChoiceEffect::Deny | ChoiceEffect::Stop);
        if let (Some(note), true, Agent::Codex) = (note, denies, agent) {
            // Claude's hook takes words with an answer, Codex does not.
            let message = EntryKind::Message(Message {
                on_busy: OnBusy::Steer,
                require_reply: false,
                handles: Vec::new(),
                in_reply_to: None,
                from_turn: None,
                decision: None,
            });
            let text = format!("I did not allow this: {subject}\nThe reason: {note}");
            entries.push(self.recorder.entry(Party::Human, to, message, text, None));
        }
        for entry in &mut entries {
            note_head(&self.commit, entry);
        }
        entries
    }

    fn send_answer(
        &mut self,
        id: &EntryId,
        agent: Agent,
        given: ApprovalAnswer,
        recorded: Recorded,
        reply: ReplySender,
    ) {
        if agent == Agent::Claude {
            let hook = self.approvals.take_hook(id);
            let was_here = hook.is_some();
            let is_sent = hook.is_some_and(|hook| {
                let given = Reply::Approval(Some(given));
                hook.send(Ok(given)).is_ok()
            });
            if is_sent {
                return answer(reply, Ok(Reply::Recorded(recorded)));
            }
            // It went away meanwhile, and no hook may come for long that would end the request.
            if was_here {
                self.end_approval(id.clone(), agent, ApprovalEnd::Answered);
            }
            let hint = "it was answered in Claude's own terminal: look there";
            return answer(reply, Err(not_found("the hook that asked", hint)));
        }
        let request = self.approvals.codex_request(id).map(str::to_owned);
        let sent = request.and_then(|request| self.codex.answer_approval(request, given.choice));
        let Some(sent) = sent else {
            self.approvals.failed(id);
            return answer(reply, Err(reconnecting(Agent::Codex)));
        };
        let events = self.events.clone();
        let id = id.clone();
        tokio::spawn(async move {
            let result = told(sent).await;
            if result.is_err()
                && let Some(events) = events.upgrade()
            {
                let _ = events.send(Event::ApprovalUnanswered(id)).await;
            }
            answer(reply, result.map(|()| Reply::Recorded(recorded)));
        });
    }
}

/// Whether the answer was sent. The adapter's write has a deadline.
async fn told(sent: oneshot::Receiver<Result<(), String>>) -> Result<(), Refusal> {
    match sent.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Refusal::new(
            RefusalCode::CodexRefused,
            format!("codex did not get the answer: {why}"),
            "look again: it may have been answered in the terminal",
        )),
        Err(_) => Err(reconnecting(Agent::Codex)),
    }
}

fn reconnecting(agent: Agent) -> Refusal {
    Refusal::new(
        RefusalCode::CodexUnavailable,
        format!("{} cannot be reached just now", agent.title()),
        "try again in a moment: it asks again when it is connected",
    )
}
