//! What is found when a ledger is opened.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::support::Project;
use crate::ledger::{LedgerError, RECENT_MAX, ReadProgress, ReadSoFar, open_watched, verify};
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::wire::line::LINE_MAX;

#[test]
fn a_torn_tail_of_every_length_costs_only_itself() {
    let whole = Project::with_notes(2);
    let bytes = whole.bytes();
    let starts: Vec<usize> = whole
        .lines()
        .iter()
        .scan(0, |end, line| {
            let start = *end;
            *end += line.len();
            Some(start)
        })
        .collect();
    for cut in starts[1] - 2..=bytes.len() {
        let project = Project::new();
        project.write(&bytes[..cut]);
        let before = starts.iter().filter(|start| **start < cut).count();
        let torn = starts.iter().all(|start| *start != cut) && cut != bytes.len();
        // Only the newline is missing: nothing of the entry is lost.
        let mended = torn && bytes[cut] == b'\n';
        let kept = if torn && !mended { before - 1 } else { before };

        let mut open = project.open();
        assert_eq!(open.report.entries as usize, kept, "{cut}");
        assert_eq!(
            (open.report.bad_lines, open.report.chain_ok),
            (0, true),
            "{cut}"
        );
        assert_eq!(open.report.torn.is_some(), torn && !mended, "{cut}");
        if let Some(path) = &open.report.torn {
            assert_eq!(fs::read(path).unwrap(), &bytes[starts[before - 1]..cut]);
            assert_eq!(crate::testing::mode(path), 0o600);
        }
        assert_eq!(
            open.report.bytes,
            fs::metadata(project.path()).unwrap().len()
        );
        let stored = open.append(vec![project.note("next", "x")]).unwrap();
        assert_eq!(stored[0].entry.seq, Seq(kept as u64 + 1));
        open.close();
        let report = verify(&project.path(), None).unwrap();
        assert!(report.ok, "{cut}: {report:?}");
        assert_eq!(report.entries as usize, kept + 1);
    }
}

#[test]
fn bad_lines_in_the_middle_are_counted_and_passed() {
    let project = Project::with_notes(4);
    let mut lines = project.lines();
    for bad in [
        &b"null\n"[..],
        b"[]\n",
        b"\n",
        b"garbage\n",
        b"{\"a\":\n",
        b"\xff\xfe\x00\n",
        b"{\"id\":\"forged\",\"type\":\"note\"}\n",
        b"7\r\n",
    ] {
        lines.insert(2, bad.to_vec());
    }
    project.write(&lines.concat());
    let mut open = project.open();
    assert_eq!((open.report.entries, open.report.bad_lines), (4, 8));
    assert!(!open.report.chain_ok);
    assert_eq!(
        open.ledger.seq_of(&EntryId::new("n4")).unwrap(),
        Some(Seq(4))
    );
    assert_eq!(open.ledger.seq_of(&EntryId::new("forged")).unwrap(), None);
    let stored = open.append(vec![project.note("n5", "x")]).unwrap();
    assert_eq!(stored[0].entry.seq, Seq(5));
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.entries, report.bad_lines), (5, 8));
}

#[test]
fn a_line_of_any_length_is_read_in_bounded_memory() {
    let project = Project::with_notes(2);
    let mut lines = project.lines();
    let long = |len: usize| {
        let mut line = b"{\"id\":\"long\",\"type\":\"note\",\"content\":\"".to_vec();
        line.resize(len, b'x');
        line.extend_from_slice(b"\"}\n");
        line
    };
    lines.insert(0, long(10_000_000));
    lines.insert(0, long(LINE_MAX + 1));
    project.write(&lines.concat());
    let open = project.open();
    // The two long lines make an unchained beginning that this chain did not grow from.
    assert_eq!((open.report.entries, open.report.bad_lines), (3, 1));
    assert_eq!(open.report.prefix_lines, 2);
    assert!(!open.report.chain_ok);
    let found = open.ledger.read(Seq(2)).unwrap().unwrap();
    assert!(found.line.len() > 9_999_999);
    open.close();
}

#[test]
fn an_old_ledger_goes_on_as_a_chain() {
    let old = concat!(
        r#"{"schema":"v1","id":"a","timestamp":1,"sessionId":"s","type":"session_started","source":"system","content":"x"}"#,
        "\nnot an entry\n",
        r#"{"schema":"v1","id":"h","timestamp":2,"sessionId":"s","type":"handoff","source":"claude","target":"codex","content":"do it","handoff":{"from":"claude","to":"codex","reason":"r","ask":"do it","context_refs":[]},"meta":{}}"#,
    );
    for end in ["\n", "", "\n{\"schema\":\"v1\",\"id\":\"torn"] {
        let project = Project::new();
        project.write(format!("{old}{end}").as_bytes());
        let mut open = project.open();
        assert_eq!((open.report.entries, open.report.bad_lines), (2, 1));
        assert_eq!(
            (open.report.prefix_lines, open.report.head.clone()),
            (3, None)
        );
        assert!(open.report.chain_ok);
        assert_eq!(open.report.torn.is_some(), end.contains("torn"));
        assert!(open.live.open_handoffs.contains_key(&EntryId::new("h")));
        let stored = open.append(vec![project.note("n", "x")]).unwrap();
        assert_eq!(stored[0].entry.seq, Seq(4));
        let live = open.live.clone();
        open.close();
        let report = verify(&project.path(), None).unwrap();
        assert!(report.ok, "{report:?}");
        assert_eq!((report.prefix, report.chained, report.entries), (3, 1, 3));
        let open = project.open();
        assert_eq!(open.live, live);
        assert_eq!(
            open.ledger.seq_of(&EntryId::new("h")).unwrap(),
            Some(Seq(3))
        );
        open.close();
    }
}

