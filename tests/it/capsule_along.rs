//! Changes that no commit has, and what gates printed, as they go along with a task.

use std::fs;

use serde_json::{Value, json};

use crate::capsule::{clone_of, done, from_base64, imported, in_terminal, listed};
use crate::capsule_readme::wrote;
use crate::capsule_sealed::compact;
use crate::search_everywhere::clear;
use crate::support::child::run;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

/// A project with a task, two tracked files that differ, a secret in a third one, and a file that
/// git does not know.
fn at_work() -> (Project, String) {
    let project = Project::new();
    project.write("src/login.rs", "one\ntwo\n");
    fs::write(project.root().join("logo.bin"), [0_u8, 1, 2, 255]).unwrap();
    project.write("deploy.sh", "echo hello\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "before"]);
    project.write("src/login.rs", "one\r\n2 \nthree");
    fs::write(project.root().join("logo.bin"), [0_u8, 7, 7, 254]).unwrap();
    project.write("deploy.sh", &format!("echo hello\nexport T={}\n", secret()));
    project.write("new.txt", "not known to git\n");
    let daemon = project.daemon();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    daemon.stop();
    (project, id)
}

fn secret() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

/// Exports with `more`, and returns the file's path, its bytes and its value.
#[track_caller]
fn exported(project: &Project, id: &str, more: &[&str]) -> (String, Vec<u8>, Value) {
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap().to_owned();
    let args = [&["export", id, "--force", "-o", &file], more].concat();
    done(project, &args);
    let bytes = fs::read(&out).unwrap();
    let value = serde_json::from_slice(&bytes).unwrap();
    (file, bytes, value)
}

#[test]
fn an_export_that_a_close_overtakes_is_refused_and_what_the_close_kept_stays() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    exported(&project, &id, &[]);
    // Its git waits when it makes the patch: the record was read by then.
    let [begun, go] = ["begun", "go"].map(|name| project.base().join(name));
    let git = project.bin().join("git");
    let text = format!(
        "#!/bin/sh\ncase \"$SLOW $*\" in 1*--full-index*) : > '{}'; \
         while [ ! -e '{}' ]; do sleep 0.05; done;; esac\n\
         PATH=\"${{PATH#*:}}\" exec git \"$@\"\n",
        begun.display(),
        go.display()
    );
    write_program(&git, &text);
    let out = project.base().join("late.json");
    let args = ["capsule", "export", &id, "--patch", "-o"];
    let args = args.into_iter().chain(out.to_str());
    let mut export = Pty::spawn_sized(&project.ctxrelay(args).env("SLOW", "1"), 200, 50);
    wait_until("the patch that is made", timeout(), || {
        begun.exists().then_some(())
    });
    done(&project, &["close", &id, "--outcome", "it is rotated"]);
    let kept = project.state().join(format!("capsules/{id}.json"));
    let closed = fs::read(&kept).unwrap();
    fs::write(&go, "").unwrap();
    assert_eq!(export.wait_exit(), 3, "{}", export.screen());
    assert!(
        export.screen().contains("was closed while"),
        "{}",
        export.screen()
    );
    assert!(!out.exists());
    assert_eq!(fs::read(&kept).unwrap(), closed);
    let shown = project.run(["capsule", "show", &id]).expect_success();
    assert!(shown.stdout.contains("it is rotated"), "{}", shown.stdout);
    assert!(
        !shown.stdout.contains("than the record"),
        "{}",
        shown.stdout
    );
}

