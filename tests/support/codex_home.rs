//! `CodexHome`: a private `CODEX_HOME` whose only model is a scripted one.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::agents;
use super::launch::Launch;
use super::project::Project;
use super::responses_server::ResponsesServer;

/// A model whose tools are called directly.
pub const DIRECT_MODEL: &str = "gpt-5.5";

/// A model that writes scripts which call the tools.
pub const CODE_MODE_MODEL: &str = "gpt-6-sol";

/// What Codex's TUI shows when it takes a prompt.
pub const COMPOSER: &str = "? for shortcuts";

/// A private home of Codex.
#[derive(Debug)]
pub struct CodexHome {
    folder: TempDir,
}

impl CodexHome {
    /// A home for a model with direct tools.
    pub fn new(server: &ResponsesServer, project: &Project) -> Self {
        Self::with_model(server, project, DIRECT_MODEL)
    }

    pub fn with_model(server: &ResponsesServer, project: &Project, model: &str) -> Self {
        // Codex does not like a home below the system's folder for temporary files.
        let mut folder = tempfile::Builder::new()
            .prefix("codex-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        if std::env::var_os("CTXRELAY_TEST_KEEP").is_some() {
            folder.disable_cleanup(true);
        }
        let root = toml::Value::String(project.root().display().to_string());
        let url = server.url();
        let config = format!(
            r#"model = "{model}"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
requires_openai_auth = false
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

# Each of these would look for something on the internet.
[features]
plugins = false
remote_plugin = false
apps = false

# Without it the first start may stop at a picker for a newer model.
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects.{root}]
trust_level = "trusted"
"#
        );
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn config(&self) -> PathBuf {
        self.path().join("config.toml")
    }

    /// Adds lines to `config.toml`; they begin with a table of their own.
    pub fn add_config(&self, lines: &str) {
        let mut config = std::fs::read_to_string(self.config()).unwrap();
        config.push_str(lines);
        std::fs::write(self.config(), config).unwrap();
    }

    /// What Codex, or whoever starts it, needs in its environment.
    pub fn env(&self) -> Vec<(String, String)> {
        vec![
            ("CODEX_HOME".to_owned(), self.path().display().to_string()),
            ("SCRIPTED_KEY".to_owned(), "not-a-secret".to_owned()),
        ]
    }

    /// The native `codex` in this home and project.
    pub fn codex<'a>(&self, project: &Project, args: impl IntoIterator<Item = &'a str>) -> Launch {
        project.program(agents::codex()).envs(self.env()).args(args)
    }

    /// npm's `codex`, a script that runs the native one as its child.
    pub fn codex_shim<'a>(
        &self,
        project: &Project,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Launch {
        project
            .program(&agents::installed().codex_shim)
            .envs(self.env())
            .args(args)
    }
}
