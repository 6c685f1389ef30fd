//! `ClaudeHome`: a private `CLAUDE_CONFIG_DIR` whose only model is a scripted one.

use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::agents;
use super::launch::Launch;
use super::messages_server::MessagesServer;
use super::project::Project;

/// A key in the service's form that opens nothing.
const API_KEY: &str = "sk-ant-api03-ctxrelay-tests-this-key-opens-nothing-0000";

/// What Claude Code's TUI shows when it takes a prompt. Menus have this sign too, but none stands
/// before the first prompt in a home of ours.
pub const COMPOSER: &str = "❯";

/// A private home of Claude Code.
#[derive(Debug)]
pub struct ClaudeHome {
    folder: TempDir,
    url: String,
}

impl ClaudeHome {
    /// A home in which onboarding is done, the project is trusted and the key approved, so that no
    /// dialog stands before the first prompt.
    pub fn new(server: &MessagesServer, project: &Project) -> Self {
        let mut folder = tempfile::Builder::new()
            .prefix("claude-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        if std::env::var_os("CTXRELAY_TEST_KEEP").is_some() {
            folder.disable_cleanup(true);
        }
        let mut projects = serde_json::Map::new();
        projects.insert(
            project.root().display().to_string(),
            json!({"hasTrustDialogAccepted": true}),
        );
        let config = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [&API_KEY[API_KEY.len() - 20..]], "rejected": []},
            "projects": projects,
        });
        std::fs::write(folder.path().join(".claude.json"), config.to_string()).unwrap();
        Self {
            folder,
            url: server.url(),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The user's settings file; absent at first.
    pub fn settings(&self) -> PathBuf {
        self.path().join("settings.json")
    }

    /// What Claude Code, or whoever starts it, needs in its environment.
    pub fn env(&self) -> Vec<(String, String)> {
        [
            ("ANTHROPIC_BASE_URL", self.url.as_str()),
            ("ANTHROPIC_API_KEY", API_KEY),
            ("CLAUDE_CONFIG_DIR", &self.path().display().to_string()),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // The variable above does not keep it from cloning its marketplace at the first start.
            ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    /// The real `claude` in this home and project.
    pub fn claude<'a>(&self, project: &Project, args: impl IntoIterator<Item = &'a str>) -> Launch {
        project
            .program(agents::claude())
            .envs(self.env())
            .args(args)
    }
}
