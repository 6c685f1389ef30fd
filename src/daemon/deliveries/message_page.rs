//! [`PageQuery`] and its page: as many of an agent's waiting messages as fit into one tool result,
//! and the cursor to the rest.
//!
//! The daemon cuts the page, not the bridge that shows it, so that exactly what leaves is claimed,
//! proven and called a repeat later. An agent always gets the whole text: what does not fit into a
//! page of its own is given in parts.

use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, CutMessage, Delivery, LaterInput, MessageCursor, Shown};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::daemon::deliveries::bodies::{BodyOrder, NotRead, ReadBodies};
use crate::daemon::deliveries::envelope::{answers, enveloped};
use crate::daemon::owners::continuation::ThenTaken;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer, is_answered};
use crate::wire::control::{MailMessage, MessagePage, PAGE_CHARS_MAX, Refusal, Reply, TextPart};
use crate::wire::json_size::{escaped_chars, escaped_stretch};

/// How many messages one page has when the asker names no number.
const PAGE: u32 = 20;

/// The most that one page can have.
const PAGE_MAX: u32 = 100;

/// So much of a message has room in any case, in characters of JSON.
const PAGE_CHARS_MIN: usize = 6_000;

/// What the fields around a part may take, in characters of JSON.
const PART_FIELDS_CHARS: usize = 2_000;

/// What separates two messages of a result, in characters of JSON, rounded up.
const SEPARATOR_CHARS: usize = 16;

/// How long bodies that Codex asked for may take until they count as taken or not, in ms. The call
/// that fetched them says so within milliseconds, unless its process died; what did not fit into
/// its result Codex asks for with its next call, if it does.
const CLAIM_MS: i64 = 20_000;

/// The messages that a caller asks for.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct PageQuery<'a> {
    pub agent: Agent,
    pub runtime_session: &'a RuntimeSession,
    pub after: Option<&'a MessageCursor>,
    pub reply_to: Option<&'a EntryId>,
    /// The position of that entry, if known: its answer comes after it.
    pub asked_at: Option<Seq>,
    pub limit: Option<u32>,
    /// The size of the result's other parts, in characters of JSON.
    pub reserved: usize,
}

impl Deliveries {
    /// A page of what waits for an agent.
    ///
    /// # Errors
    ///
    /// With what is to be read first.
    pub(in crate::daemon) fn message_page(
        &self,
        base: &Base,
        query: &PageQuery<'_>,
        read: &ReadBodies,
    ) -> Result<MessagePage, Vec<BodyOrder>> {
        let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize;
        let start = MessageCursor::default();
        let cursor = query.after.unwrap_or(&start);
        let (mut order, until) = self.in_page_order(query.agent, query.runtime_session, cursor);
        let mut next = MessageCursor {
            after: cursor.after,
            until: Some(until),
            cut: None,
        };
        let page_chars = PAGE_CHARS_MAX
            .saturating_sub(query.reserved)
            .max(PAGE_CHARS_MIN);
        let mut free = page_chars;
        let mut messages = Vec::new();
        let mut more = false;
        while let Some(row) = order.next() {
            // Most rows need not be read. Where nobody can tell where the question stands, all are.
            if query.asked_at.is_some_and(|asked| row.seq < asked) {
                continue;
            }
            let Ok(message) = self.asked_for(base, row, query, read) else {
                let ids = std::iter::once(row).chain(order).map(|row| &row.id);
                return Err(self.on_disk(base, ids, read));
            };
            let Some(message) = message else {
                continue;
            };
            let rest = cursor.cut.as_ref().filter(|cut| cut.id == row.id);
            let cost = cost(&message);
            let is_whole = rest.is_none() && cost <= free;
            if messages.len() == limit || !is_whole && !messages.is_empty() {
                more = true;
                break;
            }
            let message = if is_whole {
                free -= cost;
                message
            } else {
                let part = part(message, rest.map(|cut| cut.rest), page_chars);
                free = free.saturating_sub(cost_of_part(&part));
                part
            };
            let left = left_of(&message);
            messages.push(message);
            if left > 0 {
                let id = row.id.clone();
                next.cut = Some(CutMessage { id, rest: left });
                more = true;
                break;
            }
            if row.is_repeat() {
                next.after = next.after.max(row.seq);
            }
        }
        if !more {
            // A call that goes on from here gets what has come since.
            next.after = next.after.max(until);
        }
        Ok(MessagePage {
            cursor: (!messages.is_empty()).then_some(next),
            more,
            messages,
            unread: self.unread_at(query.agent, query.runtime_session, cursor),
            timed_out: false,
            ended: None,
            cut: false,
            acked: Vec::new(),
            unfinished: Vec::new(),
        })
    }

    /// How much waits for an agent.
    pub(in crate::daemon) fn unread(&self, agent: Agent, runtime_session: &RuntimeSession) -> u64 {
        self.unread_at(agent, runtime_session, &MessageCursor::default())
    }

    fn unread_at(
        &self,
        agent: Agent,
        runtime_session: &RuntimeSession,
        cursor: &MessageCursor,
    ) -> u64 {
        let unread = match agent {
            Agent::Claude => self.outbox.backlog().unread_of_pair(runtime_session),
            Agent::Codex => self.outbox.backlog().unread_of_codex(cursor),
        };
        unread as u64
    }

