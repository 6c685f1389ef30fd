//! [`Deck`]: the state of the screen, and [`Settings`], what it starts with.
//!
//! Focus, selection, scroll, the stack of overlays, what is being typed. It owns the last
//! [`DeckView`] that it was given, but nothing of the world behind it.

use std::collections::BTreeSet;

use ratatui::layout::Position;
use ratatui::text::{Line, Span};

use crate::action::Action;
use crate::detail_state::DetailState;
use crate::drafts::Drafts;
use crate::fetched_entries::FetchedEntries;
use crate::glyph::Glyphs;
use crate::inbox_rows::InboxRows;
use crate::keymap::{KeyContext, Keymap};
use crate::model::{
    AgentCard, DeckView, EntryPlace, HandoffRow, InboxCard, InboxKind, Level, QueueCounts,
    RowOutcome,
};
use crate::notification::NotificationSettings;
use crate::overlays::Overlay;
use crate::own_files::{FileProblem, ThemeFault, put_theme_problem};
use crate::pane::Pane;
use crate::receipt::Receipt;
use crate::record_search::RecordSearch;
use crate::source_error::SourceError;
use crate::task_list::TaskList;
use crate::text;
use crate::theme::{BUILTIN, Depth, Theme, ThemeRole};
use crate::timeline_state::TimelineState;
use crate::tracked_list::TrackedList;
use crate::unsent_text::UnsentText;
use crate::visited_places::VisitedPlaces;
use crate::waiting_news::WaitingNews;
use crate::wanted_text::WantedText;
use crate::widgets::ListState;
use crate::work_rows::WorkRows;

/// How long a notice stands in the hint bar, ms: long enough to read a sentence twice.
pub(crate) const NOTICE_MS: i64 = 8_000;
/// How long a letter of a longer notice takes to be read, by somebody who looks up only then.
const LETTER_MS: i64 = 80;

/// What a deck starts with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Keys.
    pub keymap: Keymap,
    /// Name of the theme.
    pub theme: String,
    /// Name and text of themes beyond the built-in ones; one of the same name replaces it.
    pub themes: Vec<(String, String)>,
    /// Colours of the terminal.
    pub depth: Depth,
    /// Marks.
    pub glyphs: Glyphs,
    /// Newest entry on top; otherwise at the bottom.
    pub newest_first: bool,
    /// An agent can be started from here: there is a tmux that opens a pane for it.
    pub opens_panes: bool,
    /// How the person is told that something waits.
    pub notification: NotificationSettings,
    /// What is wrong in the user's own files, a sentence each; said from the first frame on.
    pub problems: Vec<FileProblem>,
}

impl Settings {
    /// The defaults.
    ///
    /// # Errors
    /// None that a test has not ruled out: the built-in keymap is read.
    pub fn new() -> Result<Self, SourceError> {
        Ok(Self {
            keymap: Keymap::builtin()?,
            theme: "default-dark".to_owned(),
            themes: Vec::new(),
            depth: Depth::Rgb,
            glyphs: Glyphs::Unicode,
            newest_first: true,
            opens_panes: true,
            notification: NotificationSettings::default(),
            problems: Vec::new(),
        })
    }
}

/// A sentence in the hint bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) until_ms: i64,
    /// A frame has shown it.
    pub(crate) is_shown: bool,
}

