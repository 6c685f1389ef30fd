//! [`CodexParts`]: what the status shows of Codex.

use super::CodexLane;
use crate::core::delivery::DeliveryWay;
use crate::core::id::{ThreadId, TurnId};
use crate::wire::control::DeliveryMode;
use crate::wire::status::{AppServerStatus, DeliveryStatus};

/// Why a Codex without an account does nothing.
pub(in crate::daemon) const SIGN_IN: &str =
    "Codex waits for you to sign in: in its terminal (`ctxrelay codex`), or with `codex login`";

/// What the operator reads while the lane to Codex is held.
const HELD: &str = "you stopped a turn in Codex (Esc or Ctrl-C): what waits goes on with your next \
    message there, in another conversation (`/new`, `/resume`), with `r` on its row in the deck's \
    Inbox, or with `ctxrelay queue retry ID --apply` for a waiting one";

/// What the status shows of Codex.
#[derive(Debug)]
pub(in crate::daemon) struct CodexParts {
    pub(in crate::daemon) port: Option<u16>,
    pub(in crate::daemon) thread_id: Option<ThreadId>,
    pub(in crate::daemon) turn_id: Option<TurnId>,
    pub(in crate::daemon) app_server: Option<AppServerStatus>,
    pub(in crate::daemon) tui: bool,
    pub(in crate::daemon) approvals: u64,
    pub(in crate::daemon) waiting_helpers: u64,
    pub(in crate::daemon) delivery: DeliveryStatus,
    pub(in crate::daemon) trouble: Option<String>,
}

impl CodexLane {
    pub(in crate::daemon) fn status_parts(&self) -> CodexParts {
        let server = self.server();
        let rung = match server {
            Some(_) => DeliveryWay::Queue,
            None => DeliveryWay::None,
        };
        let trouble = self.trouble();
        let why = match (&trouble, server) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) if self.tui => {
                "the app-server's queue, proven by Codex's own record".to_owned()
            }
            (None, Some(_)) => {
                "the app-server's queue; no Codex terminal is open, turns run without one"
                    .to_owned()
            }
            (None, None) => "the app-server starts when Codex is first needed".to_owned(),
        };
        CodexParts {
            port: self.app_server_port(),
            thread_id: self.thread().cloned(),
            turn_id: self.running_turn(),
            app_server: server.cloned(),
            tui: self.tui,
            approvals: self.approvals,
            waiting_helpers: self.waiting_helpers,
            delivery: DeliveryStatus {
                mode: DeliveryMode::Push.into(),
                rung,
                proven: false,
                why,
            },
            trouble,
        }
    }

    /// Why what waits does not go out, and what lets it go on.
    fn trouble(&self) -> Option<String> {
        if self.needs_sign_in() {
            return Some(SIGN_IN.to_owned());
        }
        if self.is_paused() {
            return Some(HELD.to_owned());
        }
        self.trouble.clone()
    }
}
