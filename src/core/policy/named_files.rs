//! [`named_files`]: which of some files a request for approval is about.

use std::collections::BTreeSet;

use super::outside::{ROOT_MARK, parts, path_words};
use crate::entry::ApprovalRequest;

/// Those of `files` (below `root`, or absolute) that a request names: the files of a change, the
/// paths in the text of a command. By the names alone, as with all that is read from such a text.
pub fn named_files<'f>(
    root: &str,
    request: &ApprovalRequest,
    files: impl IntoIterator<Item = &'f str>,
) -> Vec<String> {
    if !request.kind.has_paths() {
        return Vec::new();
    }
    let cwd = request.cwd.as_deref().filter(|cwd| cwd.starts_with('/'));
    let place = |base: &str, path: &str| {
        let path = match path.strip_prefix(ROOT_MARK) {
            Some(rest) => format!("{root}{rest}"),
            None if path.starts_with('/') => path.to_owned(),
            None => format!("{base}/{path}"),
        };
        parts(&path).join("/")
    };
    let (head, text) = path_words(root, request);
    // A path with blanks stands on a line of its own, perhaps behind a word for what becomes of it.
    let behind = |line| [Some(line), str::split_once(line, ' ').map(|(_, rest)| rest)];
    let lines = head.lines().flat_map(behind).flatten();
    let words = text.iter().map(String::as_str);
    let named = lines.chain(words).filter(|word| !word.is_empty());
    let named: BTreeSet<String> = named.map(|word| place(cwd.unwrap_or(root), word)).collect();
    let mut seen = BTreeSet::new();
    let files = files.into_iter().filter(|file| {
        let placed = place(root, file);
        named.contains(&placed) && seen.insert(placed)
    });
    files.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::ApprovalKind;

    const ROOT: &str = "/home/you/acme api";

    fn of(kind: ApprovalKind, cwd: &str, subject: &str) -> Vec<String> {
        let request = ApprovalRequest {
            cwd: Some(cwd.to_owned()),
            ..ApprovalRequest::new(kind, "k".to_owned(), subject.to_owned())
        };
        let files = ["src/lib.rs", "my notes.md", "/etc/hosts", "src/lib.rs"];
        named_files(ROOT, &request, files)
    }

    #[test]
    fn a_file_is_known_whichever_way_a_command_writes_it() {
        let below = format!("{ROOT}/src");
        for (cwd, command) in [
            (ROOT, "sed -i s/a/b/ src/lib.rs"),
            (ROOT, "/bin/bash -lc 'rm ./src/../src/lib.rs'"),
            (ROOT, "cat '/home/you/acme api/src/lib.rs'"),
            (ROOT, "echo x>src/lib.rs"),
            (&below, "git checkout -- lib.rs"),
        ] {
            let named = of(ApprovalKind::Command, cwd, command);
            assert_eq!(named, ["src/lib.rs"], "{command}");
        }
        let two = of(ApprovalKind::Command, ROOT, "cp /etc/hosts src/lib.rs");
        assert_eq!(two, ["src/lib.rs", "/etc/hosts"]);
    }

    #[test]
    fn the_files_of_a_change_are_known_and_other_names_are_not() {
        let changes = "add src/new.rs\nchange my notes.md\nchange src/lib.rs";
        let named = of(ApprovalKind::FileChange, ROOT, changes);
        assert_eq!(named, ["src/lib.rs", "my notes.md"]);
        let alone = format!("{ROOT}/src/lib.rs");
        assert_eq!(of(ApprovalKind::FileChange, ROOT, &alone), ["src/lib.rs"]);
        for command in ["cat lib.rs", "cat src/lib.rs.bak", "ls src", ""] {
            let named = of(ApprovalKind::Command, ROOT, command);
            assert!(named.is_empty(), "{command}");
        }
        assert!(of(ApprovalKind::Tool, ROOT, "src/lib.rs").is_empty());
    }
}
