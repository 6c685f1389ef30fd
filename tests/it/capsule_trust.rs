//! What agents write where capsules are kept, and what strangers wrote: neither is taken for the
//! record's word or the operator's.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::core::capsule::{Capsule, CapsuleOutput, CapsuleRun, CapsuleStatement};
use ctxrelay::wire::capsule;
use serde_json::{Value, json};

use crate::capsule::{clone_of, done, from_base64, imported, in_terminal, listed, login, note};
use crate::search_everywhere::clear;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;

fn kept(project: &Project, name: &str) -> PathBuf {
    project.state().join("capsules").join(name)
}

/// Changes what a file says, with the digest that it should have then.
fn rewrite(from: &Path, to: &Path, change: impl FnOnce(&mut Capsule)) {
    rewrite_bytes(&fs::read(from).unwrap(), to, change);
}

fn rewrite_bytes(from: &[u8], to: &Path, change: impl FnOnce(&mut Capsule)) {
    let mut changed: Capsule = serde_json::from_slice(from).unwrap();
    change(&mut changed);
    let (bytes, _) = capsule::write(&changed).unwrap();
    fs::write(to, bytes).unwrap();
}

/// Cited by nothing.
fn forged(capsule: &Capsule, text: &str) -> CapsuleStatement {
    CapsuleStatement {
        text: text.to_owned(),
        line: None,
        ..capsule.decisions[0].clone()
    }
}

fn decisions(project: &Project, id: &str) -> Vec<String> {
    let shown = project.run(["capsule", "show", id, "--json"]);
    let shown = shown.expect_success().json();
    let said = shown["decisions"].as_array().unwrap().iter();
    said.map(|said| said["text"].as_str().unwrap().to_owned())
        .collect()
}

fn json(project: &Project, args: &[&str]) -> Value {
    let words = ["capsule"].into_iter().chain(args.iter().copied());
    let told = project.run(words.chain(["--json"]));
    told.expect_success().json()
}

fn printed(project: &Project, id: &str) -> String {
    let shown = project.run(["capsule", "show", id]);
    shown.expect_success().stdout
}

#[test]
fn a_kept_file_says_nothing_of_a_closed_task_that_the_record_does_not_say() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    let file = kept(&project, &format!("{id}.json"));
    let good = project.base().join("good.json");
    fs::copy(&file, &good).unwrap();
    assert!(!printed(&project, &id).contains("than the record"));
    let changes: [fn(&mut Capsule); 6] = [
        |capsule| {
            let one = forged(capsule, "tokens live for ever");
            capsule.decisions = vec![one];
            capsule.origin.lines.clear();
        },
        |capsule| {
            let one = forged(capsule, "tokens live for ever");
            capsule.decisions.push(one);
        },
        |capsule| capsule.title = "tokens live for ever".to_owned(),
        |capsule| capsule.constraints.clear(),
        |capsule| {
            if let Some(outcome) = &mut capsule.outcome {
                outcome.text = "tokens live for ever".to_owned();
            }
        },
        |capsule| {
            let run = json!({
                "name": "tokens live for ever", "cmd": null, "status": "passed",
                "verified": true, "exitCode": 0, "durationMs": 1, "tree": null,
                "current": false, "outputSha256": null,
            });
            let run: CapsuleRun = serde_json::from_value(run).unwrap();
            capsule.verification.push(run);
        },
    ];
    let out = project.base().join("out.json");
    let export = ["export", &id, "--force", "-o", out.to_str().unwrap()];
    for (at, change) in changes.into_iter().enumerate() {
        rewrite(&good, &file, change);
        let printed = printed(&project, &id);
        let said = "says something else than the record";
        assert!(printed.contains(said), "{at}: {printed}");
        assert!(!printed.contains("for ever"), "{at}: {printed}");
        assert_eq!(decisions(&project, &id), ["tokens live for one hour"]);
        done(&project, &export);
        let exported = fs::read_to_string(&out).unwrap();
        assert!(!exported.contains("for ever"), "{at}");
        assert!(exported.contains("no new dependency"), "{at}");
    }
    // What went out is the record's word; which of the two was changed nobody can tell, so that what
    // is kept stays.
    assert!(printed(&project, &id).contains("than the record"));
    assert!(fs::read_to_string(&file).unwrap().contains("for ever"));
    let checked = json(&project, &["check", &id]);
    let remark = checked["remarks"][0].as_str().unwrap();
    assert!(
        remark.contains("than the record") && !remark.contains("  "),
        "{remark}"
    );
    assert_eq!(checked["foreign"], json!(false));
    // One that went out before the end is only older: all that is shown comes from the record.
    rewrite(&good, &file, |capsule| {
        capsule.updated_at -= 1;
        let one = forged(capsule, "tokens live for ever");
        capsule.decisions.push(one);
    });
    assert!(!printed(&project, &id).contains("than the record"));
    assert_eq!(decisions(&project, &id), ["tokens live for one hour"]);
    done(&project, &export);
    assert!(!fs::read_to_string(&file).unwrap().contains("for ever"));
    // One by the name of another task is nothing.
    let other = "cap_00000000000b";
    fs::copy(&good, kept(&project, &format!("{other}.json"))).unwrap();
    let told = project.run(["capsule", "show", other, "--json"]);
    assert_eq!(told.code(), 6);
    assert_eq!(told.json()["error"]["code"], "not_intact");
}

