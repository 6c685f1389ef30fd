//! `ctxrelay search`: the record, sealed sessions and tasks together.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::core::capsule::Capsule;
use ctxrelay::core::id::CapsuleId;
use ctxrelay::store::capsules::{CapsuleOwner, Capsules};
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::wire::capsule::write;
use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// Has notes recorded, as an agent's bridge.
fn note(project: &Project, kind: &str, text: &str) {
    let mut socket = project.agent("claude");
    let params = json!({"agent": "claude", "kind": kind, "text": text});
    socket.expect("note/append", params);
}

/// Runs `ctxrelay …` in a terminal of the operator's.
#[track_caller]
fn operator(project: &Project, args: &[&str]) {
    let mut pty = Pty::spawn(&project.ctxrelay(args.iter().copied()));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

/// Seals the session; its id. Deletes it for good with `discard`.
#[track_caller]
pub fn clear(project: &Project, discard: bool) -> String {
    let session = session(project);
    let mut args = vec!["ledger", "clear", "--apply"];
    args.extend(discard.then_some("--discard"));
    let mut pty = Pty::spawn(&project.ctxrelay(args));
    pty.wait_for_text("to go on, anything else");
    let word = match discard {
        true => &session[session.len() - 4..],
        false => "clear",
    };
    pty.type_text(&format!("{word}\r"));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    session
}

fn session(project: &Project) -> String {
    project.read(".contextrelay/current").trim().to_owned()
}

/// A page that misses nothing: what is not in the index yet is read for 300 ms at most, and then
/// said to be missing.
#[track_caller]
fn search(project: &Project, args: &[&str]) -> Value {
    let args = ["search", "--json"].iter().chain(args).copied();
    wait_until("a search that misses nothing", 4 * timeout(), || {
        let page = project.run(args.clone()).expect_success().json();
        (page["behind"] == 0).then_some(page)
    })
}

/// Kind, session and snippet of each hit.
fn told(page: &Value) -> Vec<[&str; 3]> {
    let hits = page["hits"].as_array().unwrap().iter();
    hits.map(|hit| ["kind", "session", "snippet"].map(|name| hit[name].as_str().unwrap()))
        .collect()
}

/// A task with a decision; its id.
fn task(project: &Project, title: &str, decision: &str) -> String {
    operator(project, &["capsule", "new", title]);
    note(project, "decision", decision);
    let list = project.run(["capsule", "list", "--json"]);
    let list = list.expect_success().json();
    list["capsules"][0]["id"].as_str().unwrap().to_owned()
}

/// Every file below a folder in which a text stands.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).is_ok_and(|bytes| {
            let mut parts = bytes.windows(text.len());
            parts.any(|part| part == text.as_bytes())
        }) {
            found.push(path);
        }
    }
    found
}

