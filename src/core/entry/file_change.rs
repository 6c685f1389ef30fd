//! [`FileChange`]: what a request would do to a file; [`FileAct`]: that in one word.

use std::fmt;

use crate::word::words;

const BELOW: &str = "write below ";
/// Between a path and the one that it is moved to.
const MOVED_TO: &str = " and move it to ";

words! {
    /// What is done to a file: a word of Codex's, or a tool of Claude's.
    pub closed enum FileAct {
        Add = "add",
        Delete = "delete",
        Change = "change",
        Edit = "edit",
        MultiEdit = "multiedit",
        NotebookEdit = "notebookedit",
        Write = "write",
    }
}

/// What becomes of a file that a request is about. In the request's subject it is a line of text,
/// which is written and read here alone. The name of a file can have any of its words in it: no text
/// is lost by reading it, and [`Self::paths`] has each path that it may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// Of one file.
    One {
        act: FileAct,
        path: String,
        moved_to: Option<String>,
    },
    /// Of everything below a folder.
    Below(String),
    /// In other words, or more of a path that has the end of a line in it.
    Other(String),
}

impl FileChange {
    /// Of a file that stays where it is.
    pub fn of(act: FileAct, path: &str) -> Self {
        Self::One {
            act,
            path: path.to_owned(),
            moved_to: None,
        }
    }

    /// Each path that the line may name.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, more) = match self {
            Self::One { path, moved_to, .. } => (path.as_str(), moved_to.as_deref()),
            Self::Below(folder) => (folder.as_str(), None),
            // A word that is not known may stand before the path, or be the beginning of it.
            Self::Other(text) => (text.as_str(), text.split_once(' ').map(|(_, path)| path)),
        };
        let texts = [Some(path), more].into_iter().flatten();
        let parts = texts.flat_map(|text| text.split(MOVED_TO));
        // The words for a move share a blank with the same words at the end of a path.
        let again = MOVED_TO.trim_start();
        parts.map(move |part| part.strip_prefix(again).unwrap_or(part))
    }
}

impl From<&str> for FileChange {
    fn from(line: &str) -> Self {
        if let Some(folder) = line.strip_prefix(BELOW) {
            return Self::Below(folder.to_owned());
        }
        let known = line.split_once(' ');
        let Some((act, path)) = known.and_then(|(act, path)| Some((FileAct::parse(act)?, path)))
        else {
            return Self::Other(line.to_owned());
        };
        let (path, moved_to) = match path.split_once(MOVED_TO) {
            Some((path, to)) => (path, Some(to.to_owned())),
            None => (path, None),
        };
        Self::One {
            act,
            path: path.to_owned(),
            moved_to,
        }
    }
}

impl fmt::Display for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One {
                act,
                path,
                moved_to,
            } => {
                write!(f, "{act} {path}")?;
                match moved_to {
                    Some(to) => write!(f, "{MOVED_TO}{to}"),
                    None => Ok(()),
                }
            }
            Self::Below(folder) => write!(f, "{BELOW}{folder}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moved(path: &str, to: &str) -> FileChange {
        FileChange::One {
            act: FileAct::Change,
            path: path.to_owned(),
            moved_to: Some(to.to_owned()),
        }
    }

    #[test]
    fn each_change_is_the_line_that_records_have_of_it() {
        for (change, line) in [
            (FileChange::of(FileAct::Add, "src/a b.rs"), "add src/a b.rs"),
            (FileChange::of(FileAct::Delete, "a"), "delete a"),
            (FileChange::of(FileAct::Change, "a"), "change a"),
            (moved("a", "b/c"), "change a and move it to b/c"),
            (FileChange::Below("/a".to_owned()), "write below /a"),
            (FileChange::of(FileAct::Write, "below"), "write below"),
            (FileChange::of(FileAct::Edit, "/p/.env"), "edit /p/.env"),
            (FileChange::of(FileAct::MultiEdit, "a"), "multiedit a"),
            (FileChange::of(FileAct::NotebookEdit, "a"), "notebookedit a"),
            (FileChange::Other("/a/add".to_owned()), "/a/add"),
            (FileChange::Other("touch a".to_owned()), "touch a"),
            (FileChange::Other(String::new()), ""),
        ] {
            assert_eq!(change.to_string(), line);
            assert_eq!(FileChange::from(line), change);
        }
    }

    #[test]
    fn a_line_that_can_be_read_in_two_ways_has_the_paths_of_both() {
        let paths = |line: &str| {
            let change = FileChange::from(line);
            change.paths().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(paths("touch a"), ["touch a", "a"]);
        assert_eq!(paths("write below a"), ["a"]);
        let twice = "change a and move it to b and move it to c";
        assert_eq!(paths(twice), ["a", "b", "c"]);
        assert_eq!(paths("write below a and move it to b"), ["a", "b"]);
        let to = moved("a and move it to", "b").to_string();
        assert_eq!(paths(&to), ["a", "b"]);
    }

    const HOSTILE: &str =
        "(add|write | below |change | and move it to |and move it to|\n|[a-z /]{0,3}){0,5}";

    proptest! {
        #[test]
        fn no_line_is_changed_by_reading_it(line in HOSTILE) {
            prop_assert_eq!(FileChange::from(line.as_str()).to_string(), line);
        }

        #[test]
        fn where_a_file_is_moved_to_is_known_whatever_the_file_is_called(path in HOSTILE) {
            let text = moved(&path, ".git/config").to_string();
            let read = text.lines().map(FileChange::from).collect::<Vec<_>>();
            let mut paths = read.iter().flat_map(FileChange::paths);
            prop_assert!(paths.any(|path| path == ".git/config"), "{text:?}");
        }
    }
}