    /// What an agent gets by asking, in the order of its pages, and the last repeat of this walk.
    fn in_page_order<'a>(
        &'a self,
        agent: Agent,
        runtime_session: &'a RuntimeSession,
        cursor: &'a MessageCursor,
    ) -> (Box<dyn Iterator<Item = &'a Delivery> + 'a>, Seq) {
        let backlog = self.outbox.backlog();
        match agent {
            Agent::Claude => {
                let (order, until) = backlog.page_of_pair(runtime_session, cursor);
                (Box::new(order), until)
            }
            Agent::Codex => {
                let (order, until) = backlog.page_of_codex(cursor);
                (Box::new(order), until)
            }
        }
    }

    /// The message of a row, if it is one that was asked for.
    fn asked_for(
        &self,
        base: &Base,
        row: &Delivery,
        query: &PageQuery<'_>,
        read: &ReadBodies,
    ) -> Result<Option<MailMessage>, NotRead> {
        let body = self.body(base, &row.id, read)?.filter(|body| {
            let question = query.reply_to;
            question.is_none_or(|question| answers(&body.stored.entry, question))
        });
        Ok(body.map(|body| enveloped(&base.identity, &body, row.is_repeat())))
    }
}

impl Daemon {
    /// These texts are on their way to an agent that asked: they are not offered by another way
    /// until it is known whether they arrived. What is not written must not leave.
    /// Of `head` only the beginning leaves.
    fn claim(&mut self, whole: Vec<EntryId>, head: Option<EntryId>, agent: Agent, then: ThenTaken) {
        if agent == Agent::Claude {
            // A page is of one pair.
            let mut ids = whole.iter().chain(&head);
            let pair = ids.find_map(|id| self.deliveries.outbox.pair_of(id));
            return match pair {
                Some(pair) => self.claim_rows(&pair, whole, head, then),
                None => self.hand_out_nothing(then),
            };
        }
        let at = self.base.clock.moment();
        let whole = whole.into_iter().map(|id| (id, Shown::Whole));
        let claims: Vec<(EntryId, Shown)> = whole
            .chain(head.into_iter().map(|id| (id, Shown::Head)))
            .collect();
        let effects = self
            .deliveries
            .outbox
            .claim_for_codex(&claims, &at, CLAIM_MS);
        let stored = self.perform(agent, effects);
        let ids = claims.into_iter().map(|(id, _)| id).collect();
        self.hand_out_when_stored(agent, stored, ids, then);
    }

    /// Answers with a page, once what it holds is noted as handed out.
    pub(in crate::daemon) fn answer_page(
        &mut self,
        reply: ReplySender,
        page: MessagePage,
        agent: Agent,
    ) {
        if page.messages.is_empty() {
            return answer(reply, Ok(Reply::Messages(page)));
        }
        for message in &page.messages {
            if message.part.is_none_or(|part| part.from == 0) {
                self.deliveries.given.note(message);
            }
        }
        let messages = page.messages.iter();
        let (whole, head): (Vec<_>, Vec<_>) = messages.partition(|message| left_of(message) == 0);
        let ids = |messages: Vec<&MailMessage>| -> Vec<EntryId> {
            let ids = messages.into_iter();
            ids.map(|message| message.message_id.clone()).collect()
        };
        let (whole, head) = (ids(whole), ids(head).pop());
        let then = move |_: &mut Self, stored: Result<(), &Refusal>| {
            let stored = stored.map_err(Clone::clone);
            is_answered(reply, stored.map(|()| Reply::Messages(page)))
        };
        self.claim(whole, head, agent, Box::new(then));
    }

    /// The callers went away without taking these messages.
    pub(in crate::daemon) fn expire_claims(&mut self) {
        let expired = self
            .deliveries
            .outbox
            .expire_claims(self.base.clock.now_ms());
        if expired.is_empty() {
            return;
        }
        for id in expired {
            self.deliveries
                .outbox
                .following(&id)
                .in_scope(|| tracing::debug!("nobody said that it arrived"));
            if self
                .deliveries
                .outbox
                .get(&id)
                .is_some_and(|row| row.to == Agent::Codex)
            {
                self.codex_input(CodexInput::ClaimEnded { id });
            }
        }
        self.base.later.push(LaterInput::News);
    }
}

/// How many characters of its text a page leaves out after what it shows.
fn left_of(message: &MailMessage) -> usize {
    message.part.map_or(0, |part| part.total - part.to)
}

/// What a message takes of a result: its fields, and its text twice, because a result has a twin
/// in plain text. At least what the bridge writes, which leaves some fields out.
fn cost(message: &MailMessage) -> usize {
    let fields = serde_json::to_string(message).unwrap_or_default();
    fields.chars().count() + escaped_chars(&message.text) + SEPARATOR_CHARS
}

fn cost_of_part(message: &MailMessage) -> usize {
    2 * escaped_chars(&message.text) + PART_FIELDS_CHARS
}

/// The stretch of a message that begins `rest` characters before its end, or at its beginning, and
/// fits into a page of its own.
fn part(message: MailMessage, rest: Option<usize>, page_chars: usize) -> MailMessage {
    let total = message.text.chars().count();
    let from = rest.map_or(0, |rest| total.saturating_sub(rest));
    let budget = page_chars.saturating_sub(PART_FIELDS_CHARS) / 2;
    let text = escaped_stretch(&message.text, from, budget).to_owned();
    let to = from + text.chars().count();
    MailMessage {
        part: Some(TextPart { from, to, total }),
        // They stand in the text.
        reason: None,
        context_refs: Vec::new(),
        text,
        ..message
    }
}
