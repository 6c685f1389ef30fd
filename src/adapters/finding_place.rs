//! [`FindingPlaces`]: where findings of reviews are in the current work tree.
//!
//! The file of the finding's commit is compared with the current file, line by line. Only local
//! objects are used: a missing commit is not fetched.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::plain_file::read_plain;
use crate::adapters::git::anchor::GitAnchor;
use crate::adapters::git::deadline::GitDeadline;
use crate::core::entry::FindingFacts;
use crate::core::redact::Redactor;
use crate::core::review::{FindingPlace, LineFate, is_inside};

/// The longest file that is looked into, in bytes.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// How long two states of a file are compared; what is left then counts as changed.
const COMPARE_TIME: Duration = Duration::from_millis(200);

/// How many lines are shown before and behind a place.
const AROUND: u32 = 8;

/// The longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 300;

/// How many states of files are kept for the next finding.
const FILES_KEPT_MAX: usize = 64;

/// A repository's files, of now and of the commits that findings name. Blocks for the disk and git.
pub struct FindingPlaces {
    git: Option<GitAnchor>,
    deadline: GitDeadline,
    top: PathBuf,
    now: Kept<Option<Result<String, ()>>>,
    then: Kept<Option<String>>,
    /// From a file as it was then to the one of now: many findings lie in one file.
    steps: Kept<Vec<DiffOp>>,
}

/// States of files that were read.
type Kept<T> = RefCell<BTreeMap<String, Rc<T>>>;

impl std::fmt::Debug for FindingPlaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FindingPlaces")
            .field("top", &self.top)
            .finish_non_exhaustive()
    }
}

impl FindingPlaces {
    /// Of a project's folder. Paths of findings are relative to its repository: where git does not say
    /// by the deadline where that is, nobody can tell where they stand.
    pub fn open(root: &Path, deadline: GitDeadline) -> Self {
        let git = GitAnchor::open(root, deadline);
        let top = git.as_ref().map_or(root, GitAnchor::top).to_owned();
        Self {
            git,
            deadline,
            top,
            now: Kept::default(),
            then: Kept::default(),
            steps: Kept::default(),
        }
    }

    /// Where a finding stands; nothing of the file is shown.
    pub fn of(&self, facts: &FindingFacts) -> FindingPlace {
        match self.stand(facts) {
            Ok(stand) => FindingPlace {
                start_now: stand.start_now(),
                line_now: stand.line_now,
                ..FindingPlace::unseen(stand.fate)
            },
            Err(unseen) => unseen,
        }
    }

    /// Where a finding stands, and the lines there. The file may hold what is masked everywhere else,
    /// and a secret more lines than are shown: the whole of it is masked first.
    pub fn shown(&self, facts: &FindingFacts, redactor: &Redactor) -> FindingPlace {
        let stand = match self.stand(facts) {
            Ok(stand) => stand,
            Err(unseen) => return unseen,
        };
        let lines = match stand.now.as_ref() {
            Some(Ok(now)) => masked_lines(now, redactor),
            _ => Vec::new(),
        };
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let near = stand.near.clamp(1, count.max(1));
        let first = near.saturating_sub(AROUND).max(1);
        let last = near.saturating_add(AROUND).min(count);
        let cut = |line: &String| line.chars().take(LINE_CHARS_MAX).collect();
        let range = first as usize - 1..(last as usize).max(first as usize - 1);
        FindingPlace {
            start_now: stand.start_now(),
            fate: stand.fate,
            line_now: stand.line_now,
            first,
            lines: lines[range].iter().map(cut).collect(),
        }
    }

    /// The place of a finding in its file of now; else why there is none.
    fn stand(&self, facts: &FindingFacts) -> Result<Stand, FindingPlace> {
        let is_late = self.git.is_none() && self.deadline.is_over();
        let path = facts.path.as_deref().filter(|path| is_inside(path));
        let Some(path) = path.filter(|_| !is_late) else {
            return Err(FindingPlace::unseen(LineFate::Unknown));
        };
        let now = keep(&self.now, path, || read_below(&self.top, path));
        let text = match now.as_ref() {
            None => return Err(FindingPlace::unseen(LineFate::Gone)),
            Some(Err(())) => return Err(FindingPlace::unseen(LineFate::Unknown)),
            Some(Ok(text)) => text,
        };
        let before = facts.line.zip(facts.start_line);
        let before = before.map_or(0, |(line, start)| line.saturating_sub(start));
        let stand = |fate, line_now, near| Stand {
            fate,
            before,
            line_now,
            near,
            now: Rc::clone(&now),
        };
        let Some(line) = facts.line else {
            return Ok(stand(LineFate::Unknown, None, 1));
        };
        let commit = facts.commit.as_deref().unwrap_or_default();
        let name = format!("{commit}:{path}");
        let then = facts.commit.as_deref().map(|commit| {
            keep(&self.then, &name, || {
                let git = self.git.as_ref()?;
                git.text_at(commit, path, FILE_BYTES_MAX)
            })
        });
        let Some(then) = then.as_deref().and_then(Option::as_deref) else {
            return Ok(stand(LineFate::Unknown, None, line));
        };
        let steps = keep(&self.steps, &name, || {
            let (then, now): (Vec<&str>, Vec<&str>) =
                (then.lines().collect(), text.lines().collect());
            compared(&then, &now)
        });
        Ok(match line_now(&steps, line, before) {
            (Some(number), _) if number == line => stand(LineFate::Same, Some(number), number),
            (Some(number), _) => stand(LineFate::Moved, Some(number), number),
            (None, near) => stand(LineFate::Changed, None, near),
        })
    }
}

