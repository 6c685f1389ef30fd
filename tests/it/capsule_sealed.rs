//! What sealed sessions vouch for: only those that the record leads back to, and what stays of them
//! when a later one is deleted for good.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ctxrelay::core::capsule::Capsule;
use ctxrelay::wire::capsule;
use ctxrelay::wire::line::seal;
use serde_json::{Value, json};

use crate::capsule::{
    clone_of, closed_without_digest, done, imported, in_terminal, json_of, listed, login, note,
};
use crate::search_everywhere::clear;
use crate::support::child::Finished;
use crate::support::fake_gh::comment;
use crate::support::project::Project;
use crate::support::pty::Pty;

fn kept(project: &Project, id: &str) -> PathBuf {
    project.state().join(format!("capsules/{id}.json"))
}

fn archive(project: &Project, session: &str) -> PathBuf {
    project.state().join(format!("archives/{session}.jsonl"))
}

fn printed(project: &Project, id: &str) -> String {
    let shown = project.run(["capsule", "show", id]);
    shown.expect_success().stdout
}

fn shown(project: &Project, id: &str) -> Value {
    let shown = project.run(["capsule", "show", id, "--json"]);
    shown.expect_success().json()
}

/// The ids of what is not the project's own.
fn foreign(project: &Project) -> Vec<String> {
    let rows = listed(project).into_iter();
    let foreign = rows.filter(|row| row["foreign"] == true);
    foreign
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

pub fn compact(project: &Project) {
    let mut pty = Pty::spawn(&project.ctxrelay(["ledger", "compact", "--apply"]));
    pty.wait_for_text("to go on, anything else");
    pty.type_text("compact\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

/// A chain like that of this text, with other words: its lines, and the hash on each.
fn forged(text: &str, change: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut hashes) = (Vec::new(), Vec::new());
    for (line, seq) in text.lines().zip(1..) {
        let mut line = line.to_owned();
        for (from, to) in change {
            line = line.replace(from, to);
        }
        let Value::Object(object) = serde_json::from_str(&line).unwrap() else {
            panic!("{line}")
        };
        let first = object["prev"].as_str().unwrap().to_owned();
        let prev = hashes.last().unwrap_or(&first);
        let sealed = seal(object, seq, prev).unwrap();
        hashes.push(sealed.hash);
        lines.push(sealed.line);
    }
    (lines, hashes)
}

/// A capsule with other words, which cites the lines of such a chain.
fn citing(bytes: &[u8], change: &[(&str, &str)], lines: &[String], hashes: &[String]) -> Vec<u8> {
    let mut text = String::from_utf8(bytes.to_vec()).unwrap();
    for (from, to) in change {
        text = text.replace(from, to);
    }
    let mut forged: Capsule = serde_json::from_str(&text).unwrap();
    let at = |seq: u64| usize::try_from(seq).unwrap() - 1;
    let mut cited = Vec::new();
    for (_, said) in forged.stated_mut() {
        let line = said.line.as_mut().unwrap();
        line.hash.clone_from(&hashes[at(line.seq.0)]);
        cited.push(lines[at(line.seq.0)].clone());
    }
    forged.origin.head.hash = hashes[at(forged.origin.head.seq.0)].clone();
    let before = forged.origin.lines.len();
    cited.dedup();
    // What may not be told is not cited with its line here either.
    cited.retain(|line| !line.contains("notes.txt"));
    assert_eq!(cited.len(), before);
    forged.origin.lines = cited;
    capsule::write(&forged).unwrap().0
}

#[test]
fn a_session_that_the_record_does_not_lead_back_to_vouches_for_no_kept_file() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    let session = clear(&project, false);
    let (odd, other) = ("cap_00000000000a", "session_1700000000000_0000000a");
    let word = ("one hour", "years");
    let good = fs::read(kept(&project, &id)).unwrap();
    let record = fs::read_to_string(archive(&project, &session)).unwrap();
    // A whole chain in a file of its own, and a capsule that says just what it says.
    let change = [(session.as_str(), other), (id.as_str(), odd), word];
    let (lines, hashes) = forged(&record, &change);
    let text = format!("{}\n", lines.join("\n"));
    fs::write(archive(&project, other), &text).unwrap();
    let bytes = citing(&good, &change, &lines, &hashes);
    fs::write(kept(&project, odd), &bytes).unwrap();
    let said = printed(&project, odd);
    assert!(said.contains("tokens live for years"), "{said}");
    assert!(said.contains("does not lead back to the session"), "{said}");
    assert!(said.contains("nobody vouches for it"), "{said}");
    assert_eq!(foreign(&project), [odd]);
    assert!(!printed(&project, &id).contains("vouches"));
    // Nor does it become the operator's word.
    let begun = |words: &str| {
        let like = format!("--like={words}");
        done(&project, &["new", "Tokens again", &like, "--yes"]);
        let new = listed(&project)[0]["id"].as_str().unwrap().to_owned();
        json_of(&project, "show", &new)["assumptions"].to_string()
    };
    assert!(!begun("years").contains("tokens live"));
    assert!(begun("hour").contains("tokens live for one hour"));
    // Nor does it anchor what comes from elsewhere, whose lines do stand in it.
    let file = project.base().join("forged.json");
    fs::write(&file, &bytes).unwrap();
    let file = file.to_str().unwrap();
    let there = archive(&project, other);
    let (code, told) = imported(&project, &[file, "--ledger", there.to_str().unwrap()]);
    assert_eq!((code, &told["anchored"]), (0, &json!(true)), "{told}");
    assert_eq!(imported(&project, &[file]).1["anchored"], json!(false));
    let (_, screen) = in_terminal(&project, &["import", file]);
    let screen = screen.replace('\n', " ");
    assert!(screen.contains("intact only"), "{screen}");
    assert!(screen.contains("does not lead back to it"), "{screen}");
    // Nor does the session itself once it is another one than was sealed, for nothing before it.
    let change = [word];
    let (lines, hashes) = forged(&record, &change);
    let text = format!("{}\n", lines.join("\n"));
    fs::write(archive(&project, &session), text).unwrap();
    let bytes = citing(&good, &change, &lines, &hashes);
    fs::write(kept(&project, &id), &bytes).unwrap();
    let said = printed(&project, &id);
    assert!(said.contains("is not as it was sealed"), "{said}");
    fs::write(archive(&project, &session), record).unwrap();
    assert!(printed(&project, &id).contains("no record here tells the digest"));
    fs::write(kept(&project, &id), good).unwrap();
    assert!(!printed(&project, &id).contains("vouches"));
}

#[test]
fn a_task_whose_close_was_cut_off_is_not_told_as_open_by_a_sealed_session_and_goes_on_by_reopening()
{
    let project = Project::live();
    let id = login(&project);
    let out = project.base().join("out.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    closed_without_digest(&project, &id, Some("it is rotated"));
    clear(&project, false);
    let said = printed(&project, &id);
    assert!(said.contains("nobody vouches for it"), "{said}");
    assert_eq!(foreign(&project), [id.as_str()]);
    for verb in ["use", "edit", "close"] {
        let more: &[&str] = match verb {
            "edit" => &["--goal", "nobody is logged out"],
            _ => &[],
        };
        let (code, screen) = in_terminal(&project, &[&[verb, &id], more].concat());
        assert_eq!(code, 3, "{screen}");
        let screen = screen.replace('\n', "");
        assert!(screen.contains(&format!("capsule reopen {id}")), "{screen}");
    }
    done(&project, &["reopen", &id]);
    assert_eq!(shown(&project, &id)["status"], json!("open"));
    done(&project, &["close", &id]);
    assert!(foreign(&project).is_empty());
}

#[test]
fn what_only_is_kept_is_found_as_something_that_nobody_vouches_for() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    clear(&project, false);
    let odd = "cap_00000000000a";
    let good = fs::read_to_string(kept(&project, &id)).unwrap();
    let mut forged: Capsule = serde_json::from_str(&good.replace(&id, odd)).unwrap();
    forged.origin.lines.clear();
    fs::write(kept(&project, odd), capsule::write(&forged).unwrap().0).unwrap();
    for place in ["capsules", "all"] {
        let found = project.run(["search", "tokens live", "--in", place, "--json"]);
        let found = found.expect_success().json();
        let hits = found["hits"].as_array().unwrap().iter();
        let mut hits: Vec<(&str, bool, bool)> = hits
            .filter(|hit| hit["kind"] == "capsule")
            .map(|hit| {
                assert_eq!(hit["title"], "Fix the login");
                let is = |name: &str| hit[name] == true;
                (hit["id"].as_str().unwrap(), is("foreign"), is("unvouched"))
            })
            .collect();
        hits.sort_unstable();
        let mut expected = [(&*id, false, false), (odd, true, true)];
        expected.sort_unstable();
        assert_eq!(hits, expected);
        let text = project.run(["search", "tokens live", "--in", place]);
        let text = text.expect_success().stdout;
        let line = |id: &str| text.lines().find(|line| line.contains(id)).unwrap();
        assert!(line(odd).contains("nobody vouches for it"), "{text}");
        assert!(!line(&id).contains("elsewhere"), "{text}");
    }
}

#[test]
fn an_agent_is_told_of_kept_tasks_what_the_operator_is() {
    let project = Project::live();
    let id = login(&project);
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    done(&project, &["close", &id]);
    clear(&project, false);
    let odd = "cap_00000000000a";
    let good = fs::read_to_string(kept(&project, &id)).unwrap();
    let forged = |id: &str, text: &str| {
        let forged = good.replace("one hour", text);
        let mut forged: Capsule = serde_json::from_str(&forged).unwrap();
        forged.id = id.into();
        forged.origin.lines.clear();
        capsule::write(&forged).unwrap().0
    };
    fs::write(kept(&project, odd), forged(odd, "one hour")).unwrap();
    let read = |project: &Project, question: &str, id: Option<&str>| {
        let params = json!({"question": question, "id": id});
        project.agent("codex").expect("capsules/read", params)["value"].clone()
    };
    let listed = read(&project, "list", None);
    let rows = listed["capsules"].as_array().unwrap().iter();
    let mut rows: Vec<(&str, bool)> = rows
        .map(|row| (row["id"].as_str().unwrap(), row["isForeign"] == true))
        .collect();
    rows.sort_unstable();
    let mut expected = [(&*id, false), (odd, true)];
    expected.sort_unstable();
    assert_eq!(rows, expected);
    // In the order of the operator's list: what is kept of a sealed task was written after all that
    // was said for the task of now.
    done(&project, &["new", "Sort the pears"]);
    done(&project, &["export", &id, "--force", "-o", file]);
    let order = |listed: &[Value]| -> Vec<String> {
        let ids = listed.iter().map(|row| row["id"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    };
    let told = read(&project, "list", None);
    let told = order(told["capsules"].as_array().unwrap());
    assert_eq!(told[0], id);
    assert_eq!(told, order(&crate::capsule::listed(&project)));
    for question in ["show", "check"] {
        let told = read(&project, question, Some(&id));
        assert_eq!(told["isForeign"], false, "{told}");
        assert_eq!(read(&project, question, Some(odd))["isForeign"], true);
    }
    // What was imported stays what is told, whatever an agent writes in its place.
    let clone = clone_of(&project);
    let _other = clone.daemon();
    done(&clone, &["import", file, "--apply"]);
    fs::write(kept(&clone, &id), forged(&id, "ever and ever")).unwrap();
    let told = read(&clone, "show", Some(&id));
    let text = told["text"].as_str().unwrap();
    assert!(
        text.contains("one hour") && !text.contains("ever and"),
        "{text}"
    );
    assert_eq!(told["isForeign"], true);
    for (words, count) in [("tokens live", 1), ("ever and ever", 0)] {
        let params = json!({ "words": words });
        let found = clone.agent("codex").expect("capsules/search", params);
        let hits = found["value"]["hits"].as_array().unwrap();
        assert_eq!(hits.len(), count, "{words}: {hits:?}");
        assert!(!found.to_string().contains("for ever and"), "{found}");
    }
}

#[test]
fn what_archived_sessions_hold_stays_when_a_later_one_is_deleted_for_good() {
    let project = Project::new();
    let daemon = project.daemon();
    let first = login(&project);
    done(&project, &["close", &first]);
    clear(&project, false);
    // What is deleted is compacted once before.
    done(&project, &["new", "Paint the shed"]);
    let rows = listed(&project);
    let id = |title: &str| {
        let row = rows.iter().find(|row| row["title"] == title);
        row.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let second = id("Paint the shed");
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "the shed is xq7green");
    drop(claude);
    done(&project, &["close", &second]);
    compact(&project);
    done(&project, &["new", "Mow the xq7lawn"]);
    let rows = listed(&project);
    let third = rows.iter().find(|row| row["title"] == "Mow the xq7lawn");
    let third = third.unwrap()["id"].as_str().unwrap().to_owned();
    done(&project, &["close", &third]);
    for id in [&first, &second, &third] {
        assert!(!printed(&project, id).contains("vouches"), "{id}");
    }
    clear(&project, true);
    let look = || {
        let rows = listed(&project);
        let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(ids, [first.as_str()]);
        assert_eq!(rows[0]["foreign"], json!(false));
        assert!(!printed(&project, &first).contains("vouches"));
        let found = |words: &str| {
            let found = project.run(["search", words, "--json"]);
            found.expect_success().json()["hits"].clone()
        };
        assert_eq!(found("xq7*"), json!([]));
        let hits = found("tokens live");
        let hits = hits.as_array().unwrap().iter();
        let mut kinds: Vec<&str> = hits.map(|hit| hit["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["archive", "capsule"]);
    };
    look();
    daemon.stop();
    look();
}

#[test]
fn the_operators_goal_stands_and_an_agents_is_shown_below_it_as_the_agents() {
    let project = Project::live();
    let id = login(&project);
    let mut codex = project.agent("codex");
    note(&mut codex, "codex", "goal", "log everybody out at night");
    note(&mut codex, "codex", "goal", "log everybody out at noon");
    drop(codex);
    let look = || {
        let capsule = shown(&project, &id);
        let goal = &capsule["goal"];
        assert_eq!(goal["text"], "nobody is logged out by a restart");
        assert_eq!(goal["by"], "human");
        let theirs = capsule["agentGoals"].as_array().unwrap();
        assert_eq!(theirs.len(), 1);
        assert_eq!(theirs[0]["text"], "log everybody out at noon");
        assert_eq!(theirs[0]["by"], "codex");
        let printed = printed(&project, &id);
        let (before, theirs) = printed.split_once("Goal as agents say it").unwrap();
        assert!(before.contains("[human] nobody is logged out"), "{before}");
        assert!(theirs.contains("[codex] log everybody out at noon"));
        let text = project.run(["capsule", "handoff", &id, "--to", "markdown"]);
        let text = text.expect_success().stdout;
        assert!(text.contains("Goal as agents say it"), "{text}");
    };
    look();
    compact(&project);
    look();
    done(&project, &["close", &id]);
    look();
    assert!(!printed(&project, &id).contains("than the record"));
    clear(&project, false);
    look();
    assert!(!printed(&project, &id).contains("vouches"));
}

#[test]
fn what_had_no_room_in_a_task_is_still_counted_in_the_session_that_follows() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut claude = project.agent("claude");
    for number in 0..53 {
        let text = format!("decision {number}");
        note(&mut claude, "claude", "decision", &text);
    }
    drop(claude);
    let look = || {
        let capsule = shown(&project, &id);
        let left = capsule["leftOut"].as_array().unwrap().iter();
        let mut left = left.filter(|left| left["what"] == "decisions");
        assert_eq!(left.next().unwrap()["count"], json!(3), "{capsule}");
        assert_eq!(capsule["decisions"].as_array().unwrap().len(), 50);
    };
    look();
    compact(&project);
    look();
    clear(&project, false);
    look();
}

#[test]
fn a_kept_file_of_a_sealed_session_says_all_that_the_record_says_and_nothing_else() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let file = kept(&project, &id);
    let good = fs::read(&file).unwrap();
    clear(&project, false);
    let changes: [fn(&mut Capsule); 6] = [
        |capsule| capsule.title = "Break the login".to_owned(),
        |capsule| {
            if let Some(outcome) = &mut capsule.outcome {
                outcome.text = "never fixed".to_owned();
            }
        },
        |capsule| capsule.outcome = None,
        |capsule| capsule.constraints.clear(),
        |capsule| capsule.goal = None,
        |capsule| capsule.created_at += 1,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut changed: Capsule = serde_json::from_slice(&good).unwrap();
        change(&mut changed);
        // What is cited is as it was.
        changed.origin.lines.clear();
        fs::write(&file, capsule::write(&changed).unwrap().0).unwrap();
        let said = printed(&project, &id);
        assert!(said.contains("nobody vouches for it"), "{at}: {said}");
        assert_eq!(foreign(&project), std::slice::from_ref(&id), "{at}");
    }
    fs::write(&file, good).unwrap();
    assert!(!printed(&project, &id).contains("vouches"));
    assert_eq!(foreign(&project), Vec::<String>::new());
}

#[test]
fn what_went_out_of_a_task_before_its_close_is_not_vouched_for_as_what_was_closed() {
    let project = Project::live();
    let id = login(&project);
    let out = project.base().join("out.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    let file = kept(&project, &id);
    let then = fs::read(&file).unwrap();
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "tokens are signed");
    drop(claude);
    done(&project, &["close", &id]);
    let closed = fs::read(&file).unwrap();
    clear(&project, false);
    fs::write(&file, &then).unwrap();
    assert!(printed(&project, &id).contains("nobody vouches for it"));
    fs::write(&file, &closed).unwrap();
    let said = printed(&project, &id);
    assert!(!said.contains("vouches"), "{said}");
    assert!(said.contains("tokens are signed"), "{said}");
}

#[test]
fn a_task_that_was_closed_in_a_sealed_session_goes_on_in_this_one() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    done(&project, &["edit", &id, "--title", "Fix the whole login"]);
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let closed = shown(&project, &id);
    clear(&project, false);
    clear(&project, false);
    done(&project, &["new", "Another task"]);
    // Nobody but the operator, and nothing of a task that there is not.
    let no = in_terminal(&project, &["reopen", "cap_00000000000a"]);
    assert_eq!(no.0, 3, "{}", no.1);
    let before = project.ledger().len();
    let (code, screen) = in_terminal(&project, &["reopen", &id]);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("goes on"), "{screen}");
    let look = || {
        let open = shown(&project, &id);
        assert_eq!(open["status"], "open");
        assert_eq!(open["outcome"], Value::Null);
        for member in ["title", "createdAt"] {
            assert_eq!(open[member], closed[member], "{member}");
        }
        let texts = |capsule: &Value, member: &str| -> Vec<String> {
            let said = capsule[member].as_array().unwrap().iter();
            said.map(|said| format!("{} {}", said["by"], said["text"]))
                .collect()
        };
        for member in ["constraints", "decisions", "assumptions", "questions"] {
            assert_eq!(texts(&open, member), texts(&closed, member), "{member}");
        }
        assert_eq!(open["goal"]["text"], closed["goal"]["text"]);
        let row = |id: &str| listed(&project).into_iter().find(|row| row["id"] == id);
        let row = row(&id).unwrap();
        assert_eq!(
            (&row["foreign"], &row["current"]),
            (&json!(false), &json!(false))
        );
    };
    look();
    assert!(project.ledger().len() > before);
    // What is said of it now belongs to it, and its log has all of it once.
    done(&project, &["use", &id]);
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "tokens are signed");
    drop(claude);
    let decisions = shown(&project, &id)["decisions"].clone();
    assert_eq!(decisions.as_array().unwrap().len(), 2);
    let log = project.run(["capsule", "log", &id, "--json"]);
    let log = log.expect_success().json();
    let entries = log["entries"].as_array().unwrap();
    let of = |text: &str| entries.iter().filter(|it| it["content"] == text).count();
    assert_eq!(of("tokens live for one hour"), 1);
    assert_eq!(of("tokens are signed"), 1);
    assert_eq!(log["total"], json!(entries.len()));
    done(&project, &["close", &id]);
    assert!(!printed(&project, &id).contains("than the record"));
    daemon.stop();
    assert!(!printed(&project, &id).contains("than the record"));
}

