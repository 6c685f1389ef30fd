//! [`Drafts`]: texts that were put away unfinished; nothing typed is lost.

use std::collections::{BTreeMap, VecDeque};

use crate::effect::{NoteTag, WhenBusy};
use crate::finding_ruling::FindingRuling;
use crate::model::{Agent, FoundSnippet};
use crate::sanitize;
use crate::unsent_text::UnsentText;

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writing {
    /// A message to an agent.
    Message,
    /// Work for an agent.
    Handoff,
    /// A note, for readers of the record.
    Note,
}

/// One thing being written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) reason: String,
    /// What becomes of it while its receiver works.
    pub(crate) when_busy: WhenBusy,
    /// Of a note.
    pub(crate) tag: NoteTag,
}

impl Draft {
    /// Nothing is written in it.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.reason.trim().is_empty()
    }
}

/// What is written, and to whom; a note has no receiver.
type DraftKey = (Writing, Option<Agent>);

/// A card, and what is typed on it: the reason for a rejection, or an answer to this choice.
type CardKey = (String, Option<String>);

/// A line that is typed in a box of its own, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TypedFor {
    /// What is said of this finding of a review.
    Ruling(String, FindingRuling),
    /// What came of this task.
    Outcome(String),
    /// The title of a task that begins.
    TaskTitle,
}

/// Drafts by kind and receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drafts {
    /// The one that is opened next comes first. Others are those that were refused while it was
    /// written: two messages are never made one.
    by_key: BTreeMap<DraftKey, VecDeque<Draft>>,
    /// Given to the caller, who has not said yet what became of it, by number.
    on_their_way: BTreeMap<u64, (Agent, Writing, Draft)>,
    given: u64,
    on_cards: BTreeMap<CardKey, String>,
    lines: BTreeMap<TypedFor, String>,
    /// The title of a task that could not begin, and what was ticked for it.
    ticks: Option<(String, Vec<FoundSnippet>)>,
    /// What the person left of tasks in their editor and was not recorded, by the task.
    edits: BTreeMap<String, TaskEdit>,
    /// The task whose text the editor has, and what is said of it in the record.
    editing: Option<(String, String)>,
}

/// What is said of a task as it was edited.
#[derive(Debug, Clone)]
struct TaskEdit {
    /// What was said of it then: what others have said since is no change of the person's.
    before: String,
    after: String,
}

fn key(to: Agent, writing: Writing) -> DraftKey {
    (writing, (writing != Writing::Note).then_some(to))
}

impl Drafts {
    /// Keeps a draft, unless there is nothing in it.
    pub(crate) fn keep(&mut self, to: Agent, writing: Writing, draft: Draft) {
        if !draft.is_blank() {
            let drafts = self.by_key.entry(key(to, writing)).or_default();
            drafts.push_front(draft);
        }
    }

    /// It is given away, by the number that comes back: [`Self::came_back`] has it again.
    pub(crate) fn give(&mut self, to: Agent, writing: Writing, draft: Draft) -> u64 {
        self.given += 1;
        self.on_their_way.insert(self.given, (to, writing, draft));
        self.given
    }

    /// What was given away by this number is recorded.
    pub(crate) fn arrived(&mut self, number: u64) {
        self.on_their_way.remove(&number);
    }

    /// What was given away by this number was refused: it is a draft again, behind those that were
    /// begun meanwhile. Behind how many; `None` where nothing was given away by it.
    pub(crate) fn came_back(&mut self, number: u64) -> Option<usize> {
        let (to, writing, draft) = self.on_their_way.remove(&number)?;
        let drafts = self.by_key.entry(key(to, writing)).or_default();
        drafts.push_back(draft);
        Some(drafts.len() - 1)
    }

    /// How many were given away of which nobody has said what became of them.
    pub(crate) fn on_their_way(&self) -> usize {
        self.on_their_way.len()
    }

    /// The draft, taken.
    pub(crate) fn take(&mut self, to: Agent, writing: Writing) -> Draft {
        let drafts = self.by_key.get_mut(&key(to, writing));
        drafts.and_then(VecDeque::pop_front).unwrap_or_default()
    }

    /// How many more there are of the same kind.
    pub(crate) fn more(&self, to: Agent, writing: Writing) -> usize {
        self.by_key.get(&key(to, writing)).map_or(0, VecDeque::len)
    }

    /// Keeps what is typed on a card: the reason, or the answer to this choice.
    pub(crate) fn keep_on_card(&mut self, card: &str, choice: Option<&str>, text: String) {
        let key = (card.to_owned(), choice.map(str::to_owned));
        if text.trim().is_empty() {
            self.on_cards.remove(&key);
        } else {
            self.on_cards.insert(key, text);
        }
    }

    /// What was typed on a card.
    pub(crate) fn on_card(&self, card: &str, choice: Option<&str>) -> &str {
        let key = (card.to_owned(), choice.map(str::to_owned));
        self.on_cards.get(&key).map_or("", String::as_str)
    }

    /// Keeps what is typed in a line; nothing where it is blank.
    pub(crate) fn keep_line(&mut self, about: TypedFor, text: String) {
        if text.trim().is_empty() {
            self.lines.remove(&about);
        } else {
            self.lines.insert(about, text);
        }
    }

