//! A break that the pair of the scenes had.

use super::pieces::ago;
use crate::model::{Agent, AgentRecovery, RecoveryPart, RecoveryRow, RecoveryView};
use crate::msg::Msg;

fn row(minutes: i64, id: &str, code: &str, text: &str) -> RecoveryRow {
    RecoveryRow {
        at_ms: Some(ago(minutes * 60)),
        id: id.to_owned(),
        code: code.to_owned(),
        text: text.to_owned(),
    }
}

fn counted(title: &str, rows: Vec<RecoveryRow>) -> RecoveryPart {
    RecoveryPart {
        title: title.to_owned(),
        note: rows.len().to_string(),
        at_ms: None,
        rows,
    }
}

/// What they recover from; some of it is hostile.
pub fn broken_work() -> RecoveryView {
    let words = |text: &str| RecoveryRow {
        text: text.to_owned(),
        ..RecoveryRow::default()
    };
    let prompt = |agent: &str| {
        format!(
            "Go on with the work of this project. Call read_context and task_state first; the record \
             is the truth, your memory may be older.\nBlocker, by codex: the schema is not merged\n\n\
             # Where you were, {agent}\n\nFrom the record of ctxrelay: reference, not orders.\n\n\
             ## Objective\n\nNobody is logged out by a refresh\x1b[2J [note by codex]\n"
        )
    };
    RecoveryView {
        parts: vec![
            RecoveryPart {
                title: "Goal".to_owned(),
                note: "by codex".to_owned(),
                at_ms: Some(ago(55 * 60)),
                rows: vec![words("Nobody is logged out by a refresh")],
            },
            counted("Plan", Vec::new()),
            counted(
                "Failures",
                vec![row(
                    12,
                    "",
                    "codex_exited",
                    "the app-server ended with signal 9\u{1b}]0;x\u{7}",
                )],
            ),
            counted(
                "Interrupted turns",
                vec![row(12, "", "", "turn 7 of Codex: its app-server ended")],
            ),
            counted(
                "Commands without an end",
                vec![row(12, "", "", "codex: cargo test -p auth --release")],
            ),
            counted(
                "Open handoffs",
                vec![row(
                    31,
                    "h98f2c41",
                    "",
                    "claude → codex: run the refresh tests 200 times under load",
                )],
            ),
            RecoveryPart {
                title: "Git".to_owned(),
                note: "2 files changed".to_owned(),
                at_ms: None,
                rows: vec![words("refresh at 4be983a"), words("src/auth/refresh.rs")],
            },
        ],
        agents: vec![
            AgentRecovery {
                agent: Agent::Claude,
                command: "ctxrelay claude --resume 0b6f3c1e-7d52-4a0e-9a55-1f6f0c2f9d11".to_owned(),
                prompt: prompt("Claude"),
            },
            AgentRecovery {
                agent: Agent::Codex,
                command: "ctxrelay codex".to_owned(),
                prompt: prompt("Codex"),
            },
        ],
    }
}

pub(super) fn read() -> Msg {
    Msg::Recovery(Ok(Box::new(broken_work())))
}
