//! [`check_lines`]: whether the cited ledger lines are what they are cited as; [`changed_place`]:
//! the change that they show; [`uncited`]: parts that cite no line.

use std::collections::{BTreeMap, BTreeSet};

use super::BadCapsule;
use crate::capsule::{Capsule, LineRef};
use crate::entry::Entry;
use crate::id::{CapsuleId, Seq, SessionId};
use crate::wire::line::{hash_line, parse};

/// Every line hashes to what it claims, is cited, and says what the capsule says that it says.
///
/// What is cited without its line is not looked at: it had no room, or may not be told.
///
/// # Errors
///
/// The first line or place that is wrong.
pub fn check_lines(capsule: &Capsule) -> Result<(), BadCapsule> {
    let lines = lines(capsule)?;
    check_refs(capsule, &lines)?;
    let cited: BTreeSet<LineKey> = capsule.refs().map(|(_, line)| key(line)).collect();
    let mut uncited = lines.iter().filter(|(key, _)| !cited.contains(key));
    if let Some((_, line)) = uncited.next() {
        return Err(BadCapsule::new(&*line.place, "nothing cites it"));
    }
    check_said(capsule, &lines)
}

/// Where a capsule was changed, as far as the lines in it tell; else none. They are held against its
/// id and its tree, and so these are what was changed where others fit all that is cited.
pub(super) fn changed_place(capsule: &Capsule) -> Option<String> {
    let lines = match lines(capsule) {
        Ok(lines) => lines,
        Err(bad) => return Some(bad.place),
    };
    let check = |capsule: &Capsule| {
        check_refs(capsule, &lines)?;
        check_said(capsule, &lines)
    };
    let place = check(capsule).err()?.place;
    let mut other = capsule.clone();
    let tasks: BTreeSet<CapsuleId> = lines.values().filter_map(|it| it.entry.task()).collect();
    for task in tasks {
        other.id = task;
        if check(&other).is_ok() {
            return Some("id".to_owned());
        }
    }
    other.id.clone_from(&capsule.id);
    let run = capsule.verification.iter().find(|run| run.current);
    if let (Some(git), Some(run)) = (&mut other.git, run) {
        git.tree.clone_from(&run.tree);
        if check(&other).is_ok() {
            return Some("git.tree".to_owned());
        }
    }
    Some(place)
}

/// Where a line stands in the record.
type LineKey = (SessionId, Seq);

fn key(line: &LineRef) -> LineKey {
    (line.session.clone(), line.seq)
}

/// A line of the file that hashes to what it claims.
struct CitedLine {
    entry: Entry,
    hash: String,
    /// Where it stands in the file.
    place: String,
}

/// Every line, each hashing to what it claims.
fn lines(capsule: &Capsule) -> Result<BTreeMap<LineKey, CitedLine>, BadCapsule> {
    let mut lines = BTreeMap::new();
    for (at, text) in capsule.origin.lines.iter().enumerate() {
        let place = format!("origin.lines[{at}]");
        let (entry, hash) = checked(text).map_err(|why| BadCapsule::new(&*place, why))?;
        let key = (entry.session_id.clone(), entry.seq);
        if lines.contains_key(&key) {
            return Err(BadCapsule::new(place, "the same line twice"));
        }
        lines.insert(key, CitedLine { entry, hash, place });
    }
    Ok(lines)
}

/// What is cited with its line is that line.
fn check_refs(capsule: &Capsule, lines: &BTreeMap<LineKey, CitedLine>) -> Result<(), BadCapsule> {
    for (place, line) in capsule.refs() {
        let is_it = match lines.get(&key(line)) {
            Some(there) => line.id == there.entry.id && line.hash == there.hash,
            None => lines.values().all(|there| line.hash != there.hash),
        };
        if !is_it {
            return Err(BadCapsule::new(place, "the line is another one"));
        }
    }
    Ok(())
}

/// The lines say what they are cited for.
fn check_said(capsule: &Capsule, lines: &BTreeMap<LineKey, CitedLine>) -> Result<(), BadCapsule> {
    let entry = |line: Option<&LineRef>| Some(&lines.get(&key(line?))?.entry);
    let other = |place: String| BadCapsule::new(place, "the cited line says something else");
    for (kind, place, said) in capsule.stated() {
        let entry = entry(said.line.as_ref());
        if entry.is_some_and(|entry| !said.is_of(entry, &capsule.id, kind)) {
            return Err(other(place));
        }
    }
    if let Some(said) = &capsule.outcome
        && let Some(entry) = entry(said.line.as_ref())
        && !said.is_outcome_of(entry, &capsule.id)
    {
        return Err(other("outcome".to_owned()));
    }
    let tree = capsule.git.as_ref().and_then(|git| git.tree.as_deref());
    for (at, run) in capsule.verification.iter().enumerate() {
        let entry = entry(run.line.as_ref());
        if entry.is_some_and(|entry| !run.is_of(entry, &capsule.id, tree)) {
            return Err(other(format!("verification[{at}]")));
        }
    }
    Ok(())
}

/// How many of the statements and the runs are cited by no line that is in the file, and how many
/// there are: nothing but the digest holds those.
pub fn uncited(capsule: &Capsule) -> (usize, usize) {
    let lines = capsule.origin.lines.iter();
    let lines = lines.filter_map(|line| parse(line.as_bytes()).ok());
    let there: BTreeSet<_> = lines
        .map(|line| (line.entry.session_id, line.entry.seq))
        .collect();
    let said = capsule.statements().map(|(_, said)| said);
    let said = said.chain(&capsule.outcome);
    let cited = said.map(|said| said.line.as_ref());
    let cited = cited.chain(capsule.verification.iter().map(|run| run.line.as_ref()));
    let (mut bare, mut all) = (0, 0);
    for line in cited {
        let is_there = line.is_some_and(|it| there.contains(&(it.session.clone(), it.seq)));
        all += 1;
        bare += usize::from(!is_there);
    }
    (bare, all)
}

/// The entry of a line and the hash on it, when that is right.
fn checked(line: &str) -> Result<(Entry, String), String> {
    let parsed = parse(line.as_bytes()).map_err(|bad| bad.to_string())?;
    let Some(link) = parsed.link else {
        return Err("no hash on the line".to_owned());
    };
    match hash_line(line.as_bytes(), &link.prev) {
        Some(made) if made == link.hash => Ok((parsed.entry, link.hash)),
        _ => Err("it does not hash to what it claims".to_owned()),
    }
}