#[test]
fn changes_go_along_without_secrets_and_are_put_in_after_a_typed_word() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    let (_, plain, _) = exported(&project, &id, &[]);
    let (file, bytes, capsule) = exported(&project, &id, &["--patch"]);
    assert_eq!(capsule["redaction"]["files"], json!(["deploy.sh"]));
    let patch = from_base64(capsule["patch"]["data"].as_str().unwrap());
    assert!(patch.contains("+three"), "{patch}");
    for absent in [&secret(), "deploy.sh", "new.txt"] {
        assert!(!patch.contains(absent), "{absent}: {patch}");
    }
    // What is kept of the task itself has no patch of a moment.
    assert_eq!(exported(&project, &id, &[]).1, plain);
    fs::write(&file, &bytes).unwrap();

    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    let (code, told) = imported(&clone, &[&file]);
    assert_eq!(code, 0, "{told}");
    let fits = |applies: bool| {
        json!({"files": ["logo.bin", "src/login.rs"], "new": [], "deleted": [], "applies": applies,
            "isIn": false})
    };
    assert_eq!(told["patch"], fits(true));
    assert_eq!(clone.read("src/login.rs"), "one\ntwo\n", "a dry run");

    // Names of files are the sender's words: they are masked by the rules of here.
    let rules = json!({"redaction": {"rules": [{"name": "brand", "pattern": "logo"}]}});
    clone.write(".contextrelay/config.json", &rules.to_string());
    let masked = json!(["[REDACTED_BRAND].bin", "src/login.rs"]);
    assert_eq!(imported(&clone, &[&file]).1["patch"]["files"], masked);
    let import = clone.run(["capsule", "import", &file]).expect_success();
    assert!(!import.stdout.contains("logo.bin"), "{}", import.stdout);
    clone.write(".contextrelay/config.json", "{}");

    // A file of the operator's own work is in the way.
    clone.write("deploy.sh", "mine\n");
    assert_eq!(imported(&clone, &[&file]).1["patch"], fits(false));
    clone.git(&["checkout", "-q", "deploy.sh"]);
    // Something else is typed: kept, and left out.
    let import = ["capsule", "import", &file, "--apply"];
    for (word, is_put_in) in [("no\r", false), ("patch\r", true)] {
        let mut pty = Pty::spawn(&clone.ctxrelay(import));
        pty.wait_for_text("Type `patch`");
        pty.type_text(word);
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
        assert_eq!(clone.read("src/login.rs") != "one\ntwo\n", is_put_in);
        let out = "its patch was left out: `patch` was not typed";
        assert_eq!(pty.screen().contains(out), !is_put_in, "{}", pty.screen());
    }
    for path in ["src/login.rs", "logo.bin"] {
        let read = |project: &Project| fs::read(project.root().join(path)).unwrap();
        assert_eq!(read(&clone), read(&project), "{path}");
    }
    assert_eq!(clone.read("deploy.sh"), "echo hello\n");
    let check = clone.run(["capsule", "check", &id, "--json"]);
    let mut is_in = fits(false);
    is_in["isIn"] = json!(true);
    assert_eq!(check.expect_success().json()["patch"], is_in);
    let check = clone.run(["capsule", "check", &id]).expect_success();
    let told = "a patch of 2 files: all of it is in the work tree already";
    assert!(check.stdout.contains(told), "{}", check.stdout);
    // It goes on byte for byte, and takes nothing else along.
    assert_eq!(exported(&clone, &id, &[]).1, bytes);
    let again = Pty::spawn(&clone.ctxrelay(["capsule", "export", &id, "--patch"])).wait_exit();
    assert_eq!(again, 3);
    // On another commit it stays out.
    clone.git(&["checkout", "-q", "."]);
    clone.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    assert_eq!(imported(&clone, &[&file]).1["patch"], fits(false));
}

#[test]
fn nothing_goes_out_while_a_redaction_rule_of_the_project_cannot_be_read() {
    let (project, id) = at_work();
    let config = |text: &str| project.write(".contextrelay/config.json", text);
    let rules = json!({"redaction": {"rules": [{"name": "brand", "pattern": "three"}]}});
    let rules = rules.to_string();
    config(&rules);
    let _daemon = project.daemon();
    let without_login = || {
        let (_, _, capsule) = exported(&project, &id, &["--patch"]);
        let left = capsule["redaction"]["files"].as_array().unwrap();
        assert!(left.contains(&json!("src/login.rs")), "{capsule}");
        let patch = from_base64(capsule["patch"]["data"].as_str().unwrap());
        assert!(!patch.contains("three"), "{patch}");
    };
    without_login();
    let out = project.base().join("out.txt");
    let file = out.to_str().unwrap();
    for broken in [
        format!("{rules},").as_str(),
        &format!("\u{feff}{rules}"),
        &rules[..rules.len() / 2],
        r#"{"redaction": {"rules": [{"name": "brand", "pattern": "("}]}}"#,
        r#"{"redaction": {"rules": {"brand": "three"}}}"#,
        r#"{"redaction": []}"#,
    ] {
        config(broken);
        for args in [
            &["export", &id, "-o", file, "--patch"][..],
            &["handoff", &id, "--to", "cursor", "-o", file],
            &["handoff", &id, "--to", "markdown", "--copy"],
            &["handoff", &id, "--to", "codex", "--send"],
        ] {
            let (code, screen) = in_terminal(&project, args);
            assert_eq!(code, 3, "{broken} {args:?}: {screen}");
            assert!(
                screen.contains("config.json: "),
                "{broken} {args:?}: {screen}"
            );
            assert!(!out.exists(), "{broken} {args:?}");
        }
        let packed = project.run(["continuity", "pack", "--json"]);
        assert_eq!(packed.code(), 3, "{broken}");
        for shown in [
            &["capsule", "show", &id, "--json"][..],
            &["search", "login"],
            &["ledger", "search", "login"],
        ] {
            let shown = project.run(shown.iter().copied()).expect_success();
            assert!(
                shown.stderr.contains("may be shown here"),
                "{}",
                shown.stderr
            );
        }
    }
    // What is wrong elsewhere in it hinders nobody.
    let mut odd: Value = serde_json::from_str(&rules).unwrap();
    odd["idleShutdownSeconds"] = json!("soon");
    odd["redaction"]["allow"] = json!([7]);
    config(&odd.to_string());
    without_login();
}

