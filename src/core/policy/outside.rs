//! [`outside`]: what a request for approval names outside the project's folder.

use super::git_write::COMMAND_BYTES_MAX;
use super::hint::Hint;
use super::need::named;
use crate::entry::ApprovalRequest;

/// What divides the words in which a path may stand.
const BETWEEN_WORDS: [char; 15] = [
    ' ', '\t', '\n', '\'', '"', '`', '=', ';', '|', '&', '(', ')', ',', '<', '>',
];

/// Paths that every command line may name: shells, and files that hold nothing.
const EVERYWHERE: [&str; 11] = [
    "/bin/bash",
    "/bin/sh",
    "/bin/zsh",
    "/usr/bin/bash",
    "/usr/bin/env",
    "/usr/bin/zsh",
    "/dev/null",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
];

/// Stands for the root, whose own name may have blanks in it.
pub(super) const ROOT_MARK: char = '\u{1}';

/// The folder, if it is not the project's (`root`, absolute and without links), and the first path
/// that lies elsewhere. By the names alone: links are not followed, and what a variable or a program
/// comes to is not known.
pub(super) fn outside(root: &str, request: &ApprovalRequest) -> Vec<Hint> {
    if !request.kind.has_paths() {
        return Vec::new();
    }
    let cwd = request.cwd.as_deref().filter(|cwd| cwd.starts_with('/'));
    let folder = cwd.filter(|cwd| !is_below(root, cwd));
    let folder = folder.map(|cwd| Hint::naming("its folder is not the project's", named(cwd)));
    let (_, words) = path_words(root, request);
    let words = words.iter().map(String::as_str);
    let mut seen: Vec<&str> = Vec::new();
    for word in words.filter(|word| leaves(root, cwd.unwrap_or(root), word)) {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    let more = match seen.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let path = seen.first().map(|path| {
        let what = match path.starts_with('~') {
            true => "names a path in your home folder",
            false => "names a path outside of the project",
        };
        let path = named(&path.replace(ROOT_MARK, root));
        Hint::naming(what, format!("{path}{more}"))
    });
    folder.into_iter().chain(path).collect()
}

/// What is read of a request, and the words of it in which a path may stand, [`ROOT_MARK`] in the
/// place of `root`.
pub(super) fn path_words<'r>(root: &str, request: &'r ApprovalRequest) -> (&'r str, Vec<String>) {
    let head = &request.subject[..request.subject.floor_char_boundary(COMMAND_BYTES_MAX)];
    let text = head.replace(&format!("{root}/"), &format!("{ROOT_MARK}/"));
    let words = text.split(BETWEEN_WORDS).map(str::to_owned);
    (head, words.collect())
}

/// Whether a word is a path that leads out of `root`, seen from `cwd`.
fn leaves(root: &str, cwd: &str, word: &str) -> bool {
    if word == "~" || word.starts_with("~/") {
        return true;
    }
    let word = word.strip_prefix("file://").unwrap_or(word);
    // Of any other address the path is another machine's.
    if word.contains("://") || EVERYWHERE.contains(&word) {
        return false;
    }
    if word.starts_with('/') {
        return !is_below(root, word);
    }
    if let Some(rest) = word.strip_prefix(ROOT_MARK) {
        return !is_below(root, &format!("{root}{rest}"));
    }
    word.split('/').any(|part| part == "..") && !is_below(root, &format!("{cwd}/{word}"))
}

/// Whether an absolute path is `root` or lies in it.
fn is_below(root: &str, path: &str) -> bool {
    let root = root.split('/').filter(|part| !part.is_empty());
    let mut parts = parts(path).into_iter();
    root.into_iter().all(|part| parts.next() == Some(part))
}

/// The names that an absolute path consists of, without detours.
pub(super) fn parts(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::ApprovalKind;

    const ROOT: &str = "/home/you/acme api";

    fn of(kind: ApprovalKind, cwd: &str, subject: &str) -> String {
        let request = ApprovalRequest {
            cwd: Some(cwd.to_owned()),
            ..ApprovalRequest::new(kind, "k".to_owned(), subject.to_owned())
        };
        let hints = outside(ROOT, &request).into_iter();
        let hints: Vec<String> = hints.map(|hint| hint.to_string()).collect();
        hints.join("; ")
    }

    #[test]
    fn what_lies_elsewhere_is_named_whichever_way_it_is_written() {
        let of = |subject| of(ApprovalKind::Command, ROOT, subject);
        for (command, path) in [
            ("/bin/bash -lc 'touch /etc/hosts'", "/etc/hosts"),
            ("rm -rf ../other", "../other"),
            ("cp a src/../../b", "src/../../b"),
            ("echo x>/etc/motd", "/etc/motd"),
            ("cat //etc/motd", "//etc/motd"),
            ("rm /etc/my\\ hosts", "/etc/my\\"),
            ("make run 2>>/var/log/run", "/var/log/run"),
            ("make --prefix=/usr/local", "/usr/local"),
            (
                "cat '/home/you/acme api/../secret'",
                "/home/you/acme api/../secret",
            ),
            ("cat /home/you/acme", "/home/you/acme"),
            ("ls /", "/"),
            ("open file:///etc/motd", "file:///etc/motd"),
        ] {
            let said = format!("names a path outside of the project: {path}");
            assert_eq!(of(command), said, "{command}");
        }
        let home = "names a path in your home folder: ~/.bashrc";
        assert_eq!(of("sed -i s/a/b/ ~/.bashrc"), home);
        let two = "names a path outside of the project: /etc/a and 1 more";
        assert_eq!(of("diff /etc/a /etc/b; cat /etc/a"), two);
    }

    #[test]
    fn what_lies_in_the_project_is_not() {
        for command in [
            "/bin/bash -lc 'cargo test 2>/dev/null'",
            "cat '/home/you/acme api/src/lib.rs'",
            "cat src/../README.md ./a...b",
            "curl https://example.org/a/b",
            "sed -e s/a/b/ -e 's|x|y|' a/b",
            "grep '^/etc' notes",
        ] {
            assert_eq!(of(ApprovalKind::Command, ROOT, command), "", "{command}");
        }
        let below = "/home/you/acme api/web";
        assert_eq!(of(ApprovalKind::Command, below, "cat ../README.md"), "");
        let whole = "cat '/home/you/acme api/web/../README.md'";
        assert_eq!(of(ApprovalKind::Command, below, whole), "");
    }

    #[test]
    fn a_folder_and_files_elsewhere_are_said_and_other_requests_have_no_paths() {
        let folder = "its folder is not the project's: /home/you/acme";
        let of_folder = of(ApprovalKind::Command, "/home/you/acme", "make");
        assert_eq!(of_folder, folder);
        let changes = "add /home/you/acme api/a.rs\nchange /etc/hosts";
        let said = "names a path outside of the project: /etc/hosts";
        assert_eq!(of(ApprovalKind::FileChange, ROOT, changes), said);
        assert_eq!(
            of(ApprovalKind::Permissions, ROOT, "write /etc/hosts"),
            said
        );
        assert_eq!(of(ApprovalKind::UserQuestion, "/", "read /etc/hosts?"), "");
    }
}
