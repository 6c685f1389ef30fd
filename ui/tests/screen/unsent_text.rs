//! What was written and not sent is told when the deck is left: kept, or still in front.

use ctxrelay_ui::model::{CapsuleLine, CapsuleRows, CapsuleView};
use ctxrelay_ui::scenes::{keys, pair_at_work, reviewed};
use ctxrelay_ui::{Deck, Msg, update};

use crate::kit;

fn unsent(deck: &Deck) -> Vec<(String, String)> {
    let all = deck.unsent().into_iter();
    all.map(|unsent| (unsent.what, unsent.text)).collect()
}

fn is(what: &str, text: &str) -> (String, String) {
    (what.to_owned(), text.to_owned())
}

#[test]
fn drafts_are_told_and_what_is_being_written_as_well() {
    let mut deck = kit::deck(pair_at_work());
    assert_eq!(unsent(&deck), []);
    keys(&mut deck, "mplums<esc>");
    let kept = is("your message to Claude", "plums");
    assert_eq!(unsent(&deck), std::slice::from_ref(&kept));
    keys(&mut deck, "hpears<tab>they<space>are<space>ripe");
    let written = [
        kept.clone(),
        is("your handoff to Claude", "pears"),
        is("the reason for your handoff to Claude", "they are ripe"),
    ];
    assert_eq!(unsent(&deck), written);
    // It is told once, open or not.
    keys(&mut deck, "<ctrl-c>");
    assert_eq!(unsent(&deck), written);
    keys(&mut deck, "<esc><esc>m");
    assert_eq!(unsent(&deck), written);
    keys(&mut deck, "<enter>");
    assert_eq!(
        unsent(&deck),
        written[1..],
        "what is sent is told by others"
    );
    keys(&mut deck, "Mfigs");
    assert_eq!(unsent(&deck).last(), Some(&is("your note", "figs")));
}

#[test]
fn what_is_typed_on_cards_findings_and_tasks_is_told_too() {
    let mut deck = kit::deck(pair_at_work());
    keys(&mut deck, "3<enter>xtoo<space>early");
    let told = unsent(&deck);
    let (what, text) = &told[0];
    assert!(what.starts_with("your reason to reject "), "{what}");
    assert_eq!(text, "too early");
    let mut deck = kit::deck(reviewed());
    keys(&mut deck, "Fxnot<space>so<esc>");
    let (what, text) = unsent(&deck).remove(0);
    assert!(what.starts_with("why finding "), "{what}");
    assert_eq!(text, "not so");
    let mut deck = kit::deck(pair_at_work());
    keys(&mut deck, "T");
    let row = CapsuleLine {
        id: "cap_1".to_owned(),
        title: "first".to_owned(),
        is_open: true,
        ..CapsuleLine::default()
    };
    let rows: CapsuleRows = vec![row.clone()].into();
    update(&mut deck, Msg::Capsules(Ok(rows)));
    keys(&mut deck, "<enter>");
    let view = CapsuleView {
        row,
        draft: "title: first\n".to_owned(),
        ..CapsuleView::default()
    };
    let (id, read) = ("cap_1".to_owned(), Ok(Box::new(view)));
    update(&mut deck, Msg::Capsule { id, read });
    keys(&mut deck, "cdried");
    assert_eq!(unsent(&deck), [is("what came of task cap_1", "dried")]);
}
