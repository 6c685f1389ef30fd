use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::Map;

use super::beside::without_credentials;
use super::line_counts::numstat;
use super::*;
use crate::adapters::file_digest::file_digest;
use crate::adapters::files_now::FilesNow;
use crate::adapters::git::now::GitNow;
use crate::adapters::git::work_tree::work_tree;
use crate::adapters::tree_now::tree_now;
use crate::core::capsule::{Capsule, CapsuleTouched, Freshness, TouchOp, TreeNow, patch_files};
use crate::core::id::CapsuleId;

/// Nobody waits.
const PATIENT: GitDeadline = GitDeadline::NONE;

fn run(root: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(root);
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    command.args(["-c", "protocol.file.allow=always"]);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

fn write(root: &Path, path: &str, text: &str) {
    fs::write(root.join(path), text).unwrap();
}

fn commit(root: &Path, message: &str) {
    run(root, &["add", "--all"]);
    run(root, &["commit", "-q", "-m", message]);
}

/// A repository with a commit of two files.
fn repository(root: &Path) {
    fs::create_dir_all(root).unwrap();
    run(root, &["init", "-q", "-b", "main"]);
    write(root, "a.rs", "one\ntwo\n");
    write(root, "b.rs", "one\n");
    commit(root, "first");
}

/// A capsule of now that touched `a.rs`.
fn capsule(root: &Path) -> Capsule {
    let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
    capsule.git = stood(root).map(|(git, _)| git);
    capsule.touched = vec![CapsuleTouched {
        path: "a.rs".to_owned(),
        op: TouchOp::Write,
        sha256: file_digest(root, "a.rs"),
        unread: None,
        masked: None,
        by: "codex".to_owned(),
        added: None,
        removed: None,
        more: Map::new(),
    }];
    capsule
}

/// What is begun before git says where the repository is tells just what is asked for behind that.
fn stood(root: &Path) -> Option<GitStand> {
    let asked = GitAnchor::open(root, PATIENT);
    let tree = asked.as_ref().map(|git| git.look().map(|look| look.tree));
    let ahead = GitAnchor::open_with_look(root, PATIENT);
    assert_eq!(ahead.map(|(_, look)| look.map(|look| look.tree)), tree);
    let stand = asked.map(|git| git.stand());
    let ahead = GitAnchor::open_with_stand(root, PATIENT);
    assert_eq!(ahead.map(|(_, stand)| stand), stand);
    stand.flatten()
}

/// Of one that came from elsewhere.
fn now_elsewhere(capsule: &Capsule, root: &Path) -> TreeNow {
    TreeNow {
        is_ours: false,
        ..now(capsule, root)
    }
}

fn now(capsule: &Capsule, root: &Path) -> TreeNow {
    let place = |path: &str| Some(path.to_owned());
    let git = GitNow::open(root, PATIENT);
    let is_ours = true;
    TreeNow {
        is_ours,
        ..tree_now(
            capsule,
            root,
            &FilesNow::new(root.to_owned()),
            git.as_ref(),
            &place,
        )
    }
}

fn freshness(capsule: &Capsule, root: &Path) -> Freshness {
    capsule.freshness(&now(capsule, root))
}

fn distance(capsule: &Capsule, root: &Path) -> Option<(u64, u64)> {
    now(capsule, root).distance
}

#[test]
fn where_a_work_tree_stands_is_told_with_what_differs() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    assert!(GitAnchor::open(place.path(), PATIENT).is_none());
    repository(root);
    write(root, "a.rs", "one\n2\nthree\n");
    write(root, "c.rs", "new\n");
    let (stand, lines) = GitAnchor::open(root, PATIENT).unwrap().stand().unwrap();
    assert_eq!(stand.branch.as_deref(), Some("main"));
    assert_eq!(stand.changed, 2);
    assert_eq!((stand.diff_stat.added, stand.diff_stat.removed), (3, 1));
    assert_eq!((stand.ahead, stand.remote), (None, None));
    assert_eq!(stand.commit, stand.root);
    let expected = [("a.rs", (2, 1)), ("c.rs", (1, 0))];
    let expected = expected.map(|(path, lines)| (path.to_owned(), lines));
    assert_eq!(lines, BTreeMap::from(expected));
}

#[test]
fn what_git_does_not_know_is_told_with_its_lines_and_copied_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    fs::create_dir(root.join("new")).unwrap();
    write(root, "new/text", "one\n\nthree");
    write(root, "new/empty", "");
    write(root, "new/binary", "one\n\0two\n");
    symlink("/dev/zero", root.join("new/link")).unwrap();
    write(root, "staged \u{1b}\n", "one\n");
    run(root, &["add", "staged \u{1b}\n"]);
    // It takes no room on the disk.
    let dump = fs::File::create(root.join("dump")).unwrap();
    dump.set_len(1 << 27).unwrap();
    let git = GitAnchor::open(root, PATIENT).unwrap();
    let (stand, lines) = git.stand().unwrap();
    assert_eq!(git.stand().unwrap(), (stand.clone(), lines.clone()));
    let names = ["new/text", "new/empty", "new/binary", "new/link"];
    for name in ["dump"].iter().chain(&names) {
        let object = format!(":{name}");
        let listed = line(&mut git.ours(&["ls-files", "--stage", "--", name]));
        assert!(listed.is_some(), "{name}");
        assert_eq!(bytes(&mut git.ours(&["cat-file", "-e", &object])), None);
    }
    assert_eq!(
        names.map(|name| lines[name]),
        [(3, 0), (0, 0), (0, 0), (1, 0)]
    );
    assert_eq!(lines["staged \u{1b}\n"], (1, 0));
    assert_eq!((lines["dump"], stand.changed), ((0, 0), 6));

    // As fine as where it is copied.
    std::os::unix::fs::FileExt::write_at(&dump, b"x", (1 << 27) - 1).unwrap();
    let later = git.stand().unwrap().0;
    assert_ne!(later.tree, stand.tree);
    fs::remove_file(root.join("dump")).unwrap();
    let before = git.stand().unwrap();
    commit(root, "all");
    let after = GitAnchor::open(root, PATIENT).unwrap().stand().unwrap();
    assert_eq!((after.0.tree, after.0.changed), (before.0.tree, 0));
    let known = ["diff", "--numstat", "--no-renames", "-z", "HEAD~1", "HEAD"];
    assert_eq!(
        before.1,
        numstat(&text(super::git(root, PATIENT).args(known)).unwrap())
    );
}

