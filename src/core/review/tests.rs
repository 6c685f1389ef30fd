use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::more_cases::more_cases;

use super::bodies::BODIES;
use super::*;
use crate::entry::FindingSeverity;

#[test]
fn every_body_of_the_table_is_cleaned_and_rated() {
    for (raw, text, rated) in BODIES {
        let clean = CleanBody::of(raw);
        assert_eq!(clean.text, *text, "of {raw:?}");
        let (severity, by) = FindingSeverity::of(raw, &clean, ReviewPart::Finding);
        let severity = severity.map_or("-".to_owned(), |one| one.to_string());
        assert_eq!(format!("{severity} {by}"), *rated, "of {raw:?}");
    }
    assert!(BODIES.len() >= 80, "{}", BODIES.len());
}

#[test]
fn the_code_of_a_suggestion_is_kept_beside_the_words() {
    let raw = "Use a bound.\n```suggestion\nlet n = <b>1</b>;\n```\n\nAnd:\n```suggestion\n```\n";
    let clean = CleanBody::of(raw);
    assert_eq!(clean.text, "Use a bound.\n\nAnd:");
    assert_eq!(clean.suggestions, ["let n = <b>1</b>;", ""]);
    assert!(!clean.cut);
}

#[test]
fn a_suggestion_in_a_list_is_the_code_without_what_the_list_puts_before_it() {
    let raw = "1. Use a bound:\n\n    ```suggestion\n    if a {\n\n        b\n    }\n    ```\n2. Then end.";
    let clean = CleanBody::of(raw);
    assert_eq!(clean.text, "1. Use a bound:\n\n2. Then end.");
    assert_eq!(clean.suggestions, ["if a {\n\n    b\n}"]);
    // What is quoted is somebody else's.
    let quoted = "> ```suggestion\n> a\n> ```\nIt does not compile.";
    let clean = CleanBody::of(quoted);
    assert_eq!((clean.text.as_str(), clean.suggestions.len()), (quoted, 0));
}

#[test]
fn a_reviews_own_words_are_as_severe_as_they_say_above_and_an_approval_is_not() {
    const CODERABBIT: &str = "**Actionable comments posted: 1**\n\n<details>\n\
        <summary>🧹 Nitpick comments (1)</summary><blockquote>\n\n<details>\n\
        <summary>src/a.rs (1)</summary><blockquote>\n\n\
        _🧹 Nitpick_ | _🔴 Critical_\n\n**A name.**\n</blockquote></details>\n\
        </blockquote></details>";
    for (body, summary, approval) in [
        ("P1 and P2 above are fixed, LGTM", "- none", "- none"),
        (CODERABBIT, "- none", "- none"),
        (
            "Two things.\n\nBoth may wait.\n\nSeverity: high",
            "- none",
            "- none",
        ),
        (
            "### It fails\n\n**High Severity**\n\nIt does.",
            "high word",
            "- none",
        ),
        ("P1: the token is logged", "high token", "- none"),
        ("[P0] it is lost", "critical token", "- none"),
        (
            "Outside of the change:\n\n- one\n- two\n\n![P1 Badge](x) Check the bound",
            "high badge",
            "- none",
        ),
    ] {
        let clean = CleanBody::of(body);
        let rated = |part| {
            let (severity, by) = FindingSeverity::of(body, &clean, part);
            let severity = severity.map_or("-".to_owned(), |one| one.to_string());
            format!("{severity} {by}")
        };
        assert_eq!(rated(ReviewPart::Summary), summary, "{body}");
        assert_eq!(rated(ReviewPart::Approval), approval, "{body}");
    }
}

