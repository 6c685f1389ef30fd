//! [`HookContext`]: the text that a hook adds to a turn. As many whole messages as fit; of a
//! message that no hook can carry, its beginning, once; and how many more wait.

use crate::core::agent::Agent;
use crate::core::delivery::{Fit, HookPoint, LadderInput, Load, OnBusy, Shown};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::core::relay_cost::CostSort;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::deliveries::bodies::{Body, BodyOrder, NotRead, ReadBodies};
use crate::daemon::deliveries::envelope::{
    beginning as beginning_of, enveloped, enveloped_beginning, whole_text,
};
use crate::daemon::owners::continuation::ThenTaken;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::wire::control::{HookReply, MailMessage, Refusal};

/// Gets what a hook hands over. Whether the hook was still there.
type ThenGiven = Box<dyn FnOnce(&mut Daemon, HookReply) -> bool + Send>;

/// What a hook hands over.
#[derive(Debug, Default)]
struct HookContext {
    text: String,
    load: Load,
    /// All of these.
    whole: Vec<MailMessage>,
    /// What others wrote of it, in characters.
    others: usize,
    /// Claude has to fetch this: no hook can carry it.
    to_fetch: Option<ToFetch>,
    /// Not, or not all of them.
    left: usize,
    /// The last of these.
    upto: Option<Seq>,
}

/// A message that Claude has to fetch.
#[derive(Debug)]
struct ToFetch {
    id: EntryId,
    /// It is told of for the first time.
    is_new: bool,
    /// Its beginning stands in this context, and says so.
    is_shown: bool,
}

impl HookContext {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.load.put(units(text) + 1);
    }

    /// How many more wait; before a human's words also when there is nothing else to say.
    fn finish(mut self, carrier: HookPoint) -> Option<Self> {
        if self.text.is_empty() && (self.left == 0 || carrier != HookPoint::Prompt) {
            return None;
        }
        let behind = self.left.saturating_sub(1);
        let notice = match (&self.to_fetch, self.left) {
            (_, 0) => return Some(self),
            (Some(fetch), 1) if fetch.is_shown => return Some(self),
            (Some(fetch), 2) if fetch.is_shown => "1 more waits behind it".to_owned(),
            (Some(fetch), _) if fetch.is_shown => format!("{behind} more wait behind it"),
            (Some(_), 1) => "1 message is too long for here; call get_messages".to_owned(),
            (Some(_), more) => {
                format!("{more} messages wait, the first is too long for here; call get_messages")
            }
            (None, 1) => "1 more follows".to_owned(),
            (None, more) => format!("{more} more follow"),
        };
        self.put(&format!("[ctxrelay: {notice}]"));
        Some(self)
    }
}

impl Daemon {
    /// Hands over what may go into the model's context at this point, once its rows are on disk.
    /// `then` gets it, or nothing when there is none or they could not be written; it says whether
    /// the hook was still there to take it.
    pub(in crate::daemon) fn context_for(
        &mut self,
        pair: &RuntimeSession,
        carrier: HookPoint,
        then: impl FnOnce(&mut Self, HookReply) -> bool + Send + 'static,
    ) {
        // A hook may come before its bridge does.
        self.agents.claude.know(pair);
        self.read_context(pair.clone(), carrier, ReadBodies::default(), Box::new(then));
    }

    /// As [`Self::context_for`], with what was read for it so far.
    fn read_context(
        &mut self,
        pair: RuntimeSession,
        carrier: HookPoint,
        read: ReadBodies,
        then: ThenGiven,
    ) {
        let context = match self.deliveries.hook_context(
            &self.base,
            &self.agents.claude,
            &pair,
            carrier,
            &read,
        ) {
            Ok(Some(context)) => context,
            Err(orders) if self.deliveries.bodies.has_room() => {
                let then = move |daemon: &mut Self, read| {
                    daemon.read_context(pair, carrier, read, then);
                };
                return self
                    .deliveries
                    .read_bodies(&self.base, orders, read, Box::new(then));
            }
            // What waits goes on waiting.
            Ok(None) | Err(_) => {
                return self
                    .hand_out_nothing(Box::new(|daemon, _| then(daemon, HookReply::default())));
            }
        };
        let whole = context.whole.iter();
        let ids: Vec<EntryId> = whole.map(|message| message.message_id.clone()).collect();
        let to_fetch = context.to_fetch.as_ref();
        let head = to_fetch.filter(|fetch| fetch.is_new);
        let head = head.map(|fetch| fetch.id.clone());
        let (of, carried) = (pair.clone(), ids.clone());
        let given = move |daemon: &mut Self, stored: Result<(), &Refusal>| {
            if stored.is_err() {
                return then(daemon, HookReply::default());
            }
            for message in &context.whole {
                daemon.deliveries.given.note(message);
            }
            if let Some(upto) = context.upto {
                let to_fetch = context.to_fetch.map(|fetch| fetch.id);
                daemon.tell_ladder(&of, LadderInput::LeftOver { upto, to_fetch });
            }
            let ours = context.text.chars().count().saturating_sub(context.others);
            let now_ms = daemon.base.clock.outside_ms();
            daemon
                .agents
                .costs
                .add(Agent::Claude, CostSort::Envelopes, ours, now_ms);
            let reply = HookReply {
                additional_context: Some(context.text.trim_end_matches('\n').to_owned()),
                ids,
            };
            then(daemon, reply)
        };
        self.claim_rows(&pair, carried, head, Box::new(given));
    }