#[test]
fn what_agents_did_for_a_task_is_not_done_again_when_it_is_opened_again() {
    let project = Project::live();
    let id = login(&project);
    let file = project.base().join("review.json");
    let comments = json!([comment(1, "P1: the list may be empty")]);
    fs::write(&file, comments.to_string()).unwrap();
    let import = || {
        let args = ["review", "import", "--from", "file", file.to_str().unwrap()];
        let mut pty = Pty::spawn(&project.ctxrelay(args));
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    };
    let finding = || {
        let listed = project.run(["review", "list", "--json"]);
        let row = listed.expect_success().json()["findings"][0].clone();
        (row["state"].clone(), row["claimedBy"].clone())
    };
    import();
    let mut claude = project.agent("claude");
    let said = json!({"agent": "claude", "kind": "decision", "text": "the list is checked",
        "finding": "gh:rc:1"});
    claude.expect("note/append", said);
    drop(claude);
    assert_eq!(finding(), (json!("claimed"), json!("claude")));
    done(&project, &["close", &id]);
    clear(&project, false);
    import();
    assert_eq!(finding(), (json!("open"), Value::Null));
    let (code, screen) = in_terminal(&project, &["reopen", &id]);
    assert_eq!(code, 0, "{screen}");
    assert_eq!(finding(), (json!("open"), Value::Null));
    // Nor once it is carried on with the session.
    compact(&project);
    assert_eq!(finding(), (json!("open"), Value::Null));
    let decisions = shown(&project, &id)["decisions"].to_string();
    assert!(decisions.contains("the list is checked"), "{decisions}");
}