#[test]
fn words_are_found_in_tasks_the_record_and_archives_each_with_the_place_to_cite() {
    let elsewhere = Project::without_git();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Test"],
        &["config", "user.email", "test@example.invalid"],
        &["commit", "--allow-empty", "-qm", "another history"],
    ] {
        elsewhere.git(args);
    }
    let there = elsewhere.daemon();
    let foreign = task(&elsewhere, "Sort the plums", "plums are sorted elsewhere");
    let out = elsewhere.base().join("plums.ctxcapsule.json");
    let file = out.to_str().unwrap();
    operator(&elsewhere, &["capsule", "export", &foreign, "-o", file]);
    there.stop();

    let project = Project::new();
    assert_eq!(search(&project, &["plums"])["total"], 0);
    assert!(!project.state().exists(), "looking makes nothing");
    let daemon = project.daemon();
    let closed = task(&project, "Keep the plums", "plums are kept cold");
    operator(&project, &["capsule", "close", &closed]);
    let first = clear(&project, false);
    note(&project, "note", "plums were eaten");
    let second = clear(&project, false);
    let open = task(&project, "Buy fruit", "plums are bought in May");
    operator(&project, &["capsule", "import", file, "--apply"]);
    project.write("fruit.txt", "plums");
    project.git(&["add", "fruit.txt"]);
    project.git(&["commit", "-qm", "other work"]);
    let here = session(&project);

    let look = || {
        let all = search(&project, &["plums"]);
        // Of each session what the words stand in.
        let of = |kind: &str| -> Vec<&Value> {
            let hits = all["hits"].as_array().unwrap().iter();
            hits.filter(|hit| hit["kind"] == kind).collect()
        };
        let mut capsules: Vec<(&str, &str, bool)> = of("capsule")
            .iter()
            .map(|hit| {
                let word = |name: &str| hit[name].as_str().unwrap();
                (word("id"), word("snippet"), hit["foreign"] == true)
            })
            .collect();
        capsules.sort_unstable();
        let mut expected = vec![
            (&*closed, "Keep the plums", false),
            (&*open, "plums are bought in May", false),
            (&*foreign, "Sort the plums", true),
        ];
        expected.sort_unstable();
        assert_eq!(capsules, expected);
        let cited = of("capsule").into_iter().find(|hit| hit["id"] == *open);
        let cited = cited.unwrap();
        let ledger = project.ledger();
        let mut lines = ledger.iter();
        let said = lines.find(|line| line["content"] == "plums are bought in May");
        assert_eq!(cited["seq"], said.unwrap()["seq"]);
        assert_eq!(
            (&cited["session"], &cited["source"]),
            (&json!(here), &json!("claude"))
        );
        let stale = of("capsule").into_iter().find(|hit| hit["id"] == *foreign);
        assert_eq!(stale.unwrap()["freshness"], "foreign");

        assert_eq!(of("record").len(), 1);
        assert_eq!(of("record")[0]["session"], here);
        let archived: Vec<_> = told(&all)
            .into_iter()
            .filter(|hit| hit[0] == "archive")
            .collect();
        assert_eq!(archived[0], ["archive", &second, "plums were eaten"]);
        assert!(
            archived[1..].iter().all(|hit| hit[1] == first),
            "{archived:?}"
        );
        assert!(
            archived.contains(&["archive", &first, "plums are kept cold"]),
            "{archived:?}"
        );
        let total = all["total"].as_u64().unwrap();
        assert_eq!(total, told(&all).len() as u64);
        assert_eq!(all["cursor"], Value::Null);

        // One after the other, none twice and none left out.
        let mut paged = Vec::new();
        let mut cursor: Option<String> = None;
        while paged.len() <= told(&all).len() {
            let mut args = vec!["plums", "--limit", "1"];
            args.extend(cursor.iter().flat_map(|cursor| ["--after", cursor]));
            let page = search(&project, &args);
            assert_eq!(page["total"], total);
            paged.extend(page["hits"].as_array().unwrap().clone());
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(json!(paged), all["hits"]);

        for (place, kind) in [
            ("record", "record"),
            ("capsules", "capsule"),
            ("archives", "archive"),
        ] {
            let some = search(&project, &["plums", "--in", place]);
            assert_eq!(json!(of(kind)), some["hits"], "{place}");
            assert_eq!(some["total"], of(kind).len());
        }
        let text = project.run(["search", "plums"]).expect_success().stdout;
        for words in [
            "foreign  from elsewhere",
            "plums were eaten",
            &first,
            &closed,
        ] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
    };
    look();
    daemon.stop();
    look();
    assert_eq!(project.run(["search", "?!"]).code(), 2);
    assert_eq!(project.run(["search", "plums", "--after", "x:1"]).code(), 2);
    assert_eq!(project.run(["search", "plums", "--in", "attic"]).code(), 2);
}

#[test]
fn what_was_deleted_for_good_is_found_nowhere_and_in_no_file() {
    let project = Project::new();
    let daemon = project.daemon();
    let marker = "xq7velvetanchor";
    let id = task(&project, "A secret plan", &format!("the word is {marker}"));
    operator(&project, &["capsule", "close", &id]);
    assert!(search(&project, &[marker])["total"].as_u64() >= Some(2));
    // The words of the record and of the capsule are in the index.
    project.run(["ledger", "rebuild"]).expect_success();
    assert_ne!(holding(&project.state(), marker), Vec::<PathBuf>::new());
    // What writers that were killed left, just now.
    for left in ["capsules/.new-Ab12cd", "capsules/foreign/.new-Ef34gh"] {
        let path = project.state().join(left);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("the word is {marker}")).unwrap();
    }
    clear(&project, true);
    assert_eq!(holding(&project.state(), marker), Vec::<PathBuf>::new());
    note(&project, "note", "a fresh beginning");
    let look = || {
        let none = search(&project, &[marker]);
        assert_eq!((&none["total"], &none["hits"]), (&json!(0), &json!([])));
    };
    look();
    daemon.stop();
    look();
    project.run(["ledger", "rebuild"]).expect_success();
    look();
    assert_eq!(holding(&project.state(), marker), Vec::<PathBuf>::new());
}

