//! The schema names all that a capsule of this version has.

use pretty_assertions::assert_eq;

use super::*;
use crate::capsule::{CapsuleOutput, CapsulePatch};

/// The members of a value that its schema does not name, by their places.
fn unnamed(root: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    if let Some(place) = schema["$ref"].as_str() {
        let schema = root.pointer(place.trim_start_matches('#')).unwrap();
        return unnamed(root, schema, value, at, out);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let is_null = |schema: &&Value| schema["type"] == "null";
        let schema = any.iter().find(|schema| is_null(schema) == value.is_null());
        return unnamed(root, schema.unwrap(), value, at, out);
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        unnamed(
            root,
            &schema["items"],
            item,
            &format!("{at}[{number}]"),
            out,
        );
    }
    // Of a map anybody may choose the names.
    let Some(named) = schema["properties"].as_object() else {
        return;
    };
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{at}.{name}");
        match named.get(name) {
            Some(schema) => unnamed(root, schema, member, &place, out),
            None if is_of_another_version(name) => {}
            None => out.push(place),
        }
    }
}

/// As [`capsule`] calls such members.
fn is_of_another_version(name: &str) -> bool {
    name.starts_with('x') && name[1..].starts_with(|letter: char| letter.is_ascii_uppercase())
}

fn places(capsule: &Capsule) -> Vec<String> {
    let (schema, mut out) = (schema(), Vec::new());
    let (bytes, _) = write(capsule).unwrap();
    let value = serde_json::from_slice(&bytes).unwrap();
    unnamed(&schema, &schema, &value, "", &mut out);
    out
}

proptest! {
    #![proptest_config(more_cases(20))]

    /// Whatever it has, also what few have.
    #[test]
    fn every_member_of_every_capsule_is_named(mut full in capsule(), outcome: bool) {
        full.patch = Some(CapsulePatch::new("0".repeat(40), b""));
        full.outputs = vec![CapsuleOutput::new("test".to_owned(), "red")];
        full.outcome = full.goal.clone().filter(|_| outcome);
        if let Some(git) = &mut full.git {
            git.late = Some(true);
        }
        prop_assert_eq!(places(&full), Vec::<String>::new());
    }
}

/// The members that may be absent, as (place in the schema, name, schema).
fn optional(root: &Value) -> Vec<(String, String, Value)> {
    let defs = root["$defs"].as_object().unwrap();
    let all = defs.iter().map(|(name, schema)| (name.clone(), schema));
    let all = all.chain([(String::new(), root)]);
    let members = all.flat_map(|(of, schema)| {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let members = schema["properties"].as_object().into_iter().flatten();
        let members = members.filter(move |(name, _)| !required.contains(&json!(name)));
        members.map(move |(name, schema)| (of.clone(), name.clone(), schema.clone()))
    });
    members.collect()
}

#[test]
fn a_member_that_may_be_absent_is_neither_null_nor_empty_as_it_is_read() {
    let schema = schema();
    let optional = optional(&schema);
    let named = |of: &str, name: &str| optional.iter().find(|it| it.0 == of && it.1 == name);
    for (of, name) in [
        ("CapsuleStatement", "cut"),
        ("CapsuleTouched", "masked"),
        ("CapsuleLeftOut", "names"),
        ("CapsuleLeftOut", "inexact"),
        ("CapsuleLeftOut", "masked"),
        ("CapsuleGit", "late"),
        ("CapsuleGit", "folder"),
        ("", "patch"),
    ] {
        assert!(named(of, name).is_some(), "{of} {name}");
    }
    // What is written as null has to be there.
    assert!(named("CapsuleGit", "commit").is_none() && named("", "git").is_none());
    for (of, name, member) in &optional {
        assert!(
            !member.to_string().contains("null"),
            "{of} {name}: {member}"
        );
        let is_list = member["type"] == "array";
        assert_eq!(member["minItems"] == 1, is_list, "{of} {name}: {member}");
    }
    // Just so it is read.
    let whole = serde_json::to_value(small()).unwrap();
    let is_read = |value: &Value| {
        let Value::Object(mut members) = value.clone() else {
            panic!("{value}");
        };
        let digest = digest(&mut members);
        members.insert(DIGEST.to_owned(), digest.into());
        read(canonical(&Value::Object(members)).as_bytes()).is_ok()
    };
    assert!(is_read(&whole));
    for (of, name, member) in &optional {
        let empty = match member["type"] == "array" {
            true => json!([]),
            false => Value::Null,
        };
        let mut with = whole.clone();
        let place = match of.as_str() {
            "" => &mut with,
            "CapsuleStatement" => &mut with["goal"],
            _ => continue,
        };
        place[name] = empty;
        assert!(!is_read(&with), "{of} {name}");
    }
}

#[test]
fn a_member_that_the_schema_does_not_name_is_seen() {
    let mut capsule = small();
    assert_eq!(places(&capsule), Vec::<String>::new());
    let goal = capsule.goal.as_mut().unwrap();
    goal.cut = Some(true);
    goal.more.insert("later".to_owned(), Value::Null);
    capsule.more.insert("xA".to_owned(), Value::Null);
    assert_eq!(places(&capsule), [".goal.later"]);
}
