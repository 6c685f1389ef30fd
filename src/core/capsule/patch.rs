//! [`patched_files`]: the files of a patch, if it has the plain form that a capsule may carry.
//!
//! Stricter than `git apply`, which accepts much more: `git apply` never gets what is refused here,
//! and the files returned here are all that it touches.

use super::is_within;
use crate::hidden::{is_hidden, is_joining};

/// Folders that no patch reaches into, at any depth and in any case.
const CLOSED: [&str; 2] = [".git", ".contextrelay"];

/// Folders, at any depth, of what agents, git, editors and what builds a project elsewhere run or obey
/// by themselves.
const OBEYED_FOLDERS: [&str; 25] = [
    // Settings, hooks, commands, subagents, skills, rules and servers of agents.
    ".agents",
    ".amazonq",
    ".claude",
    ".claude-plugin",
    ".clinerules",
    ".codex",
    ".continue",
    ".cursor",
    ".gemini",
    ".junie",
    ".kiro",
    ".opencode",
    ".roo",
    ".windsurf",
    // Hooks of git.
    ".githooks",
    ".husky",
    ".lefthook",
    // Settings of builders, which name programs to run.
    ".cargo",
    ".mvn",
    // Tasks of editors, and what is run where the project is opened or pushed.
    ".circleci",
    ".devcontainer",
    ".github",
    ".idea",
    ".vscode",
    ".zed",
];

/// Files of that sort, at any depth.
const OBEYED_FILES: [&str; 35] = [
    "claude.md",
    "claude.local.md",
    "agents.md",
    "agents.override.md",
    "agent.md",
    "gemini.md",
    "qwen.md",
    ".mcp.json",
    ".lsp.json",
    "opencode.json",
    "opencode.jsonc",
    ".clinerules",
    ".cursorrules",
    ".windsurfrules",
    ".roorules",
    ".aider.conf.yml",
    // Of git, and what runs at its commits.
    ".gitmodules",
    ".gitattributes",
    ".lfsconfig",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    // Run by a shell, an editor or a builder that comes by.
    ".envrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    "mise.toml",
    ".mise.toml",
    ".yarnrc",
    ".yarnrc.yml",
    ".npmrc",
    ".gitlab-ci.yml",
];

/// Whether an agent or a tool runs or obeys a file without anybody naming it, in any case.
pub fn is_obeyed(path: &str) -> bool {
    let mut parts: Vec<String> = path.split('/').map(folded).collect();
    let name = parts.pop().unwrap_or_default();
    OBEYED_FILES.contains(&name.as_str())
        || parts
            .iter()
            .any(|part| OBEYED_FOLDERS.contains(&part.as_str()))
}

/// A name as it is the same for file systems that look at no case: `ſ` is an `S` there, letters that
/// show as nothing are none on some, and blanks and dots at an end on others.
fn folded(name: &str) -> String {
    let is_seen = |letter: &char| !is_hidden(*letter) && !is_joining(*letter);
    let seen: String = name.chars().filter(is_seen).collect();
    let folded = seen.to_uppercase().to_lowercase();
    folded.trim_end_matches([' ', '.']).to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// Its path, relative to the project.
    pub path: String,
    /// The patch makes it.
    pub is_new: bool,
    /// The patch deletes it.
    pub is_deleted: bool,
}

impl PatchedFile {
    /// What becomes of it, behind its name; nothing where it is changed.
    pub fn fate(&self) -> &'static str {
        match (self.is_new, self.is_deleted) {
            (_, true) => "  deleted",
            (true, _) => "  new",
            _ => "",
        }
    }
}

/// As [`patched_files`], their paths alone.
///
/// # Errors
///
/// As there.
pub fn patch_files(patch: &[u8]) -> Result<Vec<String>, String> {
    let files = patched_files(patch)?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// The files of a patch, in its order.
///
/// # Errors
///
/// Why it is not to be applied, as a fragment: a link, a submodule, a name that is renamed, quoted
/// or leaves the project, or something that is no patch of git's.
pub fn patched_files(patch: &[u8]) -> Result<Vec<PatchedFile>, String> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let mut part = Part::Start;
    for (number, line) in patch.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let bad = |why: &str| format!("line {}: {why}", number + 1);
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if let Part::Text { old, new } = &mut part
            && (*old, *new) != (0, 0)
        {
            take(line, old, new).ok_or_else(|| bad("not of its hunk"))?;
            continue;
        }
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let path = path_of(names).ok_or_else(|| bad("a name that is not taken"))?;
            if files.iter().any(|file| file.path == path) {
                return Err(bad("the same file twice"));
            }
            files.push(PatchedFile {
                path,
                is_new: false,
                is_deleted: false,
            });
            part = Part::Head;
            continue;
        }
        let file = files.last_mut();
        part = match part {
            Part::Head | Part::Text { .. } if line.starts_with(b"@@ ") => {
                hunk(line).ok_or_else(|| bad("no head of a hunk"))?
            }
            Part::Text { .. } if line.starts_with(b"\\ ") => part,
            Part::Head if line == b"GIT binary patch" => Part::Binary,
            Part::Head if file.as_deref().is_some_and(|file| is_head(line, file)) => {
                if let Some(file) = file {
                    file.is_new |= line.starts_with(b"new file ");
                    file.is_deleted |= line.starts_with(b"deleted file ");
                }
                Part::Head
            }
            Part::Binary if is_binary(line) => Part::Binary,
            _ => return Err(bad("not of the form that is taken")),
        };
    }
    match part {
        Part::Text { old: 0, new: 0 } | Part::Head | Part::Binary => Ok(files),
        _ => Err("it ends before its end".to_owned()),
    }
}

