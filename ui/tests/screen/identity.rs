//! What is opened is what is selected, and what is selected stays so: whatever comes, goes, is
//! loaded, filtered or resized.

use std::sync::Arc;

use crossterm::event::MouseEventKind;
use ctxrelay_ui::key::Key;
use ctxrelay_ui::model::{
    Agent, BadLines, Chip, Chips, DaemonState, DeckView, FoldedRows, HandoffRow, HandoffStage,
    TaskColumn, TimelineGo, TimelineRow, TimelineWish,
};
use ctxrelay_ui::scenes::{keys, terminal};
use ctxrelay_ui::text::grouped;
use ctxrelay_ui::{Deck, Effect, Msg, Pane, Settings, update, view};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::kit::{click, mouse};

/// Wide enough that each row's words stand whole on the screen.
const SIZE: (u16, u16) = (140, 44);

/// A step of the world or of the operator.
#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Click(u16, u16),
    Wheel(u16, u16, bool),
    Resize(u16, u16),
    Paste(&'static str),
    /// Goes to a time.
    Time,
    /// So many new entries.
    Append(u64),
    /// What was asked for comes.
    Answer,
    /// A task moves on.
    Move(u64, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = [
        "j", "k", "g", "G", "ctrl-d", "ctrl-u", "space", "tab", "2", "4", "5", "f", "down",
        "enter", "esc", "n", "N", "/", "7", "#", "[", "]", "ctrl-o", "right", "left", "space",
        "end", "z",
    ];
    prop_oneof![
        8 => prop::sample::select(keys.to_vec()).prop_map(Step::Key),
        2 => (0..SIZE.0, 0..SIZE.1).prop_map(|(x, y)| Step::Click(x, y)),
        1 => (0..SIZE.0, 0..SIZE.1, any::<bool>()).prop_map(|(x, y, down)| Step::Wheel(x, y, down)),
        1 => (100u16..=SIZE.0, 30u16..=SIZE.1).prop_map(|(x, y)| Step::Resize(x, y)),
        1 => prop::sample::select(vec!["7", "x\u{1b}[2J", "\n"]).prop_map(Step::Paste),
        1 => Just(Step::Time),
        3 => (1u64..40).prop_map(Step::Append),
        6 => Just(Step::Answer),
        1 => (0u64..400, 0u8..5).prop_map(|(line, column)| Step::Move(line, column)),
    ]
}

/// Every third line of the record is a handoff.
fn is_handoff(line: u64) -> bool {
    line.is_multiple_of(3)
}

/// Some lines cannot be read.
fn is_bad(line: u64) -> bool {
    line % 10 == 1 && !is_handoff(line)
}

/// Three of ten lines are the machine's, and stand as one row.
fn run_of(line: u64) -> Option<u64> {
    (line % 10 >= 7).then(|| line - line % 10 + 7)
}

fn kind_of(line: u64) -> &'static str {
    match line % 4 {
        _ if run_of(line).is_some() => "system",
        0 => "note",
        1 => "error",
        _ => "message",
    }
}

fn timeline_row(line: u64) -> TimelineRow {
    if is_bad(line) {
        let lines = BadLines {
            first: line,
            last: line,
        };
        return TimelineRow::of_bad_lines(lines, 0);
    }
    let from = [Agent::Claude, Agent::Codex][usize::from(line.is_multiple_of(2))];
    TimelineRow::new(
        line,
        0,
        from,
        None,
        kind_of(line),
        format!("entry-{line}-text"),
    )
}

fn handoff_row(line: u64) -> HandoffRow {
    HandoffRow {
        column: TaskColumn::Open,
        stage: HandoffStage::Unproven,
        id_short: format!("h{line}"),
        seq: line,
        from: Agent::Claude.into(),
        to: Agent::Codex.into(),
        ask: format!("entry-{line}-text").into(),
        since_ms: 0,
    }
}

/// Lines of one page, and rows that are kept. As in the deck a page never pushes out a row of a
/// window in which the cursor is near both ends: less than twice 60 rows.
const PAGE: u64 = 70;
const KEPT: usize = 200;

struct World {
    view: DeckView,
    newest: u64,
    /// The lines that are loaded.
    loaded: (u64, u64),
    chips: Chips,
    unfolded: Vec<u64>,
    wish: Option<TimelineWish>,
}

