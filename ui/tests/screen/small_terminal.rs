//! A terminal that is too small or narrow: nothing happens that is not seen, and words are not cut.

use ctxrelay_ui::model::InboxKind;
use ctxrelay_ui::scenes::{keys, pair_at_work, passphrase_asked, quiet, signed};
use ctxrelay_ui::{Effect, Msg, QuitChoice, update};

use crate::kit::{deck_at, shown};

#[test]
fn where_nothing_is_shown_no_key_does_what_is_not_seen() {
    for small in [(40, 23), (80, 14)] {
        let mut deck = deck_at(pair_at_work(), small);
        assert_eq!(keys(&mut deck, "mhello<enter>3a<enter>?"), []);
        update(&mut deck, Msg::Resize(80, 24));
        let untouched = deck_at(pair_at_work(), (80, 24));
        assert_eq!(shown(&deck), shown(&untouched));
        // What was begun before waits until it is seen again.
        keys(&mut deck, "mhello");
        update(&mut deck, Msg::Resize(small.0, small.1));
        assert_eq!(keys(&mut deck, " you<enter>"), []);
        assert_eq!(update(&mut deck, Msg::Paste("rm -r".to_owned())), []);
        update(&mut deck, Msg::Resize(80, 24));
        assert!(shown(&deck).contains("5 characters"), "{}", shown(&deck));
    }
}

#[test]
fn where_nothing_is_shown_one_can_leave_and_draw_again() {
    for before in ["", "m", "?"] {
        for leave in ["q", "<ctrl-c>"] {
            if (before, leave) == ("m", "q") {
                continue;
            }
            let mut deck = deck_at(pair_at_work(), (80, 24));
            keys(&mut deck, before);
            update(&mut deck, Msg::Resize(40, 23));
            assert_eq!(keys(&mut deck, "<ctrl-l>"), [Effect::Redraw]);
            let left = keys(&mut deck, leave);
            assert_eq!(left, [Effect::Quit(QuitChoice::Stay)], "{before} {leave}");
        }
    }
}

#[test]
fn a_letter_that_is_typed_on_does_not_leave_while_the_terminal_is_too_small() {
    for before in ["mquickly", "/qui", ":qui", "#1", "3<enter>xtoo qui"] {
        let mut deck = deck_at(pair_at_work(), (80, 24));
        keys(&mut deck, before);
        let typed = shown(&deck);
        update(&mut deck, Msg::Resize(50, 12));
        assert_eq!(keys(&mut deck, "quick"), [], "{before}");
        update(&mut deck, Msg::Resize(80, 24));
        assert_eq!(shown(&deck), typed, "{before}");
        update(&mut deck, Msg::Resize(50, 12));
        let left = keys(&mut deck, "<ctrl-c>");
        assert_eq!(left, [Effect::Quit(QuitChoice::Stay)], "{before}");
    }
    let mut deck = deck_at(signed(), (80, 24));
    update(&mut deck, passphrase_asked());
    update(&mut deck, Msg::Resize(50, 12));
    assert_eq!(keys(&mut deck, "quick"), []);
}

#[test]
fn beside_an_open_card_no_mark_of_the_list_is_left() {
    for columns in [60, 80, 120] {
        let mut deck = deck_at(pair_at_work(), (columns, 24));
        keys(&mut deck, "3");
        assert!(shown(&deck).contains('▸'), "{}", shown(&deck));
        keys(&mut deck, "<enter>");
        let screen = shown(&deck);
        let mut lines = screen.lines();
        assert!(!lines.any(|line| line.starts_with("\"▸")), "{screen}");
    }
}

#[test]
fn what_becomes_of_a_text_is_said_whole_at_sixty_columns() {
    let mut view = pair_at_work();
    for sort in [
        "",
        "<ctrl-t>",
        "<ctrl-t><ctrl-t>",
        "<ctrl-t><ctrl-t><ctrl-t>",
    ] {
        let mut deck = deck_at(view.clone(), (60, 24));
        keys(&mut deck, &format!("Mkeep it{sort}"));
        let screen = shown(&deck);
        let is_whole = screen.contains("wakes nobody: both agents find it in the record")
            || screen.contains("in the way of a proposal until something answers it");
        assert!(is_whole, "{screen}");
    }
    view.agents[0].state = ctxrelay_ui::model::AgentState::Idle;
    let mut deck = deck_at(view, (60, 24));
    keys(&mut deck, "mhello");
    assert!(shown(&deck).contains("idle now: begins a turn"));
    update(&mut deck, Msg::Resize(120, 40));
    assert!(shown(&deck).contains("5 characters · 1 line"));
}

#[test]
fn what_an_agent_asks_in_its_own_terminal_alone_offers_no_key_to_answer() {
    let mut view = quiet();
    view.inbox = vec![ctxrelay_ui::model::InboxCard::new(
        InboxKind::Approval,
        "claude-waits",
        ctxrelay_ui::model::Agent::Claude,
        view.now_ms,
        "Claude waits for you in its own pane.",
    )];
    let mut deck = deck_at(view, (120, 40));
    keys(&mut deck, "3");
    let screen = shown(&deck);
    let hints = screen.lines().last().unwrap_or_default();
    assert!(
        !hints.contains("approve") && !hints.contains("reject"),
        "{hints}"
    );
}
