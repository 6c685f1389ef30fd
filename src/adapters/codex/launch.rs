//! [`ServerLaunch`]: which program runs, its version and its arguments; everything before the
//! spawn.
//!
//! Reads the user's MCP entries by `codex mcp list --json` and keeps only their names: that output
//! contains environment values in plain text and is never logged.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::compaction_hook::CompactionHook;
use crate::adapters::hold::{self, HoldError, spawn_held};
use crate::adapters::program_search::ProgramSearch;
use crate::core::entry::ErrorCode;

/// The oldest version whose behaviour we know.
pub(super) const VERSION_MIN: Version = Version(0, 169, 0);

/// Gives the app-server our `/mcp` secret; the configuration names the variable, never the value.
pub(super) const TOKEN_VARIABLE: &str = "CONTEXTRELAY_MCP_TOKEN";

/// Ours too, whatever they are called: a `ctxrelay` that Codex runs takes all three ports or none.
const PORTS: [&str; 2] = ["CODEX_WS_PORT", "CODEX_PROXY_PORT"];

/// What decides where a `ctxrelay` that Codex runs finds this daemon.
const PLACES: [&str; 2] = ["CONTEXTRELAY_STATE_DIR", "CONTEXTRELAY_REGISTRY_DIR"];

/// The key of our MCP entry, unless the user has one of that name.
const MCP_KEY: &str = "ctxrelay";

/// The key that `ctxrelay codex-mcp install` writes for a plain `codex`.
const INSTALLED_KEY: &str = "contextrelay";

/// `codex --version` and `codex mcp list` read a file or two; node takes most of it.
const QUESTION_WAIT: Duration = Duration::from_secs(15);

/// More than any list of MCP entries.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// What is the same for every start.
#[derive(Debug, Clone)]
pub(super) struct LaunchEnv {
    /// The project, which becomes the threads' folder.
    pub(super) project_root: PathBuf,
    /// `codex`, looked for before each start.
    pub(super) program: ProgramSearch,
    /// Our own binary.
    pub(super) hold_program: PathBuf,
    /// Goes into the mark of the children.
    pub(super) instance_id: String,
    /// Where `/mcp` is.
    pub(super) control_port: u16,
    /// Its secret.
    pub(super) mcp_token: String,
    /// Our hook.
    pub(super) hook: CompactionHook,
}

/// Why the app-server cannot be started; trying again at once would not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub(super) struct Unavailable {
    /// See [`super::fact::CodexFact::Unavailable`].
    pub(super) code: ErrorCode,
    /// A sentence with the next step.
    pub(super) why: String,
}

impl Unavailable {
    pub(super) fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { code, why }
    }
}

/// What a start needs to know about this machine's Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerLaunch {
    pub(super) program: PathBuf,
    /// What `--version` says, where it can be read.
    pub(super) version: Option<Version>,
    /// The names of the user's MCP entries.
    pub(super) mcp_names: Vec<String>,
}

impl ServerLaunch {
    /// Asks the installed Codex.
    pub(super) async fn inspect(surroundings: &LaunchEnv) -> Result<Self, Unavailable> {
        let program = find(&surroundings.program).await?;
        let ask = |args: &'static [&'static str]| ask(surroundings, &program, args);
        let (version, entries) = tokio::join!(ask(&["--version"]), ask(&["mcp", "list", "--json"]));
        let answer = version?;
        let version = answer.ok.then(|| Version::find(&answer.text)).flatten();
        let entries = entries?;
        if !entries.ok {
            match version {
                // Its start will tell, and its age is then the reason.
                Some(version) if version < VERSION_MIN => {}
                None if !answer.ok => {
                    let why = format!("`{} --version` fails; try it by hand", program.display());
                    return Err(Unavailable::new(ErrorCode::CodexFailed, why));
                }
                _ => return Err(invalid_configuration()),
            }
        }
        Ok(Self {
            mcp_names: mcp_names(&entries.text),
            program,
            version,
        })
    }

    /// The words for a start that failed: of a Codex that is too old, that is the reason.
    pub(super) fn failed(&self, why: String) -> Unavailable {
        match self.version {
            Some(version) if version < VERSION_MIN => Unavailable::new(
                ErrorCode::CodexTooOld,
                format!(
                    "codex {version} is too old, {VERSION_MIN} is needed; update it (npm i -g @openai/codex)"
                ),
            ),
            _ => Unavailable::new(ErrorCode::CodexFailed, why),
        }
    }

    /// The arguments behind `codex`. The app-server's token is named by its digest alone.
    pub(super) fn arguments(
        &self,
        port: u16,
        surroundings: &LaunchEnv,
        token_sha256: &str,
    ) -> Vec<OsString> {
        let mut args: Vec<String> = ["app-server", "--listen"].map(str::to_owned).into();
        args.push(format!("ws://127.0.0.1:{port}"));
        args.extend(["--ws-auth", "capability-token", "--ws-token-sha256"].map(str::to_owned));
        args.push(token_sha256.to_owned());
        // A steer would otherwise cut off the answer that is being streamed, without a trace.
        args.extend(["--disable", "instant_interrupt"].map(str::to_owned));
        let configuration = self.configuration(surroundings.control_port);
        for config in configuration
            .into_iter()
            .chain(surroundings.hook.configuration())
        {
            args.push("-c".to_owned());
            args.push(config);
        }
        args.into_iter().map(OsString::from).collect()
    }

    /// The `-c` values.
    fn configuration(&self, control_port: u16) -> Vec<String> {
        let key = self.free_key();
        let mut values = vec![format!(
            "mcp_servers.{key}={{url=\"http://127.0.0.1:{control_port}/mcp\",\
             bearer_token_env_var=\"{TOKEN_VARIABLE}\",default_tools_approval_mode=\"approve\",\
             tool_timeout_sec=60,startup_timeout_sec=10}}"
        )];
        // Our tools would be there twice. Without such an entry this very line would be the
        // entry, one without a transport, and that breaks the whole configuration.
        if self.mcp_names.iter().any(|name| name == INSTALLED_KEY) {
            values.push(format!("mcp_servers.{INSTALLED_KEY}.enabled=false"));
        }
        // The commands that Codex runs inherit its environment. `set` merges with the user's
        // policy key by key; a list in `exclude` would replace the user's own.
        for name in [TOKEN_VARIABLE, hold::MARK_VARIABLE] {
            values.push(format!("shell_environment_policy.set.{name}=\"\""));
        }
        values
    }

    /// A key that the user's configuration does not have: `-c` merges with an entry of the same
    /// name, which breaks the configuration when that one is no URL, and alters it when it is.
    fn free_key(&self) -> String {
        let taken = |key: &str| self.mcp_names.iter().any(|name| name == key);
        if !taken(MCP_KEY) {
            return MCP_KEY.to_owned();
        }
        (2_u32..)
            .map(|n| format!("{MCP_KEY}{n}"))
            .find(|key| !taken(key))
            .unwrap_or_else(|| MCP_KEY.to_owned())
    }
}