/// The screen.
#[derive(Debug, Clone)]
pub struct Deck {
    pub(crate) view: DeckView,
    /// A view has arrived; until then the screen says that it is starting.
    pub(crate) seen: bool,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    pub(crate) focus: Pane,
    /// Which of Tasks and Handoffs is shown where there is room for one.
    pub(crate) lower: Pane,
    pub(crate) agents: ListState,
    pub(crate) timeline: TimelineState,
    pub(crate) inbox: InboxRows,
    /// The rows of Tasks and Handoffs.
    pub(crate) work: WorkRows,
    pub(crate) tasks: TaskList,
    pub(crate) handoffs: TrackedList<u64>,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) keymap: Keymap,
    pub(crate) theme: Theme,
    pub(crate) themes: Vec<(String, String)>,
    pub(crate) depth: Depth,
    pub(crate) glyphs: Glyphs,
    pub(crate) opens_panes: bool,
    pub(crate) notice: Option<Notice>,
    /// Where a click has changed what lies over the panes, as long as the mouse stays there.
    pub(crate) clicked: Option<Position>,
    pub(crate) drafts: Drafts,
    pub(crate) fetched: FetchedEntries,
    pub(crate) search: RecordSearch,
    pub(crate) visited: VisitedPlaces,
    pub(crate) detail: DetailState,
    /// The entry that is read for the sake of its text.
    pub(crate) wanted: Option<WantedText>,
    /// The pane in focus has the whole screen.
    pub(crate) is_zoomed: bool,
    /// What is wrong in the user's own files.
    pub(crate) problems: Vec<FileProblem>,
    pub(crate) notification: NotificationSettings,
    pub(crate) news: WaitingNews,
    /// Lines of messages whose words were asked for.
    pub(crate) asked_words: BTreeSet<u64>,
    /// What was done from the palette, the last one first.
    pub(crate) recent: Vec<Action>,
    /// What became of the last message.
    pub(crate) receipt: Option<Receipt>,
    /// The daemon owes an answer since then.
    pub(crate) unanswered_since_ms: Option<i64>,
}

impl Deck {
    /// A deck that has seen nothing yet. A theme that cannot be read is told, and the default one
    /// is used.
    ///
    /// # Errors
    /// None that a test has not ruled out: the default theme is read.
    pub fn new(settings: Settings) -> Result<Self, SourceError> {
        let mut deck = Self {
            view: DeckView::default(),
            seen: false,
            size: (0, 0),
            focus: Pane::Timeline,
            lower: Pane::Tasks,
            agents: ListState::default(),
            timeline: TimelineState::new(settings.newest_first),
            inbox: InboxRows::default(),
            work: WorkRows::default(),
            tasks: TaskList::default(),
            handoffs: TrackedList::default(),
            overlays: Vec::new(),
            keymap: settings.keymap,
            theme: Theme::plain(),
            themes: settings.themes,
            depth: settings.depth,
            glyphs: settings.glyphs,
            opens_panes: settings.opens_panes,
            notice: None,
            clicked: None,
            drafts: Drafts::default(),
            fetched: FetchedEntries::default(),
            search: RecordSearch::default(),
            visited: VisitedPlaces::default(),
            detail: DetailState::default(),
            wanted: None,
            is_zoomed: false,
            problems: settings.problems,
            notification: settings.notification,
            news: WaitingNews::default(),
            asked_words: BTreeSet::new(),
            recent: Vec::new(),
            receipt: None,
            unanswered_since_ms: None,
        };
        match deck.load_theme(&settings.theme) {
            Ok(theme) => deck.theme = theme,
            Err(error) => {
                deck.theme = Theme::builtin(BUILTIN[0].0, deck.depth)?;
                let fault = match deck.has_theme(&settings.theme) {
                    true => ThemeFault::Text(error),
                    false => ThemeFault::Unknown,
                };
                put_theme_problem(&mut deck.problems, &settings.theme, &fault);
            }
        }
        if let Some(text) = deck.problems_text() {
            deck.say_until_key(Level::Error, text);
        }
        Ok(deck)
    }

    /// The world as it was last given.
    pub fn view(&self) -> &DeckView {
        &self.view
    }

