//! Under 100 columns Agents and Inbox share the first tab, as far as Agents leave room.

use ctxrelay_ui::model::Level;
use ctxrelay_ui::scenes::{held_up, keys, pair_at_work, quiet};
use ctxrelay_ui::{Deck, Msg, Pane, update};

use crate::kit::{click, deck_at, shown};

/// The lines with the agents and with the first card, from the top.
fn places(deck: &Deck) -> (Option<usize>, Option<usize>) {
    let screen = shown(deck);
    let line = |words: &str| screen.lines().skip(2).position(|line| line.contains(words));
    (line("◇ Codex"), line("◈ finality"))
}

#[test]
fn who_works_and_what_waits_are_seen_together_whichever_has_the_focus() {
    for columns in [60, 80, 99] {
        let mut deck = deck_at(pair_at_work(), (columns, 24));
        for (key, pane) in [("1", Pane::Agents), ("3", Pane::Inbox)] {
            keys(&mut deck, key);
            assert_eq!(deck.focus(), pane);
            let (Some(agents), Some(inbox)) = places(&deck) else {
                panic!("{}", shown(&deck));
            };
            assert!(agents < inbox, "{}", shown(&deck));
            let cursors = shown(&deck).matches('▸').count();
            assert_eq!(cursors, 1, "{}", shown(&deck));
        }
        keys(&mut deck, "2");
        assert_eq!(places(&deck).1, None, "the timeline is alone");
    }
}

#[test]
fn where_agents_leave_no_room_the_one_in_focus_has_it_all() {
    let mut deck = deck_at(held_up(), (60, 15));
    keys(&mut deck, "1");
    let (agents, inbox) = places(&deck);
    assert!(agents.is_some() && inbox.is_none(), "{}", shown(&deck));
    keys(&mut deck, "3");
    let (agents, inbox) = places(&deck);
    assert!(agents.is_none() && inbox.is_some(), "{}", shown(&deck));
}

#[test]
fn a_click_reaches_the_pane_and_row_under_it() {
    let mut deck = deck_at(pair_at_work(), (80, 24));
    keys(&mut deck, "1");
    let screen = shown(&deck);
    let row = screen.lines().position(|line| line.contains("? question"));
    let at = (20, row.expect("a question") as u16);
    click(&mut deck, at);
    assert_eq!(deck.focus(), Pane::Inbox);
    let screen = shown(&deck);
    assert!(screen.contains("▸ ? question"), "{screen}");
    click(&mut deck, at);
    assert!(shown(&deck).contains("It asks"), "a second one opens it");
}

/// The notice takes a row, which may be the one that the Inbox has no room without.
#[test]
fn a_click_beside_a_notice_means_what_is_seen_and_one_on_it_only_takes_it_away() {
    let mut hidden = 0;
    for rows in 15..=24 {
        let mut deck = deck_at(pair_at_work(), (80, rows));
        keys(&mut deck, "1");
        let (_, card) = places(&deck);
        let tell = |deck: &mut Deck| {
            let text = "it is said".to_owned();
            update(deck, Msg::Notice(Level::Info, text));
        };
        tell(&mut deck);
        let notice = shown(&deck)
            .lines()
            .position(|line| line.contains("it is said"));
        click(&mut deck, (20, notice.expect("a notice") as u16));
        assert_eq!(deck.focus(), Pane::Agents, "{rows}");
        assert!(!shown(&deck).contains("it is said"));
        tell(&mut deck);
        if let (Some(card), None) = (card, places(&deck).1) {
            hidden += 1;
            click(&mut deck, (20, card as u16 + 2));
            assert_eq!(deck.focus(), Pane::Agents, "{rows}");
        }
    }
    assert_eq!(hidden, 1);
}

#[test]
fn nothing_moves_when_a_command_ends_and_the_turn_goes_on() {
    for size in [(80, 24), (120, 40)] {
        let mut view = pair_at_work();
        assert!(view.agents[1].tool.is_some());
        let mut deck = deck_at(view.clone(), size);
        keys(&mut deck, "1");
        let before = places(&deck);
        assert!(before.1.is_some());
        view.agents[1].tool = None;
        update(&mut deck, Msg::View(Box::new(view)));
        assert_eq!(places(&deck), before, "{}", shown(&deck));
    }
}

#[test]
fn an_empty_inbox_says_so_below_the_agents() {
    let mut deck = deck_at(quiet(), (80, 24));
    keys(&mut deck, "1");
    assert!(shown(&deck).contains("── 3 Inbox ──"), "{}", shown(&deck));
    assert!(shown(&deck).contains("Nothing waits for you."));
}
