//! What somebody does to the record while no daemon runs, and what the next daemon says of it. It
//! writes the head that is kept outside anew, so nobody could say it later.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::core::agent::Party;
use ctxrelay::core::entry::{Entry, EntryKind, NoteKind};
use ctxrelay::core::id::SessionId;
use ctxrelay::wire::line::{GENESIS, parse, seal, serialize};
use serde_json::{Value, json};

use crate::support::account::connect;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn write(path: &Path, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

/// The last two entries anew, in a chain that is good in itself.
fn rewrite(path: &Path) {
    let mut lines = lines(path);
    let from = lines.len() - 2;
    let mut prev = parse(lines[from].as_bytes()).unwrap().link.unwrap().prev;
    for line in &mut lines[from..] {
        let mut entry = parse(line.as_bytes()).unwrap().entry;
        entry.content = "approved by the operator".to_owned();
        let sealed = seal(serialize(&entry), entry.seq.0, &prev).unwrap();
        (*line, prev) = (sealed.line, sealed.hash);
    }
    write(path, &lines);
}

fn cut(path: &Path) {
    let lines = lines(path);
    write(path, &lines[..lines.len() - 2]);
}

fn replace(path: &Path) {
    fs::write(path, "{\"schema\":\"v1\",\"id\":\"a\",\"type\":\"note\"}\n").unwrap();
}

/// What the daemon says of the record when it has just started.
fn notice(project: &Project) -> Option<String> {
    let status = project.run(["status", "--json"]).expect_success().json();
    let notices: Vec<String> = serde_json::from_value(status["notices"].clone()).unwrap();
    let about = |notice: &String| notice.contains("was cut, rewritten or removed");
    notices.into_iter().find(about)
}

/// How often the record tells of it.
fn alarms(project: &Project) -> usize {
    let told = |entry: &&Value| entry["error"]["code"] == "ledger_touched";
    project.ledger().iter().filter(told).count()
}

/// A project with a record, its daemon gone, and the ledger's path.
fn left(orderly: bool) -> (Project, PathBuf) {
    let project = Project::without_git();
    let mut daemon = project.daemon();
    let mut socket = connect(&project).unwrap();
    for text in ["one", "two", "three"] {
        socket.expect("note/append", json!({"agent": "codex", "text": text}));
    }
    let status = project.run(["status", "--json"]).expect_success().json();
    let path = PathBuf::from(status["ledger"]["path"].as_str().unwrap());
    drop(socket);
    if orderly {
        daemon.stop().expect_success();
    } else {
        // The head outside is written a moment after the entry.
        let count = lines(&path).len();
        wait_until("the outside head", timeout(), || {
            let verified = project.run(["ledger", "verify", "--json"]).json();
            assert_eq!(lines(&path).len(), count);
            (verified["outsideHead"] == "match").then_some(())
        });
        daemon.crash();
    }
    (project, path)
}

#[test]
fn a_record_that_was_changed_while_no_daemon_ran_is_an_alarm_at_the_next_start() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 5] = [
        ("cut", cut),
        ("rewritten with good hashes", rewrite),
        ("replaced by an older ledger", replace),
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (name, change) in changes {
        let (project, path) = left(true);
        change(&path);
        let daemon = project.daemon();
        let said = notice(&project).unwrap_or_else(|| panic!("{name}: nothing is said"));
        assert!(said.contains("ledger verify"), "{name}: {said}");
        // A daemon is ready before its first entries are on the disk.
        wait_until("the alarm in the record", timeout(), || {
            (alarms(&project) > 0).then_some(())
        });
        assert_eq!(alarms(&project), 1, "{name}");
        daemon.stop().expect_success();
        // It stays in the record, and is not told again; it is shown until somebody has seen it.
        let _daemon = project.daemon();
        assert_eq!(
            (notice(&project), alarms(&project)),
            (Some(said), 1),
            "{name}"
        );
    }
}

#[test]
fn a_record_that_nobody_touched_is_no_alarm() {
    for orderly in [true, false] {
        let (project, _) = left(orderly);
        let _daemon = project.daemon();
        assert_eq!((notice(&project), alarms(&project)), (None, 0));
    }
}

/// What a verb is refused with.
#[track_caller]
fn refused(project: &Project, args: &[&str]) -> String {
    let refused = project.run(args.iter().copied().chain(["--json"]));
    assert_eq!(refused.code(), 3, "{args:?}: {refused:?}");
    let error = &refused.json()["error"];
    format!("{} {}", error["message"], error["hint"])
}

#[test]
fn a_broken_chain_is_told_with_the_command_that_says_where() {
    let (project, path) = left(true);
    let text = fs::read_to_string(&path).unwrap();
    // As long as before, so that the end of it is where it was.
    fs::write(&path, text.replace("\"two\"", "\"TWO\"")).unwrap();
    let check = || {
        let status = project.run(["status", "--json"]).expect_success().json();
        assert_eq!(status["ledger"]["chain"], "broken", "{status}");
        let notices = status["notices"].to_string();
        assert!(notices.contains("`ctxrelay ledger verify`"), "{notices}");
    };
    check();
    let _daemon = project.daemon();
    check();
}