#[test]
fn what_tracked_files_hold_now_is_told_with_its_lines_and_copied_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    // Names that are no plain ones to git, too.
    let many = (0..20).map(|at| format!("file-{at}"));
    let odd = ["*", "[a]", ":(top)b", ":!c", "-d", "e\tf\n", "file-1 x"];
    let names: Vec<String> = many.chain(odd.map(str::to_owned)).collect();
    for name in &names {
        write(root, name, "one\ntwo\n");
    }
    for name in ["gone", "link", "mode", "same", "ends"] {
        write(root, name, "one\ntwo\n");
    }
    write(root, ".gitattributes", "ends text eol=crlf\n");
    for folder in ["linked", "looped"] {
        fs::create_dir(root.join(folder)).unwrap();
        write(root, &format!("{folder}/a"), "one\ntwo\n");
    }
    commit(root, "second");
    for (at, name) in names.iter().enumerate() {
        write(root, name, &format!("one\n{at}\nthree\n"));
    }
    fs::remove_file(root.join("gone")).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    symlink("a.rs", root.join("link")).unwrap();
    fs::rename(root.join("linked"), place.path().join("elsewhere")).unwrap();
    symlink(place.path().join("elsewhere"), root.join("linked")).unwrap();
    // It leads to itself, so that nothing is told of what lay in it.
    fs::remove_dir_all(root.join("looped")).unwrap();
    symlink("looped", root.join("looped")).unwrap();
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    write(root, "ends", "one\r\ntwo\r\nthree\r\n");
    let git = GitAnchor::open(root, PATIENT).unwrap();
    let (stand, lines) = git.stand().unwrap();
    let look = git.look().unwrap();
    assert_eq!(git.stand_at(&look).unwrap(), (stand.clone(), lines.clone()));
    assert_eq!(stood(root).unwrap(), (stand.clone(), lines.clone()));
    let stored = |name: &str| bytes(&mut git.ours(&["cat-file", "-e", &format!(":{name}")]));
    assert_eq!((stored("file-0"), stored("*")), (None, None));
    assert!(stored("same").is_some());
    commit(root, "third");
    let known = ["diff", "--numstat", "--no-renames", "-z", "HEAD~1", "HEAD"];
    let known = numstat(&text(super::git(root, PATIENT).args(known)).unwrap());
    assert_eq!((lines.len(), lines["*"]), (names.len() + 8, (2, 1)));
    assert_eq!(lines, known);
    let after = GitAnchor::open(root, PATIENT).unwrap().stand().unwrap().0;
    assert_eq!((after.tree, after.changed), (stand.tree, 0));
}

#[test]
fn so_many_changed_files_that_no_command_takes_their_names_are_told_with_their_lines() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let name = |at: usize| format!("{at:0>200}");
    for at in 0..200 {
        write(root, &name(at), "one\n");
    }
    commit(root, "second");
    for at in 0..200 {
        write(root, &name(at), "two\n");
    }
    let (stand, lines) = stood(root).unwrap();
    assert_eq!((stand.changed, lines.len()), (200, 200));
    assert!(lines.values().all(|lines| *lines == (1, 1)));
}

#[test]
fn a_repository_behind_a_link_is_told_as_where_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "a.rs", "one\n2\n");
    let link = &place.path().join("link");
    symlink(root, link).unwrap();
    // Its files say another place than git.
    assert_eq!(stood(link), stood(root));
    // A commit that is not there is no reason for another answer.
    let head = root.join(".git/refs/heads/main");
    fs::write(&head, format!("{}\n", "0123456789".repeat(4))).unwrap();
    assert_eq!(stood(root), None);
}

#[test]
fn a_folder_of_a_repository_counts_its_own_files() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("all");
    repository(root);
    let part = root.join("part");
    fs::create_dir(&part).unwrap();
    write(&part, "x.rs", "x\n");
    let (_, lines) = GitAnchor::open(&part, PATIENT).unwrap().stand().unwrap();
    assert_eq!(lines.keys().collect::<Vec<_>>(), ["x.rs"]);
}

#[test]
fn commits_and_changes_since_tell_whether_its_files_were_touched() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let made = capsule(root);
    assert_eq!(freshness(&made, root), Freshness::Fresh);
    write(root, "b.rs", "two\n");
    assert_eq!(freshness(&made, root), Freshness::Moved);
    commit(root, "of another file");
    assert_eq!(freshness(&made, root), Freshness::Moved);
    assert_eq!(distance(&made, root), Some((1, 0)));
    write(root, "a.rs", "changed\n");
    assert_eq!(freshness(&made, root), Freshness::Touched);
    commit(root, "of its file");
    assert_eq!(freshness(&made, root), Freshness::Touched);
    assert_eq!(distance(&made, root), Some((2, 0)));
    // Back to where it was made.
    run(root, &["checkout", "-q", "HEAD~2"]);
    assert_eq!(freshness(&made, root), Freshness::Fresh);
}

