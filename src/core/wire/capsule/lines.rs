//! [`check_lines`]: whether the cited ledger lines are what they are cited as.

use std::collections::BTreeMap;

use super::BadCapsule;
use crate::capsule::{Capsule, CapsuleRun, CapsuleStatement, LineRef, StatementAuthor};
use crate::entry::{Entry, EntryKind};
use crate::id::{Seq, SessionId};
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
    for (at, line) in capsule.origin.lines.iter().enumerate() {
        let place = format!("origin.lines[{at}]");
        let (entry, hash) = checked(line).map_err(|why| BadCapsule::new(&place, why))?;
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
    for (place, said) in capsule.statements() {
        if entry(said.line.as_ref()).is_some_and(|entry| !says(entry, said)) {
            let why = "the cited line says something else";
            return Err(BadCapsule::new(place, why));
        }
    }
    for (at, run) in capsule.verification.iter().enumerate() {
        if entry(run.line.as_ref()).is_some_and(|entry| !came_to(entry, run)) {
            let why = "the cited line says something else";
            return Err(BadCapsule::new(format!("verification[{at}]"), why));
        }
    }
    Ok(())
}

/// The places in ledgers that a capsule cites, each once.
pub fn cited(capsule: &Capsule) -> Vec<(SessionId, Seq)> {
    let refs = capsule.refs();
    let mut cited: Vec<_> = refs
        .map(|(_, line)| (line.session.clone(), line.seq))
        .collect();
    cited.sort();
    cited.dedup();
    cited
}

/// Whether an entry is what a statement cites it as.
pub fn says(entry: &Entry, said: &CapsuleStatement) -> bool {
    entry.timestamp_ms == said.at
        && StatementAuthor::from(&entry.source) == said.by
        && entry.content.starts_with(&said.text)
}

/// Whether an entry is the run that cites it. Only the daemon's own word is a verified one.
fn came_to(entry: &Entry, run: &CapsuleRun) -> bool {
    match &entry.kind {
        EntryKind::Artifact(artifact) => {
            artifact.status.as_str() == run.status && entry.gate_run().is_some() == run.verified
        }
        _ => false,
    }
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
