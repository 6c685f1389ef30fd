//! [`Plan`]: which instruction files get our block and which lose it, so that no file of ours keeps
//! an agent from reading one of the user's.
//!
//! Claude reads `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md` of the project and of the
//! folders above it, and `AGENTS.md` only if there is none of these; empty files do not count.
//! Codex reads one file per folder: the first of `AGENTS.override.md`, `AGENTS.md` and the names in
//! `project_doc_fallback_filenames` of its configuration.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::adapters::codex::instruction_names::fallback_names;
use crate::core::managed_block::without_block;
use crate::store::dirs::read_private;

/// More than any instruction file is long.
pub const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

const CLAUDE: &str = "CLAUDE.md";
const CLAUDE_FOLDER: &str = ".claude/CLAUDE.md";
const CLAUDE_LOCAL: &str = "CLAUDE.local.md";
const CLAUDE_FILES: [&str; 3] = [CLAUDE, CLAUDE_FOLDER, CLAUDE_LOCAL];
const AGENTS: &str = "AGENTS.md";
const AGENTS_OVERRIDE: &str = "AGENTS.override.md";

/// What is to be done in a project.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// Files with our block: what each agent reads. At most two, each once.
    pub with: Vec<String>,
    /// Files that lose our block: those that an agent does not read, and those that hold nothing
    /// else and hide one of the user's.
    pub without: Vec<String>,
    /// Files of ours that hide one of the user's now: ours, the hidden one, from whom.
    pub hiding: Vec<Hiding>,
    /// Why an agent gets no block.
    pub left: Option<String>,
}

/// A file of ours in the way of the user's.
#[derive(Debug, PartialEq, Eq)]
pub struct Hiding {
    /// The file with nothing but our block.
    pub ours: String,
    /// The one that is not read because of it.
    pub hidden: String,
    /// Who does not read it.
    pub agent: &'static str,
}

impl fmt::Display for Hiding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ours,
            hidden,
            agent,
        } = self;
        write!(
            f,
            "{ours} holds our lines alone and keeps {agent} from reading {hidden}"
        )
    }
}

/// Where Codex's configuration may lie.
#[derive(Debug)]
pub struct Homes {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// `$CODEX_HOME`, or `.codex` in the home.
    pub codex: Option<PathBuf>,
}

impl Homes {
    /// As the environment of this process has them.
    pub fn from_env() -> Self {
        let dir = |name| crate::cli::settings::environment(name).map(PathBuf::from);
        let home = dir("HOME").filter(|home| home.is_absolute());
        let codex = dir("CODEX_HOME").or_else(|| home.as_ref().map(|home| home.join(".codex")));
        Self { home, codex }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// It is not there, or empty.
    Nothing,
    /// Our block alone.
    Ours,
    /// Something of the user's. Also what cannot be read: it must not be hidden either.
    Theirs,
}

impl Plan {
    /// Looks at the files of a project. Reads only.
    pub fn of(root: &Path, homes: &Homes) -> Self {
        let fallbacks = fallback_names(root, homes.codex.as_deref());
        // The root has no links in it; what HOME says may have.
        let home = homes.home.as_deref();
        let real_home = home.and_then(|home| home.canonicalize().ok());
        let is_home = |folder: &Path| [home, real_home.as_deref()].contains(&Some(folder));
        let above = root.ancestors().skip(1).any(|folder| {
            CLAUDE_FILES
                .iter()
                // This one is for all of the user's projects and hides nothing.
                .filter(|name| **name != CLAUDE_FOLDER || !is_home(folder))
                .any(|name| holds(&folder.join(name)) != Holds::Nothing)
        });
        let mut plan = plan(|name| holds(&root.join(name)), above, fallbacks);
        // Both names of one file, which has the block once.
        let real = |name: &String| root.join(name).canonicalize().ok();
        let mut seen = Vec::new();
        plan.with.retain(|name| match real(name) {
            Some(file) if seen.contains(&file) => false,
            Some(file) => {
                seen.push(file);
                true
            }
            None => true,
        });
        let kept: Vec<PathBuf> = plan.with.iter().filter_map(real).collect();
        plan.without
            .retain(|name| real(name).is_none_or(|file| !kept.contains(&file)));
        plan
    }
}

/// `above`: a folder above the project has a file of Claude's. `fallbacks`: Codex's names, or why
/// they are not known.
fn plan(
    holds: impl Fn(&str) -> Holds,
    above: bool,
    fallbacks: Result<Vec<String>, String>,
) -> Plan {
    let theirs = |name: &str| holds(name) == Holds::Theirs;
    let names = fallbacks.as_deref().unwrap_or_default();
    let codex = [AGENTS_OVERRIDE, AGENTS]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .find(|name| theirs(name));
    let mut left = None;
    let codex = match (codex, &fallbacks) {
        (Some(name), _) => Some(name),
        (None, Ok(_)) => Some(AGENTS),
        // One of ours that is there already hides no more than it did.
        (None, Err(_)) if holds(AGENTS) == Holds::Ours => Some(AGENTS),
        (None, Err(why)) => {
            left = Some(format!(
                "{AGENTS}: {why}, and it could hide a file from Codex"
            ));
            None
        }
    };
    let claude = if theirs(CLAUDE) {
        Some(CLAUDE)
    } else if theirs(CLAUDE_FOLDER) {
        Some(CLAUDE_FOLDER)
    } else if above || theirs(CLAUDE_LOCAL) {
        Some(CLAUDE)
    } else if theirs(AGENTS) || codex == Some(AGENTS) {
        Some(AGENTS)
    } else {
        left = left.or_else(|| {
            Some(format!(
                "{CLAUDE}: it would hide every {AGENTS} near it from Claude"
            ))
        });
        None
    };
    let with: Vec<&str> = match (claude, codex) {
        (Some(claude), Some(codex)) if claude != codex => vec![claude, codex],
        (claude, codex) => claude.or(codex).into_iter().collect(),
    };
    let mut hiding = Vec::new();
    let mut hides = |ours: &str, hidden: &str, agent| {
        if holds(ours) == Holds::Ours && !with.contains(&ours) && theirs(hidden) {
            hiding.push(Hiding {
                ours: ours.to_owned(),
                hidden: hidden.to_owned(),
                agent,
            });
        }
    };
    hides(CLAUDE, AGENTS, "Claude");
    if let Some(codex) = codex {
        hides(AGENTS, codex, "Codex");
    }
    let without = [CLAUDE, CLAUDE_FOLDER, AGENTS_OVERRIDE, AGENTS]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .filter(|name| !with.contains(name) && holds(name) != Holds::Nothing)
        .map(str::to_owned)
        .collect();
    Plan {
        with: with.into_iter().map(str::to_owned).collect(),
        without,
        hiding,
        left,
    }
}

fn holds(path: &Path) -> Holds {
    // Agents follow links.
    let text = match path
        .canonicalize()
        .and_then(|real| read_private(&real, FILE_BYTES_MAX))
    {
        Ok(bytes) => String::from_utf8(bytes),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Holds::Nothing;
        }
        Err(_) => return Holds::Theirs,
    };
    let Ok(text) = text else {
        return Holds::Theirs;
    };
    if text.trim().is_empty() {
        return Holds::Nothing;
    }
    match without_block(&text) {
        Ok(Some(rest)) if rest.trim().is_empty() => Holds::Ours,
        _ => Holds::Theirs,
    }
}

#[cfg(test)]
#[path = "instruction_files/tests.rs"]
mod tests;