#[test]
fn new_files_and_names_of_every_script_go_along_and_what_git_does_not_know_is_counted() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    let names = ["src/\u{fc}ber.rs", "\u{4e2d}.txt"];
    for name in names {
        project.write(name, "one\n");
        project.git(&["add", name]);
    }
    // Not every system takes such a name, so that it stays here.
    let odd = "src/odd\tname.rs";
    project.write(odd, "one\n");
    project.git(&["add", odd]);
    project.git(&["commit", "-q", "-m", "names", "--", names[0], names[1], odd]);
    for name in [names[0], names[1], odd] {
        project.write(name, "one\ntwo\n");
    }
    project.write("added/deep/new.rs", "pub fn new() {}\n");
    project.write("added/again.rs", "");
    project.git(&["add", "added"]);
    // As it lies there, and not as it was added.
    project.write("added/deep/new.rs", "pub fn newer() {}\n");
    fs::remove_file(project.root().join("added/again.rs")).unwrap();
    let args = ["export", &id, "--patch", "-o", "../said.json"];
    let (_, screen) = in_terminal(&project, &args);
    assert!(screen.contains("with a patch of 5 files"), "{screen}");
    let said = screen.replace('\n', " ");
    for left in [
        "1 file is left out that git does not know",
        "1 file is left out for want of room, or for a form or name",
    ] {
        assert!(said.contains(left), "{screen}");
    }
    let (file, _, capsule) = exported(&project, &id, &["--patch"]);
    let left = capsule["leftOut"].as_array().unwrap().iter();
    let left: Vec<_> = left.filter(|left| left["what"] == "patch").collect();
    let counts: Vec<_> = left.iter().map(|left| &left["count"]).collect();
    assert_eq!(counts, [&json!(1), &json!(1)], "{left:?}");
    let odd = r#""src/odd\tname.rs""#;
    assert_eq!(left[0]["names"], json!([odd]), "{left:?}");
    assert_eq!(
        left[1].get("names"),
        None,
        "what git does not know stays unnamed"
    );
    assert!(!screen.contains("git did not tell"), "{screen}");

    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    let import = clone.run(["capsule", "import", &file]).expect_success();
    // These, and the one with a secret.
    let more = "3 files more of its sender's did not come along";
    assert!(import.stdout.contains(more), "{}", import.stdout);
    assert!(import.stdout.contains(odd), "{}", import.stdout);
    let mut pty = Pty::spawn(&clone.ctxrelay(["capsule", "import", &file, "--apply"]));
    pty.wait_for_text("Type `patch`");
    pty.type_text("patch\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let all = names
        .into_iter()
        .chain(["added/deep/new.rs", "src/login.rs"]);
    for path in all {
        assert_eq!(clone.read(path), project.read(path), "{path}");
    }
    assert!(!clone.root().join("added/again.rs").exists());
    assert!(!clone.root().join("new.txt").exists());
}

