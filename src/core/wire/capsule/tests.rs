use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::arbitrary::capsule;
use super::samples::{cited_all, citing, exported, forged, line, said, small};
use super::*;
use crate::capsule::{CAPSULE_BUDGET, CAPSULE_BYTES_MAX, CapsuleDraft, LineRef};
use crate::entry::NoteKind;
use crate::id::Seq;
use crate::more_cases::more_cases;
use crate::plain_value::{RAW_TEXT, nested_texts};
use crate::wire::line::{GENESIS, parse};

mod changed;
mod flipped;
mod forging;
mod schema;

fn refused(value: Value) -> String {
    read(&forged(value)).unwrap_err().to_string()
}

fn value() -> Value {
    serde_json::to_value(small()).unwrap()
}

proptest! {
    #![proptest_config(more_cases(20))]

    #[test]
    fn what_is_written_is_read_and_written_again_byte_for_byte(capsule in capsule()) {
        let fitted = CAPSULE_BUDGET.fit(capsule);
        let (bytes, digest) = write(&fitted).unwrap();
        let read = read(&bytes).unwrap();
        prop_assert_eq!(&read.digest, &digest);
        let (again, _) = write(&read).unwrap();
        prop_assert_eq!(again, bytes);
        prop_assert_eq!(Capsule { digest: String::new(), ..read }, fitted);
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_refused(
        capsule in capsule(),
        at in any::<prop::sample::Index>(),
    ) {
        let (bytes, _) = write(&CAPSULE_BUDGET.fit(capsule)).unwrap();
        prop_assert!(read(&bytes[..at.index(bytes.len())]).is_err());
    }
}

#[test]
fn the_canonical_form_is_one_text_with_its_digest() {
    let (bytes, digest) = write(&small()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.starts_with(r#"{"assumptions":[],"constraints":[],"createdAt":7,"decisions":[],"#)
    );
    assert!(text.ends_with("}\n"), "{text}");
    let without = text.replace(&format!(r#""digest":"{digest}","#), "");
    assert_eq!(hex(&Sha256::digest(without)), digest);
}

#[test]
fn keys_are_sorted_by_code_point_and_values_stay() {
    let value = json!({"b": 1, "a\u{10000}": [true, null], "a\u{ffff}": "\u{1}\"é", "B": -2});
    let expected = "{\"B\":-2,\"a\u{ffff}\":\"\\u0001\\\"é\",\"a\u{10000}\":[true,null],\"b\":1}\n";
    assert_eq!(canonical(&value), expected);
}

#[test]
fn what_no_reader_sees_is_refused_and_what_joins_an_emoji_is_taken() {
    let with = |text: &str| {
        let mut other = value();
        other["goal"]["text"] = json!(text);
        other
    };
    for hidden in [
        "pass\u{ad}word",
        "\u{34f}",
        "\u{115f}\u{1160}",
        "\u{180b}",
        "\u{2800}",
        "\u{3164}",
        "\u{ffa0}",
        "\u{206a}",
        "\u{fff9}",
        "\u{e0100}",
        "a\u{200c}b",
        "😀\u{fe00}\u{fe01}\u{fe02}",
        "字\u{200d}\u{200d}",
    ] {
        let said = refused(with(hidden));
        let why = "goal.text: a character that no reader sees, U+";
        assert!(said.starts_with(why), "{hidden:?}: {said}");
    }
    for whole in [
        "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥",
        "می\u{200c}خواهم",
        "1\u{fe0f}\u{20e3}",
    ] {
        let taken = read(&forged(with(whole))).unwrap();
        assert_eq!(taken.goal.unwrap().text, whole);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let mut other = value();
    other["schema"] = json!("ctxrelay.capsule/v2");
    assert_eq!(
        refused(other),
        "schema: `ctxrelay.capsule/v2`; this version reads `ctxrelay.capsule/v1`"
    );
    let mut other = value();
    other["id"] = json!("cap_../../etc");
    assert_eq!(refused(other), "id: not `cap_` and 12 hex digits");
    for path in [
        "../x",
        "/etc/passwd",
        "a//b",
        "a/../../b",
        "C:/x",
        "a\\b",
        "a/.",
        "",
    ] {
        let mut other = value();
        other["touched"] = json!([{"path": path, "op": "write", "sha256": null, "by": "codex",
            "added": null, "removed": null}]);
        assert_eq!(
            refused(other),
            "touched[0].path: a path that leaves the project",
            "{path}"
        );
    }
    let mut other = value();
    other["goal"]["text"] = json!("\u{1b}[2J");
    assert_eq!(
        refused(other).split(" at line").next(),
        Some("goal.text: a character that no reader sees, U+001B")
    );
    let mut other = value();
    other["goal"]["at"] = json!(1.5);
    assert!(refused(other).starts_with("goal.at: a number that is no integer"));
    let mut other = value();
    other["decisions"] = json!("none");
    assert!(refused(other).starts_with("decisions: invalid type: string"));
    let mut other = value();
    other.as_object_mut().unwrap().shift_remove("next");
    assert!(refused(other).contains("missing field `next`"));
    let mut other = value();
    other["patch"] = Value::Null;
    assert_eq!(refused(other), "patch: not in the form of this version");
    let mut other = value();
    other["x"] = (0..40).fold(json!(1), |inner, _| json!([inner]));
    assert!(refused(other).contains("deeper than 16 levels"));
    let mut other = value();
    other["title"] = json!("two\nlines");
    assert_eq!(refused(other), "title: more than one line");
    let mut other = value();
    other["x"] = json!("a".repeat(CAPSULE_BYTES_MAX));
    assert!(refused(other).starts_with("file: 32"), "too long");
    let mut other = value();
    other["origin"]["lines"] = json!(["a".repeat(LINES_BYTES_MAX + 1)]);
    assert!(refused(other).starts_with("origin.lines: 262145 bytes"));
}

#[test]
fn what_is_wrong_is_told_on_one_short_line_whatever_the_file_says_there() {
    let mut other = value();
    other["decisions"] = json!("none ".repeat(50_000));
    let said = refused(other);
    assert!(said.starts_with("decisions: invalid type: string \"none none"));
    assert_eq!(said.chars().count(), "decisions: ".len() + 301);
    let mut other = value();
    other["schema"] = json!("a\nb");
    assert!(refused(other).starts_with("schema: `a b`; this version reads"));
}

#[test]
fn a_key_that_is_there_twice_is_refused_before_anything_is_made_of_it() {
    let (bytes, _) = write(&small()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let twice = text.replacen(r#""at":7,"#, r#""at":7,"at":7,"#, 1);
    let bad = read(twice.as_bytes()).unwrap_err();
    assert_eq!(bad.place, "goal.at");
    assert!(bad.why.starts_with("it is there twice"), "{bad}");
}

#[test]
fn text_that_a_reader_would_take_for_json_is_refused_before_it_is_read() {
    let mut other = value();
    other["x"] = json!({RAW_TEXT: nested_texts(200)});
    let bytes = forged(other);
    assert!(bytes.len() < FILE_BYTES_MAX);
    let bad = read(&bytes).unwrap_err();
    assert_eq!(bad.place, format!("x.{RAW_TEXT}"));
}

#[test]
fn spaces_another_order_and_a_second_newline_are_no_canonical_form() {
    let (bytes, _) = write(&small()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let pretty: Value = serde_json::from_str(&text).unwrap();
    for other in [
        serde_json::to_string_pretty(&pretty).unwrap(),
        format!("{text}\n"),
        format!(" {text}"),
        text.trim_end().to_owned(),
    ] {
        let bad = read(other.as_bytes()).unwrap_err();
        assert!(bad.why.contains("canonical form at byte"), "{bad}");
    }
}

#[test]
fn a_file_that_is_too_long_is_not_looked_into() {
    let bad = read(&vec![b'x'; FILE_BYTES_MAX + 1]).unwrap_err();
    assert_eq!(bad.to_string(), "file: longer than 4194304 bytes");
}

#[test]
fn the_schema_names_every_member() {
    let schema = schema();
    let members = serde_json::to_value(small()).unwrap();
    for member in members.as_object().unwrap().keys() {
        assert!(schema["properties"].get(member).is_some(), "{member}");
    }
    assert!(schema["properties"].get("digest").is_some());
    let said = schema["$defs"]["CapsuleStatement"]["properties"]["cut"].clone();
    assert!(said.is_object(), "{said}");
}

#[test]
fn a_statement_of_which_only_the_beginning_is_there_says_so_and_one_of_before_is_as_good() {
    let beginning = "x".repeat(2_000);
    let (text, cited) = line(&"x".repeat(2_500));
    let before = citing(&beginning, text.clone(), cited);
    assert_eq!(check_lines(&before), Ok(()));
    let entry = parse(text.as_bytes()).unwrap().entry;
    let mut now = before;
    now.decisions[0].mark_cut(&entry);
    assert_eq!(now.decisions[0].text, format!("{beginning} …"));
    assert!(now.decisions[0].is_cut());
    assert_eq!(check_lines(&now), Ok(()));
    // What a person would edit would be recorded as all of it.
    let draft = CapsuleDraft::of(&now);
    let kinds = draft.values.iter().map(|(kind, _)| *kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [NoteKind::Goal]);
    let text = draft.text();
    let told =
        "# Decisions\n## Too long to be changed here, and stays as it is: entry 4 of session";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("has all of it. It begins: xxx"), "{text}");
    now.decisions[0].cut = None;
    assert!(check_lines(&now).is_err());
    // What is whole cannot say that it goes on.
    let (text, cited) = line("short");
    let mut short = citing("short …", text, cited);
    short.decisions[0].cut = Some(true);
    assert!(check_lines(&short).is_err());
}

#[test]
fn a_cited_line_is_right_or_it_is_told_which_is_not() {
    let (text, cited_as) = line("tokens live for one hour");
    let good = citing("tokens live for one hour", text.clone(), cited_as.clone());
    assert_eq!(check_lines(&good), Ok(()));
    let cited = good
        .refs()
        .map(|(_, line)| (line.session.clone(), line.seq));
    assert!(cited.eq([(cited_as.session.clone(), Seq(4))]));
    let edited = text.replace("one hour", "six hours");
    let bad = check_lines(&citing(
        "tokens live for six hours",
        edited,
        cited_as.clone(),
    ));
    assert_eq!(
        bad.unwrap_err().to_string(),
        "origin.lines[0]: it does not hash to what it claims"
    );
    let bad = check_lines(&citing(
        "tokens live for ever",
        text.clone(),
        cited_as.clone(),
    ));
    assert_eq!(
        bad.unwrap_err().to_string(),
        "decisions[0]: the cited line says something else"
    );
    let other = LineRef {
        hash: GENESIS.to_owned(),
        ..cited_as
    };
    let bad = check_lines(&citing("tokens live for one hour", text.clone(), other));
    assert_eq!(
        bad.unwrap_err().to_string(),
        "decisions[0].ref: the line is another one"
    );
    let mut uncited = small();
    uncited.origin.lines = vec![text.clone()];
    let bad = check_lines(&uncited).unwrap_err();
    assert_eq!(bad.to_string(), "origin.lines[0]: nothing cites it");
    uncited.origin.lines = vec![text.clone(), text];
    assert_eq!(check_lines(&uncited).unwrap_err().place, "origin.lines[1]");
}
