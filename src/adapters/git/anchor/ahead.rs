//! Reads a repository where its files say it is, while git is still being asked for the place:
//! mostly both agree. The result counts only if git names the same place.

use std::path::Path;
use std::thread;

use super::{GitAnchor, said};
use crate::adapters::commit_index::TakeDiff;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::head::{PlainRepository, plain_repository};
use crate::adapters::git::own::OwnRepository;
use crate::adapters::git::place::GitPlace;
use crate::adapters::git::untracked::{Copies, WorkDiff};

/// A repository as its files have it, and a throw-away one that looks at it.
struct Guess {
    plain: PlainRepository,
    own: OwnRepository,
}

/// The repository of a folder, and what lies there otherwise than in its commit. `ask` is asked beside
/// that, once it is known where the repository is.
pub(super) fn open_with_diff<T: Send>(
    root: &Path,
    deadline: GitDeadline,
    take: TakeDiff,
    ask: impl Fn(&OwnRepository, &GitPlace) -> Option<T> + Sync,
) -> Option<(GitAnchor, Option<WorkDiff>, Option<T>)> {
    thread::scope(|scope| {
        let place = scope.spawn(|| GitPlace::of(root, deadline));
        let guess = Guess::of(root, deadline);
        let (place, diff, asked) = match &guess {
            Some(guess) => thread::scope(|scope| {
                let diff = scope.spawn(|| guess.diff(take));
                let place = said(place)?;
                let asked = guess.is_of(&place).then(|| ask(&guess.own, &place));
                Some((place, said(diff), asked.flatten()))
            })?,
            None => (said(place)?, None, None),
        };
        if let Some(guess) = guess.filter(|guess| guess.is_of(&place)) {
            return Some((GitAnchor::of(root, place, guess.own), diff, asked));
        }
        let git = GitAnchor::at(root, place, OwnRepository::empty(root, deadline)?)?;
        let (asked, diff) = thread::scope(|scope| {
            let asked = scope.spawn(|| ask(&git.own, &git.place));
            let diff = take(&git.own, &git.place.top, git.commit(), Copies::WhereNeeded);
            (said(asked), diff)
        });
        Some((git, diff, asked))
    })
}

impl Guess {
    fn of(root: &Path, deadline: GitDeadline) -> Option<Self> {
        let plain = plain_repository(root)?;
        let own = OwnRepository::empty(root, deadline)?.in_format_of(&plain.commit)?;
        own.borrow_objects(&plain.dir)?;
        Some(Self { plain, own })
    }

    fn diff(&self, take: TakeDiff) -> Option<WorkDiff> {
        let (top, commit) = (&self.plain.top, &self.plain.commit);
        take(&self.own, top, Some(commit), Copies::WhereNeeded)
    }

    /// Whether git says the same.
    fn is_of(&self, place: &GitPlace) -> bool {
        place.top == self.plain.top
            && place.common == self.plain.dir
            && place.commit.as_ref() == Some(&self.plain.commit)
            && self.own.is_in_format(&place.object_format)
    }
}