#[test]
fn what_a_gate_printed_goes_along_masked() {
    let (project, id) = at_work();
    let gates = json!([{"name": "test", "cmd": format!("echo red; printf 'only-in-%s\n' the-output; echo {}; exit 1", secret())}]);
    project.write(
        ".contextrelay/config.json",
        &json!({ "gates": gates }).to_string(),
    );
    let daemon = project.daemon();
    let mut pty = Pty::spawn(&project.ctxrelay(["trust"]));
    pty.wait_for_text("Type `trust`");
    pty.type_text("trust\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    // Not its line in the file: that is there before the run is over.
    wait_until("the end of the gate", timeout(), || {
        let told = operator.call("gates/list", json!({})).unwrap();
        (!told["value"]["ended"].is_null()).then_some(())
    });
    // Unasked not even a cited line tells of it.
    let (file, bytes, plain) = exported(&project, &id, &[]);
    let plain_text = String::from_utf8(bytes).unwrap();
    assert!(!plain_text.contains("only-in-the-output"), "{plain_text}");
    assert_eq!(plain["verification"][0]["verified"], true);
    assert!(plain["verification"][0]["ref"]["hash"].is_string());
    assert!(plain["outputs"].is_null());
    let left = plain["leftOut"].as_array().unwrap().iter();
    let left: Vec<_> = left.filter(|it| it["what"] == "origin.lines").collect();
    assert_eq!((left.len(), &left[0]["count"]), (1, &json!(1)), "{left:?}");
    let import = project.run(["capsule", "import", &file, "--json"]).json();
    assert_eq!(import["intact"], true, "{import}");
    let (_, bytes, capsule) = exported(&project, &id, &["--outputs"]);
    assert!(String::from_utf8_lossy(&bytes).contains("only-in-the-output"));
    // An open task goes on in the next session with what its gates came to.
    clear(&project, false);
    let (_, _, later) = exported(&project, &id, &["--outputs"]);
    daemon.stop();
    assert_eq!(later["outputs"], capsule["outputs"]);
    let ran = |capsule: &Value| {
        ["name", "status", "verified", "exitCode", "outputSha256"]
            .map(|member| capsule["verification"][0][member].clone())
    };
    assert_eq!(ran(&later)[1], "failed");
    assert_eq!(ran(&later), ran(&capsule));
    assert_eq!(capsule["outputs"][0]["name"], "test");
    let output = from_base64(capsule["outputs"][0]["data"].as_str().unwrap());
    assert!(output.contains("red\n"), "{output}");
    assert!(!output.contains(&secret()), "{output}");
    assert!(capsule["patch"].is_null());
}

fn trust_gates(project: &Project, gates: &Value) {
    project.write(
        ".contextrelay/config.json",
        &json!({ "gates": gates }).to_string(),
    );
    let mut pty = Pty::spawn(&project.ctxrelay(["trust"]));
    pty.wait_for_text("Type `trust`");
    pty.type_text("trust\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
}

/// Trusts these gates, runs them and waits for their end, which is red.
fn run_gates(project: &Project, gates: &Value) {
    trust_gates(project, gates);
    let mut pty = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(pty.wait_exit(), 6, "{}", pty.screen());
}

#[test]
fn a_gate_that_was_red_before_or_has_another_command_now_is_told_as_that() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    let mark = project.base().join("ran-before");
    let cmd = format!("test -e {0} || {{ touch {0}; exit 1; }}", mark.display());
    run_gates(&project, &json!([{"name": "test", "cmd": cmd}]));
    let mut green = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(green.wait_exit(), 0, "{}", green.screen());
    let told = || {
        let handoff = ["capsule", "handoff", &id, "--to", "markdown"];
        let shown = project
            .run(["capsule", "show", &id])
            .expect_success()
            .stdout;
        let handoff = project.run(handoff).expect_success().stdout;
        [shown, handoff].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let flaky = "flaky: it came to something else on the same tree before";
    for text in told() {
        assert!(text.contains(flaky), "{text}");
        assert!(!text.contains("another command"), "{text}");
    }
    trust_gates(&project, &json!([{"name": "test", "cmd": "exit 1"}]));
    for text in told() {
        let of_another = "by another command than the gate has now, and flaky";
        assert!(text.contains(of_another), "{text}");
    }
    let (file, _, capsule) = exported(&project, &id, &[]);
    let run = &capsule["verification"][0];
    assert_eq!(
        (&run["status"], &run["flaky"]),
        (&json!("passed"), &json!(true))
    );
    assert_eq!(capsule["notRun"], json!(["test"]));
    let import = project.run(["capsule", "import", &file, "--json"]).json();
    assert_eq!(import["intact"], true, "{import}");
    // What is kept of a closed task is still what the record says.
    done(&project, &["close", &id]);
    let shown = project
        .run(["capsule", "show", &id])
        .expect_success()
        .stdout;
    assert!(shown.contains("another command"), "{shown}");
}

#[test]
fn what_came_with_outputs_and_a_patch_goes_on_byte_for_byte() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    run_gates(
        &project,
        &json!([{"name": "test", "cmd": "echo red; exit 1"}]),
    );
    for more in [&["--outputs"][..], &["--patch", "--outputs"]] {
        let (file, bytes, capsule) = exported(&project, &id, more);
        assert_eq!(capsule["outputs"][0]["name"], "test");
        let has_patch = more.contains(&"--patch");
        assert_eq!(capsule["patch"].is_object(), has_patch);
        let clone = clone_of(&project);
        let _daemon = clone.daemon();
        let mut pty = Pty::spawn(&clone.ctxrelay(["capsule", "import", &file, "--apply"]));
        if has_patch {
            pty.wait_for_text("Type `patch`");
            pty.type_text("patch\r");
        }
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
        assert_eq!(exported(&clone, &id, &[]).1, bytes, "{more:?}");
    }
}

#[test]
fn a_long_output_of_a_gate_goes_along_with_its_end_and_what_has_no_room_is_counted() {
    let (project, id) = at_work();
    let _daemon = project.daemon();
    // As long as a line of the record, and longer than all outputs of a capsule.
    let prints = |name: &str, lines: u32| {
        let lines = format!("seq -f '{name} line %.0f' {lines}");
        let cmd = format!(
            "echo {name} begins; {lines}; echo {name} is red {}; exit 1",
            secret()
        );
        json!({"name": name, "cmd": cmd})
    };
    run_gates(
        &project,
        &json!([prints("long", 7_500), prints("endless", 40_000)]),
    );
    let (_, _, capsule) = exported(&project, &id, &["--outputs"]);
    let output = |name: &str| {
        let outputs = capsule["outputs"].as_array().unwrap();
        let output = outputs.iter().find(|output| output["name"] == name);
        from_base64(output.unwrap()["data"].as_str().unwrap())
    };
    let (long, endless) = (output("long"), output("endless"));
    for (name, output) in [("long", &long), ("endless", &endless)] {
        assert!(output.contains(&format!("{name} begins\n")), "{name}");
        let red = format!("{name} is red [REDACTED_GITHUB_TOKEN]");
        assert!(output.trim_end().ends_with(&red), "{name}");
    }
    assert!(long.len() > 100_000, "{}", long.len());
    assert!(long.contains("long line 3000\n") && !long.contains("left out"));
    let mark = "bytes left out …]\n";
    assert!(endless.contains(mark), "{}", endless.len());
    let left = &capsule["leftOut"];
    let left = left.as_array().unwrap().iter();
    let left: Vec<_> = left.filter(|left| left["what"] == "outputs").collect();
    assert_eq!((left.len(), &left[0]["count"]), (1, &json!(1)), "{left:?}");
    let args = ["export", &id, "--force", "-o", "../again.json", "--outputs"];
    let (_, screen) = in_terminal(&project, &args);
    assert!(
        screen.contains("1 of them is not there, or not whole"),
        "{screen}"
    );
}

#[test]
fn a_secret_in_the_name_of_a_file_of_a_branch_or_of_the_remote_goes_nowhere() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let secret = secret();
    project.git(&["checkout", "-q", "-b", &format!("fix/{secret}")]);
    let path = format!("src/{secret}.rs");
    wrote(&project, &path);
    project.write(&path, "pub fn logout() {}\n");
    project.write("README.md", "# Later\n");
    let remote = format!("https://me:{secret}@a.example/o/{secret}.git?token={secret}#{secret}");
    project.git(&["config", "remote.origin.url", &remote]);
    // What the turn touched is recorded behind its end.
    wait_until("the file of the turn", timeout(), || {
        let shown = project.run(["capsule", "show", &id, "--json"]);
        let shown = shown.expect_success().json();
        shown["touched"][0]["path"].is_string().then_some(())
    });
    let (_, bytes, capsule) = exported(&project, &id, &["--patch"]);
    let starts = |value: &Value, start: &str| {
        let text = value.as_str().unwrap();
        assert!(text.starts_with(start), "{text}");
        assert!(!text.contains("ghp_"), "{text}");
    };
    starts(&capsule["touched"][0]["path"], "src/[REDACTED_");
    starts(&capsule["git"]["branch"], "fix/[REDACTED_");
    starts(&capsule["git"]["remote"], "https://a.example/o/[REDACTED_");
    // The file would tell its name in the patch.
    assert_eq!(capsule["redaction"]["files"].as_array().unwrap().len(), 1);
    starts(&capsule["redaction"]["files"][0], "src/[REDACTED_");
    let patch = from_base64(capsule["patch"]["data"].as_str().unwrap());
    assert!(patch.contains("+# Later"), "{patch}");
    // Where it is not even the record knows.
    let check = project.run(["capsule", "check", &id, "--json"]);
    let check = check.expect_success().json();
    assert_eq!(
        (&check["freshness"], &check["touched"]),
        (&json!("unknown"), &json!([]))
    );
    starts(&check["uncompared"][0], "src/[REDACTED_");
    let mut told = vec![String::from_utf8(bytes).unwrap(), patch];
    for target in ["claude", "codex", "cursor", "opencode", "markdown"] {
        let handoff = project.run(["capsule", "handoff", &id, "--to", target]);
        told.push(handoff.expect_success().stdout);
    }
    let piece = &secret[..12];
    for text in told {
        assert!(!text.contains(piece), "{text}");
    }
}

