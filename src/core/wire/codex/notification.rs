//! [`CodexNotification`]: the notifications that we act on.

use serde::Deserialize;
use serde_json::Value;

use crate::plain_value::member;

use super::item::{Item, readable};
use super::limits::RateLimits;
use super::thread::{Thread, ThreadStatus};
use super::turn::{Turn, TurnError};

/// Something happened at the app-server. Only `thread/started`, `thread/status/changed` and
/// `thread/closed` reach clients that are not subscribed to the thread.
#[derive(Debug, Clone, PartialEq)]
pub enum CodexNotification {
    /// `thread/started`.
    ThreadStarted(Thread),
    /// `thread/status/changed`.
    ThreadStatusChanged(ThreadStatusChanged),
    /// `thread/closed`.
    ThreadClosed(OfThread),
    /// `thread/name/updated`.
    ThreadNamed(ThreadNamed),
    /// `turn/started`.
    TurnStarted(TurnChanged),
    /// `turn/completed`.
    TurnCompleted(TurnChanged),
    /// `item/started` of a change of files, which an approval may be asked for next.
    FileChangeStarted(ItemOfTurn),
    /// `item/started` of a command.
    CommandStarted(ItemOfTurn),
    /// `item/started` of a tool of an MCP server.
    ToolStarted(ItemOfTurn),
    /// `turn/plan/updated`.
    PlanUpdated(PlanUpdated),
    /// `item/started` of a compaction.
    CompactionStarted(OfThread),
    /// `item/completed`.
    ItemCompleted(ItemOfTurn),
    /// `thread/tokenUsage/updated`.
    TokenUsageUpdated(TokenUsageUpdated),
    /// `error`.
    Error(ErrorReported),
    /// `serverRequest/resolved`.
    ServerRequestResolved(ServerRequestResolved),
    /// `account/rateLimits/updated`.
    RateLimitsUpdated(RateLimits),
    /// `account/updated`: somebody signed in or out.
    AccountUpdated,
    /// `hook/completed`.
    HookCompleted(HookCompleted),
    /// Anything else that a turn does: it lives.
    Heartbeat(OfThread),
}

/// Parameters that only name a thread.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfThread {
    pub thread_id: String,
}

/// Parameters of `thread/status/changed`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStatusChanged {
    pub thread_id: String,
    /// What it does now.
    pub status: ThreadStatus,
}

/// Parameters of `thread/name/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNamed {
    pub thread_id: String,
    /// Its name now.
    pub thread_name: Option<String>,
}

/// Parameters of `turn/started` and `turn/completed`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnChanged {
    pub thread_id: String,
    pub turn: Turn,
}

/// Parameters of `item/started` and `item/completed`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemOfTurn {
    pub thread_id: String,
    pub turn_id: String,
    pub item: Item,
}

/// Parameters of `hook/completed`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookCompleted {
    pub thread_id: String,
    run: HookRun,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct HookRun {
    #[serde(default)]
    source: String,
    #[serde(default)]
    entries: Vec<HookEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct HookEntry {
    kind: String,
    text: String,
}

impl HookCompleted {
    /// Whether the hook stands on the app-server's command line and not in a file.
    pub fn is_of_command_line(&self) -> bool {
        self.run.source == "sessionFlags"
    }

    /// What it gives to the model.
    pub fn context(&self) -> impl Iterator<Item = &str> {
        let entries = self.run.entries.iter();
        entries
            .filter(|entry| entry.kind == "context")
            .map(|entry| entry.text.as_str())
    }
}

/// Parameters of `turn/plan/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated {
    pub thread_id: String,
    /// All of its steps, not only those that changed.
    #[serde(default, deserialize_with = "readable")]
    pub plan: Vec<TurnPlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TurnPlanStep {
    /// What is to be done.
    pub step: String,
    /// `pending`, `inProgress` or `completed`.
    #[serde(default)]
    pub status: String,
}

/// Parameters of `thread/tokenUsage/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated {
    pub thread_id: String,
    pub token_usage: TokenUsage,
}