impl World {
    fn new() -> Self {
        let mut view = DeckView {
            session_id: "s".to_owned(),
            ..DeckView::default()
        };
        view.daemon.state = DaemonState::Hosting;
        let mut world = Self {
            view,
            newest: 339,
            loaded: (270, 339),
            chips: Chips::default(),
            unfolded: Vec::new(),
            wish: None,
        };
        world.append(60);
        world
    }

    fn shows(&self, line: u64) -> bool {
        let is_chosen = |chip: &Chip| chip.as_str() == kind_of(line) && !is_bad(line);
        self.chips.is_empty() || self.chips.on.iter().any(is_chosen)
    }

    /// The rows of what is loaded: the machine's as one, unless they are unfolded.
    fn settle(&mut self) {
        let mut rows: Vec<TimelineRow> = Vec::new();
        for line in (self.loaded.0..=self.loaded.1).filter(|line| self.shows(*line)) {
            match (self.run_shown(line), rows.last_mut()) {
                (Some(first), Some(last)) if last.seq == first => {
                    last.folded = Some(FoldedRows {
                        last: line,
                        count: line - first + 1,
                    });
                }
                (Some(first), _) => {
                    let text = format!("entry-{first}-text");
                    let rows_of = FoldedRows {
                        last: line,
                        count: line - first + 1,
                    };
                    rows.push(TimelineRow::of_folded(first, 0, rows_of, text));
                }
                (None, _) => rows.push(timeline_row(line)),
            }
        }
        self.view.timeline = rows;
        self.view.window.has_older = self.loaded.0 > 1;
        self.view.window.has_newer = self.loaded.1 < self.newest;
        self.view.window.head = self.newest;
    }

    fn append(&mut self, count: u64) {
        let reaches_end = self.loaded.1 == self.newest;
        for line in self.newest + 1..=self.newest + count {
            if is_handoff(line) {
                let row = Arc::new(handoff_row(line));
                self.view.tasks.columns[row.column.index()].insert(Arc::clone(&row));
                self.view.handoffs.insert(row);
            }
        }
        self.newest += count;
        if reaches_end {
            self.loaded.1 = self.newest;
        }
        self.settle();
    }

    /// Only the last wish is of interest.
    fn asks(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::ShowTimeline(wish) = effect {
                self.wish = Some(wish.clone());
            }
        }
    }

    /// How many rows these lines are: rows are kept, however many lines they stand for.
    fn kept(&self, from: u64, to: u64) -> usize {
        let shown = (from..=to).filter(|line| self.shows(*line));
        let rows = shown.filter(|line| self.run_shown(*line).is_none_or(|first| first == *line));
        rows.count()
    }

    /// The first line of the run that this line is folded into.
    fn run_shown(&self, line: u64) -> Option<u64> {
        run_of(line).filter(|first| !self.unfolded.contains(first))
    }

    /// Gives what was asked for. Runs are never cut.
    fn answer(&mut self, wish: &TimelineWish) {
        let (mut from, mut to) = self.loaded;
        self.chips.clone_from(&wish.chips);
        self.unfolded.clone_from(&wish.unfolded);
        let mut line = None;
        let mut around = |at: u64| {
            line = Some(at);
            (
                at.saturating_sub(PAGE / 2).max(1),
                (at + PAGE / 2).min(self.newest),
            )
        };
        let is_landmark = |line: &u64| line.is_multiple_of(13);
        (from, to) = match wish.go {
            TimelineGo::Newest => around(self.newest),
            TimelineGo::Oldest => around(1),
            TimelineGo::Line(at) | TimelineGo::Entry(at) => around(at.clamp(1, self.newest)),
            TimelineGo::Time(_) => around(self.newest / 2),
            TimelineGo::LandmarkOlder(at) => (1..at)
                .rev()
                .find(is_landmark)
                .map_or((from, to), &mut around),
            TimelineGo::LandmarkNewer(at) => (at + 1..=self.newest)
                .find(is_landmark)
                .map_or((from, to), &mut around),
            TimelineGo::Older => {
                from = from.saturating_sub(PAGE).max(1);
                while self.kept(from, to) > KEPT {
                    to -= 1;
                }
                (from, to)
            }
            TimelineGo::Newer => {
                to = (to + PAGE).min(self.newest);
                while self.kept(from, to) > KEPT {
                    from += 1;
                }
                (from, to)
            }
        };
        from = run_of(from).unwrap_or(from).max(1);
        self.loaded = (from, to);
        self.view.window.answered = wish.number;
        self.view.window.line = line;
        self.settle();
    }
}

