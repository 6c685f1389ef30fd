//! Writing to an agent: what is typed and pasted, what becomes of it, and the receipt.

use ctxrelay_ui::model::{
    Agent, AgentState, DaemonState, DeckView, Level, OutcomeState, Party, RowOutcome, SentMessage,
    TimelineRow,
};
use ctxrelay_ui::scenes::{NOW_MS, keys, pair_at_work, passphrase_asked, screen};
use ctxrelay_ui::{Deck, Effect, Msg, NoteTag, WhenBusy, update};
use unicode_width::UnicodeWidthStr as _;

use crate::kit::{deck, deck_at, shown};

fn message(text: &str, when_busy: WhenBusy) -> Effect {
    numbered(1, text, when_busy)
}

/// The draft of this number, which is the one that was sent so many sends after the first.
fn numbered(draft: u64, text: &str, when_busy: WhenBusy) -> Effect {
    Effect::SendMessage {
        to: Agent::Claude,
        text: text.into(),
        when_busy,
        draft: Some(draft),
    }
}

fn not_sent(draft: u64, why: &str) -> Msg {
    Msg::NotSent {
        why: why.to_owned(),
        draft: Some(draft),
    }
}

fn sent(draft: u64) -> Msg {
    Msg::Sent {
        to: Agent::Claude,
        line: 1_205,
        draft: Some(draft),
    }
}

#[test]
fn it_is_counted_and_edited_as_in_a_shell() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "mone two");
    assert!(shown(&deck).contains("7 characters · 1 line"));
    keys(&mut deck, "<ctrl-w>");
    keys(&mut deck, "<alt-enter>x");
    assert!(
        shown(&deck).contains("6 characters · 2 lines"),
        "{}",
        shown(&deck)
    );
    keys(&mut deck, "<ctrl-u><backspace><ctrl-u>");
    assert!(shown(&deck).contains("0 characters · 1 line"));
    keys(&mut deck, "<ctrl-y>");
    assert_eq!(keys(&mut deck, "<enter>"), [message("one", WhenBusy::Wait)]);
}

#[test]
fn what_becomes_of_it_is_said_for_each_choice_and_state() {
    let mut view = pair_at_work();
    let mut said = Vec::new();
    let states = [
        AgentState::Idle,
        AgentState::Busy,
        AgentState::Limited,
        AgentState::Offline,
    ];
    for state in states {
        view.agents[0].state = state;
        let mut deck = deck(view.clone());
        keys(&mut deck, "1m");
        for _ in 0..3 {
            let screen = shown(&deck);
            let line = screen
                .lines()
                .find(|line| line.contains(" now: "))
                .expect("a line");
            let words = line.split("│ ").find(|part| part.contains(" now: "));
            let words = words
                .and_then(|words| words.split("  ").next())
                .unwrap_or_default();
            said.push(format!("{}: {words}", state.as_str()));
            keys(&mut deck, "<ctrl-o>");
        }
    }
    assert_eq!(
        said,
        [
            "idle: wait if busy · idle now: begins a turn",
            "idle: join if busy · idle now: begins a turn",
            "idle: only if idle · idle now: begins a turn",
            "busy: wait if busy · busy now: after this turn",
            "busy: join if busy · busy now: within this turn",
            "busy: only if idle · busy now: would be refused",
            "limited: wait if busy · at its limit now: after that",
            "limited: join if busy · at its limit now: after that",
            "limited: only if idle · at its limit now: after that",
            "offline: wait if busy · not there now: once it is",
            "offline: join if busy · not there now: once it is",
            "offline: only if idle · not there now: once it is",
        ]
    );
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1mnow<ctrl-o>");
    assert_eq!(keys(&mut deck, "<enter>"), [message("now", WhenBusy::Join)]);
}

/// The world with a message of the operator's, in this state.
fn with_message(line: u64, state: OutcomeState, text: &str) -> DeckView {
    let mut view = pair_at_work();
    let to = Some(Party::from(Agent::Claude));
    let mut row = TimelineRow::new(line, view.now_ms, Party::Human, to, "message", "now");
    row.outcome = Some(RowOutcome {
        since_ms: Some(view.now_ms - 3_000),
        ..RowOutcome::new(state, text)
    });
    view.timeline.push(row);
    view
}

