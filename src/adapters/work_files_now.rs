//! [`work_folders`]: the agents' work as files, made from the record and the project's current
//! files.

use std::io;
use std::path::Path;

use super::file_heads::FileHeads;
use crate::core::agent::Agent;
use crate::core::continuity::{WORKING_SET_MAX, WorkFolder, WorkSources};
use crate::core::entry::Entry;
use crate::core::id::{RuntimeSession, Seq};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;

/// Of a file's beginning, in lines and characters.
const HEAD_LINES: usize = 30;
const HEAD_CHARS: usize = 2_000;

/// One folder for each agent and runtime session of whose work the record knows. `recent`: the
/// latest entries of the record, oldest first; what else is needed of it comes by `read`. Blocks for
/// the disk.
///
/// # Errors
///
/// As `read`: files without what stands there would be wrong.
pub fn work_folders(
    root: &Path,
    world: &Snapshot,
    redactor: &Redactor,
    recent: &[Entry],
    read: impl Fn(Seq) -> io::Result<Option<Entry>>,
) -> io::Result<Vec<WorkFolder>> {
    let mut folders = Vec::new();
    for (agent, states) in &world.continuity {
        for pair in states.keys() {
            let entries = with_older(world, *agent, pair, recent, &read)?;
            let files = WorkSources {
                world,
                agent: *agent,
                pair,
                entries: &entries,
                heads: &heads(root, world, *agent, pair, redactor),
                time: &utc,
            }
            .files();
            if !files.is_empty() {
                folders.push(WorkFolder {
                    pair: pair.clone(),
                    agent: *agent,
                    files,
                });
            }
        }
    }
    Ok(folders)
}

/// When it was, in words that are the same wherever they are made.
pub fn utc(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The latest entries, behind those of the compactions and of the last packet that are older.
fn with_older(
    world: &Snapshot,
    agent: Agent,
    pair: &RuntimeSession,
    recent: &[Entry],
    read: impl Fn(Seq) -> io::Result<Option<Entry>>,
) -> io::Result<Vec<Entry>> {
    let from = recent.first().map_or(Seq(u64::MAX), |entry| entry.seq);
    let state = world.state_of(agent, pair);
    let mut older: Vec<Seq> = state
        .into_iter()
        .flat_map(|state| {
            let compactions = state.compactions.iter().map(|seen| seen.seq);
            compactions.chain(state.packet.as_ref().map(|packet| packet.seq))
        })
        .filter(|seq| *seq < from)
        .collect();
    older.sort_unstable();
    older.dedup();
    let older = older.into_iter().map(read).filter_map(Result::transpose);
    older.chain(recent.iter().cloned().map(Ok)).collect()
}

/// How the files begin that an agent changed last, masked: plain texts below the project's folder.
fn heads(
    root: &Path,
    world: &Snapshot,
    agent: Agent,
    pair: &RuntimeSession,
    redactor: &Redactor,
) -> Vec<(String, String)> {
    let state = world.state_of(agent, pair);
    let read = FileHeads::below(root, redactor, HEAD_LINES, HEAD_CHARS);
    let (Some(state), Some(read)) = (state, read) else {
        return Vec::new();
    };
    let files = state.files.iter().rev().take(WORKING_SET_MAX);
    let heads = files.filter_map(|file| Some((file.path.clone(), read.read(&file.path)?)));
    heads.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::core::continuity::{ContinuityState, TouchedFile};

    const SECRET: &str = concat!("AKIA", "R7QK3VD2MX5TPLB4");

    #[test]
    fn beginnings_are_masked_and_of_files_of_the_project_alone() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("key"), "secret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let text = format!("key {SECRET}\u{1b}[2J\n") + &"line\n".repeat(100);
        std::fs::write(dir.path().join("a.rs"), text).unwrap();
        std::os::unix::fs::symlink(outside.path().join("key"), dir.path().join("link")).unwrap();
        let mut state = ContinuityState::default();
        for path in ["gone.rs", "link", "a.rs"] {
            state.files.push_back(TouchedFile {
                path: path.to_owned(),
                seq: Seq(1),
                at_ms: 0,
            });
        }
        let mut world = Snapshot::default();
        let pair = RuntimeSession::default();
        let states = world.continuity.entry(Agent::Claude).or_default();
        states.insert(pair.clone(), state);
        let heads = heads(dir.path(), &world, Agent::Claude, &pair, &Redactor::new());
        assert_eq!(heads.len(), 1);
        let (path, head) = &heads[0];
        assert_eq!(path, "a.rs");
        assert!(!head.contains(SECRET) && !head.contains('\u{1b}'), "{head}");
        assert_eq!(head.lines().count(), HEAD_LINES);
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_in_no_file_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut world = Snapshot::default();
        let states = world.continuity.entry(Agent::Claude).or_default();
        let state = states.entry(RuntimeSession::default()).or_default();
        let seen = json!({"seq": 1, "atMs": 0, "compaction": {"trigger": "auto"}});
        state.compactions.push_back(from_value(seen).unwrap());
        let made = |read: fn(Seq) -> io::Result<Option<Entry>>| {
            work_folders(dir.path(), &world, &Redactor::new(), &[], read)
        };
        assert!(made(|_| Ok(None)).is_ok());
        assert!(made(|_| Err(io::ErrorKind::InvalidData.into())).is_err());
    }
}
