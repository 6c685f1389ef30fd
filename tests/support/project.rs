//! `Project`: the test's own git project, with private homes, registry and ports, and the program
//! configured to work in it.

use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::agents;
use super::child::{Finished, run};
use super::launch::Launch;
use super::wait::{timeout, wait_until};
use super::ws::{Refused, RpcSocket};

/// Where the search for free ports begins: below what systems give to outgoing connections, so
/// that nobody takes a port between the look and its use.
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 32_000;

/// The three ports of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub app_server: u16,
    pub proxy: u16,
    pub control: u16,
}

/// A private git project and everything around it; gone with this value, kept when the test fails.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
    root: PathBuf,
    pub ports: Ports,
    /// Held for as long as they are this project's.
    _ports_taken: File,
}

impl Project {
    /// A git project with one commit, in a fresh folder.
    #[track_caller]
    pub fn new() -> Self {
        let project = Self::without_git();
        project.write("README.md", "# A project of the tests\n");
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Test"],
            &["config", "user.email", "test@example.invalid"],
            &["add", "README.md"],
            &["commit", "--quiet", "--message=first"],
        ] {
            project.git(args);
        }
        project
    }

    /// A folder that is no git project.
    #[track_caller]
    pub fn without_git() -> Self {
        // A short path: a Unix socket's may have about a hundred characters.
        let mut folder = tempfile::Builder::new().prefix("ctxr-").tempdir().unwrap();
        if std::env::var_os("CTXRELAY_TEST_KEEP").is_some() {
            folder.disable_cleanup(true);
        }
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("project");
        for name in [
            "project",
            "home",
            "bin",
            "registry",
            "run",
            "xdg/state",
            "xdg/data",
            "xdg/config",
            "xdg/cache",
        ] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let (ports, taken) = free_ports();
        Self {
            folder,
            root,
            ports,
            _ports_taken: taken,
        }
    }

    /// The project's root, without symbolic links in it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder around the project: `home`, `bin`, `registry` and the rest.
    pub fn base(&self) -> &Path {
        self.root.parent().unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    pub fn registry(&self) -> PathBuf {
        self.base().join("registry")
    }

    /// `.contextrelay` of the project.
    pub fn state(&self) -> PathBuf {
        self.root.join(".contextrelay")
    }

    /// The first folder on `PATH`, empty at first.
    pub fn bin(&self) -> PathBuf {
        self.base().join("bin")
    }

    /// Puts a program on `PATH`.
    pub fn link_program(&self, name: &str, target: &Path) {
        std::os::unix::fs::symlink(target, self.bin().join(name)).unwrap();
    }

    /// Writes a file of the project, folders included. Whole: who watches it sees no empty one.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        let folder = path.parent().unwrap();
        std::fs::create_dir_all(folder).unwrap();
        let new = self.base().join(format!("new-{}", uuid::Uuid::new_v4()));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        let path = self.root.join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Runs git in the project.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let launch = self.program("git").args(args.iter().copied());
        run(&launch).expect_success().stdout
    }

    /// A program of `PATH` in this project, with the private environment and nothing of ours in it.
    pub fn program(&self, program: impl Into<PathBuf>) -> Launch {
        let base = self.base();
        let path = format!("{}:{}", self.bin().display(), path_without_agents());
        let program = program.into();
        // `Launch` clears the environment, so a bare name is looked up here.
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(&program))
            .find(|file| file.is_file());
        Launch::new(found.unwrap_or(program), &self.root)
            .env("PATH", path)
            .env("HOME", base.join("home"))
            .env("XDG_STATE_HOME", base.join("xdg/state"))
            .env("XDG_DATA_HOME", base.join("xdg/data"))
            .env("XDG_CONFIG_HOME", base.join("xdg/config"))
            .env("XDG_CACHE_HOME", base.join("xdg/cache"))
            .env("XDG_RUNTIME_DIR", base.join("run"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .env("SHELL", "/bin/sh")
    }

    /// The environment by which the program finds this project's private places and ports.
    pub fn env(&self) -> Vec<(String, String)> {
        [
            (
                "CONTEXTRELAY_REGISTRY_DIR",
                self.registry().display().to_string(),
            ),
            ("CODEX_WS_PORT", self.ports.app_server.to_string()),
            ("CODEX_PROXY_PORT", self.ports.proxy.to_string()),
            ("CONTEXTRELAY_CONTROL_PORT", self.ports.control.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    /// `ctxrelay` in this project. Neither agent is on `PATH`; see `ctxrelay_with_agents`.
    pub fn ctxrelay<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Launch {
        self.program(env!("CARGO_BIN_EXE_ctxrelay"))
            .envs(self.env())
            .args(args)
    }

    /// `ctxrelay` in this project, told where the real agents are.
    pub fn ctxrelay_with_agents<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Launch {
        self.ctxrelay(args)
            .env("CONTEXTRELAY_CODEX_BIN", agents::codex())
            .env("CONTEXTRELAY_CLAUDE_BIN", agents::claude())
    }

    /// Makes it a project: agents start daemons only where somebody has begun.
    #[track_caller]
    pub fn begin(&self) {
        std::fs::create_dir(self.state()).unwrap();
    }

    /// Runs `ctxrelay` to its end.
    #[track_caller]
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Finished {
        run(&self.ctxrelay(args))
    }

    /// The readers' token, once a daemon has made it.
    #[track_caller]
    pub fn token(&self) -> String {
        self.token_in("token")
    }

    /// The token in one of the files of the state folder.
    #[track_caller]
    pub fn token_in(&self, file: &str) -> String {
        let path = self.state().join("state").join(file);
        let token = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        token.trim_end().to_owned()
    }

    /// A bare control connection, with the readers' token.
    pub fn control(&self) -> Result<RpcSocket, Refused> {
        self.control_with(&self.token())
    }

    /// A bare control connection, with the token of this role.
    #[track_caller]
    pub fn control_of(&self, role: &str) -> Result<RpcSocket, Refused> {
        self.control_with(&self.token_in(match role {
            "claude" | "hook" => "claude-token",
            "codex" => "codex-token",
            _ => "token",
        }))
    }

    /// A connection as an agent's bridge or hook that has said hello. Its pid is nobody's: what a test
    /// starts does not run below an agent, where nobody would be the operator.
    #[track_caller]
    pub fn agent(&self, role: &str) -> RpcSocket {
        let mut socket = self.control_of(role).unwrap();
        let hello = json!({"protocol": 1, "role": role, "pid": 4_000_000});
        socket.expect("hello", hello);
        socket
    }

    fn control_with(&self, token: &str) -> Result<RpcSocket, Refused> {
        let url = format!("ws://127.0.0.1:{}/ws", self.ports.control);
        RpcSocket::open(&url, Some(token), &[])
    }

    /// The lines of the newest ledger as JSON, in file order.
    #[track_caller]
    pub fn ledger(&self) -> Vec<Value> {
        self.ledger_naming("")
    }

    /// Those of its lines in which this stands: the others are not parsed, which costs a test that
    /// looks again and again more than what it looks at.
    #[track_caller]
    pub fn ledger_naming(&self, word: &str) -> Vec<Value> {
        // One that is archived in this moment has another name in the next.
        let text = wait_until("the newest ledger", timeout(), || self.newest_ledger());
        // A daemon may be in the middle of the last line.
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n') && line.contains(word))
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    fn newest_ledger(&self) -> Option<String> {
        let folder = self.state().join("sessions");
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "jsonl")
            })
            .collect();
        files.sort_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
        let newest = files
            .last()
            .unwrap_or_else(|| panic!("no ledger in {}", folder.display()));
        std::fs::read_to_string(newest).ok()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("--- the project is kept at {}", self.base().display());
        }
    }
}

