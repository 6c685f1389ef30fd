//! [`Vouched`]: whether the lines that a capsule cites stand in a record that verifies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::capsule::Capsule;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::store::ledger;
use crate::store::sealed_way::{ReachedSession, reached};
use crate::wire::line;

/// What vouches for the cited lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vouched {
    /// All of them stand in a chain that verifies.
    Anchored,
    /// It is of a task of this project's own, and its record has each of them as it counts now. The
    /// chain was not read for that: of a long record this takes seconds.
    Own,
    /// It cites none with its text.
    NoLines,
    /// Their record is not here.
    NoRecord,
    /// A record of that name is here, and this project's own does not lead back to it.
    Apart,
    /// They are somebody else's word: they stand in such a part of this project's own record, or a
    /// compaction carried them on from one.
    Foreign,
    /// A record of that name is here, and does not verify or does not have them.
    NotThere,
}

impl Vouched {
    /// Looks for the lines in this project's own sessions, or in `ledger`.
    ///
    /// # Errors
    ///
    /// When a record, or the head that is kept outside of the project, cannot be read.
    pub(super) fn of(
        context: &CliContext,
        world: &Snapshot,
        capsule: &Capsule,
        ledger: Option<&Path>,
    ) -> Result<Self, Failure> {
        let by_session = match cited(&capsule.origin.lines) {
            Ok(lines) => lines,
            Err(why) => return Ok(why),
        };
        for (session, lines) in by_session {
            let (place, foreign_through) = match ledger {
                Some(path) => (CitedPlace::Record(path.to_owned()), Seq(0)),
                None => match own(context, world, &session) {
                    Ok(own) => own,
                    Err(why) => return Ok(why),
                },
            };
            if lines.iter().any(|(seq, _)| *seq <= foreign_through) {
                return Ok(Self::Foreign);
            }
            if !has_all(context, &place, &lines)? {
                return Ok(Self::NotThere);
            }
        }
        Ok(Self::Anchored)
    }

    /// Whether the lines are where they should be.
    pub(super) fn is_anchored(self) -> bool {
        matches!(self, Self::Anchored | Self::Own)
    }

    /// Whether the chain of their record was read for that, and not only each of the lines.
    pub(super) fn is_chain_read(self) -> bool {
        matches!(self, Self::Anchored | Self::NotThere)
    }

    /// What that means, as a fragment.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Anchored => "the cited lines stand in a record that verifies",
            Self::Own => {
                "this project's own record has each of the cited lines; `ctxrelay ledger verify` \
                 reads its whole chain"
            }
            Self::NoLines => "it cites no line of a record with its text",
            Self::NoRecord => "the record that it cites is not here; --ledger names the sender's",
            Self::Apart => {
                "a session of that name lies here, and the record does not lead back to it, or it \
                 is not as it was sealed"
            }
            Self::Foreign => {
                "cited lines are of a part of the record that was not written here: nothing \
                 outside of the project vouches for it"
            }
            Self::NotThere => "the record does not verify, or does not have the cited lines",
        }
    }
}

/// Lines of a session, each with its number there.
type CitedLines<'a> = BTreeSet<(Seq, &'a [u8])>;

/// The lines that are cited with their text, by session.
///
/// # Errors
///
/// With what is known already, whatever record has them.
fn cited(lines: &[String]) -> Result<BTreeMap<SessionId, CitedLines<'_>>, Vouched> {
    let mut by_session: BTreeMap<SessionId, CitedLines<'_>> = BTreeMap::new();
    for text in lines {
        if let Ok(parsed) = line::parse(text.as_bytes()) {
            let entry = parsed.entry;
            if entry.is_carried_foreign() {
                return Err(Vouched::Foreign);
            }
            let lines = by_session.entry(entry.session_id).or_default();
            lines.insert((entry.seq, text.as_bytes()));
        }
    }
    match by_session.is_empty() {
        true => Err(Vouched::NoLines),
        false => Ok(by_session),
    }
}

/// Where cited lines should stand.
#[derive(Debug)]
enum CitedPlace {
    /// In the record of now, or in one from elsewhere.
    Record(PathBuf),
    Sealed(ReachedSession),
}

impl CitedPlace {
    fn path(&self) -> &Path {
        match self {
            Self::Record(path) => path,
            Self::Sealed(session) => &session.path,
        }
    }
}

/// The session of this project's own, and up to where it is somebody else's word.
fn own(
    context: &CliContext,
    world: &Snapshot,
    session: &SessionId,
) -> Result<(CitedPlace, Seq), Vouched> {
    let dirs = &context.project.dirs;
    let file = disk::session_file(dirs, session.as_str());
    let file = file.map_err(|_| Vouched::NoRecord)?;
    if world.session_id.as_ref() == Some(session) {
        return Ok((CitedPlace::Record(file), world.foreign_through));
    }
    let reached = reached(dirs, world, session).ok_or(Vouched::Apart)?;
    let foreign_through = reached.foreign_through;
    Ok((CitedPlace::Sealed(reached), foreign_through))
}

/// One reading of the whole file: what it does not verify is not looked for in it.
fn has_all(
    context: &CliContext,
    place: &CitedPlace,
    lines: &CitedLines<'_>,
) -> Result<bool, Failure> {
    let mut found = 0;
    let unreadable = |error| disk::unreadable(place.path(), &error);
    let path = match place {
        CitedPlace::Record(path) => path,
        CitedPlace::Sealed(session) => {
            let read = session.read(|stored| {
                let line = (stored.entry.seq, stored.line.as_bytes());
                found += usize::from(lines.contains(&line));
            });
            read.map_err(unreadable)?;
            return Ok(found == lines.len());
        }
    };
    let outside = disk::outside_head(&context.project)?;
    let report = ledger::verify_with(path, outside.as_ref(), |_, entry| {
        // No two entries of a file have one number.
        found += usize::from(entry.is_some_and(|entry| lines.contains(&entry)));
    });
    let report = report.map_err(unreadable)?;
    let is_whole = report.first_bad.is_none() && !report.has_foreign_lines();
    Ok(is_whole && found == lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::Party;
    use crate::core::entry::{CarriedEntry, Entry, EntryKind, NoteKind};
    use crate::wire::line::serialize;

    fn line(carried: Option<CarriedEntry>) -> String {
        let note = EntryKind::from(NoteKind::Goal);
        let entry = Entry {
            session_id: SessionId::new("session_2"),
            carried,
            ..Entry::new(Party::Human, note)
        };
        serde_json::to_string(&serialize(&entry)).unwrap()
    }

    #[test]
    fn nothing_vouches_for_what_a_compaction_carried_on_as_somebody_elses_word() {
        let first = || CarriedEntry::of(SessionId::new("session_1"), Seq(7));
        let [own, carried] = [None, Some(first())].map(line);
        assert!(cited(&[own.clone(), carried]).is_ok());
        let foreign = line(Some(CarriedEntry {
            foreign: true,
            ..first()
        }));
        assert_eq!(cited(&[own, foreign]), Err(Vouched::Foreign));
        assert_eq!(cited(&[]), Err(Vouched::NoLines));
    }
}