#[test]
fn a_task_goes_on_from_no_session_that_the_record_does_not_lead_back_to() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    let session = clear(&project, false);
    let record = fs::read_to_string(archive(&project, &session)).unwrap();
    let (lines, _) = forged(&record, &[("one hour", "years")]);
    let text = format!("{}\n", lines.join("\n"));
    fs::write(archive(&project, &session), text).unwrap();
    let (code, screen) = in_terminal(&project, &["reopen", &id]);
    let screen = screen.replace('\n', " ");
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("the record leads back to"), "{screen}");
    assert!(listed(&project).iter().all(|row| row["status"] == "closed"));
}

#[test]
fn a_copied_folder_leads_back_to_nothing() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    let out = project.base().join("out.json");
    let file = out.to_str().unwrap();
    done(&project, &["close", &id]);
    done(&project, &["export", &id, "-o", file]);
    clear(&project, false);
    assert_eq!(imported(&project, &[file]).1["anchored"], json!(true));
    daemon.stop();
    let copy = clone_of(&project);
    fs::create_dir_all(copy.state()).unwrap();
    let all = project.state().join(".");
    let mut cp = Command::new("cp");
    let copied = cp.arg("-R").arg(all).arg(copy.state()).status();
    assert!(copied.unwrap().success());
    let _daemon = copy.daemon();
    let look = || {
        assert_eq!(foreign(&copy), std::slice::from_ref(&id));
        assert!(printed(&copy, &id).contains("nobody vouches for it"));
        assert_eq!(imported(&copy, &[file]).1["anchored"], json!(false));
        let (code, screen) = in_terminal(&copy, &["reopen", &id]);
        assert_eq!(code, 3, "{screen}");
    };
    look();
    // A session of one's own does not make what stood before it one's own.
    clear(&copy, false);
    look();
}

