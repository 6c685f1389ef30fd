//! An entry of ten megabytes: its beginning is shown, all of it can be copied and opened.

use ctxrelay_ui::model::{Agent, EntryPlace, TimelineRow};
use ctxrelay_ui::scenes::{keys, pair_at_work};
use ctxrelay_ui::{Effect, Msg, update};

use crate::kit::{NO_DETAIL, deck_at, shown};

#[test]
fn only_its_beginning_is_laid_out_and_nothing_of_it_is_lost() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let opened = keys(&mut deck, "2j<enter>");
    let place = opened.iter().find_map(|effect| match effect {
        Effect::OpenEntry { place } => Some(EntryPlace::clone(place)),
        _ => None,
    });
    let text = "a line of a log with e\u{301} and \u{5e9}\u{5dc}\u{5d5}\u{5dd}\n".repeat(230_000);
    let place = place.expect("it is asked for");
    let row = TimelineRow::new(place.line, 0, Agent::Claude, None, "handoff", "a line");
    let told = Msg::EntryText {
        place,
        row: Box::new(row),
        text: text.clone(),
        detail: Vec::new(),
        refs: Vec::new(),
        raw: format!("{{\"content\": {text:?}}}"),
    };
    update(&mut deck, told);
    for key in ["G", "rG"] {
        keys(&mut deck, key);
        let screen = shown(&deck);
        assert!(screen.contains("bytes more: e opens all"), "{screen}");
    }
    assert_eq!(keys(&mut deck, "y"), [Effect::CopyText(text.clone())]);
    let is_draft = false;
    assert_eq!(
        keys(&mut deck, "e"),
        [Effect::OpenEditor { text, is_draft }]
    );
}
