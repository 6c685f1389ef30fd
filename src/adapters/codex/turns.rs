//! [`TurnBook`]: the turns of one thread, from their items to their end, as facts.
//!
//! Pure. An input may come twice (live, and again from history after a reconnect) or begin in the
//! middle of a turn.

use std::mem;

use serde::{Deserialize, Serialize};

use crate::core::between_words::cut_between_words;
use crate::core::entry::{TurnFiles, TurnStatus};
use crate::core::envelope::unwrapped;
use crate::core::id::{ThreadId, TurnId};
use crate::wire::codex::item::{Item, UserInput};
use crate::wire::codex::turn::{Turn, TurnError};

use super::fact::CodexFact;
use super::turn_trace::TurnTrace;

/// Of a user message.
const PREVIEW_CHARS_MAX: usize = 200;

/// User messages whose ids are kept for one turn; nobody steers that often.
const CLIENT_IDS_MAX: usize = 256;

/// Compactions that are told of one turn; each takes minutes of work.
const COMPACTIONS_MAX: usize = 64;

/// The turns of one thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TurnBook {
    thread_id: ThreadId,
    open: Option<OpenTurn>,
    /// The turn that ended last: a late item does not open it again.
    closed: Option<TurnId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenTurn {
    id: TurnId,
    client_ids: Vec<String>,
    user_messages: usize,
    answer: Option<String>,
    error: Option<TurnError>,
    /// Its compactions that were told, by their items.
    #[serde(default)]
    compactions: Vec<String>,
    /// It showed anything at all.
    #[serde(default)]
    has_items: bool,
    /// The answer is its last word, unless somebody speaks again.
    #[serde(default)]
    is_final: bool,
    /// What it touched and said.
    #[serde(default)]
    trace: TurnTrace,
    /// Something was put into it that can prolong it.
    #[serde(default)]
    is_prolonged: bool,
    /// It began before this process, which knows of it by the record alone.
    #[serde(default)]
    is_of_before: bool,
}

impl OpenTurn {
    fn new(id: TurnId) -> Self {
        Self {
            id,
            client_ids: Vec::new(),
            user_messages: 0,
            answer: None,
            error: None,
            compactions: Vec::new(),
            has_items: false,
            is_final: false,
            trace: TurnTrace::default(),
            is_prolonged: false,
            is_of_before: false,
        }
    }
}

/// How a turn ended.
#[derive(Debug)]
struct End {
    status: TurnStatus,
    error: Option<TurnError>,
    died: bool,
}

impl TurnBook {
    pub(super) fn new(thread_id: ThreadId) -> Self {
        Self {
            thread_id,
            open: None,
            closed: None,
        }
    }

    /// The record has no end of this turn, which an app-server ran that has ended since: the history
    /// tells it.
    pub(super) fn lacks_end_of(&mut self, turn_id: TurnId) {
        self.closed.take_if(|closed| *closed == turn_id);
        self.open.get_or_insert_with(|| OpenTurn {
            is_of_before: true,
            ..OpenTurn::new(turn_id)
        });
    }

    pub(super) fn thread_id(&self) -> &ThreadId {
        &self.thread_id
    }

    /// The turn that runs.
    pub(super) fn open_turn(&self) -> Option<&TurnId> {
        self.open.as_ref().map(|turn| &turn.id)
    }

    /// A turn began.
    pub(super) fn started(&mut self, turn_id: &str, facts: &mut Vec<CodexFact>) {
        let turn_id = TurnId::new(turn_id);
        if self.open_turn() == Some(&turn_id) || self.closed.as_ref() == Some(&turn_id) {
            return;
        }
        self.close_unended(facts);
        facts.push(CodexFact::TurnStarted {
            thread_id: self.thread_id.clone(),
            turn_id: turn_id.clone(),
        });
        self.open = Some(OpenTurn::new(turn_id));
    }

    /// A command begins.
    pub(super) fn began(&mut self, turn_id: &str, item: &Item) {
        let open = self.open.as_mut();
        if let Some(open) = open.filter(|open| open.id.as_str() == turn_id) {
            open.trace.began(item);
        }
    }

    /// An item is complete.
    pub(super) fn item(&mut self, turn_id: &str, item: &Item, facts: &mut Vec<CodexFact>) {
        self.take(turn_id, item, true, facts);
    }

    /// Whether it is a compaction of the running turn that was told.
    fn was_told(&self, item: &Item) -> bool {
        let told = self.open.iter().flat_map(|open| &open.compactions);
        matches!(item, Item::ContextCompaction { id } if told.clone().any(|told| told == id))
    }

