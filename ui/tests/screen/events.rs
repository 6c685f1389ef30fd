//! Thousands of keys, clicks, pastes, sizes, entries, pages, answers, lost daemons and changed files
//! in a row: no panic, nothing outside its region, and what stands on a terminal is what a fresh
//! screen would show. `CTXRELAY_SCREEN_RUNS` says how many runs there are, each with other events.

use crossterm::event::{KeyModifiers, MouseButton, MouseEventKind};
use ctxrelay_ui::key::Key;
use ctxrelay_ui::keymap::KeyContext;
use ctxrelay_ui::model::{
    Agent, AgentState, DaemonState, DeckView, EntryPlace, Field, HandoffRows, Level, Party,
    ThreadView, TimelineRow,
};
use ctxrelay_ui::scenes::{
    asked, bad_lines, broken_work, codex_rules, codex_work, found_entries, gated, handed_over,
    held_up, hostile_text, long_session, painted_outside, pair_at_work, screen, trouble,
};
use ctxrelay_ui::{
    Deck, Effect, FileProblem, Keymap, Msg, NotificationSettings, OwnFiles, Settings, update, view,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr as _;

use crate::kit::mouse;

/// Runs, and the events of each: five thousand together.
const RUNS: u32 = 4;
const EVENTS: usize = 1_250;
/// How often what stands on the terminal is compared with a fresh screen: a frame costs more than
/// an event.
const LOOK_EVERY: usize = 11;

/// The worlds between which the deck is thrown.
const WORLDS: [fn() -> DeckView; 9] = [
    pair_at_work,
    gated,
    held_up,
    hostile_text,
    long_session,
    trouble,
    handed_over,
    asked,
    bad_lines,
];

fn runs() -> u32 {
    let given = std::env::var("CTXRELAY_SCREEN_RUNS");
    given.map_or(RUNS, |count| count.parse().expect("a number"))
}

#[derive(Debug, Clone)]
enum Event {
    Key(String),
    Typed(char),
    Mouse(u16, u16, u8),
    Paste(String),
    Size(u16, u16),
    /// Another world, or the same one with entries more or fewer.
    World(usize, usize),
    /// What was asked for comes, with this text in it.
    Answer(String),
    /// The daemon is lost, or back.
    Link(usize),
    /// The record was cleared: another one begins.
    Cleared,
    Focus(bool),
    Entries(u8),
    Notice(String),
    Sent(u64, bool),
    Files(u8),
    Tick(i64),
}

/// Every key that is bound anywhere, and what moves about in a text.
fn bound() -> Vec<String> {
    let keymap = Keymap::builtin().expect("keymap");
    let bindings = KeyContext::ALL.into_iter().flat_map(|context| {
        let bindings = keymap.bindings(context).iter();
        let keys = bindings.flat_map(|binding| &binding.keys);
        keys.map(ToString::to_string).collect::<Vec<_>>()
    });
    let typing = [
        "left", "right", "ctrl-a", "ctrl-e", "ctrl-k", "ctrl-w", "ctrl-y", "alt-b",
    ];
    let typing = typing.into_iter().map(str::to_owned);
    bindings.chain(typing).collect()
}

fn event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![
        ".{0,40}",
        "[\\x00-\\x1f\\x7f-\\u{9f}\u{202e}\u{200b}a-c漢\u{301}שلا ]{0,60}",
        Just("\u{1b}[201~\u{1b}]0;title\u{7}漢字\r\n".repeat(200)),
    ];
    prop_oneof![
        12 => prop::sample::select(bound()).prop_map(Event::Key),
        3 => any::<char>().prop_map(Event::Typed),
        4 => (0u16..210, 0u16..60, 0u8..8).prop_map(|(x, y, kind)| Event::Mouse(x, y, kind)),
        1 => text.clone().prop_map(Event::Paste),
        1 => (1u16..=200, 1u16..=55).prop_map(|(columns, rows)| Event::Size(columns, rows)),
        1 => (0..WORLDS.len(), 0usize..9).prop_map(|(world, cut)| Event::World(world, cut)),
        3 => (1u8..5).prop_map(Event::Entries),
        6 => text.clone().prop_map(Event::Answer),
        1 => (0..LINKS.len()).prop_map(Event::Link),
        1 => any::<bool>().prop_map(Event::Focus),
        1 => prop::bool::weighted(0.2).prop_map(|clears| match clears {
            true => Event::Cleared,
            false => Event::Tick(1_000),
        }),
        1 => text.prop_map(Event::Notice),
        1 => (1_190u64..1_260, any::<bool>()).prop_map(|(line, to)| Event::Sent(line, to)),
        1 => (0u8..4).prop_map(Event::Files),
        // A clock may be put back.
        1 => (-90_000i64..90_000).prop_map(Event::Tick),
    ]
}

