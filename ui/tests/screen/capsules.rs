//! Tasks that can travel: what a key wants of the caller, and what it does not do.

use ctxrelay_ui::model::{
    Agent, AlikeTo, CapsuleAlong, CapsuleLine, CapsuleReader, CapsuleRows, CapsuleView,
    FoundSnippet,
};
use ctxrelay_ui::scenes::{disconnected, keys, pair_at_work, terminal};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{deck_at, shown};

const SIZE: (u16, u16) = (120, 40);

fn row(id: &str, title: &str) -> CapsuleLine {
    CapsuleLine {
        id: id.to_owned(),
        title: title.to_owned(),
        is_open: true,
        ..CapsuleLine::default()
    }
}

fn rows() -> Vec<CapsuleLine> {
    let foreign = CapsuleLine {
        is_foreign: true,
        file: "../afar.json".to_owned(),
        ..row("cap_3", "from afar")
    };
    vec![row("cap_1", "first"), row("cap_2", "second"), foreign]
}

/// The list, read.
fn deck() -> Deck {
    let mut deck = deck_at(pair_at_work(), SIZE);
    assert_eq!(keys(&mut deck, "T"), [Effect::ReadCapsules]);
    update(&mut deck, Msg::Capsules(Ok(rows().into())));
    deck
}

fn read(deck: &mut Deck, row: CapsuleLine) {
    let id = row.id.clone();
    let view = CapsuleView {
        row,
        draft: "title: first\n".to_owned(),
        ..CapsuleView::default()
    };
    let read = Ok(Box::new(view));
    update(deck, Msg::Capsule { id, read });
}

fn read_of(id: &str) -> Effect {
    Effect::ReadCapsule { id: id.to_owned() }
}

#[test]
fn a_task_is_opened_and_the_next_one_from_there() {
    let mut deck = deck();
    assert_eq!(keys(&mut deck, "<enter>"), [read_of("cap_1")]);
    assert_eq!(keys(&mut deck, "J"), [read_of("cap_2")]);
    // What comes late is of another one.
    read(&mut deck, row("cap_1", "late"));
    assert!(!terminal(&deck, SIZE).backend().to_string().contains("late"));
}

#[test]
fn what_is_said_of_a_task_is_edited_where_it_is_opened_and_the_list_says_so() {
    let said = |deck: &Deck| terminal(deck, SIZE).backend().to_string();
    // Whatever is selected behind it.
    for pane in ["1", "2", "3", "4"] {
        let mut deck = deck();
        keys(&mut deck, &format!("<esc>{pane}T"));
        update(&mut deck, Msg::Capsules(Ok(rows().into())));
        assert_eq!(keys(&mut deck, "e"), []);
        assert!(
            said(&deck).contains("open it first: enter"),
            "{}",
            said(&deck)
        );
    }
    let mut deck = deck();
    update(&mut deck, Msg::Capsules(Ok(Vec::new().into())));
    keys(&mut deck, "e");
    assert!(
        said(&deck).contains("no task is selected"),
        "{}",
        said(&deck)
    );
    let mut closed = row("cap_1", "first");
    closed.is_open = false;
    let mut deck = self::deck();
    keys(&mut deck, "<enter>");
    read(&mut deck, closed);
    assert_eq!(keys(&mut deck, "e"), []);
    assert!(
        said(&deck).contains("the task is closed"),
        "{}",
        said(&deck)
    );
}

#[test]
fn where_no_task_is_next_the_one_that_is_opened_stays() {
    let mut deck = deck();
    keys(&mut deck, "jj<enter>");
    read(&mut deck, rows().swap_remove(2));
    assert_eq!(keys(&mut deck, "J"), []);
    let screen = shown(&deck);
    assert!(screen.contains("nothing is next"), "{screen}");
    assert!(screen.contains("from afar"), "{screen}");
    // The list below cannot be read any more.
    update(&mut deck, Msg::Capsules(Err("no record".to_owned())));
    assert_eq!(keys(&mut deck, "K"), []);
    let screen = shown(&deck);
    assert!(screen.contains("nothing is before it"), "{screen}");
    assert!(screen.contains("from afar"), "{screen}");
}