#[test]
fn a_file_with_another_name_is_a_changed_one() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let made = capsule(root);
    run(root, &["mv", "a.rs", "z.rs"]);
    commit(root, "rename");
    assert_eq!(freshness(&made, root), Freshness::Touched);
}

#[test]
fn an_amended_or_rebased_commit_diverges() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "c.rs", "x\n");
    commit(root, "second");
    let made = capsule(root);
    write(root, "c.rs", "y\n");
    run(
        root,
        &["commit", "-q", "-a", "--amend", "-m", "second, again"],
    );
    assert_eq!(freshness(&made, root), Freshness::Diverged);
    assert_eq!(distance(&made, root), Some((1, 1)));
    run(root, &["checkout", "-q", "-b", "base", "HEAD~1"]);
    write(root, "d.rs", "x\n");
    commit(root, "beside");
    run(root, &["checkout", "-q", "main"]);
    run(root, &["rebase", "-q", "base"]);
    assert_eq!(freshness(&made, root), Freshness::Diverged);
}

#[test]
fn what_is_done_in_a_submodule_is_a_change_of_the_work_tree() {
    let place = tempfile::tempdir().unwrap();
    let (root, source) = (&place.path().join("shop"), &place.path().join("part"));
    repository(root);
    repository(source);
    let url = source.display().to_string();
    run(root, &["submodule", "--quiet", "add", &url, "part"]);
    commit(root, "with a part");
    let part = &root.join("part");
    let clean = capsule(root);
    assert_eq!(clean.git.as_ref().unwrap().changed, 0);
    assert_eq!(freshness(&clean, root), Freshness::Fresh);

    // Changed there, and committed nowhere.
    write(part, "a.rs", "changed\n");
    assert_eq!(freshness(&clean, root), Freshness::Moved);
    let dirty = capsule(root);
    assert_eq!(dirty.git.as_ref().unwrap().changed, 1);
    assert_eq!(freshness(&dirty, root), Freshness::Fresh);
    // What a gate came to there is a result of this tree.
    let of_gates = work_tree(root).map(|found| found.tree);
    assert_eq!(dirty.git.as_ref().unwrap().tree, of_gates);
    write(part, "new.rs", "new\n");
    assert_eq!(freshness(&dirty, root), Freshness::Moved);

    // Committed there: the submodule is on another commit, and the project is not.
    commit(part, "in the part");
    for before in [&clean, &dirty] {
        assert_eq!(freshness(before, root), Freshness::Moved);
        assert_eq!(distance(before, root), Some((0, 0)));
    }
    let moved = capsule(root);
    assert_eq!(moved.git.as_ref().unwrap().changed, 1);
    commit(root, "the part goes on");
    assert_eq!(freshness(&moved, root), Freshness::Fresh);
    assert_eq!(freshness(&clean, root), Freshness::Moved);
    assert_eq!(distance(&clean, root), Some((1, 0)));

    // A file of the task's that lies in it.
    let mut inside = capsule(root);
    inside.touched[0].path = "part/a.rs".to_owned();
    inside.touched[0].sha256 = file_digest(root, "part/a.rs");
    assert_eq!(freshness(&inside, root), Freshness::Fresh);
    write(part, "a.rs", "changed again\n");
    assert_eq!(freshness(&inside, root), Freshness::Touched);

    // Not checked out: it is as its commit says.
    run(root, &["submodule", "--quiet", "deinit", "--force", "part"]);
    assert_eq!(freshness(&moved, root), Freshness::Fresh);
}

#[test]
fn in_another_clone_it_is_unknown_until_its_commit_is_fetched() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let url = root.display().to_string();
    run(place.path(), &["clone", "-q", &url, "clone"]);
    let clone = &place.path().join("clone");
    let made = capsule(root);
    assert_eq!(freshness(&made, clone), Freshness::Fresh);
    write(root, "b.rs", "later\n");
    commit(root, "later");
    let later = capsule(root);
    assert_eq!(freshness(&later, clone), Freshness::Unknown);
    run(clone, &["fetch", "-q"]);
    assert_eq!(freshness(&later, clone), Freshness::Moved);
    assert_eq!(distance(&later, clone), Some((0, 1)));
    let stand = GitAnchor::open(clone, PATIENT).unwrap().stand().unwrap().0;
    assert_eq!((stand.ahead, stand.behind), (Some(0), Some(1)));
    assert_eq!(stand.remote.as_deref(), Some(url.as_str()));
    run(clone, &["merge", "-q", "--ff-only", "origin/main"]);
    assert_eq!(freshness(&later, clone), Freshness::Fresh);
}

#[test]
fn what_a_shallow_clone_does_not_have_is_unknown() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let made = capsule(root);
    for number in 0..3 {
        write(root, "b.rs", &format!("{number}\n"));
        commit(root, "more");
    }
    let url = format!("file://{}", root.display());
    run(
        place.path(),
        &["clone", "-q", "--depth", "1", &url, "shallow"],
    );
    let shallow = &place.path().join("shallow");
    assert_eq!(freshness(&made, shallow), Freshness::Unknown);
    let there = capsule(shallow);
    assert_eq!(there.git.as_ref().unwrap().root, None);
    assert_eq!(freshness(&there, shallow), Freshness::Fresh);
    write(shallow, "b.rs", "here\n");
    commit(shallow, "here");
    assert_eq!(freshness(&there, shallow), Freshness::Moved);
}

