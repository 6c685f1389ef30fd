//! [`needs`]: which permissions a call of one of Claude's tools needs (Claude Code 2.1.330,
//! `facts/claude-code.md` §4).

use serde_json::Value;

use super::Permission;
use super::secret_paths::is_secret_path;
use super::shell_needs::shell_needs;

/// The longest name of a tool or a path that a sentence has, in characters.
const NAMED_CHARS_MAX: usize = 120;

/// How the tools of our own server begin: they reach the record, and nothing else.
const OWN_TOOLS: [&str; 2] = [
    "mcp__contextrelay__",
    "mcp__plugin_contextrelay_contextrelay__",
];

/// Tools of Claude's that run their `command` in a shell.
const SHELLS: [&str; 2] = ["Bash", "Monitor"];

/// Words in the names of MCP servers that drive a browser.
const BROWSERS: [&str; 6] = [
    "browser",
    "chrome",
    "playwright",
    "puppeteer",
    "selenium",
    "webdriver",
];

/// A call of a tool, before it is run.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    /// The tool, as Claude names it.
    pub tool: &'a str,
    /// What it is given.
    pub input: &'a Value,
}

/// Whether the call would surely do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    /// Its text does not say.
    Unclear,
}

/// One permission that a call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) permission: Permission,
    pub(super) certainty: Certainty,
    /// What of the call needs it, as the beginning of a sentence.
    pub(super) what: String,
}

impl Need {
    pub(super) fn certain(permission: Permission, what: impl Into<String>) -> Self {
        Self {
            permission,
            certainty: Certainty::Certain,
            what: what.into(),
        }
    }

    pub(super) fn unclear(permission: Permission, what: impl Into<String>) -> Self {
        Self {
            permission,
            certainty: Certainty::Unclear,
            what: what.into(),
        }
    }
}

/// Whether a tool of Claude's runs a command of the shell.
pub fn is_shell_tool(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// What a call needs. A tool that is not known and is no MCP server's needs nothing: it is Claude's
/// own, such as its list of things to do.
pub(super) fn needs(call: &ToolUse<'_>) -> Vec<Need> {
    let word = |name: &str| call.input.get(name).and_then(Value::as_str);
    let path = ["file_path", "notebook_path", "path"]
        .into_iter()
        .find_map(word);
    match call.tool {
        tool if is_shell_tool(tool) => word("command").map_or_else(
            || {
                vec![Need::unclear(
                    Permission::Shell,
                    "the command is not in the call",
                )]
            },
            shell_needs,
        ),
        "Read" | "Grep" | "Glob" | "LS" | "NotebookRead" => {
            of_file(Permission::Read, "reads", path, word("glob"))
        }
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let mut needs = of_file(Permission::Write, "changes", path, None);
            if let Some(path) = path.filter(|path| is_inside_git(path)) {
                let what = format!("{} is in the folder .git", named(path));
                needs.push(Need::certain(Permission::Git, what));
            }
            needs
        }
        "WebFetch" | "WebSearch" => {
            let what = format!("{} reaches beyond this machine", call.tool);
            vec![Need::certain(Permission::Network, what)]
        }
        tool if OWN_TOOLS.iter().any(|own| tool.starts_with(own)) => Vec::new(),
        tool => match tool.strip_prefix("mcp__") {
            Some(rest) => vec![of_mcp(tool, rest)],
            None => Vec::new(),
        },
    }
}

fn of_file(
    permission: Permission,
    does: &str,
    path: Option<&str>,
    glob: Option<&str>,
) -> Vec<Need> {
    let what = match path {
        Some(path) => format!("it {does} {}", named(path)),
        None => format!("it {does} files"),
    };
    let mut needs = vec![Need::certain(permission, what)];
    let secret = [path, glob]
        .into_iter()
        .flatten()
        .find(|it| is_secret_path(it));
    if let Some(path) = secret {
        let what = format!("{} is where secrets usually lie", named(path));
        needs.push(Need::certain(Permission::Secrets, what));
    }
    needs
}

fn of_mcp(tool: &str, rest: &str) -> Need {
    let lower = rest.to_ascii_lowercase();
    let permission = match BROWSERS.iter().any(|word| lower.contains(word)) {
        true => Permission::Browser,
        false => Permission::ExternalApi,
    };
    Need::certain(
        permission,
        format!("{} is another server's tool", named(tool)),
    )
}

fn is_inside_git(path: &str) -> bool {
    path.split(['/', '\\'])
        .any(|part| part.eq_ignore_ascii_case(".git"))
}

/// As much of a name as a sentence has room for, in one line.
pub(super) fn named(text: &str) -> String {
    let line = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    line.take(NAMED_CHARS_MAX).collect()
}
