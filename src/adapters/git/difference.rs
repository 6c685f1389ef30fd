//! [`difference`]: how a work tree differs from a commit, for a person to read.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::command::{GitCommand, bytes};
use super::deadline::GitDeadline;
use super::own::OwnRepository;
use super::place::top_of;
use super::untracked::{Copies, WorkDiff, feed};

/// The most that is told, in bytes: nobody reads more in an editor.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// As a patch; empty where nothing differs. What git ignores is not told, and of a repository within
/// nothing of what lies in it. As in [`work_tree`](super::work_tree::work_tree), nothing of the project's
/// configuration is run, and nothing is written into the project. Blocking.
///
/// # Errors
///
/// One sentence, where git does not tell.
pub fn difference(root: &Path, commit: &str) -> Result<String, String> {
    let told = patch(root, commit);
    let mut told = told.ok_or("git does not tell what differs from that commit")?;
    let is_cut = told.len() > TEXT_BYTES_MAX;
    if is_cut {
        told.truncate(TEXT_BYTES_MAX);
    }
    let mut text = String::from_utf8_lossy(&told).into_owned();
    if is_cut {
        text.push_str("\n\nThe rest is left out here: it is longer than 1 MiB.\n");
    }
    Ok(text)
}

fn patch(root: &Path, commit: &str) -> Option<Vec<u8>> {
    // What comes from the record is no option and no branch.
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return None;
    }
    let deadline = GitDeadline::NONE;
    let top = top_of(root, deadline)?;
    let own = OwnRepository::of(root, deadline)?;
    let ours = |args: &[&str]| own.look_through(&top, args);
    let diff = WorkDiff::since(&own, &top, Some(commit), Copies::Always)?;
    let mut named = put_in_small(&diff, &ours, own.path(), &top)?;
    let mut patch = bytes(&mut ours(&[
        "-c",
        "core.quotePath=false",
        "diff-index",
        "--cached",
        "-p",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        commit,
        "--",
    ]))?;
    // In sight where the rest is cut.
    named.append(&mut patch);
    Some(named)
}

/// Gives the index what git does not know, as far as a person reads it. The names of the rest, a line
/// each: a dump of some gigabytes is copied nowhere.
fn put_in_small(
    diff: &WorkDiff,
    ours: &dyn Fn(&[&str]) -> GitCommand,
    own: &Path,
    top: &Path,
) -> Option<Vec<u8>> {
    let (mut list, mut named) = (Vec::new(), Vec::new());
    let mut room = TEXT_BYTES_MAX as u64;
    for path in diff.others() {
        let found = top.join(OsStr::from_bytes(path)).symlink_metadata();
        let bytes = found
            .ok()
            .filter(Metadata::is_file)
            .map(|found| found.len());
        match bytes.and_then(|bytes| room.checked_sub(bytes)) {
            Some(left) => {
                room = left;
                list.extend_from_slice(path);
                list.push(0);
            }
            None => {
                named.extend_from_slice(b"New, and not shown here: ");
                named.extend_from_slice(path);
                named.push(b'\n');
            }
        }
    }
    feed(ours, own, &list, &["--add", "--stdin"])?;
    Some(named)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::adapters::git::command::git;

    fn run(root: &Path, args: &[&str]) -> String {
        let mut command = git(root, GitDeadline::NONE).into_command();
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
        let done = command.args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn all_that_a_commit_lacks_is_told_and_nothing_of_the_projects_configuration_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        run(root, &["init", "--quiet"]);
        write(".gitignore", "ignored\n");
        write("a", "one\n");
        run(root, &["add", "."]);
        run(root, &["commit", "--quiet", "-m", "one"]);
        let commit = run(root, &["rev-parse", "HEAD"]);
        assert_eq!(difference(root, &commit), Ok(String::new()));

        let mark = folder.path().join(".git/ran");
        let touch = format!("touch {}; cat", mark.display());
        for key in ["filter.x.clean", "diff.x.textconv", "diff.x.command"] {
            run(root, &["config", key, &touch]);
        }
        write(".gitattributes", "* filter=x diff=x\n");
        write("a", "two\n");
        write("new", "three\n");
        write("ignored", "four\n");
        let dump = fs::File::create(root.join("dump")).unwrap();
        dump.set_len(TEXT_BYTES_MAX as u64 + 1).unwrap();
        let told = difference(root, &commit).unwrap();
        for line in ["-one\n", "+two\n", "+three\n", "not shown here: dump\n"] {
            assert!(told.contains(line), "{line:?} in {told}");
        }
        assert!(!told.contains("four"), "{told}");
        assert!(!mark.exists());

        // Also what was committed since then.
        run(root, &["rm", "--quiet", "--cached", "a"]);
        run(root, &["-c", "filter.x.clean=cat", "add", "new"]);
        run(root, &["commit", "--quiet", "-m", "two"]);
        let told = difference(root, &commit).unwrap();
        assert!(
            told.contains("+two\n") && told.contains("+three\n"),
            "{told}"
        );
        assert!(
            difference(root, "HEAD").is_err(),
            "only what names a commit"
        );
    }
}