    /// `is_traced`: it counts for what the turn touched and said.
    fn take(&mut self, turn_id: &str, item: &Item, is_traced: bool, facts: &mut Vec<CodexFact>) {
        self.started(turn_id, facts);
        let open = self
            .open
            .as_mut()
            .filter(|open| open.id.as_str() == turn_id);
        match item {
            Item::UserMessage { content, .. } => {
                let client_id = item.sent_as();
                let mut steered = false;
                if let Some(open) = open {
                    if client_id
                        .as_ref()
                        .is_some_and(|id| open.client_ids.contains(id))
                    {
                        return;
                    }
                    steered = open.user_messages > 0;
                    (open.has_items, open.is_final) = (true, false);
                    open.user_messages += 1;
                    if let (Some(id), true) = (&client_id, open.client_ids.len() < CLIENT_IDS_MAX) {
                        open.client_ids.push(id.clone());
                    }
                }
                facts.push(CodexFact::UserMessage {
                    turn_id: TurnId::new(turn_id),
                    client_id,
                    preview: preview(content),
                    steered,
                });
            }
            Item::ContextCompaction { id } => {
                // The history tells of it once more.
                if let Some(open) = open
                    && !open.compactions.contains(id)
                    && open.compactions.len() < COMPACTIONS_MAX
                {
                    open.compactions.push(id.clone());
                    // The packet that follows holds it.
                    facts.extend(traced(open.trace.so_far(), false));
                    facts.push(CodexFact::Compacted {
                        turn_id: TurnId::new(turn_id),
                        in_turn: open.has_items,
                    });
                }
            }
            item => {
                let Some(open) = open else { return };
                open.has_items = true;
                if is_traced {
                    open.trace.completed(item);
                }
                // What we put into the turn had it go on after its last word: that one counts.
                if let Some(answer) = item.answer()
                    && !(open.is_prolonged && open.is_final)
                {
                    open.answer = Some(answer.to_owned());
                    open.is_final = item.is_final();
                }
            }
        }
    }

