//! [`FileHeads`]: the beginnings of files of the project, masked.
//!
//! The project may be a stranger's, and paths come from agents: every file is a plain text file in
//! the project's folder, not behind a link, and not one that usually contains secrets.

use std::path::{Path, PathBuf};

use super::plain_file::read_plain;
use crate::core::between_words::cut_between_words;
use crate::core::hidden::letters;
use crate::core::policy::is_secret_path;
use crate::core::redact::Redactor;

/// The longest file whose beginning is shown, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How much of it is masked before it is cut to what is shown, in characters.
const MASKED_CHARS: usize = 16_000;

/// Reads them.
#[derive(Debug)]
pub struct FileHeads<'a> {
    root: PathBuf,
    redactor: &'a Redactor,
    /// Of each, in lines and characters.
    lines: usize,
    chars: usize,
}

impl<'a> FileHeads<'a> {
    /// Of the files below a folder that is there. Blocks for the disk.
    pub fn below(root: &Path, redactor: &'a Redactor, lines: usize, chars: usize) -> Option<Self> {
        Some(Self {
            root: root.canonicalize().ok()?,
            redactor,
            lines,
            chars,
        })
    }

    /// How the file of this path begins. Blocks for the disk.
    pub fn read(&self, path: &str) -> Option<String> {
        let named = self.root.join(path);
        let is_ours = named.starts_with(&self.root) && named.canonicalize().ok()? == named;
        if !is_ours || is_secret_path(path) {
            return None;
        }
        let text = read_plain(&named, FILE_BYTES_MAX).ok()?;
        let head = cut_between_words(&text, MASKED_CHARS);
        let (masked, _) = self.redactor.redact_text(head);
        let is_seen = |(c, is_hidden): &(char, bool)| {
            matches!(c, '\n' | '\t') || !(c.is_control() || *is_hidden)
        };
        let seen: String = letters(&masked).filter(is_seen).map(|(c, _)| c).collect();
        // Once more: what nobody sees may have stood in the middle of a secret.
        let (masked, _) = self.redactor.redact_text(&seen);
        let lines: Vec<&str> = masked.lines().take(self.lines).collect();
        Some(lines.join("\n").chars().take(self.chars).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::hidden::has_hidden;

    const SECRET: &str = concat!("AKIA", "R7QK3VD2MX5TPLB4");

    #[test]
    fn beginnings_are_masked_and_of_plain_files_of_the_project_alone() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("key"), "secret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let split = SECRET.replacen("R7", "R\u{200b}7", 1);
        let text = format!("key {SECRET}\u{1b}[2J\nkey {split} \u{202e}end\n");
        let text = text + &"line\n".repeat(100);
        std::fs::write(dir.path().join("a.rs"), text).unwrap();
        std::fs::write(dir.path().join("picture"), [0xff, 0xfe]).unwrap();
        std::os::unix::fs::symlink(outside.path().join("key"), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("a.rs", dir.path().join("inner")).unwrap();
        std::fs::write(dir.path().join("deploy.key"), "words").unwrap();
        let redactor = Redactor::new();
        let heads = FileHeads::below(dir.path(), &redactor, 30, 2_000).unwrap();
        let up = outside.path().join("key");
        let up = up.to_str().unwrap();
        for path in ["gone.rs", "link", "inner", "picture", "deploy.key", "", up] {
            assert_eq!(heads.read(path), None, "{path}");
        }
        let head = heads.read("a.rs").unwrap();
        assert!(!head.contains(SECRET) && !head.contains('\u{1b}'), "{head}");
        assert!(!has_hidden(&head), "{head:?}");
        assert_eq!(head.lines().count(), 30);
        // A secret of which only the first half has room is none of the text.
        let heads = FileHeads::below(dir.path(), &redactor, 1, 12).unwrap();
        assert!(!heads.read("a.rs").unwrap().contains("AKIA"));
    }
}