/// The line above the hints.
fn notice(deck: &Deck) -> String {
    let screen = shown(deck);
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[lines.len() - 1].contains("? help"), "{screen}");
    lines[lines.len() - 2].to_owned()
}

#[test]
fn a_message_is_followed_until_it_is_proven() {
    let mut deck = deck(pair_at_work());
    let line = 1_205;
    update(
        &mut deck,
        Msg::Sent {
            to: Agent::Claude,
            line,
            draft: None,
        },
    );
    assert!(notice(&deck).contains("to ◆ Claude, entry 1 205 · recorded"));
    let offered = with_message(
        line,
        OutcomeState::Unconfirmed,
        "offered to Claude by doorbell",
    );
    let now = offered.now_ms;
    update(&mut deck, Msg::View(Box::new(offered)));
    keys(&mut deck, "j");
    let said = notice(&deck);
    assert!(
        said.contains("◌ to ◆ Claude, entry 1 205 · offered to Claude by doorbell"),
        "{said}"
    );
    assert!(said.contains("3s"), "{said}");
    update(&mut deck, Msg::Tick(now + 60_000));
    assert!(
        notice(&deck).contains("offered"),
        "it stays while nothing is proven"
    );
    let mut proven = with_message(line, OutcomeState::Done, "acknowledged by Claude");
    proven.now_ms = now + 61_000;
    update(&mut deck, Msg::View(Box::new(proven)));
    assert!(notice(&deck).contains("✓ to ◆ Claude, entry 1 205 · acknowledged by Claude"));
    assert!(deck.next_redraw_ms().is_some_and(|ms| ms <= 9_000));
    update(&mut deck, Msg::Tick(now + 70_000));
    assert!(
        !notice(&deck).contains("acknowledged"),
        "it was seen for long enough"
    );
}

#[test]
fn a_message_is_followed_where_no_row_tells_of_it() {
    let mut view = pair_at_work();
    view.sent = vec![SentMessage {
        line: 2_001,
        outcome: RowOutcome::new(OutcomeState::Unconfirmed, "no proof yet"),
    }];
    let mut deck = deck(view.clone());
    let to = Agent::Codex;
    let (line, draft) = (2_001, None);
    update(&mut deck, Msg::Sent { to, line, draft });
    assert!(notice(&deck).contains("no proof yet"), "{}", shown(&deck));
    view.sent[0].outcome = RowOutcome::new(OutcomeState::Done, "started a turn");
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(notice(&deck).contains("started a turn"), "{}", shown(&deck));
    update(&mut deck, Msg::Tick(NOW_MS + 9_000));
    assert!(
        !notice(&deck).contains("started a turn"),
        "{}",
        shown(&deck)
    );
}

#[test]
fn a_receipt_goes_with_esc_or_with_its_record() {
    let mut deck = deck(pair_at_work());
    update(
        &mut deck,
        Msg::Sent {
            to: Agent::Codex,
            line: 1_205,
            draft: None,
        },
    );
    keys(&mut deck, "<esc>");
    assert!(!notice(&deck).contains("1 205"));
    update(
        &mut deck,
        Msg::Sent {
            to: Agent::Codex,
            line: 1_205,
            draft: None,
        },
    );
    let mut other = pair_at_work();
    other.session_id = "session_1_another".into();
    update(&mut deck, Msg::View(Box::new(other)));
    assert!(!notice(&deck).contains("1 205"));
}

#[test]
fn a_paste_of_a_megabyte_and_of_strange_text_is_clean_and_is_seen_to_go_on() {
    for size in [(60, 15), (80, 24), (200, 50)] {
        let mut deck = deck_at(pair_at_work(), size);
        keys(&mut deck, "m");
        let line = "漢字 👩\u{200d}💻 e\u{301} שלום مرحبا \u{202e}x\u{1b}[2J\u{7}\r\n";
        update(&mut deck, Msg::Paste(line.repeat(1_000_000 / line.len())));
        let buffer = screen(&deck, size);
        for cell in &buffer.content {
            let symbol = cell.symbol();
            let is_hidden = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!symbol.chars().any(is_hidden), "{symbol:?}");
            assert!(symbol.width() <= 2);
        }
        assert!(
            shown(&deck).contains('┃'),
            "where one is in it: {}",
            shown(&deck)
        );
        // Closed and opened again, the draft is the same.
        keys(&mut deck, "<esc>m<ctrl-e>!");
        let sent = keys(&mut deck, "<enter>");
        let [Effect::SendMessage { text, .. }] = &sent[..] else {
            panic!("{} effects", sent.len());
        };
        assert!(text.len() <= 256 * 1024);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains('\r'));
        assert!(text.contains("שלום") && text.contains("漢字"));
    }
}

