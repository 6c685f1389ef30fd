//! [`CompactionHook`]: our hook, which the app-server runs after a compaction and before the next
//! request.
//!
//! Codex runs a hook only after its person has reviewed it in Codex itself, and silently skips one
//! that is not reviewed. We put the hook on the command line and read the state of the review,
//! which is never ours to write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::adapters::claude::shell::word;
use crate::wire::control::HookEvent;

/// How long Codex waits for it, s. It gives up by itself before.
const WAIT_S: u32 = 5;

/// The hook, and whether it is wanted.
#[derive(Debug, Clone, Default)]
pub struct CompactionHook {
    is_wanted: Arc<AtomicBool>,
    command: String,
}

impl CompactionHook {
    /// The hook that runs `program`, our own binary. The same in each project: Codex keeps one
    /// review for all of them, and another command line would need another one.
    pub fn of(program: &Path) -> Self {
        let program = word(&program.to_string_lossy());
        Self {
            is_wanted: Arc::default(),
            command: format!("{program} hook {}", HookEvent::CodexCompacted),
        }
    }

    /// From the next start of the app-server on.
    pub fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Its command line.
    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// The `-c` value. Codex puts a text of more than 2,500 tokens into a file by itself, of which
    /// the model sees the beginning; `additionalContextLimit=0` turns that off (0.169.0, observed).
    pub(super) fn configuration(&self) -> Option<String> {
        let command = serde_json::Value::from(self.command.as_str());
        self.is_wanted().then(|| {
            format!(
                "hooks.SessionStart=[{{matcher=\"compact\",hooks=[{{type=\"command\",\
                 command={command},timeout={WAIT_S},additionalContextLimit=0}}]}}]"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_hook_is_one_toml_value_whatever_the_path_and_only_where_it_is_wanted() {
        let hook = CompactionHook::of(Path::new("/it's/\"here\"/ctxrelay"));
        assert_eq!(hook.configuration(), None);
        hook.want(true);
        let value = hook.configuration().unwrap();
        let read: toml::Table = value.parse().unwrap();
        let group = &read["hooks"]["SessionStart"][0];
        assert_eq!(group["matcher"].as_str(), Some("compact"));
        assert_eq!(
            group["hooks"][0]["command"].as_str(),
            Some(r#"'/it'\''s/"here"/ctxrelay' hook CodexCompacted"#)
        );
    }
}
