//! [`Open`]: what is open in the current session, named before it is sealed.

use serde_json::{Value, json};

use crate::cli::connect;
use crate::cli::context::CliContext;
use crate::cli::disk;
use crate::cli::exit::Failure;
use crate::cli::words::{count, short};
use crate::core::id::SessionId;
use crate::core::snapshot::Snapshot;

/// How much of a text stands beside its id, in characters.
const TEXT_CHARS: usize = 70;

/// How much of what is open is told before the word is asked for, in lines.
const ASKED_LINES_MAX: usize = 30;

/// What is said where nothing is open.
pub const NOTHING: &str = "nothing is open in it";

/// The current session and what is open in it.
#[derive(Debug)]
pub struct Open {
    pub session: SessionId,
    /// What it folds to.
    pub world: Snapshot,
}

impl Open {
    /// From the daemon, or folded from the disk when none runs.
    ///
    /// # Errors
    ///
    /// When there is no session, or it cannot be read.
    pub async fn read(context: &CliContext) -> Result<Self, Failure> {
        let world = connect::world(&context.setting).await?;
        // A daemon that has just started may not have folded its first entry yet.
        let session = match &world.session_id {
            Some(session) => Some(session.clone()),
            None => disk::current(&context.setting)?.map(|(session, _)| session),
        };
        let session = session.ok_or_else(|| Failure::no_session("nothing has to be put away"))?;
        Ok(Self { session, world })
    }

    /// `12 entries`.
    pub fn entries(&self) -> String {
        count(self.world.entries, "entry", "entries")
    }

    /// The ids of everything that is open.
    pub fn to_json(&self) -> Value {
        let world = &self.world;
        let questions: Vec<_> = world.open_questions.values().map(|open| &open.id).collect();
        json!({
            "handoffs": world.open_handoffs.keys().collect::<Vec<_>>(),
            "proposals": world.pending_proposals.keys().collect::<Vec<_>>(),
            "unsettled": world.unsettled.keys().collect::<Vec<_>>(),
            "questions": questions,
        })
    }

    /// What is open, to be read before the word is typed; `becomes` says what comes of it.
    pub fn asked(&self, becomes: &str) -> Vec<String> {
        let lines = self.lines();
        let heading = match lines.len() {
            0 => NOTHING,
            _ => becomes,
        };
        let more = lines.len().saturating_sub(ASKED_LINES_MAX);
        let more = (more > 0).then(|| format!("  and {more} more: see them without --apply"));
        let shown = lines.iter().take(ASKED_LINES_MAX);
        let shown = shown.map(|line| format!("  {line}"));
        [heading.to_owned()]
            .into_iter()
            .chain(shown)
            .chain(more)
            .collect()
    }

    /// A line for each thing that is open, oldest first.
    pub fn lines(&self) -> Vec<String> {
        let world = &self.world;
        let mut lines = Vec::new();
        for handoff in world.open_handoffs.values() {
            let to = handoff.to.as_ref().map_or("nobody", |to| to.as_str());
            let ask = short(&handoff.ask, TEXT_CHARS);
            let text = format!("handoff   {}  {} → {to}  {ask}", handoff.id, handoff.from);
            lines.push((handoff.seq, text));
        }
        for proposal in world.pending_proposals.values() {
            let summary = short(&proposal.proposal.summary, TEXT_CHARS);
            let text = format!("proposal  {}  {}  {summary}", proposal.id, proposal.by);
            lines.push((proposal.seq, text));
        }
        for (id, message) in &world.unsettled {
            let state = message.result.map_or("pending", |result| result.as_str());
            let text = format!("message   {id}  {} → {}  {state}", message.from, message.to);
            lines.push((message.seq, text));
        }
        for (seq, question) in &world.open_questions {
            let text = format!(
                "question  {}  {} → {}  no answer yet",
                question.id, question.from, question.to
            );
            lines.push((*seq, text));
        }
        lines.sort_by_key(|(seq, _)| *seq);
        lines.into_iter().map(|(_, text)| text).collect()
    }
}
