//! [`WhyUnknown`]: why a capsule cannot be compared with the work tree.

/// What is said of a capsule that says nothing of git although there is a repository.
pub const GIT_SILENT: &str = "git did not tell where the work tree stands (`git status` there may \
    say why), so that later nobody can tell whether this is still so";

/// What is said of a closed task where the record tells no digest of what is kept of it since then:
/// nothing was, that was cut off, or an earlier version kept it.
pub const NOT_KEPT_AT_CLOSE: &str = "it was not kept when it was closed, as far as the record tells: \
    where git stands, and its files, are as of now; an export keeps it like this";

/// Why nobody can tell how a capsule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WhyUnknown {
    /// Its commit is not here.
    Commit,
    /// It is of a repository, and none is here.
    NoRepository,
    /// One is here, and git does not tell of it.
    Git,
    /// A repository is here, and it does not say where git stood.
    NoAnchor,
    /// It does not say where git stood, and names no file.
    NoFiles,
    /// Here is a part of the history alone.
    Shallow,
    /// It has no commit, and nothing shows that it is of this repository.
    NoTie,
    /// Some of its files cannot be compared.
    Files,
}

impl WhyUnknown {
    /// As a fragment.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "its commit is not here",
            Self::NoRepository => "it was made in a repository, and here is none",
            Self::Git => "git does not tell where the work tree stands",
            Self::NoAnchor => "it does not say where git stood",
            Self::NoFiles => "it was made without git, and names no file",
            Self::Shallow => "only a part of the history is here",
            Self::NoTie => "it has no commit, and nothing shows that it is of this repository",
            Self::Files => "some of its files cannot be compared",
        }
    }
}
