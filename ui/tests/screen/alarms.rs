//! What is not as it should be: a row for as long as it is so, and what to do on its card.

use ctxrelay_ui::model::{Agent, Banner, InboxCard, InboxKind, Level, Party, UsageLimit};
use ctxrelay_ui::scenes::{NOW_MS, keys, quiet, trouble};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{deck_at, shown};

/// Every layout: beside each other, tabs, and only the three answers.
const SIZES: [(u16, u16); 7] = [
    (200, 50),
    (120, 40),
    (100, 24),
    (80, 24),
    (60, 15),
    (50, 12),
    (40, 10),
];

fn trouble_card() -> InboxCard {
    InboxCard {
        steps: vec!["Make room on that disk.".to_owned()],
        command: Some("ctxrelay doctor".to_owned()),
        ..InboxCard::new(
            InboxKind::Trouble,
            "state-disk",
            Party::System,
            0,
            "the disk is full",
        )
    }
}

fn tampering_card() -> InboxCard {
    let summary = "somebody else touched the record";
    InboxCard::new(InboxKind::Tampering, "m-04b6", Party::System, 0, summary)
}

#[test]
fn nothing_waits_is_never_said_beside_a_banner_or_a_row() {
    let banner = Some(Banner {
        level: Level::Warn,
        text: "the disk is full".to_owned(),
    });
    let notice = InboxCard {
        kind: InboxKind::Notice,
        ..trouble_card()
    };
    for size in SIZES {
        for pane in ["1", "3"] {
            let mut calm = deck_at(quiet(), size);
            keys(&mut calm, pane);
            let screen = shown(&calm).to_lowercase();
            assert!(screen.contains("nothing waits"), "{screen}");
            let is_narrow = size.0 < 100;
            assert_eq!(screen.contains("all well"), is_narrow, "{size:?}\n{screen}");
            for (banner, inbox) in [
                (&banner, vec![]),
                (&banner, vec![trouble_card()]),
                (&banner, vec![notice.clone()]),
                // It has a row and no banner, as what went wrong with a message has.
                (&None, vec![tampering_card()]),
                (
                    &None,
                    vec![InboxCard {
                        kind: InboxKind::Alarm,
                        ..tampering_card()
                    }],
                ),
            ] {
                let mut view = quiet();
                view.banner.clone_from(banner);
                view.inbox = inbox;
                let mut deck = deck_at(view, size);
                keys(&mut deck, pane);
                let screen = shown(&deck).to_lowercase();
                for claim in ["nothing waits", "all well"] {
                    assert!(!screen.contains(claim), "{claim}, {size:?}\n{screen}");
                }
            }
        }
    }
}

#[test]
fn an_alarm_opens_to_what_can_be_done_and_its_command_is_copied() {
    let mut view = quiet();
    view.inbox = vec![trouble_card()];
    let mut deck = deck_at(view, (80, 24));
    keys(&mut deck, "3");
    assert!(shown(&deck).contains("1 waits for you"), "{}", shown(&deck));
    assert!(deck.window_title().starts_with("1 waits"));
    keys(&mut deck, "<enter>");
    let screen = shown(&deck);
    for words in ["What to do", "Make room on that disk.", "ctxrelay doctor"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    let copied = |text: &str| [Effect::CopyText(text.to_owned())];
    assert_eq!(keys(&mut deck, "Y"), copied("ctxrelay doctor"));
    let all = "the disk is full\nMake room on that disk.\nctxrelay doctor";
    assert_eq!(keys(&mut deck, "y"), copied(all));
    // No key of a proposal or a delivery does anything on it.
    assert_eq!(keys(&mut deck, "axrug<enter>"), []);
    keys(&mut deck, "<esc>u");
    let screen = shown(&deck);
    assert!(screen.contains("goes away by itself"), "{screen}");
}

#[test]
fn what_only_is_so_stands_below_and_is_not_counted() {
    let deck = deck_at(trouble(), (120, 40));
    let screen = shown(&deck);
    let at = |words: &str| {
        screen
            .find(words)
            .unwrap_or_else(|| panic!("{words}\n{screen}"))
    };
    assert!(screen.contains("4 wait for you"), "{screen}");
    assert!(at("▲ alarm") < at("‖ limit    ◇"));
    assert!(at("‖ limit    ◇") < at("◌ setup"));
    assert!(at("◌ setup") < at("· notice"));
}

#[test]
fn a_limit_is_a_row_that_counts_down_and_opens_with_the_agents_keys() {
    let mut view = quiet();
    view.agents[1].limit = Some(UsageLimit {
        resets_ms: Some(NOW_MS + 7_860_000),
        try_ms: None,
        tries: 0,
        tries_max: 6,
        again: 0,
        is_cancelled: false,
    });
    let card = InboxCard::new(
        InboxKind::Limited,
        "limit-codex",
        Agent::Codex,
        NOW_MS,
        "Codex is at its usage limit",
    );
    view.inbox = vec![card];
    let mut deck = deck_at(view, (80, 24));
    keys(&mut deck, "3");
    let row = |deck: &Deck| {
        let screen = shown(deck);
        let line = screen.lines().find(|line| line.contains("‖ limit    ◇"));
        line.unwrap_or_default().to_owned()
    };
    assert!(row(&deck).contains("ends in 2h 11m"), "{}", row(&deck));
    update(&mut deck, Msg::Tick(NOW_MS + 7_200_000));
    assert!(row(&deck).contains("ends in 11m"), "{}", row(&deck));
    keys(&mut deck, "<enter>");
    assert!(shown(&deck).contains("l try now"), "{}", shown(&deck));
}
