//! Entries that are far from the rows that are loaded: they are shown, copied and opened as any other.

use ctxrelay_ui::model::{
    Agent, EntryPlace, InboxKind, Level, OutcomeState, Party, RowOutcome, TaskColumn, ThreadView,
    TimelineRow,
};
use ctxrelay_ui::scenes::{NOW_MS, handed_over, keys, pair_at_work};
use ctxrelay_ui::{Effect, Msg, update};

use crate::kit::{deck_at, shown, shows};

/// A size at which nothing is read beside the panes.
const SMALL: (u16, u16) = (80, 24);

/// What the daemon answers when an entry is opened.
fn told(place: &EntryPlace, text: &str) -> Msg {
    let to = Some(Party::Agent(Agent::Codex));
    let row = TimelineRow::new(
        place.line,
        NOW_MS - 7_200_000,
        Agent::Claude,
        to,
        "handoff",
        "cut",
    );
    let id = format!("id-of-{}", place.line);
    let outcome = Some(RowOutcome::new(OutcomeState::Done, "started a turn"));
    Msg::EntryText {
        place: place.clone(),
        row: Box::new(TimelineRow { id, outcome, ..row }),
        text: text.to_owned(),
        detail: Vec::new(),
        refs: Vec::new(),
        raw: String::new(),
    }
}

fn opened(effects: &[Effect]) -> EntryPlace {
    let place = effects.iter().find_map(|effect| match effect {
        Effect::OpenEntry { place } => Some(place.clone()),
        _ => None,
    });
    place.expect("an entry is read")
}

/// A world whose tasks are far from the rows of its timeline, and the line of the first of them.
fn old_tasks() -> (ctxrelay_ui::model::DeckView, u64) {
    let mut view = handed_over();
    let open = view.tasks.column(TaskColumn::Open);
    let line = open.get(0).expect("a task").seq;
    for column in [TaskColumn::Active, TaskColumn::Blocked] {
        view.tasks.columns[column.index()] = Default::default();
    }
    view.timeline.retain(|row| row.seq != line);
    (view, line)
}

#[test]
fn an_old_task_is_opened_with_its_head() {
    let (view, line) = old_tasks();
    let mut deck = deck_at(view, SMALL);
    let place = opened(&keys(&mut deck, "4<enter>"));
    assert_eq!(place.line, line);
    update(&mut deck, told(&place, "all of it"));
    let screen = shown(&deck);
    for words in [
        "handoff",
        "Claude",
        "Codex",
        "12:02:32",
        "started a turn",
        "id-of-",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
}

#[test]
fn the_head_of_what_somebody_else_wrote_says_so_and_its_row_too() {
    const MARK: &str = "from elsewhere";
    const WIDE: (u16, u16) = (120, 40);
    let sign = ctxrelay_ui::Glyphs::Unicode.foreign();
    let mut view = pair_at_work();
    let newest = view.timeline.last_mut().unwrap();
    newest.text = "one word and another ".repeat(20);
    let before = shown(&deck_at(view.clone(), WIDE));
    assert!(!before.contains(sign), "{before}");
    view.timeline.last_mut().unwrap().is_foreign = true;
    let marked = shown(&deck_at(view, WIDE));
    assert!(marked.contains(sign), "{marked}");
    // Its text has as much room as any other.
    let words = |screen: &str| screen.matches("another").count();
    assert_eq!(words(&marked), words(&before), "{marked}");

    let (view, _) = old_tasks();
    let mut deck = deck_at(view, SMALL);
    let place = opened(&keys(&mut deck, "4<enter>"));
    let mut told = told(&place, "all of it");
    if let Msg::EntryText { row, .. } = &mut told {
        row.is_foreign = true;
    }
    update(&mut deck, told);
    shows(&deck, MARK);
}

#[test]
fn an_old_task_is_copied_and_edited_whole_without_being_opened() {
    for (key, wanted) in [("y", "all of it"), ("Y", "id-of-"), ("e", "all of it")] {
        let (view, line) = old_tasks();
        let mut deck = deck_at(view, SMALL);
        let place = opened(&keys(&mut deck, &format!("4{key}")));
        assert_eq!(place.line, line, "{key}");
        assert!(!shown(&deck).contains("copied"), "not before it is read");
        let done = update(&mut deck, told(&place, "all of it"));
        match &done[..] {
            [Effect::CopyText(text) | Effect::OpenEditor { text, .. }] => {
                assert!(text.starts_with(wanted), "{key}: {text}");
            }
            other => panic!("{key}: {other:?}"),
        }
        assert_eq!(update(&mut deck, told(&place, "all of it")), [], "once");
    }
}

#[test]
fn a_text_that_is_cut_in_its_row_is_read_before_it_is_copied() {
    let mut view = pair_at_work();
    let newest = view.timeline.last_mut().expect("a row");
    newest.text = "the begin".to_owned();
    newest.text_cut = true;
    let mut deck = deck_at(view.clone(), SMALL);
    let place = opened(&keys(&mut deck, "2y"));
    let done = update(&mut deck, told(&place, "the beginning and the end"));
    assert_eq!(
        done,
        [Effect::CopyText("the beginning and the end".to_owned())]
    );
    assert!(shown(&deck).contains("copied"), "{}", shown(&deck));
    let newest = view.timeline.last_mut().expect("a row");
    newest.text_cut = false;
    let mut deck = deck_at(view, SMALL);
    assert_eq!(
        keys(&mut deck, "2y"),
        [Effect::CopyText("the begin".to_owned())]
    );
}

#[test]
fn what_is_copied_or_opened_in_an_editor_holds_nothing_that_a_terminal_obeys() {
    let hostile = "please look at this\u{1b}[201~\rtouch PASTED\r";
    let harmless = "please look at this[201~\ntouch PASTED\n";
    let mut view = pair_at_work();
    let newest = view.timeline.last_mut().expect("a row");
    (newest.text, newest.text_cut) = (hostile.to_owned(), false);
    view.inbox[0].summary = hostile.to_owned();
    let mut deck = deck_at(view, SMALL);
    let copied = keys(&mut deck, "2y");
    assert_eq!(copied, [Effect::CopyText(harmless.to_owned())]);
    let said = shown(&deck);
    assert!(said.contains("copied without 1 character"), "{said}");
    let copied = keys(&mut deck, "3<enter>y");
    let [.., Effect::CopyText(text)] = &copied[..] else {
        panic!("{copied:?}");
    };
    assert!(text.starts_with(harmless), "{text:?}");
    for script in ["<esc>2e", "3<enter>e"] {
        let opened = keys(&mut deck, script);
        let [.., Effect::OpenEditor { text, .. }] = &opened[..] else {
            panic!("{script}: {opened:?}");
        };
        let is_odd = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(is_odd), "{script}: {text:?}");
        assert!(text.contains("touch PASTED"), "{script}: {text:?}");
    }
}

