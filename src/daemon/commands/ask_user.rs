//! The agents' questions to the person by `ask_user`: requests that wait in the Inbox like any
//! other and depend on no open call. The answer is a message in reply: a call that waits gets it at
//! once, an agent that has gone on gets it like any message.

use sha2::{Digest as _, Sha256};

use super::checks::check_text;
use crate::core::agent::Party;
use crate::core::delivery::OnBusy;
use crate::core::entry::{
    ApprovalChoice, ApprovalEnd, ApprovalKind, ApprovalRequest, ApprovalStep, ChoiceEffect, Entry,
    EntryKind, Message,
};
use crate::core::hex::hex;
use crate::core::id::RuntimeSession;
use crate::core::snapshot::ApprovalSnapshot;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::attach::ConnId;
use crate::daemon::decisions::approvals::AskedAs;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{AskUserParams, Recorded, Refusal, RefusalCode, Reply};

/// The longest question, in characters: it is a card on a screen.
const QUESTION_CHARS_MAX: usize = 4_000;

/// The longest answer to choose, in characters.
const CHOICE_CHARS_MAX: usize = 200;

/// The most answers to choose from.
const CHOICES_MAX: usize = 8;

/// The most questions of both agents that wait at a time: they leave room for requests of the vendors.
const QUESTIONS_OPEN_MAX: usize = 32;

/// The longest that a call waits, in ms.
const WAIT_MS_MAX: u64 = 50_000;

/// How much of the question an answer repeats, in characters: enough to know which one it is.
const QUESTION_NAMED_CHARS: usize = 200;

/// The choices that are always there.
const OWN_WORDS: &str = "own_words";
const NO_ANSWER: &str = "no_answer";

impl Decisions {
    pub(super) fn ask_user(
        &mut self,
        base: &mut Base,
        recent_writes: &RecentWrites,
        conn: ConnId,
        params: AskUserParams,
        reply: ReplySender,
    ) {
        if let Err(refusal) = check(&params) {
            return answer(reply, Err(refusal));
        }
        let agent = params.agent;
        let pair = base.clients.pair(conn, params.runtime_session_id.clone());
        let key = key(&params, &pair);
        let world = base.recorder.world();
        // Asked again word for word, as by a call that repeats one whose time ran out.
        let mut open = world.open_approvals.values();
        let known = open.find(|asked| asked.agent == agent && asked.request.key == key);
        if let Some(known) = known {
            let known = Recorded {
                entry_id: known.id.clone(),
                seq: known.seq,
            };
            return answer(reply, Ok(Reply::Recorded(known)));
        }
        let open = world.open_approvals.values();
        let waiting = open
            .filter(|asked| asked.request.is_user_question())
            .count();
        let is_full = waiting + self.approvals.on_their_way() >= QUESTIONS_OPEN_MAX;
        if is_full || !self.approvals.has_room(world) {
            let refusal = Refusal::new(
                RefusalCode::Overloaded,
                "too many questions wait for the operator",
                "nothing was recorded; go on without an answer, or wait for one that you asked \
                 before",
            );
            return answer(reply, Err(refusal));
        }
        let request = request(&params, key, base.clock.outside_ms());
        let asked = AskedAs::of(agent, &request, "");
        if self.approvals.known(world, &asked).is_some() {
            let refusal = Refusal::in_flight(
                "this very question is being recorded",
                "wait for the call that asked it",
            );
            return answer(reply, Err(refusal));
        }
        let text = self.approval_text(base, agent, request, "");
        let mut entry = base.asked_entry(recent_writes, agent, text);
        entry.runtime_session = Some(pair);
        let recorded = self.then_asked(agent, asked, entry.id.clone(), Some(reply));
        base.recorder.append(vec![entry], recorded);
    }
}