#[test]
fn nothing_is_handed_over_before_it_is_chosen_to_whom() {
    let mut deck = deck();
    assert_eq!(
        keys(&mut deck, "h<enter>"),
        [],
        "leave it is the first answer"
    );
    let handed = Effect::HandCapsule {
        id: "cap_1".to_owned(),
        to: Agent::Codex,
        found: Vec::new(),
    };
    assert_eq!(keys(&mut deck, "hjj<enter>"), [handed]);
}

#[test]
fn a_task_is_told_for_others_on_the_clipboard() {
    let mut deck = deck();
    for (keys_of, to) in [
        ("hjjjjj<enter>", CapsuleReader::Cursor),
        ("hjjjjjj<enter>", CapsuleReader::Opencode),
        ("hjjjjjjj<enter>", CapsuleReader::Markdown),
    ] {
        let id = "cap_1".to_owned();
        assert_eq!(keys(&mut deck, keys_of), [Effect::TellCapsule { id, to }]);
    }
    let told = update(&mut deck, Msg::CapsuleText(Ok("# first\n".to_owned())));
    assert_eq!(told, [Effect::CopyText("# first\n".to_owned())]);
    assert!(
        terminal(&deck, SIZE)
            .backend()
            .to_string()
            .contains("copied")
    );
    let refused = Msg::CapsuleText(Err("it is not what it was".to_owned()));
    assert_eq!(update(&mut deck, refused), []);
    assert!(
        terminal(&deck, SIZE)
            .backend()
            .to_string()
            .contains("not what it was")
    );
}

#[test]
fn what_was_said_before_goes_along_as_far_as_it_is_ticked() {
    let mut deck = deck();
    let id = "cap_1".to_owned();
    let looked = Effect::FindAlike(AlikeTo::Task(id.clone()));
    assert_eq!(keys(&mut deck, "hjjjj<enter>"), [looked]);
    assert_eq!(keys(&mut deck, "<space><enter>"), [], "it is not found yet");
    let said = |text: &str| FoundSnippet {
        text: text.to_owned(),
        cited: "session_1, entry 7, claude".to_owned(),
    };
    let found = Ok(["one", "two", "three"].map(said).to_vec());
    update(
        &mut deck,
        Msg::Alike {
            to: AlikeTo::Task(id.clone()),
            found,
        },
    );
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("[ ] one") && shown.contains("entry 7, claude"));
    keys(&mut deck, "<space>j<space><space>j<space>");
    let shown = terminal(&deck, SIZE).backend().to_string();
    for row in ["[x] one", "[ ] two", "[x] three"] {
        assert!(shown.contains(row), "{shown}");
    }
    let handed = |found: &[&str]| Effect::HandCapsule {
        id: "cap_1".to_owned(),
        to: Agent::Codex,
        found: found.iter().map(|text| said(text)).collect(),
    };
    assert_eq!(keys(&mut deck, "<enter>"), [handed(&["one", "three"])]);
    // Nothing of it without a tick, and nothing at all once it was left.
    keys(&mut deck, "hjjjj<enter>");
    let found = Ok(vec![said("one")]);
    let to = AlikeTo::Task(id);
    update(&mut deck, Msg::Alike { to, found });
    assert_eq!(keys(&mut deck, "<esc>"), []);
    keys(&mut deck, "hjjjj<enter>");
    let (id, found) = ("cap_1".to_owned(), Ok(vec![said("one")]));
    let to = AlikeTo::Task(id);
    update(&mut deck, Msg::Alike { to, found });
    assert_eq!(keys(&mut deck, "<enter>"), [handed(&[])]);
}

