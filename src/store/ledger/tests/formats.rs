//! Ledgers of every format that has to stay readable.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::Project;
use crate::ledger::verify;
use ctxrelay_core::id::{EntryId, Seq, SessionId};
use ctxrelay_core::wire::line::{SCHEMA, parse};

const CHAINED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1795000000000_a1b2c3d4.jsonl");
const PREFIXED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1794000000000_0badcafe.jsonl");

fn old(session: &str, bytes: &[u8]) -> Project {
    let mut project = Project::new();
    project.session = SessionId::new(session);
    project.write(bytes);
    project
}

#[test]
fn a_chained_ledger_opens_as_it_was_left() {
    let project = old("session_1795000000000_a1b2c3d4", CHAINED);
    let report = verify(&project.path(), None).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!((report.entries, report.chained, report.prefix), (8, 8, 0));
    let mut open = project.open();
    assert_eq!(open.live.open_handoffs.len(), 0);
    assert_eq!(open.live.closed_handoffs_total, 1);
    assert_eq!(open.live.decided_proposals.len(), 1);
    assert_eq!(open.live.artifacts.len(), 1);
    open.append(vec![project.note("n", "x")]).unwrap();
    open.close();
    assert!(project.bytes().starts_with(CHAINED));
    assert!(verify(&project.path(), None).unwrap().ok);
}

#[test]
fn an_older_ledger_with_a_chain_after_it_opens_as_it_was_left() {
    let project = old("session_1794000000000_0badcafe", PREFIXED);
    let report = verify(&project.path(), None).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!((report.entries, report.chained, report.prefix), (4, 2, 3));
    assert_eq!(report.bad_lines, 1);
    let mut open = project.open();
    let handoff = EntryId::new("7a9d1f22-0c4b-4e57-8b7e-112233445566");
    assert!(open.live.open_handoffs.contains_key(&handoff));
    assert_eq!(open.ledger.seq_of(&handoff).unwrap(), Some(Seq(3)));
    open.append(vec![project.note("n", "x")]).unwrap();
    open.close();
    assert!(verify(&project.path(), None).unwrap().ok);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Whoever adds a format adds its ledgers here, and they are never changed: what this program once
/// wrote it reads for ever.
#[test]
fn every_ledger_ever_kept_here_loads_proves_itself_and_goes_on() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/formats");
    let mut loaded = 0;
    for format in files(&folder) {
        let ledgers: Vec<PathBuf> = files(&format)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
            .collect();
        assert!(!ledgers.is_empty(), "no ledger in {}", format.display());
        for ledger in ledgers {
            let name = ledger.display();
            let bytes = fs::read(&ledger).unwrap();
            let hashes = fs::read_to_string(ledger.with_extension("hashes")).unwrap();
            let links = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| parse(line).ok()?.link);
            let found: Vec<String> = links.map(|link| link.hash).collect();
            assert_eq!(found, hashes.lines().collect::<Vec<_>>(), "{name}");

            let project = old(ledger.file_stem().unwrap().to_str().unwrap(), &bytes);
            let before = verify(&project.path(), None).unwrap();
            assert!(before.ok, "{name}: {before:?}");
            assert_eq!(before.chained, found.len() as u64, "{name}");
            let mut open = project.open();
            assert_eq!(open.report.entries, before.entries, "{name}");
            open.append(vec![project.note("next", "x")]).unwrap();
            open.close();
            assert!(project.bytes().starts_with(&bytes), "{name}");
            let after = verify(&project.path(), None).unwrap();
            assert!(after.ok, "{name}: {after:?}");
            assert_eq!(after.entries, before.entries + 1, "{name}");
            loaded += 1;
        }
    }
    assert!(loaded >= 2);
    assert!(
        folder.join(SCHEMA).is_dir(),
        "what is written now has no ledger there"
    );
}
