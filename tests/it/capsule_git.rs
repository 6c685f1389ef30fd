//! How often git is asked for a capsule: a person waits for each of its processes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::capsule::{done, imported, login};
use crate::support::project::Project;

/// A git that writes down what it is asked.
fn counted(project: &Project) -> PathBuf {
    let log = project.base().join("git.log");
    let git = project.bin().join("git");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nPATH=\"${{PATH#*:}}\" exec git \"$@\"\n",
        log.display()
    );
    fs::write(&git, text).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    log
}

#[test]
fn git_is_asked_a_few_times_for_a_capsule_and_for_no_more_than_is_shown() {
    let project = Project::new();
    let daemon = project.daemon();
    let id = login(&project);
    let file = project.base().join("login.ctxcapsule.json");
    let file = file.to_str().unwrap();
    done(&project, &["export", &id, "-o", file]);
    // It asks git as well.
    daemon.stop();
    let log = counted(&project);
    let asked = |what: &dyn Fn()| {
        let _ = fs::remove_file(&log);
        what();
        let asked = fs::read_to_string(&log).unwrap_or_default();
        (asked.lines().count(), asked)
    };
    let check = || {
        let told = project.run(["capsule", "check", &id, "--json"]);
        assert_eq!(told.expect_success().json()["freshness"], "fresh");
    };
    let (count, said) = asked(&check);
    assert_eq!(count, 5, "{said}");
    assert!(!said.contains("--numstat"), "{said}");
    let (count, said) = asked(&|| assert_eq!(imported(&project, &[file]).0, 0));
    assert_eq!(count, 5, "{said}");
    let export = || done(&project, &["export", &id, "-o", file, "--force"]);
    let (count, said) = asked(&export);
    assert_eq!(count, 9, "{said}");
}
