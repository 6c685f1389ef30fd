//! What is opened is what is selected, and what is selected stays so: whatever comes, goes, is
//! loaded, filtered or resized.

use std::sync::Arc;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ctxrelay_ui::key::Key;
use ctxrelay_ui::model::{
    Agent, BadLines, DaemonState, DeckView, HandoffRow, HandoffStage, TaskColumn, TimelineRow,
};
use ctxrelay_ui::scenes::terminal;
use ctxrelay_ui::text::grouped;
use ctxrelay_ui::{Deck, Effect, Msg, Pane, Settings, update};
use proptest::prelude::*;

/// Wide enough that each row's words stand whole on the screen.
const SIZE: (u16, u16) = (140, 44);

/// A step of the world or of the operator.
#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Click(u16, u16),
    Wheel(u16, u16, bool),
    Resize(u16, u16),
    /// So many new entries.
    Append(u64),
    /// A page of older ones.
    Page(u64),
    /// The oldest ones are let go of.
    Drop(usize),
    /// A task moves on.
    Move(u64, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = [
        "j", "k", "g", "G", "ctrl-d", "ctrl-u", "space", "tab", "2", "4", "5", "f", "down",
        "enter", "esc", "n", "N", "/", "7", "z", "left", "right",
    ];
    prop_oneof![
        8 => prop::sample::select(keys.to_vec()).prop_map(Step::Key),
        2 => (0..SIZE.0, 0..SIZE.1).prop_map(|(x, y)| Step::Click(x, y)),
        1 => (0..SIZE.0, 0..SIZE.1, any::<bool>()).prop_map(|(x, y, down)| Step::Wheel(x, y, down)),
        1 => (100u16..=SIZE.0, 30u16..=SIZE.1).prop_map(|(x, y)| Step::Resize(x, y)),
        3 => (1u64..40).prop_map(Step::Append),
        1 => (1u64..80).prop_map(Step::Page),
        1 => (1usize..9).prop_map(Step::Drop),
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

fn timeline_row(line: u64) -> TimelineRow {
    if is_bad(line) {
        let lines = BadLines {
            first: line,
            last: line,
        };
        return TimelineRow::of_bad_lines(lines, 0);
    }
    let kind = match line % 4 {
        0 => "note",
        1 => "error",
        _ => "message",
    };
    let from = [Agent::Claude, Agent::Codex][usize::from(line.is_multiple_of(2))];
    TimelineRow::new(line, 0, from, None, kind, format!("entry-{line}-text"))
}

fn handoff_row(line: u64) -> HandoffRow {
    HandoffRow {
        column: TaskColumn::Open,
        stage: HandoffStage::Unproven,
        id_short: format!("h{line}"),
        seq: line,
        from: Agent::Claude.into(),
        to: Agent::Codex.into(),
        ask: format!("entry-{line}-text"),
        since_ms: 0,
    }
}

struct World {
    view: DeckView,
    newest: u64,
}

impl World {
    fn new() -> Self {
        let mut view = DeckView {
            session_id: "s".to_owned(),
            older: Some(0),
            ..DeckView::default()
        };
        view.daemon.state = DaemonState::Hosting;
        let mut world = Self { view, newest: 199 };
        world.append(60);
        world
    }

    fn append(&mut self, count: u64) {
        for line in self.newest + 1..=self.newest + count {
            self.view.timeline.push(timeline_row(line));
            if is_handoff(line) {
                let row = Arc::new(handoff_row(line));
                self.view.tasks.columns[row.column.index()].insert(Arc::clone(&row));
                self.view.handoffs.insert(row);
            }
        }
        self.newest += count;
    }

    fn page(&mut self, count: u64) {
        let oldest = self.view.timeline.first().map_or(1, |row| row.seq);
        let older = (oldest.saturating_sub(count).max(1)..oldest).map(timeline_row);
        self.view.timeline.splice(0..0, older);
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

/// The screen while nothing lies over the panes: the hints stand there then.
fn bare(deck: &Deck, size: (u16, u16)) -> Option<String> {
    let screen = terminal(deck, size).backend().to_string();
    screen.contains("? help").then_some(screen)
}

/// The row with the cursor in front, in the pane in focus: what a person takes to be selected.
fn selected(deck: &Deck, size: (u16, u16)) -> Option<u64> {
    let screen = bare(deck, size)?;
    screen.lines().find_map(|line| {
        let (_, behind) = line.split_once('▸')?;
        line_in(behind.split('│').next()?)
    })
}

/// The rows of the timeline, from the first one on the screen.
fn top(deck: &Deck, size: (u16, u16)) -> Option<u64> {
    let screen = bare(deck, size).filter(|screen| screen.contains("2 Timeline"))?;
    let mut rows = screen.lines().skip(2);
    rows.find_map(|line| line_in(line.rsplit("││").next()?))
}

/// Whether the timeline does not fill its pane: then all of it is shown, whatever comes.
fn has_room(deck: &Deck, size: (u16, u16)) -> bool {
    let screen = terminal(deck, size).backend().to_string();
    let lines: Vec<&str> = screen.lines().collect();
    let bottom = lines.iter().rposition(|line| line.contains('╰'));
    bottom
        .and_then(|bottom| lines[bottom - 1].rsplit("││").next())
        .is_some_and(|last| !last.contains(char::is_alphanumeric))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_opens_is_what_is_selected_and_that_stays(
        steps in prop::collection::vec(step(), 1..60),
        newest_first in any::<bool>(),
    ) {
        let settings = Settings { newest_first, ..Settings::new().expect("keymap") };
        let mut deck = Deck::new(settings).expect("theme");
        let mut world = World::new();
        let mut size = SIZE;
        update(&mut deck, Msg::Resize(size.0, size.1));
        update(&mut deck, Msg::View(Box::new(world.view.clone())));
        prop_assert!(selected(&deck, size).is_some());
        for step in steps {
            let before = selected(&deck, size);
            let follows = terminal(&deck, size).backend().to_string().contains("following");
            let top_before = top(&deck, size);
            let at_old_end = matches!(step, Step::Drop(_));
            let had_room = has_room(&deck, size);
            let opens = matches!(step, Step::Key("enter"));
            let (effects, is_of_world) = match step {
                Step::Key(key) => {
                    let key: Key = key.parse().expect("a key");
                    (update(&mut deck, Msg::Key(key.to_event())), false)
                }
                Step::Click(column, row) => {
                    let kind = MouseEventKind::Down(MouseButton::Left);
                    let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
                    (update(&mut deck, Msg::Mouse(event)), false)
                }
                Step::Wheel(column, row, down) => {
                    let kind = if down { MouseEventKind::ScrollDown } else { MouseEventKind::ScrollUp };
                    let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
                    (update(&mut deck, Msg::Mouse(event)), false)
                }
                Step::Resize(columns, rows) => {
                    size = (columns, rows);
                    update(&mut deck, Msg::Resize(columns, rows));
                    let now = selected(&deck, size);
                    prop_assert!(before.is_none() || follows || now == before || now.is_none());
                    continue;
                }
                Step::Append(count) => {
                    world.append(count);
                    (Vec::new(), true)
                }
                Step::Page(count) => {
                    world.page(count);
                    (Vec::new(), true)
                }
                Step::Drop(count) => {
                    let cut = count.min(world.view.timeline.len() / 2);
                    let gone = world.view.timeline.get(cut).map_or(0, |row| row.seq);
                    // The cursor's own row may come back on a page, and with it the cursor.
                    let is_kept = deck.focus() == Pane::Timeline && before.is_some_and(|line| line > gone);
                    if !is_kept || top_before.is_some_and(|line| line <= gone) {
                        continue;
                    }
                    world.view.timeline.drain(..cut);
                    (Vec::new(), true)
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
                update(&mut deck, Msg::View(Box::new(world.view.clone())));
                // Following means that the timeline stands on the newest.
                if !follows {
                    let now = selected(&deck, size);
                    prop_assert!(before.is_none() || now == before);
                    // At the old end nothing is left to fill the room below.
                    if !at_old_end && !had_room {
                        prop_assert_eq!(top(&deck, size), top_before);
                    }
                }
            }
            if let Some(line) = before.filter(|line| opens && is_bad(*line)) {
                let screen = terminal(&deck, size).backend().to_string();
                let title = format!("Line {}", grouped(line));
                prop_assert!(screen.contains(&title), "{title} is opened");
                prop_assert!(effects.is_empty(), "nothing is read of it: {effects:?}");
            }
            for effect in effects {
                if let Effect::OpenEntry { place } = effect {
                    prop_assert!(
                        before.is_none_or(|line| line == place.line),
                        "{before:?} was under the cursor, {} was opened",
                        place.line
                    );
                    let screen = terminal(&deck, size).backend().to_string();
                    let title = format!("Entry {}", grouped(place.line));
                    prop_assert!(screen.contains(&title));
                }
            }
        }
    }
}