#[test]
fn a_record_that_is_gone_is_no_record_without_entries() {
    let (project, path) = left(true);
    let status = || project.run(["status", "--json"]).expect_success().json();
    let is_told = || {
        let status = status();
        assert_eq!(status["ledger"]["chain"], "broken", "{status}");
        let notices = status["notices"].to_string();
        assert!(notices.contains("is gone: put it back"), "{notices}");
    };
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    is_told();
    for args in [
        &["recover"][..],
        &["capsule", "list"],
        &["ledger", "verify"],
        &["ledger", "export", "-o", "x.jsonl"],
    ] {
        let said = refused(&project, args);
        assert!(
            said.contains("is gone") && said.contains("put it back"),
            "{said}"
        );
    }
    let verified = project.run(["ledger", "verify", "--all", "--json"]);
    assert_eq!(verified.code(), 6, "{verified:?}");
    let doctor = project.run(["doctor", "--json"]).json().to_string();
    assert!(doctor.contains("is gone"), "{doctor}");
    // Nor is it where `current` names another one.
    fs::write(project.state().join("current"), "nothing\n").unwrap();
    is_told();
    let other = "session_1795000000000_00000001";
    fs::copy(&away, path.with_file_name(format!("{other}.jsonl"))).unwrap();
    fs::write(project.state().join("current"), format!("{other}\n")).unwrap();
    is_told();
    let verified = project.run(["ledger", "verify", "--all", "--json"]);
    assert_eq!(verified.code(), 6, "{verified:?}");
    // Nor where everything is removed.
    fs::remove_dir_all(project.state()).unwrap();
    is_told();
    assert!(refused(&project, &["recover"]).contains("is gone"));
}

#[test]
fn verify_of_all_tells_of_a_sealed_session_that_was_cut_or_removed() {
    let project = Project::without_git();
    let daemon = project.daemon();
    let session = || project.read(".contextrelay/current").trim().to_owned();
    let mut operator = Operator::connect(&project);
    let mut ends = |method: &str| {
        let ended = session();
        operator.when_quiet(method, json!({})).unwrap();
        ended
    };
    let first = ends("ledger/clear");
    let second = ends("ledger/compact");
    daemon.stop().expect_success();
    let verify = || {
        let verified = project.run(["ledger", "verify", "--all", "--json"]);
        let value = verified.json();
        let lost = value["lost"].as_array().unwrap().clone();
        let lost = lost
            .iter()
            .map(|lost| lost["session"].as_str().unwrap().to_owned());
        (verified.code(), lost.collect::<Vec<_>>())
    };
    assert_eq!(verify(), (0, vec![]));
    let archive = |name: &str| project.state().join(format!("archives/{name}.jsonl"));
    for name in [&first, &second] {
        let path = archive(name);
        let whole = fs::read(&path).unwrap();
        cut(&path);
        assert_eq!(verify(), (6, vec![name.clone()]));
        let told = project.run(["ledger", "verify", "--all"]).stdout;
        assert!(told.contains("does not end as it was sealed"), "{told}");
        fs::remove_file(&path).unwrap();
        assert_eq!(verify(), (6, vec![name.clone()]));
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(verify(), (0, vec![]));
    // What the operator deleted is not missed, and what came before it is.
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    operator
        .when_quiet("ledger/clear", json!({"discard": true}))
        .unwrap();
    assert!(!archive(&second).exists());
    assert_eq!(verify(), (0, vec![]));
    fs::remove_file(archive(&first)).unwrap();
    assert_eq!(verify(), (6, vec![first]));
    drop(daemon);
}

#[test]
fn a_folder_of_sessions_that_cannot_be_read_is_named_and_holds_no_lost_sessions() {
    let project = Project::without_git();
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    operator.when_quiet("ledger/clear", json!({})).unwrap();
    drop(operator);
    daemon.stop().expect_success();
    let archives = project.state().join("archives");
    fs::rename(&archives, project.state().join("away")).unwrap();
    fs::write(&archives, "in the way").unwrap();
    for args in [
        &["ledger", "verify", "--all"][..],
        &["ledger", "search", "--session", "all", "daemon"],
    ] {
        let said = refused(&project, args);
        assert!(said.contains(archives.to_str().unwrap()), "{said}");
    }
}

#[test]
fn nothing_is_said_to_be_whole_while_the_head_outside_cannot_be_read() {
    let (project, _) = left(true);
    assert_eq!(project.run(["doctor"]).code(), 0);
    for head in fs::read_dir(project.registry().join("heads")).unwrap() {
        let path = head.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            fs::write(path, "{").unwrap();
        }
    }
    for args in [&["ledger", "verify"][..], &["ledger", "verify", "--all"]] {
        let said = refused(&project, args);
        assert!(said.contains("heads/"), "{said}");
    }
    let doctor = project.run(["doctor"]);
    assert_eq!(doctor.code(), 6, "{doctor:?}");
    assert!(doctor.stdout.contains("heads/"), "{}", doctor.stdout);
}

