//! [`rewrite`]: keeps our block in a project's instruction files current, where `init` put it.

use std::path::Path;

use crate::adapters::codex::instruction_names::{codex_home, fallback_names};
use crate::core::managed_block::{with_block, without_block};
use crate::store::dirs::read_private;
use crate::store::user_file::{behind, replace};

/// More than any instruction file is long, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Where `init` puts a block, besides the names that Codex's configuration adds.
const NAMES: [&str; 4] = [
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "AGENTS.override.md",
];

/// The result of rewriting the blocks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::daemon) struct RewrittenBlocks {
    /// The files that were changed.
    pub(in crate::daemon) changed: Vec<String>,
    /// Files that have a block, or had one, and could not be changed; why.
    pub(in crate::daemon) left: Vec<String>,
}

/// Puts `body` into every block that is there. A file without one is left alone, whatever it is.
pub(in crate::daemon) fn rewrite(root: &Path, body: &str) -> RewrittenBlocks {
    let more = fallback_names(root, codex_home().as_deref()).unwrap_or_default();
    let names = NAMES.into_iter().map(str::to_owned).chain(more);
    let mut done = RewrittenBlocks::default();
    for name in names {
        match rewrite_one(root, &name, body) {
            Ok(true) => done.changed.push(name),
            Ok(false) => {}
            Err(why) => done.left.push(format!("{name}: {why}")),
        }
    }
    done
}

/// Whether the file was changed.
fn rewrite_one(root: &Path, name: &str, body: &str) -> Result<bool, String> {
    let real = behind(root, &root.join(name))?;
    let Ok(bytes) = read_private(&real, FILE_BYTES_MAX) else {
        return Ok(false);
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(false);
    };
    let mend = |why: &dyn std::fmt::Display| format!("{why}; mend them by hand");
    if without_block(&text).map_err(|why| mend(&why))?.is_none() {
        return Ok(false);
    }
    let after = with_block(&text, body).map_err(|why| mend(&why))?;
    if after == text {
        return Ok(false);
    }
    replace(&real, &after, true).map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_a_block_that_is_there_is_rewritten_and_only_once_behind_a_link() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let old = with_block("# Mine\n", "old words").unwrap();
        std::fs::write(root.join("CLAUDE.md"), &old).unwrap();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(root.join("CLAUDE.md"), mode).unwrap();
        symlink("CLAUDE.md", root.join("AGENTS.md")).unwrap();
        // Somebody else's file, behind a link out of the project.
        let theirs = outside.path().join("x.md");
        std::fs::write(&theirs, &old).unwrap();
        symlink(&theirs, root.join("AGENTS.override.md")).unwrap();

        let done = rewrite(&root, "new words");
        assert_eq!(done.changed, ["CLAUDE.md"]);
        let left = "AGENTS.override.md: it is a link that leaves the project";
        assert_eq!(done.left, [left]);
        let text = std::fs::read_to_string(root.join("CLAUDE.md")).unwrap();
        assert_eq!(text, with_block("# Mine\n", "new words").unwrap());
        let kept = root.join("CLAUDE.md").metadata().unwrap().permissions();
        assert_eq!(kept.mode() & 0o777, 0o600);
        assert!(root.join("AGENTS.md").is_symlink());
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), old);
        assert!(rewrite(&root, "new words").changed.is_empty());
    }

    #[test]
    fn a_file_without_a_block_stays_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("AGENTS.md"), "# Mine\r\n").unwrap();
        assert_eq!(rewrite(&root, "new words"), RewrittenBlocks::default());
        assert_eq!(
            std::fs::read(root.join("AGENTS.md")).unwrap(),
            b"# Mine\r\n"
        );
    }
}
