//! Every call that a short script makes fails, in every way, alone and together with every other.

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::faulty_file::{FaultyFile, Operation, Plan};
use super::support::Project;
use crate::ledger::verify;

/// The appends of the script, by the ids of their notes.
const SCRIPT: [&[&str]; 4] = [&["a"], &["b", "c"], &["d"], &["e"]];

const ERRORS: [Errno; 3] = [Errno::NOSPC, Errno::IO, Errno::ROFS];

/// How much of a write gets through: nothing, something, all but its end, and all of it. The
/// lines here are some 400 bytes long.
const WRITTEN: [usize; 5] = [0, 1, 200, 900, 100_000];

/// How the file lies when the script begins, and what is recorded in it.
struct Beginning {
    bytes: Vec<u8>,
    ids: &'static [&'static str],
}

fn beginnings() -> Vec<Beginning> {
    let whole = Project::with_notes(2).bytes();
    let ids = &["n1", "n2"][..];
    let torn = [&whole[..], br#"{"schema":"v1","id":"#].concat();
    let without_newline = whole[..whole.len() - 1].to_vec();
    vec![
        Beginning {
            bytes: Vec::new(),
            ids: &[],
        },
        Beginning { bytes: whole, ids },
        Beginning { bytes: torn, ids },
        Beginning {
            bytes: without_newline,
            ids,
        },
    ]
}

/// Runs the script on a file that fails as planned, then on a sound one, and checks that exactly
/// what was acknowledged is there. Returns the calls that it made.
fn run(beginning: &Beginning, at: &BTreeMap<usize, (Errno, usize)>) -> Vec<Operation> {
    let project = Project::quick();
    project.write(&beginning.bytes);
    let plan = Plan {
        at: at.clone(),
        ..Plan::default()
    };
    let (file, plan) = FaultyFile::open_with(&project, plan);
    let mut acknowledged: Vec<&str> = beginning.ids.to_vec();
    match project.try_open_on(file) {
        Err(error) => assert!(!at.is_empty(), "{error}"),
        Ok(mut open) => {
            let mut failed = 0;
            for ids in SCRIPT {
                let notes = ids.iter().map(|id| project.note(id, "x")).collect();
                match open.append(notes) {
                    Ok(_) => acknowledged.extend(ids),
                    Err(_) => failed += 1,
                }
            }
            plan.lock().unwrap().at.clear();
            let recovered = open.recovered;
            open.append(vec![project.note("last", "x")]).unwrap();
            acknowledged.push("last");
            assert!(failed <= at.len(), "{at:?}");
            assert_eq!(open.recovered > 0, failed > 0, "{at:?}");
            assert!(open.recovered - recovered <= 1, "{at:?}");
            assert_eq!(open.ledger.stats().bytes as usize, project.bytes().len());
            let live = open.live.clone();
            open.close();
            let again = project.open();
            assert_eq!(again.live, live, "{at:?}");
            again.close();
        }
    }
    let report = verify(&project.path(), None).unwrap();
    assert!(report.ok, "{at:?}: {report:?}");
    let mut open = project.open();
    assert_eq!(open.found(), acknowledged, "{at:?}");
    open.append(vec![project.note("after", "x")]).unwrap();
    open.close();
    std::mem::take(&mut plan.lock().unwrap().calls)
}

#[test]
fn whichever_call_fails_exactly_what_was_acknowledged_is_there() {
    let mut failed = Vec::new();
    for beginning in beginnings() {
        let calls = run(&beginning, &BTreeMap::new());
        for (number, operation) in calls.into_iter().enumerate() {
            failed.push(operation);
            let written = match operation {
                Operation::Append => &WRITTEN[..],
                _ => &WRITTEN[..1],
            };
            for errno in ERRORS {
                for written in written {
                    run(&beginning, &BTreeMap::from([(number, (errno, *written))]));
                }
            }
        }
    }
    for operation in [Operation::Append, Operation::Sync, Operation::Truncate] {
        assert!(
            failed.contains(&operation),
            "no script comes to {operation:?}"
        );
    }
}

/// The second fault also meets what is done about the first one: taking back, reopening.
#[test]
fn whichever_two_calls_fail_exactly_what_was_acknowledged_is_there() {
    let [_, whole, ..] = &beginnings()[..] else {
        panic!("the beginnings")
    };
    let mut met = Vec::new();
    let first_calls = run(whole, &BTreeMap::new()).len();
    for first in 0..first_calls {
        for written in [0, 200] {
            let one = BTreeMap::from([(first, (Errno::NOSPC, written))]);
            let calls = run(whole, &one);
            for (second, operation) in calls.into_iter().enumerate().skip(first + 1) {
                met.push(operation);
                let mut two = one.clone();
                two.insert(second, (Errno::IO, 200));
                run(whole, &two);
            }
        }
    }
    for operation in [Operation::Reopen, Operation::Truncate, Operation::Len] {
        assert!(met.contains(&operation), "no fault met {operation:?}");
    }
}