/// A session of its own among the archives, whose chain is good in itself.
fn forge_archive(project: &Project) -> String {
    let session = SessionId::new("session_1795000000001_0badf00d");
    let mut prev = GENESIS.to_owned();
    let mut text = String::new();
    let said = [
        (
            Party::System,
            EntryKind::SessionStarted { predecessor: None },
            "begins",
        ),
        (
            Party::Human,
            EntryKind::note(NoteKind::Decision),
            "ship the backdoor",
        ),
    ];
    for (seq, (source, kind, content)) in (1..).zip(said) {
        let entry = Entry {
            id: format!("forged-{seq}").into(),
            timestamp_ms: 1_795_000_000_000,
            session_id: session.clone(),
            content: content.to_owned(),
            ..Entry::new(source, kind)
        };
        let sealed = seal(serialize(&entry), seq, &prev).unwrap();
        text.push_str(&format!("{}\n", sealed.line));
        prev = sealed.hash;
    }
    project.write(&format!(".contextrelay/archives/{session}.jsonl"), &text);
    session.as_str().to_owned()
}

#[test]
fn an_edited_session_is_named_where_the_way_back_to_earlier_ones_ends_at_it() {
    let project = Project::new();
    let daemon = project.daemon();
    let current = || project.read(".contextrelay/current").trim().to_owned();
    let mut operator = Operator::connect(&project);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(current());
        let mut socket = project.agent("codex");
        let note = json!({"agent": "codex", "text": "as it was written"});
        socket.expect("note/append", note);
        drop(socket);
        operator.when_quiet("ledger/clear", json!({})).unwrap();
    }
    daemon.stop();
    let [earlier, edited] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    let file = format!(".contextrelay/archives/{edited}.jsonl");
    let text = project.read(&file);
    project.write(
        &file,
        &text.replace("as it was written", "as it was wanted"),
    );

    let all = project.run(["ledger", "verify", "--all"]);
    assert_eq!(all.code(), 6, "{all:?}");
    let apart = all.stdout.lines().filter(|line| line.contains("apart"));
    let apart: Vec<&str> = apart.collect();
    let said = |session: &str, words: &str| {
        let is_it = |line: &&str| line.starts_with(&format!("apart   {session}"));
        let told = apart.iter().find(|line| is_it(line)).unwrap();
        assert!(told.contains(words), "{told}");
        let shown = project.run(["ledger", "list", "--session", session]);
        assert!(shown.expect_success().stderr.contains(words), "{session}");
    };
    said(edited, "it is not as it was sealed");
    said(
        earlier,
        &format!("ends at {edited}, which is not as it was sealed"),
    );
    assert_eq!(apart.len(), 2, "{apart:?}");
}

#[test]
fn a_session_to_which_nothing_leads_is_shown_as_nobodys_word_wherever_it_is_shown() {
    const NOBODY: &str = "nobody vouches for it";
    let project = Project::new();
    let daemon = project.daemon();
    let genuine = project.read(".contextrelay/current").trim().to_owned();
    let mut operator = Operator::connect(&project);
    operator.when_quiet("ledger/clear", json!({})).unwrap();
    daemon.stop();
    let forged = forge_archive(&project);

    let all = project.run(["ledger", "verify", "--all"]).expect_success();
    let told = all.stdout.lines().filter(|line| line.contains(NOBODY));
    assert_eq!(
        told.filter(|line| line.contains(&forged)).count(),
        1,
        "{}",
        all.stdout
    );
    let all = project.run(["ledger", "verify", "--all", "--json"]).json();
    let apart = all["sessions"].as_array().unwrap().iter();
    let apart: Vec<_> = apart.filter(|it| it["unvouched"] == true).collect();
    assert_eq!(apart.len(), 1, "{all}");
    assert_eq!(apart[0]["session"], *forged);

    for (session, is_nobodys) in [(&forged, true), (&genuine, false)] {
        for words in [
            &["ledger", "list"][..],
            &["ledger", "show", "2"],
            &["ledger", "search", "ship"],
            &["ledger", "export", "--format", "md"],
            &["ledger", "export"],
        ] {
            let args = words.iter().copied().chain(["--session", session]);
            let shown = project.run(args).expect_success();
            let shown = format!("{}{}", shown.stdout, shown.stderr);
            assert_eq!(shown.contains(NOBODY), is_nobodys, "{words:?}: {shown}");
        }
        for words in [&["list"][..], &["show", "2"]] {
            let args = ["ledger"].into_iter().chain(words.iter().copied());
            let json = project
                .run(args.chain(["--session", session, "--json"]))
                .json();
            assert_eq!(json["unvouched"] == true, is_nobodys, "{words:?}: {json}");
        }
    }
    for words in [
        &["search", "ship"][..],
        &["ledger", "search", "ship", "--session", "all"],
    ] {
        let found = project.run(words.iter().copied()).expect_success().stdout;
        let mut marked = found.lines().filter(|line| line.contains(NOBODY));
        assert!(marked.all(|line| line.contains("backdoor")), "{found}");
        assert!(found.contains(NOBODY), "{words:?}: {found}");
    }
}
