//! [`ProjectRules`]: the instruction files of a project, read and masked.
//!
//! The project may be a stranger's: every file is plain, small and below the project's folder after
//! all links are resolved, there are few of them, and only references to text files are followed.

use std::io;
use std::path::{Path, PathBuf};

use super::plain_file::read_plain;
use crate::core::capsule::is_told_task;
use crate::core::instructions::{FileName, InstructionFile, RuleTexts, included};
use crate::core::redact::Redactor;

/// The files that vendors read, in the order in which their rules are given.
const NAMES: [&str; 9] = [
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.override.md",
    "AGENTS.md",
    ".cursorrules",
    ".windsurfrules",
    "GEMINI.md",
    ".github/copilot-instructions.md",
];

/// Rules of Cursor's, one file each.
const CURSOR_FOLDER: &str = ".cursor/rules";

/// What a file that another one names must end in: a text, and none with keys in it.
const TEXT_ENDS: [&str; 4] = [".md", ".mdc", ".markdown", ".txt"];

/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// All files together, in bytes.
const BYTES_MAX: usize = 1024 * 1024;

/// All files.
const FILES_MAX: usize = 100;

/// How far a file is followed to others (Claude's own bound, by its documentation).
const DEPTH_MAX: usize = 5;

/// The instruction files of a project.
#[derive(Debug, Default)]
pub struct ProjectRules {
    /// Files stand behind those that include them.
    pub files: Vec<InstructionFile>,
    /// What is there and was not read: its name and why.
    pub unread: Vec<(FileName, String)>,
    bytes: usize,
}

impl ProjectRules {
    /// Reads them. Blocks for the disk.
    pub fn read(root: &Path, redactor: &Redactor) -> Self {
        let mut rules = Self::default();
        let Ok(root) = root.canonicalize() else {
            return rules;
        };
        let mut names: Vec<FileName> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        names.extend(cursor_rules(&root));
        for name in names {
            rules.take(&root, redactor, name, None, 0);
        }
        rules
    }

    /// What each of them says.
    pub fn texts(&self) -> RuleTexts {
        let texts = self.files.iter();
        texts
            .map(|file| (file.name().to_owned(), file.text().to_owned()))
            .collect()
    }

    fn take(
        &mut self,
        root: &Path,
        redactor: &Redactor,
        name: FileName,
        by: Option<&str>,
        depth: usize,
    ) {
        // Also what ends a circle.
        if self.files.iter().any(|file| file.name() == name) {
            return;
        }
        let is_text = TEXT_ENDS.iter().any(|end| name.ends_with(end));
        if by.is_some() && !is_text {
            // Nothing is said of a word that names no file.
            if root.join(&name).is_file() {
                let why = format!("only {} are followed", TEXT_ENDS.join(" "));
                self.unread.push((name, why));
            }
            return;
        }
        if self.files.len() == FILES_MAX || self.bytes >= BYTES_MAX {
            if root.join(&name).is_file() {
                let why = format!("more than {FILES_MAX} files or {BYTES_MAX} bytes");
                self.unread.push((name, why));
            }
            return;
        }
        let text = match read(root, &name) {
            Ok(text) => text,
            Err(error) if is_absence(&error) => return,
            Err(error) => return self.unread.push((name, error.to_string())),
        };
        if name.starts_with(CURSOR_FOLDER) && is_told_task(&text) {
            let why = "a task that `capsule handoff` wrote: data, and no rule";
            return self.unread.push((name, why.to_owned()));
        }
        self.bytes += text.len();
        let (masked, _) = redactor.redact_text(&text);
        let file = InstructionFile::new(name.clone(), &masked, by.map(str::to_owned));
        let next = included(file.text(), &name);
        self.files.push(file);
        if depth < DEPTH_MAX {
            for other in next {
                self.take(root, redactor, other, Some(&name), depth + 1);
            }
        }
    }
}

