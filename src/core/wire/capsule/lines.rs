//! [`check_lines`]: whether the cited ledger lines are what they are cited as; [`uncited`]: what
//! none is cited for.

use std::collections::{BTreeMap, BTreeSet};

use super::BadCapsule;
use crate::capsule::{Capsule, LineRef};
use crate::entry::Entry;
use crate::wire::line::{hash_line, parse};

/// Every line hashes to what it claims, is cited, and says what the capsule says that it says.
///
/// What is cited without its line is not looked at: it had no room, or may not be told.
///
/// # Errors
///
/// The first line or place that is wrong.
pub fn check_lines(capsule: &Capsule) -> Result<(), BadCapsule> {
    let mut lines = BTreeMap::new();
    for line in hashed(capsule) {
        let (place, entry, hash) = line?;
        let key = (entry.session_id.clone(), entry.seq);
        if lines.insert(key, (entry, hash, place.clone())).is_some() {
            return Err(BadCapsule::new(place, "the same line twice"));
        }
    }
    let mut uncited: Vec<_> = lines.keys().cloned().collect();
    for (place, line) in capsule.refs() {
        let key = (line.session.clone(), line.seq);
        if let Some((entry, hash, _)) = lines.get(&key) {
            if line.id != entry.id || line.hash != *hash {
                return Err(BadCapsule::new(place, "the line is another one"));
            }
            uncited.retain(|other| *other != key);
        }
    }
    if let Some((_, _, place)) = uncited.first().and_then(|key| lines.get(key)) {
        return Err(BadCapsule::new(place, "nothing cites it"));
    }
    let entry = |line: Option<&LineRef>| {
        let line = line?;
        let (entry, _, _) = lines.get(&(line.session.clone(), line.seq))?;
        Some(entry)
    };
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

/// Every line hashes to what it claims.
///
/// # Errors
///
/// The first that does not.
pub(super) fn check_hashes(capsule: &Capsule) -> Result<(), BadCapsule> {
    hashed(capsule).try_for_each(|line| line.map(drop))
}

/// The place of each line, its entry and its hash, as far as that is right.
fn hashed(capsule: &Capsule) -> impl Iterator<Item = Result<(String, Entry, String), BadCapsule>> {
    let lines = capsule.origin.lines.iter().enumerate();
    lines.map(|(at, line)| {
        let place = format!("origin.lines[{at}]");
        match checked(line) {
            Ok((entry, hash)) => Ok((place, entry, hash)),
            Err(why) => Err(BadCapsule::new(place, why)),
        }
    })
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