#[test]
fn a_kept_file_of_a_task_that_no_session_knows_is_not_the_projects_own() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    clear(&project, false);
    let file = kept(&project, &format!("{id}.json"));
    let odd = "cap_00000000000a";
    rewrite(&file, &kept(&project, &format!("{odd}.json")), |capsule| {
        capsule.id = odd.into();
        capsule.origin.lines.clear();
    });
    let foreign = || -> Vec<(String, bool)> {
        let row = |row: Value| (row["id"].to_string(), row["foreign"] == true);
        listed(&project).into_iter().map(row).collect()
    };
    let name = |id: &str| format!("\"{id}\"");
    // The sealed session still knows its own.
    let mut expected = [(name(&id), false), (name(odd), true)];
    expected.sort();
    assert_eq!(foreign(), expected);
    let said = printed(&project, odd);
    assert!(said.contains("nobody vouches for it"), "{said}");
    assert!(said.contains("from elsewhere"), "{said}");
    let shown = project.run(["capsule", "show", odd, "--json"]);
    let shown = shown.expect_success();
    assert!(shown.stderr.contains("nobody vouches"), "{}", shown.stderr);
    let checked = json(&project, &["check", odd]);
    assert_eq!(checked["foreign"], json!(true), "{checked}");
    let handed = json(&project, &["handoff", odd, "--to", "markdown"]);
    assert_eq!(handed["foreign"], json!(true), "{handed}");
    assert_eq!(handed["remarks"], checked["remarks"]);
    assert!(checked["remarks"][0].to_string().contains("vouches"));
    // What it says goes along with no other task; what the sealed session says does.
    done(&project, &["new", "Another task"]);
    let rows = listed(&project);
    let other = rows.iter().find(|row| row["title"] == "Another task");
    let other = other.unwrap()["id"].as_str().unwrap().to_owned();
    let words = "--hydrate=tokens live";
    let handed = ["handoff", &other, "--to", "markdown", words, "--yes"];
    let found = json(&project, &handed)["found"].to_string();
    assert!(found.contains(&id) && !found.contains(odd), "{found}");
    let good = fs::read(&file).unwrap();
    assert!(!printed(&project, &id).contains("vouches"));
    rewrite(&file, &file, |capsule| {
        let one = forged(capsule, "tokens live for ever");
        capsule.decisions = vec![one];
        capsule.origin.lines.clear();
    });
    assert!(printed(&project, &id).contains("nobody vouches for it"));
    fs::write(&file, good).unwrap();
    assert!(!printed(&project, &id).contains("vouches"));
}