#[test]
fn a_work_tree_beside_and_a_detached_head_are_of_the_same_repository() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let made = capsule(root);
    run(
        root,
        &["worktree", "add", "-q", "../beside", "-b", "beside"],
    );
    let beside = &place.path().join("beside");
    assert_eq!(freshness(&made, beside), Freshness::Fresh);
    run(beside, &["checkout", "-q", "--detach"]);
    let detached = capsule(beside);
    assert_eq!(detached.git.as_ref().unwrap().branch, None);
    write(beside, "a.rs", "x\n");
    commit(beside, "beside");
    assert_eq!(freshness(&detached, beside), Freshness::Touched);
    assert_eq!(freshness(&detached, root), Freshness::Fresh);
}

#[test]
fn a_branch_without_a_commit_and_a_folder_without_git_have_their_files() {
    let place = tempfile::tempdir().unwrap();
    let unborn = &place.path().join("unborn");
    fs::create_dir(unborn).unwrap();
    run(unborn, &["init", "-q", "-b", "main"]);
    write(unborn, "a.rs", "one\n");
    let made = capsule(unborn);
    let git = made.git.as_ref().unwrap();
    assert_eq!((git.commit.as_ref(), git.changed), (None, 1));
    assert_eq!(freshness(&made, unborn), Freshness::Fresh);
    write(unborn, "b.rs", "one\n");
    assert_eq!(freshness(&made, unborn), Freshness::Moved);
    write(unborn, "a.rs", "two\n");
    assert_eq!(freshness(&made, unborn), Freshness::Touched);

    let plain = &place.path().join("plain");
    fs::create_dir(plain).unwrap();
    write(plain, "a.rs", "one\n");
    let made = capsule(plain);
    assert_eq!(made.git, None);
    assert_eq!(freshness(&made, plain), Freshness::Moved);
    // Its file is there too; that is no word for all the rest.
    write(unborn, "a.rs", "one\n");
    assert_eq!(freshness(&made, unborn), Freshness::Unknown);
    fs::remove_file(plain.join("a.rs")).unwrap();
    assert_eq!(freshness(&made, plain), Freshness::Touched);
    // What was made with git is not told by files alone.
    assert_eq!(freshness(&capsule(unborn), plain), Freshness::Unknown);
}

#[test]
fn another_repository_is_foreign() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = (&place.path().join("one"), &place.path().join("other"));
    repository(one);
    fs::create_dir(other).unwrap();
    run(other, &["init", "-q"]);
    write(other, "a.rs", "something else\n");
    commit(other, "another first");
    assert_eq!(freshness(&capsule(one), other), Freshness::Foreign);
    // Nor does one without a commit belong to any repository.
    let unborn = &place.path().join("unborn");
    fs::create_dir(unborn).unwrap();
    run(unborn, &["init", "-q"]);
    write(unborn, "a.rs", "something else\n");
    write(unborn, "b.rs", "beside\n");
    let made = capsule(unborn);
    let held = |made: &Capsule| made.freshness(&now_elsewhere(made, other));
    assert_eq!(held(&made), Freshness::Unknown);
    let url = |root: &Path, url: &str| run(root, &["config", "remote.origin.url", url]);
    url(unborn, "https://a.example/one");
    url(other, "https://a.example/other");
    assert_eq!(held(&capsule(unborn)), Freshness::Foreign);
    url(other, "https://a.example/one");
    assert_eq!(held(&capsule(unborn)), Freshness::Moved);
}

#[test]
fn the_address_is_that_of_origin_wherever_its_name_stands_among_the_others() {
    let place = tempfile::tempdir().unwrap();
    for beside in ["fork", "upstream"] {
        let root = &place.path().join(beside);
        repository(root);
        let remote = || capsule(root).git.unwrap().remote;
        let add = |name: &str, url: &str| {
            let key = format!("remote.{name}.url");
            run(root, &["config", "--add", &key, url]);
        };
        add(beside, "https://a.example/beside");
        assert_eq!(remote().as_deref(), Some("https://a.example/beside"));
        add("origin", "https://a.example/first");
        add("origin", "https://a.example/second");
        assert_eq!(remote().as_deref(), Some("https://a.example/first"));
        run(root, &["config", "branch.main.remote", beside]);
        assert_eq!(remote().as_deref(), Some("https://a.example/beside"));
        run(root, &["config", "branch.main.remote", "."]);
        assert_eq!(remote().as_deref(), Some("https://a.example/first"));
        run(root, &["config", "--unset", "branch.main.remote"]);
        run(root, &["remote", "rename", "origin", "third"]);
        assert_eq!(remote(), None, "none of several is the one");
    }
}

#[test]
fn a_repository_of_sha_256_is_told_as_any_other() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    fs::create_dir(root).unwrap();
    run(
        root,
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    write(root, "a.rs", "one\n");
    commit(root, "first");
    // Beyond what git hashes itself.
    let dump = fs::File::create(root.join("dump")).unwrap();
    dump.set_len(1 << 26).unwrap();
    let made = capsule(root);
    let git = made.git.as_ref().unwrap();
    assert_eq!(git.commit.as_ref().map(String::len), Some(64));
    assert_eq!(git.tree, work_tree(root).map(|found| found.tree));
    assert_eq!(git.changed, 1);
    assert_eq!(freshness(&made, root), Freshness::Fresh);
    write(root, "b.rs", "two\n");
    assert_eq!(freshness(&made, root), Freshness::Moved);
    write(root, "a.rs", "two\n");
    assert_eq!(freshness(&made, root), Freshness::Touched);
}

#[test]
fn a_repository_of_which_git_does_not_tell_is_not_none() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let (made, mut bare) = (capsule(root), capsule(root));
    bare.git = None;
    // Of a later version than any git knows.
    run(root, &["config", "core.repositoryFormatVersion", "9"]);
    let silent = now(&made, root);
    assert_eq!((silent.has_repository, silent.is_git), (true, false));
    for made in [&made, &bare] {
        assert_eq!(freshness(made, root), Freshness::Unknown);
    }
    fs::remove_dir_all(root.join(".git")).unwrap();
    assert!(!now(&made, root).has_repository);
    assert_eq!(freshness(&made, root), Freshness::Unknown);
    assert_eq!(freshness(&bare, root), Freshness::Moved);
}

