//! [`needs`]: which permissions a call of one of Claude's tools needs (Claude Code 2.1.330,
//! `facts/claude-code.md` §4).

use serde_json::Value;

use super::Permission;
use super::need::{Need, named};
use super::secret_paths::{is_secret_path, may_be_secret_path};
use super::shell_needs::shell_needs;

/// How the tools of our own server begin: they reach the record, and nothing else.
const OWN_TOOLS: [&str; 2] = [
    "mcp__contextrelay__",
    "mcp__plugin_contextrelay_contextrelay__",
];

/// The names of our own server.
const OWN_SERVERS: [&str; 2] = ["contextrelay", "plugin:contextrelay:contextrelay"];

/// Tools of Claude's that run their `command` in a shell.
const SHELLS: [&str; 3] = ["Bash", "Monitor", "PowerShell"];

/// Tools of Claude's own that by themselves change no file, run nothing and reach nothing (Claude Code
/// 2.1.330, and what versions before it had). What a helper, a skill or a later turn that they begin
/// does is judged call by call.
const HARMLESS: [&str; 43] = [
    "AgentOutputTool",
    "AskUserQuestion",
    "BashOutput",
    "Brief",
    "CronDelete",
    "CronList",
    "EndConversation",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "ListAgents",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "ListPeers",
    "OfferChromeSetup",
    "ProposeGoal",
    "ReadNotifications",
    "RefreshMcpTools",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "SendUserMessage",
    "SetGoal",
    "ShowOnboardingRolePicker",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "SubagentHandback",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WaitForMcpServers",
    "advisor",
    "propose_skills",
];

/// How the tools begin that are a skill each.
const SKILLS: &str = "skill__";

/// Tools of Claude's own that talk to a service beyond this machine.
const SERVICES: [&str; 11] = [
    "Artifact",
    "ClaudeDesign",
    "DesignSync",
    "Projects",
    "PushNotification",
    "RemoteTrigger",
    "SendFeedback",
    "ShareOnboardingGuide",
    "SubscribePR",
    "WebFetch",
    "WebSearch",
];

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

/// Whether a tool of Claude's runs a command of the shell.
pub fn is_shell_tool(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// What a call needs. Of a tool of Claude's own that is not known nobody can say: it may need anything,
/// so that it is asked for wherever a rule is in force.
pub(super) fn needs(call: &ToolUse<'_>) -> Vec<Need> {
    let word = |name: &str| call.input.get(name).and_then(Value::as_str);
    let path = ["file_path", "notebook_path", "path", "filePath"]
        .into_iter()
        .find_map(word);
    match call.tool {
        tool if is_shell_tool(tool) => of_shell(call),
        "REPL" | "Eval" => {
            let what = "its code can call any tool";
            let mut needs = vec![Need::certain(Permission::Shell, "it runs code")];
            needs.extend(anything(what));
            needs
        }
        "Read" | "Grep" | "Glob" | "LS" | "LSP" | "NotebookRead" => {
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
        "EnterWorktree" | "ExitWorktree" => of_worktree(call),
        "Agent" | "Task" => match call.input.get("isolation") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(none)) if none == "none" => Vec::new(),
            Some(Value::String(kind)) if kind == "worktree" => {
                certain_worktree("its helper gets a work tree of git")
            }
            Some(Value::String(kind)) if kind == "remote" => {
                let what = "its helper runs beyond this machine";
                vec![Need::certain(Permission::Network, what)]
            }
            Some(_) => anything("where its helper runs is not known"),
        },
        // What its script or its file comes to is not in the call.
        "Workflow" => unclear_worktree("its helpers may get work trees of git"),
        "CronCreate" => match call.input.get("durable") {
            None | Some(Value::Null | Value::Bool(false)) => Vec::new(),
            Some(_) => {
                let what = "it keeps what is to come in a file";
                vec![Need::certain(Permission::Write, what)]
            }
        },
        tool if SERVICES.contains(&tool) => of_service(call),
        tool if tool.starts_with("ReadMcpResource") => match word("server") {
            Some(server) if is_own_server(server) => Vec::new(),
            _ => {
                let what = "it reads what another server has";
                vec![Need::certain(Permission::ExternalApi, what)]
            }
        },
        tool if HARMLESS.contains(&tool) || tool.starts_with(SKILLS) => Vec::new(),
        tool if own_tool(tool).is_some() => Vec::new(),
        tool => match tool.strip_prefix("mcp__") {
            Some(rest) => vec![of_mcp(tool, rest)],
            None => anything(&format!(
                "what Claude's tool `{}` does is not known",
                named(tool)
            )),
        },
    }
}