#[test]
fn a_task_begins_with_what_was_said_before_as_far_as_it_is_ticked() {
    let mut deck = deck();
    assert_eq!(keys(&mut deck, "n<enter>"), [], "a task has a title");
    let long = "x".repeat(121);
    assert_eq!(keys(&mut deck, &format!("{long}<enter>")), []);
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("what is its title?"), "{shown}");
    // What was typed stands there again.
    keys(&mut deck, "<esc>n");
    let again = "<backspace>".repeat(120);
    keys(&mut deck, &format!("{again}<esc>n"));
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("x") && !shown.contains("xx"), "{shown}");
    keys(&mut deck, "<backspace>Rotate tokens<enter><esc>n");
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("Rotate tokens"), "{shown}");
    keys(&mut deck, "<enter>");
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("which words to look for?"), "{shown}");
    // Those of the title, and more.
    let looked = |words: &str| Effect::FindAlike(AlikeTo::Words(words.to_owned()));
    assert_eq!(
        keys(&mut deck, " now<enter>"),
        [looked("Rotate tokens now")]
    );
    assert_eq!(keys(&mut deck, "<space><enter>"), [], "it is not found yet");
    let said = |text: &str| FoundSnippet {
        text: text.to_owned(),
        cited: "session_1, entry 7, claude".to_owned(),
    };
    let mut find = |words: &str, found: &[&str]| {
        let to = AlikeTo::Words(words.to_owned());
        let found = Ok(found.iter().map(|text| said(text)).collect());
        update(&mut deck, Msg::Alike { to, found });
    };
    find("other words", &["not of these"]);
    find("Rotate tokens now", &["one", "two"]);
    let begun = Effect::BeginTask {
        title: "Rotate tokens".to_owned(),
        found: vec![said("two")],
    };
    assert_eq!(keys(&mut deck, "j<space><enter>"), [begun]);
    let begun = Effect::BeginTask {
        title: "Bare".to_owned(),
        found: Vec::new(),
    };
    keys(&mut deck, "nBare<enter>");
    let empty = "<backspace>".repeat(4);
    assert_eq!(keys(&mut deck, &format!("{empty}<enter>")), [begun]);
}

#[test]
fn the_palette_begins_a_task_over_the_list_of_them() {
    let mut deck = deck_at(pair_at_work(), SIZE);
    assert_eq!(
        keys(&mut deck, ":begin a task<enter>"),
        [Effect::ReadCapsules]
    );
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("Capsules") && shown.contains("what is its title?"));
}

#[test]
fn of_more_tasks_than_are_listed_their_number_is_said() {
    let mut deck = deck();
    let (rows, total) = (rows(), 1_312);
    update(&mut deck, Msg::Capsules(Ok(CapsuleRows { rows, total })));
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("the first 3 of 1 312"), "{shown}");
}

#[test]
fn a_task_is_closed_by_a_line_and_not_by_a_key() {
    let mut deck = deck();
    assert_eq!(keys(&mut deck, "c"), [read_of("cap_1")]);
    assert_eq!(keys(&mut deck, "<esc>"), []);
    read(&mut deck, row("cap_1", "first"));
    assert_eq!(keys(&mut deck, "cdo<esc>"), []);
    assert_eq!(
        keys(&mut deck, "cne<enter>"),
        [Effect::CloseCapsule {
            id: "cap_1".to_owned(),
            outcome: Some("done".to_owned()),
        }]
    );
}

#[test]
fn what_is_from_elsewhere_is_neither_closed_nor_edited() {
    let mut deck = deck();
    keys(&mut deck, "jj<enter>");
    read(&mut deck, rows().swap_remove(2));
    assert_eq!(keys(&mut deck, "c"), []);
    assert_eq!(keys(&mut deck, "e"), []);
    assert_eq!(keys(&mut deck, "w<tab>"), [], "it asks for the file alone");
    let exported = Effect::ExportCapsule {
        id: "cap_3".to_owned(),
        file: "../afar.json".to_owned(),
        along: CapsuleAlong::default(),
    };
    assert_eq!(keys(&mut deck, "<enter>"), [exported]);
}

