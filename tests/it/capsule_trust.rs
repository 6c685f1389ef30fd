//! What agents write where capsules are kept, and what strangers wrote: neither is taken for the
//! record's word or the operator's.

use std::fs;
use std::path::{Path, PathBuf};

use ctxrelay::core::capsule::{Capsule, CapsuleRun, CapsuleStatement};
use ctxrelay::wire::capsule;
use serde_json::{Value, json};

use crate::capsule::{agent, clone_of, done, imported, in_terminal, listed, login, note};
use crate::search_everywhere::clear;
use crate::support::project::Project;
use crate::support::pty::Pty;

fn kept(project: &Project, name: &str) -> PathBuf {
    project.state().join("capsules").join(name)
}

/// Changes what a file says, with the digest that it should have then.
fn rewrite(from: &Path, to: &Path, change: impl FnOnce(&mut Capsule)) {
    let mut changed: Capsule = serde_json::from_slice(&fs::read(from).unwrap()).unwrap();
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

fn printed(project: &Project, id: &str) -> String {
    let shown = project.run(["capsule", "show", id]);
    shown.expect_success().stdout
}

#[test]
fn a_kept_file_says_nothing_of_a_closed_task_that_the_record_does_not_say() {
    let project = Project::new();
    let _daemon = project.daemon();
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
    // What went out last is kept, and is the record's word.
    assert!(!printed(&project, &id).contains("than the record"));
    // One by the name of another task is nothing.
    let other = "cap_00000000000b";
    fs::copy(&good, kept(&project, &format!("{other}.json"))).unwrap();
    let told = project.run(["capsule", "show", other, "--json"]);
    assert_eq!(told.code(), 6);
    assert_eq!(told.json()["error"]["code"], "not_intact");
}

#[test]
fn a_kept_file_of_a_task_that_no_session_knows_is_not_the_projects_own() {
    let project = Project::new();
    let _daemon = project.daemon();
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
    let (code, screen) = in_terminal(&project, &["reopen", &id]);
    let screen = screen.replace('\n', "");
    assert_eq!(code, 3, "{screen}");
    assert!(
        screen.contains("closed in a session that is sealed"),
        "{screen}"
    );
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
}

#[test]
fn a_rule_that_is_newer_than_the_close_of_a_task_masks_what_goes_out_of_it() {
    let project = Project::new();
    let _daemon = project.daemon();
    let id = login(&project);
    let mut claude = agent(&project, "claude");
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
fn what_goes_along_tells_nothing_of_this_machine_and_a_strangers_text_is_nobodys_here() {
    let project = Project::new();
    let _daemon = project.daemon();
    let mut claude = agent(&project, "claude");
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