/// The name of a tool of our own server, as that server has it.
pub fn own_tool(tool: &str) -> Option<&str> {
    OWN_TOOLS.iter().find_map(|own| tool.strip_prefix(own))
}

/// Needs of a call of which nobody can say that it does without one.
fn anything(what: &str) -> Vec<Need> {
    let all = Permission::ALL.iter();
    all.map(|one| Need::unclear(*one, what)).collect()
}

fn of_shell(call: &ToolUse<'_>) -> Vec<Need> {
    let mut needs = Vec::new();
    let has_socket = call.input.get("ws").is_some_and(|ws| !ws.is_null());
    match call.input.get("command").and_then(Value::as_str) {
        Some(command) => needs.extend(shell_needs(command)),
        None if has_socket => {}
        None => needs.push(Need::unclear(
            Permission::Shell,
            "the command is not in the call",
        )),
    }
    if has_socket {
        let what = "it opens a socket, which may lead beyond this machine";
        needs.push(Need::unclear(Permission::Network, what));
    }
    if call.tool == "PowerShell" {
        // It is read as a command of a shell of Unix, which finds what is written alike in both.
        let unread = [Permission::Write, Permission::Git, Permission::Network];
        needs.extend(unread.map(|one| Need::unclear(one, "PowerShell's own words are not read")));
    }
    needs
}

/// Of the tools that make a work tree of git and remove it again.
fn of_worktree(call: &ToolUse<'_>) -> Vec<Need> {
    let has = |name: &str| call.input.get(name).is_some_and(|it| !it.is_null());
    match (call.tool, call.input.get("action").and_then(Value::as_str)) {
        ("EnterWorktree", _) if !has("path") => certain_worktree("it makes a work tree of git"),
        ("EnterWorktree", _) => unclear_worktree("it may bring the work tree up to date"),
        (_, Some("keep")) => Vec::new(),
        (_, Some("remove")) => certain_worktree("it removes a work tree of git, with its branch"),
        _ => unclear_worktree("what becomes of the work tree is not in the call"),
    }
}

fn unclear_worktree(what: &str) -> Vec<Need> {
    [Permission::Write, Permission::Git]
        .map(|one| Need::unclear(one, what))
        .into()
}

fn certain_worktree(what: &str) -> Vec<Need> {
    [Permission::Write, Permission::Git]
        .map(|one| Need::certain(one, what))
        .into()
}

/// Of a service: itself, and the files that it is sent or saves.
fn of_service(call: &ToolUse<'_>) -> Vec<Need> {
    let what = format!("{} can reach beyond this machine", call.tool);
    let mut needs = vec![Need::certain(Permission::Network, what)];
    let one = ["file_path", "local_path"].into_iter();
    let one = one.filter_map(|name| call.input.get(name));
    let several = call.input.get("file_paths").and_then(Value::as_array);
    let sent = one.chain(several.into_iter().flatten());
    for path in sent.filter_map(Value::as_str) {
        needs.extend(of_file(Permission::Read, "sends", Some(path), None));
    }
    if call.input.get("action").and_then(Value::as_str) == Some("read_asset") {
        needs.push(Need::certain(Permission::Write, "it saves a file"));
    }
    needs
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
    let parts = glob
        .into_iter()
        .flat_map(|glob| glob.split(['{', '}', ',']));
    let parts: Vec<&str> = path.into_iter().chain(parts).collect();
    if let Some(path) = parts.iter().find(|it| is_secret_path(it)) {
        let what = format!("{} is where secrets usually lie", named(path));
        needs.push(Need::certain(Permission::Secrets, what));
    } else if let Some(path) = parts.iter().find(|it| may_be_secret_path(it)) {
        let what = format!("{} may be where secrets usually lie", named(path));
        needs.push(Need::unclear(Permission::Secrets, what));
    }
    needs
}

fn of_mcp(tool: &str, rest: &str) -> Need {
    Need::certain(
        mcp_permission(rest),
        format!("{} is another server's tool", named(tool)),
    )
}

/// What another server's tool needs, by its name and its server's.
pub(super) fn mcp_permission(name: &str) -> Permission {
    let lower = name.to_ascii_lowercase();
    match BROWSERS.iter().any(|word| lower.contains(word)) {
        true => Permission::Browser,
        false => Permission::ExternalApi,
    }
}

/// Whether it is our own server, which reaches the record and nothing else.
pub(super) fn is_own_server(name: &str) -> bool {
    OWN_SERVERS.contains(&name)
}

pub(super) fn is_inside_git(path: &str) -> bool {
    path.split(['/', '\\'])
        .any(|part| part.eq_ignore_ascii_case(".git"))
}