    /// Something was put into the thread. Into a turn that runs it comes late, and may prolong it.
    pub(super) fn injected(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_prolonged = true;
        }
    }

    /// An error was reported; the turn's end may come without it.
    pub(super) fn error(&mut self, turn_id: &str, error: TurnError) {
        if let Some(open) = self
            .open
            .as_mut()
            .filter(|open| open.id.as_str() == turn_id)
        {
            open.error = Some(error);
        }
    }

    /// A turn ended, before our eyes.
    pub(super) fn completed(&mut self, turn: &Turn, facts: &mut Vec<CodexFact>) {
        self.ended(turn, false, facts);
    }

    fn ended(&mut self, turn: &Turn, died: bool, facts: &mut Vec<CodexFact>) {
        if self
            .closed
            .as_ref()
            .is_some_and(|closed| closed.as_str() == turn.id)
        {
            return;
        }
        self.started(&turn.id, facts);
        let Some(mut open) = self.open.take() else {
            return;
        };
        let answer = open.answer.take().or_else(|| {
            let last = turn.items.iter().rev().find_map(Item::answer);
            last.map(str::to_owned)
        });
        let error = turn.error.clone().or(open.error.take());
        let (status, error) = match turn.known_status() {
            // It has ended, whatever the word says.
            None | Some(TurnStatus::InProgress) => (
                TurnStatus::Failed,
                Some(error.unwrap_or_else(|| TurnError {
                    message: format!(
                        "codex ended the turn with the unknown status {:?}",
                        turn.status
                    ),
                    codex_error_info: None,
                })),
            ),
            // Errors that were retried are not the turn's.
            Some(status) => (status, error.filter(|_| status == TurnStatus::Failed)),
        };
        let end = End {
            status,
            error,
            died: died && status == TurnStatus::Interrupted,
        };
        self.close(open, answer, end, facts);
    }

    /// Takes in a turn as the history has it: what was missed of the running turn, of the one that
    /// ran when the connection was lost, and of turns that hold a message with one of the `wanted`
    /// ids. `dead`: it is certain that this turn does not run, whatever its status says: while a
    /// later turn runs, the history shows one that a kill cut off as `inProgress` (Codex 0.169.0,
    /// observed). `fresh`: what ended unseen ended under an earlier app-server. When that is asked to
    /// end in the moment in which a turn begins, it says the same of that turn as of one that the
    /// human stopped (Codex 0.169.0, observed).
    pub(super) fn recall(
        &mut self,
        turn: &Turn,
        dead: bool,
        fresh: bool,
        wanted: impl Fn(&str) -> bool,
        facts: &mut Vec<CodexFact>,
    ) {
        let is_open = self
            .open_turn()
            .is_some_and(|open| open.as_str() == turn.id);
        let runs = turn.known_status() == Some(TurnStatus::InProgress) && !dead;
        if is_open || runs {
            self.started(&turn.id, facts);
            // Of a turn that begins for us with its history, what was compacted was told before.
            let begins = |open: &mut OpenTurn| mem::take(&mut open.is_of_before) || !is_open;
            if let Some(open) = self.open.as_mut()
                && begins(open)
            {
                let ids = turn.items.iter().filter_map(|item| match item {
                    Item::ContextCompaction { id } => Some(id.clone()),
                    _ => None,
                });
                open.compactions.extend(ids.take(COMPACTIONS_MAX));
            }
            // What it did until a compaction that was told was told with that.
            let last_told = turn.items.iter().rposition(|item| self.was_told(item));
            for (at, item) in turn.items.iter().enumerate() {
                let is_traced = last_told.is_none_or(|last| at > last);
                self.take(&turn.id, item, is_traced, facts);
            }
            if !runs {
                self.end_from_history(turn, fresh, facts);
            }
            return;
        }
        let is_wanted = |item: &&Item| item.sent_as().is_some_and(|id| wanted(&id));
        if !turn.items.iter().any(|item| is_wanted(&item)) {
            return;
        }
        if self
            .closed
            .as_ref()
            .is_some_and(|closed| closed.as_str() == turn.id)
        {
            for item in turn.items.iter().filter(is_wanted) {
                self.item(&turn.id, item, facts);
            }
            return;
        }
        // A turn that we saw nothing of: told whole, apart from the one that may be running.
        let mut missed = Self::new(self.thread_id.clone());
        let mut told = Vec::new();
        for item in &turn.items {
            missed.item(&turn.id, item, &mut told);
        }
        missed.end_from_history(turn, fresh, &mut told);
        // A previous daemon may have reported what it touched.
        told.retain(|fact| !matches!(fact, CodexFact::TurnTraced { .. }));
        facts.extend(told);
    }

    fn end_from_history(&mut self, turn: &Turn, fresh: bool, facts: &mut Vec<CodexFact>) {
        match turn.known_status() {
            Some(TurnStatus::InProgress) => self.close_as_interrupted(facts),
            _ => self.ended(turn, fresh || turn.completed_at.is_none(), facts),
        }
    }

    /// A thread runs one turn at a time: another one begins, so the end of this one was missed. It came
    /// to its end if it said its last word; nothing else tells how it ended.
    fn close_unended(&mut self, facts: &mut Vec<CodexFact>) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let answer = open.answer.take();
        let (status, error) = match open.is_final {
            true => (TurnStatus::Completed, None),
            false => (
                TurnStatus::Failed,
                Some(open.error.take().unwrap_or_else(|| TurnError {
                    message: "codex did not say how it ended".to_owned(),
                    codex_error_info: None,
                })),
            ),
        };
        let end = End {
            status,
            error,
            died: false,
        };
        self.close(open, answer, end, facts);
    }

    /// The turn that runs will never say how it ended: its app-server is gone.
    pub(super) fn close_as_interrupted(&mut self, facts: &mut Vec<CodexFact>) {
        if let Some(mut open) = self.open.take() {
            let answer = open.answer.take();
            let end = End {
                status: TurnStatus::Interrupted,
                error: None,
                died: true,
            };
            self.close(open, answer, end, facts);
        }
    }

    fn close(
        &mut self,
        turn: OpenTurn,
        final_answer: Option<String>,
        end: End,
        facts: &mut Vec<CodexFact>,
    ) {
        self.closed = Some(turn.id.clone());
        facts.extend(traced(turn.trace.end(), true));
        facts.push(CodexFact::TurnCompleted {
            thread_id: self.thread_id.clone(),
            turn_id: turn.id,
            status: end.status,
            final_answer,
            client_ids: turn.client_ids,
            usage_limited: end.error.as_ref().is_some_and(TurnError::is_usage_limit),
            error: end.error.map(|error| error.message),
            died: end.died,
        });
    }
}

/// What a turn touched and said, where that is anything.
fn traced(found: Option<(TurnFiles, Vec<String>)>, is_over: bool) -> Option<CodexFact> {
    found.map(|(files, said)| CodexFact::TurnTraced {
        files,
        said,
        is_over,
    })
}

/// The first line of a user message that is not empty; of one of ours what is in the envelope.
fn preview(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        UserInput::Text { text } => Some(unwrapped(text)),
        UserInput::Other => None,
    });
    let mut lines = texts.flat_map(str::lines).map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    cut_between_words(line, PREVIEW_CHARS_MAX).to_owned()
}

#[cfg(test)]
#[path = "tests/turns.rs"]
mod tests;