#[test]
fn what_goes_along_is_chosen_where_the_file_is_named() {
    let mut chosen = Vec::new();
    for tabs in 0..5 {
        let mut deck = deck();
        keys(&mut deck, "<enter>");
        let file = "../first.json".to_owned();
        let row = CapsuleLine {
            file,
            ..row("cap_1", "first")
        };
        read(&mut deck, row);
        let script = format!("w{}<enter>", "<tab>".repeat(tabs));
        match &keys(&mut deck, &script)[..] {
            [Effect::ExportCapsule { along, .. }] => chosen.push((along.patch, along.outputs)),
            effects => panic!("{effects:?}"),
        }
    }
    let all = [(false, false), (true, false), (false, true), (true, true)];
    assert_eq!(chosen[..4], all);
    assert_eq!(chosen[4], chosen[0], "round the end");
}

#[test]
fn what_is_edited_goes_to_its_own_task() {
    let mut deck = deck();
    keys(&mut deck, "<enter>");
    assert_eq!(keys(&mut deck, "e"), [], "it is not read yet");
    read(&mut deck, row("cap_1", "first"));
    let opened = Effect::OpenEditor {
        text: "title: first\n".to_owned(),
        is_draft: true,
    };
    assert_eq!(keys(&mut deck, "e"), [opened]);
    let after = "title: better\n".to_owned();
    let told = update(&mut deck, Msg::EditorText(after.clone()));
    assert_eq!(
        told,
        [Effect::EditCapsule {
            id: "cap_1".to_owned(),
            before: "title: first\n".to_owned(),
            after,
        }]
    );
}

#[test]
fn the_cursor_stays_on_its_task_when_the_list_is_read_again() {
    let mut deck = deck();
    keys(&mut deck, "j");
    let mut again = rows();
    again.insert(0, row("cap_0", "newer"));
    update(&mut deck, Msg::Capsules(Ok(again.into())));
    assert_eq!(keys(&mut deck, "<enter>"), [read_of("cap_2")]);
}

/// As where the daemon does not do it.
fn refuse(deck: &mut Deck, effects: &[Effect]) {
    let [effect] = effects else {
        panic!("{effects:?}");
    };
    let (why, effect) = ("no answer came".to_owned(), Box::new(effect.clone()));
    update(deck, Msg::Refused { why, effect });
    let shown = shown(deck);
    assert!(
        shown.contains("no answer came; what you wrote is kept"),
        "{shown}"
    );
}

fn closed(outcome: &str) -> Effect {
    Effect::CloseCapsule {
        id: "cap_1".to_owned(),
        outcome: Some(outcome.to_owned()),
    }
}

fn editor(text: &str) -> Effect {
    Effect::OpenEditor {
        text: text.to_owned(),
        is_draft: true,
    }
}

fn said(text: &str) -> FoundSnippet {
    FoundSnippet {
        text: text.to_owned(),
        cited: "session_1, entry 7, claude".to_owned(),
    }
}

/// The list of what was said before about tokens, read.
fn look(deck: &mut Deck, script: &str) {
    let to = AlikeTo::Words("Rotate tokens".to_owned());
    assert_eq!(keys(deck, script), [Effect::FindAlike(to.clone())]);
    let found = Ok(vec![said("one"), said("two")]);
    update(deck, Msg::Alike { to, found });
}

#[test]
fn what_came_of_a_task_stands_there_again_where_it_was_refused() {
    let mut deck = deck();
    keys(&mut deck, "<enter>");
    read(&mut deck, row("cap_1", "first"));
    let sent = keys(&mut deck, "crotated<enter>");
    assert_eq!(sent, [closed("rotated")]);
    refuse(&mut deck, &sent);
    assert_eq!(keys(&mut deck, "c<enter>"), sent);
    // The line may have been opened again before that.
    keys(&mut deck, "c");
    refuse(&mut deck, &sent);
    keys(&mut deck, "<esc>c");
    assert!(shown(&deck).contains("rotated"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "<enter>"), sent);
    // It was said.
    keys(&mut deck, "c");
    assert!(!shown(&deck).contains("rotated"), "{}", shown(&deck));
}

