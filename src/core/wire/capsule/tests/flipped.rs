//! A file with everything that may come along, in which each byte is changed in turn: it is refused,
//! and the place that is told is that of the byte.

use std::collections::BTreeSet;
use std::ops::Range;

use pretty_assertions::assert_eq;

use super::*;

/// Which bytes of the canonical form belong to which member or item, the innermost first; the end of
/// the value.
fn spans(
    value: &Value,
    place: &str,
    start: usize,
    found: &mut Vec<(Range<usize>, String)>,
) -> usize {
    let mut at = start + 1;
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            for (key, member) in members {
                let dot = if place.is_empty() { "" } else { "." };
                let place = format!("{place}{dot}{key}");
                // Its key in quotation marks, and a colon.
                let end = spans(member, &place, at + key.len() + 3, found);
                found.push((at..end, place));
                at = end + 1;
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                let place = format!("{place}[{nth}]");
                let end = spans(item, &place, at, found);
                found.push((at..end, place));
                at = end + 1;
            }
        }
        scalar => return start + scalar.to_string().len(),
    }
    // Of an empty one the brackets, else the last comma is the one that closes it.
    at.max(start + 2)
}

/// What has a hash of its own, or is that hash.
fn hashed(member: &str) -> Option<&str> {
    let mut ends = [".data", ".sha256"].into_iter();
    let along = ends.find_map(|end| member.strip_suffix(end));
    along.or_else(|| member.starts_with("origin.lines[").then_some(member))
}

/// What the file itself tells of, beside its digest.
fn is_told(member: &str) -> bool {
    hashed(member).is_some() || member == "id" || is_below(member, "decisions[0]")
}

fn is_below(place: &str, above: &str) -> bool {
    let rest = place.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || above.is_empty() || rest.starts_with(['.', '[']))
}

/// The members and items of a file, as [`spans`] finds them.
struct Spans(Vec<(Range<usize>, String)>);

impl Spans {
    /// Whether `bad` is where the byte is.
    fn are_right(&self, bad: &BadCapsule, at: usize) -> bool {
        let mut around = self.0.iter().filter(|(span, _)| span.contains(&at));
        let all = (0..usize::MAX, String::new());
        let (span, member) = around.next().unwrap_or(&all);
        let (_, above) = around.next().unwrap_or(&all);
        let key = member.rsplit('.').next().filter(|key| !key.ends_with(']'));
        let is_in_key = key.is_some_and(|key| at < span.start + key.len() + 3);
        let number = |behind: &str| {
            let (_, rest) = bad.why.split_once(behind)?;
            rest.split(':').next()?.parse::<usize>().ok()
        };
        // Where a quotation mark is gone, a text ends later.
        let is_behind = number(" column ").is_some_and(|column| column >= at)
            || bad.why.ends_with("at line 2 column 0");
        match &*bad.place {
            "file" => {
                // Another key stands elsewhere, or differs from the next one further on.
                let is_before = number(" at byte ").is_some_and(|byte| byte < span.end);
                let is_all = at == 0 && bad.why.starts_with("no capsule");
                is_before || is_behind || is_all || bad.why == "it is cut off"
            }
            // A hash over all of it tells no more; a cited line does, of what it is cited for.
            "digest" => !is_told(member) || is_in_key,
            place => {
                // A key is told as it is now, and so is an item behind the end that a list had.
                let is_new = !self.0.iter().any(|(_, known)| known == place);
                let is_hashed = hashed(member).is_some_and(|hashed| is_below(place, hashed));
                // What is between the items of a list, or opens one, is missed at the next one.
                let is_open = is_new || at == span.start;
                let is_near = is_below(place, member) || is_open && is_below(place, above);
                is_below(member, place) || is_hashed || is_behind && is_near
            }
        }
    }
}

#[test]
fn a_file_with_any_byte_changed_is_refused_with_the_place() {
    let capsule = exported();
    let (bytes, _) = write(&capsule).unwrap();
    assert_eq!(check_lines(&read(&bytes).unwrap()), Ok(()));
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    let mut found = Vec::new();
    let end = spans(&value, "", 0, &mut found);
    assert_eq!(end + 1, bytes.len());
    let (found, mut places, mut wrong) = (Spans(found), BTreeSet::new(), Vec::new());
    for at in 0..bytes.len() {
        let byte = bytes[at];
        for to in [byte ^ 1, byte ^ 0x20, byte ^ 0x80, b'"', b'0'] {
            let mut changed = bytes.clone();
            changed[at] = to;
            if changed == bytes {
                continue;
            }
            let bad = read(&changed).unwrap_err();
            if !found.are_right(&bad, at) {
                wrong.push(format!("byte {at}, {:?}: {bad}", char::from(to)));
            }
            places.insert(bad.place);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for place in [
        "file",
        "schema",
        "digest",
        "goal.text",
        "id",
        "decisions[0]",
        "decisions[0].ref",
        "decisions[0].ref.hash",
        "origin.lines[0]",
        "patch.data",
        "outputs[0].data",
        "outputs[1].data",
    ] {
        assert!(places.contains(place), "{place}: {places:#?}");
    }
}
