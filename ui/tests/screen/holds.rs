//! Nothing breaks the screen: no size, no text, no key, no click.

use crossterm::event::{MouseButton, MouseEventKind};
use ctxrelay_ui::key::Key;
use ctxrelay_ui::model::{
    Agent, AnswerEffect, AskedCard, AskedChoice, Banner, DeckView, HandoffRow, InboxCard,
    InboxKind, Level, Party, TrustCard, WaitingKey,
};
use ctxrelay_ui::scenes::{
    NOW_MS, SCENES, hostile_text, keys, long_session, painted_outside, quiet, screen, terminal,
};
use ctxrelay_ui::{Deck, Depth, Glyphs, Msg, Settings, update};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr as _;

use crate::kit::mouse;

/// Everything a key can be bound to, typing, and what opens and closes overlays.
const KEYS: &[&str] = &[
    "tab",
    "shift-tab",
    "1",
    "2",
    "3",
    "4",
    "5",
    "j",
    "k",
    "g",
    "G",
    "ctrl-d",
    "ctrl-u",
    "enter",
    "esc",
    "/",
    "n",
    "N",
    "f",
    ":",
    "?",
    "t",
    "m",
    "h",
    "C",
    "c",
    "s",
    "S",
    "a",
    "x",
    "r",
    "y",
    "space",
    "q",
    "ctrl-c",
    "ctrl-t",
    "ctrl-j",
    "alt-enter",
    "backspace",
    "left",
    "home",
    "漢",
    "é",
    "\u{202e}",
];

fn deck(glyphs: Glyphs, newest_first: bool, view: DeckView) -> Deck {
    let settings = Settings {
        depth: Depth::Rgb,
        glyphs,
        newest_first,
        ..Settings::new().expect("keymap")
    };
    let mut deck = Deck::new(settings).expect("theme");
    update(&mut deck, Msg::View(Box::new(view)));
    deck
}

/// No cell holds anything that a terminal would obey or hide, and no wide cell hangs over an edge
/// or over its neighbour.
fn assert_harmless(buffer: &Buffer) -> Result<(), TestCaseError> {
    let area = buffer.area;
    for y in 0..area.height {
        for x in 0..area.width {
            let symbol = buffer[(x, y)].symbol();
            prop_assert!(!symbol.is_empty());
            for c in symbol.chars() {
                prop_assert!(!c.is_control(), "{symbol:?} at {x},{y}");
                let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
                prop_assert!(!hidden, "{symbol:?} at {x},{y}");
            }
            let width = symbol.width() as u16;
            prop_assert!(
                x + width.max(1) <= area.width,
                "{symbol:?} hangs over the right edge"
            );
            // Some syllables are three columns wide.
            for behind in x + 1..x + width {
                let covered = buffer[(behind, y)].symbol();
                prop_assert_eq!(covered, " ", "{:?} at {},{} hangs over", symbol, x, y);
            }
        }
    }
    Ok(())
}