#[test]
fn a_file_that_has_the_name_of_the_user_is_compared_where_it_is() {
    let project = Project::live();
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let path = "src/annabel/a.rs";
    wrote(&project, path);
    wait_until("the file of the turn", timeout(), || {
        let shown = project.run(["capsule", "show", &id, "--json"]);
        let shown = shown.expect_success().json();
        shown["touched"][0]["path"].is_string().then_some(())
    });
    let as_user = |args: &[&str]| {
        let words = ["capsule"].into_iter().chain(args.iter().copied());
        project.ctxrelay(words).env("USER", "annabel")
    };
    let export = as_user(&["export", &id, "-o", "../login.ctxcapsule.json"]);
    assert_eq!(Pty::spawn(&export).wait_exit(), 0);
    let stands = |freshness: &str, touched: usize| {
        let check = run(&as_user(&["check", &id, "--json"])).expect_success();
        let check = check.json();
        assert_eq!(check["freshness"], freshness, "{check}");
        assert_eq!(check["touched"].as_array().unwrap().len(), touched);
        assert_eq!(check["uncompared"], json!([]), "{check}");
    };
    stands("fresh", 0);
    project.write("README.md", "# Later\n");
    stands("moved", 0);
    project.write(path, "pub fn changed() {}\n");
    stands("touched", 1);
}

