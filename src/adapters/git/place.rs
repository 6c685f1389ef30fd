//! [`GitPlace`]: where a repository lies and what its work tree is on, by one run of git.

use std::path::{Path, PathBuf};

use super::command::{git, line, text};
use super::deadline::GitDeadline;
use super::mark::may_hold_repository;
use super::own::OBJECT_FORMAT;

/// What one git is asked. On a branch without a commit it says nothing of `HEAD`.
const QUESTIONS: [&str; 16] = [
    "rev-parse",
    "--path-format=absolute",
    "--show-toplevel",
    "--show-prefix",
    "--git-common-dir",
    "--git-path",
    "shallow",
    "--git-path",
    "index",
    "--is-shallow-repository",
    OBJECT_FORMAT,
    "--revs-only",
    "HEAD",
    "HEAD^{tree}",
    "--symbolic-full-name",
    "HEAD",
];

/// A repository's folders and its head.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::adapters) struct GitPlace {
    pub(in crate::adapters) top: PathBuf,
    /// The folder that was asked for, in the repository, `a/b/` or empty.
    pub(in crate::adapters) prefix: String,
    /// The folder that all work trees share.
    pub(in crate::adapters) common: PathBuf,
    /// The file that says where the history of a shallow clone ends.
    pub(in crate::adapters) shallow: PathBuf,
    /// The index of this work tree, which may not be there.
    pub(in crate::adapters) index: PathBuf,
    pub(in crate::adapters) is_shallow: bool,
    /// How objects are named.
    pub(in crate::adapters) object_format: String,
    pub(in crate::adapters) commit: Option<String>,
    /// The tree of the commit, where it is here.
    pub(in crate::adapters) tree: Option<String>,
    /// The whole name of the branch that a commit is on.
    pub(in crate::adapters) branch: Option<String>,
}

impl GitPlace {
    /// That of a folder; none where there is no repository, or `git` is missing.
    pub(in crate::adapters) fn of(root: &Path, deadline: GitDeadline) -> Option<Self> {
        let place = Self::read(&text(git(root, deadline).args(QUESTIONS))?)?;
        is_top_of(&place.top, root).then_some(place)
    }

    /// The branch without its `refs/heads/`, also one that has no commit yet. `root` is where it was
    /// asked for.
    pub(in crate::adapters) fn branch_name(
        &self,
        root: &Path,
        deadline: GitDeadline,
    ) -> Option<String> {
        let name = match (&self.branch, &self.commit) {
            (Some(name), _) => name.clone(),
            (None, Some(_)) => return None,
            (None, None) => line(git(root, deadline).args(["symbolic-ref", "--quiet", "HEAD"]))?,
        };
        let name = name
            .strip_prefix("refs/heads/")
            .or(name.strip_prefix("refs/"));
        name.map(str::to_owned)
    }

    /// A name with a line break in it cannot be told from two, so that each line is looked at.
    fn read(said: &str) -> Option<Self> {
        let lines: Vec<&str> = said.lines().collect();
        let (places, head) = lines.split_at_checked(7)?;
        let [
            top,
            prefix,
            common,
            shallow,
            index,
            is_shallow,
            object_format,
        ] = places.try_into().ok()?;
        let (commit, tree, branch) = match head {
            [] => (None, None, None),
            [commit, branch] => (Some(commit), None, Some(branch)),
            [commit, tree, branch] => (Some(commit), Some(tree), Some(branch)),
            _ => return None,
        };
        let is_right = [top, common, shallow, index]
            .iter()
            .all(|it| it.starts_with('/'))
            && ["true", "false"].contains(&is_shallow)
            && ["sha1", "sha256", OBJECT_FORMAT].contains(&object_format)
            && commit.into_iter().chain(tree).all(|hash| is_hash(hash))
            && branch.is_none_or(|name| *name == "HEAD" || name.starts_with("refs/"));
        let branch = branch.filter(|name| **name != "HEAD");
        is_right.then(|| Self {
            top: PathBuf::from(top),
            prefix: prefix.to_owned(),
            common: PathBuf::from(common),
            shallow: PathBuf::from(shallow),
            index: PathBuf::from(index),
            is_shallow: is_shallow == "true",
            object_format: object_format.to_owned(),
            commit: commit.map(|commit| (*commit).to_owned()),
            tree: tree.map(|tree| (*tree).to_owned()),
            branch: branch.map(|branch| (*branch).to_owned()),
        })
    }
}

/// The folder of the work tree that a folder lies in; none where there is none, or git looks at
/// another one.
pub(in crate::adapters) fn top_of(root: &Path, deadline: GitDeadline) -> Option<PathBuf> {
    let top = line(git(root, deadline).args(["rev-parse", "--show-toplevel"]))?;
    let top = PathBuf::from(top);
    is_top_of(&top, root).then_some(top)
}

/// Whether the work tree at `top` is the one that `root` lies in. By `core.worktree` agents can have git
/// look at any other folder: at a copy, or at one above that ignores this one.
fn is_top_of(top: &Path, root: &Path) -> bool {
    let (Ok(top), Ok(root)) = (top.canonicalize(), root.canonicalize()) else {
        return false;
    };
    let mut below = root.ancestors().take_while(|folder| *folder != top);
    root.starts_with(&top) && !below.any(may_hold_repository)
}

/// Anything else could be an option, or a branch.
pub(in crate::adapters) fn is_hash(name: &str) -> bool {
    name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_line_breaks_are_no_place() {
        let hash = "0123456789012345678901234567890123456789";
        let places = "/a\nb/\n/a/.git\n/a/.git/shallow\n/a/.git/index\nfalse\nsha1\n";
        let with = |head: &str| GitPlace::read(&format!("{places}{head}"));
        let other = hash.replace('0', "a");
        let whole = with(&format!("{hash}\n{other}\nrefs/heads/main\n"));
        assert_eq!(whole.and_then(|place| place.tree), Some(other));
        let head = with(&format!("{hash}\nrefs/heads/main\n"));
        let head = head.map(|place| (place.prefix, place.commit, place.branch));
        let expected = ("b/", hash, "refs/heads/main");
        let expected = (
            expected.0.to_owned(),
            Some(expected.1.to_owned()),
            Some(expected.2.to_owned()),
        );
        assert_eq!(head, Some(expected));
        assert!(with("").is_some_and(|place| place.commit.is_none()));
        let detached = with(&format!("{hash}\nHEAD\n"));
        assert!(detached.is_some_and(|place| place.branch.is_none()));
        for said in [
            format!("/a\nb/\n{places}"),
            "/a\n\n/x\n/.git\n/x\n/.git/shallow\n/.git/index\nfalse\nsha1\n".to_owned(),
            format!(
                "/a\nb\n/\n/a/.git\n/a/.git/shallow\n/a/.git/index\nfalse\nsha1\n{hash}\nHEAD\n"
            ),
            format!("{places}{hash}\n"),
            format!("{places}{hash}\n--output=x\n"),
            format!("{places}{hash}\nrefs/heads/main\nrefs/heads/main\n"),
            String::new(),
        ] {
            assert_eq!(GitPlace::read(&said), None, "{said:?}");
        }
    }
}
