//! The operator's answers to what the agents ask before they go on.

use tokio::sync::oneshot;

use super::checks::{check_length, not_found, shortened};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{ApprovalChoice, ApprovalStep, ChoiceEffect, Entry, EntryKind, Message};
use crate::core::id::EntryId;
use crate::core::snapshot::ApprovalSnapshot;
use crate::core::trace;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::clock::now_ms;
use crate::daemon::decisions::approvals::AnswerNumber;
use crate::daemon::decisions::decision_messages::track_recorded;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    AnswerApprovalParams, ApprovalAnswer, Recorded, Refusal, RefusalCode, Reply,
};

/// How much of what was asked a message names, in characters.
const SUBJECT_NAMED_CHARS: usize = 200;

/// An answer that was checked.
struct CheckedAnswer {
    asked: ApprovalSnapshot,
    choice: ApprovalChoice,
    note: Option<String>,
}

/// An answer that is recorded and goes out now.
struct GivenAnswer {
    number: AnswerNumber,
    given: ApprovalAnswer,
    effect: ChoiceEffect,
    /// What is told once it has arrived.
    reason: Option<Box<Entry>>,
    recorded: Recorded,
}

impl Decisions {
    pub(super) fn answer_approval(
        &mut self,
        base: &mut Base,
        params: AnswerApprovalParams,
        reply: ReplySender,
    ) {
        let id = params.id.clone();
        let checked = self.check_answer(base, params);
        let begun = checked.and_then(|checked| Ok((checked, self.approvals.begin_answer(&id)?)));
        let (checked, number) = match begun {
            Ok(begun) => begun,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if checked.asked.request.is_user_question() {
            return base.answer_user_question(&checked, number, reply);
        }
        let entry = base.answer_entry(&checked);
        let reason = base.reason_entry(&checked);
        let agent = checked.asked.agent;
        let effect = checked.choice.effect;
        let given = ApprovalAnswer {
            choice: checked.choice.id,
            note: checked.note,
        };
        base.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| match result {
                Err(refusal) => {
                    daemon.decisions.approvals.no_longer_answering(&id, number);
                    answer(reply, Err(refusal.clone()));
                }
                Ok(stored) => {
                    let recorded = Recorded::of(&stored[0].entry);
                    let given = GivenAnswer {
                        number,
                        given,
                        effect,
                        reason,
                        recorded,
                    };
                    daemon.decisions.send_answer(
                        &mut daemon.base,
                        &daemon.agents.codex,
                        &id,
                        agent,
                        given,
                        reply,
                    );
                }
            }),
        );
    }

    fn check_answer(
        &self,
        base: &Base,
        params: AnswerApprovalParams,
    ) -> Result<CheckedAnswer, Refusal> {
        let AnswerApprovalParams { id, choice, note } = params;
        let Some(asked) = base.recorder.world().open_approvals.get(&id) else {
            let shown = shortened(id.as_str());
            let hint = "it was answered, or what asked is gone: look again";
            return Err(not_found(&format!("request {shown}"), hint));
        };
        let Some(chosen) = asked.request.choice(&choice).cloned() else {
            let choices = asked.request.choices.iter();
            let known: Vec<&str> = choices.map(|choice| choice.id.as_str()).collect();
            return Err(Refusal::invalid(
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
            return Err(Refusal::invalid(
                "an answer in own words needs the words",
                "say them in `note`",
            ));
        }
        if !asked.request.is_user_question() && !self.approvals.is_answerable(&id) {
            if asked.agent == Agent::Claude {
                // Answered here, it waits for no other answer either.
                self.approvals.check(&id)?;
            }
            return Err(nobody_waits(asked.agent));
        }
        Ok(CheckedAnswer {
            asked: asked.clone(),
            choice: chosen,
            note,
        })
    }

    fn send_answer(
        &mut self,
        base: &mut Base,
        codex: &CodexLane,
        id: &EntryId,
        agent: Agent,
        given: GivenAnswer,
        reply: ReplySender,
    ) {
        let GivenAnswer {
            number,
            given,
            effect,
            reason,
            recorded,
        } = given;
        match agent {
            Agent::Claude => {
                let hook = self.approvals.take_hook(id, effect == ChoiceEffect::Stop);
                let was_here = hook.is_some();
                let is_sent = hook.is_some_and(|hook| {
                    let given = Reply::Approval(Some(given));
                    hook.send(Ok(given)).is_ok()
                });
                if is_sent {
                    trace::approval(id).in_scope(|| tracing::debug!(%agent, "answer delivered"));
                    return answer(reply, Ok(Reply::Recorded(recorded)));
                }
                // It went away meanwhile, and no hook may come for long that would end the request.
                if was_here {
                    self.approvals.answer_missed(id, effect.denies());
                    self.end_approval(base, id.clone(), agent, HowOver::Missed);
                }
                answer(reply, Err(nobody_waits(agent)));
            }
            Agent::Codex => {
                let request = self.approvals.codex_request(id).map(str::to_owned);
                let sent = request.and_then(|request| codex.answer_approval(request, given.choice));
                let Some(sent) = sent else {
                    self.answer_reached_nobody(base, id, number);
                    return answer(reply, Err(nobody_waits(agent)));
                };
                let events = base.events.clone();
                let id = id.clone();
                tokio::spawn(async move {
                    let result = told(sent).await;
                    let event = match &result {
                        Ok(()) => {
                            trace::approval(&id)
                                .in_scope(|| tracing::debug!(%agent, "answer delivered"));
                            reason.map(Event::ReasonToTell)
                        }
                        Err(_) => Some(Event::ApprovalUnanswered { id, number }),
                    };
                    if let (Some(event), Some(events)) = (event, events.upgrade()) {
                        let _ = events.send(event).await;
                    }
                    answer(reply, result.map(|()| Reply::Recorded(recorded)));
                });
            }
        }
    }
}

impl Base {
    /// Nothing waits for this answer but the record: with the message it is over.
    fn answer_user_question(
        &mut self,
        checked: &CheckedAnswer,
        number: AnswerNumber,
        reply: ReplySender,
    ) {
        let CheckedAnswer {
            asked,
            choice,
            note,
        } = checked;
        let id = asked.id.clone();
        let entries = self.user_answer_entries(asked, choice, note.as_deref());
        self.recorder.append(
            entries,
            Box::new(move |daemon, result| {
                daemon.decisions.approvals.no_longer_answering(&id, number);
                let recorded = result.map_err(Clone::clone).map(|stored| {
                    track_recorded(&daemon.base, &mut daemon.deliveries.outbox, stored);
                    Reply::Recorded(Recorded::of(&stored[0].entry))
                });
                answer(reply, recorded);
                daemon.base.clients.status_changed();
            }),
        );
    }

    fn answer_entry(&self, checked: &CheckedAnswer) -> Entry {
        let CheckedAnswer {
            asked,
            choice,
            note,
        } = checked;
        let ApprovalSnapshot { id, agent, .. } = asked;
        let subject = named_subject(asked);
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
        let mut entry = self.recorder.entry(Party::Human, to, kind, content, None);
        note_head(&self.commit, &mut entry);
        entry
    }

    /// The operator's word to an agent that is told no, where nothing else carries it: Claude's hook
    /// takes words with an answer, Codex does not.
    fn reason_entry(&self, checked: &CheckedAnswer) -> Option<Box<Entry>> {
        let CheckedAnswer {
            asked,
            choice,
            note,
        } = checked;
        let note = match asked.agent {
            Agent::Claude => None,
            Agent::Codex => note.as_ref().filter(|_| choice.effect.denies()),
        }?;
        let message = EntryKind::Message(Message::new(OnBusy::Steer));
        let subject = named_subject(asked);
        let text = format!("I did not allow this: {subject}\nThe reason: {note}");
        let to = Some(Party::Agent(asked.agent));
        let mut entry = self.recorder.entry(Party::Human, to, message, text, None);
        note_head(&self.commit, &mut entry);
        Some(Box::new(entry))
    }

    /// The answer reached Codex, and for the turn that goes on with it there is a reason. Not
    /// before: an answer that came too late forbade nothing.
    pub(in crate::daemon) fn on_reason_to_tell(&mut self, mut message: Entry) {
        // Another session may have begun while the answer was on its way.
        message.session_id = self.recorder.session_id().clone();
        message.timestamp_ms = now_ms();
        self.append_messages(vec![message]);
    }
}

/// What was asked, in one line.
fn named_subject(asked: &ApprovalSnapshot) -> String {
    let subject = asked.request.subject.lines().next().unwrap_or_default();
    subject.chars().take(SUBJECT_NAMED_CHARS).collect()
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
        Err(_) => Err(nobody_waits(Agent::Codex)),
    }
}

/// No program of the agent's takes an answer now. Codex asks again; a hook that is gone does not.
fn nobody_waits(agent: Agent) -> Refusal {
    match agent {
        Agent::Claude => not_found(
            "hook that waits for an answer",
            "its hook is gone: it may have been answered in Claude's own terminal; look there",
        ),
        Agent::Codex => Refusal::new(
            RefusalCode::CodexUnavailable,
            "Codex cannot be reached just now",
            "try again in a moment: it asks again when it is connected",
        ),
    }
}