#[test]
fn the_same_tree_says_nothing_of_files_that_git_ignores() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, ".gitignore", "ignored*\n");
    write(root, "ignored", "one\n");
    commit(root, "second");
    let touching = |path: &str| {
        let mut made = capsule(root);
        made.touched[0].path = path.to_owned();
        made.touched[0].sha256 = file_digest(root, path);
        made
    };
    let made = touching("ignored");
    assert_eq!(freshness(&made, root), Freshness::Fresh);
    write(root, "ignored", "two\n");
    assert_eq!(freshness(&made, root), Freshness::Touched);
    // Too long to be hashed: the tree stands for it only where git knows it.
    let long = |path: &str| {
        let file = fs::File::create(root.join(path)).unwrap();
        file.set_len(1 << 26).unwrap();
    };
    for (path, expected) in [
        ("ignored dump", Freshness::Unknown),
        ("dump", Freshness::Fresh),
    ] {
        long(path);
        let mut made = touching(path);
        assert_eq!(freshness(&made, root), expected, "{path}");
        let uncompared = now(&made, root).uncompared.into_iter();
        let uncompared = uncompared.map(|file| (file.path, file.is_masked));
        assert_eq!(uncompared.collect::<Vec<_>>(), [(path.to_owned(), false)]);
        // By now it is gone.
        fs::remove_file(root.join(path)).unwrap();
        made.touched[0].unread = Some(true);
        assert_eq!(freshness(&made, root), Freshness::Touched, "{path}");
    }
    long("dump");
    let made = touching("dump");
    write(root, "b.rs", "another\n");
    assert_eq!(freshness(&made, root), Freshness::Unknown);
    assert_eq!(freshness(&touching("gone"), root), Freshness::Fresh);
}

#[test]
fn nothing_that_a_capsule_or_a_repository_names_is_run() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let ran = root.join("ran");
    let evil = format!("touch {}; cat", ran.display());
    write(root, ".gitattributes", "*.rs filter=evil\n");
    run(root, &["config", "filter.evil.clean", &evil]);
    run(root, &["config", "core.fsmonitor", &evil]);
    // An upstream whose commit is not here, and a program to fetch it with.
    let refs = root.join(".git/refs/remotes/origin");
    fs::create_dir_all(&refs).unwrap();
    fs::write(refs.join("main"), format!("{}\n", "12345678".repeat(5))).unwrap();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://a.example/r"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("protocol.ssh.allow", "always"),
        ("core.sshCommand", &evil),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
    ] {
        run(root, &["config", key, value]);
    }
    let mut made = capsule(root);
    assert_eq!(made.git.as_ref().unwrap().ahead, None);
    made.git.as_mut().unwrap().commit = Some(format!("--upload-pack={evil}"));
    made.git.as_mut().unwrap().root = Some("--output=ran".to_owned());
    made.git.as_mut().unwrap().tree = None;
    assert_eq!(freshness(&made, root), Freshness::Foreign);
    assert!(!ran.exists() && !root.join("ran").exists());
}

/// Where a work tree stands; gates see the same tree.
fn stands(root: &Path) -> GitStand {
    let seen = stood(root).unwrap();
    assert_eq!(seen.0.tree, work_tree(root).map(|tree| tree.tree));
    seen
}

#[test]
fn no_change_is_hidden() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "run.sh", "true\n");
    write(root, "c.log", "1\n");
    commit(root, "second");
    let clean = stands(root);
    let mut trees = vec![clean.0.tree.clone()];
    let mut differs = |what: &str| {
        let now = stands(root).0.tree;
        assert!(!trees.contains(&now), "{what}");
        trees.push(now);
    };
    // As long as before, and written when it was.
    let written = root.join("a.rs").metadata().unwrap().modified().unwrap();
    write(root, "a.rs", "one\nTWO\n");
    let file = fs::File::options()
        .append(true)
        .open(root.join("a.rs"))
        .unwrap();
    file.set_modified(written).unwrap();
    differs("the content");
    // What the project's own index claims of a file is not believed.
    run(root, &["update-index", "--assume-unchanged", "b.rs"]);
    write(root, "b.rs", "another\n");
    differs("a file that git was told not to look at");
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    differs("the mode");
    fs::remove_file(root.join("c.log")).unwrap();
    differs("a file that is gone");
    write(root, "new.rs", "new\n");
    differs("a new file");
    // Ignored, it is known nevertheless: the commit has it.
    write(root, ".gitignore", "*.log\n");
    write(root, "c.log", "1\n");
    differs("one that is there again");
    write(root, ".gitattributes", "*.rs text eol=crlf\n");
    differs("how files are read");
    run(root, &["update-index", "--no-assume-unchanged", "b.rs"]);
    commit(root, "third");
    assert_eq!(stands(root).0.changed, 0);
}

#[test]
fn files_folders_and_links_in_each_others_place_are_as_git_adds_them() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    for path in ["was/file", "gone/a", "gone/b", "kept", "linked/a"] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "1\n").unwrap();
    }
    commit(root, "second");
    fs::remove_dir_all(root.join("was")).unwrap();
    write(root, "was", "a file\n");
    fs::remove_dir_all(root.join("gone")).unwrap();
    fs::remove_file(root.join("kept")).unwrap();
    fs::create_dir(root.join("kept")).unwrap();
    write(root, "kept/now", "in a folder\n");
    fs::rename(root.join("linked"), place.path().join("elsewhere")).unwrap();
    symlink(place.path().join("elsewhere"), root.join("linked")).unwrap();
    let seen = stands(root).0.tree;
    run(root, &["add", "--all"]);
    let added = Command::new("git")
        .arg("-C")
        .arg(root)
        .arg("write-tree")
        .output()
        .unwrap();
    assert_eq!(
        seen.as_deref(),
        Some(String::from_utf8(added.stdout).unwrap().trim())
    );
}

