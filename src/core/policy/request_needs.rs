//! [`permissions_of`]: which permissions a request for approval needs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Permission;
use super::needs::{ToolUse, is_inside_git, is_own_server, mcp_permission, needs};
use super::secret_paths::is_secret_path;
use super::shell_needs::shell_needs;
use super::shell_text::shell_text;
use crate::entry::{ApprovalKind, ApprovalRequest, AskedTool, FileChange, Wish};

/// The permissions, surely or perhaps, by the request's text alone.
pub(super) fn permissions_of(request: &ApprovalRequest) -> BTreeSet<Permission> {
    let subject = request.subject.as_str();
    let mut all = match &request.kind {
        ApprovalKind::Command => {
            let needs = shell_needs(&shell_text(request)).into_iter();
            let needs = needs.map(|need| need.permission);
            // Without a command Codex asks to reach a host.
            let reach = Wish::reach_of_subject(subject);
            let reach = reach.map_or_else(|| as_written(subject), |reach| of_wish(&reach));
            needs.chain(reach).collect()
        }
        ApprovalKind::FileChange => {
            let changes = subject.lines().map(FileChange::from);
            changes.flat_map(|change| of_change(&change)).collect()
        }
        ApprovalKind::Permissions => {
            let wishes = subject.lines().map(Wish::from);
            wishes.flat_map(|wish| of_wish(&wish)).collect()
        }
        ApprovalKind::Tool => of_tool(&AskedTool::from(subject)),
        ApprovalKind::Question | ApprovalKind::UserQuestion | ApprovalKind::Other(_) => {
            BTreeSet::new()
        }
    };
    all.extend(request.also_wants.iter().flat_map(of_wish));
    all
}

/// Of what becomes of a file.
fn of_change(change: &FileChange) -> BTreeSet<Permission> {
    let mut all = BTreeSet::from([Permission::Write]);
    all.extend(change.paths().flat_map(of_place));
    all
}

/// Of what Codex wants beyond its sandbox.
fn of_wish(wish: &Wish) -> BTreeSet<Permission> {
    match wish {
        Wish::Network => BTreeSet::from([Permission::Network]),
        Wish::Reach(hosts) => {
            let mut all = as_written(hosts);
            all.insert(Permission::Network);
            all
        }
        Wish::Read(path) => {
            let mut all = BTreeSet::from([Permission::Read]);
            all.extend(is_secret_path(path).then_some(Permission::Secrets));
            all.extend(network_as_written(path));
            all
        }
        Wish::Write(path) => {
            let mut all = of_change(&FileChange::Below(path.clone()));
            all.extend(network_as_written(path));
            all
        }
        // It can be the rest of a path with the end of a line in it.
        Wish::Other(text) => {
            let mut all = as_written(text);
            all.extend(of_place(text));
            all
        }
    }
}

/// Of the place in which a file lies.
fn of_place(path: &str) -> impl Iterator<Item = Permission> {
    let git = is_inside_git(path).then_some(Permission::Git);
    let secrets = is_secret_path(path).then_some(Permission::Secrets);
    git.into_iter().chain(secrets)
}

/// Of a text in which something may stand as Codex wrote it.
fn as_written(text: &str) -> BTreeSet<Permission> {
    let mut all: BTreeSet<_> = network_as_written(text).into_iter().collect();
    if text.contains("\"write\"") {
        all.insert(Permission::Write);
    } else if text.contains("\"read\"") {
        all.insert(Permission::Read);
    }
    all
}

fn network_as_written(text: &str) -> Option<Permission> {
    text.contains("\"network\"").then_some(Permission::Network)
}

fn of_tool(asked: &AskedTool) -> BTreeSet<Permission> {
    match asked {
        AskedTool::OfServer { server, .. } if is_own_server(server) => BTreeSet::new(),
        AskedTool::OfServer { .. } => BTreeSet::from([mcp_permission(&asked.to_string())]),
        AskedTool::Named(tool) => {
            let call = ToolUse {
                tool,
                input: &Value::Null,
            };
            let needs = needs(&call).into_iter();
            needs.map(|need| need.permission).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::FileAct;

    fn needs(kind: ApprovalKind, subject: &str) -> BTreeSet<Permission> {
        let request = ApprovalRequest::new(kind, "k".to_owned(), subject.to_owned());
        permissions_of(&request)
    }

    fn said(needs: &BTreeSet<Permission>) -> String {
        let names: Vec<&str> = needs.iter().map(|it| it.as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn no_name_of_a_file_or_a_host_hides_what_is_wanted() {
        use ApprovalKind::{FileChange, Permissions};
        for (kind, subject, wanted) in [
            (Permissions, "the network", "network"),
            (Permissions, "read the network", "read"),
            (Permissions, "write to reach x.org", "write"),
            (Permissions, "to reach the network by https", "network"),
            (Permissions, "read /p/.env", "read secrets"),
            (Permissions, "write read /p/.env", "write secrets"),
            (Permissions, "write a and move it to .git", "write git"),
            (Permissions, r#"read /"network""#, "read network"),
            (Permissions, r#"{"network":{"x":1}}"#, "network"),
            // With the end of a line in its name.
            (Permissions, "read /x\n/.ssh/a", "read secrets"),
            (Permissions, "write /x\n/.git/a b", "write git"),
            (Permissions, "write /x\nthe network", "write network"),
            (FileChange, "add x\n.git/hooks/a b", "write git"),
            (FileChange, "add x\ny and move it to .env", "write secrets"),
            (FileChange, "write below x\n/.ssh/a b", "write secrets"),
            // With the words for a move in its name.
            (
                FileChange,
                "change a and move it to .env and move it to c",
                "write secrets",
            ),
            (
                FileChange,
                "change a and move it to and move it to .git/config",
                "write git",
            ),
        ] {
            assert_eq!(said(&needs(kind, subject)), wanted, "{subject}");
        }
        let host = Wish::Reach("the network by https".to_owned());
        let alone = needs(ApprovalKind::Command, &host.subject());
        assert!(alone.contains(&Permission::Network), "{alone:?}");
    }

    #[test]
    fn what_a_yes_grants_beside_a_command_is_read_from_the_record() {
        let recorded = r#"{"kind": "command", "key": "k", "subject": "ls",
            "alsoWants": ["the network", "read /p/.env", "write /p/.git"]}"#;
        let request: ApprovalRequest = serde_json::from_str(recorded).unwrap();
        let all = "read write shell network git secrets";
        assert_eq!(said(&permissions_of(&request)), all);
    }

    const HOSTILE: &str =
        "(the network|to reach |read |write |add | and move it to |\n|[a-z ]{0,3}){0,5}";

    proptest! {
        #[test]
        fn what_is_written_of_any_name_is_known(name in HOSTILE) {
            let wishes = [Wish::Read(name.clone()), Wish::Write(name.clone()), Wish::Network];
            let subject = wishes.map(String::from).join("\n");
            let found = needs(ApprovalKind::Permissions, &subject);
            for one in [Permission::Read, Permission::Write, Permission::Network] {
                prop_assert!(found.contains(&one), "{subject:?}");
            }
            let moved = FileChange::One {
                act: FileAct::Change,
                path: name,
                moved_to: Some("/.git/.env".to_owned()),
            };
            let found = needs(ApprovalKind::FileChange, &moved.to_string());
            for one in [Permission::Write, Permission::Git, Permission::Secrets] {
                prop_assert!(found.contains(&one), "{moved}");
            }
        }
    }
}