/// Keys and themes as a person may change them while the deck runs.
fn files(which: u8) -> OwnFiles {
    let own = match which {
        0 => "",
        1 => "global = [{ on = [\"f1\"], run = \"help\" }, { on = [\"j\"], run = \"theme\" }]",
        2 => "overlay = [{ on = [\"x\"], run = \"back\" }, { on = [\"esc\"], run = \"none\" }]",
        _ => "global = [{ on = [\"q\"], run = \"jump\" }",
    };
    let (keymap, wrong) = Keymap::builtin().expect("keymap").overlaid(own);
    let mine = "inherits = \"nord\"\n[palette]\nwaits = \"#ffffff\"";
    OwnFiles {
        notification: NotificationSettings::default(),
        keymap,
        themes: vec![("mine".to_owned(), mine.to_owned())],
        theme: (which == 1).then(|| "mine".to_owned()),
        problems: (wrong
            .iter()
            .map(|error| FileProblem::new("keymap.toml", error)))
        .collect(),
    }
}

/// How the deck may stand to its daemon.
const LINKS: [DaemonState; 5] = [
    DaemonState::Hosting,
    DaemonState::Attached,
    DaemonState::Attached,
    DaemonState::Reconnecting,
    DaemonState::Ended,
];

/// A page of other entries than those that are loaded, for a wish of the timeline.
fn page(world: &mut DeckView, number: u64, text: &str) {
    let first = 1 + number * 37 % 900;
    let rows = (first..first + 60).map(|line| {
        let text = format!("page {number} line {line} {text}");
        TimelineRow::new(line, world.now_ms, Agent::Codex, None, "note", text)
    });
    world.timeline = rows.collect();
    world.window.answered = number;
    world.window.line = (!number.is_multiple_of(3)).then_some(first + 30);
    world.window.has_older = true;
    world.window.has_newer = true;
    world.window.head = 100_000;
}

