use std::cell::Cell;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{
    age, ago, clock, columns_of, cut, day, day_or_month, fill, fit, grouped, is_now, pad, pieces,
    running, short, tokens, took, until, width, width_to, wrap, wrap_behind, wrap_to,
};

#[test]
fn a_text_behind_something_has_less_of_the_first_line_only() {
    assert_eq!(wrap_behind("one two three", 4, 9, 2), ["one", "two three"]);
    assert_eq!(
        wrap_behind("one two three", 8, 9, 3),
        ["", "one two", "three"]
    );
    assert_eq!(wrap_behind("one two three", 4, 9, 1), ["one…"]);
    assert_eq!(wrap_behind("one", 0, 9, 2), ["one"]);
    assert_eq!(wrap_behind("", 40, 9, 2), [""]);
}

#[test]
fn what_was_cut_ends_in_an_ellipsis() {
    assert_eq!(fit("refresh", 7), "refresh");
    assert_eq!(fit("refresh", 5), "refr…");
    assert_eq!(fit("two words", 5), "two…");
    assert_eq!(fit("漢字漢字", 4), "漢…");
    assert_eq!(fit("x", 0), "");
    assert_eq!(pad("漢字", 3), "漢…");
    assert_eq!(pad("漢字漢", 4), "漢… ");
    assert_eq!(fill("h7", 4), "h7  ");
    assert_eq!(fill("h98706", 4), "h98706");
}

#[test]
fn of_a_long_text_no_more_is_looked_at_than_has_room() {
    for long in ["漢 — word ", "plain "] {
        let long = long.repeat(1_000);
        let looked_at = Cell::new(0);
        let graphemes = || pieces(&long).inspect(|_| looked_at.set(looked_at.get() + 1));
        assert!(columns_of(graphemes(), 20) > 20);
        assert!(looked_at.take() <= 21, "{long}");
        assert!(cut(graphemes(), 20).is_some());
        assert!(looked_at.take() <= 21, "{long}");
    }
    assert_eq!(width_to("漢 —", 4), width("漢 —"));
    assert_eq!(fit("a\u{300}b — c", 4), "a\u{300}b…");
    assert_eq!(wrap("— abcdefgh", 3), ["— a", "bcd", "efg", "h"]);
}

#[test]
fn letters_that_a_font_joins_have_a_column_each() {
    assert_eq!(width("لا"), 2);
    assert_eq!(width("漢a"), 3);
    let text = "لا".repeat(4);
    assert_eq!(fit(&text, 8), text);
    assert_eq!(fit(&text, 7), "لالالا…");
    assert_eq!(pad("لا", 3), "لا ");
    let lines = wrap(&text, 6);
    assert_eq!(lines, ["لالالا", "لا"]);
}

proptest! {
    #[test]
    fn a_text_is_as_wide_as_it_is_drawn(
        text in "(\\PC|[\u{600}-\u{6ff}\u{ff66}-\u{ff9f}]|[ -~]){0,60}"
    ) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 400, 1));
        let (end, _) = buffer.set_stringn(0, 0, &text, 400, Style::default());
        prop_assert_eq!(width(&text), usize::from(end), "{:?}", text);
    }
}

#[test]
fn lines_break_at_spaces_and_long_words_anywhere() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(wrap("  code here", 8), ["  code", "here"]);
    assert_eq!(
        wrap("dropped (on rotation).", 10),
        ["dropped", "(on", "rotation)."]
    );
    assert_eq!(wrap("", 3), [""]);
    assert_eq!(wrap_to("one two three four", 7, 2), ["one two", "three…"]);
    for line in wrap("漢字 漢字漢字 a", 3) {
        assert!(width(&line) <= 3, "{line:?}");
    }
}

#[test]
fn numbers_are_grouped_and_ages_short() {
    assert_eq!(grouped(1_204), "1 204");
    assert_eq!(grouped(12), "12");
    assert_eq!(grouped(1_000_000), "1 000 000");
    assert_eq!(tokens(98_304), "98k");
    assert_eq!(age(59_999, 0), "now");
    assert!(is_now(59_999, 0) && !is_now(60_000, 0));
    assert_eq!(age(180_000, 0), "3m");
    assert_eq!(ago(180_000, 0), "3m ago");
    assert_eq!(running(41_000, 0), "41s");
    assert_eq!(running(7_200_000, 0), "2h");
    assert_eq!(until(0, 0), "now");
    assert_eq!(until(9, 0), "now");
    assert_eq!(until(0, 1), "1s");
    assert_eq!(until(0, 41_000), "41s");
    assert_eq!(until(0, 720_000), "12m");
    assert_eq!(until(0, 7_800_000), "2h 10m");
    assert_eq!(until(0, 7_200_000), "2h");
    assert_eq!(until(0, 180_000_000), "2d");
    assert_eq!(took(3), "3 ms");
    assert_eq!(took(12_400), "12.4 s");
}

#[test]
fn what_the_clock_has_not_reached_is_told_as_ahead_of_it() {
    assert!(is_now(0, 59_999) && !is_now(0, 60_000));
    assert_eq!(
        (age(0, 59_999), ago(0, 59_999)),
        ("now".into(), "now".into())
    );
    for ahead in [60_000, 3_600_000, i64::MAX] {
        assert_eq!(age(0, ahead), "ahead");
        assert_eq!(ago(0, ahead), "ahead of the clock");
    }
    assert_eq!(age(i64::MIN, i64::MAX), "ahead");
}

#[test]
fn a_day_of_another_year_has_its_year() {
    const NOW: i64 = 1_796_018_533_000;
    const DAY: i64 = 86_400_000;
    assert_eq!(day(NOW, NOW, 0), "30 Nov");
    let last_year = NOW - 365 * DAY;
    assert_eq!(day(NOW, last_year, 0), "30 Nov 2025");
    assert_eq!(day_or_month(NOW, last_year, 0), "Nov 2025");
    assert_eq!(day_or_month(NOW, NOW, 0), "30 Nov");
    // The years of the algorithm begin in March.
    let new_year = 1_798_761_600_000;
    assert_eq!(day(NOW, new_year, 0), "1 Jan 2027");
    assert_eq!(day(NOW, new_year - 1, 0), "31 Dec");
    assert_eq!(day(NOW, new_year - 1, 3_600), "1 Jan 2027");
    assert_eq!(day(NOW, new_year + 58 * DAY, 0), "28 Feb 2027");
    assert_eq!(day(NOW, new_year + 59 * DAY, 0), "1 Mar 2027");
    assert_eq!(day(NOW, 4_070_908_800_000, 0), "1 Jan 2099");
}

#[test]
fn the_clock_is_local_and_survives_the_epoch() {
    assert_eq!(clock(0, 3_600), "01:00");
    assert_eq!(clock(-1, 0), "23:59");
    assert_eq!(clock(i64::MAX, i32::MAX).len(), 5);
    assert_eq!(day(0, 0, 0), "1 Jan");
    assert_eq!(day(0, -1, 0), "31 Dec 1969");
    assert_eq!(day(1_709_164_800_000, 1_709_164_800_000, 0), "29 Feb");
    assert_eq!(day(1_795_305_600_000, 1_795_305_600_000, 0), "22 Nov");
    let _ = (
        day(0, i64::MAX, i32::MAX),
        day(i64::MAX, i64::MIN, i32::MIN),
    );
}

#[test]
fn ids_keep_what_tells_them_apart() {
    assert_eq!(short("019ab3c4-1111-7000-8000-00000000c2d1", 6), "00c2d1");
    assert_eq!(short("4c1d2e0ffeeddcc", 7), "4c1d2e0");
}
