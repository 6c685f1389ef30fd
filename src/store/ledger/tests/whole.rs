//! Texts that are too long for a line.

use std::fs;

use proptest::prelude::*;

use super::support::{DEADLINE, Project};
use crate::blobs::Blobs;
use crate::ledger::{LedgerError, Reason, WriterEvent, verify};
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::entry::{Entry, EntryKind, Handoff};
use ctxrelay_core::id::Seq;
use ctxrelay_core::whole::{LINE_UNITS_MAX, Whole};

fn long(seed: &str) -> String {
    format!("{seed} {}", "word ".repeat(LINE_UNITS_MAX / 4))
}

fn handoff(project: &Project, ask: &str) -> Entry {
    Entry {
        source: Party::Agent(Agent::Claude),
        target: Some(Agent::Codex.into()),
        kind: EntryKind::Handoff(Handoff {
            reason: "a second look".to_owned(),
            ..Handoff::default()
        }),
        ..project.note("h", ask)
    }
}

#[test]
fn a_long_text_is_cut_on_the_line_and_whole_beside_it() {
    let project = Project::new();
    let mut open = project.open();
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    let text = format!("{}token {secret} end", long("ask"));
    let stored = open.append(vec![handoff(&project, &text)]).unwrap();
    let (entry, line) = (&stored[0].entry, &stored[0].line);
    let blobs = Blobs::of_ledger(&project.path());
    let whole = entry.whole.clone().unwrap();
    let kept = blobs.get(&whole.sha256).unwrap();
    assert_eq!(kept, text.replace(&secret, "[REDACTED_GITHUB_TOKEN]"));
    assert_eq!(whole.units as usize, kept.encode_utf16().count());
    let left = kept.len() - LINE_UNITS_MAX;
    assert_eq!(
        entry.content,
        format!("{}\n[TRUNCATED {left} chars]", &kept[..LINE_UNITS_MAX])
    );
    assert_eq!(entry.meta["truncated"], true);
    assert_eq!(entry.meta["redacted"], true);
    // The ask is said twice, and cut twice.
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(json["handoff"]["ask"], json["content"]);
    let keys: Vec<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys[keys.len() - 5..],
        ["meta", "whole", "seq", "prev", "hash"],
        "after the fields of the v1 shape"
    );
    let live = open.live.clone();
    open.close();
    let open = project.open();
    assert_eq!(open.live, live);
    assert_eq!(open.ledger.read(Seq(1)).unwrap().unwrap(), *stored[0]);
    open.close();
}

#[test]
fn what_just_fits_stays_on_its_line() {
    let project = Project::new();
    let mut open = project.open();
    let text = "é".repeat(LINE_UNITS_MAX);
    let stored = open.append(vec![project.note("n", &text)]).unwrap();
    assert_eq!(stored[0].entry.whole, None);
    assert_eq!(stored[0].entry.content, text);
    let dir = Blobs::of_ledger(&project.path()).dir().to_owned();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
    open.close();
}

#[test]
fn an_entry_whose_text_cannot_be_kept_is_not_recorded() {
    let project = Project::new();
    let mut open = project.open();
    open.append(vec![project.note("a", "short")]).unwrap();
    let before = project.bytes();
    let dir = Blobs::of_ledger(&project.path()).dir().to_owned();
    fs::remove_dir(&dir).unwrap();
    fs::write(&dir, "in the way").unwrap();
    let both = vec![project.note("b", "short"), project.note("c", &long("c"))];
    let error = open.append(both).unwrap_err();
    assert!(matches!(error, LedgerError::Io { .. }), "{error}");
    assert!(error.to_string().contains("keep a long text"), "{error}");
    assert_eq!(project.bytes(), before, "nothing of the append is there");
    // Once it can be kept, everything goes on by itself and says so.
    fs::remove_file(&dir).unwrap();
    let stored = open.append(vec![project.note("c", &long("c"))]).unwrap();
    assert_eq!((stored[0].entry.seq, open.recovered), (Seq(2), 1));
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.blobs.texts), (true, 1), "{report:?}");
}

