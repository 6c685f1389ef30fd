use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;
use crate::adapters::git::command::{git, line, text};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::untracked::put_in_index;

/// So many files, so deep in folders with long names, that their index is a large one.
const FILES: usize = 500;
const FOLDERS: usize = 5;
const FOLDER_CHARS: usize = 200;

/// A project of many files, and the folder in which what is known of them is kept.
struct Rig {
    project: TempDir,
    base: TempDir,
}

/// What a look came to.
#[derive(Debug, PartialEq)]
struct Look {
    changed: Vec<String>,
    others: Vec<String>,
    tree: String,
}

impl Rig {
    fn new() -> Self {
        let rig = Self {
            project: tempfile::tempdir().unwrap(),
            base: tempfile::tempdir().unwrap(),
        };
        rig.run(&["init", "--quiet"]);
        fs::create_dir_all(rig.path(&Self::name(0)).parent().unwrap()).unwrap();
        for at in 0..FILES {
            fs::write(rig.path(&Self::name(at)), format!("{at:05}\r\n")).unwrap();
        }
        rig.commit();
        rig
    }

    fn run(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.project.path());
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
        git.args(["-c", "core.autocrlf=false"]);
        let status = git.args(args).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "git {args:?}");
    }

    fn commit(&self) {
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "-m", "a"]);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.project.path().join(name)
    }

    /// The path of a file by its number.
    fn name(at: usize) -> String {
        let folder = format!("{}/", "x".repeat(FOLDER_CHARS));
        format!("{}{at:05}", folder.repeat(FOLDERS))
    }

    fn head(&self) -> String {
        let mut git = git(self.project.path(), GitDeadline::NONE);
        line(git.args(["rev-parse", "HEAD"])).unwrap()
    }

    /// The files that are kept, by their names.
    fn kept(&self) -> Vec<String> {
        let user = rustix::process::geteuid().as_raw();
        let folder = self.base.path().join(format!("ctxrelay-looks-{user}"));
        let entries = fs::read_dir(folder).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// The commits of which something is kept.
    fn kept_commits(&self) -> Vec<String> {
        let kept = self.kept().into_iter();
        kept.map(|name| name.split_once('.').unwrap().1.to_owned())
            .collect()
    }

    /// What a look finds that may use what is kept here, and of how many files it knew before it read
    /// any.
    fn look_in(&self, base: &Path) -> (Look, usize) {
        let top = self.project.path();
        let own = OwnRepository::of(top, GitDeadline::NONE).unwrap();
        let ours = |args: &[&str]| own.look_through(top, args);
        let head = self.head();
        let kept = Kept::of(base, top).unwrap();
        let before = CommitIndex::from_kept(&own, top, &head, &kept).map_or(0, |_| {
            let mut listed = ours(&["ls-files", "--debug"]);
            let listed = text(&mut listed).unwrap_or_default();
            let sizes = listed
                .lines()
                .filter_map(|row| row.trim().strip_prefix("size: "));
            sizes.filter(|size| !size.starts_with("0\t")).count()
        });
        let diff = WorkDiff::glance(base, &own, top, &head, Copies::Never).unwrap();
        put_in_index(&diff, &ours, &own, top).unwrap();
        let names = |paths: Vec<&[u8]>| -> Vec<String> {
            let names = paths.into_iter().map(|it| String::from_utf8_lossy(it));
            let last = |name: std::borrow::Cow<'_, str>| name.rsplit('/').next().map(str::to_owned);
            names.filter_map(last).collect()
        };
        let look = Look {
            changed: names(diff.changed().collect()),
            others: names(diff.others().collect()),
            tree: line(&mut ours(&["write-tree", "--missing-ok"])).unwrap(),
        };
        (look, before)
    }

    /// A look finds what one finds that knows nothing; of how many files it knew.
    fn look(&self) -> (Look, usize) {
        let nothing = tempfile::tempdir().unwrap();
        let (anew, none) = self.look_in(nothing.path());
        assert_eq!(none, 0);
        let (look, known) = self.look_in(self.base.path());
        assert_eq!(look, anew);
        (look, known)
    }
}

#[test]
fn a_look_at_many_files_is_kept_and_the_next_one_reads_only_what_was_touched() {
    let rig = Rig::new();
    let (first, known) = rig.look();
    assert_eq!((first.changed.len(), known), (0, 0));
    assert_eq!(rig.kept_commits(), [rig.head()]);
    // As large as it was, and touched at the time that the disk says it was before.
    let path = rig.path(&Rig::name(7));
    let then = path.metadata().unwrap().modified().unwrap();
    fs::write(&path, "7....\r\n").unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(then)
        .unwrap();
    fs::remove_file(rig.path(&Rig::name(8))).unwrap();
    fs::write(rig.path("new"), "1").unwrap();
    let (second, known) = rig.look();
    assert_eq!(known, FILES);
    assert_eq!(
        (second.changed, second.others),
        (vec!["00007".to_owned()], vec!["new".to_owned()])
    );
    assert_ne!(second.tree, first.tree);

    // What it knows goes on with the next commit, in the place of what was there.
    rig.commit();
    let (third, known) = rig.look();
    assert_eq!((third.tree, known), (second.tree, FILES - 2));
    assert_eq!(rig.kept_commits(), [rig.head()]);
    let (_, known) = rig.look();
    // The look before has read the others too where it took long.
    assert!([FILES - 2, FILES].contains(&known), "{known}");
}