#[test]
fn a_kept_file_that_somebody_spoilt_hides_no_other_task() {
    let project = Project::live();
    let kept = task(&project, "Keep the plums", "plums are kept cold");
    operator(&project, &["capsule", "close", &kept]);
    let open = task(&project, "Buy fruit", "plums are bought in May");
    let spoilt = format!(".contextrelay/capsules/{open}.json");
    project.write(&spoilt, "{}");

    let found = search(&project, &["plums", "--in", "capsules"]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{found}");
    assert_eq!(hits[0]["id"], open);
    assert_eq!(hits[0]["freshness"], Value::Null);
    assert_eq!(
        (&hits[1]["id"], &hits[1]["freshness"]),
        (&json!(kept), &json!("fresh"))
    );
    let list = project.run(["capsule", "list", "--json"]);
    let list = list.expect_success().json();
    assert_eq!(
        list["capsules"][0]["title"], "Buy fruit",
        "the record has it"
    );
    let remarks = list["capsules"][0]["remarks"].to_string();
    assert!(remarks.contains("not what it was"), "{remarks}");
    assert_eq!(list["capsules"][1]["id"], kept);
    assert_eq!(list["capsules"][1]["remarks"], json!([]));
    let text = project.run(["capsule", "list"]).expect_success().stdout;
    assert!(text.contains("not what it was"), "{text}");
}

#[test]
fn a_session_that_cannot_be_read_hides_none_of_the_others() {
    let project = Project::live();
    note(&project, "note", "plums are kept cold");
    clear(&project, false);
    note(&project, "note", "plums are eaten in May");
    let archives = project.root().join(".contextrelay/archives");
    let named = |digit: u8| archives.join(format!("session_179500000000{digit}_0a1b2c3d.jsonl"));
    std::os::unix::fs::symlink("/etc/hostname", named(1)).unwrap();
    fs::create_dir(named(2)).unwrap();
    let found = search(&project, &["plums"]);
    let kinds: Vec<_> = told(&found).into_iter().map(|[kind, ..]| kind).collect();
    assert_eq!(kinds, ["record", "archive"], "{found}");
    assert_eq!(found["totalIsAtLeast"], true);
}

/// Kept tasks from elsewhere, as many as that, each with the word.
fn keep(project: &Project, numbers: std::ops::Range<usize>) {
    let kept = Capsules::of(&ProjectDirs::new(project.root().to_owned(), None));
    for number in numbers {
        let id = CapsuleId::new(format!("cap_{number:012x}"));
        let capsule = Capsule::new(id.clone(), format!("Plums of tree {number}"), 1);
        let (bytes, _) = write(&capsule).unwrap();
        kept.write(CapsuleOwner::Foreign, &id, &bytes).unwrap();
    }
}

#[test]
fn the_most_hits_at_once_end_with_a_cursor_where_there_are_more_and_with_none_where_not() {
    let project = Project::new();
    let daemon = project.daemon();
    keep(&project, 0..1_000);
    let searched = |after: &[&str]| {
        // The index follows the files in the background; a large page leaves a search less time to
        // read those that are not in it.
        let page = wait_until("all files in the index", 4 * timeout(), || {
            let all_of = |limit: &str| {
                let page = search(&project, &[&["plums", "--limit", limit], after].concat());
                (page["behind"].as_u64() == Some(0)).then_some(page)
            };
            all_of("1").and_then(|_| all_of("1000"))
        });
        let hits = page["hits"].as_array().unwrap().iter();
        let ids: Vec<String> = hits.map(|hit| hit["id"].to_string()).collect();
        let cursor = page["cursor"].as_str().map(str::to_owned);
        (ids, cursor, page["total"].as_u64().unwrap())
    };
    let all = |place: &str| {
        let (mut ids, cursor, total) = searched(&["--in", place]);
        assert_eq!((ids.len(), total), (1_000, 1_001));
        let (more, end, _) = searched(&["--in", place, "--after", &cursor.unwrap()]);
        assert_eq!((more.len(), end), (1, None));
        ids.extend(more);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 1_001);
    };
    let (ids, cursor, _) = searched(&["--in", "capsules"]);
    assert_eq!((ids.len(), cursor), (1_000, None));
    keep(&project, 1_000..1_001);
    all("capsules");
    all("all");
    daemon.stop();
    all("capsules");
}