#[test]
fn the_log_of_a_task_of_this_session_needs_no_session_before_it() {
    let project = Project::live();
    let old = login(&project);
    let session = clear(&project, false);
    // It is not as it was sealed.
    let mut lines = fs::read_to_string(archive(&project, &session)).unwrap();
    lines = lines.replace("tokens live", "tokens lived");
    fs::write(archive(&project, &session), lines).unwrap();
    done(&project, &["new", "Bake a cake"]);
    let list = project.run(["capsule", "list", "--json"]);
    let list = list.expect_success().json();
    let mut ids = list["capsules"].as_array().unwrap().iter();
    let new = ids.find(|row| row["title"] == "Bake a cake").unwrap()["id"].clone();
    let new = new.as_str().unwrap();
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "cakes have candles");
    let log = |id: &str| project.run(["capsule", "log", id]).expect_success();
    let (of_new, of_old) = (log(new), log(&old));
    let said = |log: &Finished| format!("{}{}", log.stdout, log.stderr);
    assert!(!said(&of_new).contains("the log begins behind"));
    assert!(of_new.stdout.contains("Bake a cake"), "{}", of_new.stdout);
    assert!(
        of_new.stdout.contains("cakes have candles"),
        "{}",
        of_new.stdout
    );
    assert!(
        said(&of_old).contains("the log begins behind"),
        "{}",
        said(&of_old)
    );
}