/// Changes in which a file and a folder took each other's place, twice, all of them in the index, with
/// the project beside it that is on the same commit.
fn swapped(place: &Path) -> (PathBuf, PathBuf) {
    let (root, clone) = (place.join("shop"), place.join("clone"));
    repository(&root);
    fs::create_dir_all(root.join("was/deep")).unwrap();
    for path in ["was/deep/file", "was/beside", "kept", ".gitattributes"] {
        write(&root, path, "");
    }
    commit(&root, "second");
    run(
        place,
        &["clone", "-q", &root.display().to_string(), "clone"],
    );
    fs::remove_dir_all(root.join("was")).unwrap();
    write(&root, "was", "a file\n");
    fs::remove_file(root.join("kept")).unwrap();
    fs::create_dir_all(root.join("kept/now")).unwrap();
    write(&root, "kept/now/a", "in a folder\n");
    write(&root, "a.rs", "changed\n");
    run(&root, &["add", "--all"]);
    (root, clone)
}

/// Git told everything, and does not know so many files.
fn all_told(unknown: u64) -> ToldChanges {
    ToldChanges {
        unknown,
        knows_excluded: true,
        is_all: true,
        outside: 0,
    }
}

/// All that differs in a work tree as one patch.
fn patch_of(root: &Path) -> Vec<u8> {
    let mut patch = Vec::new();
    let told = GitAnchor::open(root, PATIENT)
        .unwrap()
        .tracked_changes(|change| {
            let content = change.content.unwrap();
            // Of no other file: only these sides were looked at for what is masked.
            assert_eq!(patch_files(&content.diff), Ok(vec![change.path]));
            patch.extend(content.diff);
        });
    assert_eq!(told, Some(all_told(0)));
    patch
}

#[test]
fn a_file_and_a_folder_in_each_others_place_are_each_told_once() {
    let place = tempfile::tempdir().unwrap();
    let (root, _) = swapped(place.path());
    let mut files = patch_files(&patch_of(&root)).unwrap();
    files.sort();
    let expected = [
        "a.rs",
        "kept",
        "kept/now/a",
        "was",
        "was/beside",
        "was/deep/file",
    ];
    assert_eq!(files, expected);
}

#[test]
fn a_patch_puts_files_and_folders_in_each_others_place_or_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (root, clone) = swapped(place.path());
    let patch = patch_of(&root);
    // It is read for each of the files.
    let read_only = fs::Permissions::from_mode(0o444);
    fs::set_permissions(clone.join(".gitattributes"), read_only).unwrap();
    let git = GitAnchor::open(&clone, PATIENT).unwrap();
    let base = git.commit().unwrap();
    assert_eq!(git.patch_fit(base, None, &patch), PatchFit::Applies);
    // Something else lies in a folder that is to be a file.
    write(&clone, "was/deep/mine", "mine\n");
    assert!(matches!(git.put_in(&patch), Err(PutInFault::Refused)));
    assert!(clone.join("was/beside").exists() && clone.join("kept").is_file());
    fs::remove_file(clone.join("was/deep/mine")).unwrap();
    // One that was killed left a file, and another one is at work.
    for (name, age) in [("Ab12cd", 3_600), ("Ef34gh", 1)] {
        let left = fs::File::create(clone.join(format!(".ctxrelay-patch-{name}"))).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        left.set_modified(then).unwrap();
    }
    git.put_in(&patch).unwrap();
    let left = ["Ab12cd", "Ef34gh"].map(|it| clone.join(format!(".ctxrelay-patch-{it}")).exists());
    assert_eq!(left, [false, true]);
    for path in ["was", "kept/now/a", "a.rs", "b.rs"] {
        let read = |root: &Path| fs::read_to_string(root.join(path)).unwrap();
        assert_eq!(read(&clone), read(&root), "{path}");
    }
}

#[test]
fn what_only_this_clone_leaves_out_is_in_no_patch_s_count_and_a_moved_submodule_is() {
    let place = tempfile::tempdir().unwrap();
    let (root, inner) = (&place.path().join("shop"), &place.path().join("inner"));
    repository(root);
    repository(inner);
    run(
        root,
        &["submodule", "add", "-q", inner.to_str().unwrap(), "lib"],
    );
    commit(root, "with it");
    write(root, ".git/info/exclude", "build/\n*.log\n");
    fs::create_dir_all(root.join("build")).unwrap();
    write(root, "build/x", "x\n");
    write(root, "a.log", "x\n");
    write(root, "mine", "x\n");
    let told = || {
        let mut left = Vec::new();
        let git = GitAnchor::open(root, PATIENT).unwrap();
        let unknown = git.tracked_changes(|change| {
            left.extend(change.content.is_err().then_some(change.path));
        });
        (unknown, left)
    };
    assert_eq!(told(), (Some(all_told(1)), Vec::new()));
    write(&root.join("lib"), "a.rs", "later\n");
    commit(&root.join("lib"), "later");
    assert_eq!(told(), (Some(all_told(1)), vec!["lib".to_owned()]));
    // What cannot be read is not known, and so it is counted.
    let exclude = root.join(".git/info/exclude");
    fs::rename(&exclude, root.join(".git/info/other")).unwrap();
    symlink("other", &exclude).unwrap();
    let not_known = ToldChanges {
        knows_excluded: false,
        ..all_told(3)
    };
    assert_eq!(told(), (Some(not_known), vec!["lib".to_owned()]));
    fs::remove_file(&exclude).unwrap();
    assert_eq!(told(), (Some(all_told(3)), vec!["lib".to_owned()]));
}