fn cursor_rules(root: &Path) -> Vec<FileName> {
    let Ok(entries) = root.join(CURSOR_FOLDER).read_dir() else {
        return Vec::new();
    };
    let names = entries
        .take(FILES_MAX)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<FileName> = names
        .filter(|name| name.ends_with(".mdc"))
        .map(|name| format!("{CURSOR_FOLDER}/{name}"))
        .collect();
    names.sort();
    names
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Reads a plain file that lies below the root behind all links: projects link `CLAUDE.md` to
/// `AGENTS.md`, and a stranger's could link it to a key.
fn read(root: &Path, name: &str) -> io::Result<String> {
    let real: PathBuf = root.join(name).canonicalize()?;
    if !real.starts_with(root) {
        let why = "it leads out of the project";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    read_plain(&real, FILE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::capsule::{
        Capsule, Freshness, RENDER_CHARS_MAX, RenderTarget, RenderTerms, Rendering, StandsNow,
    };
    use crate::core::id::CapsuleId;
    use std::os::unix::fs::symlink;

    const SECRET: &str = concat!("AKIA", "R7QK3VD2MX5TPLB4");

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    fn names(rules: &ProjectRules) -> Vec<&str> {
        rules.files.iter().map(InstructionFile::name).collect()
    }

    #[test]
    fn files_and_what_they_include_are_read_once_and_masked() {
        let dir = project(&[
            ("CLAUDE.md", "Rules: @docs/a.md and @package.json, @nobody"),
            (
                "docs/a.md",
                &format!("Back to @../CLAUDE.md\nkey: {SECRET}"),
            ),
            ("package.json", "{}"),
            (".cursor/rules/b.mdc", "B."),
            (".cursor/rules/a.mdc", "A."),
            ("AGENTS.md", "Agents."),
        ]);
        let rules = ProjectRules::read(dir.path(), &Redactor::new());
        assert_eq!(
            names(&rules),
            [
                "CLAUDE.md",
                "docs/a.md",
                "AGENTS.md",
                ".cursor/rules/a.mdc",
                ".cursor/rules/b.mdc"
            ]
        );
        assert_eq!(rules.files[1].included_by(), Some("CLAUDE.md"));
        assert!(!rules.files[1].text().contains(SECRET));
        let unread: Vec<&str> = rules.unread.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(unread, ["package.json"]);
    }

    #[test]
    fn a_task_that_was_told_for_cursor_is_no_rule() {
        let capsule = Capsule::new(CapsuleId::new("cap_3f9a61c07b2e"), "Fix the login", 0);
        let terms = RenderTerms {
            target: RenderTarget::Cursor,
            stands: &StandsNow::plain(Freshness::Fresh),
            is_foreign: false,
            chars_max: RENDER_CHARS_MAX,
            found: &[],
        };
        let told = Rendering::of(&capsule, terms).text;
        let dir = project(&[
            (".cursor/rules/login.mdc", &told),
            (
                ".cursor/rules/style.mdc",
                "---\ndescription: Task names\n---\nShort.",
            ),
        ]);
        let rules = ProjectRules::read(dir.path(), &Redactor::new());
        assert_eq!(names(&rules), [".cursor/rules/style.mdc"]);
        let (name, why) = &rules.unread[0];
        assert_eq!(name, ".cursor/rules/login.mdc");
        assert!(why.contains("no rule"), "{why}");
    }

    #[test]
    fn what_leads_out_of_the_project_is_not_read() {
        let outside = project(&[("key.md", "secret")]);
        let dir = project(&[("AGENTS.md", "Agents.")]);
        symlink(outside.path().join("key.md"), dir.path().join("CLAUDE.md")).unwrap();
        symlink("AGENTS.md", dir.path().join("GEMINI.md")).unwrap();
        let rules = ProjectRules::read(dir.path(), &Redactor::new());
        assert_eq!(names(&rules), ["AGENTS.md", "GEMINI.md"]);
        let why = "it leads out of the project".to_owned();
        assert_eq!(rules.unread, [("CLAUDE.md".to_owned(), why)]);
    }

    #[test]
    fn what_is_huge_or_no_text_or_no_file_is_named_with_its_reason() {
        let huge = "x".repeat(FILE_BYTES_MAX as usize + 1);
        let dir = project(&[("CLAUDE.md", &huge), ("GEMINI.md/x", "")]);
        std::fs::write(dir.path().join("AGENTS.md"), [0xff, 0xfe]).unwrap();
        let rules = ProjectRules::read(dir.path(), &Redactor::new());
        assert!(rules.files.is_empty());
        let unread: Vec<String> = rules
            .unread
            .iter()
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        assert_eq!(
            unread,
            [
                "CLAUDE.md: it is longer than 256 KiB",
                "AGENTS.md: it is not UTF-8",
                "GEMINI.md: it is not a plain file"
            ]
        );
    }
}