/// Three neighbours that are free on 127.0.0.1 now; no two calls in this process share one.
fn free_ports() -> (Ports, File) {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Two test processes at once begin at different places, and come to each other's later.
    let begin = || AtomicU16::new(FIRST_PORT + (std::process::id() % 1000) as u16 * 9);
    let next = NEXT.get_or_init(begin);
    let name = format!("ctxr-ports-{}", rustix::process::getuid().as_raw());
    let taken = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&taken).unwrap();
    loop {
        let base = next.fetch_add(3, Ordering::Relaxed);
        if base >= LAST_PORT {
            next.store(FIRST_PORT, Ordering::Relaxed);
            continue;
        }
        // They are free as well while their daemon is between a stop and a start.
        let lock = File::create(taken.join(base.to_string())).unwrap();
        // They are not bound for it: each process that some thread of this one is just starting has
        // all open that this one has, and would hold them for a while.
        let is_free = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_err();
        if lock.try_lock().is_ok() && (base..base + 3).all(is_free) {
            let ports = Ports {
                app_server: base,
                proxy: base + 1,
                control: base + 2,
            };
            return (ports, lock);
        }
    }
}

/// The test's own `PATH` without the folders in which this machine has agents. The other programs
/// of such a folder are linked into one that has none.
fn path_without_agents() -> &'static str {
    static CLEAN: OnceLock<String> = OnceLock::new();
    CLEAN.get_or_init(|| {
        let is_agent = |name: &std::ffi::OsStr| {
            ["codex", "claude", "ctxrelay"]
                .iter()
                .any(|agent| name == *agent)
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::env::split_paths(&path).filter(|folder| folder.is_absolute() && folder.is_dir());
        let clean = folders.enumerate().map(|(place, folder)| {
            let entries = || std::fs::read_dir(&folder).into_iter().flatten().flatten();
            if !entries().any(|entry| is_agent(&entry.file_name())) {
                return folder.clone();
            }
            let name = format!("path-{}-{place}", std::process::id());
            let links = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::create_dir_all(&links).unwrap();
            for entry in entries().filter(|entry| !is_agent(&entry.file_name())) {
                let _ = std::os::unix::fs::symlink(entry.path(), links.join(entry.file_name()));
            }
            links
        });
        std::env::join_paths(clean).unwrap().into_string().unwrap()
    })
}

/// What lies in a folder, hidden things too.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