/// What comes for a wish of the screen, if anything does.
fn answer(asked: &Effect, text: &str, world: &mut DeckView) -> Option<Msg> {
    Some(match asked {
        Effect::OpenEntry { place } => Msg::EntryText {
            place: place.clone(),
            row: Box::new(TimelineRow::new(
                place.line,
                world.now_ms,
                Agent::Codex,
                None,
                "note",
                text,
            )),
            text: format!("# {}\n```\n{text}\n```\n{text}", place.line),
            detail: vec![Field {
                name: text.to_owned(),
                text: text.to_owned(),
            }],
            refs: Vec::new(),
            raw: format!("{{\"content\": {text:?}}}"),
        },
        Effect::OpenThread { place } => Msg::Thread(Box::new(thread(place, text, world))),
        Effect::ReadWork { .. } => Msg::Work(Box::new(codex_work())),
        Effect::ReadRules { .. } => Msg::Rules(Box::new(codex_rules())),
        Effect::ReadRecovery => Msg::Recovery(match text.len() % 2 {
            0 => Ok(Box::new(broken_work())),
            _ => Err(text.to_owned()),
        }),
        Effect::Search { words, number, .. } => {
            let mut found = found_entries();
            found.number = *number;
            found.words.clone_from(words);
            found.rows[0].snippet = text.to_owned();
            found.rows[1].session = Some("session_of_before".to_owned());
            Msg::Found(Box::new(found))
        }
        Effect::ShowTimeline(wish) => {
            page(world, wish.number, text);
            Msg::View(Box::new(world.clone()))
        }
        Effect::SendMessage { to, draft, .. } | Effect::Handoff { to, draft, .. } => {
            let (to, draft) = (*to, *draft);
            match text.len() % 2 {
                0 => Msg::Sent {
                    to,
                    line: 900,
                    draft,
                },
                _ => Msg::NotSent {
                    why: text.to_owned(),
                    draft,
                },
            }
        }
        Effect::AppendNote { draft, .. } => Msg::Written {
            level: Level::Info,
            text: text.to_owned(),
            draft: *draft,
        },
        Effect::OpenEditor { is_draft: true, .. } => Msg::EditorText(text.to_owned()),
        Effect::BeginTask { .. }
        | Effect::EditCapsule { .. }
        | Effect::CloseCapsule { .. }
        | Effect::ResolveFinding { .. }
        | Effect::DismissFinding { .. } => Msg::Refused {
            why: text.to_owned(),
            effect: Box::new(asked.clone()),
        },
        _ => return None,
    })
}

fn thread(place: &EntryPlace, text: &str, world: &DeckView) -> ThreadView {
    let row = |line: u64| {
        let text = format!("thread {line} {text}");
        TimelineRow::new(line, world.now_ms, Agent::Claude, None, "message", text)
    };
    ThreadView {
        asked: place.clone(),
        name: format!("h{}", place.line),
        rows: (0..text.len() as u64 % 40)
            .map(|n| row(place.line + n))
            .collect(),
        is_cut: text.len().is_multiple_of(3),
        fault: text.is_empty().then(|| "it is gone".to_owned()),
    }
}

fn message(event: Event, world: &mut DeckView, asked: &mut Vec<Effect>) -> Option<Msg> {
    Some(match event {
        Event::Key(name) => Msg::Key(name.parse::<Key>().expect("a key").to_event()),
        Event::Typed(c) => {
            let key = crossterm::event::KeyCode::Char(c);
            Msg::Key(crossterm::event::KeyEvent::new(key, KeyModifiers::NONE))
        }
        Event::Mouse(column, row, kind) => {
            let kind = match kind {
                0 => MouseEventKind::Down(MouseButton::Left),
                1 => MouseEventKind::ScrollDown,
                2 => MouseEventKind::ScrollUp,
                3 => MouseEventKind::Drag(MouseButton::Left),
                4 => MouseEventKind::Up(MouseButton::Left),
                5 => MouseEventKind::Down(MouseButton::Right),
                6 => MouseEventKind::Moved,
                _ => MouseEventKind::ScrollLeft,
            };
            mouse(kind, column, row)
        }
        Event::Paste(text) => Msg::Paste(text),
        Event::Size(columns, rows) => Msg::Resize(columns, rows),
        Event::World(which, cut) => {
            let now_ms = world.now_ms;
            *world = WORLDS[which]();
            world.now_ms = world.now_ms.max(now_ms);
            world.timeline.truncate(cut * 8);
            world.inbox.truncate(cut % 4);
            world.agents.truncate(cut % 3);
            let first =
                |rows: &HandoffRows, n| rows.iter().take(n).map(|row| (**row).clone()).collect();
            for (n, rows) in world.tasks.columns.iter_mut().enumerate() {
                *rows = first(rows, (cut + n) % 4);
            }
            world.handoffs = first(&world.handoffs, cut % 5);
            Msg::View(Box::new(world.clone()))
        }
        Event::Answer(text) => answer(&asked.pop()?, &text, world)?,
        Event::Link(which) => {
            world.daemon.state = LINKS[which];
            Msg::View(Box::new(world.clone()))
        }
        Event::Cleared => {
            world.session_id.push('x');
            world.timeline.clear();
            world.inbox.clear();
            world.handoffs = HandoffRows::default();
            world.tasks.columns = Default::default();
            world.window = Default::default();
            asked.clear();
            Msg::View(Box::new(world.clone()))
        }
        Event::Focus(has_focus) => Msg::Focus(has_focus),
        Event::Entries(count) => {
            for _ in 0..count {
                let line = world.timeline.last().map_or(1, |row| row.seq + 1);
                let to = Some(Party::from(Agent::Codex));
                let text = format!("entry {line} 漢字 \u{1b}[31m");
                let row = TimelineRow::new(line, world.now_ms, Agent::Claude, to, "message", text);
                world.timeline.push(row);
            }
            if let Some(card) = world.agents.first_mut() {
                let is_idle = card.state == AgentState::Idle;
                card.state = if is_idle {
                    AgentState::Busy
                } else {
                    AgentState::Idle
                };
            }
            Msg::View(Box::new(world.clone()))
        }
        Event::Notice(text) => Msg::Notice(Level::Error, text),
        Event::Sent(line, to) => {
            let to = if to { Agent::Claude } else { Agent::Codex };
            let draft = None;
            Msg::Sent { to, line, draft }
        }
        Event::Files(which) => Msg::OwnFiles(Box::new(files(which))),
        Event::Tick(ms) => {
            world.now_ms += ms;
            Msg::Tick(world.now_ms)
        }
    })
}

