//! [`permissions_of`]: which permissions a request for approval needs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Permission;
use super::needs::{ToolUse, is_inside_git, is_own_server, mcp_permission, needs};
use super::secret_paths::is_secret_path;
use super::shell_needs::shell_needs;
use super::shell_text::shell_text;
use crate::entry::{ApprovalKind, ApprovalRequest};

/// The permissions, surely or perhaps, by the request's text alone.
pub(super) fn permissions_of(request: &ApprovalRequest) -> BTreeSet<Permission> {
    let subject = request.subject.as_str();
    let mut all = match &request.kind {
        ApprovalKind::Command => {
            let needs = shell_needs(&shell_text(request)).into_iter();
            let needs = needs.map(|need| need.permission);
            // Without a command Codex asks to reach a host.
            needs.chain(of_wish(&format!("to {subject}"))).collect()
        }
        ApprovalKind::FileChange => subject.lines().flat_map(of_change).collect(),
        ApprovalKind::Permissions => subject.lines().flat_map(of_wish).collect(),
        ApprovalKind::Tool => of_tool(subject),
        ApprovalKind::Question | ApprovalKind::UserQuestion | ApprovalKind::Other(_) => {
            BTreeSet::new()
        }
    };
    all.extend(request.also_wants.iter().flat_map(|line| of_wish(line)));
    all
}

/// Of a line that says what becomes of a file: the path stands behind the first word.
fn of_change(line: &str) -> BTreeSet<Permission> {
    let path = line.split_once(' ').map_or(line, |(_, path)| path);
    let mut all = BTreeSet::from([Permission::Write]);
    for path in path.split(" and move it to ") {
        all.extend(is_inside_git(path).then_some(Permission::Git));
        all.extend(is_secret_path(path).then_some(Permission::Secrets));
    }
    all
}

/// Of a line of what Codex wants beyond its sandbox: in words, or as Codex wrote it.
fn of_wish(line: &str) -> BTreeSet<Permission> {
    let is_network =
        line == "the network" || line.starts_with("to reach ") || line.contains("\"network\"");
    let mut all = BTreeSet::new();
    all.extend(is_network.then_some(Permission::Network));
    if let Some(path) = line.strip_prefix("read ") {
        all.insert(Permission::Read);
        all.extend(is_secret_path(path).then_some(Permission::Secrets));
    } else if line.starts_with("write ") {
        all.extend(of_change(line));
    } else if line.contains("\"write\"") {
        all.insert(Permission::Write);
    } else if line.contains("\"read\"") {
        all.insert(Permission::Read);
    }
    all
}

/// Of a tool of Codex's, named by its server, or one that Claude names.
fn of_tool(subject: &str) -> BTreeSet<Permission> {
    match subject.split_once(": ") {
        Some((server, _)) if is_own_server(server) => BTreeSet::new(),
        Some(_) => BTreeSet::from([mcp_permission(subject)]),
        None => {
            let call = ToolUse {
                tool: subject,
                input: &Value::Null,
            };
            let needs = needs(&call).into_iter();
            needs.map(|need| need.permission).collect()
        }
    }
}