/// Frames stand where they should: a row's text did not run over the line between the columns.
fn hostile(text: &str) -> DeckView {
    let mut view = hostile_text();
    view.project = text.to_owned();
    view.runtime_session = text.to_owned();
    view.session_id = text.to_owned();
    view.banner = Some(Banner {
        level: Level::Error,
        text: text.to_owned(),
    });
    view.daemon.message = Some(text.to_owned());
    for card in &mut view.agents {
        card.rung = text.to_owned();
        card.why = text.to_owned();
        card.hint = Some(text.to_owned());
        card.start_command = text.to_owned();
        card.detail = vec![text.to_owned(); 4];
    }
    for row in &mut view.timeline {
        row.kind = text.to_owned();
        row.id = text.to_owned();
        row.text.push_str(text);
        row.mark = Some(text.to_owned());
        row.from = Party::Other(text.to_owned());
        if let Some(outcome) = &mut row.outcome {
            outcome.text = text.to_owned();
        }
    }
    for card in &mut view.inbox {
        card.summary = text.to_owned();
        card.evidence = vec![text.into()];
        card.remaining_risk = text.to_owned();
        card.handles = vec![text.into()];
        card.blockers = vec![text.into()];
        card.commit = Some(text.to_owned());
        card.tree = Some(text.to_owned());
        for gate in &mut card.gates {
            gate.name = text.to_owned();
            gate.command = text.to_owned();
            gate.result = text.to_owned();
            gate.output = vec![text.to_owned()];
        }
    }
    let party = || Party::Other(text.to_owned());
    let mut trust = InboxCard::new(InboxKind::Trust, text, party(), 0, text);
    trust.trust = Some(Box::new(TrustCard {
        digest: text.to_owned(),
        keys: vec![WaitingKey {
            name: text.to_owned(),
            note: text.to_owned(),
            lines: vec![(true, text.to_owned()), (false, text.to_owned())],
            warnings: vec![text.to_owned()],
        }],
        elsewhere: None,
    }));
    let mut asks = InboxCard::new(InboxKind::Approval, "a", party(), 0, text);
    asks.asked = Some(Box::new(AskedCard {
        what: text.to_owned(),
        details: text.to_owned(),
        hints: vec![text.to_owned()],
        choices: vec![AskedChoice {
            id: text.to_owned(),
            label: text.to_owned(),
            parts: None,
            effect: AnswerEffect::Allow,
        }],
        given: Some(text.to_owned()).filter(|text| text.len() > 40),
        call_waits_until_ms: None,
    }));
    view.inbox.splice(0..0, [trust, asks]);
    let hostile = |row: &mut HandoffRow| {
        row.ask = text.into();
        row.id_short = text.to_owned();
        row.to = Party::Other(text.to_owned());
    };
    for rows in &mut view.tasks.columns {
        *rows = rows.map(hostile);
    }
    view.handoffs = view.handoffs.map(hostile);
    view
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,60}",
        "[\\x00-\\x1f\\x7f-\\u{9f}\u{202e}\u{200b}\u{feff}\u{e0041}a-c漢\u{301} ]{0,60}",
        "(漢|👩\u{200d}💻|\u{1f1e9}\u{1f1ea}|e\u{301}){0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_size_any_text_any_keys(
        text in any_text(),
        sizes in prop::collection::vec((1u16..=250, 1u16..=80), 1..4),
        keys in prop::collection::vec(prop::sample::select(KEYS), 0..12),
        pasted in any_text(),
        ascii in any::<bool>(),
        newest_first in any::<bool>(),
    ) {
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let mut deck = deck(glyphs, newest_first, hostile(&text));
        for (columns, rows) in sizes {
            update(&mut deck, Msg::Resize(columns, rows));
            for key in &keys {
                let key: Key = key.parse().expect("a key");
                update(&mut deck, Msg::Key(key.to_event()));
            }
            update(&mut deck, Msg::Paste(pasted.clone()));
            update(&mut deck, Msg::Notice(Level::Warn, text.clone()));
            assert_harmless(&screen(&deck, (columns, rows)))?;
            // A frame may come with another size than the last resize said.
            assert_harmless(&screen(&deck, (rows, columns.min(120))))?;
        }
    }

    #[test]
    fn any_click_anywhere(
        size in (1u16..=220, 1u16..=60),
        clicks in prop::collection::vec((0u16..=230, 0u16..=70, 0u8..3), 0..20),
    ) {
        let mut deck = deck(Glyphs::Unicode, true, long_session());
        update(&mut deck, Msg::Resize(size.0, size.1));
        for (column, row, kind) in clicks {
            let kind = match kind {
                0 => MouseEventKind::Down(MouseButton::Left),
                1 => MouseEventKind::ScrollDown,
                _ => MouseEventKind::ScrollUp,
            };
            update(&mut deck, mouse(kind, column, row));
        }
        assert_harmless(&screen(&deck, size))?;
    }

    #[test]
    fn the_world_may_change_under_open_overlays(
        keys in prop::collection::vec(prop::sample::select(KEYS), 0..10),
        cut in 0usize..12,
    ) {
        let mut deck = deck(Glyphs::Unicode, true, long_session());
        update(&mut deck, Msg::Resize(100, 30));
        for key in &keys {
            update(&mut deck, Msg::Key(key.parse::<Key>().expect("a key").to_event()));
            let mut view = long_session();
            view.timeline.truncate(cut * 6);
            view.inbox.truncate(cut % 3);
            view.agents.truncate(cut % 3);
            for (n, rows) in view.tasks.columns.iter_mut().enumerate() {
                *rows = rows.iter().take((cut + n) % 3).map(|row| (**row).clone()).collect();
            }
            view.handoffs = view.handoffs.iter().take(cut % 4).map(|row| (**row).clone()).collect();
            update(&mut deck, Msg::View(Box::new(view)));
            assert_harmless(&screen(&deck, (100, 30)))?;
        }
    }
}