/// Where a finding stands in a file that there is.
struct Stand {
    fate: LineFate,
    /// Of how many lines before that one it speaks as well.
    before: u32,
    line_now: Option<u32>,
    /// The line around which it is shown.
    near: u32,
    /// The file as it is now.
    now: Rc<Option<Result<String, ()>>>,
}

impl Stand {
    fn start_now(&self) -> Option<u32> {
        let start = self.line_now.filter(|_| self.before > 0)?;
        start.checked_sub(self.before)
    }
}

fn compared(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    let until = Instant::now() + COMPARE_TIME;
    capture_diff_slices_deadline(Algorithm::Myers, before, after, Some(until))
}

/// The lines of a text masked as a whole, as many as it has itself: each line of a secret that has
/// several is the line with its mark. All of them are of the masked text, so that none can show what
/// is not there, wherever two states are laid over each other wrongly.
fn masked_lines(text: &str, redactor: &Redactor) -> Vec<String> {
    let before: Vec<&str> = text.lines().collect();
    let (masked, _) = redactor.redact_text(text);
    let after: Vec<&str> = masked.lines().collect();
    if masked == text {
        return before.into_iter().map(str::to_owned).collect();
    }
    let mut lines: Vec<&str> = Vec::with_capacity(before.len());
    let alone = |line: &str| redactor.redact_text(line).0.into_owned();
    let mut mark = "";
    for step in compared(&before, &after) {
        let (old, new) = (&before[step.old_range()], &after[step.new_range()]);
        if matches!(step, DiffOp::Equal { .. }) {
            lines.extend(new);
            continue;
        }
        let is_same = |(old, new): &(&&str, &&str)| alone(old) == **new;
        let head = old.iter().zip(new).take_while(is_same).count();
        let (inner, marks) = (&old[head..], &new[head..]);
        let tail = inner.iter().rev().zip(marks.iter().rev());
        let tail = tail.take_while(is_same).count();
        let marks = &marks[..marks.len() - tail];
        lines.extend(&new[..head]);
        // The first line of a key is masked alone too.
        mark = new[..head].last().copied().unwrap_or(mark);
        for at in 0..inner.len() - tail {
            // The mark of what goes on here may stand before.
            mark = marks.get(at).copied().unwrap_or(mark);
            lines.push(mark);
        }
        lines.extend(&new[new.len() - tail..]);
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn keep<T>(kept: &Kept<T>, name: &str, read: impl FnOnce() -> T) -> Rc<T> {
    if let Some(found) = kept.borrow().get(name) {
        return Rc::clone(found);
    }
    let found = Rc::new(read());
    let mut kept = kept.borrow_mut();
    if kept.len() >= FILES_KEPT_MAX {
        kept.clear();
    }
    kept.insert(name.to_owned(), Rc::clone(&found));
    found
}

/// A file below a folder, as text; `None` where there is none. No link leads out of the folder.
fn read_below(top: &Path, path: &str) -> Option<Result<String, ()>> {
    let path = top.join(path).canonicalize().ok()?;
    let top = top.canonicalize().ok()?;
    if !path.starts_with(&top) {
        return Some(Err(()));
    }
    Some(read_plain(&path, FILE_BYTES_MAX).map_err(|_| ()))
}

/// The number of a line by now, where it and as many `before` it are as they were; and where its
/// place is, also when one of them was changed.
fn line_now(steps: &[DiffOp], line: u32, before: u32) -> (Option<u32>, u32) {
    let at = line as usize - 1;
    let start = at.saturating_sub(before as usize);
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    for step in steps {
        let old = step.old_range();
        if !old.contains(&at) {
            continue;
        }
        let new = step.new_range();
        return match step {
            DiffOp::Equal { .. } => {
                let found = number(new.start + at - old.start);
                (old.contains(&start).then_some(found), found)
            }
            _ => (None, number(new.start)),
        };
    }
    (None, line)
}

#[cfg(test)]
mod tests;
