//! Gates in repositories that are not as one expects them.

use serde_json::{Value, json};

use super::{evidence, run_gates, trust};
use crate::support::child::run;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::script_file::write_program;

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

/// What `recover` says of the work tree where it is run by this shell line, which ends in it.
#[track_caller]
fn git_told(project: &Project, script: &str) -> Value {
    let launch = project.ctxrelay(["--project"]);
    let line = format!("{script} exec \"$0\" \"$@\"");
    let launch = project.program("sh").envs(launch.env).args(["-c", &line]);
    let launch = launch.arg(project.program(env!("CARGO_BIN_EXE_ctxrelay")).program);
    let launch = launch.arg("--project").arg(project.root());
    let told = run(&launch.args(["recover", "--json"])).expect_success();
    told.json()["git"].clone()
}

fn write_beside(project: &Project, name: &str, text: &str) -> String {
    let path = project.base().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn what_a_user_ignores_is_ignored_wherever_and_for_whichever_repository_the_configuration_says_so()
{
    let project = Project::live();
    let changed = |script: &str| git_told(&project, script)["changed"].clone();
    let ignored = write_beside(&project, "logs", "*.log\n");
    let ignores = format!("[core]\n\texcludesFile = {ignored}\n");
    project.write("junk.log", "");
    assert_eq!(changed(""), 1);
    // Git obeys both files.
    let of_xdg = write_beside(&project, "xdg/config/git/config", &ignores);
    write_beside(&project, "home/.gitconfig", "[core]\n\tautocrlf = false\n");
    assert_eq!(changed(""), 0);
    // For this repository alone, and from a folder outside of it.
    std::fs::rename(of_xdg, project.base().join("more")).unwrap();
    let more = project.base().join("more").display().to_string();
    let of = |root: &str| format!("[includeIf \"gitdir:{root}/\"]\n\tpath = {more}\n");
    write_beside(
        &project,
        "home/.gitconfig",
        &of(&project.root().display().to_string()),
    );
    assert_eq!(changed("cd ..;"), 0);
    // From one that is not there any more.
    assert_eq!(changed("mkdir gone; cd gone; rmdir ../gone;"), 0);
    write_beside(&project, "home/.gitconfig", &of("/elsewhere"));
    assert_eq!(changed(""), 1);
}

#[test]
fn what_a_user_says_for_one_repository_holds_in_the_work_tree_that_is_made_of_it() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    commit(&project);
    let more = write_beside(&project, "more", "[core]\n\tautocrlf = true\n");
    let root = project.root().display();
    let include = format!("[includeIf \"gitdir:{root}/\"]\n\tpath = {more}\n");
    write_beside(&project, "home/.gitconfig", &include);
    let _daemon = project.daemon();
    both(&project, "grep one a.txt");
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let runs = evidence(&project);
    let tree = |at: usize| &runs[at]["artifact"]["verified"]["tree"]["tree"];
    assert_eq!(report["gates"][1]["ok"], true, "{report}");
    assert!(tree(0).is_string(), "{}", runs[0]);
    assert_eq!(tree(0), tree(1));
}

#[test]
fn what_git_lfs_keeps_is_read_in_its_older_words_and_without_it_the_repository_is_read_too() {
    let project = Project::new();
    let clean = "#!/bin/sh\ncat >/dev/null\necho pointer\n";
    write_program(&project.bin().join("git-lfs"), clean);
    let filter = |clean: &str| {
        let text = format!("[filter \"lfs\"]\n\tclean = {clean}\n\trequired = true\n");
        write_beside(&project, "home/.gitconfig", &text);
    };
    filter("git-lfs clean %f");
    project.write(".gitattributes", "*.bin filter=lfs\n");
    project.write("large.bin", "what is large\n");
    commit(&project);
    let _daemon = project.daemon();
    for clean in ["git-lfs clean %f", "git lfs clean -- %f"] {
        filter(clean);
        let told = git_told(&project, "");
        assert_eq!(told["changed"], 0, "{clean}: {told}");
    }
    filter("my-own-lfs %f");
    let told = git_told(&project, "");
    assert_eq!(told["files"], json!(["large.bin"]), "{told}");
}
