//! Files that somebody changed by hand and gave the digest that they should have: the reader gets
//! behind the digest, and must neither panic nor take what it cannot write again.

use pretty_assertions::assert_eq;

use super::super::hostile::check;
use super::*;

/// What is put in the place of any value.
fn values() -> impl Strategy<Value = Value> {
    let paths = prop::sample::select(vec![
        "../x",
        "/etc/passwd",
        "a/../../b",
        "C:/x",
        "a\\b",
        "",
        ".",
        "a//b",
    ]);
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(vec![i64::MIN, i64::MAX, -1, 0]).prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(1e300)),
        Just(json!(0.5)),
        paths.prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{200b}\u{202e}\u{2028}\u{feff}a-z]{1,9}".prop_map(Value::from),
        "[0-9a-f]{64}".prop_map(Value::from),
        (1..40_000_usize).prop_map(|len| Value::from("x".repeat(len))),
        (1..200_usize).prop_map(|depth| (0..depth).fold(json!(1), |inner, _| json!([inner]))),
        (1..200_usize).prop_map(|depth| (0..depth).fold(json!({}), |inner, _| json!({"a": inner}))),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{}, [], null, "x", 1])),
    ]
}

/// One change of a value somewhere in a file.
#[derive(Debug, Clone)]
enum Change {
    Remove,
    Put(Value),
    /// A member that no version knows.
    Add(String, Value),
    /// An item of a list, or all of a list, once more.
    Again,
}

fn changes() -> impl Strategy<Value = Change> {
    let names = prop_oneof!["[a-zA-Z]{1,9}", Just("text".to_owned()), ".{0,9}"];
    prop_oneof![
        3 => Just(Change::Remove),
        5 => values().prop_map(Change::Put),
        3 => (names, values()).prop_map(|(name, value)| Change::Add(name, value)),
        1 => Just(Change::Again),
    ]
}

/// The way to a value: keys and numbers of items.
type Way = Vec<String>;

fn ways(value: &Value, way: &mut Way, found: &mut Vec<Way>) {
    found.push(way.clone());
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, it)| (at.to_string(), it)).collect()
        }
        _ => Vec::new(),
    };
    for (step, member) in members {
        way.push(step);
        ways(member, way, found);
        way.pop();
    }
}

fn at<'a>(value: &'a mut Value, way: &[String]) -> Option<&'a mut Value> {
    way.iter().try_fold(value, |value, step| match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn make(value: &mut Value, way: &[String], change: &Change) {
    let Some((last, above)) = way.split_last() else {
        // All of the file stays an object, else there is no place for a digest.
        if let (Value::Object(members), Change::Add(name, added)) = (value, change) {
            members.insert(name.clone(), added.clone());
        }
        return;
    };
    match change {
        Change::Put(other) => {
            if let Some(value) = at(value, way) {
                *value = other.clone();
            }
        }
        Change::Add(name, added) => match at(value, way) {
            Some(Value::Object(members)) => {
                members.insert(name.clone(), added.clone());
            }
            Some(Value::Array(items)) => items.push(added.clone()),
            _ => {}
        },
        Change::Remove => match at(value, above) {
            Some(Value::Object(members)) => {
                members.shift_remove(last);
            }
            Some(Value::Array(items)) => {
                let nth = last.parse::<usize>().unwrap();
                if nth < items.len() {
                    items.remove(nth);
                }
            }
            _ => {}
        },
        Change::Again => {
            let same = at(value, way).cloned();
            if let (Some(same), Some(Value::Array(items))) = (same, at(value, above)) {
                items.push(same);
            }
        }
    }
}

/// Where in a file, how many of its bytes go, and what is put there.
fn bytes_changed() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let text = prop_oneof!["[0-9a-f]{1,2}", "[\"\\\\:,{}\\[\\]a-z0-9]{0,3}", ".{0,9}"];
    let put = prop_oneof![
        4 => text.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ];
    (any::<prop::sample::Index>(), 0..4_usize, put)
}

proptest! {
    #![proptest_config(more_cases(20))]

    #[test]
    fn what_the_reader_takes_of_a_changed_file_is_written_again_byte_for_byte(
        capsule in capsule(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), changes()), 1..4),
    ) {
        let mut value = serde_json::to_value(CAPSULE_BUDGET.fit(capsule)).unwrap();
        for (place, change) in &changes {
            let mut found = Vec::new();
            ways(&value, &mut Way::new(), &mut found);
            let way: &Way = place.get(&found);
            make(&mut value, way, change);
        }
        check(&forged(value));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        capsule in capsule(),
        changes in prop::collection::vec(bytes_changed(), 1..4),
    ) {
        let (mut bytes, _) = write(&CAPSULE_BUDGET.fit(capsule)).unwrap();
        for (at, gone, put) in &changes {
            let start = at.index(bytes.len() + 1);
            let end = bytes.len().min(start + gone);
            bytes.splice(start..end, put.iter().copied());
        }
        check(&bytes);
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused_wherever_it_is(
        capsule in capsule(),
        at in any::<prop::sample::Index>(),
        other in values(),
    ) {
        let (bytes, _) = write(&CAPSULE_BUDGET.fit(capsule)).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        // In a text a quote has a backslash before it, so that these are keys.
        let starts: Vec<usize> = text
            .match_indices("\":")
            .filter(|(at, _)| !text[..*at].ends_with('\\'))
            .map(|(at, _)| at)
            .collect();
        let end = *at.get(&starts);
        let start = text[..end].rfind('"').unwrap();
        let key = &text[start..=end];
        let twice = format!("{}{key}:{other},{}", &text[..start], &text[start..]);
        prop_assert!(read(twice.as_bytes()).is_err(), "{}", key);
    }
}

/// The changes above are no use where the reader takes none of them.
#[test]
fn a_changed_file_with_its_digest_is_taken_where_the_change_is_a_right_one() {
    let mut other = value();
    let goal = ["goal".to_owned(), "text".to_owned()];
    make(&mut other, &goal, &Change::Put(json!("another goal")));
    make(
        &mut other,
        &[],
        &Change::Add("later".to_owned(), json!([1])),
    );
    let bytes = forged(other);
    let taken = read(&bytes).unwrap();
    assert_eq!(taken.goal.as_ref().unwrap().text, "another goal");
    assert_eq!(write(&taken).unwrap().0, bytes);
}
