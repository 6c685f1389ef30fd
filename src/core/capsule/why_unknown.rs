//! [`WhyUnknown`]: why nobody can tell how a capsule stands to the work tree.

use crate::word::words;

/// What is said of a capsule that says nothing of git although there is a repository.
pub const GIT_SILENT: &str = "git did not tell where the work tree stands (`git status` there may \
    say why), so that later nobody can tell whether this is still so";

/// What is said of a closed task where the record tells no digest of what is kept of it since then:
/// nothing was, that was cut off, or an earlier version kept it.
pub const NOT_KEPT_AT_CLOSE: &str = "it was not kept when it was closed, as far as the record tells: \
    where git stands, and its files, are as of now; an export keeps it like this";

words! {
    /// Why nobody can tell how a capsule stands, as a fragment.
    pub closed enum WhyUnknown {
        Commit = "its commit is not here",
        NoRepository = "it was made in a repository, and here is none",
        /// One is here.
        Git = "git does not tell where the work tree stands",
        /// A repository is here.
        NoAnchor = "it does not say where git stood",
        NoFiles = "it was made without git, and names no file",
        Shallow = "only a part of the history is here",
        NoTie = "it has no commit, and nothing shows that it is of this repository",
        Files = "some of its files cannot be compared",
    }
}
