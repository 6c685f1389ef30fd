use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::*;
use crate::core::agent::{Agent, Party};
use crate::core::capsule::StandsNow;
use crate::core::continuity::{ContinuityState, StatedText, TouchedFile};
use crate::core::entry::{Artifact, ArtifactStatus, EntryKind, GateRun, NoteKind};
use crate::core::id::{CapsuleId, EntryId, RuntimeSession, SessionId};
use crate::core::redact::secret_samples::{SecretSample, leaks, one_of_each};
use crate::core::snapshot::{GateSnapshot, TaskFile, TaskHandoff};
use crate::wire::capsule::{OUTPUTS_BYTES_MAX, read};
use crate::wire::line::{GENESIS, seal, serialize};

/// A repository with a commit of these files, each of one line.
fn repository(names: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run(root, &["init", "-q", "-b", "main"]);
    for name in names {
        fs::write(root.join(name), "before\n").unwrap();
    }
    run(root, &["add", "--all"]);
    run(root, &["commit", "-q", "-m", "first"]);
    folder
}

fn run(root: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(root);
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

fn task() -> TaskSnapshot {
    let id = CapsuleId::new("cap_0123456789ab");
    TaskSnapshot::new(id, "Fix the login".to_owned(), Seq(1), 1)
}

/// The capsule of a task with what is asked for, which is taken where it arrives.
fn made(now: &CapsulesNow, along: Along) -> Capsule {
    let (_, bytes) = now.make_with(&task(), along).unwrap();
    read(&bytes).unwrap()
}

fn with_patch(root: &Path) -> Capsule {
    let redactor = Arc::new(Redactor::new());
    let world = Arc::new(Snapshot::default());
    let now = CapsulesNow::new(root.to_owned(), world, Vec::new(), redactor, |_| Ok(None));
    let along = Along {
        patch: true,
        outputs: false,
    };
    made(&now, along)
}

/// With what gates printed, one entry each.
fn with_outputs(printed: &[String]) -> Capsule {
    let folder = tempfile::tempdir().unwrap();
    let mut world = Snapshot::default();
    for (at, _) in printed.iter().enumerate() {
        let entry = gate(at, "");
        let EntryKind::Artifact(artifact) = entry.kind else {
            continue;
        };
        let run = artifact.verified.unwrap();
        let gate = GateSnapshot {
            id: entry.id,
            seq: entry.seq,
            at_ms: 1,
            status: artifact.status,
            run: run.clone(),
            flaky: false,
            before: None,
        };
        world.gates.insert(run.gate, gate);
    }
    let texts = printed.to_vec();
    let read = move |seq: Seq| {
        let at = usize::try_from(seq.0).unwrap_or_default();
        let text = at.checked_sub(1).and_then(|at| texts.get(at));
        Ok(text.map(|text| Stored {
            entry: gate(at - 1, text),
            line: "{}".to_owned(),
            hash: String::new(),
        }))
    };
    let (root, world) = (folder.path().to_owned(), Arc::new(world));
    let now = CapsulesNow::new(root, world, Vec::new(), Arc::new(Redactor::new()), read);
    let along = Along {
        patch: false,
        outputs: true,
    };
    made(&now, along)
}

fn gate(at: usize, printed: &str) -> Entry {
    let run = GateRun {
        gate: format!("gate-{at:03}"),
        cmd: "make".to_owned(),
        spec: String::new(),
        exit_code: Some(1),
        why: None,
        duration_ms: 1,
        tree: None,
        stale: false,
        rewritten: None,
        setup_failed: false,
        isolated: None,
        began_after: None,
        output_bytes: printed.len() as u64,
        output_sha256: "0".repeat(64),
    };
    Entry {
        id: EntryId::new(format!("e{at}")),
        seq: Seq(at as u64 + 1),
        timestamp_ms: 1,
        session_id: SessionId::new("session"),
        content: printed.to_owned(),
        ..Entry::new(
            Party::System,
            EntryKind::Artifact(Artifact {
                kind: "test_report".into(),
                title: run.gate.clone(),
                status: ArtifactStatus::Failed,
                verified: Some(run),
                ..Artifact::default()
            }),
        )
    }
}

#[test]
fn the_record_wrote_no_line_that_a_compaction_carried_on_as_somebody_elses_word() {
    for is_foreign in [false, true] {
        let note = Entry {
            seq: Seq(7),
            session_id: SessionId::new("session"),
            ..Entry::new(Party::Human, EntryKind::from(NoteKind::Goal))
        };
        let line = seal(serialize(&note), note.seq.0, GENESIS).unwrap().line;
        let mut world = Snapshot::default();
        world.foreign_carried.extend(is_foreign.then_some(note.seq));
        let stored = Stored {
            entry: note,
            line: line.clone(),
            hash: String::new(),
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let redactor = Arc::new(Redactor::new());
        let read = move |_| Ok(Some(stored.clone()));
        let now = CapsulesNow::new(root, Arc::new(world), Vec::new(), redactor, read);
        let along = Along {
            patch: false,
            outputs: false,
        };
        let mut capsule = made(&now, along);
        capsule.origin.lines = vec![line];
        assert_eq!(now.has_lines(&capsule).unwrap(), !is_foreign);
    }
}

#[test]
fn the_line_of_a_run_is_told_unasked_only_where_it_has_no_more_than_the_command() {
    for (text, tells) in [
        ("gate gate-000 failed\n$ make\n", false),
        ("gate gate-000 failed\n$ make\nred\n", true),
        ("gate gate-000 failed\n$ npm ci\n$ make\n", true),
        ("gate gate-000 failed", true),
    ] {
        assert_eq!(gate(0, text).tells_output(), tells, "{text}");
    }
    let claim = Entry {
        source: Party::Agent(Agent::Codex),
        ..gate(0, "red")
    };
    assert!(!claim.tells_output());
}

#[test]
fn what_is_longer_than_a_capsule_keeps_ends_in_a_mark() {
    let note = |at: usize, words: usize| Entry {
        source: Party::Human,
        kind: EntryKind::note(NoteKind::Constraint),
        ..gate(at, &"x".repeat(words))
    };
    let entries = [note(0, 2_500), note(1, 2_000)];
    let mut task = task();
    let stated = entries.iter().map(|entry| StatedText::of(entry, 0));
    task.constraints = stated.collect();
    let read = move |seq: Seq| {
        let entry = entries.iter().find(|entry| entry.seq == seq).cloned();
        Ok(entry.map(|entry| Stored {
            entry,
            line: "{}".to_owned(),
            hash: String::new(),
        }))
    };
    let folder = tempfile::tempdir().unwrap();
    let (root, world) = (folder.path().to_owned(), Arc::new(Snapshot::default()));
    let now = CapsulesNow::new(root, world, Vec::new(), Arc::new(Redactor::new()), read);
    let (capsule, _) = now.make(&task).unwrap();
    let [cut, whole] = capsule.constraints.as_slice() else {
        panic!("{:?}", capsule.constraints);
    };
    assert_eq!(cut.text, format!("{} …", "x".repeat(2_000)));
    assert!(cut.is_cut() && !whole.is_cut());
    assert_eq!(whole.text, "x".repeat(2_000));
}

#[test]
fn no_digest_of_a_file_with_something_to_mask_is_told_and_nobody_says_that_it_changed() {
    let folder = repository(&["plain.txt".to_owned()]);
    let root = folder.path();
    let secret = &one_of_each()[0].text;
    fs::write(root.join(".gitignore"), ".env\n").unwrap();
    fs::write(root.join(".env"), secret).unwrap();
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(root.join("wide.txt"), wide).unwrap();
    let mut task = task();
    task.files = ["plain.txt", ".env", "wide.txt"]
        .map(|path| TaskFile {
            path: path.to_owned(),
            by: Party::Human,
            is_written: true,
            seq: Seq(1),
        })
        .into();
    let (world, redactor) = (Arc::new(Snapshot::default()), Arc::new(Redactor::new()));
    let now = || {
        let (world, redactor) = (Arc::clone(&world), Arc::clone(&redactor));
        CapsulesNow::new(root.to_owned(), world, Vec::new(), redactor, |_| Ok(None))
    };
    let (capsule, _) = now().make(&task).unwrap();
    let told = |capsule: &Capsule| {
        let told = capsule.touched.iter();
        let told = told.map(|file| (file.sha256.is_some(), file.unread, file.masked));
        told.collect::<Vec<_>>()
    };
    let none = (false, Some(true), Some(true));
    assert_eq!(told(&capsule), [(true, None, None), none, none]);
    // Nor of one that an earlier version kept with it.
    let mut kept = capsule.clone();
    for file in &mut kept.touched {
        let FileState::Plain(digest) = crate::adapters::file_digest::file_state(root, &file.path)
        else {
            panic!("{}", file.path);
        };
        (file.sha256, file.unread, file.masked) = (Some(digest), None, None);
    }
    let remasked = now().remasked(&kept).unwrap().unwrap();
    assert!(remasked.by_rules);
    assert_eq!(told(&remasked.capsule), told(&capsule));
    assert!(now().remasked(&capsule).unwrap().is_none());
    let stands = || {
        let (freshness, tree) = now().compare(&capsule);
        let differing = tree.differing.into_iter().map(|file| file.path);
        let uncompared = tree.uncompared.into_iter().map(|file| {
            assert!(file.is_masked, "{file}");
            file.path
        });
        (
            freshness,
            differing.collect::<Vec<_>>(),
            uncompared.collect(),
        )
    };
    let open = [".env", "wide.txt"].map(str::to_owned).to_vec();
    // The tree has only one of the two.
    assert_eq!(stands(), (Freshness::Unknown, Vec::new(), open.clone()));
    fs::write(root.join(".env"), "PORT=1\n").unwrap();
    assert_eq!(stands(), (Freshness::Unknown, Vec::new(), open));
    fs::remove_file(root.join(".env")).unwrap();
    let gone = vec![".env".to_owned()];
    let open = vec!["wide.txt".to_owned()];
    assert_eq!(stands(), (Freshness::Touched, gone, open));
}

#[test]
fn a_file_that_cannot_be_compared_changed_where_the_record_knows_who_wrote_it() {
    let folder = repository(&["plain.txt".to_owned()]);
    let root = folder.path();
    fs::write(root.join(".env"), &one_of_each()[0].text).unwrap();
    let mut task = task();
    let touched = |path: &str| TaskFile {
        path: path.to_owned(),
        by: Party::Human,
        is_written: true,
        seq: Seq(1),
    };
    task.files = [touched("plain.txt"), touched(".env")].into();
    let stands = |capsule: Option<&Capsule>, wrote: Option<(&str, i64)>| {
        let mut world = Snapshot::default();
        if let Some((path, at_ms)) = wrote {
            let state = ContinuityState {
                files: [TouchedFile {
                    path: path.to_owned(),
                    seq: Seq(9),
                    at_ms,
                }]
                .into(),
                ..ContinuityState::default()
            };
            let pairs = [(RuntimeSession::default(), state)];
            world.continuity.insert(Agent::Codex, pairs.into());
        }
        let (world, redactor) = (Arc::new(world), Arc::new(Redactor::new()));
        let read = |_| Ok(None);
        let now = CapsulesNow::new(root.to_owned(), Arc::clone(&world), vec![], redactor, read);
        let made = now.make(&task).unwrap().0;
        let capsule = capsule.unwrap_or(&made);
        let (freshness, tree) = now.compare(capsule);
        let stands = StandsNow::of(capsule, &tree, &world);
        let changed = stands.changed.iter().map(ToString::to_string);
        let uncompared = stands.uncompared.iter().map(ToString::to_string);
        let told = changed.chain(uncompared).collect::<Vec<_>>();
        (made, freshness, told.join(", "))
    };
    let (capsule, freshness, _) = stands(None, None);
    let later = capsule.updated_at + 1;
    assert_eq!(freshness, Freshness::Fresh, "the tree has it");
    // The tree is the same one: what was written is what it was.
    let (_, freshness, told) = stands(Some(&capsule), Some((".env", later)));
    assert_eq!(
        (freshness, told.contains("codex")),
        (Freshness::Fresh, false)
    );
    fs::write(root.join("other.txt"), "of another tree").unwrap();
    let open = ".env (something in it is masked)";
    for wrote in [None, Some(("plain.txt", later)), Some((".env", later - 1))] {
        let (_, freshness, told) = stands(Some(&capsule), wrote);
        assert_eq!(
            (freshness, told.as_str()),
            (Freshness::Unknown, open),
            "{wrote:?}"
        );
    }
    let (_, freshness, told) = stands(Some(&capsule), Some((".env", later)));
    assert_eq!(
        (freshness, told.as_str()),
        (Freshness::Touched, ".env (by codex)")
    );
}

fn left_out(capsule: &Capsule, what: &str) -> u64 {
    let mut left = capsule.left_out.iter();
    left.find(|left| left.what.as_str() == what)
        .map_or(0, |left| left.count)
}

/// What has to be masked of a text by the rules themselves.
fn masked_secrets(sample: &SecretSample) -> Vec<&String> {
    let alone = Redactor::new();
    let alone = alone.redact_text(&sample.text).0;
    let secrets = sample.secrets.iter();
    secrets
        .filter(|secret| !leaks(&alone, &sample.around, secret))
        .collect()
}

#[test]
fn a_patch_has_room_for_a_mebibyte_and_what_has_none_is_counted() {
    let names = ["a.txt", "b.txt", "c.txt"].map(str::to_owned);
    let folder = repository(&names);
    let root = folder.path();
    let long = "some words of a long file\n".repeat(27_000);
    assert!(long.len() > 600 * 1024 && long.len() < 1024 * 1024);
    for (name, text) in names.iter().zip([&*long, &long, "after\n"]) {
        fs::write(root.join(name), text).unwrap();
    }
    let capsule = with_patch(root);
    let patch = capsule.patch.as_ref().unwrap().bytes().unwrap();
    let patch = String::from_utf8(patch).unwrap();
    let has = |name: &str| patch.contains(&format!("+++ b/{name}"));
    // Whole or not at all: the second long one has no room any more, and a short one still has.
    assert!(has("a.txt") && !has("b.txt") && has("c.txt"));
    assert!(patch.len() <= 1024 * 1024);
    assert_eq!(left_out(&capsule, "patch"), 1);
    assert_eq!(capsule.left_out[0].names, ["b.txt"]);
    assert_eq!(capsule.redaction.files, [""; 0]);
}

#[test]
fn what_is_left_out_of_a_patch_is_named_so_that_its_reader_takes_it() {
    let secret = &one_of_each()[0].text;
    let unseen = ["un\u{200b}seen.txt", "\u{1b}[2J.txt"].map(str::to_owned);
    let many: Vec<String> = (0..60).map(|at| format!("{at:02}\t.txt")).collect();
    let folder = repository(&[&unseen[..], &many].concat());
    let root = folder.path();
    fs::write(root.join(&unseen[0]), secret).unwrap();
    for name in many.iter().chain(&unseen[1..]) {
        fs::write(root.join(name), "after\n").unwrap();
    }
    let capsule = with_patch(root);
    assert_eq!(capsule.redaction.files, [r#""un\u{200b}seen.txt""#]);
    let left = &capsule.left_out[0];
    assert_eq!((left.count, left.names.len(), left.inexact), (61, 50, None));
    assert_eq!(left.names[0], r#""\u{1b}[2J.txt""#);
    let told = left.told(false, |name| name.to_owned());
    assert!(
        told.contains(r#""08\t.txt", 51 more): git diff HEAD"#),
        "{told}"
    );
    let (bytes, _) = write(&capsule).unwrap();
    assert_eq!(read(&bytes).map(|read| read.left_out), Ok(capsule.left_out));
}

#[test]
fn what_git_does_not_tell_is_said_to_be_not_known() {
    let folder = repository(&["a.txt".to_owned()]);
    let root = folder.path();
    let exclude = root.join(".git/info/exclude");
    fs::create_dir_all(root.join(".git/info")).unwrap();
    let _ = fs::remove_file(&exclude);
    std::os::unix::fs::symlink("elsewhere", &exclude).unwrap();
    let capsule = with_patch(root);
    let left: Vec<_> = capsule
        .left_out
        .iter()
        .map(|left| (left.count, left.inexact))
        .collect();
    assert_eq!(left, [(0, Some(true))]);
    assert_eq!(capsule.left_out[0].how, UNKNOWN_FILES);
}

#[test]
fn in_a_repository_without_a_commit_git_is_not_said_to_have_told_anything() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    run(root, &["init", "-q", "-b", "main"]);
    fs::write(root.join("a.txt"), "before\n").unwrap();
    let capsule = with_patch(root);
    let left = capsule.left_out.iter();
    let left: Vec<_> = left
        .map(|left| (&*left.how, left.count, left.inexact))
        .collect();
    assert_eq!(left, [("git diff HEAD", 0, Some(true))]);
}

#[test]
fn a_secret_behind_a_tab_or_line_break_in_a_name_is_masked_before_that_is_escaped() {
    let secret = "AKIAQ3EGRPX7T5KZWB2M";
    for between in ['\t', '\n', '\r'] {
        let folder = repository(&[format!("x{between}{secret}")]);
        let root = folder.path();
        fs::write(root.join(format!("x{between}{secret}")), "after\n").unwrap();
        let capsule = with_patch(root);
        let left = capsule.left_out.iter().flat_map(|left| &left.names);
        let names: Vec<&String> = capsule.redaction.files.iter().chain(left).collect();
        let [name] = names.as_slice() else {
            panic!("{names:?}");
        };
        assert!(name.contains("[REDACTED_AWS_ACCESS_KEY]") && !name.contains(secret));
    }
}

#[test]
fn of_many_files_with_secrets_none_goes_along_and_fifty_are_named() {
    let samples = one_of_each();
    let samples = samples.iter().filter(|it| !masked_secrets(it).is_empty());
    let samples: Vec<_> = samples.take(52).collect();
    let name = |at: usize| format!("file-{at:02}.txt");
    let mut names: Vec<String> = (0..samples.len()).map(name).collect();
    names.push("plain.txt".to_owned());
    let folder = repository(&names);
    let root = folder.path();
    for (at, sample) in samples.iter().enumerate() {
        fs::write(root.join(name(at)), &sample.text).unwrap();
    }
    fs::write(root.join("plain.txt"), "after\n").unwrap();
    let capsule = with_patch(root);
    let expected: Vec<String> = (0..50).map(name).collect();
    assert_eq!(capsule.redaction.files, expected);
    // The others are no file for which there was no room.
    let left = capsule.left_out.iter().filter(|left| left.count > 0);
    let left: Vec<_> = left
        .map(|left| (left.count, left.names.clone(), left.masked))
        .collect();
    assert_eq!(left, [(2, vec![name(50), name(51)], Some(true))]);
    let patch = capsule.patch.as_ref().unwrap().bytes().unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(
        patch.contains("+after") && !patch.contains("file-"),
        "{patch}"
    );
}

#[test]
fn no_secret_goes_along_in_letters_of_two_or_four_bytes() {
    let samples = one_of_each();
    let samples = samples.iter().filter(|it| !masked_secrets(it).is_empty());
    let samples: Vec<_> = samples.take(40).collect();
    let spellings: [fn(&str) -> Vec<u8>; 4] = [
        |text| text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        |text| text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        |text| {
            let bytes = text.encode_utf16().flat_map(u16::to_le_bytes);
            [0xff, 0xfe].into_iter().chain(bytes).collect()
        },
        |text| {
            let letters = text.chars().map(u32::from);
            letters.flat_map(u32::to_le_bytes).collect()
        },
    ];
    let name = |at: usize| format!("file-{at:02}.txt");
    let names: Vec<String> = (0..samples.len()).map(name).collect();
    let folder = repository(&names);
    for (at, sample) in samples.iter().enumerate() {
        // Letters that are no ASCII stand right before it.
        let text = format!("\u{4e2d}\u{6587}\n{}\n", sample.text);
        fs::write(folder.path().join(name(at)), spellings[at % 4](&text)).unwrap();
    }
    let capsule = with_patch(folder.path());
    assert_eq!(capsule.redaction.files, names);
    assert_eq!(capsule.patch, None);
}

#[test]
fn no_secret_of_the_corpus_is_in_what_a_gate_printed() {
    let samples = one_of_each();
    let printed: Vec<String> = samples.iter().map(|sample| sample.text.clone()).collect();
    let capsule = with_outputs(&printed);
    assert_eq!(capsule.outputs.len(), samples.len());
    for (sample, output) in samples.iter().zip(&capsule.outputs) {
        let told = String::from_utf8(output.bytes().unwrap()).unwrap();
        for secret in masked_secrets(sample) {
            assert!(
                !leaks(&told, &sample.around, secret),
                "{}: {told}",
                sample.kind
            );
        }
    }
}

#[test]
fn what_gates_printed_has_room_for_so_much_and_the_rest_is_counted() {
    let printed: Vec<String> = (0..20)
        .map(|at| format!("{at:02}\n{}", "all is red, ".repeat(1_660)))
        .collect();
    let capsule = with_outputs(&printed);
    let bytes: usize = capsule.outputs.iter().map(|output| output.data.len()).sum();
    assert!(bytes <= OUTPUTS_BYTES_MAX, "{bytes}");
    // Each has its share: its beginning and its end, and what is between them is counted.
    assert_eq!(
        (capsule.outputs.len(), left_out(&capsule, "outputs")),
        (20, 20)
    );
    // The first ten are named, each by the command that shows its output.
    let mut left = capsule.left_out.iter();
    let left = left.find(|left| left.what.as_str() == "outputs").unwrap();
    let named: Vec<&str> = left.how.split("; ").collect();
    assert_eq!(named.len(), 10);
    let first = gate(0, "").id;
    assert_eq!(named[0], format!("ctxrelay ledger show {first} --full"));
    for (printed, output) in printed.iter().zip(&capsule.outputs) {
        let told = String::from_utf8(output.bytes().unwrap()).unwrap();
        let (head, rest) = told.split_once("\n[… ").unwrap();
        let (count, tail) = rest.split_once(" bytes left out …]\n").unwrap();
        assert!(!head.is_empty() && printed.starts_with(head));
        assert!(!tail.is_empty() && printed.ends_with(tail));
        let left: usize = count.parse().unwrap();
        assert_eq!(head.len() + left + tail.len(), printed.len());
    }
}

#[test]
fn a_long_handoff_says_that_it_is_cut_and_one_by_which_the_task_was_told_is_told_briefly() {
    let folder = tempfile::tempdir().unwrap();
    let handoff = |number: u64, ask: String, tells_task: bool| TaskHandoff {
        id: EntryId::new(format!("e{number}")),
        seq: Seq(number),
        from: Party::Human,
        to: Some(Party::Agent(Agent::Codex)),
        ask,
        tells_task,
        is_over: false,
        is_unanswered: false,
    };
    let mut task = task();
    let (short, long) = ("x".repeat(4_000), format!("{}…", "x".repeat(4_000)));
    let told = format!("# Task: Fix the login\n{long}");
    task.handoffs = [
        handoff(2, short.clone(), false),
        handoff(3, long.clone(), false),
        handoff(4, told.clone(), true),
    ]
    .into();
    let (world, redactor) = (Arc::new(Snapshot::default()), Arc::new(Redactor::new()));
    let root = folder.path().to_owned();
    let now = CapsulesNow::new(root, world, Vec::new(), redactor, |_| Ok(None));
    let (capsule, _) = now.make(&task).unwrap();
    let asked = capsule.handoffs.iter();
    let asked: Vec<_> = asked.map(|it| (&*it.ask, it.cut)).collect();
    let brief = "to go on with this task, as it was told then";
    assert_eq!(
        asked,
        [(&*short, None), (&*long, Some(true)), (brief, None)]
    );
}