#[test]
fn a_note_has_a_sort_and_no_receiver_and_its_draft_is_its_own() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "Mkeep the old endpoint");
    assert!(shown(&deck).contains("Note · note"));
    keys(&mut deck, "<ctrl-t>");
    assert!(shown(&deck).contains("Note · decision"));
    assert!(shown(&deck).contains("wakes nobody"), "{}", shown(&deck));
    keys(&mut deck, "<esc>m");
    assert!(!shown(&deck).contains("keep the old endpoint"));
    keys(&mut deck, "<esc>M");
    assert!(
        shown(&deck).contains("keep the old endpoint"),
        "the draft is kept"
    );
    let note = Effect::AppendNote {
        tag: NoteTag::Decision,
        text: "keep the old endpoint".into(),
        draft: Some(1),
    };
    assert_eq!(keys(&mut deck, "<enter>"), [note]);
}

#[test]
fn what_was_refused_is_a_draft_again() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1mtoo long<enter>");
    update(&mut deck, not_sent(1, "longer than 100 characters"));
    assert!(notice(&deck).contains("longer than 100 characters; it is kept as a draft"));
    keys(&mut deck, "m");
    assert!(shown(&deck).contains("too long"));
    let again = [numbered(2, "too long", WhenBusy::Wait)];
    assert_eq!(keys(&mut deck, "<enter>"), again);
    update(&mut deck, sent(2));
    keys(&mut deck, "m");
    assert!(!shown(&deck).contains("too long"), "it has arrived");
    // Another one was begun meanwhile: that one stays, and the one that came back is behind it.
    keys(&mut deck, "first<enter>msecond<esc>");
    update(&mut deck, not_sent(3, "refused"));
    assert!(notice(&deck).contains("kept as a draft, behind the one that you began"));
    keys(&mut deck, "m");
    assert!(shown(&deck).contains("second"));
    assert!(shown(&deck).contains("one more draft waits behind this one"));
    keys(&mut deck, "<enter>m");
    assert!(shown(&deck).contains("first"), "{}", shown(&deck));
}

#[test]
fn of_two_that_are_on_their_way_the_one_that_was_refused_comes_back() {
    for refused in [1, 2] {
        let mut deck = deck(pair_at_work());
        keys(&mut deck, "1mplums<enter>mpears<enter>");
        // Their answers come in the order in which they were sent.
        for draft in [1, 2] {
            let told = match draft == refused {
                true => not_sent(draft, "refused"),
                false => sent(draft),
            };
            update(&mut deck, told);
        }
        keys(&mut deck, "m");
        let screen = shown(&deck);
        assert_eq!(screen.contains("plums"), refused == 1, "{screen}");
        assert_eq!(screen.contains("pears"), refused == 2, "{screen}");
    }
}

#[test]
fn a_note_that_is_recorded_is_no_draft_any_more() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "Mplums are kept cold<enter>");
    let written = Msg::Written {
        level: Level::Info,
        text: "recorded: your note".to_owned(),
        draft: Some(1),
    };
    update(&mut deck, written);
    assert!(notice(&deck).contains("recorded: your note"));
    update(&mut deck, not_sent(1, "refused"));
    assert!(!notice(&deck).contains("kept as a draft"));
    keys(&mut deck, "M");
    assert!(!shown(&deck).contains("plums"));
}

#[test]
fn a_draft_to_the_other_agent_is_said_and_gone_on_with() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "2m<ctrl-t>plums<esc>m");
    let screen = shown(&deck);
    assert!(screen.contains("Message → ◆ Claude"), "{screen}");
    assert!(
        screen.contains("a draft to Codex waits: ctrl-t"),
        "{screen}"
    );
    keys(&mut deck, "<ctrl-t>");
    let sent = Effect::SendMessage {
        to: Agent::Codex,
        text: "plums".into(),
        when_busy: WhenBusy::Wait,
        draft: Some(1),
    };
    assert_eq!(keys(&mut deck, "<enter>"), [sent]);
    // What is written goes to the other one as it is.
    keys(&mut deck, "m<ctrl-t>pears<esc>mone");
    keys(&mut deck, "<ctrl-t>");
    assert!(shown(&deck).contains("3 characters"), "{}", shown(&deck));
}

