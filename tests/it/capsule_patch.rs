//! Which files a patch takes along, and which it does not, as the operator is told.

use std::fs;

use serde_json::{Value, json};

use crate::capsule::{clone_of, done, from_base64, imported, in_terminal, listed};
use crate::support::project::Project;

/// Opens a task in a project.
fn task(project: &Project) -> String {
    done(project, &["new", "Fix the login"]);
    listed(project)[0]["id"].as_str().unwrap().to_owned()
}

/// Exports with a patch; the file's path, what was said and the file's value.
#[track_caller]
fn with_patch(project: &Project, id: &str) -> (String, String, Value) {
    let out = project.base().join("login.ctxcapsule.json");
    let file = out.to_str().unwrap().to_owned();
    let args = ["export", id, "--force", "--patch", "-o", &file];
    let (code, screen) = in_terminal(project, &args);
    assert_eq!(code, 0, "{screen}");
    let value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    (file, screen.replace('\n', " "), value)
}

fn patch(capsule: &Value) -> String {
    from_base64(capsule["patch"]["data"].as_str().unwrap())
}

#[test]
fn a_file_that_a_filter_encrypts_is_named_and_does_not_go_along() {
    let project = Project::live();
    let id = task(&project);
    // As a tool that was unlocked here has it, and one that is set up for the user.
    project.git(&["config", "filter.locked.clean", "tr a-z n-za-m"]);
    project.git(&["config", "--global", "filter.users.clean", "tr a-z n-za-m"]);
    let attributes = "*.locked filter=locked\n*.users filter=users\n";
    project.write(".gitattributes", attributes);
    for name in ["a.locked", "b.users"] {
        project.write(name, "plaintext\n");
    }
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "encrypted"]);
    assert_eq!(project.git(&["status", "--short"]), "");
    project.write("README.md", "# Later\n");
    project.write("b.users", "plaintext\nplaintext\n");
    let (_, said, capsule) = with_patch(&project, &id);
    let patch = patch(&capsule);
    assert!(patch.contains("# Later"), "{patch}");
    for text in ["plaintext", "cynvagrkg"] {
        assert!(!patch.contains(text), "{patch}");
    }
    let left = "2 files are left out that a filter of git rewrites, which is not run \
                (a.locked, b.users)";
    assert!(said.contains(left), "{said}");
    assert!(said.contains("with a patch of 1 file"), "{said}");
}

#[test]
fn what_a_person_keeps_for_this_clone_alone_is_named_and_does_not_go_along() {
    let project = Project::live();
    let id = task(&project);
    project.git(&["update-index", "--skip-worktree", "README.md"]);
    project.write("README.md", "# Mine\n");
    let (_, said, capsule) = with_patch(&project, &id);
    assert!(capsule["patch"].is_null(), "{capsule}");
    let left = "1 file is left out that git is told to pass over in this clone (README.md)";
    assert!(said.contains(left), "{said}");
}

#[test]
fn what_becomes_of_each_file_is_told_where_it_goes_out_and_where_it_arrives() {
    let project = Project::live();
    let id = task(&project);
    project.write("gone.rs", "gone\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "before"]);
    let clone = clone_of(&project);
    let _daemon = clone.daemon();
    project.write("README.md", "# Later\n");
    fs::remove_file(project.root().join("gone.rs")).unwrap();
    project.write("AGENTS.md", "new\n");
    project.git(&["add", "AGENTS.md"]);
    let (file, said, _) = with_patch(&project, &id);
    for told in ["  AGENTS.md  new ", "  README.md ", "  gone.rs  deleted "] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let (_, import) = imported(&clone, &[&file]);
    let files = ["AGENTS.md", "README.md", "gone.rs"];
    let expected = json!({"files": files, "new": ["AGENTS.md"], "deleted": ["gone.rs"],
        "applies": true, "isIn": false});
    assert_eq!(import["patch"], expected);
    let import = clone.run(["capsule", "import", &file]).expect_success();
    for told in [
        "  AGENTS.md  new  an agent or a tool",
        "  gone.rs  deleted\n",
    ] {
        assert!(import.stdout.contains(told), "{told}: {}", import.stdout);
    }
    // Of many the first are named.
    for number in 10..40 {
        let name = format!("new-{number}.rs");
        project.write(&name, "new\n");
        project.git(&["add", &name]);
    }
    let (_, said, _) = with_patch(&project, &id);
    assert!(said.contains("  new-26.rs  new "), "{said}");
    assert!(!said.contains("new-27.rs"), "{said}");
    assert!(said.contains("  and 13 more "), "{said}");
}

#[test]
fn a_patch_of_a_project_that_is_a_folder_of_a_repository_goes_into_no_other_folder() {
    let project = Project::without_git();
    let top = project.base();
    fs::write(
        top.join(".gitignore"),
        "/*\n!/.gitignore\n!/project/\n!/a.rs\n",
    )
    .unwrap();
    fs::write(top.join("a.rs"), "one\n").unwrap();
    project.write("a.rs", "one\n");
    project.write(".contextrelay/config.json", "{}");
    for args in [
        &["init", "-q", "-b", "main", ".."][..],
        &["config", "user.name", "Test"],
        &["config", "user.email", "test@example.invalid"],
        &["add", "a.rs", "../a.rs", "../.gitignore"],
        &["commit", "-qm", "first"],
    ] {
        project.git(args);
    }
    let _daemon = project.daemon();
    let id = task(&project);
    project.write("a.rs", "two\n");
    fs::write(top.join("a.rs"), "beside\n").unwrap();
    let (file, said, capsule) = with_patch(&project, &id);
    assert_eq!(capsule["git"]["folder"], "project");
    let left = "1 file is left out for lying outside of the project's folder";
    assert!(said.contains(left), "{said}");

    // The same file lies at the top, too.
    let clone = Project::without_git();
    clone.git(&["clone", "-q", top.to_str().unwrap(), "."]);
    let (code, told) = imported(&clone, &[&file]);
    assert_eq!(
        (code, &told["patch"]["applies"]),
        (0, &json!(false)),
        "{told}"
    );
    let import = clone.run(["capsule", "import", &file]).expect_success();
    let why = "a patch of 1 file: its project is the folder `project` of the repository, and this one is not";
    assert!(import.stdout.contains(why), "{}", import.stdout);
    assert!(
        import
            .stdout
            .contains("1 file more of its sender's did not come along"),
        "{}",
        import.stdout
    );
}

#[test]
fn where_git_tells_nothing_or_has_no_commit_that_is_why_there_is_no_patch() {
    let project = Project::without_git();
    project.write("a.rs", "one\n");
    let _daemon = project.daemon();
    let id = task(&project);
    let (_, said, _) = with_patch(&project, &id);
    let nothing = "no patch: git tells nothing of this folder";
    assert!(said.contains(nothing), "{said}");
    project.git(&["init", "-q", "-b", "main"]);
    let (_, said, _) = with_patch(&project, &id);
    let none = "no patch: there is no commit that one could be made on";
    assert!(said.contains(none), "{said}");
}
