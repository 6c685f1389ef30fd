use proptest::prelude::*;

use super::{Class, class, for_clipboard, for_input, for_input_behind, is_joiner, line, lines};

#[test]
fn a_carriage_return_cannot_paint_over_its_own_line() {
    assert_eq!(line("rm -rf /\rls   "), "rm -rf /^Mls   ");
    assert_eq!(lines("one\r\ntwo\r"), ["one", "two"]);
    assert_eq!(lines("a\rb\nc"), ["a^Mb", "c"]);
}

#[test]
fn escape_sequences_become_readable() {
    assert_eq!(line("\x1b[31mred\x1b]0;title\x07"), "^[[31mred^[]0;title^G");
    assert_eq!(line("\u{9b}2J\u{7f}\0"), "<9B>2J^?^@");
}

#[test]
fn overrides_zero_widths_and_tags_become_visible() {
    assert_eq!(line("invoice\u{202e}fdp.exe"), "invoice<U+202E>fdp.exe");
    assert_eq!(line("pass\u{200b}word"), "pass<U+200B>word");
    let tags: String = "ignore"
        .chars()
        .map(|c| char::from_u32(0xe0000 + c as u32).unwrap())
        .collect();
    assert_eq!(line(&format!("hi{tags}")), "hi<U+E0069 ×6>");
    assert_eq!(line("\u{2066}a\u{2069}"), "<U+2066>a<U+2069>");
}

#[test]
fn selectors_smuggled_in_a_run_become_visible() {
    assert_eq!(line("❤\u{fe0f} ok"), "❤ ok");
    assert_eq!(line("a\u{fe01}\u{fe02}\u{fe03}b"), "a<U+FE01 ×3>b");
    assert_eq!(line("😀\u{e0101}\u{e0102}"), "😀<U+E0101 ×2>");
}

#[test]
fn joined_emoji_and_words_stay_readable() {
    assert_eq!(line("👩\u{200d}💻"), "👩💻");
    assert_eq!(
        line("❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}"),
        "❤🔥 1\u{20e3}"
    );
    assert_eq!(line("می\u{200c}خواهم"), "میخواهم");
    assert_eq!(line("a\u{200d}b"), "a<U+200D>b");
}

#[test]
fn a_stack_of_marks_is_cut_and_an_orphan_gets_a_base() {
    let zalgo = format!("a{}b", "\u{301}".repeat(30));
    assert_eq!(line(&zalgo).chars().count(), 6);
    assert_eq!(line("\u{301}x"), "◌\u{301}x");
}

#[test]
fn breaks_show_in_one_line_and_split_in_many() {
    assert_eq!(line("one\ntwo\n"), "one ⏎ two");
    assert_eq!(lines("one\u{2028}two"), ["one", "two"]);
    assert_eq!(lines(""), [""]);
}

#[test]
fn tabs_reach_the_next_stop() {
    assert_eq!(line("a\tb"), "a   b");
    assert_eq!(line("\tb"), "    b");
}

#[test]
fn what_is_pasted_is_what_is_sent() {
    assert_eq!(for_input("a\r\nb\tc"), ("a\nb    c".to_owned(), 0));
    // A terminal pastes each line end as a lone return.
    assert_eq!(for_input("a\rb\r\rc"), ("a\nb\n\nc".to_owned(), 0));
    assert_eq!(for_input("x\u{202e}y\x1b[0m"), ("xy[0m".to_owned(), 2));
}

#[test]
fn what_joins_a_word_is_pasted_and_sent_and_what_could_hide_a_text_is_not() {
    for words in ["می\u{200c}خواهم", "क्\u{200d}ष", "API\u{200c}ها"] {
        assert_eq!(for_input(words), (words.to_owned(), 0));
    }
    for (text, removed) in [
        ("a\u{200d}b", 1),
        ("می\u{200c}\u{200d}خ", 2),
        ("\u{200c}می\n\u{200d}", 2),
        ("می\u{200c}\u{200b}", 2),
        ("👩\u{200d}💻❤\u{fe0f}\u{200d}🔥", 3),
    ] {
        assert_eq!(for_input(text).1, removed, "{text:?}");
    }
    // As it is typed, each alone.
    assert_eq!(for_input_behind("می", "\u{200c}").1, 0);
    assert_eq!(for_input_behind("می\u{200c}", "\u{200d}").1, 1);
    assert_eq!(for_input_behind("", "\u{200c}").1, 1);
}

#[test]
fn what_is_copied_keeps_tabs_and_emoji_and_nothing_that_a_terminal_obeys() {
    let text = "if x:\n\ty ⚠\u{fe0f} 👩\u{200d}💻 API\u{200c}ها";
    assert_eq!(for_clipboard(text), (text.to_owned(), 0));
    let hostile = "a\u{1b}[201~\rb\u{202e}\u{200d}\u{9b}c\u{ad}\r\n";
    assert_eq!(for_clipboard(hostile), ("a[201~\nbc\n".to_owned(), 5));
}

proptest! {
    #[test]
    fn no_text_comes_out_with_a_control_or_an_invisible(text in "\\PC*|(\\p{C}|[a-zی\u{200b}\u{200c}\u{202e}\u{fe0f}\u{e0041}]){0,40}|.{0,40}") {
        for out in [line(&text), lines(&text).concat()] {
            for c in out.chars() {
                prop_assert!(class(c) == Class::Plain, "{c:?} in {out:?}");
            }
        }
        let (typed, _) = for_input(&text);
        for c in typed.replace('\n', "").chars() {
            prop_assert!(class(c) == Class::Plain || is_joiner(c), "{c:?} in {typed:?}");
        }
        prop_assert_eq!(for_input(&typed), (typed, 0));
    }

    #[test]
    fn it_changes_nothing_the_second_time(text in ".{0,60}") {
        let once = line(&text);
        prop_assert_eq!(line(&once), once);
    }
}