#[test]
fn only_the_latest_entries_are_handed_out() {
    let project = Project::new();
    let mut open = project.open();
    for batch in 0..3 {
        let notes = (0..500)
            .map(|n| project.note(&format!("n{batch}-{n}"), "x"))
            .collect();
        open.append(notes).unwrap();
    }
    open.close();
    let open = project.open();
    assert_eq!(open.report.entries, 1500);
    assert_eq!(open.report.recent.len(), RECENT_MAX);
    assert_eq!(open.report.recent[0].entry.seq, Seq(501));
    open.close();
}

#[test]
fn what_is_no_file_of_ours_is_refused_with_a_reason() {
    let refused = |project: &Project| project.try_open().err().unwrap();

    let project = Project::new();
    fs::create_dir(project.path()).unwrap();
    let error = refused(&project);
    assert!(matches!(error, LedgerError::NotAFile(_)), "{error}");

    let project = Project::new();
    let elsewhere = project.dirs.root.join("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, project.path()).unwrap();
    let error = refused(&project);
    assert!(matches!(error, LedgerError::Link(_)), "{error}");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");

    let project = Project::with_notes(1);
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything, and then there is nothing to refuse.
    if !rustix::process::geteuid().is_root() {
        let error = refused(&project);
        assert!(matches!(error, LedgerError::Denied(_)), "{error}");
    }

    let mut project = Project::new();
    project.session = ctxrelay_core::id::SessionId::new("../../outside");
    let error = refused(&project);
    assert!(matches!(error, LedgerError::Refused(_)), "{error}");
}

#[test]
fn a_ledger_with_another_name_is_refused_until_it_is_replaced_by_a_copy() {
    let project = Project::with_notes(1);
    fs::hard_link(project.path(), project.path().with_extension("other")).unwrap();
    let error = project.try_open().err().unwrap();
    assert!(matches!(error, LedgerError::HardLink(_)), "{error}");
    let copy = project.path().with_extension("new");
    fs::copy(project.path(), &copy).unwrap();
    fs::rename(&copy, project.path()).unwrap();
    project.open();
}

#[test]
fn a_ledger_that_contextrelay_has_locked_is_refused_until_its_owner_is_gone() {
    let project = Project::with_notes(1);
    let mut lock = project.path().into_os_string();
    lock.push(".lock");
    fs::create_dir(&lock).unwrap();
    let owner = std::path::Path::new(&lock);
    let error = project.try_open().err().unwrap();
    assert!(matches!(error, LedgerError::ForeignOwner { .. }), "{error}");
    assert!(error.to_string().contains("contextrelay kill"), "{error}");

    let alive = std::process::id();
    for text in [format!("{alive}\n"), "nonsense".to_owned()] {
        fs::write(owner.join("pid"), text).unwrap();
        assert!(project.try_open().is_err());
    }
    fs::write(owner.join("pid"), "").unwrap();
    fs::write(owner.join("owner.json"), format!("{{\"pid\":{alive}}}")).unwrap();
    assert!(project.try_open().is_err());

    // A child that has been waited for is certainly gone.
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    fs::remove_file(owner.join("owner.json")).unwrap();
    fs::write(owner.join("pid"), format!("{}\n", child.id())).unwrap();
    project.open().close();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_keeps_the_ledger_from_opening_and_going_on(
        bytes in prop::collection::vec(prop_oneof![
            any::<u8>(), Just(b'\n'), Just(b'{'), Just(b'"'), Just(b'}')
        ], 0..400),
    ) {
        let project = Project::new();
        project.write(&bytes);
        let mut open = project.open();
        open.append(vec![project.note("n", "x")]).unwrap();
        open.close();
        let report = verify(&project.path(), None).unwrap();
        prop_assert!(report.ok, "{:?}", report);
        prop_assert_eq!(report.chained, 1);
        let open = project.open();
        prop_assert_eq!(open.ledger.seq_of(&EntryId::new("n")).unwrap().unwrap().0, report.prefix + 1);
        open.close();
    }
}

#[test]
fn a_reading_says_how_far_it_is() {
    // More than is worked on in one go, most of it no entries.
    let project = Project::with_notes(3);
    let mut bytes = project.bytes();
    let line = [b"x".repeat(20_000), b"\n".to_vec()].concat();
    bytes.extend_from_slice(&line.repeat(40));
    project.write(&bytes);
    let progress = ReadProgress::default();
    assert_eq!(progress.so_far(), ReadSoFar::default());
    let opened = open_watched(project.options(), &progress, Box::new(|_| {})).unwrap();
    let all = bytes.len() as u64;
    assert_eq!(
        progress.so_far(),
        ReadSoFar {
            bytes: all,
            of: all,
            entries: 3
        }
    );
    opened.ledger.close();
}
