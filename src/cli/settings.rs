//! [`resolve`]: the command line and the environment, checked once, as a [`ProjectContext`].
//!
//! Knows the names and formats of variables; opens only the folders that it has to find.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::exit::Failure;
use super::logging;
use crate::adapters::program_search::ProgramSearch;
use crate::core::agent::{WORKER_VARIABLE, is_worker};
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::registry::Ports;
use crate::store::state_owner::{shared, state_of_another};
use crate::wire::control::{DeliveryMode, ProgramCode, RefusalCode};

/// The first port of the first project.
const PORT_BASE: u16 = 4500;

/// The variables that name all three ports.
const PORT_VARIABLES: [&str; 3] = [
    "CODEX_WS_PORT",
    "CODEX_PROXY_PORT",
    "CONTEXTRELAY_CONTROL_PORT",
];

/// What Claude Code 2.1.330 calls itself where a program has it answer one prompt, with `claude -p`
/// (observed).
const PRINT_MODE: &str = "sdk-cli";

/// What a named folder means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// It is the project: a person said so.
    Exactly,
    /// The project is looked for from there: an agent says where it works, and that may be deep
    /// in the project.
    Near,
}

/// The variable that names the registry's folder.
pub const REGISTRY: &str = "CONTEXTRELAY_REGISTRY_DIR";

/// Settles everything that a verb needs before it begins. `var` reads the environment.
///
/// # Errors
///
/// When the project cannot be found or a variable makes no sense; each names the variable.
pub fn resolve(
    project: Option<&Path>,
    named: Named,
    var: impl Fn(&str) -> Option<OsString>,
) -> Result<ProjectContext, Failure> {
    // An empty variable is an unset one: that is how a shell takes one away for one command.
    let var = |name: &str| var(name).filter(|value| !value.is_empty());
    let user_dirs = user_dirs(var)?;
    let own_program = std::env::current_exe()
        .map_err(|error| Failure::internal("find our own program", error))?;
    let home = var("HOME").map(PathBuf::from);
    let (dirs, begun) = project_dirs(project, named, home.as_deref(), &var)?;
    for place in [&dirs.root, &dirs.state, &user_dirs.registry, &own_program] {
        check_text(place)?;
    }
    if let Some(other) = state_of_another(&dirs) {
        return Err(Failure::state(
            ProgramCode::BadEnvironment,
            format!(
                "CONTEXTRELAY_STATE_DIR names {}: {}",
                dirs.state.display(),
                shared(&other)
            ),
            "name a folder for each project with CONTEXTRELAY_STATE_DIR, or unset it",
        ));
    }
    Ok(ProjectContext {
        dirs,
        begun,
        user_dirs,
        port_base: port_base(&var)?,
        ports: ports(&var)?,
        runtime_session: runtime_session(&var)?,
        mode: mode(&var)?,
        worker: var(WORKER_VARIABLE).is_some_and(|value| is_worker(value.as_encoded_bytes())),
        in_print_mode: var("CLAUDE_CODE_ENTRYPOINT").is_some_and(|value| value == PRINT_MODE),
        codex_program: program("codex", "CONTEXTRELAY_CODEX_BIN", &var),
        claude_program: program("claude", "CONTEXTRELAY_CLAUDE_BIN", &var),
        own_program,
    })
}

/// The user's own folders, for who needs no project.
///
/// # Errors
///
/// When there is no place for them.
pub fn user_dirs(var: impl Fn(&str) -> Option<OsString>) -> Result<UserDirs, Failure> {
    let var = |name: &str| var(name).filter(|value| !value.is_empty());
    UserDirs::from_env(|name| var(name).map(PathBuf::from)).ok_or_else(|| {
        Failure::state(
            ProgramCode::NoHome,
            "there is no home folder to keep the registry in",
            "set HOME, or CONTEXTRELAY_REGISTRY_DIR, to an absolute path",
        )
    })
}

/// The registry, the record and what the agents are told hold paths as text. One that is none would
/// be found out halfway.
fn check_text(path: &Path) -> Result<(), Failure> {
    if path.to_str().is_some() {
        return Ok(());
    }
    Err(Failure::state(
        ProgramCode::PathNotUtf8,
        format!("the path {} is not text in UTF-8", path.display()),
        "rename that folder, or work in another one",
    ))
}

/// Whether a variable is one of our own settings.
pub fn is_own(name: &str) -> bool {
    name.starts_with("CONTEXTRELAY_") || PORT_VARIABLES.contains(&name)
}

/// What of the environment is left out although somebody set it, a sentence each.
pub fn left_out(user: &UserDirs, var: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let registry = var(REGISTRY).filter(|dir| !dir.is_empty() && !Path::new(dir).is_absolute());
    let registry = registry.map(|dir| {
        format!(
            "{REGISTRY} is `{}`, which is not an absolute path: it is left out, and the registry is in {}",
            dir.to_string_lossy(),
            user.registry.display()
        )
    });
    registry
        .into_iter()
        .chain(logging::complaint(&var))
        .collect()
}

/// The environment of this process.
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn bad(name: &str, value: &str, wants: &str) -> Failure {
    Failure::state(
        ProgramCode::BadEnvironment,
        format!("{name} is `{value}`, which is not {wants}"),
        format!("set {name} to {wants}, or unset it"),
    )
}

fn text(name: &str, var: &impl Fn(&str) -> Option<OsString>) -> Result<Option<String>, Failure> {
    var(name)
        .map(|value| {
            value
                .into_string()
                .map_err(|value| bad(name, &value.to_string_lossy(), "text in UTF-8"))
        })
        .transpose()
}