/// Where in a patch a line stands.
#[derive(Debug, Clone, Copy)]
enum Part {
    Start,
    Head,
    /// In a hunk, with so many lines to come of the file before and of that after.
    Text {
        old: u64,
        new: u64,
    },
    Binary,
}

fn take(line: &[u8], old: &mut u64, new: &mut u64) -> Option<()> {
    match line.first()? {
        b' ' => {
            *old = old.checked_sub(1)?;
            *new = new.checked_sub(1)?;
        }
        b'-' => *old = old.checked_sub(1)?,
        b'+' => *new = new.checked_sub(1)?,
        b'\\' => {}
        _ => return None,
    }
    Some(())
}

/// `@@ -1,2 +1,3 @@ …`.
fn hunk(line: &[u8]) -> Option<Part> {
    let line = String::from_utf8_lossy(line);
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse::<u64>().ok(),
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    Some(Part::Text {
        old: count(old)?,
        new: count(new)?,
    })
}

/// The one path in `a/PATH b/PATH`, when it may be written to.
fn path_of(names: &[u8]) -> Option<String> {
    let names = std::str::from_utf8(names).ok()?;
    let (_, second) = names.split_at_checked(names.len().checked_sub(5)? / 2 + 3)?;
    let path = second.strip_prefix("b/")?;
    let is_closed = |part: &str| CLOSED.contains(&folded(part).as_str());
    let may_be_written = is_within(path) && !path.split('/').any(is_closed);
    (may_be_written && names == format!("a/{path} b/{path}")).then(|| path.to_owned())
}

/// What may stand between the names and the content. No link and no repository within: those would
/// lead elsewhere. A file is new or deleted only as it was told before: git takes `/dev/null` alone
/// for that too.
fn is_head(line: &[u8], file: &PatchedFile) -> bool {
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    let is_mode = |mode: &str| matches!(mode, "100644" | "100755");
    let modes = [
        "old mode ",
        "new mode ",
        "deleted file mode ",
        "new file mode ",
    ];
    if let Some(mode) = modes.iter().find_map(|name| line.strip_prefix(name)) {
        return is_mode(mode);
    }
    if let Some(index) = line.strip_prefix("index ") {
        return match index.split_once(' ') {
            Some((_, mode)) => is_mode(mode),
            None => true,
        };
    }
    let is_side = |side: &str, named: &str, is_absent: bool| {
        let named = named.strip_suffix('\t').unwrap_or(named);
        match is_absent {
            true => named == "/dev/null",
            false => named.strip_prefix(side) == Some(&*file.path),
        }
    };
    match (line.strip_prefix("--- "), line.strip_prefix("+++ ")) {
        (Some(named), _) => is_side("a/", named, file.is_new),
        (_, Some(named)) => is_side("b/", named, file.is_deleted),
        _ => false,
    }
}