#[test]
fn a_capsule_from_elsewhere_that_was_exchanged_after_its_import_is_refused() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    daemon.stop();
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    // The goal, the constraint, the decision, the question and one assumption are cited with their
    // lines; in the other one a rule would mask something.
    assert_eq!(imported(&clone, &[file]).1["uncited"], json!(1));
    let (_, screen) = in_terminal(&clone, &["import", file]);
    assert!(screen.contains("1 of 6 uncited"), "{screen}");
    done(&clone, &["import", file, "--apply"]);
    assert_eq!(json(&clone, &["check", &id])["uncited"], json!(1));
    let check = clone.run(["capsule", "check", &id]).expect_success();
    assert!(check.stdout.contains("1 of 6 uncited"), "{}", check.stdout);
    // The import is known in the next session too.
    clear(&clone, false);
    assert_eq!(decisions(&clone, &id), ["tokens live for one hour"]);
    let there = kept(&clone, &format!("foreign/{id}.json"));
    rewrite(&there, &there, |capsule| {
        let one = forged(capsule, "tokens live for ever");
        capsule.decisions = vec![one];
        capsule.origin.lines.clear();
    });
    let again = clone.base().join("again.json");
    let again = again.to_str().unwrap();
    for args in [
        &["show", &id][..],
        &["check", &id],
        &["handoff", &id, "--to", "markdown"],
        &["export", &id, "-o", again],
    ] {
        let (code, screen) = in_terminal(&clone, args);
        let screen = screen.replace('\n', " ");
        assert_eq!(code, 6, "{args:?}: {screen}");
        assert!(screen.contains("was changed since its import"), "{screen}");
        assert!(!screen.contains("for ever"), "{screen}");
    }
    assert!(!fs::exists(again).unwrap());
    assert!(listed(&clone)[0]["error"].is_string());
    done(&clone, &["import", file, "--apply"]);
    assert_eq!(decisions(&clone, &id), ["tokens live for one hour"]);
    // One that was never imported is named as that.
    let odd = "cap_00000000000a";
    let odd_file = kept(&clone, &format!("foreign/{odd}.json"));
    rewrite(&there, &odd_file, |capsule| {
        capsule.id = odd.into();
        capsule.origin.lines.clear();
    });
    let said = printed(&clone, odd);
    assert!(said.contains("does not tell of an import"), "{said}");
    assert!(said.contains("import the sender's file again"), "{said}");
    // What is no capsule hides none from elsewhere.
    fs::write(kept(&clone, &format!("{id}.json")), "junk").unwrap();
    assert_eq!(decisions(&clone, &id), ["tokens live for one hour"]);
    // Still known when the session is deleted for good: its file stays.
    clear(&clone, true);
    assert_eq!(decisions(&clone, &id), ["tokens live for one hour"]);
    assert!(!printed(&clone, &id).contains("does not tell of an import"));
}

/// What `capsule check`, `capsule list` and the daemon's answer to an agent say of a task.
fn looked_at(project: &Project, id: &str) -> [String; 3] {
    let checked = json(project, &["check", id]);
    let row = listed(project).remove(0);
    let word = |value: &Value| format!("{} {}", value["freshness"], value["remarks"]);
    let params = json!({"question": "check", "id": id});
    let told = project.agent("codex").expect("capsules/read", params);
    let told = &told["value"];
    let remark = told["remark"].as_str().map(|remark| format!(" {remark}"));
    let told = format!("{}{}", told["freshness"], remark.unwrap_or_default());
    [word(&checked), word(&row), told]
}

