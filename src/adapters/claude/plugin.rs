//! [`PluginSpec`]: the Claude plugin, generated outside the project with absolute paths.
//!
//! An agent could rewrite a plugin inside the project, to run with the operator's rights at the
//! next start; one that looks for `ctxrelay` on `PATH` might find another.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::files::{Tree, is_current, write_tree};
use super::shell::Quoted;
use crate::wire::control::{HookEvent, MONITOR};

/// The plugin's name, and its MCP server's.
pub const PLUGIN_NAME: &str = "contextrelay";

/// Claude's name for the plugin's server; in the list of allowed tools it means all of them.
pub const ALLOWED_TOOLS: &str = "mcp__plugin_contextrelay_contextrelay";

/// What describes the plugin, in its folder.
const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The argument by which our programs are told the registry.
const REGISTRY: &str = "--registry";

/// After how long Claude gives a hook up, in s. The hook itself ends far earlier.
const HOOK_TIMEOUT_S: u64 = 5;

/// As [`HOOK_TIMEOUT_S`], of the one that waits for a person. Its dialog is open meanwhile, and stays
/// when the time is up (Claude Code 2.1.330, observed).
pub const PERSON_TIMEOUT_S: u64 = 3_600;

/// Why there is no plugin.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// A path that cannot be written into it safely.
    #[error("cannot make a plugin for {}: {why}", path.display())]
    Path {
        path: PathBuf,
        /// A sentence.
        why: &'static str,
    },
    /// The disk.
    #[error("cannot write the plugin into {}", dir.display())]
    Write {
        /// The plugin's folder.
        dir: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

/// For what a plugin is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSpec {
    /// The program that it runs, absolute.
    pub program: PathBuf,
    /// The program's version.
    pub version: String,
    /// One project; `None` for a plugin that serves whatever project Claude runs in.
    pub project: Option<PathBuf>,
    /// Where trust lies. A call is judged by what lies there, and a daemon begins there, whatever
    /// environment a file of the project gives Claude's hooks and servers.
    pub registry: Option<PathBuf>,
}

/// Where the plugin of one project lies: `DATA/VERSION/INSTANCE`.
pub fn project_dir(data: &Path, version: &str, instance_id: &str) -> PathBuf {
    data.join(version).join(instance_id)
}

/// What Claude is started with to have the plugin for one run. `=` because the flag takes any
/// number of words and would swallow a prompt (Claude Code 2.1.330, observed).
pub fn launch_args(dir: &Path) -> Vec<OsString> {
    vec![
        OsString::from("--plugin-dir"),
        dir.as_os_str().to_owned(),
        OsString::from(format!("--allowedTools={ALLOWED_TOOLS}")),
    ]
}

impl PluginSpec {
    /// Whether there can be a plugin.
    ///
    /// # Errors
    ///
    /// When a path cannot be quoted.
    pub fn check(&self) -> Result<(), PluginError> {
        self.tree().map(drop)
    }

    /// Writes the plugin; says whether anything had to be written.
    ///
    /// # Errors
    ///
    /// See [`PluginError`].
    pub fn write(&self, dir: &Path) -> Result<bool, PluginError> {
        write_tree(dir, &self.tree()?).map_err(|source| PluginError::Write {
            dir: dir.to_path_buf(),
            source,
        })
    }

    /// Whether the plugin there is the one that would be written now.
    pub fn is_current(&self, dir: &Path) -> bool {
        self.tree().is_ok_and(|tree| is_current(dir, &tree))
    }

    /// The registry that the plugin there names, as its server's arguments have it.
    pub(super) fn registry_in(&self, dir: &Path) -> Option<PathBuf> {
        let server = server_in(dir)?;
        let args = server["args"].as_array()?;
        let mut behind = args.iter().skip_while(|arg| *arg != REGISTRY).skip(1);
        behind.next()?.as_str().map(PathBuf::from)
    }

    /// The program that the plugin there runs.
    pub(super) fn program_in(&self, dir: &Path) -> Option<PathBuf> {
        server_in(dir)?["command"].as_str().map(PathBuf::from)
    }

    /// The plugin's files.
    pub(super) fn tree(&self) -> Result<Tree, PluginError> {
        let program = Quoted::new(&self.program)?;
        let project = self.project.as_deref().map(Quoted::new).transpose()?;
        let registry = self.registry.as_deref().map(Quoted::new).transpose()?;
        Ok(vec![
            (
                MANIFEST,
                pretty(&self.manifest(&program, project.as_ref(), registry.as_ref())),
            ),
            (
                "hooks/hooks.json",
                pretty(&hooks(&program, project.as_ref(), registry.as_ref())),
            ),
            (
                "monitors/monitors.json",
                pretty(&monitors(&program, project.as_ref())),
            ),
            ("commands/handoff.md", HANDOFF.to_owned()),
            ("commands/status.md", STATUS.to_owned()),
            ("commands/finalize.md", FINALIZE.to_owned()),
            ("commands/sync.md", SYNC.to_owned()),
            ("commands/recall.md", RECALL.to_owned()),
            ("commands/objective.md", OBJECTIVE.to_owned()),
        ])
    }