/// No cell holds anything that a terminal would obey or hide, and no wide cell hangs over an edge.
fn assert_harmless(buffer: &Buffer) -> Result<(), TestCaseError> {
    let area = buffer.area;
    for y in 0..area.height {
        for x in 0..area.width {
            let symbol = buffer[(x, y)].symbol();
            prop_assert!(
                !symbol.chars().any(char::is_control),
                "{symbol:?} at {x},{y}"
            );
            let width = u16::try_from(symbol.width()).unwrap_or(u16::MAX);
            prop_assert!(
                x + width.max(1) <= area.width,
                "{symbol:?} hangs over the edge"
            );
        }
    }
    Ok(())
}

/// What is seen: the second half of a wide cell is not.
fn seen(buffer: &Buffer) -> Vec<(u16, u16, &Cell)> {
    let mut out = Vec::new();
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let cell = &buffer[(x, y)];
            out.push((x, y, cell));
            x += u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
        }
    }
    out
}

proptest! {
    // A seed of its own: what this finds must be found again.
    #![proptest_config(ProptestConfig {
        cases: runs(),
        max_shrink_iters: 8,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_123),
        ..ProptestConfig::default()
    })]

    #[test]
    fn five_thousand_events_leave_a_whole_screen(events in prop::collection::vec(event(), EVENTS)) {
        let mut deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
        let mut world = pair_at_work();
        let mut size = (120, 40);
        update(&mut deck, Msg::Resize(size.0, size.1));
        let mut asked = update(&mut deck, Msg::View(Box::new(world.clone())));
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a backend");
        for (at, event) in events.into_iter().enumerate() {
            if let Event::Size(columns, rows) = event {
                size = (columns, rows);
                terminal.backend_mut().resize(columns, rows);
            }
            if let Some(message) = message(event, &mut world, &mut asked) {
                asked.extend(update(&mut deck, message));
            }
            if at % LOOK_EVERY != 0 {
                continue;
            }
            terminal.draw(|frame| view(&deck, frame)).expect("a frame");
            let fresh = screen(&deck, size);
            assert_harmless(&fresh)?;
            prop_assert_eq!(seen(terminal.backend().buffer()), seen(&fresh));
            prop_assert_eq!(painted_outside(&deck, size), None);
        }
    }
}
