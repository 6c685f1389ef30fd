//! [`CodexFact`]: what the Codex adapter reports to the daemon.

use std::path::PathBuf;

use crate::core::entry::{ApprovalRequest, CommandRun, ErrorCode, TurnFiles, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::core::live_turn::{LiveAct, PlanStep};
use crate::wire::status::HookReview;

/// The most that is told of a command line, in characters.
pub const COMMAND_CHARS_MAX: usize = 4_000;

/// What happened at Codex. Only about the *visible* thread: helper threads are filtered out.
#[derive(Debug, Clone, PartialEq)]
pub enum CodexFact {
    /// The app-server answers.
    ServerStarted {
        /// The app-server's own process (not the hold's).
        pid: u32,
        /// The process of ours that keeps it, its parent.
        keeper: u32,
        /// Its version, from the `initialize` reply.
        version: String,
        port: u16,
    },
    /// The app-server is gone; everything that hung on it is void. It is being restarted unless
    /// `gave_up`.
    ServerLost {
        /// A sentence.
        why: String,
        /// The adapter stopped trying; the next request starts it again.
        gave_up: bool,
    },
    /// The app-server cannot be started at all (no program, too old, invalid configuration).
    Unavailable {
        /// Which kind of reason.
        code: ErrorCode,
        /// A sentence with the next step.
        why: String,
    },
    /// The instruction files that Codex itself loaded for the thread that is adopted next: absolute
    /// paths, at most 100.
    InstructionsRead {
        /// The files.
        paths: Vec<String>,
    },
    /// Another thread takes the place of the previous one, which Codex does not open; it is adopted
    /// next.
    ThreadReplaced {
        /// A sentence.
        why: String,
    },
    /// This is the visible thread from now on, and we are subscribed to it.
    ThreadAdopted { thread_id: ThreadId },
    /// The thread's status changed.
    ThreadStatus {
        /// What it is doing.
        status: ReportedStatus,
    },
    /// A turn began.
    TurnStarted {
        thread_id: ThreadId,
        turn_id: TurnId,
    },
    /// A user message is durable in the thread: the proof of delivery when it carries our id.
    UserMessage {
        /// The turn that it is in.
        turn_id: TurnId,
        /// `clientUserMessageId`: ours is an entry id, the terminal's a random UUID.
        client_id: Option<String>,
        /// The first line of its text, at most 200 characters.
        preview: String,
        /// It joined a turn that was already running with another user message.
        steered: bool,
    },
    /// What the turn that ends now, or is compacted, touched since that was told last, and its
    /// messages.
    TurnTraced {
        /// Paths as Codex gives them, and commands that saw no end.
        files: TurnFiles,
        /// Each with markers, in their order.
        said: Vec<String>,
        /// The turn ends.
        is_over: bool,
    },
    /// A command of the visible thread ended by itself.
    CommandRan {
        run: CommandRun,
        /// Where, as a whole path.
        cwd: PathBuf,
    },
    /// A turn ended.
    TurnCompleted {
        thread_id: ThreadId,
        turn_id: TurnId,
        status: TurnStatus,
        /// The last agent message whose phase is `final_answer` or unknown.
        final_answer: Option<String>,
        /// The client ids of the user messages that were in it, in order.
        client_ids: Vec<String>,
        /// The error's text, for a failed one.
        error: Option<String>,
        /// It failed because of a usage limit.
        usage_limited: bool,
        /// It was interrupted by the end of its app-server. One that was interrupted otherwise was
        /// stopped by the human.
        died: bool,
    },
    /// The app-server took our message into its queue. No proof of anything.
    Queued { message_id: EntryId },
    /// The app-server certainly does not have the message (refused, unreachable before the
    /// request was sent, or recovery after a restart did not find it).
    NotTaken {
        message_id: EntryId,
        /// A sentence.
        why: String,
    },
    /// The message is larger than an input may be: it is not taken, and would not be the next time.
    TooLarge {
        message_id: EntryId,
        /// In words.
        why: String,
    },
    /// The message is held in the app-server's queue: recovery found it there, or an idle thread
    /// did not take it within three seconds (after the human stopped a turn, the queue waits for
    /// their next one).
    StillQueued { message_id: EntryId },
    /// The request was sent and its answer never came; recovery will tell.
    Unanswered { message_id: EntryId },
    /// The message was in the app-server's queue and was taken out of it, as was asked.
    TakenBack { message_id: EntryId },
    /// The terminal connected through the proxy, or left.
    Tui {
        /// Connected.
        attached: bool,
        /// Its process, where the operating system says.
        pid: Option<u32>,
    },
    /// Somebody came to the proxy with a wrong token, or was one too many.
    ProxyRefused {
        /// How many since the last such fact (at most one fact a second for each reason).
        count: u64,
        /// There were too many connections.
        is_full: bool,
    },
    /// The connection of a terminal ended by a fault of ours. Where it was the last one, that it
    /// left is told as well.
    TerminalFailed,
    /// For some time nobody was one too many at the proxy, and it has room.
    ProxyHasRoom,
    /// Tokens used of the context window.
    ContextUsed {
        /// In the context now.
        used: u64,
        /// The window, where Codex knows it.
        window: Option<u64>,
    },
    /// The context of the visible thread is being compacted, by us or by anybody else.
    CompactionBegan,
    /// A compaction that was asked for does not begin.
    NotCompacted,
    /// The context was compacted, by us or by anybody else.
    Compacted {
        /// The turn in which that was; one of its own, where somebody asked for it.
        turn_id: TurnId,
        /// The turn had begun with something else, so that nobody asked.
        in_turn: bool,
    },
    /// The thread holds a packet, and the model was asked with it.
    PacketGiven {
        packet_id: EntryId,
        /// It was put in, by whichever way it was to come.
        is_put_in: bool,
        /// A turn under an earlier daemon had it, and that daemon did not see so.
        is_earlier: bool,
    },
    /// The thread certainly does not hold a packet.
    PacketNotGiven { packet_id: EntryId, why: String },
    /// What Codex thinks of our hook.
    HookReviewed {
        /// That; `None`: the app-server was started without it.
        review: Option<HookReview>,
    },
    /// The visible thread goes on after a compaction, and our hook gave it nothing.
    HookGaveNothing,
    /// The turn of the visible thread is active, with no more detail reported. At most one a
    /// second; input to the turn does not count.
    Heartbeat,
    /// The model cannot be reached, and Codex tries it again by itself: no sign of the turn. Over with
    /// the next [`Heartbeat`](Self::Heartbeat), or the turn.
    Retrying {
        /// What Codex says of it, at most [`COMMAND_CHARS_MAX`] characters; with secrets.
        why: String,
    },
    /// The turn of the visible thread begins to run a command, to call a tool or to change files,
    /// which is worth a line to who looks.
    ToolBegan {
        item_id: String,
        act: LiveAct,
        /// The command line or what it is about, at most [`COMMAND_CHARS_MAX`] characters of it; with
        /// secrets.
        text: String,
    },
    /// That ended.
    ToolEnded { item_id: String },
    /// The turn of the visible thread did something that is worth a line to who looks.
    TurnDid {
        act: LiveAct,
        /// In its words, at most [`COMMAND_CHARS_MAX`] characters; with secrets.
        text: String,
    },
    /// The turn of the visible thread has changed these files.
    FilesWritten {
        /// Absolute, or below its folder.
        paths: Vec<String>,
    },
    /// The turn of the visible thread has a plan, or another one; with secrets.
    TurnPlanned {
        /// All steps.
        steps: Vec<PlanStep>,
    },
    /// When a usage limit that is hit now would end, as the account's windows say. Comes before the
    /// end of the turn that hit it.
    LimitEnds {
        /// ms since the epoch.
        at_ms: i64,
    },
    /// Whether Codex can do nothing before somebody signs in.
    SignIn {
        /// Its terminal shows the sign-in screen.
        needed: bool,
    },
    /// Codex asks the person something, in a thread that we follow. Told again after a lost
    /// connection, under the same key.
    ApprovalAsked {
        /// What names the request on this connection.
        request_id: String,
        /// What is asked.
        request: Box<ApprovalRequest>,
        /// What else the person should read.
        details: String,
    },
    /// A request no longer waits: somebody answered, or its turn ended.
    ApprovalResolved { request_id: String },
    /// What waits for the human.
    ApprovalsPending {
        /// Approvals and questions of the visible thread.
        count: u64,
        /// Helper threads that wait, of whose requests nothing else is known.
        helpers: u64,
    },
    /// The adapter itself failed, by a fault of ours, and is no more. The last fact.
    Failed,
}

/// `thread/status/changed`, in Codex's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedStatus {
    /// Loaded, no turn.
    Idle,
    /// A turn runs.
    Active {
        /// It waits for an approval or an answer.
        waiting: bool,
    },
    /// The last turn failed; the next one may work.
    SystemError,
    /// Unloaded.
    NotLoaded,
}