#[test]
fn what_went_out_of_an_open_task_is_what_the_record_says_and_not_what_an_agent_wrote_there() {
    let project = Project::live();
    let id = login(&project);
    let out = project.base().join("out.json");
    let export = ["export", &id, "--force", "-o", out.to_str().unwrap()];
    done(&project, &export);
    let file = kept(&project, &format!("{id}.json"));
    let good = fs::read(&file).unwrap();
    let steps = || -> Vec<String> {
        let log = json(&project, &["log", &id]);
        let entries = log["entries"].as_array().unwrap().iter();
        let steps = entries.filter_map(|entry| entry["content"].as_str());
        steps
            .filter(|said| said.contains("went out"))
            .map(str::to_owned)
            .collect()
    };
    let digest = capsule::read(&good).unwrap().digest;
    assert_eq!(
        steps(),
        [format!(
            "its capsule went out, the digest is {digest}; what is kept of it has the digest {digest}"
        )]
    );
    project.write("other.txt", "x");
    let moved = "\"moved\"".to_owned();
    let as_recorded = [format!("{moved} []"), format!("{moved} []"), moved];
    assert_eq!(looked_at(&project, &id), as_recorded);
    // As if it had gone out from the work tree of now.
    let shown: Capsule = serde_json::from_value(json(&project, &["show", &id])).unwrap();
    assert_ne!(shown.git, capsule::read(&good).unwrap().git);
    rewrite(&file, &file, |capsule| capsule.git.clone_from(&shown.git));
    for said in looked_at(&project, &id) {
        assert!(said.contains("not what the record says went out"), "{said}");
    }
    // Nor is it fresh where that is gone, by an agent's hand or by a full disk.
    fs::remove_file(&file).unwrap();
    for said in looked_at(&project, &id) {
        assert!(said.contains("not what the record says went out"), "{said}");
    }
    let found = project.run(["search", "login", "--in", "capsules", "--json"]);
    let found = found.expect_success().json();
    assert!(found["hits"][0]["freshness"].is_null(), "{found:#}");
    fs::write(&file, &good).unwrap();
    assert_eq!(looked_at(&project, &id), as_recorded);
    // The record still knows it in the session that follows.
    clear(&project, false);
    assert_eq!(looked_at(&project, &id), as_recorded);
    // What is kept at the end of a task, and when it is sent, is known as well.
    done(&project, &["close", &id]);
    let as_closed = fs::read(&file).unwrap();
    let remarks = |id: &str| json(&project, &["check", id])["remarks"].to_string();
    assert!(!remarks(&id).contains("when it was closed"));
    fs::remove_file(&file).unwrap();
    assert!(remarks(&id).contains("not kept when it was closed"));
    // As if it had been closed on the work tree of now.
    project.write("later.txt", "x");
    let late = json(&project, &["show", &id])["git"].clone();
    assert_eq!(late["late"], json!(true));
    rewrite_bytes(&as_closed, &file, |capsule| {
        let git = capsule.git.as_mut().unwrap();
        git.tree = late["tree"].as_str().map(str::to_owned);
    });
    let shown = json(&project, &["show", &id]);
    assert_eq!(shown["git"]["late"], json!(true));
    assert!(printed(&project, &id).contains("something else than the record"));
    let params = json!({"question": "show", "id": id});
    let told = project.agent("codex").expect("capsules/read", params)["value"].clone();
    let remark = told["remark"].as_str().unwrap_or_default();
    assert!(remark.contains("not what the record says"), "{told}");
    fs::write(&file, &as_closed).unwrap();
    assert_eq!(json(&project, &["show", &id])["git"]["late"], Value::Null);
    fs::remove_file(project.root().join("later.txt")).unwrap();
    done(&project, &["reopen", &id]);
    let fresh = "\"fresh\"".to_owned();
    let as_closed = [format!("{fresh} []"), format!("{fresh} []"), fresh];
    assert_eq!(looked_at(&project, &id), as_closed);
    done(&project, &["edit", &id, "--constraint", "by Friday"]);
    done(&project, &["handoff", &id, "--to", "codex", "--send"]);
    assert_eq!(looked_at(&project, &id), as_closed);
    // Going out is no change of the task.
    done(&project, &export);
    let first = fs::read(&out).unwrap();
    done(&project, &export);
    assert_eq!(fs::read(&out).unwrap(), first);
    assert_eq!(steps().len(), 3);
}