#[test]
fn what_was_wanted_long_ago_does_not_happen_any_more() {
    let (view, _) = old_tasks();
    let mut deck = deck_at(view, SMALL);
    let place = opened(&keys(&mut deck, "4e"));
    let fault = "the record could not be read".to_owned();
    update(&mut deck, Msg::Notice(Level::Error, fault));
    update(&mut deck, Msg::Tick(NOW_MS + 60_000));
    assert_eq!(update(&mut deck, told(&place, "late")), []);
}

#[test]
fn the_reason_why_nothing_is_copied_is_true() {
    let mut deck = deck_at(pair_at_work(), SMALL);
    for key in ["y", "Y", "e"] {
        assert_eq!(keys(&mut deck, &format!("1{key}")), []);
        let screen = shown(&deck);
        assert!(
            screen.contains("Claude is an agent: only entries and cards"),
            "{screen}"
        );
    }
    let mut empty = pair_at_work();
    empty.inbox.retain(|card| card.kind == InboxKind::Notice);
    let mut deck = deck_at(empty, SMALL);
    assert_eq!(keys(&mut deck, "3y"), []);
    assert!(
        shown(&deck).contains("nothing is selected"),
        "{}",
        shown(&deck)
    );
}

#[test]
fn the_rows_of_a_thread_and_entries_of_a_sealed_session_have_their_id() {
    let mut deck = deck_at(pair_at_work(), SMALL);
    let asked = keys(&mut deck, "3o");
    let asked = asked.iter().find_map(|effect| match effect {
        Effect::OpenThread { place } => Some(place.clone()),
        _ => None,
    });
    let asked = asked.expect("a thread");
    let row = |line| TimelineRow::new(line, NOW_MS, Agent::Codex, None, "message", "an answer");
    let thread = ThreadView {
        asked,
        name: "h7".to_owned(),
        rows: vec![row(7), row(9)],
        is_cut: false,
        fault: None,
    };
    update(&mut deck, Msg::Thread(Box::new(thread)));
    // It may be on its way already.
    keys(&mut deck, "Y");
    assert!(shown(&deck).contains("its text is being read"));
    let session = deck.view().session_id.clone();
    let place = EntryPlace { session, line: 7 };
    let copied = update(&mut deck, told(&place, "an answer"));
    assert_eq!(copied, [Effect::CopyText(format!("id-of-{}", place.line))]);

    let sealed = EntryPlace {
        session: "session_1_old".to_owned(),
        line: 12,
    };
    let mut deck = deck_at(pair_at_work(), SMALL);
    let asked = keys(&mut deck, "/cookie");
    let number = asked.iter().rev().find_map(|effect| match effect {
        Effect::Search { number, .. } => Some(*number),
        _ => None,
    });
    let mut found = ctxrelay_ui::scenes::found_entries();
    found.number = number.expect("a search");
    found.rows[0].session = Some(sealed.session.clone());
    found.rows[0].seq = sealed.line;
    update(&mut deck, Msg::Found(Box::new(found)));
    assert_eq!(opened(&keys(&mut deck, "<enter>")), sealed);
    update(&mut deck, told(&sealed, "of before"));
    let screen = shown(&deck);
    for words in ["12:02:32", "id-of-12", "sealed"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert_eq!(
        keys(&mut deck, "Y"),
        [Effect::CopyText("id-of-12".to_owned())]
    );
    // A line of that number in the record that is being written is not meant.
    assert_eq!(keys(&mut deck, "o"), []);
    let screen = shown(&deck);
    assert!(
        screen.contains("only an entry of the session that is open"),
        "{screen}"
    );
}

#[test]
fn what_becomes_of_an_entry_off_the_screen_is_read_again() {
    let (view, _) = old_tasks();
    let mut deck = deck_at(view.clone(), SMALL);
    let place = opened(&keys(&mut deck, "4<enter>"));
    update(&mut deck, told(&place, "all of it"));
    assert_eq!(update(&mut deck, Msg::View(Box::new(view.clone()))), []);
    let mut moved = view;
    moved.agents[1].queue.in_flight += 1;
    let again = update(&mut deck, Msg::View(Box::new(moved)));
    assert_eq!(opened(&again), place);
}

#[test]
fn a_handoff_has_one_age_also_where_it_is_read() {
    let mut deck = deck_at(pair_at_work(), (120, 40));
    let view = deck.view().clone();
    let row = view
        .tasks
        .column(TaskColumn::Active)
        .get(0)
        .expect("a task");
    let place = EntryPlace {
        session: view.session_id.clone(),
        line: row.seq,
    };
    keys(&mut deck, "4");
    update(&mut deck, told(&place, "all of it"));
    let screen = shown(&deck);
    let age = format!("{}s", (NOW_MS - row.since_ms) / 1_000);
    assert!(screen.contains(&format!("active {age}")), "{screen}");
    update(&mut deck, Msg::Tick(NOW_MS + 3_000));
    let screen = shown(&deck);
    let age = format!("{}s", (NOW_MS + 3_000 - row.since_ms) / 1_000);
    assert!(screen.contains(&format!("active {age}")), "{screen}");
    assert!(
        screen.matches(&age).count() > 1,
        "Tasks or Handoffs, and here: {screen}"
    );
}

#[test]
fn what_an_entry_names_is_a_row_that_enter_follows_and_one_comes_back() {
    for size in [SMALL, (120, 40)] {
        let (view, line) = old_tasks();
        let mut deck = deck_at(view, size);
        keys(&mut deck, "4");
        let place = EntryPlace {
            session: deck.view().session_id.clone(),
            line,
        };
        keys(&mut deck, "<enter>");
        let named = |label: &str, seq| ctxrelay_ui::model::EntryRef {
            label: label.to_owned(),
            row: TimelineRow::new(
                seq,
                NOW_MS,
                Agent::Codex,
                None,
                "handoff",
                format!("ask {seq}"),
            ),
        };
        let Msg::EntryText {
            row,
            text,
            detail,
            raw,
            ..
        } = told(&place, "all of it")
        else {
            unreachable!()
        };
        let refs = vec![named("answers", 17), named("handles", 18)];
        update(
            &mut deck,
            Msg::EntryText {
                place,
                row,
                text,
                detail,
                refs,
                raw,
            },
        );
        let screen = shown(&deck);
        assert!(
            screen.contains("answers") && screen.contains("ask 17"),
            "{screen}"
        );
        let followed = opened(&keys(&mut deck, "<tab><tab><enter>"));
        assert_eq!(followed.line, 18);
        assert!(shown(&deck).contains("Entry 18"), "{}", shown(&deck));
        keys(&mut deck, "<ctrl-o>");
        let screen = shown(&deck);
        assert!(
            screen.contains("ask 17") && screen.contains("all of it"),
            "{screen}"
        );
        keys(&mut deck, "<tab><enter>");
        assert!(
            !shown(&deck).contains("go there"),
            "past the last one enter closes"
        );
    }
}
