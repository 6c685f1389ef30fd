//! [`head`]: the commit that a work tree is on, read from git's files without running git.
//!
//! Knows no reftables: for a repository with them there is no answer. Agents can write all of the
//! files that it reads, so each has to be a small, ordinary file and no link, and only a hash is
//! taken from it.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::plain_file::open_plain;

/// The most of a file that is read, in bytes; `packed-refs` is the only one that can be long.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How far up a repository is looked for.
const DEPTH_MAX: usize = 40;

/// The commit, as git writes it; `None` outside of a repository, before its first commit, and
/// where it cannot be told.
pub fn head(root: &Path) -> Option<String> {
    let dir = git_dir(root)?;
    let head = read(&dir.join("HEAD"))?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else {
        return hash(&head);
    };
    // Git allows far more in a name; this keeps one inside of the folder.
    let is_inside = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if !is_inside {
        return None;
    }
    // Work trees share their branches.
    let common = match read(&dir.join("commondir")) {
        Some(common) => dir.join(common.trim_end()),
        None => dir,
    };
    match read(&common.join(name)) {
        Some(line) => hash(&line),
        None => packed(&read(&common.join("packed-refs"))?, name),
    }
}

/// Whether a folder lies in the work tree of a repository, as far as git's files tell.
pub fn is_repository(root: &Path) -> bool {
    git_dir(root).is_some_and(|dir| dir.join("HEAD").symlink_metadata().is_ok())
}

/// A repository in its usual form, as far as git's files tell.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters) struct PlainRepository {
    /// The folder of the work tree.
    pub(in crate::adapters) top: PathBuf,
    /// Its `.git`: a folder of this user, no link, and that of no other work tree.
    pub(in crate::adapters) dir: PathBuf,
    pub(in crate::adapters) commit: String,
}

/// That of a folder; none where it is another one, which git has to be asked for.
pub(in crate::adapters) fn plain_repository(root: &Path) -> Option<PlainRepository> {
    let dir = git_dir(root)?;
    let top = dir.parent()?.to_owned();
    let user = rustix::process::geteuid().as_raw();
    let is_own = |found: std::fs::Metadata| found.is_dir() && found.uid() == user;
    let is_plain = dir.ends_with(".git")
        && dir.symlink_metadata().is_ok_and(is_own)
        && dir.join("commondir").symlink_metadata().is_err();
    let commit = is_plain.then(|| head(root)).flatten()?;
    Some(PlainRepository { top, dir, commit })
}

/// The repository of a work tree: its `.git` folder, or where its `.git` file says. As git does, it
/// is looked for on the file system of `root` alone.
fn git_dir(root: &Path) -> Option<PathBuf> {
    let device = root.metadata().ok()?.dev();
    let is_here = |folder: &&Path| folder.metadata().is_ok_and(|found| found.dev() == device);
    let (top, git) = root
        .ancestors()
        .take(DEPTH_MAX)
        .take_while(is_here)
        .map(|top| (top, top.join(".git")))
        .find(|(_, git)| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let line = read(&git)?;
    Some(top.join(line.trim_end().strip_prefix("gitdir: ")?))
}

fn packed(refs: &str, name: &str) -> Option<String> {
    refs.lines()
        .find_map(|line| hash(line.strip_suffix(name)?.strip_suffix(' ')?))
}

/// A SHA-1 or SHA-256, and nothing else.
fn hash(line: &str) -> Option<String> {
    let line = line.trim_end();
    let is_hash = matches!(line.len(), 40 | 64) && line.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| line.to_owned())
}

fn read(path: &Path) -> Option<String> {
    let (file, found) = open_plain(path).ok()?;
    if found.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(dir)
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@t",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "a/branch"]);
        dir
    }

    fn commit(dir: &Path) -> String {
        git(dir, &["commit", "-q", "--allow-empty", "-m", "c"]);
        git(dir, &["rev-parse", "HEAD"])
    }

    #[test]
    fn it_is_what_git_says_on_a_branch_packed_detached_and_in_a_work_tree() {
        let dir = repository();
        let root = dir.path();
        assert_eq!(head(root), None);
        let first = commit(root);
        assert_eq!(head(root), Some(first.clone()));
        fs::create_dir(root.join("below")).unwrap();
        assert_eq!(head(&root.join("below")), Some(first.clone()));
        let plain = PlainRepository {
            top: root.to_owned(),
            dir: root.join(".git"),
            commit: first.clone(),
        };
        assert_eq!(plain_repository(&root.join("below")), Some(plain));

        let other = tempfile::tempdir().unwrap();
        let tree = other.path().join("tree");
        let name = tree.to_str().unwrap();
        git(root, &["worktree", "add", "-q", "-b", "other", name]);
        let second = commit(&tree);
        assert_ne!(first, second);
        assert_eq!(plain_repository(&tree), None);
        assert_eq!(head(&tree), Some(second.clone()));
        assert_eq!(head(root), Some(first.clone()));

        git(root, &["pack-refs", "--all"]);
        assert_eq!(head(root), Some(first.clone()));
        assert_eq!(head(&tree), Some(second.clone()));
        git(root, &["checkout", "-q", "--detach", &second]);
        assert_eq!(head(root), Some(second));
    }

    #[test]
    fn hostile_files_give_no_answer_and_hold_nobody_up() {
        let dir = repository();
        let root = dir.path();
        commit(root);
        let path = root.join(".git/HEAD");
        let secret = root.join("secret");
        fs::write(&secret, "0123456789012345678901234567890123456789\n").unwrap();
        for hostile in [
            "ref: refs/../../secret\n",
            "ref: ../secret\n",
            "ref: /etc/hostname\n",
            "not a hash\n",
            "",
        ] {
            fs::write(&path, hostile).unwrap();
            assert_eq!(head(root), None, "{hostile:?}");
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        assert_eq!(head(root), None);
        fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(head(root), None);
    }
}
