//! What is listed page by page, and a task's history.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ctxrelay::core::agent::Party;
use ctxrelay::core::capsule::Capsule;
use ctxrelay::core::entry::{
    CarriedEntry, Entry, EntryKind, Fate, NoteKind, Predecessor, TASK, TaskStep,
};
use ctxrelay::core::id::{CapsuleId, EntryId, Seq, SessionId};
use ctxrelay::store::dirs::{ProjectDirs, UserDirs};
use ctxrelay::store::head::{self, Head, Kept};
use ctxrelay::wire::capsule;
use ctxrelay::wire::line::{GENESIS, seal, serialize};
use serde_json::{Value, json};

use crate::capsule::{done, listed, login};
use crate::search_everywhere::clear;
use crate::support::project::Project;

fn kept(project: &Project, id: &str) -> PathBuf {
    project.state().join(format!("capsules/{id}.json"))
}

/// Keeps the same capsule as that of another task, of which no session tells.
fn keep_as(project: &Project, good: &str, id: &str, odd: &str) {
    let mut one: Capsule = serde_json::from_str(&good.replace(id, odd)).unwrap();
    one.origin.lines.clear();
    fs::write(kept(project, odd), capsule::write(&one).unwrap().0).unwrap();
}

/// A page of the list: its ids, and where the next one begins.
fn page(project: &Project, limit: &str, after: Option<&str>) -> (Vec<String>, Option<String>) {
    let mut args = vec!["capsule", "list", "--json", "--limit", limit];
    args.extend(after.iter().flat_map(|after| ["--after", after]));
    let page = project.run(args).expect_success().json();
    let ids = page["capsules"].as_array().unwrap().iter();
    let ids = ids.map(|row| row["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["cursor"].as_str().map(str::to_owned))
}

fn contents(log: &Value) -> Vec<&str> {
    let entries = log["entries"].as_array().unwrap().iter();
    entries.map(|it| it["content"].as_str().unwrap()).collect()
}

#[test]
fn each_task_that_nobody_touches_stands_on_one_page_whatever_becomes_of_others_meanwhile() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    for title in ["two", "three", "four", "five"] {
        done(&project, &["new", title]);
    }
    let all: Vec<String> = listed(&project)
        .iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(all[4], id);
    let (first, cursor) = page(&project, "2", None);
    assert_eq!(first, all[..2]);
    let cursor = cursor.unwrap();
    // The one that the page ended with, and one that was still to come.
    for touched in [&all[1], &all[3]] {
        done(&project, &["edit", touched, "--decision", "it goes on"]);
    }
    let rest = [all[2].clone(), all[4].clone()];
    assert_eq!(page(&project, "2", Some(&cursor)), (rest.to_vec(), None));
    // An id alone is the place where that task stands now.
    let (behind, _) = page(&project, "9", Some(&all[2]));
    assert_eq!(behind, all[4..]);

    // What is kept beside the record's tasks stands among them by its age, on each page.
    let out = project.base().join("out.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    daemon.stop();
    let good = fs::read_to_string(kept(&project, &id)).unwrap();
    let odd = |number: u32| format!("cap_{number:012x}");
    let age = |number: u32, hours: u64| {
        let file = fs::File::options()
            .append(true)
            .open(kept(&project, &odd(number)));
        let at = SystemTime::now() - Duration::from_secs(hours * 3600);
        file.unwrap().set_modified(at).unwrap();
    };
    for number in 0..6 {
        keep_as(&project, &good, &id, &odd(number));
        age(number, u64::from(10 - number));
    }
    let (tasks, cursor) = page(&project, "6", None);
    assert_eq!(tasks[5], odd(5));
    let (second, cursor) = page(&project, "2", cursor.as_deref());
    assert_eq!(second, [odd(4), odd(3)]);
    age(3, 0);
    age(1, 0);
    let (third, cursor) = page(&project, "2", cursor.as_deref());
    assert_eq!((third, cursor), (vec![odd(2), odd(0)], None));
}

#[test]
fn what_was_carried_along_is_in_the_log_where_the_session_that_it_began_in_is_gone() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let first = clear(&project, false);
    clear(&project, false);
    done(&project, &["reopen", &id]);
    let log = || {
        let log = project.run(["capsule", "log", &id, "--json"]);
        log.expect_success().json()
    };
    let whole = log();
    let once = |log: &Value| {
        let said = contents(log).into_iter();
        said.filter(|said| *said == "tokens live for one hour")
            .count()
    };
    assert_eq!(once(&whole), 1);
    let archive = format!(".contextrelay/archives/{first}.jsonl");
    fs::remove_file(project.root().join(archive)).unwrap();
    let left = log();
    assert_eq!(once(&left), 1);
    let said = contents(&left);
    assert_eq!(left["total"], json!(said.len()));
    assert!(said.contains(&"no new dependency"), "{said:?}");
}

#[test]
fn of_many_tasks_and_entries_a_page_is_shown_and_their_number_said() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    clear(&project, false);
    // More than are listed, of no session.
    let good = fs::read_to_string(kept(&project, &id)).unwrap();
    for number in 0..204 {
        keep_as(&project, &good, &id, &format!("cap_{number:012x}"));
    }
    let (mut all, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let mut args = vec!["capsule", "list", "--json"];
        args.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = project.run(args).expect_success().json();
        assert_eq!(page["total"], json!(205));
        let rows = page["capsules"].as_array().unwrap();
        assert!(rows.len() <= 200);
        all.extend(
            rows.iter()
                .map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        after = page["cursor"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(all.len(), 205);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 205);
    let text = project.run(["capsule", "list", "--limit", "3"]);
    let text = text.expect_success();
    let said = format!("{}{}", text.stdout, text.stderr);
    assert!(
        said.contains("1 to 3 of 205 tasks; more with --after cap_"),
        "{said}"
    );
    let wrong = project.run(["capsule", "list", "--after", "x"]);
    assert_eq!(wrong.code(), 2);

    let log = project.run(["capsule", "log", &id, "--limit", "2", "--json"]);
    let log = log.expect_success().json();
    let total = log["total"].as_u64().unwrap();
    assert!(total > 2);
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let steps = entries.iter().map(|entry| &entry["runtimeEvent"]["status"]);
    assert_eq!(steps.collect::<Vec<_>>(), ["closed", "kept"]);
    let text = project.run(["capsule", "log", &id, "--limit", "2"]);
    let text = text.expect_success();
    let said = format!("{}{}", text.stdout, text.stderr);
    let more = format!("the latest 2 of {total} entries: `--limit {total}` shows all");
    assert!(said.contains(&more), "{said}");
    let all = total.to_string();
    let log = project.run(["capsule", "log", &id, "--limit", &all, "--json"]);
    let log = log.expect_success().json();
    assert_eq!(log["entries"].as_array().unwrap().len() as u64, total);
}

/// Writes sessions one behind the other, each with a note of one task; its id.
fn of_many_sessions(project: &Project, count: u64) -> CapsuleId {
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    dirs.create().unwrap();
    let user = UserDirs {
        registry: project.registry(),
        data: project.base().join("data"),
        runtime: None,
    };
    let task = CapsuleId::new("cap_0123456789ab");
    let mut predecessor = None;
    for number in 1..=count {
        let session = SessionId::new(format!("session_1795000000000_{number:08x}"));
        let note = EntryKind::note(NoteKind::Decision);
        let steps = [
            (Party::System, "", EntryKind::SessionStarted { predecessor }),
            (Party::Human, "Fix", TaskStep::Opened.of(task.clone())),
            (Party::Human, "one hour", note),
        ];
        let (mut lines, mut head, mut anchors) = (String::new(), GENESIS.to_owned(), Vec::new());
        for (at, (source, content, kind)) in (1..).zip(steps) {
            let mut entry = Entry {
                id: EntryId::new(format!("e{number}-{at}")),
                timestamp_ms: 1_795_000_000_000,
                session_id: session.clone(),
                content: content.to_owned(),
                seq: Seq(at),
                ..Entry::new(source, kind)
            };
            if matches!(entry.kind, EntryKind::Note { .. }) {
                entry.meta.insert(TASK.to_owned(), json!(task));
            }
            // An open task goes on in the next session as what was carried there.
            if number > 1 && matches!(entry.kind, EntryKind::Task(_)) {
                entry.carried = Some(CarriedEntry::of(
                    SessionId::new("session_1795000000000_00000001"),
                    Seq(at),
                ));
            }
            let sealed = seal(serialize(&entry), at, &head).unwrap();
            lines.push_str(&sealed.line);
            lines.push('\n');
            head = sealed.hash;
            anchors.push((at, head.clone()));
        }
        let known = Kept {
            anchors,
            ..Kept::new(Head {
                seq: 3,
                hash: head.clone(),
                session_id: session.clone(),
            })
        };
        head::write(&user, &dirs.instance_id(), &known).unwrap();
        predecessor = Some(Predecessor {
            session_id: session.clone(),
            entries: 3,
            head,
            fate: Fate::Archived,
            earlier: None,
        });
        let path = match number == count {
            true => dirs.ledger(&session),
            false => dirs.archives().join(format!("{session}.jsonl")),
        };
        fs::write(path, lines).unwrap();
        fs::write(dirs.current(), format!("{session}\n")).unwrap();
    }
    task
}

#[test]
fn a_log_goes_back_through_all_sessions_that_the_record_leads_to() {
    let project = Project::new();
    // It is known as a project of ours then.
    project.daemon().stop();
    let id = of_many_sessions(&project, 120);
    let log = project.run(["capsule", "log", id.as_str(), "--limit", "1000", "--json"]);
    let log = log.expect_success().json();
    let notes = log["entries"].as_array().unwrap().iter();
    let notes = notes.filter(|entry| entry["content"] == "one hour");
    assert_eq!(notes.count(), 120);
}
