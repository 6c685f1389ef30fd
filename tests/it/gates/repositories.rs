//! Gates in repositories that are not as one expects them.

use serde_json::json;

use super::{evidence, run_gates, trust};
use crate::support::operator::Operator;
use crate::support::project::Project;

/// One gate in the project and one in a work tree of its own, each of which sees this file.
fn both(project: &Project, cmd: &str) {
    trust(
        project,
        &json!([
            {"name": "here", "cmd": cmd},
            {"name": "apart", "cmd": cmd, "isolation": "worktree"},
        ]),
    );
}

fn commit(project: &Project) {
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=more"]);
}

/// A submodule with one file, `own.txt`, committed at this path.
#[track_caller]
pub(super) fn add_submodule(project: &Project, path: &str) {
    let module = project.base().join("module");
    let at = module.display().to_string();
    project.git(&["init", "--quiet", &at]);
    std::fs::write(module.join("own.txt"), "one\n").unwrap();
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
    let git = |args: &[&str]| project.git(&[&["-C", &at], &who[..], args].concat());
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=one"]);
    let add = ["submodule", "add", "--quiet", &at, path];
    project.git(&[&["-c", "protocol.file.allow=always"][..], &add].concat());
    commit(project);
}

#[test]
fn in_a_shallow_clone_they_run_in_both_places() {
    let project = Project::new();
    for text in ["one", "two", "three"] {
        project.write("state.txt", text);
        commit(&project);
    }
    let shallow = project.base().join("shallow");
    let from = format!("file://{}", project.root().display());
    let to = shallow.display().to_string();
    project.git(&["clone", "--quiet", "--depth=1", &from, &to]);
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    std::fs::rename(shallow.join(".git"), project.root().join(".git")).unwrap();
    assert!(project.root().join(".git/shallow").exists());
    let _daemon = project.daemon();
    both(&project, "grep three state.txt");
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    for at in [0, 1] {
        let gate = &report["gates"][at];
        assert_eq!(
            (&gate["ok"], &gate["stale"]),
            (&json!(true), &json!(false)),
            "{gate}"
        );
    }
}

#[test]
fn what_a_gate_changes_within_a_submodule_makes_its_run_stale() {
    let project = Project::new();
    add_submodule(&project, "sub");
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([
            {"name": "looks", "cmd": "grep one sub/own.txt"},
            {"name": "cheats", "cmd": "echo two >sub/own.txt"},
            {"name": "apart", "cmd": "test -d sub && test ! -e sub/own.txt", "isolation": "worktree"},
        ]),
    );
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let gate = |at: usize| &report["gates"][at];
    assert_eq!(gate(1)["stale"], true, "{}", gate(1));
    assert_eq!(gate(1)["ok"], false);
    assert_eq!(gate(2)["ok"], true, "{}", gate(2));
    assert_eq!(gate(2)["not_covered"], "1 file (sub)");
}

#[test]
fn a_hostile_branch_name_and_a_huge_file_that_is_ignored_hinder_nothing() {
    let project = Project::new();
    project.write(".gitignore", "huge\n");
    commit(&project);
    let branch = "-q;touch${IFS}pwned;$(id)";
    project.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
    commit_on(&project);
    let huge = std::fs::File::create(project.root().join("huge")).unwrap();
    huge.set_len(40 * 1024 * 1024 * 1024).unwrap();
    let _daemon = project.daemon();
    both(&project, "test ! -e pwned");
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    for at in [0, 1] {
        assert_eq!(report["gates"][at]["ok"], true, "{}", report["gates"][at]);
    }
    assert!(!project.root().join("pwned").exists());
}

fn commit_on(project: &Project) {
    project.git(&["commit", "--quiet", "--allow-empty", "--message=there"]);
}

#[test]
fn where_the_folder_for_work_trees_cannot_be_made_nothing_runs_and_it_says_why() {
    let project = Project::new();
    std::fs::write(project.registry().join("worktrees"), "in the way").unwrap();
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "apart", "cmd": "touch ../ran", "isolation": "worktree"}]),
    );
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["status"], "blocked");
    let told = evidence(&project).remove(0);
    let text = told["content"].as_str().unwrap();
    assert!(text.contains("could not be made"), "{text}");
}

#[test]
fn of_the_users_own_configuration_of_git_what_names_a_program_is_not_obeyed_and_what_is_ignored_is()
{
    let project = Project::new();
    project.write("a.txt", "one\n");
    project.write(".gitattributes", "*.txt filter=evil\n");
    commit(&project);
    let mark = project.base().join("ran");
    let evil = format!("touch {}; cat", mark.display());
    let logs = project.base().join("logs");
    std::fs::write(&logs, "*.log\n").unwrap();
    let set = |key: &str, value: &str| project.git(&["config", "--global", key, value]);
    for key in ["filter.evil.clean", "filter.evil.smudge", "gpg.program"] {
        set(key, &evil);
    }
    set("log.showSignature", "true");
    set("core.excludesFile", &logs.display().to_string());
    project.write("a.txt", "two\n");
    let _daemon = project.daemon();
    both(&project, "touch junk.log; grep . a.txt");
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    for at in [0, 1] {
        let gate = &report["gates"][at];
        assert_eq!(
            (&gate["ok"], &gate["stale"]),
            (&json!(true), &json!(false)),
            "{gate}"
        );
    }
    let told = project.run(["recover", "--json"]).expect_success().stdout;
    assert!(told.contains("a.txt"), "{told}");
    assert!(!mark.exists());
}