impl Base {
    /// The operator's answer to a question: the message with it first, which ends the question also
    /// where a crash keeps the rest from the disk.
    pub(super) fn user_answer_entries(
        &self,
        asked: &ApprovalSnapshot,
        choice: &ApprovalChoice,
        note: Option<&str>,
    ) -> Vec<Entry> {
        let (id, agent) = (&asked.id, asked.agent);
        let words = match (choice.effect, note) {
            (ChoiceEffect::OwnWords, note) => note.unwrap_or_default().to_owned(),
            (_, None) => choice.label.clone(),
            (_, Some(note)) => format!("{}\n{note}", choice.label),
        };
        let question = asked.request.subject.lines().next().unwrap_or_default();
        let question: String = question.chars().take(QUESTION_NAMED_CHARS).collect();
        let to = Some(Party::Agent(agent));
        let pair = asked.runtime_session.clone();
        let message = EntryKind::Message(Message {
            in_reply_to: Some(id.clone()),
            ..Message::new(OnBusy::Queue)
        });
        // The operator's words first, the agent's own last and on one line: nobody's question can
        // pass for what the operator said.
        let told = format!("{words}\n\nThis answers your question {id}: {question}");
        let given = ApprovalStep::Given {
            choice: choice.id.clone(),
            note: note.map(str::to_owned),
        };
        let given = given.of(id.clone(), agent);
        let ended = ApprovalStep::Ended(ApprovalEnd::Answered).of(id.clone(), agent);
        let mut entries = vec![
            self.recorder
                .entry(Party::Human, to.clone(), message, told, pair.clone()),
            self.recorder
                .entry(Party::Human, to, given, words, pair.clone()),
            self.recorder.entry(
                Party::System,
                None,
                ended,
                "the operator answered the question",
                pair,
            ),
        ];
        for entry in &mut entries {
            note_head(&self.commit, entry);
        }
        entries
    }
}

/// Checks what an agent asks.
fn check(params: &AskUserParams) -> Result<(), Refusal> {
    check_text("question", &params.question)?;
    let is_over = |text: &str, max: usize| text.chars().nth(max).is_some();
    if is_over(&params.question, QUESTION_CHARS_MAX) {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            format!("`question` has more than {QUESTION_CHARS_MAX} characters"),
            "write the details to a file in the project and name the path; nothing was recorded",
        ));
    }
    let is_wrong = |choice: &String| choice.trim().is_empty() || is_over(choice, CHOICE_CHARS_MAX);
    if params.choices.len() > CHOICES_MAX || params.choices.iter().any(is_wrong) {
        return Err(Refusal::invalid(
            format!(
                "`choices` are at most {CHOICES_MAX}, of 1 to {CHOICE_CHARS_MAX} characters each"
            ),
            "the person can always answer in words of its own; nothing was recorded",
        ));
    }
    Ok(())
}

/// Names the question: the same words of the same agent and pair are the same question as long as
/// it waits.
fn key(params: &AskUserParams, pair: &RuntimeSession) -> String {
    let mut digest = Sha256::new();
    for part in std::iter::once(pair.as_str())
        .chain(std::iter::once(params.question.as_str()))
        .chain(params.choices.iter().map(String::as_str))
    {
        digest.update(part);
        digest.update([0]);
    }
    let digest = digest.finalize();
    format!("ask_user/{}", hex(&digest[..8]))
}

fn request(params: &AskUserParams, key: String, now_ms: i64) -> ApprovalRequest {
    let offered = params.choices.iter().enumerate();
    let offered = offered.map(|(at, label)| {
        let id = format!("choice/{}", at + 1);
        ApprovalChoice::new(id, label, ChoiceEffect::Answer)
    });
    let own_words = ApprovalChoice::new(
        OWN_WORDS,
        "an answer in words of your own",
        ChoiceEffect::OwnWords,
    );
    // An agent that is told so stops waiting; a card that only went away would leave it waiting.
    let no_answer = ApprovalChoice::no_answer(NO_ANSWER);
    let waits_ms = params.timeout_ms.min(WAIT_MS_MAX);
    let question = params.question.clone();
    ApprovalRequest {
        choices: offered.chain([own_words, no_answer]).collect(),
        call_waits_until_ms: Some(now_ms.saturating_add_unsigned(waits_ms)),
        ..ApprovalRequest::new(ApprovalKind::UserQuestion, key, question)
    }
}