/// `literal 12`, `delta 7`, a line of base 85 or an empty one.
fn is_binary(line: &[u8]) -> bool {
    let numbered = [&b"literal "[..], b"delta "];
    let is_size = |rest: &[u8]| rest.iter().all(u8::is_ascii_digit);
    match numbered.iter().find_map(|name| line.strip_prefix(*name)) {
        Some(rest) => is_size(rest),
        None => {
            line.first().is_none_or(u8::is_ascii_alphabetic)
                && line.iter().all(u8::is_ascii_graphic)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "diff --git a/a b.rs b/a b.rs\nindex 1..2 100644\n--- a/a b.rs\t\n+++ b/a b.rs\t\n";

    fn files(patch: &str) -> Result<Vec<String>, String> {
        patch_files(patch.as_bytes())
    }

    #[test]
    fn what_an_agent_runs_or_obeys_is_known_by_its_name_at_any_depth_and_in_any_case() {
        for path in [
            ".claude/settings.json",
            "a/.Codex/config.toml",
            "CLAUDE.md",
            "web/AGENTS.md",
            ".mcp.json",
            ".gitmodules",
            ".claude/settings.local.json",
            ".claude/commands/a/b.md",
            ".claude/agents/a.md",
            ".claude/skills/a/SKILL.md",
            ".agents/skills/a/SKILL.md",
            ".cursor/rules/a.mdc",
            "web/.cursor/mcp.json",
            ".github/copilot-instructions.md",
            "opencode.json",
            "AGENTS.override.md",
            "a/b/claude.local.MD",
            ".envrc",
            ".VSCode/tasks.json",
            ".husky/pre-commit",
            ".pre-commit-config.yaml",
            ".cargo/config.toml",
            "web/.mvn/jvm.config",
            ".yarnrc",
            // The same file where case, or what shows as nothing, makes no difference.
            "AGENT\u{17f}.md",
            ".cl\u{200c}aude/settings.json",
            ".claude./settings.json",
        ] {
            assert!(is_obeyed(path), "{path}");
        }
        for path in [
            "src/claude.rs",
            "docs/claude.md.txt",
            "claude/settings.json",
            "opencode/json",
            "src/github/mod.rs",
            "package.json",
            "Cargo.toml",
        ] {
            assert!(!is_obeyed(path), "{path}");
        }
    }

    #[test]
    fn the_files_of_a_patch_are_told() {
        let text =
            format!("{HEAD}@@ -1,2 +1,2 @@ fn\n-- x\n+++ y\n same\n\\ No newline at end of file\n");
        let binary = "diff --git a/l b/l\nnew file mode 100755\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZQz\n\nliteral 0\nHcmV?d00001\n\n";
        assert_eq!(files(&format!("{text}{binary}")).unwrap(), ["a b.rs", "l"]);
        assert!(files("").is_err());
    }

    #[test]
    fn which_files_are_new_and_which_are_deleted_is_told() {
        let head = |path: &str, line: &str| format!("diff --git a/{path} b/{path}\n{line}");
        let patch = [
            head("a", "old mode 100644\nnew mode 100755\n"),
            head("b", "new file mode 100644\nindex 0..1\n"),
            head("c", "deleted file mode 100644\nindex 1..0\n"),
            // Of what it holds nothing is believed.
            head("d", "index 1..2 100644\n--- a/d\n+++ b/d\n"),
            "@@ -1 +1,2 @@\n-new file mode 100644\n+deleted file mode 100644\n+new file mode 100644\n".to_owned(),
        ];
        let files = patched_files(patch.concat().as_bytes())
            .unwrap()
            .into_iter();
        let told: Vec<String> = files
            .map(|it| format!("{}{}", it.path, it.fate()))
            .collect();
        assert_eq!(told, ["a", "b  new", "c  deleted", "d"]);
    }

    #[test]
    fn what_leads_elsewhere_is_refused_with_its_line() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        let of = |path: &str| {
            format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}")
        };
        assert!(files(&of("src/a.rs")).is_ok());
        for path in [
            "../a",
            "/etc/a",
            ".git/config",
            "a/.GIT/x",
            ".g\u{200c}it/hooks/pre-commit",
            ".git /config",
            ".contextrelay/config.toml",
            "a/./b",
            "a\\b",
        ] {
            assert!(
                files(&of(path)).unwrap_err().starts_with("line 1:"),
                "{path}"
            );
        }
        for bad in [
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
            "diff --git a/x b/y\nrename from x\nrename to y\n".to_owned(),
            "diff --git a/x b/x\nnew file mode 120000\n".to_owned(),
            "diff --git a/x b/x\nindex 1..2 160000\n".to_owned(),
            "diff --git \"a/x\" \"b/x\"\n".to_owned(),
            format!("diff --git a/x b/x\n--- a/x\n+++ b/other\n{hunk}"),
            // A second file in the old form, behind a hunk that is over.
            format!("{}--- a/x\n+++ ../x\n{hunk}", of("a")),
            format!("{}{}", of("a"), of("a")),
            format!("{HEAD}@@ -1,9 +1,9 @@\n-a\n"),
            format!("{HEAD}GIT binary patch\n--- a/x\n"),
            // Made or deleted without being told as such.
            "diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n".to_owned(),
            "diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n".to_owned(),
            "diff --git a/x b/x\ndeleted file mode 100644\n--- /dev/null\n+++ b/x\n".to_owned(),
        ] {
            assert!(files(&bad).is_err(), "{bad}");
        }
        for good in [
            "deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
        ] {
            assert!(
                files(&format!("diff --git a/x b/x\n{good}")).is_ok(),
                "{good}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at in 0_usize..200) {
            let _ = patch_files(&bytes);
            let mut patch = format!("{HEAD}@@ -1 +1 @@\n-a\n+b\n").into_bytes();
            let at = at.min(patch.len());
            patch.splice(at..at, bytes);
            let _ = patch_files(&patch);
        }
    }
}
