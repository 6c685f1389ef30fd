//! The real agents: pinned by `tests/agents/package-lock.json`, installed once below the build
//! directory, with a limit on how many run at a time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex, OnceLock};

use super::skipped;

/// How many tests may have real agents at work at once: they are heavy, and a starved agent misses
/// its own deadlines.
const MAX_AT_ONCE: usize = 3;

/// The variable that turns the tests with real agents off; they are counted as skipped.
pub const SKIP_VARIABLE: &str = "CTXRELAY_SKIP_AGENTS";

/// Where the pinned agents are.
#[derive(Debug)]
pub struct Agents {
    /// Codex's native program.
    pub codex: PathBuf,
    /// The script that npm puts on `PATH` for it, which runs the native program as its child.
    pub codex_shim: PathBuf,
    /// Claude Code's native program.
    pub claude: PathBuf,
}

static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// The right of one test to have real agents at work.
#[derive(Debug)]
pub struct Slot(());

impl Slot {
    fn take() -> Self {
        let is_full = |taken: &mut usize| *taken >= MAX_AT_ONCE;
        let taken = TAKEN.lock().unwrap();
        *GIVEN_BACK.wait_while(taken, is_full).unwrap() += 1;
        Self(())
    }

    /// Lets another test have it for as long as the agents of this one are at rest and nothing but
    /// the clock is waited for.
    pub fn lend<T>(&self, rest: impl FnOnce() -> T) -> T {
        let _lent = Lent::new();
        rest()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    *TAKEN.lock().unwrap() -= 1;
    GIVEN_BACK.notify_one();
}

/// A slot that somebody else may have; taken back at its end, also when the test fails meanwhile.
struct Lent(());

impl Lent {
    fn new() -> Self {
        give_back();
        Self(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // It is the test's own again, which gives it back at its end.
        std::mem::forget(Slot::take());
    }
}

/// Waits for a free slot, with the agents installed. `None` when the agents are turned off: the
/// test returns at once and is counted as skipped.
#[must_use]
pub fn slot() -> Option<Slot> {
    if std::env::var_os(SKIP_VARIABLE).is_some_and(|value| value == "1") {
        skipped::note("agents", &format!("{SKIP_VARIABLE}=1"));
        return None;
    }
    installed();
    Some(Slot::take())
}

/// The pinned agents, installed when they are not there yet. A machine where that fails fails its
/// tests: they say what is missing.
pub fn installed() -> &'static Agents {
    static AGENTS: OnceLock<Agents> = OnceLock::new();
    AGENTS.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
        let folder = target_dir().join("agents");
        let lock = File::create(target_dir().join("agents.lock")).unwrap();
        lock.lock().unwrap();
        let installer = source.join("install");
        let status = Command::new(&installer).arg(&folder).status();
        assert!(
            status.as_ref().is_ok_and(std::process::ExitStatus::success),
            "the pinned agents could not be installed ({status:?}); run tests/run to see why, or set \
             {SKIP_VARIABLE}=1 to go without them"
        );
        let modules = folder.join("node_modules");
        Agents {
            codex: native(&modules.join("@openai"), "codex-", "codex"),
            codex_shim: modules.join(".bin/codex"),
            claude: native(&modules.join("@anthropic-ai"), "claude-code-", "claude"),
        }
    })
}

pub fn codex() -> &'static Path {
    &installed().codex
}

pub fn claude() -> &'static Path {
    &installed().claude
}

/// The build directory.
pub fn target_dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// npm installs the package of this platform only; the program lies somewhere inside it.
fn native(scope: &Path, package: &str, program: &str) -> PathBuf {
    let packages =
        std::fs::read_dir(scope).unwrap_or_else(|error| panic!("{}: {error}", scope.display()));
    packages
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(package))
        })
        .find_map(|path| find_program(&path, program))
        .unwrap_or_else(|| panic!("no program {program} in {}/{package}*", scope.display()))
}

fn find_program(folder: &Path, program: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    let here = entries
        .iter()
        .find(|path| path.is_file() && path.file_name().is_some_and(|name| name == program))
        .cloned();
    here.or_else(|| {
        entries
            .iter()
            .filter(|path| path.is_dir())
            .find_map(|path| find_program(path, program))
    })
}