/// The line of the record that a piece of the screen shows.
fn line_in(text: &str) -> Option<u64> {
    if let Some((_, rest)) = text.split_once("line ") {
        return rest.split_once(" could")?.0.replace(' ', "").parse().ok();
    }
    let (_, rest) = text.split_once("entry-")?;
    rest.split_once("-text")?.0.parse().ok()
}

/// The screen as text. Drawing it is what a step costs.
fn shown(deck: &Deck, size: (u16, u16)) -> String {
    terminal(deck, size).backend().to_string()
}

/// Whether nothing lies over the panes: the hints stand there then.
fn is_bare(screen: &str) -> bool {
    screen.contains("? help")
}

/// The row with the cursor in front, in the pane in focus: what a person takes to be selected.
fn selected(screen: &str) -> Option<u64> {
    let mut lines = screen.lines().filter(|_| is_bare(screen));
    lines.find_map(|line| {
        let (_, behind) = line.split_once('▸')?;
        line_in(behind.split('│').next()?)
    })
}

/// The rows of the timeline, from the first one on the screen.
fn top(screen: &str) -> Option<u64> {
    let is_seen = is_bare(screen) && screen.contains("2 Timeline");
    let mut rows = screen.lines().skip(2).filter(|_| is_seen);
    rows.find_map(|line| line_in(rightmost(line)?))
}

/// What a line of the screen shows of the pane at the right: a scroll bar stands on its frame.
fn rightmost(line: &str) -> Option<&str> {
    line.rsplit(['│', '┃']).nth(1)
}

/// Whether the timeline does not fill its pane: then all of it is shown, whatever comes. A notice
/// stands on the frame below its last row.
fn has_room(screen: &str) -> bool {
    let framed = screen.lines().rfind(|line| line.contains('│'));
    framed
        .and_then(rightmost)
        .is_some_and(|last| !last.contains(char::is_alphanumeric))
}

/// Runs, and the steps of each: five thousand together. `CTXRELAY_SCREEN_RUNS` says how many runs.
const RUNS: u32 = 50;
const STEPS: usize = 100;
/// How often what stands on the terminal is compared with a fresh screen.
const LOOK_EVERY: usize = 11;

fn runs() -> u32 {
    let given = std::env::var("CTXRELAY_SCREEN_RUNS");
    given.map_or(RUNS, |count| count.parse().expect("a number"))
}

