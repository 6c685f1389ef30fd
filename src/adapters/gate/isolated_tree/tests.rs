use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A repository in `project` with one commit, and room beside it.
struct Rig {
    dir: TempDir,
}

impl Rig {
    fn new() -> Self {
        let rig = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(rig.project()).unwrap();
        rig.git(&["init", "-q", "-b", "main"]);
        rig.write("a.txt", "committed\n");
        rig.commit();
        rig
    }

    fn project(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    fn under(&self) -> PathBuf {
        self.dir.path().join("registry/worktrees/ctx_1")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git_in(&self, folder: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "protocol.file.allow=always",
        ]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
    }

    fn git(&self, args: &[&str]) {
        self.git_in(&self.project(), args);
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "c"]);
    }

    fn make_of(&self, project: &Path) -> Result<IsolatedTree, String> {
        let limit = WaitLimit::until(Instant::now() + Duration::from_secs(60));
        let stands = TreeReading::of(project);
        IsolatedTree::make(project, stands.as_ref(), &self.under(), &limit)
    }

    fn make(&self) -> Result<IsolatedTree, String> {
        self.make_of(&self.project())
    }

    /// Nothing of a work tree is left.
    fn is_swept(&self) -> bool {
        left_behind(&self.under()).is_empty()
    }
}

#[test]
fn it_has_the_commit_and_says_what_it_does_not_have() {
    let rig = Rig::new();
    let clean = TreeReading::of(&rig.project()).unwrap().tree;
    let made = rig.make().unwrap();
    // The very tree of the project, where that has nothing else.
    assert_eq!(made.tree, Some(clean));
    assert_eq!(made.run.gap(), None);
    made.remove();

    rig.write("a.txt", "changed\n");
    rig.write("\u{1b}[2Jb.txt", "new\n");
    let made = rig.make().unwrap();
    assert_eq!(fs::read(made.root.join("a.txt")).unwrap(), b"committed\n");
    assert!(!made.root.join("b.txt").exists());
    assert_eq!(
        made.run.gap().unwrap(),
        r#"2 files ("\u{1b}[2Jb.txt", a.txt)"#
    );
    let mode = made.folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A repository of its own: what is done there is not done to the project.
    rig.git_in(&made.root, &["diff-index", "--quiet", "HEAD"]);
    rig.git_in(&made.root, &["rm", "-q", "a.txt"]);
    rig.git_in(&made.root, &["commit", "-q", "-m", "gone"]);
    rig.git(&["cat-file", "-e", "HEAD:a.txt"]);
    assert!(!rig.project().join(".git/worktrees").exists());
    made.remove();
    assert!(rig.is_swept());
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let rig = Rig::new();
    let ran = rig.dir.path().join("ran");
    let evil = format!("touch {}; cat", ran.display());
    rig.write(".gitattributes", "*.txt filter=evil\n");
    rig.commit();
    for key in ["filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"] {
        rig.git(&["config", key, &evil]);
    }
    let hook = rig.project().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).unwrap();
    // Branches whose names are commands, options or paths. Git reads all but the last two.
    let mut made_of = Vec::new();
    for name in ["$(touch${IFS}ran)", "--orphan", "../../out", "a\u{1b}[2J"] {
        let head = format!("ref: refs/heads/{name}\n");
        let commit = "refs/heads/main";
        let path = rig.project().join(".git/refs/heads").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let hash = fs::read(rig.project().join(".git").join(commit)).unwrap();
        fs::write(path, hash).unwrap();
        fs::write(rig.project().join(".git/HEAD"), head).unwrap();
        if let Ok(made) = rig.make() {
            assert!(made.root.join("a.txt").exists(), "{name}");
            made.remove();
            made_of.push(name);
        }
    }
    assert_eq!(made_of, ["$(touch${IFS}ran)", "--orphan"]);
    assert!(!ran.exists());
    assert!(rig.is_swept());
}