pub(super) fn invalid_configuration() -> Unavailable {
    Unavailable::new(
        ErrorCode::CodexInvalidConfiguration,
        "codex cannot read its configuration and would run without your settings; \
         `codex mcp list` in the project says where the mistake is",
    )
}

/// A command under the hold, in the project, without our own variables but those of our places.
pub(super) fn held(surroundings: &LaunchEnv, program: &Path) -> Command {
    let mut command = hold::command(&surroundings.hold_program, program.as_os_str());
    command.current_dir(&surroundings.project_root);
    for (name, _) in std::env::vars_os() {
        let is_ours = name.as_encoded_bytes().starts_with(b"CONTEXTRELAY_")
            || PORTS.iter().any(|port| name == *port);
        if is_ours && !PLACES.iter().any(|place| name == *place) {
            command.env_remove(name);
        }
    }
    command.env(TOKEN_VARIABLE, &surroundings.mcp_token);
    command
}

/// Names one start of a child.
pub(super) fn mark(surroundings: &LaunchEnv) -> String {
    format!(
        "{}:{}",
        surroundings.instance_id,
        uuid::Uuid::new_v4().simple()
    )
}

struct Answer {
    ok: bool,
    text: String,
}

/// Runs a command of the program to its end. What it says to standard error is thrown away.
async fn ask(
    surroundings: &LaunchEnv,
    program: &Path,
    args: &[&str],
) -> Result<Answer, Unavailable> {
    let mut command = held(surroundings, program);
    command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = spawn_held(command, &mark(surroundings))
        .await
        .map_err(|error| cannot_start(program, &error))?;
    let stdout = child.take_stdout();
    let answer = async {
        let mut text = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut text).await;
        }
        let ok = child.gone().await.is_ok_and(|code| code == Some(0));
        let text = String::from_utf8_lossy(&text).into_owned();
        Answer { ok, text }
    };
    if let Ok(answer) = timeout(QUESTION_WAIT, answer).await {
        return Ok(answer);
    }
    child.end().await;
    Err(Unavailable::new(
        ErrorCode::CodexFailed,
        format!(
            "`codex {}` did not end within {} s; try it by hand",
            args.join(" "),
            QUESTION_WAIT.as_secs()
        ),
    ))
}

pub(super) fn cannot_start(program: &Path, error: &HoldError) -> Unavailable {
    Unavailable::new(
        ErrorCode::CodexFailed,
        format!("{} cannot be started: {error}", program.display()),
    )
}

/// Where the program is now.
async fn find(program: &ProgramSearch) -> Result<PathBuf, Unavailable> {
    let search = program.clone();
    let found = spawn_blocking(move || search.find()).await.ok().flatten();
    found.ok_or_else(|| {
        let wanted = program.wanted().display();
        let why = if program.wanted().is_absolute() {
            format!("{wanted} is no program; correct CONTEXTRELAY_CODEX_BIN")
        } else {
            format!(
                "no `{wanted}` on PATH; install it (npm i -g @openai/codex) or set \
                 CONTEXTRELAY_CODEX_BIN"
            )
        };
        Unavailable::new(ErrorCode::CodexNotFound, why)
    })
}

/// The names in the answer of `codex mcp list --json`.
fn mcp_names(json: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Entry {
        name: String,
    }
    serde_json::from_str::<Vec<Entry>>(json)
        .map(|entries| entries.into_iter().map(|entry| entry.name).collect())
        .unwrap_or_default()
}

/// `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32, u32);

impl Version {
    /// The first word that reads as a version; what follows the three numbers does not count.
    fn find(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.splitn(3, '.');
            let mut number = || {
                let part = numbers.next()?;
                let end = part
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(part.len());
                part[..end].parse().ok()
            };
            Some(Self(number()?, number()?, number()?))
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
#[path = "tests/launch.rs"]
mod tests;