#[test]
fn what_was_edited_of_a_task_is_opened_again_where_it_was_refused() {
    let mut deck = deck();
    keys(&mut deck, "<enter>");
    read(&mut deck, row("cap_1", "first"));
    assert_eq!(keys(&mut deck, "e"), [editor("title: first\n")]);
    let edited = |after: &str| Effect::EditCapsule {
        id: "cap_1".to_owned(),
        before: "title: first\n".to_owned(),
        after: after.to_owned(),
    };
    let sent = update(&mut deck, Msg::EditorText("title: better\n".to_owned()));
    assert_eq!(sent, [edited("title: better\n")]);
    refuse(&mut deck, &sent);
    // What others said meanwhile is no change of the person's.
    let view = CapsuleView {
        row: row("cap_1", "of others"),
        draft: "title: of others\n".to_owned(),
        ..CapsuleView::default()
    };
    let (id, read) = ("cap_1".to_owned(), Ok(Box::new(view)));
    update(&mut deck, Msg::Capsule { id, read });
    assert_eq!(keys(&mut deck, "e"), [editor("title: better\n")]);
    let sent = update(&mut deck, Msg::EditorText("title: best\n".to_owned()));
    assert_eq!(sent, [edited("title: best\n")]);
    assert_eq!(keys(&mut deck, "e"), [editor("title: of others\n")]);
}

#[test]
fn the_title_and_the_ticks_of_a_task_that_could_not_begin_are_there_again() {
    let mut deck = deck();
    look(&mut deck, "nRotate tokens<enter><enter>");
    let sent = keys(&mut deck, "j<space><enter>");
    let begun = Effect::BeginTask {
        title: "Rotate tokens".to_owned(),
        found: vec![said("two")],
    };
    assert_eq!(sent, [begun]);
    refuse(&mut deck, &sent);
    look(&mut deck, "n<enter><enter>");
    assert!(shown(&deck).contains("[x] two"), "{}", shown(&deck));
    assert!(shown(&deck).contains("[ ] one"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "<enter>"), sent);
    // It has begun: the next one begins with nothing.
    look(&mut deck, "nRotate tokens<enter><enter>");
    assert!(shown(&deck).contains("[ ] two"), "{}", shown(&deck));
}

/// `two` is ticked for a task that is refused then.
fn refused_with_a_tick() -> (Deck, Vec<Effect>) {
    let mut deck = deck();
    look(&mut deck, "nRotate tokens<enter><enter>");
    let sent = keys(&mut deck, "j<space><enter>");
    refuse(&mut deck, &sent);
    (deck, sent)
}

#[test]
fn the_ticks_of_a_task_that_could_not_begin_do_not_go_into_another() {
    let (mut deck, _) = refused_with_a_tick();
    let clear = "<backspace>".repeat("Rotate tokens".len());
    // By the same words, so that the same is found.
    let other = format!("n{clear}Other<enter>{clear}Rotate tokens<enter>");
    look(&mut deck, &other);
    let screen = shown(&deck);
    assert!(screen.contains("[ ] one"), "{screen}");
    assert!(screen.contains("[ ] two"), "{screen}");
    let begun = Effect::BeginTask {
        title: "Other".to_owned(),
        found: Vec::new(),
    };
    assert_eq!(keys(&mut deck, "<enter>"), [begun]);
    // Who takes the title away takes its ticks away.
    let (mut deck, _) = refused_with_a_tick();
    keys(&mut deck, &format!("n{clear}<esc>"));
    look(&mut deck, "nRotate tokens<enter><enter>");
    let screen = shown(&deck);
    assert!(screen.contains("[ ] two"), "{screen}");
}

#[test]
fn ticks_that_are_kept_go_into_their_task_also_where_nothing_can_be_looked_for() {
    let (mut deck, sent) = refused_with_a_tick();
    let to = AlikeTo::Words("Rotate tokens".to_owned());
    let looked = keys(&mut deck, "n<enter><enter>");
    assert_eq!(looked, [Effect::FindAlike(to.clone())]);
    let found = Err("the index is being made".to_owned());
    update(&mut deck, Msg::Alike { to, found });
    let screen = shown(&deck);
    assert!(screen.contains("the index is being made"), "{screen}");
    assert!(screen.contains("[x] two"), "{screen}");
    assert_eq!(keys(&mut deck, "<enter>"), sent);
}

