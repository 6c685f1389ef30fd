//! The question for the passphrase: what is typed is not drawn, not told, and not lost.

use ctxrelay_ui::scenes::{keys, passphrase_asked, scene, screen};
use ctxrelay_ui::{Action, Deck, Effect, Msg, update};

const SIZE: (u16, u16) = (120, 40);

fn drawn(deck: &Deck) -> String {
    let buffer = screen(deck, SIZE);
    let symbols = buffer.content().iter().map(|cell| cell.symbol());
    symbols.collect()
}

/// The deck where the passphrase is asked for.
fn asked() -> Deck {
    scene("unlock").expect("the scene").deck()
}

fn typed(effects: &[Effect]) -> &str {
    match effects {
        [Effect::Unlock { passphrase }] => passphrase.as_str(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_typed_is_neither_drawn_nor_told_but_in_the_wish() {
    let mut deck = asked();
    assert!(drawn(&deck).contains("Type the passphrase"));
    keys(&mut deck, "qzjx");
    let short = drawn(&deck);
    assert!(!short.contains("qzjx"), "{short}");
    update(&mut deck, Msg::Paste("wvkq wvkq\n\u{1b}".to_owned()));
    // Not even how long it is.
    assert_eq!(drawn(&deck), short);
    assert!(!format!("{deck:?}").contains("wvkq"));

    let effects = keys(&mut deck, "<enter>");
    assert_eq!(typed(&effects), "qzjxwvkq wvkq");
    assert!(!format!("{effects:?}").contains("wvkq"));
    assert!(drawn(&deck).contains("unlocking"));
    // Nothing is sent twice while it is being checked.
    assert_eq!(keys(&mut deck, "abc<enter>"), []);
}

#[test]
fn a_wrong_one_is_said_and_can_be_typed_again() {
    let mut deck = asked();
    keys(&mut deck, "wrong<enter>");
    update(&mut deck, Msg::Unlocked(Err("that is not it".to_owned())));
    assert!(drawn(&deck).contains("that is not it"));
    assert_eq!(
        typed(&keys(
            &mut deck,
            "rihgt<backspace><backspace><backspace>ght<enter>"
        )),
        "right"
    );
    update(&mut deck, Msg::Unlocked(Ok(())));
    assert!(!drawn(&deck).contains("Sign it"));
}

#[test]
fn left_nothing_is_signed_and_a_late_answer_opens_nothing() {
    let mut deck = asked();
    assert_eq!(keys(&mut deck, "<enter>"), [], "nothing was typed");
    keys(&mut deck, "half");
    assert_eq!(keys(&mut deck, "<esc>"), [Effect::LeaveUnlock]);
    assert!(drawn(&deck).contains("nothing was signed"));
    update(&mut deck, Msg::Unlocked(Err("late".to_owned())));
    assert!(!drawn(&deck).contains("Sign it"));
    // What was typed before is not there any more.
    update(&mut deck, passphrase_asked());
    assert_eq!(typed(&keys(&mut deck, "new<enter>")), "new");
}

#[test]
fn an_unlocked_key_is_locked_by_a_command_and_a_locked_one_is_said_to_be() {
    let name = Action::LockKey.name();
    let mut deck = scene("signed_card").expect("the scene").deck();
    keys(&mut deck, "<esc>:");
    assert_eq!(
        keys(&mut deck, "lock<space>the<space>key<enter>"),
        [Effect::LockKey],
        "{name}"
    );
    let mut deck = asked();
    keys(&mut deck, "<esc><esc>:");
    assert_eq!(keys(&mut deck, "lock<space>the<space>key<enter>"), []);
}

#[test]
fn a_key_that_signs_elsewhere_is_waited_for_and_can_be_left() {
    let wait = |touch| Msg::AwaitKey {
        fingerprint: "SHA256:abc".to_owned(),
        what: "Approve: it".to_owned(),
        touch,
    };
    let mut deck = scene("signed_card").expect("the scene").deck();
    update(&mut deck, wait(true));
    let shown = drawn(&deck);
    assert!(shown.contains("Touch your key") && shown.contains("SHA256:abc"));
    assert!(shown.contains("leave it") && !shown.contains("unlock and sign"));
    assert_eq!(keys(&mut deck, "abc<enter>"), []);
    update(
        &mut deck,
        Msg::Unlocked(Err("it was not touched".to_owned())),
    );
    assert!(drawn(&deck).contains("it was not touched"));
    assert!(keys(&mut deck, "<esc>").contains(&Effect::LeaveUnlock));
    // Why not is read to its end, however long it is.
    update(&mut deck, wait(true));
    let why = format!(
        "ssh-keygen has not signed: {}the end",
        "because of this, ".repeat(20)
    );
    update(&mut deck, Msg::Unlocked(Err(why)));
    let shown = drawn(&deck);
    assert!(
        shown.contains("the end") && shown.contains("leave it"),
        "{shown}"
    );
    keys(&mut deck, "<esc>");
    update(&mut deck, wait(false));
    assert!(drawn(&deck).contains("ssh-keygen signs"));
    update(&mut deck, Msg::Unlocked(Ok(())));
    assert!(!drawn(&deck).contains("Sign it"));
}