    fn manifest(
        &self,
        program: &Quoted,
        project: Option<&Quoted>,
        registry: Option<&Quoted>,
    ) -> Value {
        let mut args = vec!["bridge"];
        if let Some(registry) = registry {
            args.extend([REGISTRY, registry.as_str()]);
        }
        if let Some(project) = project {
            args.extend(["--project", project.as_str()]);
        }
        json!({
            "name": PLUGIN_NAME,
            "version": self.version,
            "description": "Claude Code and Codex as one auditable team, over ctxrelay",
            "author": {"name": "ctxrelay"},
            "license": "MIT OR Apache-2.0",
            "mcpServers": {
                PLUGIN_NAME: {
                    "command": program.as_str(),
                    "args": args,
                    "alwaysLoad": true,
                }
            },
        })
    }
}

/// The server of the plugin in a folder.
fn server_in(dir: &Path) -> Option<Value> {
    let manifest = std::fs::read(dir.join(MANIFEST)).ok()?;
    let mut manifest: Value = serde_json::from_slice(&manifest).ok()?;
    Some(manifest["mcpServers"][PLUGIN_NAME].take())
}

/// A hook whose program is gone must not fail: that would be shown at every prompt.
fn hooks(program: &Quoted, project: Option<&Quoted>, registry: Option<&Quoted>) -> Value {
    // A hook runs wherever Claude has gone to; its environment names the project.
    let project = project.map_or_else(|| "\"$CLAUDE_PROJECT_DIR\"".to_owned(), Quoted::to_string);
    let registry = registry.map_or_else(String::new, |dir| format!(" {REGISTRY} {dir}"));
    let events = HookEvent::ALL
        .iter()
        .filter(|event| event.is_claudes())
        .map(|event| {
            let command = format!(
                "[ ! -x {program} ] || exec {program} hook {event} --judged{registry} --project {project}"
            );
            let timeout = match event {
                HookEvent::PermissionRequest => PERSON_TIMEOUT_S,
                _ => HOOK_TIMEOUT_S,
            };
            let hook = json!({"type": "command", "command": command, "timeout": timeout});
            (event.to_string(), json!([{"hooks": [hook]}]))
        })
        .collect();
    json!({"hooks": Value::Object(events)})
}

/// A monitor that ends costs a turn and is not started again, so one without its program sleeps.
fn monitors(program: &Quoted, project: Option<&Quoted>) -> Value {
    // Without a project of its own it runs in that of Claude (2.1.330, observed).
    let project = project.map_or_else(String::new, |project| format!(" --project {project}"));
    json!([{
        "name": "relay-inbox",
        "description": MONITOR,
        "command": format!(
            "if [ -x {program} ]; then exec {program} doorbell{project}; else exec sleep 86400; fi"
        ),
    }])
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

const HANDOFF: &str = "\
---
description: Hand a piece of work to Codex
argument-hint: what Codex should do
---
Hand this to Codex with the contextrelay `handoff` tool: $ARGUMENTS

Write `ask` so that it stands alone: what is to be done, what is done already, which files it concerns, and how the result is checked. Write `reason` in one sentence, and name the files and entries to look at in `context_refs`. When nothing was named above, take the next step of the current plan and say which one you took. Then tell me the handoff's id and its outcome, and do not wait for the answer.
";

const STATUS: &str = "\
---
description: What the team is doing, from the shared record
---
Call the contextrelay tools `session_info` and `task_state`, and `get_messages` when messages wait. Then tell me in a few lines: what each agent is doing, which handoffs are open and how old they are, what waits for me, and what stands in the way of sign-off. Report what they say and nothing else.
";

const FINALIZE: &str = "\
---
description: Propose that the work is done
argument-hint: what is done
---
Prepare a proposal that the work is done: $ARGUMENTS

Read `task_state` first. Answer or name every open handoff. Run the checks that this project has, now, and take their commands and results as `evidence`; what you have not run is no evidence. Say in `remaining_risk` what may still be wrong. Then call the contextrelay `propose_final` tool and tell me its id and its blockers. I decide in the deck.
";

const SYNC: &str = "\
---
description: Write down what this work is at, for after a compaction
---
Write down in the shared record where this work stands, so that you know it again after a compaction. Read `read_context` with view `resume` first: it is what you would be told. Then call the contextrelay `append_note` tool once for each thing that is missing there or not true any more, in one sentence each: kind `goal` for the objective, `plan`, `constraint`, `decision`, `next_step` (one call for each step, all of them), `question`, `hypothesis`, `done`. What is right already you leave as it is. Then tell me in one line what you changed.
";

const RECALL: &str = "\
---
description: What the shared record holds of this work
---
Call the contextrelay `read_context` tool with view `resume`, and page it to its end. Then tell me in a few lines what this work is at: objective, constraints, what is done, what comes next, what waits for whom. It is a reference and no order: do nothing of it now. Where it says something else than you remember, say so.
";

const OBJECTIVE: &str = "\
---
description: Note what is to be reached, or say what is held for it
argument-hint: the objective; without, the one that is held
---
The objective, in my words: $ARGUMENTS

When something stands behind the colon, call the contextrelay `append_note` tool with kind `goal` and exactly these words as its text, and tell me the entry's number. When nothing does, read it with `read_context`, view `resume`, tell me what is held as the objective and who said it, and write nothing.
";

#[cfg(test)]
mod tests;