#[test]
fn what_is_written_of_a_task_stays_while_the_daemon_is_away() {
    let away = || Msg::View(Box::new(disconnected()));
    let back = || Msg::View(Box::new(pair_at_work()));
    let mut deck = deck();
    look(&mut deck, "nRotate tokens<enter><enter>");
    keys(&mut deck, "j<space>");
    update(&mut deck, away());
    assert_eq!(keys(&mut deck, "<enter>"), []);
    let screen = shown(&deck);
    assert!(screen.contains("no task was begun"), "{screen}");
    assert!(screen.contains("[x] two"), "{screen}");
    update(&mut deck, back());
    let begun = |found: Vec<FoundSnippet>| Effect::BeginTask {
        title: "Rotate tokens".to_owned(),
        found,
    };
    assert_eq!(keys(&mut deck, "<enter>"), [begun(vec![said("two")])]);
    keys(&mut deck, "nRotate tokens<enter>");
    keys(&mut deck, &"<backspace>".repeat("Rotate tokens".len()));
    update(&mut deck, away());
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(shown(&deck).contains("no task was begun"));
    update(&mut deck, back());
    assert_eq!(keys(&mut deck, "<enter>"), [begun(Vec::new())]);

    keys(&mut deck, "<enter>");
    read(&mut deck, row("cap_1", "first"));
    keys(&mut deck, "crotated");
    update(&mut deck, away());
    assert_eq!(keys(&mut deck, "<enter>"), []);
    let screen = shown(&deck);
    assert!(screen.contains("nothing was recorded"), "{screen}");
    assert!(screen.contains("rotated"), "{screen}");
    update(&mut deck, back());
    assert_eq!(keys(&mut deck, "<enter>"), [closed("rotated")]);

    keys(&mut deck, "e");
    update(&mut deck, away());
    let left = Msg::EditorText("title: better\n".to_owned());
    assert_eq!(update(&mut deck, left), []);
    let screen = shown(&deck);
    assert!(screen.contains("what you wrote is kept"), "{screen}");
    update(&mut deck, back());
    assert_eq!(keys(&mut deck, "e"), [editor("title: better\n")]);
}

#[test]
fn what_is_typed_behind_a_key_of_a_task_is_text_also_without_a_daemon() {
    let mut deck = deck();
    update(&mut deck, Msg::View(Box::new(disconnected())));
    let begins = keys(&mut deck, "nquick quest<enter><ctrl-u><enter>");
    assert_eq!(begins, []);
    assert!(shown(&deck).contains("no task was begun"));
    keys(&mut deck, "<esc>");
    for (key, text) in [("c", "quick close"), ("w", "quick file")] {
        keys(&mut deck, "<enter>");
        read(&mut deck, row("cap_1", "first"));
        assert_eq!(keys(&mut deck, &format!("{key}{text}<enter>")), [], "{key}");
        let screen = shown(&deck);
        assert!(screen.contains(text), "{key}: {screen}");
        assert!(screen.contains("nothing was recorded"), "{key}: {screen}");
        keys(&mut deck, "<esc><esc>");
    }
    update(&mut deck, Msg::View(Box::new(pair_at_work())));
    // The title is there still.
    keys(&mut deck, "n");
    assert!(shown(&deck).contains("quick quest"));
}

#[test]
fn a_key_pressed_before_a_task_is_read_is_told_that_it_is_being_read() {
    let mut deck = deck();
    keys(&mut deck, "<enter>");
    for key in ["c", "w", "h", "e"] {
        assert_eq!(keys(&mut deck, key), []);
        let shown = terminal(&deck, SIZE).backend().to_string();
        assert!(
            shown.contains("the task is still being read"),
            "{key}: {shown}"
        );
    }
    read(&mut deck, row("cap_1", "first"));
    keys(&mut deck, "c");
    let shown = terminal(&deck, SIZE).backend().to_string();
    assert!(shown.contains("Close the task"), "{shown}");
}
