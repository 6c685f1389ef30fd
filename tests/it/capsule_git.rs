//! How often git is asked for a capsule: a person waits for each of its processes. And what is left of
//! one that was killed while it asked.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::capsule::{clone_of, done, imported, in_terminal, login};
use crate::support::child::run;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

/// A git that writes down what it is asked by whoever has the variable `COUNTED`: the daemon asks as
/// well.
fn counted(project: &Project) -> PathBuf {
    let log = project.base().join("git.log");
    let git = project.bin().join("git");
    let text = format!(
        "#!/bin/sh\n[ -z \"$COUNTED\" ] || echo \"$*\" >> '{}'\nPATH=\"${{PATH#*:}}\" exec git \"$@\"\n",
        log.display()
    );
    write_program(&git, &text);
    log
}

#[test]
fn git_is_asked_a_few_times_for_a_capsule_and_for_no_more_than_is_shown() {
    let project = Project::live();
    let id = login(&project);
    let file = project.base().join("login.ctxcapsule.json");
    let file = file.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    let log = counted(&project);
    let by_it = |args: &[&str]| {
        let words = ["capsule"].into_iter().chain(args.iter().copied());
        run(&project.ctxrelay(words).env("COUNTED", "1"))
    };
    let asked = |what: &dyn Fn()| {
        let _ = fs::remove_file(&log);
        what();
        let asked = fs::read_to_string(&log).unwrap_or_default();
        (asked.lines().count(), asked)
    };
    let check = || {
        let told = by_it(&["check", &id, "--json"]);
        assert_eq!(told.expect_success().json()["freshness"], "fresh");
    };
    let (count, said) = asked(&check);
    assert_eq!(count, 3, "{said}");
    assert!(!said.contains("--numstat"), "{said}");
    let (count, said) = asked(&|| drop(by_it(&["import", file, "--json"]).expect_success()));
    assert_eq!(count, 3, "{said}");
    let export = || {
        let words = ["capsule", "export", &id, "-o", file, "--force"];
        let mut pty = Pty::spawn(&project.ctxrelay(words).env("COUNTED", "1"));
        assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    };
    let (count, said) = asked(&export);
    assert_eq!(count, 4, "{said}");
    // What came with a capsule is held against the same look at the repository.
    project.write("README.md", "changed\n");
    project.git(&["add", "README.md"]);
    project.git(&["commit", "-qm", "before"]);
    project.write("README.md", "changed again\n");
    done(&project, &["export", &id, "--force", "--patch", "-o", file]);
    project.write("README.md", "changed\n");
    let (_, said) = asked(&|| {
        let told = by_it(&["import", file, "--json"]).expect_success().json();
        assert_eq!(told["patch"]["applies"], true, "{told}");
    });
    assert_eq!(said.matches("rev-parse").count(), 1, "{said}");
}

#[test]
fn what_a_killed_look_at_git_left_behind_the_next_one_removes() {
    let project = Project::live();
    let id = login(&project);
    let check = || run(&project.ctxrelay(["capsule", "check", &id])).expect_success();
    let left = Path::new("/var/tmp").join(format!("ctxrelay-git-test{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&left).unwrap();
    fs::write(left.join("index"), "what it read").unwrap();
    let folder = File::open(&left).unwrap();
    folder.lock().unwrap();
    let before = SystemTime::now() - Duration::from_secs(120);
    folder.set_modified(before).unwrap();
    check();
    assert!(left.exists(), "it is in use");
    folder.unlock().unwrap();
    // Who sweeps at the same time may have it in hand.
    wait_until("its end", timeout(), || {
        check();
        (!left.exists()).then_some(())
    });
}

#[test]
fn where_git_does_not_tell_the_export_says_so_and_nothing_counts_as_fresh() {
    let project = Project::live();
    let id = login(&project);
    let file = project.base().join("login.ctxcapsule.json");
    let file = file.to_str().unwrap();
    let git = project.bin().join("git");
    write_program(&git, "#!/bin/sh\nexit 128\n");
    let (code, screen) = in_terminal(&project, &["export", &id, "-o", file]);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("git did not tell where"), "{screen}");
    let told = |args: &[&str]| {
        let words = ["capsule"].into_iter().chain(args.iter().copied());
        project.run(words).expect_success()
    };
    let check = told(&["check", &id, "--json"]).json();
    assert_eq!(check["freshness"], "unknown", "{check}");
    let list = told(&["list"]).stdout;
    assert!(list.contains("git did not tell where"), "{list}");

    // By now git tells; what went out says nothing of it all the same.
    fs::remove_file(&git).unwrap();
    project.write("README.md", "# Later\n");
    project.git(&["commit", "-qam", "later"]);
    let check = told(&["check", &id]).stdout;
    let unknown = "unknown  it does not say where git stood, so nobody can tell";
    assert!(check.contains(unknown), "{check}");
    let handoff = told(&["handoff", &id, "--to", "codex"]).stdout;
    assert!(handoff.contains("State: fresh"), "of now: {handoff}");
    let clone = clone_of(&project);
    let (_, import) = imported(&clone, &[file]);
    assert_eq!(import["freshness"], "unknown", "{import}");
}