#[test]
fn nothing_goes_out_that_the_record_cannot_tell_of() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    daemon.stop();
    let out = project.base().join("out.json");
    let (code, screen) = in_terminal(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("no daemon"), "{screen}");
    let beside = fs::read_dir(project.base()).unwrap().flatten();
    let beside: Vec<_> = beside.map(|file| file.file_name()).collect();
    let is_ours = |name: &std::ffi::OsString| name.to_string_lossy().contains("export");
    assert!(!out.exists() && !beside.iter().any(is_ours), "{beside:?}");
}

#[test]
fn what_a_sender_did_not_mask_is_masked_where_it_is_shown() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    daemon.stop();
    let secret = format!("ghp_{}", "c3D4".repeat(9));
    rewrite(&out, &out, |capsule| {
        let one = forged(capsule, &format!("use {secret} for it"));
        capsule.decisions = vec![one];
        capsule.title = format!("Fix {secret}");
        capsule.origin.lines.clear();
        let printed = format!("\u{1b}[2Jred: {secret}\n");
        // Two bytes a letter, of which the second ones are zero.
        let wide: String = printed.chars().flat_map(|letter| [letter, '\0']).collect();
        let outputs = [("unit", &*printed), (&*secret, "green\n"), ("wide", &wide)];
        let outputs = outputs.map(|(name, text)| CapsuleOutput::new(name.to_owned(), text));
        capsule.outputs = outputs.to_vec();
    });
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    done(&clone, &["import", file, "--apply"]);
    let outputs = json(&clone, &["show", &id])["outputs"].clone();
    let of = |at: usize| from_base64(outputs[at]["data"].as_str().unwrap());
    assert_eq!(of(0), "\u{fffd}[2Jred: [REDACTED_GITHUB_TOKEN]\n");
    assert_eq!(outputs[1]["name"], "[REDACTED_GITHUB_TOKEN]");
    assert_eq!(
        (of(1).as_str(), outputs[2]["name"].as_str()),
        ("green\n", Some("wide"))
    );
    assert_eq!(of(2), "[REDACTED_TEXT]");
    let text = clone.base().join("text.md");
    let text = text.to_str().unwrap();
    done(&clone, &["handoff", &id, "--to", "cursor", "-o", text]);
    let mut told = vec![fs::read_to_string(text).unwrap()];
    for args in [
        &["show", &id][..],
        &["show", &id, "--json"],
        &["list"],
        &["list", "--json"],
        &["import", file],
        &["handoff", &id, "--to", "codex"],
        &["handoff", &id, "--to", "codex", "--json"],
    ] {
        let words = ["capsule"].into_iter().chain(args.iter().copied());
        told.push(clone.run(words).expect_success().stdout);
    }
    for told in told {
        assert!(!told.contains(&secret[..12]), "{told}");
        assert!(told.contains("Fix [REDACTED_GITHUB_TOKEN]"), "{told}");
    }
    // Which is said: the digest is that of the file.
    assert_eq!(json(&clone, &["show", &id])["maskedHere"], json!(true));
    assert!(printed(&clone, &id).contains("the digest is that of the file"));
    let own = json(&project, &["show", &id]);
    assert_eq!(own["maskedHere"], Value::Null);
    // The file stays what it was, to the byte.
    let again = clone.base().join("again.json");
    done(&clone, &["export", &id, "-o", again.to_str().unwrap()]);
    assert_eq!(fs::read(again).unwrap(), fs::read(&out).unwrap());
}

