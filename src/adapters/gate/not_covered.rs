//! [`not_covered`]: the files that are in the project but not in its commit, and whether committing
//! everything would include them.

use std::collections::BTreeSet;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use crate::adapters::git::command::{bytes_with, git, text};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::kept::keeps_filter;
use crate::core::entry::{GapCause, IsolatedRun};
use crate::core::told_path::told_path;

/// The most of a file's name that is told, in characters.
const CHARS_MAX: usize = 200;

/// What git says of a file of which an attribute names nothing.
const NO_FILTER: [&str; 3] = ["unspecified", "unset", "set"];

/// Of the work tree at `top`, for which these settings of the user's hold, the `differing` files.
pub(super) fn not_covered(top: &Path, settings: &str, differing: &[String]) -> IsolatedRun {
    let named = differing.iter().take(IsolatedRun::NAMED_MAX);
    IsolatedRun {
        not_covered: differing.len() as u64,
        named: named.map(|name| told_name(name)).collect(),
        cause: match differing {
            [] => None,
            _ if are_left_out(top, differing) => Some(GapCause::Sparse),
            _ => are_filtered(top, settings, differing).then_some(GapCause::Filter),
        },
    }
}

/// Whether git is told of one of them not to look for it in the work tree.
fn are_left_out(top: &Path, differing: &[String]) -> bool {
    let mut list = git(top, GitDeadline::NONE);
    let listed = text(list.args(["ls-files", "-t", "-z"])).unwrap_or_default();
    let left_out = listed.split('\0').filter_map(|row| row.strip_prefix("S "));
    let left_out: BTreeSet<&str> = left_out.collect();
    differing
        .iter()
        .any(|name| left_out.contains(name.as_str()))
}

/// Whether a filter rewrites one of them that git has and we do not run.
fn are_filtered(top: &Path, settings: &str, differing: &[String]) -> bool {
    let filters = filters(top, differing).unwrap_or_default();
    let mut list = git(top, GitDeadline::NONE);
    let listed = text(list.args(["config", "--includes", "-z", "--list"])).unwrap_or_default();
    let keys = listed.split('\0').filter_map(|row| row.split('\n').next());
    let keys: BTreeSet<&str> = keys.collect();
    filters.iter().any(|name| {
        let has = |key: &str| keys.contains(format!("filter.{name}.{key}").as_str());
        (has("clean") || has("process")) && !keeps_filter(settings, name)
    })
}

/// The filters that the attributes of these files name.
fn filters(top: &Path, names: &[String]) -> Option<BTreeSet<String>> {
    let mut list = tempfile::tempfile().ok()?;
    list.write_all(names.join("\0").as_bytes()).ok()?;
    list.rewind().ok()?;
    let mut ask = git(top, GitDeadline::NONE);
    let ask = ask.args(["check-attr", "-z", "--stdin", "filter"]);
    let told = bytes_with(ask, Stdio::from(list))?;
    let told = String::from_utf8_lossy(&told);
    // A path, the attribute and its value each.
    let values = told.split('\0').skip(2).step_by(3);
    let named = values.filter(|value| !NO_FILTER.contains(value));
    Some(named.map(str::to_owned).collect())
}

/// A file's name as it is told elsewhere too, and not a long one: whatever somebody wrote.
pub(super) fn told_name(name: &str) -> String {
    // Cut first: what is cut behind its quoting has lost the end of it.
    let short: String = name.chars().take(CHARS_MAX).collect();
    told_path(&short).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::git::command::bytes;

    #[test]
    fn a_name_that_shows_otherwise_than_it_is_is_told_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["plain.rs", "a\tb", "a\u{202e}b"].map(str::to_owned);
        let told = not_covered(folder.path(), "", &names);
        assert_eq!((told.not_covered, told.cause), (3, None));
        assert_eq!(told.named, ["plain.rs", r#""a\tb""#, r#""a\u{202e}b""#]);
    }

    #[test]
    fn what_differs_whatever_is_committed_is_told_by_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let run = |args: &[&str]| bytes(git(root, GitDeadline::NONE).args(args)).unwrap();
        run(&["init", "--quiet"]);
        for name in ["a.txt", "b.bin", "c.new"] {
            std::fs::write(root.join(name), "1").unwrap();
        }
        std::fs::write(root.join(".gitattributes"), "*.bin filter=own\n").unwrap();
        run(&["add", "."]);
        let cause = |names: &[&str], settings: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            not_covered(root, settings, &names).cause
        };
        // One that git does not have rewrites nothing.
        assert_eq!(cause(&["b.bin"], ""), None);
        run(&["config", "filter.own.clean", "cat"]);
        assert_eq!(cause(&["a.txt", "b.bin"], ""), Some(GapCause::Filter));
        assert_eq!(cause(&["a.txt", "c.new"], ""), None);
        let kept = "[filter \"own\"]\n\tclean = \"cat\"\n";
        assert_eq!(cause(&["b.bin"], kept), None);
        run(&["update-index", "--skip-worktree", "a.txt"]);
        assert_eq!(cause(&["a.txt", "b.bin"], ""), Some(GapCause::Sparse));
        assert_eq!(cause(&[], ""), None);
    }
}
