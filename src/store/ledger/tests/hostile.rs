//! Files that nobody should leave: reading, verifying and opening agree about them, and the record
//! goes on at their end.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::support::{Open, Project};
use crate::ledger::{LedgerError, Stored, read, verify};
use ctxrelay_core::wire::line::hostile;

/// What stands between two lines of a file.
fn end_of_line() -> impl Strategy<Value = &'static [u8]> {
    prop_oneof![
        12 => Just(&b"\n"[..]),
        1 => Just(&b"\r\n"[..]),
        1 => Just(&b"\n\n"[..]),
        1 => Just(&b""[..]),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let line = (hostile::bytes(), end_of_line());
    prop::collection::vec(line, 0..5).prop_map(|lines| {
        let pieces = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_vec()]);
        pieces.collect::<Vec<_>>().concat()
    })
}

fn entries(project: &Project) -> Vec<Stored> {
    let mut entries = Vec::new();
    read(&project.path(), |stored| {
        entries.push(stored);
        ControlFlow::Continue(())
    })
    .unwrap();
    entries
}

/// The open ledger; nothing for a file in which a line says that a newer version wrote it, which is
/// refused and left as it is.
fn opened(project: &Project) -> Option<Open> {
    let before = project.bytes();
    match project.try_open() {
        Ok(open) => Some(open),
        Err(LedgerError::NewerSchema(_)) => {
            assert_eq!(project.bytes(), before);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Opens, appends, and holds against each other what reading, verifying and opening say.
fn goes_on(project: &Project) -> Result<(), TestCaseError> {
    let verified = verify(&project.path(), None).unwrap();
    let Some(mut open) = opened(project) else {
        return Ok(());
    };
    let report = &open.report;
    prop_assert_eq!(
        (report.entries, report.bad_lines, &report.head),
        (verified.entries, verified.bad_lines, &verified.head)
    );
    prop_assert_eq!(report.chain_ok, verified.first_bad.is_none());
    prop_assert_eq!(report.torn.is_some(), verified.torn_bytes > 0);
    let mut wanted = entries(project);
    prop_assert_eq!(wanted.len() as u64, report.entries);
    for stored in &wanted {
        let found = open.ledger.read(stored.entry.seq).unwrap();
        prop_assert_eq!(found.as_ref(), Some(stored));
    }
    let appended = open.append(vec![project.note("after", "x")]).unwrap();
    wanted.push((*appended[0]).clone());
    let (live, stats) = (open.live.clone(), open.ledger.stats());
    open.close();

    // Everything is as it was, and the new entry is one more.
    prop_assert_eq!(entries(project), wanted);
    let after = verify(&project.path(), None).unwrap();
    prop_assert_eq!(after.first_bad, verified.first_bad);
    prop_assert_eq!(
        (after.entries, after.bad_lines),
        (verified.entries + 1, verified.bad_lines)
    );
    prop_assert_eq!(after.torn_bytes, 0);
    let open = project.open();
    prop_assert_eq!(&open.live, &live);
    prop_assert_eq!(open.ledger.stats(), stats);
    open.close();
    Ok(())
}

/// The readers differ in one thing that is documented: a number that no double holds.
fn has_huge_number(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut words = text.split(|it: char| it.is_whitespace() || "\":,[]{}".contains(it));
    words.any(|word| word.parse::<f64>().is_ok_and(f64::is_infinite))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_is_too_much_for_the_ledger(bytes in file()) {
        prop_assume!(!has_huge_number(&bytes));
        let project = Project::quick();
        project.write(&bytes);
        goes_on(&project)?;
    }

    #[test]
    fn a_chain_with_hostile_lines_in_it_is_read_past_them(
        before in file(),
        within in file(),
        at in 0..4usize,
    ) {
        prop_assume!(!has_huge_number(&before) && !has_huge_number(&within));
        let project = Project::quick();
        project.write(&before);
        let Some(mut open) = opened(&project) else {
            return Ok(());
        };
        for n in 0..3 {
            open.append(vec![project.note(&format!("n{n}"), "x")]).unwrap();
        }
        open.close();
        let mut lines = project.lines();
        let place = lines.len() - 3 + at;
        lines.insert(place, within);
        project.write(&lines.concat());
        goes_on(&project)?;
    }
}