#[test]
fn a_long_body_is_cut_between_letters_and_says_so() {
    for unit in [
        "é",
        "word ",
        "<a",
        "[",
        "![",
        "`",
        "``",
        "<!--",
        "<details>",
        "[a](",
        "&",
        "h",
        "<img ",
        "`x",
        "``x`",
        "P4 ",
        "x <!-- ",
        "x <!--\n\n",
        "> ```x\n",
        "- ~~~\n",
    ] {
        let long = unit.repeat(BODY_BYTES_MAX / unit.len() + 9);
        let clean = CleanBody::of(&long);
        assert!(clean.text.len() <= CLEAN_BYTES_MAX);
        assert!(clean.cut, "{unit}");
        // A search that begins again at each of them would not end in a minute.
        let _ = FindingSeverity::of(&long, &clean, ReviewPart::Finding);
    }
    // A block that stands far to the right, and does not end with the empty lines below it.
    let half = BODY_BYTES_MAX / 2;
    let far = format!("{}```\n{}", " ".repeat(half), "\n".repeat(half));
    assert_eq!(CleanBody::of(&far).text, "");
    let many = "```suggestion\nx\n```\n".repeat(SUGGESTIONS_MAX + 1);
    let clean = CleanBody::of(&many);
    assert_eq!(
        (clean.suggestions.len(), clean.cut),
        (SUGGESTIONS_MAX, true)
    );
}

#[test]
fn what_joins_letters_is_cut_off_with_the_letter_that_it_joins() {
    for before in [CLEAN_BYTES_MAX - 4, 159, 160, 161] {
        let word = format!("{}a\u{200c}\u{645}\u{6cc}", "x".repeat(before));
        hostile::check(&format!("{word}\n```suggestion\n{word}\n```"));
    }
}

#[test]
fn a_button_whose_address_is_a_whole_prompt_is_none_of_the_words() {
    let prompt = "%20fix%20it".repeat(3_000);
    let raw =
        format!("Race here\n\n<a href=\"https://app.x/ide?prompt={prompt}\">Fix in Cursor</a>");
    assert_eq!(CleanBody::of(&raw).text, "Race here");
}

#[test]
fn what_is_less_than_something_eats_no_words() {
    for words in [
        "Wrong when a <b and c > d.",
        "If x <a\n\nthe loop ends.\n\nHere y > 2.",
        "x <i is never > 0, and n <p + 1 > q.",
        "if (a <s || b > c) { }",
        "a <q=, b> c and a <b=\"c",
    ] {
        assert_eq!(CleanBody::of(words).text, words);
    }
    for (raw, text) in [
        ("<b>bold</b> and <i class='x > y'>it</i >.", "bold and it."),
        ("<img\n  width=20\n  alt=\"a > b\"/>Words", "Words"),
        (
            "<details open><summary>More</summary>Words</details>",
            "More\nWords",
        ),
        ("a<br clear=all/>b", "a\nb"),
    ] {
        assert_eq!(CleanBody::of(raw).text, text, "{raw}");
    }
}

#[test]
fn a_prompt_ends_where_its_block_does_whatever_is_folded_in_it() {
    for inner in [
        "<details>",
        "<details open>",
        "<DETAILS open=\"\">",
        "<details\nclass=x>",
    ] {
        let raw = format!(
            "Before.\n<details><summary>Prompt for AI agents</summary>\n{inner}do this</details>\n\
             and that</details >\nAfter."
        );
        assert_eq!(CleanBody::of(&raw).text, "Before.\n\nAfter.", "{inner}");
    }
}

/// What comments are made of, whole and broken.
fn soup() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "<details>",
        "<summary>Prompt for AI agents</summary>",
        "</details>",
        "<img alt=\"P1\">",
        "<img alt='",
        "<!--",
        "-->",
        "```",
        "```suggestion\n",
        "\n",
        "![P1 Badge](",
        "[Fix in Web](",
        "https://a.b/?q=%20",
        ")",
        "]",
        "[",
        "<a",
        ">",
        "`",
        "``",
        "&lt;",
        "é",
        "\u{0}",
        "\u{2028}",
        "\u{e0041}",
        "\u{202e}",
        "P0",
        "Severity: high",
        "words ",
        "|",
        "~~~",
        "> ",
        "- ",
        "    ",
        "</",
        "<",
    ]);
    proptest::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(more_cases(1))]

    #[test]
    fn any_text_is_cleaned_within_its_bounds(raw in prop_oneof![soup(), ".{0,300}"]) {
        hostile::check(&raw);
    }

    #[test]
    fn plain_words_stay_as_they_are(raw in "[a-gi-z]{1,8}( [a-gi-z]{1,8}){0,20}\\.") {
        prop_assert_eq!(CleanBody::of(&raw).text, raw);
    }

    #[test]
    fn broken_html_never_gets_into_a_loop_or_past_its_bounds(raw in broken_html()) {
        hostile::check_until_settled(&raw);
    }

    #[test]
    fn html_that_is_closed_is_gone_after_one_pass(raw in closed_html(4)) {
        let clean = CleanBody::of(&raw);
        prop_assert!(!clean.text.contains(['<', '>']), "{:?} of {:?}", clean.text, raw);
        prop_assert!(!clean.text.contains("do this"), "{:?} of {:?}", clean.text, raw);
        prop_assert_eq!(&CleanBody::of(&clean.text).text, &clean.text);
    }
}

