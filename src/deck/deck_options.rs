//! [`DeckOptions`]: what a deck receives, and how it reads the disk.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctxrelay_ui::model::{Level, RecoveryView};
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::deck_about::{DeckAbout, WaitingTrust};
use super::key_slot::KeySlot;
use super::signing::OperatorKeyAccess;
use super::tree_looks::ReadTree;
use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::instructions::{FileName, RuleRow};
use crate::deck::calls::capsules::CapsuleAccess;
use crate::deck::calls::elsewhere::Elsewhere;

/// A daemon that was started from the deck.
#[derive(Debug)]
pub struct Restarted {
    /// As in [`DeckOptions`].
    pub client: Client,
    /// As in [`DeckOptions`].
    pub operator: Client,
    /// As in [`DeckOptions`].
    pub hosting: bool,
}

/// Starts a daemon again: one to talk to from now on, or nothing where the clients find it by
/// themselves; otherwise a sentence.
pub type Restart =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Option<Restarted>, String>> + Send + Sync>;

/// Imports the reviews by way of this client; what came of it, in a sentence either way.
pub type ImportReview =
    Arc<dyn Fn(Client) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Reads what waits for trust; `None` where nothing does.
pub type ReadTrust = Arc<dyn Fn() -> Option<WaitingTrust> + Send + Sync>;

/// What the project's instruction files tell an agent.
#[derive(Debug, Default)]
pub struct RulesOfFiles {
    /// A row for each paragraph.
    pub rows: Vec<RuleRow>,
    /// Files that are there and were not read, and why.
    pub unread: Vec<(FileName, String)>,
    /// What is not known of it, a sentence each.
    pub doubts: Vec<String>,
}

/// Reads them; slow. What the agent says that it read by itself goes with the question.
pub type ReadRules = Arc<dyn Fn(Agent, Option<BTreeSet<FileName>>) -> RulesOfFiles + Send + Sync>;

/// Reads where the work stands after a break, and how each agent goes on; slow. Otherwise a sentence.
pub type ReadRecovery = Arc<dyn Fn() -> Result<RecoveryView, String> + Send + Sync>;

/// Reads what the work tree has otherwise than a commit, as a patch; slow. Otherwise a sentence.
pub type ReadDiff = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Keeps what was not sent where the terminal is gone: its file.
pub type KeepUnsent = Arc<dyn Fn(&str) -> io::Result<PathBuf> + Send + Sync>;

/// What a deck is given.
pub struct DeckOptions {
    /// For reading.
    pub client: Client,
    /// For the operator's commands; the same one when the daemon runs in this process.
    pub operator: Client,
    /// The daemon runs in this process.
    pub hosting: bool,
    /// Whose deck it is.
    pub about: DeckAbout,
    /// Starts an agent beside the deck: a sentence either way.
    pub start_agent: Arc<dyn Fn(Agent) -> Result<String, String> + Send + Sync>,
    /// Starts the daemon again, which has ended.
    pub restart: Restart,
    /// Imports the reviews of this branch's pull request by the operator's own program; slow.
    pub import_review: ImportReview,
    /// The work tree of now, compared with the one that was approved last; slow.
    pub read_tree: ReadTree,
    /// The same at a glance, while a card tells of it; nothing is decided on that.
    pub glance_at_tree: ReadTree,
    /// What of the configuration waits for trust.
    pub read_trust: ReadTrust,
    /// What the project's instruction files tell an agent.
    pub read_rules: ReadRules,
    /// Where the work stands, from the record on the disk; slow.
    pub read_recovery: ReadRecovery,
    /// What the work tree has otherwise than a commit; slow.
    pub read_diff: ReadDiff,
    /// The tasks that can travel.
    pub capsules: CapsuleAccess,
    pub keys: OperatorKeyAccess,
    /// Where it lies while it is unlocked.
    pub key_slot: KeySlot,
    /// The sessions that have ended.
    pub elsewhere: Elsewhere,
    /// Where what was not sent goes that nobody can be told.
    pub keep_unsent: KeepUnsent,
    /// Something to say from the start, and how bad it is.
    pub notice: Option<(Level, String)>,
    /// Becomes true when the process was told to end (a signal).
    pub told_to_end: watch::Receiver<bool>,
}

impl std::fmt::Debug for DeckOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeckOptions").finish_non_exhaustive()
    }
}

/// The name that a project is shown under: its folder's.
pub fn project_name(root: &Path) -> String {
    root.file_name().map_or_else(
        || "/".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
