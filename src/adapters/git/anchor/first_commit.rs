//! [`first_commit`]: the commit at which a history begins, remembered by the last commit of it.
//!
//! Git walks the whole history to find it, which takes seconds for a long one. A commit names its
//! parents, so a result holds for ever and in every clone. For a later commit, only the part that
//! is not in the history of the last one is walked: if that part has no commit without parents, all
//! of these are in the known history.

use std::io::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::{GitPlace, text};
use crate::adapters::git::own::{OwnRepository, PRIVATE_BASE};
use crate::adapters::git::place::is_hash;
use crate::adapters::plain_file::read_plain;
use crate::adapters::private_folder::PrivateFolder;
use crate::core::hex::hex;

/// Of how many commits it is remembered, those of all projects of this user.
const KEPT_MAX: usize = 64;

/// The longest file that is read, in bytes: more than so many lines are.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Stands for the first commit of a history that has several.
const SEVERAL: &str = "-";

/// The commit without parents from which the history comes, the same in every clone that has
/// all of it. None where there are several, or the history ends before.
pub(super) fn first_commit(own: &OwnRepository, place: &GitPlace) -> Option<String> {
    first_commit_in(Path::new(PRIVATE_BASE), own, place)
}

fn first_commit_in(base: &Path, own: &OwnRepository, place: &GitPlace) -> Option<String> {
    let commit = place.commit.as_ref().filter(|_| !place.is_shallow)?;
    let remembered = Remembered::of(base);
    let known = remembered.read();
    if let Some(known) = known.iter().find(|known| known.commit == *commit) {
        return known.first.clone();
    }
    let history = history(place);
    let last = known.iter().rfind(|known| known.history == history);
    let later = last.and_then(|last| last.leads_to(own, place, commit));
    let first = later.or_else(|| walk(own, place, commit))?;
    let found = History {
        history,
        commit: commit.clone(),
        first: first.clone(),
    };
    if remembered.keep(known, found).is_none() {
        tracing::debug!("from where a history comes is not remembered");
    }
    first
}

/// Asks git, which walks all of it. The inner one is none where there are several.
fn walk(own: &OwnRepository, place: &GitPlace, commit: &str) -> Option<Option<String>> {
    let firsts = ["rev-list", "--max-parents=0", "--max-count=2", commit];
    let firsts = text(&mut own.look_through(&place.top, &firsts))?;
    let mut firsts = firsts.lines();
    match (firsts.next(), firsts.next()) {
        (Some(first), None) => Some(Some(first.to_owned())),
        (Some(_), Some(_)) => Some(None),
        (None, _) => None,
    }
}

/// Names the repository: what was found of another one is no help to git.
fn history(place: &GitPlace) -> String {
    let mut name = hex(&Sha256::digest(place.common.as_os_str().as_encoded_bytes()));
    name.truncate(32);
    name
}

/// What is known of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
struct History {
    history: String,
    /// The commit that it leads to.
    commit: String,
    /// None where there are several.
    first: Option<String>,
}

impl History {
    /// The first commit of a later one, if it is told by this; as [`walk`].
    fn leads_to(
        &self,
        own: &OwnRepository,
        place: &GitPlace,
        commit: &str,
    ) -> Option<Option<String>> {
        let ask = |args: &[&str]| text(&mut own.look_through(&place.top, args));
        match &self.first {
            Some(first) => {
                let without = format!("^{}", self.commit);
                let firsts = ["rev-list", "--max-parents=0", "--max-count=1"];
                let others = ask(&[&firsts[..], &[commit, &without, "--"]].concat())?;
                others.is_empty().then(|| Some(first.clone()))
            }
            None => {
                let is_before = ["merge-base", "--is-ancestor", &self.commit, commit];
                ask(&is_before).map(|_| None)
            }
        }
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let words = [words.next()?, words.next()?, words.next()?];
        let [history, commit, first] = words;
        let first = match first {
            SEVERAL => None,
            first => Some(first.to_owned()).filter(|first| is_hash(first)),
        };
        let is_right = is_hash(commit) && (first.is_some() || words[2] == SEVERAL);
        is_right.then(|| Self {
            history: history.to_owned(),
            commit: commit.to_owned(),
            first,
        })
    }

    fn line(&self) -> String {
        let first = self.first.as_deref().unwrap_or(SEVERAL);
        format!("{} {} {first}\n", self.history, self.commit)
    }
}

/// Where it is remembered. Another process that writes at the same time may win.
struct Remembered(PrivateFolder);

impl Remembered {
    fn of(base: &Path) -> Self {
        Self(PrivateFolder::of(base, "roots"))
    }

    /// The latest one last.
    fn read(&self) -> Vec<History> {
        if !self.0.is_private() {
            return Vec::new();
        }
        let text = read_plain(&self.file(), FILE_BYTES_MAX).unwrap_or_default();
        text.lines().filter_map(History::read).collect()
    }

