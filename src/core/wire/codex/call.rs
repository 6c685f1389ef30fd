//! [`Call`]: the requests that we send, each with its method and its answer.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::item::PageList;
use super::limits::RateLimits;
use super::thread::Thread;
use super::turn::Turn;
use crate::wire::status::HookReview;

/// A request with its answer.
pub trait Call: Serialize {
    const METHOD: &'static str;
    /// The answer, as far as we read it.
    type Answer: DeserializeOwned;
}

macro_rules! call {
    ($params:ident, $method:literal, $answer:ty) => {
        impl Call for $params {
            const METHOD: &'static str = $method;
            type Answer = $answer;
        }
    };
}

/// `initialize`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    pub client_info: ClientVersion,
    pub capabilities: Capabilities,
}
call!(Initialize, "initialize", Initialized);

/// Who we are.
#[derive(Debug, Serialize)]
pub struct ClientVersion {
    /// What [`Initialized::user_agent`] begins with, where we are its first client.
    pub name: &'static str,
    /// The name that people read.
    pub title: &'static str,
    pub version: &'static str,
}

/// What we can take.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// All `thread/queue/*` need it.
    pub experimental_api: bool,
}

/// The answer to `initialize`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialized {
    /// `<first client's name>/<version> (…) …`.
    pub user_agent: String,
}

impl Initialized {
    /// The app-server's version, the part between the first `/` and the next space.
    pub fn version(&self) -> &str {
        self.user_agent
            .split_once('/')
            .map_or("", |(_, rest)| rest)
            .split(' ')
            .next()
            .unwrap_or("")
    }
}

/// `thread/start`.
#[derive(Debug, Serialize)]
pub struct ThreadStart {
    /// The thread's folder.
    pub cwd: String,
}
call!(ThreadStart, "thread/start", WithThread);

/// An answer that holds a thread.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WithThread {
    pub thread: Thread,
    /// The instruction files that were loaded for it, absolute; absent where Codex does not say.
    pub instruction_sources: Option<Vec<String>>,
}

/// `thread/resume`: subscribes, and loads what is not loaded. Also starts the delivery of what is
/// queued.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResume {
    pub thread_id: String,
    /// Leave the history out; it can be long.
    pub exclude_turns: bool,
}
call!(ThreadResume, "thread/resume", WithThread);

/// `thread/read`: what a thread is, without loading it or subscribing to it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRead {
    pub thread_id: String,
}
call!(ThreadRead, "thread/read", WithThread);

/// `thread/unsubscribe`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribe {
    pub thread_id: String,
}
call!(ThreadUnsubscribe, "thread/unsubscribe", IgnoredAny);

/// `thread/name/set`: also materialises a fresh thread, which cannot be resumed before, and keeps
/// the title helper away.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadNameSet {
    pub thread_id: String,
    pub name: String,
}
call!(ThreadNameSet, "thread/name/set", IgnoredAny);

/// `thread/turns/list`: history by pages; works on a thread that is not loaded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTurnsList {
    pub thread_id: String,
    /// From the answer before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many turns a page has at most.
    pub limit: u32,
    /// `desc`: newest first.
    pub sort_direction: &'static str,
    /// `full`: with all items.
    pub items_view: &'static str,
}
call!(ThreadTurnsList, "thread/turns/list", TurnsPage);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnsPage {
    pub data: PageList<Turn>,
    /// Where the next page begins, unless this is the last one.
    pub next_cursor: Option<String>,
}

/// `thread/queue/add`: starts a turn when the thread is idle, else waits for that. Its answer
/// proves nothing: the row is deleted before the message is durable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueAdd {
    pub thread_id: String,
    /// Comes back as the `clientId` of the user message.
    pub client_user_message_id: String,
    pub input: Vec<TextInput>,
}
call!(QueueAdd, "thread/queue/add", IgnoredAny);

/// The characters of one input, all of it; more is refused (Codex 0.169.0, observed).
pub const INPUT_CHARS_MAX: usize = 1_048_576;

/// `thread/queue/list`; works on a thread that is not loaded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueList {
    pub thread_id: String,
    /// From the answer before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
call!(QueueList, "thread/queue/list", QueuePage);

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueuePage {
    pub data: PageList<QueuedSubmission>,
    /// Where the next page begins, unless this is the last one.
    pub next_cursor: Option<String>,
}

/// A message in the app-server's queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedSubmission {
    /// Its id in the queue, which the app-server gives.
    pub id: String,
    /// The id that its sender gave.
    pub client_user_message_id: String,
}

/// `thread/queue/delete`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueDelete {
    pub thread_id: String,
    /// [`QueuedSubmission::id`].
    pub queued_submission_id: String,
}
call!(QueueDelete, "thread/queue/delete", QueueDeleted);

/// The answer to [`QueueDelete`].
#[derive(Debug, Deserialize)]
pub struct QueueDeleted {
    /// False where it is in the queue no more, which is no error (Codex 0.169.0, observed).
    #[serde(default)]
    pub deleted: bool,
}

