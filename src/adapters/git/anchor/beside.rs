//! [`Beside`]: what is reported of a work tree's other commits, branches and clones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use super::first_commit::first_commit;
use super::{GitOrigin, GitPlace, git, line, said, text};
use crate::adapters::git::command::short_line;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::own::OwnRepository;
use crate::core::capsule::{CapsuleGit, DiffStat};

/// The longest name of a branch or address, in characters.
const CHARS_MAX: usize = 300;

/// What is told beside the work tree itself.
#[derive(Debug)]
pub(super) struct Beside {
    origin: GitOrigin,
    branch: Option<String>,
    /// Commits that the upstream does not have, and those that only it has.
    upstream: Option<(u64, u64)>,
}

/// What the configuration says of branches and remotes, asked once.
#[derive(Debug)]
pub(super) struct Remotes<'a> {
    root: &'a Path,
    deadline: GitDeadline,
    said: OnceLock<Option<String>>,
}

impl Beside {
    /// Asks for all of it at once.
    pub(super) fn ask(own: &OwnRepository, place: &GitPlace, remotes: &Remotes<'_>) -> Self {
        let (root, deadline) = (remotes.root, remotes.deadline);
        thread::scope(|scope| {
            let first = scope.spawn(|| first_commit(own, place));
            let branch = place.branch_name(root, deadline);
            let tracks = |branch: &String| place.commit.is_some() && remotes.has_upstream(branch);
            let upstream = branch.as_ref().filter(|branch| tracks(branch));
            let upstream = upstream.and_then(|_| beside_upstream(root, deadline));
            let remote = remotes.address(branch.as_deref());
            let root = said(first);
            Self {
                origin: GitOrigin { root, remote },
                branch,
                upstream,
            }
        })
    }

    /// As a capsule tells it of a project in this folder of its repository; the rest is empty.
    pub(super) fn told(self, folder: Option<&str>) -> CapsuleGit {
        let (ahead, behind) = self.upstream.unzip();
        CapsuleGit {
            commit: None,
            tree: None,
            changed: 0,
            ahead,
            behind,
            diff_stat: DiffStat::default(),
            remote: self.origin.remote,
            branch: self
                .branch
                .as_deref()
                .map(|name| short_line(name, CHARS_MAX)),
            root: self.origin.root,
            folder: folder.map(str::to_owned),
            late: None,
            more: serde_json::Map::new(),
        }
    }
}

impl<'a> Remotes<'a> {
    /// Of the repository of a folder.
    pub(super) fn of(root: &'a Path, deadline: GitDeadline) -> Self {
        Self {
            root,
            deadline,
            said: OnceLock::new(),
        }
    }

    /// Asks git, or waits for who does. None where it says nothing, as of a repository without any.
    pub(super) fn ask(&self) -> Option<&str> {
        let keys = r"^(branch\..*\.(remote|merge)|remote\..*\.url)$";
        let ask =
            || text(git(self.root, self.deadline).args(["config", "-z", "--get-regexp", keys]));
        self.said.get_or_init(ask).as_deref()
    }

    /// Each key with what it says.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let said = self.ask().unwrap_or_default();
        said.split('\0').filter_map(|said| said.split_once('\n'))
    }

    /// Whether a branch has an upstream, here or not.
    fn has_upstream(&self, branch: &str) -> bool {
        let key = format!("branch.{branch}.merge");
        self.pairs().any(|(said, _)| said == key)
    }

    /// The address of a branch's upstream, or of the only remote, without credentials.
    pub(super) fn address(&self, branch: Option<&str>) -> Option<String> {
        let (mut said, mut urls) = <(BTreeMap<&str, &str>, BTreeMap<&str, &str>)>::default();
        for (key, value) in self.pairs() {
            let name = key.strip_prefix("remote.");
            match name.and_then(|name| name.strip_suffix(".url")) {
                // From the first of several it is fetched.
                Some(name) => _ = urls.entry(name).or_insert(value),
                None => _ = said.insert(key, value),
            }
        }
        let named = branch.and_then(|branch| said.get(&*format!("branch.{branch}.remote")));
        let url = match named.and_then(|name| urls.get(name)) {
            Some(url) => url,
            None => urls
                .get("origin")
                .or(urls.values().next().filter(|_| urls.len() == 1))?,
        };
        Some(short_line(&without_credentials(url), CHARS_MAX))
    }
}

/// Commits that the upstream does not have, and those that only it has. None without one that is here.
fn beside_upstream(root: &Path, deadline: GitDeadline) -> Option<(u64, u64)> {
    let range = "HEAD...@{upstream}";
    let counts = ["rev-list", "--left-right", "--count", range, "--"];
    two_counts(&line(git(root, deadline).args(counts))?)
}

/// `1 TAB 2`.
pub(super) fn two_counts(said: &str) -> Option<(u64, u64)> {
    let (left, right) = said.split_once('\t')?;
    Some((left.parse().ok()?, right.parse().ok()?))
}

/// The address without user, password, query and fragment.
pub(super) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // `user@host:path`, or a path.
        return match url.split_once('@') {
            Some((user, rest)) if !user.contains(['/', ':']) => rest.to_owned(),
            _ => url.to_owned(),
        };
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
