//! [`Msg`]: everything that can reach the deck.

use crossterm::event::{KeyEvent, MouseEvent};

use crate::effect::Effect;
use crate::model::{
    Agent, AlikeTo, CapsuleRows, CapsuleView, DeckView, EntryPlace, EntryRef, Field,
    FindingPlaceNow, FindingView, FoundEntries, FoundSnippet, Level, RecoveryView, RulesView,
    ThreadView, TimelineRow, WorkView,
};
use crate::own_files::OwnFiles;

/// One input of the loop.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key. Releases are ignored.
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// Pasted text (bracketed paste); goes to the input in front, else nowhere.
    Paste(String),
    /// The terminal has a new size, columns and rows.
    Resize(u16, u16),
    /// The terminal got the focus, or lost it. Not every terminal tells.
    Focus(bool),
    /// Time has passed; ms since the epoch. Send it when [`crate::Deck::next_redraw_ms`] says so.
    Tick(i64),
    /// The world has changed.
    View(Box<DeckView>),
    /// The full text of an entry, asked for by [`crate::Effect::OpenEntry`].
    EntryText {
        /// Which entry.
        place: EntryPlace,
        /// As it would stand in the timeline: it may be far from the rows that are loaded.
        row: Box<TimelineRow>,
        /// Its text, whole.
        text: String,
        /// Its details, whole.
        detail: Vec<Field>,
        /// The entries that it names, as many as a person follows.
        refs: Vec<EntryRef>,
        /// The entry as JSON.
        raw: String,
    },
    /// A thread, asked for by [`crate::Effect::OpenThread`].
    Thread(Box<ThreadView>),
    /// What an agent is at, asked for by [`crate::Effect::ReadWork`].
    Work(Box<WorkView>),
    /// What an agent is told, asked for by [`crate::Effect::ReadRules`].
    Rules(Box<RulesView>),
    /// Where the work stands, or why that cannot be read; asked for by
    /// [`crate::Effect::ReadRecovery`].
    Recovery(Result<Box<RecoveryView>, String>),
    /// The tasks, or why they cannot be read; asked for by [`crate::Effect::ReadCapsules`], and told
    /// again when one was changed from here.
    Capsules(Result<CapsuleRows, String>),
    /// What was said before about the same, or why it cannot be looked for; asked for by
    /// [`crate::Effect::FindAlike`].
    Alike {
        /// By what it was looked for.
        to: AlikeTo,
        /// What goes along once it is ticked.
        found: Result<Vec<FoundSnippet>, String>,
    },
    /// What a task's capsule says, asked for by [`crate::Effect::ReadCapsule`].
    Capsule {
        id: String,
        /// It, or why it cannot be read.
        read: Result<Box<CapsuleView>, String>,
    },
    /// A task was written into a file, asked for by [`crate::Effect::ExportCapsule`].
    Exported {
        id: String,
        /// The file, its digest, and what went along or did not; some of it hostile.
        lines: Vec<String>,
    },
    /// A task as a text for somebody, or why there is none; asked for by
    /// [`crate::Effect::TellCapsule`].
    CapsuleText(Result<String, String>),
    /// What the work tree has otherwise than a commit, as a patch, or why that cannot be told; asked
    /// for by [`crate::Effect::ReadDiff`].
    Diff {
        /// As it was asked for.
        commit: String,
        read: Result<String, String>,
    },
    /// Where review findings stand that do not stand where their reviews say, as far as that is known;
    /// asked for by [`crate::Effect::ReadFindingPlaces`].
    FindingPlaces(Vec<FindingPlaceNow>),
    /// What a review finding says, asked for by [`crate::Effect::ReadFinding`].
    Finding {
        id: String,
        /// It, or why it cannot be read.
        read: Result<Box<FindingView>, String>,
    },
    /// What was found in the record, asked for by [`crate::Effect::Search`].
    Found(Box<FoundEntries>),
    /// This was not done: what was written for it is there again for the next time.
    Refused {
        /// One sentence.
        why: String,
        /// As it was asked for.
        effect: Box<Effect>,
    },
    /// What the operator wrote is on this line of the record, and on its way to this agent.
    Sent {
        /// To whom.
        to: Agent,
        /// As [`crate::model::TimelineRow::seq`].
        line: u64,
        /// As of the effect.
        draft: Option<u64>,
    },
    /// What the operator wrote is recorded, and on its way to nobody; what there is to say of it.
    Written {
        level: Level,
        text: String,
        /// As of the effect.
        draft: Option<u64>,
    },
    /// What the operator wrote was refused.
    NotSent {
        /// In one sentence.
        why: String,
        /// As of the effect.
        draft: Option<u64>,
    },
    /// The user's keys and themes have changed.
    OwnFiles(Box<OwnFiles>),
    /// What the person's editor left of a draft, asked for by [`crate::Effect::OpenEditor`].
    EditorText(String),
    /// What an effect asked for has to be signed, and the key is locked.
    AskPassphrase {
        /// What a person compares of the key.
        fingerprint: String,
        /// What will be signed, in one line.
        what: String,
    },
    /// What an effect asked for is being signed elsewhere, by the person's own key.
    AwaitKey {
        /// As of `AskPassphrase`.
        fingerprint: String,
        /// As of `AskPassphrase`.
        what: String,
        /// It waits for a touch.
        touch: bool,
    },
    /// What became of [`crate::Effect::Unlock`], or of what was signed elsewhere; otherwise one sentence.
    Unlocked(Result<(), String>),
    /// The daemon owes an answer since then, ms since the epoch; `None`: it has come. Views and what
    /// else was asked for wait behind it.
    Unanswered(Option<i64>),
    /// What became of an effect, in one sentence; shown in the hint bar for a while.
    Notice(Level, String),
}
