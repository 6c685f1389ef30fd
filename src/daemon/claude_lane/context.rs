//! [`HookContext`]: what a hook hands into a turn. As many whole messages as fit, of the next one
//! its beginning, and how many more wait.

use crate::core::delivery::{Carrier, LadderInput, Shown};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::run::Daemon;
use crate::wire::control::{HookReply, InboxMessage, Refusal};

/// What a hook may hand over is shorter than this, in UTF-16 units: Claude keeps 10,000 and turns
/// more into a file reference (Claude Code 2.1.330, observed).
const CONTEXT_UNITS_MAX: usize = 8_000;

/// Kept free for the line that tells how many more wait.
const NOTICE_UNITS: usize = 200;

/// A shorter beginning of a message is not worth its envelope.
const BEGINNING_UNITS_MIN: usize = 500;

/// What a hook hands over.
#[derive(Debug, Default)]
struct HookContext {
    text: String,
    units: usize,
    /// All of these.
    whole: Vec<InboxMessage>,
    /// The beginning of this.
    begun: Option<EntryId>,
    /// Not, or not all of them.
    left: usize,
}

impl HookContext {
    fn room(&self) -> usize {
        CONTEXT_UNITS_MAX
            .saturating_sub(self.units)
            .saturating_sub(NOTICE_UNITS)
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.units += units(text) + 1;
    }

    /// How many more wait; before a human's words also when there is nothing else to say.
    fn finish(mut self, carrier: Carrier) -> Option<Self> {
        let is_empty = self.whole.is_empty() && self.begun.is_none();
        if is_empty && (self.left == 0 || carrier != Carrier::Prompt) {
            return None;
        }
        match self.left {
            0 => {}
            1 => self.put("[ctxrelay: 1 message is too long for here; call get_messages]"),
            more => self.put(&format!(
                "[ctxrelay: {more} more messages wait; call get_messages]"
            )),
        }
        Some(self)
    }
}

impl Daemon {
    /// Hands over what may go into the model's context at this point. Its rows are on disk.
    pub(in crate::daemon) fn context_for(
        &mut self,
        pair: &RuntimeSession,
        carrier: Carrier,
    ) -> HookReply {
        // A hook may come before its bridge does.
        self.claude.ladder_mut(pair);
        let Some(context) = self.hook_context(pair, carrier) else {
            return HookReply::default();
        };
        let whole = context.whole.iter();
        let whole = whole.map(|message| message.message_id.clone()).collect();
        let head = context.begun.clone();
        if self.hand_out(pair, whole, head).is_err() {
            return HookReply::default();
        }
        for message in &context.whole {
            self.note_given(message);
        }
        let ids = context.whole.into_iter();
        HookReply {
            additional_context: Some(context.text),
            ids: ids.map(|message| message.message_id).collect(),
        }
    }

    fn hook_context(&self, pair: &RuntimeSession, carrier: Carrier) -> Option<HookContext> {
        let ladder = self.claude.ladder(pair)?;
        let ids = ladder.carries(&self.outbox.backlog, carrier);
        let mut context = HookContext::default();
        for (index, id) in ids.iter().enumerate() {
            let Some(row) = self.outbox.get(id) else {
                continue;
            };
            let Some(stored) = self.stored(row.seq) else {
                continue;
            };
            let message = self.enveloped(&stored.entry, row.is_repeat());
            let room = context.room();
            if units(&message.text) < room {
                context.put(&message.text);
                context.whole.push(message);
                continue;
            }
            // Its beginning is said once; whoever wants the rest asks.
            if row.shown == Shown::Nothing && room > BEGINNING_UNITS_MIN {
                let beginning = self.enveloped_beginning(&stored.entry, room - 1);
                // A reason can be long too, and marks before forged lines take room.
                if units(&beginning.text) < room {
                    context.put(&beginning.text);
                    context.begun = Some(id.clone());
                }
            }
            // What follows does not overtake it.
            context.left = ids.len() - index;
            break;
        }
        context.finish(carrier)
    }

    /// These texts are on their way to a Claude that reads them at once: all of `whole`, and of
    /// `head` not the last character.
    ///
    /// # Errors
    ///
    /// When the rows that say so cannot be written; the texts must not leave then.
    pub(in crate::daemon) fn hand_out(
        &mut self,
        pair: &RuntimeSession,
        whole: Vec<EntryId>,
        head: Option<EntryId>,
    ) -> Result<(), Refusal> {
        let ids: Vec<EntryId> = whole.iter().chain(&head).cloned().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let handed = LadderInput::HandedOut { whole, head };
        let stored = self.claude_input(pair, handed);
        if stored.is_err() {
            for id in ids {
                self.tell_ladder(pair, LadderInput::NotStored { id });
            }
        }
        stored
    }
}

/// As Claude counts.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