/// How a gate ended, as the operator is told and as an agent is.
fn told_gate(project: &Project, id: &str) -> [String; 2] {
    let shown = project.run(["capsule", "show", id]);
    let params = json!({"question": "show", "id": id});
    let told = project.agent("codex").expect("capsules/read", params);
    let told = told["value"]["text"].as_str().unwrap().to_owned();
    [shown.expect_success().stdout, told].map(|text| {
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| line.contains("unit") && line.contains("verified"));
        line.unwrap_or(&text).to_owned()
    })
}

#[test]
fn a_closed_task_is_told_with_the_gates_of_its_close_whatever_they_come_to_later() {
    let project = Project::live();
    let mark = project.base().join("mended");
    let cmd = format!("test -e {}", mark.display());
    run_gates(&project, &json!([{"name": "unit", "cmd": cmd}]));
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    done(&project, &["close", &id]);
    let before = told_gate(&project, &id);
    assert_eq!(before[0], "unit: failed (verified)");
    assert!(
        before[1].starts_with("- unit failed (verified on the tree that this was made on"),
        "{before:?}"
    );
    fs::write(&mark, "").unwrap();
    project.git(&["commit", "-q", "--allow-empty", "-m", "mended"]);
    let mut green = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(green.wait_exit(), 0, "{}", green.screen());
    assert_eq!(told_gate(&project, &id), before);
}

#[test]
fn what_gates_came_to_without_git_is_said_without_a_tree_and_goes_on_in_later_sessions() {
    let project = Project::without_git();
    let _daemon = project.daemon();
    trust_gates(&project, &json!([{"name": "unit", "cmd": "true"}]));
    done(&project, &["new", "Fix the login"]);
    let id = listed(&project)[0]["id"].as_str().unwrap().to_owned();
    let mut green = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(green.wait_exit(), 0, "{}", green.screen());
    let told = [
        "unit: passed (verified, tree not known)",
        "- unit passed (verified, tree not known, exit code 0): true",
    ];
    assert_eq!(told_gate(&project, &id), told);
    compact(&project);
    assert_eq!(told_gate(&project, &id), told);
    clear(&project, false);
    assert_eq!(told_gate(&project, &id), told);
    let shown = project.run(["capsule", "show", &id, "--json"]);
    assert_eq!(shown.expect_success().json()["git"], Value::Null);
}
