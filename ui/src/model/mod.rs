//! What the deck receives to show: plain structs with public fields, filled by the caller.
//!
//! [`DeckView`] is the whole visible world at one moment. It knows no ledger, no daemon and no
//! clock: every time is a number that the caller read. All text in it may come from an agent and is
//! treated as hostile; the view makes it harmless when it draws (see [`crate::sanitize`]).

mod agent;
mod agent_work;
mod asked;
mod attention;
mod capsule;
mod chips;
mod deck_view;
mod finding;
mod found;
mod handoff_rows;
mod hint;
mod inbox;
mod live_turn;
mod local_time;
mod policy;
mod recovery;
mod task;
mod thread;
mod timeline;
mod timeline_window;
mod trust;
mod unclear;

pub use agent::{
    Agent, AgentCard, AgentState, ContextUse, Party, QueueCounts, RunningTool, WorkedMinute,
};
pub use agent_work::{
    PacketFate, PacketView, RuleFate, RulesView, ToldRule, WorkEvent, WorkFile, WorkLog,
    WorkResult, WorkSection, WorkValue, WorkView,
};
pub use asked::{AnswerEffect, AnswerParts, AskedCard, AskedChoice};
pub use attention::{Silence, SilenceLevel, UsageLimit};
pub use capsule::{
    AlikeTo, CapsuleAlong, CapsuleLine, CapsulePart, CapsuleReader, CapsuleRows, CapsuleStanding,
    CapsuleView, FoundSnippet, TASK_TITLE_CHARS_MAX,
};
pub use chips::{Chip, ChipSort, Chips, ThreadChip};
pub use deck_view::{
    Banner, Chain, DaemonState, DeckView, HeaderDaemon, HeaderLedger, HeaderPorts, Level,
};
pub use finding::{FindingPlaceNow, FindingRank, FindingRow, FindingStage, FindingView};
pub use found::{FoundEntries, FoundRow, FoundTask, SearchScope};
pub use handoff_rows::HandoffRows;
#[cfg(test)]
pub(crate) use handoff_rows::LOOKED_AT;
pub use hint::{FirstStep, StepAct};
pub use inbox::{ChangedChecksRow, GateRow, GateState, InboxCard, InboxKind, NamedEntry};
pub use live_turn::{StepProgress, TurnAct, TurnLine, TurnView};
pub use local_time::LocalTime;
pub use policy::PolicyView;
pub use recovery::{AgentRecovery, RecoveryPart, RecoveryRow, RecoveryView};
pub use task::{HandoffRow, HandoffStage, QuestionRow, TaskColumn, Tasks};
pub use thread::ThreadView;
pub use timeline::{
    BadLines, EntryPlace, EntryRef, Field, FoldedRows, OutcomeState, RowOutcome, RowSort,
    SentMessage, TimelineRow, Verdict,
};
pub use timeline_window::{TimelineGo, TimelineMark, TimelineWindow, TimelineWish};
pub use trust::{TrustCard, WaitingKey};
pub use unclear::UnclearMessage;