#[test]
fn what_is_no_capsule_hides_no_open_task_and_hinders_no_close() {
    let project = Project::live();
    let id = login(&project);
    let out = project.base().join("out.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    let file = kept(&project, &format!("{id}.json"));
    fs::write(&file, "junk").unwrap();
    let row = &listed(&project)[0];
    assert_eq!(
        (&row["status"], &row["error"]),
        (&json!("open"), &json!(null))
    );
    done(&project, &["close", &id, "--outcome", "fixed in 1.4"]);
    assert_eq!(decisions(&project, &id), ["tokens live for one hour"]);
    let closed = capsule::read(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(closed.outcome.unwrap().text, "fixed in 1.4");
}

#[test]
fn a_closed_task_is_the_projects_own_under_another_name_of_its_user() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "annabel reviews it");
    drop(claude);
    let close = project.ctxrelay(["capsule", "close", &id]);
    let mut pty = Pty::spawn(&close.env("USER", "annabel"));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let look = || {
        let said = printed(&project, &id);
        assert!(
            said.contains("[claude] [REDACTED_USER] reviews it"),
            "{said}"
        );
        assert!(!said.contains("vouches") && !said.contains("than the record"));
    };
    look();
    clear(&project, false);
    look();
    // Other words are no mask.
    let file = kept(&project, &format!("{id}.json"));
    rewrite(&file, &file, |capsule| {
        capsule.decisions[0].text = "[REDACTED_USER] forgets it".to_owned();
        capsule.origin.lines.clear();
    });
    assert!(printed(&project, &id).contains("nobody vouches for it"));
}

#[test]
fn a_task_that_is_too_old_to_go_on_is_said_so() {
    let project = Project::live();
    let id = login(&project);
    done(&project, &["close", &id]);
    let mut operator = Operator::connect(&project);
    for number in 0..32 {
        let title = format!("task {number}");
        let opened = operator
            .call("task/change", json!({"change": {"open": {"title": title}}}))
            .unwrap();
        let close = json!({"change": {"close": {"task": opened["value"]["id"]}}});
        operator.call("task/change", close).unwrap();
    }
    let (code, screen) = in_terminal(&project, &["reopen", &id]);
    let screen = screen.replace('\n', "");
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("older than the last 32 tasks"), "{screen}");
    assert!(!screen.contains("sealed"), "{screen}");
}

#[test]
fn a_rule_that_is_newer_than_the_close_of_a_task_masks_what_goes_out_of_it() {
    let project = Project::live();
    let id = login(&project);
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "acme-12345 builds it");
    done(&project, &["close", &id]);
    let shown = || {
        let shown = project.run(["capsule", "show", &id, "--json"]);
        shown.expect_success().json()
    };
    let digest = shown()["digest"].as_str().unwrap().to_owned();
    project.write(
        ".contextrelay/config.json",
        &json!({"redaction": {"rules": [{"name": "acme", "pattern": "acme-[0-9]+"}]}}).to_string(),
    );
    let said = printed(&project, &id);
    assert!(
        said.contains("today's redaction rules mask more (ACME)"),
        "{said}"
    );
    assert!(
        said.contains(&digest) && !said.contains("acme-12345"),
        "{said}"
    );
    let handoff = project.run(["capsule", "handoff", &id, "--to", "markdown"]);
    let handoff = handoff.expect_success();
    assert!(handoff.stdout.contains("[REDACTED_ACME] builds it"));
    assert!(handoff.stderr.contains("digest is another one"));
    let out = project.base().join("out.json");
    let file = out.to_str().unwrap();
    let (code, screen) = in_terminal(&project, &["export", &id, "-o", file]);
    let screen = screen.replace('\n', "");
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("mask more (ACME)"), "{screen}");
    let bytes = fs::read_to_string(&out).unwrap();
    assert!(!bytes.contains("acme-12345"), "{bytes}");
    // Whole where it arrives, with the line left out that would tell.
    let exported = capsule::read(bytes.as_bytes()).unwrap();
    assert_eq!(capsule::check_lines(&exported), Ok(()));
    assert_ne!(exported.digest, digest);
    assert_eq!(exported.redaction.rules["ACME"], 1);
    assert_eq!(exported.constraints[0].text, "no new dependency");
    // It went out like this, and stays so.
    assert_eq!(shown()["digest"], json!(exported.digest));
    assert!(!printed(&project, &id).contains("mask more"));
}