/// `thread/queue/start`: begins a turn with this one of an idle thread's queue. What else waits
/// there then follows, also when the queue was held after `turn/interrupt`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStart {
    pub thread_id: String,
    /// [`QueuedSubmission::id`].
    pub queued_submission_id: String,
}
call!(QueueStart, "thread/queue/start", IgnoredAny);

/// `turn/start`. On a busy thread it silently becomes a steer, so only for an idle one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    pub thread_id: String,
    /// As in [`QueueAdd`].
    pub client_user_message_id: String,
    pub input: Vec<TextInput>,
}
call!(TurnStart, "turn/start", IgnoredAny);

/// `turn/steer`: joins the turn that runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteer {
    pub thread_id: String,
    /// The turn that must be running, else the server refuses.
    pub expected_turn_id: String,
    /// As in [`QueueAdd`].
    pub client_user_message_id: String,
    pub input: Vec<TextInput>,
}
call!(TurnSteer, "turn/steer", IgnoredAny);

/// `turn/interrupt`: stops the turn that runs. What waits in the thread's queue is held from then
/// on until the human's next turn (Codex 0.169.0, observed).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterrupt {
    pub thread_id: String,
    /// The turn that must be running, else the server refuses.
    pub turn_id: String,
}
call!(TurnInterrupt, "turn/interrupt", IgnoredAny);

/// `account/rateLimits/read`. Refused without an account of the vendor's.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitsRead {
    /// Leave out what costs the vendor another look-up.
    pub exclude_reset_credit_details: bool,
}
call!(RateLimitsRead, "account/rateLimits/read", RateLimitsAnswer);

/// The answer to `account/rateLimits/read`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateLimitsAnswer {
    /// Whether work is allowed now. Without it nothing is to be inferred from percentages or times
    /// (Codex 0.169.0, its schema).
    pub ordinary_usage_allowed: Option<bool>,
    /// The windows of one bucket.
    pub rate_limits: RateLimits,
    /// Those of each, by its name.
    pub rate_limits_by_limit_id: Option<BTreeMap<String, RateLimits>>,
}

/// `account/read`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountRead {
    /// Ask the vendor for a new token first.
    pub refresh_token: bool,
}
call!(AccountRead, "account/read", AccountAnswer);

/// The answer to `account/read`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountAnswer {
    /// Who is signed in; of no interest beyond that somebody is.
    pub account: Option<IgnoredAny>,
    /// The model's provider wants the vendor's account. Without one the terminal shows its sign-in
    /// screen (Codex 0.169.0, observed).
    pub requires_openai_auth: bool,
}

/// `thread/compact/start`: compacts the thread's context, in a turn of its own. A turn that runs is
/// cut off for it, so only for an idle one (Codex 0.169.0, observed).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactStart {
    pub thread_id: String,
}
call!(CompactStart, "thread/compact/start", IgnoredAny);

/// `hooks/list`: the hooks of these folders, with what became of their review.
#[derive(Debug, Serialize)]
pub struct HooksList {
    pub cwds: Vec<String>,
}
call!(HooksList, "hooks/list", ListedHooks);

/// The answer to [`HooksList`].
#[derive(Debug, Deserialize)]
pub struct ListedHooks {
    data: Vec<HooksOfFolder>,
}

#[derive(Debug, Deserialize)]
struct HooksOfFolder {
    hooks: Vec<ListedHook>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedHook {
    command: String,
    enabled: bool,
    trust_status: String,
}

impl ListedHooks {
    /// Whether Codex runs the hook of this command: where its person has reviewed it as it is. Others
    /// it leaves out without a word (0.169.0, observed).
    pub fn review(&self, command: &str) -> Option<HookReview> {
        let mut hooks = self.data.iter().flat_map(|folder| &folder.hooks);
        let hook = hooks.find(|hook| hook.command == command)?;
        let is_trusted = matches!(hook.trust_status.as_str(), "trusted" | "managed");
        Some(match hook.enabled && is_trusted {
            true => HookReview::Trusted,
            false => HookReview::Unreviewed,
        })
    }
}

/// `thread/inject_items`: puts items into the thread that the model sees, and the history and the
/// terminal do not. Nothing of them is checked, and the answer proves nothing; in a turn that runs
/// they come one request late (Codex 0.169.0, observed).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InjectItems {
    pub thread_id: String,
    pub items: Vec<DeveloperMessage>,
}
call!(InjectItems, "thread/inject_items", IgnoredAny);

/// A developer's message. The next compaction drops it, where it would keep a user's.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "message")]
pub struct DeveloperMessage {
    role: &'static str,
    content: Vec<DeveloperText>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "input_text")]
struct DeveloperText {
    text: String,
}

impl DeveloperMessage {
    /// One with this text.
    pub fn new(text: String) -> Self {
        Self {
            role: "developer",
            content: vec![DeveloperText { text }],
        }
    }
}

/// A text part of a user message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct TextInput {
    pub text: String,
}

impl TextInput {
    /// A message of one text part.
    pub fn message(text: String) -> Vec<Self> {
        vec![Self { text }]
    }
}