#[test]
fn neither_links_nor_submodules_lead_out_of_it() {
    let rig = Rig::new();
    let outside = rig.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    symlink(&outside, rig.project().join("out")).unwrap();
    let module = rig.dir.path().join("module");
    fs::create_dir(&module).unwrap();
    rig.git_in(&module, &["init", "-q"]);
    rig.git_in(&module, &["commit", "-q", "--allow-empty", "-m", "m"]);
    rig.git(&["submodule", "add", "-q", module.to_str().unwrap(), "below"]);
    rig.commit();
    let clean = TreeReading::of(&rig.project()).unwrap().tree;
    assert_eq!(clean.changed, 0);
    let made = rig.make().unwrap();
    assert_eq!(made.tree, Some(clean));
    assert_eq!(fs::read_dir(made.root.join("below")).unwrap().count(), 0);
    made.remove();
    assert!(outside.join("kept").exists());

    // A project below the top, whose folder is a link in the commit.
    let inner = rig.project().join("inner");
    symlink(&outside, &inner).unwrap();
    rig.commit();
    fs::remove_file(&inner).unwrap();
    fs::create_dir(&inner).unwrap();
    let why = rig.make_of(&inner).unwrap_err();
    assert_eq!(why, "the commit has no folder inner/");
    assert!(rig.is_swept());
}

#[test]
fn a_shallow_clone_is_enough_and_what_is_not_there_is_said() {
    let rig = Rig::new();
    rig.write("a.txt", "later\n");
    rig.commit();
    let clone = rig.dir.path().canonicalize().unwrap().join("clone");
    let url = format!("file://{}", rig.project().display());
    let args = ["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()];
    rig.git_in(rig.dir.path(), &args);
    let made = rig.make_of(&clone).unwrap();
    assert_eq!(fs::read(made.root.join("a.txt")).unwrap(), b"later\n");
    made.remove();

    // A text of the commit is gone.
    let object = Command::new("git")
        .arg("-C")
        .arg(rig.project())
        .args(["rev-parse", "HEAD:a.txt"])
        .output()
        .unwrap();
    let object = String::from_utf8(object.stdout).unwrap();
    let (folder, rest) = object.trim().split_at(2);
    let object = rig.project().join(".git/objects").join(folder).join(rest);
    let kept = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    let stands = TreeReading {
        tree: TreeReading::of(&clone).unwrap().tree,
        differing: Vec::new(),
        changed: None,
    };
    let limit = WaitLimit::until(Instant::now() + Duration::from_secs(60));
    let made = IsolatedTree::make(&rig.project(), Some(&stands), &rig.under(), &limit);
    let why = made.unwrap_err();
    assert!(why.contains("could not be checked out: "), "{why}");
    fs::write(object, kept).unwrap();
    assert!(rig.is_swept());
}

#[test]
fn where_there_can_be_none_it_is_said_why() {
    let rig = Rig::new();
    let empty = rig.dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let why = rig.make_of(&empty).unwrap_err();
    assert_eq!(why, "the project is no git repository that can be read");
    rig.git_in(&empty, &["init", "-q"]);
    let why = rig.make_of(&empty).unwrap_err();
    assert_eq!(why, "the repository has no commit yet");

    let stands = TreeReading::of(&rig.project());
    let limit = WaitLimit::until(Instant::now() + Duration::from_secs(60));
    let within = rig.project().join("state");
    let made = IsolatedTree::make(&rig.project(), stands.as_ref(), &within, &limit);
    assert!(made.unwrap_err().ends_with("lies in the project itself"));
    fs::write(rig.dir.path().join("file"), "").unwrap();
    let no_folder = rig.dir.path().join("file/worktrees");
    let made = IsolatedTree::make(&rig.project(), stands.as_ref(), &no_folder, &limit);
    assert!(made.unwrap_err().contains("Not a directory"));
    limit.end();
    let made = IsolatedTree::make(&rig.project(), stands.as_ref(), &rig.under(), &limit);
    assert!(made.is_err());
    assert!(rig.is_swept());
}

#[test]
fn what_a_crash_left_behind_is_swept_with_folders_that_nobody_may_write() {
    let rig = Rig::new();
    let left = rig.make().unwrap();
    let locked = left.root.join("modules/locked");
    fs::create_dir_all(&locked).unwrap();
    fs::write(locked.join("file"), "").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    let outside = rig.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    symlink(&outside, left.root.join("out")).unwrap();
    let other = rig.under().join("another-one");
    fs::create_dir(&other).unwrap();
    for folder in left_behind(&rig.under()) {
        remove(&folder);
    }
    assert!(rig.is_swept());
    assert!(outside.join("kept").exists() && other.exists());
}
