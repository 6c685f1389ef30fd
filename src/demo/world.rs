//! [`DemoWorld`]: a throw-away project with everything that a daemon needs to run on it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use super::DemoError;
use super::codex::VERSION;
use super::pace::Pace;
use crate::adapters::program_search::ProgramSearch;
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::wire::control::DeliveryMode;

/// Where the search for a free group of ports begins: away from the daemons of real projects, and
/// below what systems give to outgoing connections. Taken groups are skipped as always.
const PORT_BASE: u16 = 24_500;

/// `git` on a folder of five files.
const GIT_WAIT: Duration = Duration::from_secs(10);

/// The file that the story is about.
pub(super) const REFRESH: &str = "src/refresh.rs";

/// The project as it lies there when the story begins.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", include_str!("project/Cargo.toml.txt")),
    ("README.md", include_str!("project/README.md.txt")),
    ("src/main.rs", include_str!("project/main.rs.txt")),
    (REFRESH, include_str!("project/refresh.rs.txt")),
];

/// [`REFRESH`] as the scripted Claude leaves it.
pub(super) const REFRESH_FIXED: &str = include_str!("project/refresh_fixed.rs.txt");

/// A throw-away project. Dropping it removes everything; the daemon must have ended by then, and
/// [`super::play::play`] as well.
#[derive(Debug)]
pub struct DemoWorld {
    /// For [`ProjectContext::start_daemon`], and for the deck that shows the project.
    pub project: ProjectContext,
    pub(super) pace: Pace,
    folder: TempDir,
}

/// Makes the project, its registry and a `codex` that is ours. `own_program` is this very binary;
/// `speed` 1 is the pace of a reader.
///
/// # Errors
///
/// When the speed is no number above zero, or the temporary folder cannot be written.
pub async fn set_up(own_program: PathBuf, speed: f64) -> Result<DemoWorld, DemoError> {
    let pace = Pace::new(speed)?;
    let doing = "making the throw-away project";
    // Short, because the path of a Unix socket may have about a hundred characters.
    let folder = tempfile::Builder::new()
        .prefix("ctxd-")
        .tempdir()
        .map_err(|source| DemoError::NoFolder {
            place: std::env::temp_dir(),
            source,
        })?;
    let base = folder.path().canonicalize().map_err(DemoError::io(doing))?;
    let root = base.join("tokencache");
    for (name, text) in FILES {
        write(&root.join(name), text.as_bytes(), 0o644).map_err(DemoError::io(doing))?;
    }
    commit(&root).await;
    let codex = base.join("bin/codex");
    write(&codex, &codex_script(&own_program, pace), 0o755).map_err(DemoError::io(doing))?;
    Ok(DemoWorld {
        project: ProjectContext {
            begun: root.clone(),
            dirs: ProjectDirs::new(root, None),
            user_dirs: UserDirs {
                registry: base.join("r"),
                data: base.join("data"),
                runtime: None,
            },
            port_base: PORT_BASE,
            ports: None,
            runtime_session: RuntimeSession::default(),
            mode: DeliveryMode::Auto,
            // Nothing of the demo may outlive it.
            worker: true,
            in_print_mode: false,
            codex_program: ProgramSearch::new(codex, None),
            // Never started; it says that the agent is there.
            claude_program: ProgramSearch::new(&own_program, None),
            own_program,
        },
        pace,
        folder,
    })
}

impl DemoWorld {
    /// The folder that is removed in the end.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One of our own verbs in this project, as the agent's program would start it: nothing of
    /// the user's own settings reaches it, and it ends with the handle.
    pub(super) fn own(&self, verb: &str) -> Command {
        let project = &self.project;
        let mut command = Command::new(&project.own_program);
        for (name, _) in std::env::vars_os() {
            let name_bytes = name.as_bytes();
            if name_bytes.starts_with(b"CONTEXTRELAY_")
                || matches!(name_bytes, b"CODEX_WS_PORT" | b"CODEX_PROXY_PORT")
            {
                command.env_remove(name);
            }
        }
        command
            .arg(verb)
            .arg("--project")
            .arg(&project.dirs.root)
            .env("CONTEXTRELAY_REGISTRY_DIR", &project.user_dirs.registry)
            .env("CONTEXTRELAY_WORKER", "1")
            // The scripted Claude lives in this process.
            .env("CLAUDE_PID", std::process::id().to_string())
            .current_dir(&project.dirs.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?
        .write_all(bytes)
}

/// The program that the adapter takes for Codex. What it asks of it before the start is answered
/// here, so that no process of ours has to print.
fn codex_script(own_program: &Path, pace: Pace) -> Vec<u8> {
    let mut script = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo 'codex-cli {VERSION}' ;;\nmcp) echo '[]' ;;\n*) exec "
    )
    .into_bytes();
    script.extend(quoted(own_program.as_os_str()));
    script.extend(format!(" demo-codex --speed {pace} -- \"$@\" ;;\nesac\n").into_bytes());
    script
}

/// A word for the shell, whatever is in it.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Makes it a git project with one commit. Without git it is a plain folder, which works as well.
async fn commit(root: &Path) {
    let steps: [&[&str]; 3] = [
        &["init", "--quiet"],
        &["add", "--all"],
        &["commit", "--quiet", "--message=A cache for one token"],
    ];
    for arguments in steps {
        let mut git = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"GIT_") {
                git.env_remove(name);
            }
        }
        let git = git
            .args([
                "-c",
                "user.name=Demo",
                "-c",
                "user.email=demo@ctxrelay.invalid",
            ])
            .args(arguments)
            .current_dir(root)
            // The user's hooks, templates and signing have no place here.
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        match timeout(GIT_WAIT, git).await {
            Ok(Ok(status)) if status.success() => {}
            other => {
                tracing::debug!(?arguments, ?other, "the demo's project is no git project");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::operator_socket;

    #[tokio::test]
    async fn the_codex_of_the_demo_answers_what_the_adapter_asks_and_goes_with_the_world() {
        let world = set_up(PathBuf::from("/it's/ctxrelay"), 50.0).await.unwrap();
        let folder = world.folder().to_path_buf();
        let codex = world.project.codex_program.find().unwrap();
        let ask = |arguments: &[&str]| {
            let output = std::process::Command::new(&codex)
                .args(arguments)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(ask(&["--version"]), format!("codex-cli {VERSION}\n"));
        assert_eq!(ask(&["mcp", "list", "--json"]), "[]\n");
        let script = std::fs::read_to_string(&codex).unwrap();
        assert!(
            script.contains(r"exec '/it'\''s/ctxrelay' demo-codex --speed 50 -- "),
            "{script}"
        );
        let socket = operator_socket::place(&world.project.user_dirs, "ctx_0123456789ab");
        assert!(socket.as_os_str().len() < 100, "{}", socket.display());
        drop(world);
        assert!(!folder.exists());
    }
}