#[test]
fn a_name_that_is_no_utf_8_takes_no_other_file_out_of_a_patch() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let odd = OsStr::from_bytes(b"caf\xe9");
    fs::write(root.join(odd), "before\n").unwrap();
    write(root, "z.rs", "before\n");
    commit(root, "with it");
    fs::write(root.join(odd), "after\n").unwrap();
    write(root, "z.rs", "after\n");
    let mut seen = Vec::new();
    let git = GitAnchor::open(root, PATIENT).unwrap();
    let told = git.tracked_changes(|change| seen.push((change.path, change.content.is_ok())));
    assert_eq!(told, Some(all_told(0)));
    let expected = [("caf\u{fffd}", false), ("z.rs", true)];
    assert_eq!(seen, expected.map(|(path, is)| (path.to_owned(), is)));
}

/// What differs in a work tree: the files that go into a patch, those that do not, and the patch.
fn changes(root: &Path) -> (Vec<String>, Vec<(String, NotInPatch)>, Vec<u8>) {
    let (mut going, mut left, mut patch) = (Vec::new(), Vec::new(), Vec::new());
    let git = GitAnchor::open(root, PATIENT).unwrap();
    let told = git.tracked_changes(|change| match change.content {
        Ok(content) => {
            going.push(change.path);
            patch.extend(content.diff);
        }
        Err(why) => left.push((change.path, why)),
    });
    assert!(told.is_some_and(|told| told.is_all));
    (going, left, patch)
}

fn fit(root: &Path, folder: Option<&str>, patch: &[u8]) -> PatchFit {
    let git = GitAnchor::open(root, PATIENT).unwrap();
    git.patch_fit(git.commit().unwrap(), folder, patch)
}

#[test]
fn a_file_that_a_filter_of_this_clone_encrypts_is_in_no_patch() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    let ran = place.path().join("ran");
    let clean = |also: &str| format!("{also}tr a-z n-za-m");
    for filter in ["crypt", "unseen", "fast.er"] {
        run(
            root,
            &["config", &format!("filter.{filter}.clean"), &clean("")],
        );
    }
    write(
        root,
        ".gitattributes",
        "*.key filter=crypt\nfast.er filter=fast.er\n*.rs -filter\n",
    );
    // Only this clone knows of it.
    fs::create_dir_all(root.join(".git/info")).unwrap();
    write(root, ".git/info/attributes", "*.own filter=unseen\n");
    let secrets = ["a.key", "b.own", "fast.er"];
    for name in secrets {
        write(root, name, "plaintext\n");
    }
    commit(root, "encrypted");
    let stored = ["grep", "-c", "cynvagrkg", "HEAD", "--"];
    let stored = text(git(root, PATIENT).args(stored)).unwrap();
    assert_eq!(stored.lines().count(), 3, "{stored}");
    let evil = clean(&format!("touch {}; ", ran.display()));
    run(root, &["config", "filter.crypt.clean", &evil]);
    write(root, "a.rs", "changed\n");
    let (going, left, patch) = changes(root);
    assert_eq!(going, ["a.rs"]);
    let expected = secrets.map(|name| (name.to_owned(), NotInPatch::Filtered));
    assert_eq!(left, expected);
    assert!(!String::from_utf8_lossy(&patch).contains("plaintext"));
    // Nor is it in the way of another patch.
    write(root, "a.rs", "one\ntwo\n");
    assert_eq!(fit(root, None, &patch), PatchFit::Applies);
    assert!(!ran.exists(), "it was run");
    // A new one neither.
    write(root, "new.key", "plaintext\n");
    run(root, &["add", "--intent-to-add", "new.key"]);
    let new = ("new.key".to_owned(), NotInPatch::Filtered);
    assert!(changes(root).1.contains(&new));
}

#[test]
fn what_is_not_there_in_a_sparse_checkout_is_deleted_by_no_patch_and_in_the_way_of_none() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    for folder in ["near", "far"] {
        fs::create_dir(root.join(folder)).unwrap();
        write(root, &format!("{folder}/a.rs"), "one\n");
        write(root, &format!("{folder}/b.rs"), "one\n");
    }
    commit(root, "second");
    run(root, &["sparse-checkout", "set", "near"]);
    assert!(!root.join("far").exists());
    write(root, "near/a.rs", "two\n");
    fs::remove_file(root.join("near/b.rs")).unwrap();
    let (going, left, patch) = changes(root);
    assert_eq!(
        (going.as_slice(), left),
        (
            &["near/a.rs".to_owned(), "near/b.rs".to_owned()][..],
            Vec::new()
        )
    );
    run(root, &["checkout", "-q", "near"]);
    assert_eq!(fit(root, None, &patch), PatchFit::Applies);
    // It changes a file that is not there.
    let far = String::from_utf8(patch).unwrap().replace("near/", "far/");
    assert_eq!(fit(root, None, far.as_bytes()), PatchFit::Refused);
}