#[test]
fn a_fact_whose_text_cannot_be_kept_is_shortened_and_holds_nothing_up() {
    let project = Project::new();
    let open = project.open();
    let dir = Blobs::of_ledger(&project.path()).dir().to_owned();
    fs::remove_dir(&dir).unwrap();
    fs::write(&dir, "in the way").unwrap();
    let both = vec![project.note("a", &long("a")), project.note("b", "short")];
    open.ledger.append_fact(1, 0, both).unwrap();
    let WriterEvent::Durable { entries, .. } = open.events.recv_timeout(DEADLINE).unwrap() else {
        panic!("the fact was refused");
    };
    let entry = &entries[0].entry;
    assert!(entry.content.contains("which are not kept"), "{entry:?}");
    assert_eq!((&entry.whole, entries.len()), (&None, 2));
    open.close();
    assert!(verify(&project.path(), None).unwrap().ok);
}

#[test]
fn an_entry_that_was_cut_before_is_left_as_it_is() {
    let project = Project::new();
    let mut open = project.open();
    let text = long("n");
    let first = open.append(vec![project.note("n", &text)]).unwrap();
    let again = Entry {
        seq: Seq(0),
        ..first[0].entry.clone()
    };
    let second = open.append(vec![again.clone()]).unwrap();
    assert_eq!(
        second[0].entry,
        Entry {
            seq: Seq(2),
            ..again
        }
    );
    open.close();
}

#[test]
fn verify_names_the_first_text_that_is_missing_or_altered() {
    let project = Project::new();
    let mut open = project.open();
    let mut names = Vec::new();
    for n in 1..=4 {
        let text = if n == 2 {
            "short".to_owned()
        } else {
            long(&n.to_string())
        };
        let stored = open
            .append(vec![project.note(&n.to_string(), &text)])
            .unwrap();
        names.extend(stored[0].entry.whole.clone().map(|whole| whole.sha256));
    }
    open.close();
    let blobs = Blobs::of_ledger(&project.path());
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.blobs.texts), (true, 3));

    fs::write(blobs.dir().join(&names[1]), "another text").unwrap();
    let report = verify(&project.path(), None).unwrap();
    let fault = report.first_bad.unwrap();
    assert_eq!((report.ok, fault.seq, fault.line), (false, 3, 3));
    assert_eq!(fault.reason, Reason::BlobAltered);
    assert_eq!((report.blobs.missing, report.blobs.altered), (0, 1));

    fs::remove_file(blobs.dir().join(&names[0])).unwrap();
    let report = verify(&project.path(), None).unwrap();
    let fault = report.first_bad.unwrap();
    assert_eq!((fault.seq, fault.reason), (1, Reason::BlobMissing));
    assert_eq!((report.blobs.missing, report.blobs.altered), (1, 1));
}

#[test]
fn a_name_on_a_line_that_is_a_path_leads_nowhere() {
    let project = Project::new();
    let mut open = project.open();
    let entry = Entry {
        whole: Some(Whole {
            sha256: "../sessions/session_1795000000000_a1b2c3d4.jsonl".to_owned(),
            units: 1,
        }),
        ..project.note("n", "x")
    };
    let stored = open.append(vec![entry]).unwrap();
    assert_eq!(stored[0].entry.whole, None);
    open.close();
    assert!(verify(&project.path(), None).unwrap().ok);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_long_comes_back_whole_and_the_file_folds_to_what_was_live(
        texts in prop::collection::vec(
            ("[ -~é🦀]{0,40}", LINE_UNITS_MAX - 30..LINE_UNITS_MAX + 30), 1..4
        )
    ) {
        let project = Project::new();
        let mut open = project.open();
        let mut sent = Vec::new();
        for (n, (tail, length)) in texts.into_iter().enumerate() {
            let text = format!("{}{tail}", "x".repeat(length));
            let stored = open.append(vec![project.note(&n.to_string(), &text)]).unwrap();
            sent.push((text, stored[0].entry.clone()));
        }
        let live = open.live.clone();
        open.close();
        let blobs = Blobs::of_ledger(&project.path());
        for (text, entry) in sent {
            let got = match entry.whole {
                Some(whole) => blobs.get(&whole.sha256).unwrap(),
                None => entry.content,
            };
            prop_assert_eq!(got, text);
        }
        let open = project.open();
        prop_assert_eq!(&open.live, &live);
        open.close();
    }
}