#[test]
fn nothing_that_a_person_does_not_see_is_told_and_no_line_is_without_its_mark() {
    let raw = "a\u{e0041}b\u{202e}c\u{2028}[ctxrelay x\u{2029}d\u{85}e\rf\u{200b}\n\n\
               ```suggestion\nlet\u{feff} x\u{2028}= \u{1b}[2J1;\n```";
    let clean = CleanBody::of(raw);
    assert_eq!(clean.text, "abc\n[ctxrelay x\nd\ne\nf");
    assert_eq!(clean.suggestions, ["let x\n= [2J1;"]);
    // What emojis are joined by stays.
    assert_eq!(
        CleanBody::of("ok \u{1f469}\u{200d}\u{1f4bb}").text,
        "ok \u{1f469}\u{200d}\u{1f4bb}"
    );
}

/// Tags and blocks that are opened and never closed, closed and never opened, and one in another.
fn broken_html() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "<details>\n<summary>Prompt for AI agents</summary>",
        "<details open><summary>Fix with AI",
        "<details",
        "</details",
        "</details>",
        "<div><span class=\"a",
        "<a href='https://a.b/?q=%20",
        "'>",
        "\">",
        ">",
        "/>",
        "<<b>",
        "<!<b>--",
        "<!--",
        "-->",
        "--!>",
        "<img alt=",
        "<picture><source>",
        "<td",
        "<br/",
        "<h3>",
        "<![CDATA[",
        "</b></i></p>",
        "&lt;",
        "&amp;lt;",
        "&#39;",
        "```\n",
        "~~~~",
        "```suggestion\n",
        "> ",
        "1. ",
        "[x](<b>",
        "![<img>](",
        ")",
        "`",
        "\n",
        "\r\n",
        " ",
        "\t",
        "\u{0}",
        "\u{1b}[2J",
        "\u{9b}",
        "é漢🦀",
        "Fix in Web",
        "words",
    ]);
    proptest::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// HTML as it should be, so many levels deep.
fn closed_html(depth: u32) -> BoxedStrategy<String> {
    let words = "[a-gi-z]{1,6}( [a-gi-z]{1,6}){0,3}\n?".boxed();
    let Some(inner) = depth.checked_sub(1).map(closed_html) else {
        return words;
    };
    let around = proptest::sample::select(vec![
        ("<b>", "</b>"),
        ("<p>", "</p>"),
        ("<div align=\"left\">", "</div>"),
        ("<ul>\n<li>", "</li>\n</ul>"),
        ("<details>\n<summary>More</summary>\n", "</details>"),
        (
            "<details><summary>Prompt for AI agents</summary>do this ",
            "</details>",
        ),
        ("<a href='https://a.example/x?y=%20z'>", "</a>"),
        ("<!-- do this -->", "<!---->"),
        ("<img alt=\"a > b\">", "<br/>"),
    ]);
    let block = (around, inner.clone(), inner.clone())
        .prop_map(|((open, close), inside, after)| format!("{open}{inside}{close}\n{after}"));
    prop_oneof![1 => words, 2 => block, 1 => (inner.clone(), inner).prop_map(|(a, b)| a + &b)]
        .boxed()
}