    /// These texts are on their way to a Claude that reads them at once: all of `whole`, and of
    /// `head` not the last character. They leave by `then`, and only if the rows that say so could
    /// be written. What nobody took by then has not left.
    pub(in crate::daemon) fn claim_rows(
        &mut self,
        pair: &RuntimeSession,
        whole: Vec<EntryId>,
        head: Option<EntryId>,
        then: ThenTaken,
    ) {
        let ids: Vec<EntryId> = whole.iter().chain(&head).cloned().collect();
        if ids.is_empty() {
            return self.hand_out_nothing(then);
        }
        let handed = LadderInput::HandedOut { whole, head };
        let stored = self.claude_input(pair, handed);
        self.hand_out_when_stored(Agent::Claude, stored, ids, then);
    }
}

impl Deliveries {
    /// What a hook hands over, if anything.
    ///
    /// # Errors
    ///
    /// With what is to be read first.
    fn hook_context(
        &self,
        base: &Base,
        claude: &ClaudeLane,
        pair: &RuntimeSession,
        carrier: HookPoint,
        read: &ReadBodies,
    ) -> Result<Option<HookContext>, Vec<BodyOrder>> {
        let Some(ladder) = claude.ladder(pair) else {
            return Ok(None);
        };
        let mut context = HookContext::default();
        let carried = ladder.carries(self.outbox.backlog(), carrier);
        for (at, id) in carried.iter().enumerate() {
            let Some(row) = self.outbox.get(id) else {
                continue;
            };
            let (seq, repeat, shown) = (row.seq, row.is_repeat(), row.shown);
            // Nothing but a steer overtakes what stays behind.
            let is_behind = context.left > 0 && row.on_busy != OnBusy::Steer;
            let body = match is_behind {
                true => None,
                false => match self.body(base, id, read) {
                    Ok(body) => body,
                    Err(NotRead) => return Err(self.on_disk(base, &carried[at..], read)),
                },
            };
            if let Some(body) = body {
                let message = enveloped(&base.identity, &body, repeat);
                match context.load.fit(units(&message.text) + 1) {
                    Fit::Whole => {
                        context.put(&message.text);
                        context.others += whole_text(&body).chars().count();
                        context.whole.push(message);
                        continue;
                    }
                    Fit::Fetch if context.left == 0 => {
                        let is_new = shown == Shown::Nothing;
                        let is_shown = is_new && base.put_beginning(&mut context, &body);
                        if !is_new || is_shown || context.whole.is_empty() {
                            context.to_fetch = Some(ToFetch {
                                id: id.clone(),
                                is_new,
                                is_shown,
                            });
                        }
                    }
                    Fit::Fetch | Fit::Next => {}
                }
            } else if !is_behind {
                continue;
            }
            context.left += 1;
            context.upto = Some(seq);
        }
        Ok(context.finish(carrier))
    }
}

impl Base {
    /// Shows the beginning of a text, where there is room. A reason can be long too, and marks
    /// before forged lines take room.
    fn put_beginning(&self, context: &mut HookContext, body: &Body) -> bool {
        let beginning = enveloped_beginning(&self.identity, body);
        let has_room = context.load.has_room(units(&beginning.text) + 1);
        if has_room {
            context.put(&beginning.text);
            context.others += beginning_of(whole_text(body)).chars().count();
        }
        has_room
    }
}

/// As Claude counts.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