    fn keep(&self, mut known: Vec<History>, found: History) -> Option<()> {
        self.0.make()?;
        known.push(found);
        let surplus = known.len().saturating_sub(KEPT_MAX);
        let text: String = known.drain(surplus..).map(|known| known.line()).collect();
        let mut file = NamedTempFile::new_in(self.0.path()).ok()?;
        file.write_all(text.as_bytes()).ok()?;
        file.persist(self.file()).ok().map(|_| ())
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("first-commits")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;
    use crate::adapters::git::deadline::GitDeadline;

    fn git(root: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(root);
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(root: &Path, message: &str) -> String {
        git(root, &["commit", "-q", "--allow-empty", "-m", message]);
        git(root, &["rev-parse", "HEAD"])
    }

    struct Asked {
        base: TempDir,
        project: TempDir,
    }

    impl Asked {
        fn new() -> Self {
            let asked = Self {
                base: tempfile::tempdir().unwrap(),
                project: tempfile::tempdir().unwrap(),
            };
            git(asked.root(), &["init", "-q", "-b", "main"]);
            asked
        }

        fn root(&self) -> &Path {
            self.project.path()
        }

        /// As it is told where git has the objects, and where it has none.
        fn told(&self, has_objects: bool) -> Option<String> {
            let place = GitPlace::of(self.root(), GitDeadline::NONE).unwrap();
            let own = OwnRepository::empty(self.root(), GitDeadline::NONE).unwrap();
            if has_objects {
                own.borrow_objects(&place.common).unwrap();
            }
            first_commit_in(self.base.path(), &own, &place)
        }

        /// What is remembered says the same.
        fn first(&self) -> Option<String> {
            let told = self.told(true);
            assert_eq!(self.told(false), told, "remembered");
            told
        }
    }

    #[test]
    fn a_history_is_walked_once_and_then_only_what_is_new_in_it() {
        let asked = Asked::new();
        let root = asked.root();
        assert_eq!(asked.told(true), None);
        let first = commit(root, "first");
        assert_eq!(asked.told(false), None, "git does not tell");
        assert_eq!(asked.first(), Some(first.clone()));
        commit(root, "second");
        assert_eq!(asked.told(false), None);
        assert_eq!(asked.first(), Some(first.clone()));

        // Another beginning, which the one before says nothing of.
        git(root, &["checkout", "-q", "--orphan", "other"]);
        let other = commit(root, "other");
        assert_eq!(asked.first(), Some(other.clone()));
        let both = ["merge", "-q", "--no-edit", "--allow-unrelated-histories"];
        git(root, &[&both[..], &["main"]].concat());
        assert_eq!(asked.first(), None);
        commit(root, "behind both");
        assert_eq!(asked.first(), None);
        git(root, &["checkout", "-q", "main"]);
        commit(root, "third");
        assert_eq!(asked.first(), Some(first.clone()), "of two before");

        // The commit by which it is known is not there any more.
        git(root, &["reset", "-q", "--hard", "HEAD~1"]);
        git(root, &["reflog", "expire", "--expire=now", "--all"]);
        git(root, &["gc", "-q", "--prune=now"]);
        commit(root, "in its place");
        assert_eq!(asked.first(), Some(first));
    }

    #[test]
    fn what_somebody_else_could_write_is_not_believed() {
        let asked = Asked::new();
        let first = commit(asked.root(), "first");
        asked.first();
        let folder = PrivateFolder::of(asked.base.path(), "roots");
        let file = folder.path().join("first-commits");
        let wrong = fs::read_to_string(&file).unwrap();
        let wrong = wrong.replace(&format!(" {first}\n"), &format!(" {}\n", "0".repeat(40)));
        fs::write(&file, wrong.as_bytes()).unwrap();
        assert_eq!(asked.told(true), Some("0".repeat(40)), "its own");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(asked.told(true), Some(first.clone()));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        for wrong in ["a b c\n", "", "x\n", "\0\n"] {
            fs::write(&file, wrong).unwrap();
            assert_eq!(asked.told(true), Some(first.clone()), "{wrong:?}");
        }
    }

    #[test]
    fn no_more_is_remembered_than_fits() {
        let base = tempfile::tempdir().unwrap();
        let remembered = Remembered::of(base.path());
        let commit = |at: usize| format!("{at:040}");
        for at in 0..KEPT_MAX + 3 {
            let found = History {
                history: "0".repeat(32),
                commit: commit(at),
                first: (at % 2 == 0).then(|| commit(0)),
            };
            let known = remembered.read();
            remembered.keep(known, found).unwrap();
        }
        let known = remembered.read();
        assert_eq!(known.len(), KEPT_MAX);
        assert_eq!(known[0].commit, commit(3));
        assert_eq!(known.last().unwrap().first, Some(commit(0)));
    }
}