#[test]
fn what_becomes_of_it_and_the_sort_of_a_note_are_kept_with_the_draft() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1mnow<ctrl-o><esc>m");
    assert_eq!(keys(&mut deck, "<enter>"), [message("now", WhenBusy::Join)]);
    // The next one begins as ever.
    keys(&mut deck, "mlater");
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [numbered(2, "later", WhenBusy::Wait)]
    );
    keys(&mut deck, "M<ctrl-t>plums<esc>M");
    let note = keys(&mut deck, "<enter>");
    assert!(
        matches!(
            &note[..],
            [Effect::AppendNote {
                tag: NoteTag::Decision,
                ..
            }]
        ),
        "{note:?}"
    );
}

#[test]
fn leaving_says_that_something_is_still_on_its_way() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "q");
    assert!(!shown(&deck).contains("may not be recorded"));
    keys(&mut deck, "<esc>1mplums<enter>q");
    assert!(shown(&deck).contains("What you wrote last may not be recorded yet."));
    keys(&mut deck, "<esc>");
    update(&mut deck, sent(1));
    keys(&mut deck, "q");
    assert!(!shown(&deck).contains("may not be recorded"));
}

#[test]
fn what_was_edited_comes_back_below_what_was_asked_meanwhile() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1mone<ctrl-g>");
    update(&mut deck, passphrase_asked());
    update(&mut deck, Msg::EditorText("one and two\n".to_owned()));
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("one and two"), "{}", shown(&deck));
}

#[test]
fn a_draft_goes_to_the_editor_and_is_kept_whatever_becomes_of_that() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "mone<ctrl-g>"), [draft("one")]);
    // It failed: what was typed stands there as it was, and the reason.
    let failed = "$EDITOR failed with exit code 3".to_owned();
    update(&mut deck, Msg::Notice(Level::Warn, failed));
    assert!(shown(&deck).contains("exit code 3"));
    assert!(shown(&deck).contains("3 characters · 1 line"));
    assert_eq!(keys(&mut deck, "<ctrl-g>"), [draft("one")]);
    update(&mut deck, Msg::EditorText("one\ntwo\u{202e}\n".to_owned()));
    assert!(shown(&deck).contains("1 character that cannot be seen or sent was left out"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [message("one\ntwo", WhenBusy::Wait)]
    );
    // Also where nothing is written yet.
    assert_eq!(keys(&mut deck, "m<ctrl-g>"), [draft("")]);
}

#[test]
fn what_is_too_long_for_a_message_is_cut_with_a_word_and_the_rest_stays_quick_to_read() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "m");
    let paste = "0123456789abcde\n".repeat(65_536);
    update(&mut deck, Msg::Paste(paste));
    let screen = shown(&deck);
    assert!(screen.contains("786 432 characters"), "{screen}");
    assert!(
        screen.contains("262 144 characters · 16 385 lines"),
        "{screen}"
    );
    keys(&mut deck, "<esc>");
    assert!(!shown(&deck).contains("Message"), "it is a draft");
    keys(&mut deck, "m");
    assert!(shown(&deck).contains("262 144 characters"));
}

fn draft(text: &str) -> Effect {
    Effect::OpenEditor {
        text: text.to_owned(),
        is_draft: true,
    }
}

#[test]
fn the_screen_is_drawn_again_and_the_deck_suspended_also_while_one_types() {
    for open in ["m", "h<tab>", ":", "/", "/<tab>", "f", "#"] {
        let mut view = pair_at_work();
        view.daemon.state = DaemonState::Attached;
        let mut deck = deck(view);
        keys(&mut deck, open);
        assert_eq!(keys(&mut deck, "<ctrl-l>"), [Effect::Redraw], "{open}");
        assert_eq!(keys(&mut deck, "<ctrl-z>"), [Effect::Suspend], "{open}");
    }
}