    /// Columns and rows of the screen.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    pub fn focus(&self) -> Pane {
        self.focus
    }

    /// The name of the theme in use.
    #[cfg(feature = "scenes")]
    pub fn theme_name(&self) -> &str {
        &self.theme.name
    }

    /// When something on the screen changes by itself, ms from the view's `now_ms`; `None` when
    /// nothing is shown that depends on time. Under a minute only while something runs, is
    /// unconfirmed, or a sentence is about to go.
    pub fn next_redraw_ms(&self) -> Option<u64> {
        if !self.seen {
            return None;
        }
        let now = self.view.now_ms;
        let mut next = 60_000 - now.rem_euclid(60_000);
        // Whatever counts seconds does so on one beat, so that twenty of them are one redraw.
        let beat = 1_000 - now.rem_euclid(1_000);
        let counting = |since: i64| (0..60_000).contains(&now.saturating_sub(since));
        let until = |at_ms: i64| (1..=60_000).contains(&at_ms.saturating_sub(now));
        let due = self.view.agents.iter().flat_map(|card| {
            let limit = card.limit.as_ref();
            limit.and_then(|limit| limit.resets_ms)
        });
        let receipt = self.receipt.as_ref().and_then(Receipt::until_ms);
        let notice = self.notice.as_ref().map(|notice| notice.until_ms);
        let going = receipt.into_iter().chain(notice);
        if self.counted_since().into_iter().any(counting) || due.into_iter().any(until) {
            next = next.min(beat);
        }
        let due = self.news.due_ms();
        let gone = self.inbox.next_gone_ms().into_iter();
        let gone = gone.chain(self.work.next_gone_ms());
        for until in going.chain(gone).chain(due) {
            // On the beat as well, and not before its time.
            let late = (beat - until.saturating_sub(now)).rem_euclid(1_000);
            next = next.min(until.saturating_sub(now).saturating_add(late).max(1));
        }
        u64::try_from(next).ok()
    }

    /// Whether a proposal's card is read now, which says whether the work tree is still the same.
    pub fn tells_of_tree(&self) -> bool {
        let Some(Overlay::Card(sheet)) = self.overlays.last() else {
            return false;
        };
        let card = self.card(&sheet.id);
        card.is_some_and(|card| card.kind == InboxKind::Finality)
    }

    /// What the person wrote and did not send: kept, or in what is open.
    pub fn unsent(&self) -> Vec<UnsentText> {
        let mut drafts = self.drafts.clone();
        for overlay in &self.overlays {
            overlay.keep(&mut drafts);
        }
        drafts.unsent()
    }

    /// That the daemon owes an answer, where it is thought to be there.
    pub(crate) fn unanswered(&self) -> Option<String> {
        let since_ms = self.unanswered_since_ms?;
        let lasts = text::running(self.view.now_ms, since_ms);
        let is_there = self.view.daemon.state.can_act();
        is_there.then(|| format!("no answer for {lasts}"))
    }

    /// What is being done as long as nothing was read.
    pub(crate) fn opening(&self) -> Option<&str> {
        if self.seen {
            self.view.opening.as_deref()
        } else {
            Some("starting …")
        }
    }

    pub(crate) fn load_theme(&self, name: &str) -> Result<Theme, SourceError> {
        let find = |wanted: &str| {
            self.themes
                .iter()
                .find(|(known, _)| known == wanted)
                .map(|(_, text)| text.clone())
        };
        match find(name) {
            Some(text) => Theme::load(name, &text, find, self.depth),
            None => Theme::builtin(name, self.depth),
        }
    }

    /// What stands before a row of a sheet.
    pub(crate) fn row_cursor(&self, is_selected: bool) -> Span<'static> {
        let cursor = if is_selected {
            self.glyphs.cursor()
        } else {
            " "
        };
        Span::styled(cursor, self.theme.style(ThemeRole::Key))
    }

    /// A row of a sheet, with the cursor on it or not.
    pub(crate) fn sheet_row(&self, row: Line<'static>, is_selected: bool) -> Line<'static> {
        match is_selected {
            true => row.patch_style(self.theme.style(ThemeRole::SelectionFocus)),
            false => row,
        }
    }

    /// Whether there is a theme of that name, of ours or of the user's.
    pub(crate) fn has_theme(&self, name: &str) -> bool {
        self.theme_names().iter().any(|known| known == name)
    }

    pub(crate) fn theme_names(&self) -> Vec<String> {
        let built_in = BUILTIN.iter().map(|(name, _)| (*name).to_owned());
        let own = self.themes.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = built_in.collect();
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether the panes step back behind what is in front.
    pub(crate) fn is_covered(&self) -> bool {
        let front = self.overlays.last();
        front.is_some_and(Overlay::is_modal)
    }

    /// The contexts whose keys count now, nearest first.
    pub(crate) fn contexts(&self) -> Vec<KeyContext> {
        let contexts = match self.overlays.last() {
            Some(overlay) => overlay.contexts().to_vec(),
            None => vec![self.pane_context(), KeyContext::Global],
        };
        debug_assert!(KeyContext::STACKS.contains(&&*contexts), "{contexts:?}");
        contexts
    }

    /// The key of an action on the panes, as a person would say it.
    pub(crate) fn key(&self, action: Action) -> String {
        self.key_in(&[self.pane_context(), KeyContext::Global], action)
    }

    /// The key of an action in these contexts; its name where no key does it.
    pub(crate) fn key_in(&self, contexts: &[KeyContext], action: Action) -> String {
        self.keymap
            .key_of(contexts, action)
            .unwrap_or_else(|| format!("'{}'", action.name()))
    }

    pub(crate) fn pane_context(&self) -> KeyContext {
        match self.focus {
            Pane::Agents => KeyContext::Agents,
            Pane::Timeline => KeyContext::Timeline,
            Pane::Inbox => KeyContext::Inbox,
            Pane::Tasks => KeyContext::Tasks,
            Pane::Handoffs => KeyContext::Handoffs,
        }
    }

    pub(crate) fn say(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        let read_ms = i64::try_from(text.chars().count()).map_or(NOTICE_MS, |n| n * LETTER_MS);
        self.notice = Some(Notice {
            level,
            text,
            until_ms: self.view.now_ms.saturating_add(NOTICE_MS.max(read_ms)),
            is_shown: false,
        });
    }

    /// Says it until a key is pressed: it is about something that stays as it is.
    pub(crate) fn say_until_key(&mut self, level: Level, text: impl Into<String>) {
        self.notice = Some(Notice {
            level,
            text: text.into(),
            until_ms: i64::MAX,
            is_shown: false,
        });
    }

    /// What is wrong in the user's own files, in one sentence.
    pub(crate) fn problems_text(&self) -> Option<String> {
        let (first, more) = self.problems.split_first()?;
        Some(match more.len() {
            0 => first.to_string(),
            n => format!("{first} (and {n} more)"),
        })
    }

    /// What was read of entries whose outcome is another one in this view has to be read again.
    pub(crate) fn mark_stale(&mut self, old: &DeckView) {
        let new = &self.view;
        let outcome = |view: &DeckView, line| -> Option<Option<RowOutcome>> {
            let rows = &view.timeline;
            let row = rows.binary_search_by_key(&line, |row| row.seq).ok()?;
            Some(rows[row].outcome.clone())
        };
        // No row tells of what is far from the reader; what changes there moves one of these.
        let is_moved = signs(old).ne(signs(new)) || cards(old).ne(cards(new));
        for (place, fetched) in self.fetched.iter_mut() {
            if place.session != new.session_id {
                continue;
            }
            fetched.is_stale |= match (outcome(old, place.line), outcome(new, place.line)) {
                (Some(was), Some(is)) => was != is,
                (None, Some(is)) => fetched.row.outcome != is,
                (_, None) => is_moved && fetched.row.outcome.is_some(),
            };
        }
    }

    /// Whether no entry stands at a place: lines that cannot be read, or rows of the machine.
    pub(crate) fn is_no_entry(&self, place: &EntryPlace) -> bool {
        self.is_of_record(place) && self.view.is_no_entry(place.line)
    }

    /// Whether a place is in the record that is shown. Another one may have begun since it was kept.
    pub(crate) fn is_of_record(&self, place: &EntryPlace) -> bool {
        place.session == self.view.session_id
    }

    /// The handoff on a line of the record that is shown, where it has a row.
    pub(crate) fn handoff(&self, line: u64) -> Option<&HandoffRow> {
        let columns = self.view.tasks.columns.iter();
        let mut found = columns.filter_map(|rows| rows.get(rows.place_of(line)?));
        found.next().map(AsRef::as_ref)
    }

    /// The entry on this line of the record that is shown.
    pub(crate) fn place(&self, line: u64) -> EntryPlace {
        EntryPlace {
            session: self.view.session_id.clone(),
            line,
        }
    }

    pub(crate) fn card(&self, id: &str) -> Option<&InboxCard> {
        self.view.inbox.iter().find(|card| card.id == id)
    }
}

/// What of the agents moves when something becomes of a message.
fn signs(view: &DeckView) -> impl Iterator<Item = (QueueCounts, u32, u32)> {
    let of = |card: &AgentCard| (card.queue, card.unread, card.cut_off);
    view.agents.iter().map(of)
}

fn cards(view: &DeckView) -> impl Iterator<Item = &str> {
    view.inbox.iter().map(|card| card.id.as_str())
}