    pub(crate) fn line(&self, about: &TypedFor) -> &str {
        self.lines.get(about).map_or("", String::as_str)
    }

    /// What was said in a line is not recorded: it stands there again, unless something else does.
    pub(crate) fn line_came_back(&mut self, about: TypedFor, text: String) -> bool {
        let is_free = self.line(&about).is_empty() && !text.trim().is_empty();
        if is_free {
            self.lines.insert(about, text);
        }
        is_free
    }

    /// What was ticked for a task of this title that could not begin: another task begins with nothing
    /// of it.
    pub(crate) fn ticks(&self, title: &str) -> &[FoundSnippet] {
        let of_it = self.ticks.as_ref().filter(|(of, _)| of == title);
        of_it.map_or(&[], |(_, ticks)| ticks)
    }

    /// Keeps the title of a task until that begins; a blank one is that of none.
    pub(crate) fn keep_title(&mut self, title: String) {
        if title.trim().is_empty() {
            self.forget_task();
        } else {
            self.keep_line(TypedFor::TaskTitle, title);
        }
    }

    /// A task of this title could not begin.
    pub(crate) fn task_came_back(&mut self, title: String, ticks: Vec<FoundSnippet>) -> bool {
        let is_kept = self.line_came_back(TypedFor::TaskTitle, title.clone());
        if is_kept {
            self.ticks = Some((title, ticks));
        }
        is_kept
    }

    /// A task begins.
    pub(crate) fn forget_task(&mut self) {
        self.forget_line(&TypedFor::TaskTitle);
        self.ticks = None;
    }

    /// The editor is opened on what is said of a task: on what the person left there before, where
    /// that was not recorded.
    pub(crate) fn begin_edit(&mut self, id: &str, said: &str) -> String {
        let (before, text) = match self.edits.get(id) {
            Some(edit) => (edit.before.clone(), edit.after.clone()),
            None => (said.to_owned(), said.to_owned()),
        };
        self.editing = Some((id.to_owned(), before));
        text
    }

    /// The editor has nothing of a task any more: which it was, and what was said of it before.
    pub(crate) fn end_edit(&mut self) -> Option<(String, String)> {
        self.editing.take()
    }

    /// What was edited is not recorded; nothing is kept where nothing was changed, or where something
    /// was edited since.
    pub(crate) fn keep_edit(&mut self, id: String, before: String, after: String) -> bool {
        let is_kept = before != after && !self.edits.contains_key(&id);
        if is_kept {
            self.edits.insert(id, TaskEdit { before, after });
        }
        is_kept
    }

    /// It is given away.
    pub(crate) fn forget_edit(&mut self, id: &str) {
        self.edits.remove(id);
    }

    /// It is said.
    pub(crate) fn forget_line(&mut self, about: &TypedFor) {
        self.lines.remove(about);
    }

    /// All that was typed on a card.
    pub(crate) fn left_on(&self, card: &str) -> impl Iterator<Item = &str> {
        let typed = self.on_cards.iter();
        typed.filter_map(move |((id, _), text)| (id == card).then_some(text.as_str()))
    }

    /// All that is written and was not given away, for when the deck is left.
    pub(crate) fn unsent(&self) -> Vec<UnsentText> {
        let mut all = Vec::new();
        let mut add = |what: String, text: &str| {
            let text = text.to_owned();
            all.push(UnsentText { what, text });
        };
        for ((writing, to), drafts) in &self.by_key {
            let to = to.map_or("", Agent::title);
            for draft in drafts {
                match writing {
                    Writing::Message => add(format!("your message to {to}"), &draft.text),
                    Writing::Note => add(format!("your {}", draft.tag.as_str()), &draft.text),
                    Writing::Handoff => {
                        let what = format!("your handoff to {to}");
                        if !draft.text.trim().is_empty() {
                            add(what.clone(), &draft.text);
                        }
                        if !draft.reason.trim().is_empty() {
                            add(format!("the reason for {what}"), &draft.reason);
                        }
                    }
                }
            }
        }
        for ((card, choice), text) in &self.on_cards {
            let card = sanitize::line(card);
            add(
                match choice {
                    None => format!("your reason to reject {card}"),
                    Some(_) => format!("your answer to {card}"),
                },
                text,
            );
        }
        for (about, text) in &self.lines {
            add(
                match about {
                    TypedFor::Ruling(id, FindingRuling::Resolve) => {
                        format!("how finding {} was dealt with", sanitize::line(id))
                    }
                    TypedFor::Ruling(id, FindingRuling::Dismiss) => {
                        format!("why finding {} does not count", sanitize::line(id))
                    }
                    TypedFor::Outcome(id) => format!("what came of task {}", sanitize::line(id)),
                    TypedFor::TaskTitle => "the title of a task".to_owned(),
                },
                text,
            );
        }
        for (id, edit) in &self.edits {
            let what = format!("your edit of task {}", sanitize::line(id));
            add(what, &edit.after);
        }
        all
    }

    /// Forgets what was typed on cards that are gone, but for those that are read still (`stays`).
    pub(crate) fn forget_cards(&mut self, stays: impl Fn(&String) -> bool) {
        self.on_cards.retain(|(id, _), _| stays(id));
    }
}