#[test]
fn every_small_size_is_drawn_without_a_panic() {
    let mut deck = deck(Glyphs::Unicode, true, hostile_text());
    for columns in 1..70 {
        for rows in 1..22 {
            update(&mut deck, Msg::Resize(columns, rows));
            let buffer = screen(&deck, (columns, rows));
            assert_harmless(&buffer).expect("harmless");
        }
    }
}

/// What stands in records, files and models' words all over the world, and what is there to deceive.
fn corpus() -> [(&'static str, String); 9] {
    [
        ("wide", "漢字カナ한글，".repeat(9)),
        ("wide without an end", "漢".repeat(300)),
        ("joined", "👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈 1\u{fe0f}\u{20e3} ❤\u{fe0f} 🇩🇪 ".repeat(3)),
        ("combining", "e\u{301}\u{302}\u{303} \u{1100}\u{1161}\u{11a8} क्षि กำ ｶﾞ z\u{335}\u{336}\u{337}\u{338} ".repeat(4)),
        ("combining without a letter", "\u{301}\u{20dd}\u{300}x\u{fe0e}".repeat(9)),
        ("right to left", "שלום עולם مرحبا بالعالم \u{202e}gnp.exe\u{202c} \u{2067}א1\u{2069} ".repeat(3)),
        ("joined by a font", "لا إلا الآن والأهل لالالالالا ".repeat(6)),
        ("commands", "a\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\r\n\t\u{8}\u{0}\u{7f}b ".repeat(5)),
        ("hidden", "\u{200b}\u{feff}\u{2060}\u{ad}🏴\u{e0067}\u{e0062}\u{e007f}\u{3164}x ".repeat(6)),
    ]
}

#[test]
fn letters_that_a_font_joins_push_no_age_out_of_its_row() {
    let mut view = quiet();
    // As a font joins them, they would have room.
    let summary = "لا".repeat(200);
    let at_ms = NOW_MS - 120_000;
    view.inbox = vec![InboxCard::new(
        InboxKind::Question,
        "q-1",
        Agent::Claude,
        at_ms,
        summary,
    )];
    let mut deck = deck(Glyphs::Unicode, true, view);
    update(&mut deck, Msg::Resize(80, 24));
    keys(&mut deck, "3");
    let drawn = terminal(&deck, (80, 24)).backend().to_string();
    let row = drawn.lines().find(|line| line.contains("question"));
    let row = row.unwrap_or_else(|| panic!("no row in\n{drawn}"));
    assert!(drawn.contains('…') && row.contains(" 2m"), "{drawn}");
}

#[test]
fn no_text_in_any_field_of_any_pane_or_overlay_leaves_its_place() {
    let sizes = [(60, 15), (80, 24), (120, 40), (200, 50)];
    let mut shown = 0;
    let mut faults = Vec::new();
    for (at, scene) in SCENES.iter().enumerate() {
        for (which, (name, text)) in corpus().iter().enumerate() {
            let size = sizes[(at + which) % sizes.len()];
            let settings = Settings::new().expect("keymap");
            let deck = scene.deck_of_text(settings, size, text);
            let drawn = screen(&deck, size);
            let harmless = assert_harmless(&drawn).err().map(|fault| fault.to_string());
            let fault = harmless.or_else(|| painted_outside(&deck, size));
            faults.extend(
                fault.map(|fault| {
                    format!("{} with what is {name} at {size:?}: {fault}", scene.name)
                }),
            );
            let symbols = drawn.content().iter().map(|cell| cell.symbol());
            let symbols = symbols.filter(|symbol| *symbol != " " && text.contains(symbol));
            shown += usize::from(symbols.count() > 4);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The text is what is looked at, in nearly all of them.
    assert!(shown > SCENES.len() * 7, "{shown}");
}