#[test]
fn what_git_is_told_to_pass_over_is_in_no_patch_and_what_lies_there_is_changed_by_none() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "c.rs", "one\n");
    commit(root, "second");
    write(root, "c.rs", "two\n");
    let (_, _, patch) = changes(root);
    let b = String::from_utf8(patch.clone())
        .unwrap()
        .replace("c.rs", "b.rs");
    for how in ["skip-worktree", "assume-unchanged"] {
        write(root, "b.rs", "one\nmy own\n");
        run(root, &["update-index", &format!("--{how}"), "b.rs"]);
        write(root, "c.rs", "two\n");
        let (going, left, _) = changes(root);
        assert_eq!(going, ["c.rs"], "{how}");
        assert_eq!(left, [("b.rs".to_owned(), NotInPatch::PassedOver)], "{how}");
        write(root, "c.rs", "one\n");
        assert_eq!(fit(root, None, &patch), PatchFit::Applies, "{how}");
        assert_eq!(fit(root, None, b.as_bytes()), PatchFit::Dirty, "{how}");
        fs::remove_file(root.join("b.rs")).unwrap();
        assert_eq!(changes(root).1, [], "{how}");
        run(root, &["update-index", &format!("--no-{how}"), "b.rs"]);
    }
    assert_eq!(changes(root).0, ["b.rs"], "git sees it again");
}

#[test]
fn a_patch_of_a_folder_of_a_repository_goes_into_that_folder_alone_and_counts_what_is_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("all");
    repository(root);
    for folder in ["part", "other"] {
        fs::create_dir(root.join(folder)).unwrap();
        write(root, &format!("{folder}/a.rs"), "one\ntwo\n");
    }
    commit(root, "second");
    let part = &root.join("part");
    write(part, "a.rs", "one\n2\n");
    write(root, "b.rs", "beside\n");
    write(root, "other/new.rs", "beside\n");
    run(root, &["add", "other/new.rs"]);
    let mut patch = Vec::new();
    let git = GitAnchor::open(part, PATIENT).unwrap();
    let told = git.tracked_changes(|change| {
        assert_eq!(change.path, "a.rs");
        patch.extend(change.content.unwrap().diff);
    });
    let outside = ToldChanges {
        outside: 2,
        ..all_told(0)
    };
    assert_eq!(told, Some(outside));
    let folder = git.stand().unwrap().0.folder;
    assert_eq!(folder.as_deref(), Some("part"));
    assert_eq!(stood(root).unwrap().0.folder, None);
    run(root, &["reset", "-q", "--hard"]);
    assert_eq!(fit(part, Some("part"), &patch), PatchFit::Applies);
    // The same file lies there too, and would be taken for it.
    for elsewhere in [root, &root.join("other")] {
        assert_eq!(fit(elsewhere, Some("part"), &patch), PatchFit::OtherFolder);
    }
    assert_eq!(fit(part, None, &patch), PatchFit::OtherFolder);
}

#[test]
fn a_patch_that_is_in_already_is_known_also_once_it_is_committed() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "new.rs", "new\n");
    run(root, &["add", "new.rs"]);
    write(root, "a.rs", "one\n2\n");
    fs::remove_file(root.join("b.rs")).unwrap();
    let (_, _, patch) = changes(root);
    let git = GitAnchor::open(root, PATIENT).unwrap();
    let base = git.commit().unwrap();
    let fit = |patch: &[u8]| {
        GitAnchor::open(root, PATIENT)
            .unwrap()
            .patch_fit(base, None, patch)
    };
    assert_eq!(fit(&patch), PatchFit::IsIn);
    write(root, "new.rs", "newer\n");
    assert_eq!(fit(&patch), PatchFit::Dirty, "not all of it");
    write(root, "new.rs", "new\n");
    commit(root, "second");
    assert_eq!(fit(&patch), PatchFit::IsIn);
    write(root, "a.rs", "one\n3\n");
    assert_eq!(fit(&patch), PatchFit::OtherCommit);
}

#[test]
fn a_patch_of_new_files_alone_that_was_put_in_is_known_to_be_in() {
    let place = tempfile::tempdir().unwrap();
    let root = &place.path().join("shop");
    repository(root);
    write(root, "new.rs", "new\n");
    run(root, &["add", "new.rs"]);
    let (_, _, patch) = changes(root);
    assert_eq!(fit(root, None, &patch), PatchFit::IsIn, "staged");
    run(root, &["reset", "-q"]);
    assert_eq!(fit(root, None, &patch), PatchFit::IsIn, "untracked");
    write(root, "new.rs", "another\n");
    assert_eq!(fit(root, None, &patch), PatchFit::Refused);
    fs::remove_file(root.join("new.rs")).unwrap();
    assert_eq!(fit(root, None, &patch), PatchFit::Applies);
}

#[test]
fn nothing_that_a_repository_within_names_is_run() {
    let place = tempfile::tempdir().unwrap();
    let (root, inner) = (&place.path().join("shop"), &place.path().join("inner"));
    repository(root);
    repository(inner);
    let from = inner.to_str().unwrap();
    run(root, &["submodule", "add", "-q", from, "sub"]);
    commit(root, "with it");
    let (sub, ran) = (root.join("sub"), place.path().join("ran"));
    run(
        &sub,
        &[
            "config",
            "filter.evil.clean",
            &format!("touch {}; cat", ran.display()),
        ],
    );
    write(&sub, ".gitattributes", "* filter=evil\n");
    write(&sub, "a.rs", "another\n");
    let seen = GitAnchor::open(root, PATIENT).unwrap().stand();
    assert!(seen.is_some() && work_tree(root).is_some());
    assert!(!ran.exists());
}

#[test]
fn no_address_holds_credentials() {
    for (url, expected) in [
        (
            "https://me:ghp_x@a.example/o/r.git",
            "https://a.example/o/r.git",
        ),
        ("https://token@a.example/o/r?x=y#z", "https://a.example/o/r"),
        ("ssh://git@a.example:22/o/r", "ssh://a.example:22/o/r"),
        ("git@a.example:o/r.git", "a.example:o/r.git"),
        ("https://a.example", "https://a.example"),
        ("../up@x/r.git", "../up@x/r.git"),
    ] {
        assert_eq!(without_credentials(url), expected);
    }
}