/// Tokens of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Of the last request to the model: what is in the context now.
    pub last: TokenCount,
    /// The model's window, where it is known.
    pub model_context_window: Option<u64>,
}

/// A number of tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenCount {
    /// All kinds together.
    pub total_tokens: u64,
}

/// Parameters of `error`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorReported {
    pub thread_id: String,
    pub turn_id: String,
    pub error: TurnError,
    /// The app-server tries again by itself.
    #[serde(default)]
    pub will_retry: bool,
}

/// Parameters of `item/started`, as far as they say whose doing it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemStarted {
    thread_id: String,
    #[serde(default)]
    item: ItemKind,
}

#[derive(Default, Deserialize)]
struct ItemKind {
    #[serde(default, rename = "type")]
    kind: String,
}

/// Parameters of `serverRequest/resolved`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRequestResolved {
    /// The id of the request, number or string.
    #[serde(deserialize_with = "member")]
    pub request_id: Value,
}

impl CodexNotification {
    /// Reads a notification; `None` for one that we do not act on.
    pub fn parse(method: &str, params: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Started {
            thread: Thread,
        }
        #[derive(Deserialize)]
        struct Limited {
            #[serde(rename = "rateLimits")]
            rate_limits: RateLimits,
        }
        fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Option<T> {
            serde_json::from_str(params).ok()
        }
        match method {
            "thread/started" => {
                read::<Started>(params).map(|started| Self::ThreadStarted(started.thread))
            }
            "thread/status/changed" => read(params).map(Self::ThreadStatusChanged),
            "thread/closed" => read(params).map(Self::ThreadClosed),
            "thread/name/updated" => read(params).map(Self::ThreadNamed),
            "turn/started" => read(params).map(Self::TurnStarted),
            "turn/completed" => read(params).map(Self::TurnCompleted),
            "turn/plan/updated" => read(params).map(Self::PlanUpdated),
            "item/completed" => read(params).map(Self::ItemCompleted),
            "thread/tokenUsage/updated" => read(params).map(Self::TokenUsageUpdated),
            "error" => read(params).map(Self::Error),
            "serverRequest/resolved" => read(params).map(Self::ServerRequestResolved),
            "hook/completed" => read(params).map(Self::HookCompleted),
            "account/updated" => Some(Self::AccountUpdated),
            "account/rateLimits/updated" => {
                read::<Limited>(params).map(|limited| Self::RateLimitsUpdated(limited.rate_limits))
            }
            // A user message is what somebody told the turn, and no sign of the turn itself.
            "item/started" => {
                let started = read::<ItemStarted>(params)?;
                match started.item.kind.as_str() {
                    "userMessage" => None,
                    "fileChange" => read(params).map(Self::FileChangeStarted),
                    "commandExecution" => read(params).map(Self::CommandStarted),
                    "mcpToolCall" => read(params).map(Self::ToolStarted),
                    "contextCompaction" => Some(Self::CompactionStarted(OfThread {
                        thread_id: started.thread_id,
                    })),
                    _ => Some(Self::Heartbeat(OfThread {
                        thread_id: started.thread_id,
                    })),
                }
            }
            other if other.starts_with("item/") || other.starts_with("turn/") => {
                read(params).map(Self::Heartbeat)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_far_as_it_can_be() {
        // By Codex's own schema (0.169.0).
        let params = r#"{"threadId": "T", "turnId": "U", "explanation": null, "plan": [
            {"step": "read it", "status": "completed"}, {"status": "pending"}, 7,
            {"step": "change it", "status": "inProgress"}]}"#;
        let read = CodexNotification::parse("turn/plan/updated", params);
        let Some(CodexNotification::PlanUpdated(updated)) = read else {
            panic!("no plan: {read:?}");
        };
        let steps: Vec<(&str, &str)> = updated
            .plan
            .iter()
            .map(|step| (step.step.as_str(), step.status.as_str()))
            .collect();
        assert_eq!(
            steps,
            [("read it", "completed"), ("change it", "inProgress")]
        );
        let none = r#"{"threadId": "T", "turnId": "U", "plan": null}"#;
        assert!(CodexNotification::parse("turn/plan/updated", none).is_some());
    }
}