/// The row that a jump leads to: at or before a line, and at or after a time.
fn wanted(rows: &[TimelineRow], go: TimelineGo, line: u64) -> Option<u64> {
    let last = |row: &TimelineRow| row.folded.map_or(row.seq, |folded| folded.last);
    let row = match go {
        TimelineGo::Time(_) => rows.iter().find(|row| last(row) >= line).or(rows.last()),
        _ => rows.iter().rfind(|row| row.seq <= line).or(rows.first()),
    };
    row.map(|row| row.seq)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: runs(),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_opens_is_what_is_selected_and_that_stays(
        steps in prop::collection::vec(step(), STEPS),
        newest_first in any::<bool>(),
    ) {
        let settings = Settings { newest_first, ..Settings::new().expect("keymap") };
        let mut deck = Deck::new(settings).expect("theme");
        let mut world = World::new();
        let mut size = SIZE;
        update(&mut deck, Msg::Resize(size.0, size.1));
        world.asks(&update(&mut deck, Msg::View(Box::new(world.view.clone()))));
        prop_assert!(selected(&shown(&deck, size)).is_some());
        let backend = TestBackend::new(size.0, size.1);
        let mut drawn = Terminal::new(backend).expect("a backend");
        for (at, step) in steps.into_iter().enumerate() {
            drawn.backend_mut().resize(size.0, size.1);
            drawn.draw(|frame| view(&deck, frame)).expect("a frame");
            let screen = drawn.backend().to_string();
            if at % LOOK_EVERY == 0 {
                let fresh = shown(&deck, size);
                let differs = screen.lines().zip(fresh.lines()).find(|(was, is)| was != is);
                prop_assert_eq!(differs, None);
            }
            let before = selected(&screen);
            let follows = screen.contains("following");
            let top_before = top(&screen);
            let had_room = has_room(&screen);
            let opens = matches!(step, Step::Key("enter"));
            let (effects, is_of_world) = match step {
                Step::Key(key) => {
                    let key: Key = key.parse().expect("a key");
                    (update(&mut deck, Msg::Key(key.to_event())), false)
                }
                Step::Click(column, row) => {
                    (click(&mut deck, (column, row)), false)
                }
                Step::Wheel(column, row, down) => {
                    let kind = if down { MouseEventKind::ScrollDown } else { MouseEventKind::ScrollUp };
                    (update(&mut deck, mouse(kind, column, row)), false)
                }
                Step::Resize(columns, rows) => {
                    size = (columns, rows);
                    update(&mut deck, Msg::Resize(columns, rows));
                    let now = selected(&shown(&deck, size));
                    prop_assert!(before.is_none() || follows || now == before || now.is_none());
                    continue;
                }
                Step::Paste(text) => {
                    (update(&mut deck, Msg::Paste(text.to_owned())), false)
                }
                Step::Time => {
                    if !is_bare(&screen) {
                        continue;
                    }
                    (keys(&mut deck, "#-2h<enter>"), false)
                }
                Step::Append(count) => {
                    world.append(count);
                    (Vec::new(), true)
                }
                Step::Answer => {
                    let Some(wish) = world.wish.take() else { continue };
                    world.answer(&wish);
                    let view = Box::new(world.view.clone());
                    world.asks(&update(&mut deck, Msg::View(view)));
                    let is_slide = matches!(wish.go, TimelineGo::Older | TimelineGo::Newer);
                    let now = selected(&shown(&deck, size));
                    let line = world.view.window.line;
                    if is_slide && !follows && deck.focus() == Pane::Timeline {
                        prop_assert!(before.is_none() || now == before, "{before:?} {now:?}");
                    } else if let (Some(line), Some(now), Pane::Timeline) = (line, now, deck.focus())
                        && !is_slide
                    {
                        let rows = &world.view.timeline;
                        prop_assert_eq!(wanted(rows, wish.go, line), Some(now));
                    }
                    continue;
                }
                Step::Move(line, column) => {
                    let to = TaskColumn::ALL[usize::from(column)];
                    let columns = &mut world.view.tasks.columns;
                    if let Some(row) = columns.iter_mut().find_map(|rows| rows.remove(line)) {
                        let column = to;
                        let row = HandoffRow { column, ..HandoffRow::clone(&row) };
                        columns[to.index()].insert(Arc::new(row));
                    }
                    // Into a column that is folded the cursor cannot follow.
                    let hides = matches!(to, TaskColumn::Stale | TaskColumn::Done);
                    if hides && deck.focus() == Pane::Tasks {
                        update(&mut deck, Msg::View(Box::new(world.view.clone())));
                        continue;
                    }
                    (Vec::new(), true)
                }
            };
            if is_of_world {
                world.asks(&update(&mut deck, Msg::View(Box::new(world.view.clone()))));
                // Following means that the timeline stands on the newest.
                if !follows {
                    let screen = shown(&deck, size);
                    prop_assert!(before.is_none() || selected(&screen) == before);
                    if !had_room {
                        prop_assert_eq!(top(&screen), top_before);
                    }
                }
            }
            if let Some(line) = before.filter(|line| opens && is_bad(*line)) {
                let screen = shown(&deck, size);
                let title = format!("Line {}", grouped(line));
                prop_assert!(screen.contains(&title), "{title} is opened");
                prop_assert!(effects.is_empty(), "nothing is read of it: {effects:?}");
            }
            world.asks(&effects);
            for effect in effects {
                if let Effect::OpenEntry { place } = effect {
                    // Beside the panes stands what is selected now.
                    let screen = shown(&deck, size);
                    let meant = if opens { before } else { selected(&screen) };
                    prop_assert!(
                        meant.is_none_or(|line| line == place.line),
                        "{meant:?} was under the cursor, {} was opened",
                        place.line
                    );
                    let title = format!("Entry {}", grouped(place.line));
                    prop_assert!(screen.contains(&title));
                }
            }
        }
    }
}
