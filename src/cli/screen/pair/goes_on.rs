//! A pair that opens again continues where it was: Codex does so by itself, and Claude is told
//! which conversation to continue.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::context::CliContext;
use crate::cli::record::recover::LastConversation;
use crate::cli::settings::environment;

/// Has Claude go on in the last conversation of this pair, where one of these commands opens it and
/// no other Claude has that conversation open.
pub(super) fn goes_on(context: &CliContext, commands: &mut [Vec<OsString>]) {
    let project = &context.project;
    let Some(opens) = commands.iter_mut().find(|words| opens_claude(words)) else {
        return;
    };
    let Some(LastConversation { id, open }) = LastConversation::of(project) else {
        return;
    };
    let kept = claude_home(environment).map(|home| transcript(&home, &project.dirs.root, &id));
    if !kept.is_some_and(|kept| kept.is_file()) {
        return;
    }
    if let Some(open) = open {
        let process = open.pid.map(|pid| format!(" (process {pid})"));
        context.out.note(&format!(
            "Claude's conversation {id} is open already{}: another one begins here; once that one is \
             closed, `ctxrelay recover` says how to go on in it",
            process.unwrap_or_default()
        ));
        return;
    }
    context.out.note(&format!(
        "Claude goes on in its conversation {id}; `ctxrelay pair --new` begins another one"
    ));
    opens.extend(["--resume".into(), id.into()]);
}

pub(super) fn opens_claude(words: &[OsString]) -> bool {
    words.last().is_some_and(|last| last == "claude")
}

/// Where Claude Code keeps what is the person's.
fn claude_home(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    let own = set("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    own.or_else(|| Some(PathBuf::from(set("HOME")?).join(".claude")))
}

/// Where Claude Code keeps a conversation of a folder, which it names by the UTF-16 units of its path. Of
/// a path that it shortens none is found there.
fn transcript(home: &Path, root: &Path, id: &str) -> PathBuf {
    let root = root.to_string_lossy();
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(letter) if letter.is_ascii_alphanumeric() => letter.into(),
        _ => '-',
    };
    let folder: String = root.encode_utf16().map(plain).collect();
    home.join("projects")
        .join(folder)
        .join(format!("{id}.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_lies_in_the_folder_of_its_project() {
        let kept = transcript(Path::new("/h/.claude"), Path::new("/w/my.app_2"), "a-b");
        let said = "/h/.claude/projects/-w-my-app-2/a-b.jsonl";
        assert_eq!(kept, Path::new(said));
        // As seen with 2.1.330.
        let kept = transcript(Path::new("/h/.claude"), Path::new("/tmp/💡idé"), "a-b");
        let said = "/h/.claude/projects/-tmp---id-/a-b.jsonl";
        assert_eq!(kept, Path::new(said));
        let own = claude_home(|name| (name == "HOME").then(|| "/h".into()));
        assert_eq!(own, Some(PathBuf::from("/h/.claude")));
        let elsewhere = claude_home(|_| Some("/c".into()));
        assert_eq!(elsewhere, Some(PathBuf::from("/c")));
    }

    #[test]
    fn only_the_pane_of_claude_is_told() {
        let words = |last: &str| ["new-session", last].map(OsString::from);
        assert!(opens_claude(&words("claude")));
        assert!(!opens_claude(&words("codex")) && !opens_claude(&words("/p/claude-code")));
    }
}