#[test]
fn nothing_is_taken_from_files_that_were_hashed_in_another_way() {
    let rig = Rig::new();
    rig.look();
    let before = rig.head();
    fs::write(rig.path(".gitattributes"), "0000* text\n").unwrap();
    let (look, _) = rig.look();
    assert_eq!((look.changed.len(), look.others.len()), (10, 1));
    // And nothing is kept of a look at such a work tree.
    assert_eq!(rig.kept_commits(), [before]);
    rig.run(&["add", ".gitattributes"]);
    rig.run(&["commit", "--quiet", "-m", "b"]);
    let (look, known) = rig.look();
    assert_eq!((look.changed.len(), known), (10, 0));
    assert_eq!(rig.kept_commits(), [rig.head()]);
    fs::write(rig.path(".gitattributes"), "").unwrap();
    let (look, _) = rig.look();
    assert_eq!(look.changed, [".gitattributes"]);
    rig.commit();

    // One that git ignores counts all the same, and what was known before it came counts for nothing.
    rig.look();
    let folder = rig.path(&Rig::name(0)).parent().unwrap().to_owned();
    fs::write(rig.path(".git/info/exclude"), ".gitattributes\n").unwrap();
    fs::write(rig.path(".gitignore"), ".gitattributes\n").unwrap();
    rig.commit();
    let before = rig.head();
    rig.look();
    fs::write(folder.join(".gitattributes"), "0000* text\n").unwrap();
    let (look, _) = rig.look();
    assert_eq!((look.changed.len(), look.others.len()), (10, 0));
    assert_eq!(rig.kept_commits(), [before]);
}

#[test]
fn what_is_no_index_and_a_folder_that_others_can_write_are_not_used() {
    let rig = Rig::new();
    let (first, _) = rig.look();
    let folder = rig
        .base
        .path()
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let file = folder.join(&rig.kept()[0]);
    for text in ["", "DIRC\0\0\0\u{2}\0\0\u{10}\0 cut off"] {
        fs::write(&file, text).unwrap();
        assert_eq!(rig.look().0, first);
        // It took the place of that.
        assert!(file.metadata().unwrap().len() > LARGE_BYTES);
    }
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o770);
    assert_eq!(rig.look(), (first, 0));
    mode(0o700);
    let elsewhere = rig.base.path().join("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    assert_eq!(rig.look().1, 0);
}

#[test]
fn a_second_look_through_the_same_repository_leaves_what_is_kept_as_it_is() {
    let rig = Rig::new();
    let (top, head) = (rig.project.path(), rig.head());
    let own = OwnRepository::of(top, GitDeadline::NONE).unwrap();
    let look = || {
        let never = Copies::Never;
        WorkDiff::glance(rig.base.path(), &own, top, &head, never).unwrap()
    };
    let mut written = Vec::new();
    for _ in 0..3 {
        assert!(look().is_empty());
        let (file, is_of_it) = Kept::of(rig.base.path(), top).unwrap().find(&head).unwrap();
        assert!(is_of_it);
        written.push(file.metadata().unwrap().modified().unwrap());
    }
    written.dedup();
    assert_eq!(written.len(), 1);
    fs::write(rig.path("new"), "1").unwrap();
    assert_eq!(look().others().collect::<Vec<_>>(), [b"new"]);
}

#[test]
fn glances_at_once_are_kept_for_each_other_and_none_disturbs_another() {
    let rig = Rig::new();
    fs::write(rig.path(&Rig::name(7)), "other\r\n").unwrap();
    let (top, head) = (rig.project.path(), rig.head());
    let glances = || {
        for _ in 0..6 {
            let own = OwnRepository::of(top, GitDeadline::NONE).unwrap();
            let base = rig.base.path();
            let diff = WorkDiff::glance(base, &own, top, &head, Copies::Never).unwrap();
            assert_eq!(diff.changed().count(), 1);
            // The next one has to put it there again.
            let kept = Kept::of(base, top).unwrap();
            let _ = fs::remove_file(kept.folder.path().join(format!("{}{head}", kept.prefix)));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(glances);
        }
    });
}

#[test]
fn few_trees_are_kept_and_the_oldest_goes() {
    let base = tempfile::tempdir().unwrap();
    let index = base.path().join("an index");
    let mut of_trees = Vec::new();
    for at in 0..=KEPT_MAX {
        fs::write(&index, "1").unwrap();
        let written = SystemTime::now() - Duration::from_secs(100 - at as u64);
        File::options()
            .write(true)
            .open(&index)
            .unwrap()
            .set_modified(written)
            .unwrap();
        let top = base.path().join(at.to_string());
        fs::create_dir(&top).unwrap();
        let kept = Kept::of(base.path(), &top).unwrap();
        kept.put(&index, "c1").unwrap();
        fs::remove_file(&index).unwrap();
        of_trees.push(kept);
    }
    let found: Vec<bool> = of_trees
        .iter()
        .map(|kept| kept.find("c1").is_some())
        .collect();
    assert_eq!(found[..2], [false, true]);
    assert_eq!(of_trees[1].files().len(), KEPT_MAX);
    // Of one tree that of the last commit alone.
    fs::write(&index, "2").unwrap();
    of_trees[3].put(&index, "c2").unwrap();
    let (path, is_of_it) = of_trees[3].find("c1").unwrap();
    assert!(!is_of_it && path.ends_with(format!("{}c2", of_trees[3].prefix)));
    assert_eq!(of_trees[3].files().len(), KEPT_MAX);
}
