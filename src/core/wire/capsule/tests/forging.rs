//! Capsules that somebody forged, with the digest that they should have: what a cited line does not
//! say is refused.

use pretty_assertions::assert_eq;

use super::*;

/// Other values than this one, the beginning and more of a text among them.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => vec![
            json!(text[..text.len() / 2]),
            json!(format!("{text}x")),
            json!("codex, and not who said it"),
        ],
        Value::Bool(is) => vec![json!(!is)],
        Value::Number(number) => vec![json!(number.as_i64().unwrap() + 1)],
        Value::Null => vec![json!("x"), json!(7), json!(true)],
        other => panic!("{other}"),
    }
}

/// The places of the values below a member that are no lists and no objects.
fn leaves(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                leaves(value, format!("{place}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                leaves(value, format!("{place}/{at}"), found);
            }
        }
        _ => found.push(place),
    }
}

fn checked(value: Value) -> Result<(), BadCapsule> {
    read(&forged(value)).and_then(|capsule| check_lines(&capsule))
}

#[test]
fn whatever_is_changed_in_what_a_line_is_cited_for_is_refused() {
    let good = serde_json::to_value(cited_all()).unwrap();
    assert_eq!(checked(good.clone()), Ok(()));
    let mut places = Vec::new();
    for member in ["decisions", "constraints", "outcome", "verification"] {
        leaves(&good[member], format!("/{member}"), &mut places);
    }
    // Three statements of 7 values and two runs of 13.
    assert_eq!(places.len(), 47, "{places:#?}");
    for place in places {
        for other in others(good.pointer(&place).unwrap()) {
            let mut changed = good.clone();
            *changed.pointer_mut(&place).unwrap() = other.clone();
            let bad = checked(changed);
            assert!(bad.is_err(), "{place} as {other}");
        }
    }
}

#[test]
fn a_statement_stands_below_no_other_heading_and_in_no_other_task() {
    let good = serde_json::to_value(cited_all()).unwrap();
    for to in ["constraints", "assumptions", "questions", "next"] {
        let mut moved = good.clone();
        let said = moved["decisions"].as_array_mut().unwrap().remove(0);
        moved[to].as_array_mut().unwrap().insert(0, said);
        let expected = format!("{to}[0]: the cited line says something else");
        assert_eq!(checked(moved).unwrap_err().to_string(), expected);
    }
    let mut moved = good.clone();
    moved["goal"] = moved["decisions"].as_array_mut().unwrap().remove(0);
    assert_eq!(checked(moved).unwrap_err().place, "goal");
    let mut renamed = good;
    renamed["id"] = json!("cap_00000000000a");
    assert_eq!(checked(renamed).unwrap_err().place, "constraints[0]");
}

#[test]
fn what_no_line_is_there_for_is_counted() {
    let mut capsule = cited_all();
    assert_eq!(uncited(&capsule), (0, 5));
    capsule.goal = Some(said("nobody is logged out"));
    capsule.origin.lines.remove(2);
    assert_eq!(check_lines(&capsule), Ok(()));
    assert_eq!(uncited(&capsule), (2, 6));
    // As earlier versions wrote it.
    let outcome = capsule.outcome.as_mut().unwrap();
    outcome.line = None;
    capsule.origin.lines.pop();
    assert_eq!(check_lines(&capsule), Ok(()));
    assert_eq!(uncited(&capsule), (3, 6));
}

#[test]
fn of_a_file_that_was_changed_and_kept_its_digest_the_lines_tell_the_place() {
    let (bytes, _) = write(&cited_all()).unwrap();
    let good: Value = serde_json::from_slice(&bytes).unwrap();
    for (member, other, place) in [
        (
            "/decisions/0/text",
            json!("tokens live for ever"),
            "decisions[0]",
        ),
        ("/constraints/0/by", json!("human"), "constraints[0]"),
        ("/decisions/0/ref/seq", json!(41), "decisions[0].ref"),
        ("/outcome/text", json!("fixed in 1.5"), "outcome"),
        ("/outcome/ref/hash", json!(GENESIS), "outcome.ref"),
        ("/verification/0/exitCode", json!(0), "verification[0]"),
        ("/verification/0/tree", json!("4c"), "verification[0]"),
        ("/verification/1/status", json!("failed"), "verification[1]"),
        // All that is cited is held against these.
        ("/id", json!("cap_00000000000a"), "id"),
        ("/git/tree", json!("4c"), "git.tree"),
        // No line is cited for them.
        ("/title", json!("Fix the logout"), "digest"),
        ("/git/branch", json!("other"), "digest"),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(member).unwrap() = other;
        let bad = read(canonical(&changed).as_bytes()).unwrap_err();
        assert!(bad.why.starts_with("the file was changed"), "{bad}");
        assert_eq!(bad.place, place, "{member}");
    }
}
