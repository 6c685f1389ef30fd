//! Ledgers of every format that has to stay readable.

use super::support::Project;
use crate::core::id::{EntryId, Seq, SessionId};
use crate::store::ledger::verify;

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
    assert_eq!(open.ledger.seq_of(&handoff), Some(Seq(3)));
    open.append(vec![project.note("n", "x")]).unwrap();
    open.close();
    assert!(verify(&project.path(), None).unwrap().ok);
}
