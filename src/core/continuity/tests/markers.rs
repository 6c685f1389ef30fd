//! What an agent marks in its own words.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

#[test]
fn markers_are_read_from_words_and_not_from_code() {
    let text = "Done so far.\n<!-- relay:objective Sort plums -->\n<!--ctxrelay:next test\nit-->\n\
                ```\n<!-- relay:next in a fence -->\n```\n`<!-- relay:next quoted -->` <!-- relay:done -->\n\
                <!-- other -->";
    let found: Vec<(NoteKind, String)> = markers(text)
        .into_iter()
        .map(|marker| (marker.kind, marker.text))
        .collect();
    assert_eq!(
        found,
        [
            (NoteKind::Goal, "Sort plums".to_owned()),
            (NoteKind::NextStep, "test\nit".to_owned()),
            (NoteKind::Done, String::new()),
        ]
    );
    let kept = "Done so far.\n```\n<!-- relay:next in a fence -->\n```\n\
                `<!-- relay:next quoted -->` \n<!-- other -->";
    assert_eq!(without_markers(text), kept);
}

#[test]
fn code_that_a_message_leaves_open_hides_nothing_of_the_next_message() {
    let messages = [
        "<!-- relay:next first -->\n```sh\nmake",
        "<!-- relay:next second -->",
    ];
    let found = markers_of_turn(&messages.map(str::to_owned));
    let texts: Vec<&str> = found.iter().map(|marker| marker.text.as_str()).collect();
    assert_eq!(texts, ["first", "second"]);
    let many = vec!["<!-- relay:next x --><!-- relay:next y -->".to_owned(); MARKERS_MAX];
    assert_eq!(markers_of_turn(&many).len(), MARKERS_MAX);
}

#[test]
fn an_unclosed_marker_takes_no_other_one_with_it() {
    let found = markers("<!-- relay:next lost\n<!-- relay:next kept -->\n<!-- relay:next open");
    let texts: Vec<&str> = found.iter().map(|marker| marker.text.as_str()).collect();
    assert_eq!(texts, ["kept"]);
}

proptest! {
    #[test]
    fn markers_of_any_text_are_bounded_and_can_be_cut_out(
        text in "(<!--|-->| relay:next x |`|```|\n|é|relay:done ){0,40}"
    ) {
        let found = markers(&text);
        prop_assert!(found.len() <= MARKERS_MAX);
        prop_assert!(without_markers(&text).len() <= text.len());
        if found.is_empty() {
            prop_assert_eq!(without_markers(&text), text);
        }
    }
}