/// The project, and what tells that it was begun.
fn project_dirs(
    project: Option<&Path>,
    named: Named,
    home: Option<&Path>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<(ProjectDirs, PathBuf), Failure> {
    let state = match var("CONTEXTRELAY_STATE_DIR").map(PathBuf::from) {
        Some(dir) if !dir.is_absolute() => {
            return Err(bad(
                "CONTEXTRELAY_STATE_DIR",
                &dir.to_string_lossy(),
                "an absolute path",
            ));
        }
        state => state,
    };
    let folder = project
        .map(|dir| ("--project", dir.to_path_buf()))
        .or_else(|| {
            var("CONTEXTRELAY_PROJECT_ROOT").map(|dir| ("CONTEXTRELAY_PROJECT_ROOT", dir.into()))
        });
    if let Some((name, dir)) = folder {
        let root = dir
            .canonicalize()
            .ok()
            .filter(|root| root.is_dir())
            .ok_or_else(|| {
                Failure::state(
                    RefusalCode::NoProject,
                    format!("{name} names {}, which is no folder", dir.display()),
                    format!("make the folder, or name another one with {name}"),
                )
            })?;
        let dirs = if named == Named::Exactly || name != "--project" {
            ProjectDirs::new(root, state)
        } else {
            ProjectDirs::discover(&root, home, state)
                .map_err(|error| crate::cli::offline::disk::unreadable(&root, &error))?
        };
        // A name is enough, also for a home folder.
        let begun = dirs.relay.clone();
        return Ok((dirs, begun));
    }
    let here = std::env::current_dir().and_then(|here| ProjectDirs::discover(&here, home, state));
    let dirs = here.map_err(|error| {
        Failure::state(
            RefusalCode::NoProject,
            format!("the current folder cannot be read: {error}"),
            "go to a folder that exists, or name a project with --project",
        )
    })?;
    let begun = dirs.begun(home);
    Ok((dirs, begun))
}

fn port_base(var: &impl Fn(&str) -> Option<OsString>) -> Result<u16, Failure> {
    const NAME: &str = "CONTEXTRELAY_PORT_BASE";
    match text(NAME, var)? {
        None => Ok(PORT_BASE),
        Some(value) => port(&value)
            .filter(|base| *base <= u16::MAX - 2)
            .ok_or_else(|| bad(NAME, &value, "a port from 1 to 65533 in digits")),
    }
}

/// All three, or none: a part would leave the rest to chance, and a TUI on the wrong proxy.
fn ports(var: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Ports>, Failure> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for name in PORT_VARIABLES {
        match text(name, var)? {
            Some(value) => found.push(
                port(&value)
                    .ok_or_else(|| bad(name, &value, "a port from 1 to 65535 in digits"))?,
            ),
            None => missing.push(name),
        }
    }
    match found[..] {
        [] => Ok(None),
        [codex, proxy, control] if codex != proxy && codex != control && proxy != control => {
            Ok(Some(Ports {
                codex,
                proxy,
                control,
            }))
        }
        [_, _, _] => Err(Failure::state(
            ProgramCode::BadEnvironment,
            format!(
                "{} must be three different ports",
                PORT_VARIABLES.join(", ")
            ),
            "give each its own port, or unset all three",
        )),
        _ => Err(Failure::state(
            ProgramCode::PartialPorts,
            format!(
                "{} not set, but others of the three ports are",
                match missing[..] {
                    [one] => format!("{one} is"),
                    _ => format!("{} are", missing.join(" and ")),
                }
            ),
            format!(
                "set {} together, or none of them",
                PORT_VARIABLES.join(", ")
            ),
        )),
    }
}

/// Digits alone: `+4500` and ` 4500` are mistakes.
fn port(value: &str) -> Option<u16> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| value.parse().ok())
        .flatten()
        .filter(|port| *port != 0)
}

fn runtime_session(var: &impl Fn(&str) -> Option<OsString>) -> Result<RuntimeSession, Failure> {
    const NAME: &str = "CONTEXTRELAY_RUNTIME_SESSION";
    const MAX: usize = RuntimeSession::CHARS_MAX;
    let Some(value) = text(NAME, var)? else {
        return Ok(RuntimeSession::default());
    };
    if value.chars().count() > MAX || value.chars().any(char::is_control) {
        let wants = format!("a name of at most {MAX} characters on one line");
        return Err(bad(NAME, &value, &wants));
    }
    Ok(RuntimeSession::new(value))
}

fn mode(var: &impl Fn(&str) -> Option<OsString>) -> Result<DeliveryMode, Failure> {
    const NAME: &str = "CONTEXTRELAY_MODE";
    match text(NAME, var)? {
        None => Ok(DeliveryMode::default()),
        Some(value) => {
            DeliveryMode::parse(&value).ok_or_else(|| bad(NAME, &value, "push, pull or auto"))
        }
    }
}

/// An agent's program: what the variable names, or what `PATH` has. A variable that names nothing
/// runnable counts as "not installed" and never falls back to another program silently; the verbs
/// that need it, and `doctor`, say so.
fn program(name: &str, variable: &str, var: &impl Fn(&str) -> Option<OsString>) -> ProgramSearch {
    let wanted = var(variable).unwrap_or_else(|| name.into());
    ProgramSearch::new(wanted, var("PATH"))
}

/// A program by its name on `PATH`; absolute.
pub fn find_program(name: &str) -> Option<PathBuf> {
    ProgramSearch::new(name, environment("PATH")).find()
}

#[cfg(test)]
mod tests;