#[test]
fn a_rule_that_is_newer_than_a_sealed_session_masks_what_goes_out_and_changes_nothing_that_is_kept()
{
    let project = Project::live();
    let id = login(&project);
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "decision", "acme-12345 builds it");
    drop(claude);
    done(&project, &["close", &id]);
    clear(&project, false);
    let file = kept(&project, &format!("{id}.json"));
    let before = fs::read(&file).unwrap();
    project.write(
        ".contextrelay/config.json",
        &json!({"redaction": {"rules": [{"name": "acme", "pattern": "acme-[0-9]+"}]}}).to_string(),
    );
    let out = project.base().join("out.json");
    done(&project, &["export", &id, "-o", out.to_str().unwrap()]);
    let exported = fs::read_to_string(&out).unwrap();
    assert!(!exported.contains("acme-12345"), "{exported}");
    // The sealed session tells the digest of this one alone.
    assert_eq!(fs::read(&file).unwrap(), before);
    let said = printed(&project, &id);
    assert!(said.contains("mask more (ACME)"), "{said}");
    assert!(!said.contains("vouches"), "{said}");
}

#[test]
fn what_goes_along_tells_nothing_of_this_machine_and_a_strangers_text_is_nobodys_here() {
    let project = Project::live();
    let mut claude = project.agent("claude");
    let path = project.home().join("keys/login.txt");
    let said = format!("the login reads {}", path.display());
    note(&mut claude, "claude", "note", &said);
    let review = project.base().join("review.json");
    let body = "**P1** the login forgets everything, says the review";
    let comments = json!([{"id": 1, "body": body, "path": "a.rs", "line": 1,
        "user": {"login": "ann", "type": "User"},
        "html_url": "https://github.com/acme/api/pull/12#discussion_r1"}]);
    fs::write(&review, comments.to_string()).unwrap();
    let import = [
        "review",
        "import",
        "--from",
        "file",
        review.to_str().unwrap(),
    ];
    let mut pty = Pty::spawn(&project.ctxrelay(import));
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());

    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let handoff = [
        "capsule",
        "handoff",
        "--to",
        "codex",
        "--hydrate=login",
        &id,
        "--yes",
    ];
    let told = project.run(handoff.into_iter().chain(["--json"]));
    let told = told.expect_success().json();
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("the login reads [REDACTED_PATH]"), "{text}");
    assert!(
        !told
            .to_string()
            .contains(&*project.home().to_string_lossy())
    );
    let found = told["found"].as_array().unwrap();
    let finding = found.iter().map(|it| it.as_str().unwrap());
    let finding: Vec<&str> = finding.filter(|it| it.contains("forgets")).collect();
    assert_eq!(finding.len(), 1, "{found:?}");
    assert!(
        finding[0].contains(", untrusted text of a review by ann] "),
        "{finding:?}"
    );

    let like = ["new", "The login again", "--like", "login", "--yes"];
    done(&project, &like);
    let new = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let shown = project.run(["capsule", "show", &new, "--json"]);
    let assumed = shown.expect_success().json()["assumptions"].to_string();
    assert!(assumed.contains("the login reads"), "{assumed}");
    assert!(!assumed.contains("forgets"), "{assumed}");
}

#[test]
fn a_close_that_was_cut_off_is_said_in_the_capsule_for_good() {
    let project = Project::live();
    let id = login(&project);
    let folder = project.root().join(".contextrelay/capsules");
    let aside = project.base().join("aside");
    let _ = fs::rename(&folder, &aside);
    fs::write(&folder, "in the way").unwrap();
    let (code, screen) = in_terminal(&project, &["close", &id]);
    // Nothing takes the close back, so that it is told.
    assert_eq!(code, 0, "{screen}");
    for said in ["could not be kept", "is closed"] {
        assert!(screen.contains(said), "{screen}");
    }
    fs::remove_file(&folder).unwrap();
    let _ = fs::rename(&aside, &folder);
    assert_eq!(json(&project, &["show", &id])["status"], json!("closed"));
    let out = project.base().join("out.json");
    let file = out.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    let exported = capsule::read(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(exported.git.unwrap().late, Some(true));
    let said = printed(&project, &id);
    assert!(said.contains("are as of when it went out"), "{said}");
}
