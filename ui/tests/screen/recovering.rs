//! Going on after a break: what is read, what is copied, what is sent, and nothing by itself.

use ctxrelay_ui::effect::WhenBusy;
use ctxrelay_ui::model::{Agent, DaemonState};
use ctxrelay_ui::scenes::{broken_work, keys, pair_at_work};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{deck, shows};

#[track_caller]
fn read(deck: &mut Deck) {
    update(deck, Msg::Recovery(Ok(Box::new(broken_work()))));
}

#[test]
fn the_prompt_is_copied_or_becomes_a_draft_that_waits_for_enter() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "R"), [Effect::ReadRecovery]);
    shows(&deck, "reading the record");
    read(&mut deck);
    shows(&deck, "Codex goes on with: ctxrelay codex");
    shows(&deck, "Commands without an end");
    assert_eq!(keys(&mut deck, "y"), [], "of which agent?");
    shows(&deck, "J turns to an agent");
    let [mut claude, mut codex] = <[_; 2]>::try_from(broken_work().agents).expect("two agents");
    // What is pasted into a terminal has no escape sequence.
    for of in [&mut claude, &mut codex] {
        assert!(of.prompt.contains('\u{1b}'));
        of.prompt = of.prompt.replace('\u{1b}', "");
    }
    assert_eq!(
        keys(&mut deck, "Jy"),
        [Effect::CopyText(claude.prompt.clone())]
    );
    assert_eq!(keys(&mut deck, "Y"), [Effect::CopyText(claude.command)]);
    assert_eq!(
        keys(&mut deck, "Jy"),
        [Effect::CopyText(codex.prompt.clone())]
    );
    assert_eq!(keys(&mut deck, "m"), [], "it is to be read before");
    let sent = keys(&mut deck, "<enter>");
    let wanted = Effect::SendMessage {
        to: Agent::Codex,
        text: codex.prompt.trim().to_owned(),
        when_busy: WhenBusy::default(),
        draft: Some(1),
    };
    assert_eq!(sent, [wanted]);
    shows(&deck, "Then tell it");
}

#[test]
fn what_was_written_before_stays_in_the_draft_and_the_prompt_comes_once() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1m");
    update(&mut deck, Msg::Paste("first the plums".to_owned()));
    keys(&mut deck, "<esc>R");
    read(&mut deck);
    keys(&mut deck, "Jm<esc>m<esc>m");
    let [sent] = <[_; 1]>::try_from(keys(&mut deck, "<enter>")).expect("one message");
    let Effect::SendMessage { to, text, .. } = sent else {
        panic!("{sent:?}");
    };
    assert_eq!(to, Agent::Claude);
    assert!(text.starts_with("first the plums\n\nGo on with"), "{text}");
    assert_eq!(text.matches("Go on with").count(), 1, "{text}");
}

#[test]
fn without_a_daemon_it_is_read_and_nothing_is_sent() {
    let mut view = pair_at_work();
    view.daemon.state = DaemonState::Ended;
    let mut deck = deck(view);
    assert_eq!(keys(&mut deck, "R"), [Effect::Restart]);
    assert_eq!(
        keys(&mut deck, ":where the work stands<enter>"),
        [Effect::ReadRecovery]
    );
    read(&mut deck);
    keys(&mut deck, "Jm");
    shows(&deck, "nothing can be sent now");
    assert_eq!(keys(&mut deck, "<enter>"), []);
    shows(&deck, "the draft is kept, nothing was sent");
}

#[test]
fn why_it_cannot_be_read_is_said() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "R");
    update(
        &mut deck,
        Msg::Recovery(Err("line 3\u{1b}[2J is cut".to_owned())),
    );
    shows(&deck, "line 3^[[2J is cut");
    assert_eq!(keys(&mut deck, "Jy"), []);
}
