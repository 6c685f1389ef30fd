//! [`Open`]: what is still open in the current session, listed before it is sealed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::connection::connect::{self, DaemonFound, Live};
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::cli::text::words::{count, field, short};
use crate::core::cut_text;
use crate::core::entry::handoff_words;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::{ApprovalSnapshot, Blocker, Snapshot};
use crate::store::ledger::Reading;
use crate::wire::control::{Command, RefusalCode, Reply};
use crate::wire::status::KeptOpen;

/// How much of a text stands beside its id, in characters.
const TEXT_CHARS: usize = 70;

/// How much of what is open is told before the word is asked for, in lines.
const ASKED_LINES_MAX: usize = 30;

/// How many messages are told with their first words: each is read by itself.
const WORDS_MAX: usize = 200;

/// What is said where nothing is open.
pub const NOTHING: &str = "nothing is open in it";

/// The current session and what is open in it.
#[derive(Debug)]
pub struct Open {
    pub session: SessionId,
    /// What it folds to.
    pub world: Snapshot,
    /// Why it cannot end now.
    pub kept_open: Option<KeptOpen>,
    /// How the oldest messages begin.
    words: BTreeMap<Seq, String>,
}

impl Open {
    /// From the daemon, or folded from the disk when none runs.
    ///
    /// # Errors
    ///
    /// When there is no session, or it cannot be read.
    pub async fn read(context: &CliContext) -> Result<Self, Failure> {
        let mut kept_open = None;
        let (world, words) = match connect::control(&context.project).await {
            DaemonFound::Live(live) => {
                let world = live.snapshot().await?;
                kept_open = live.status().await?.kept_open;
                let words = words_of_daemon(&live, &world).await;
                (world, words)
            }
            DaemonFound::Nobody | DaemonFound::Unfit(_) => {
                match disk::current_reading(&context.project)? {
                    Some(reading) => (reading.snapshot().clone(), words_on_disk(&reading)),
                    None => <_>::default(),
                }
            }
        };
        // A daemon that has just started may not have folded its first entry yet.
        let session = match &world.session_id {
            Some(session) => Some(session.clone()),
            None => disk::current(&context.project)?.map(|(session, _)| session),
        };
        let session = session.ok_or_else(|| Failure::no_session("nothing has to be put away"))?;
        Ok(Self {
            session,
            world,
            kept_open,
            words,
        })
    }

    /// Refuses where it cannot end now, before a word is typed for nothing.
    ///
    /// # Errors
    ///
    /// Then.
    pub fn check_can_end(&self) -> Result<(), Failure> {
        match &self.kept_open {
            None => Ok(()),
            Some(KeptOpen { message, hint }) => {
                Err(Failure::state(RefusalCode::InFlight, message, hint))
            }
        }
    }

    /// The line of a dry run that says so.
    pub fn not_now(&self) -> Option<String> {
        let kept_open = self.kept_open.as_ref();
        kept_open.map(|KeptOpen { message, hint }| format!("not now: {message}; {hint}"))
    }

    /// `12 entries`.
    pub fn entries(&self) -> String {
        count(self.world.entries, "entry", "entries")
    }

    /// The ids of everything that is open.
    pub fn to_json(&self) -> Value {
        let world = &self.world;
        let handoffs = world.standing_handoffs().map(|handoff| &handoff.id);
        let questions: Vec<_> = world.open_questions.values().map(|open| &open.id).collect();
        json!({
            "handoffs": handoffs.collect::<Vec<_>>(),
            "proposals": world.pending_proposals.keys().collect::<Vec<_>>(),
            "unsettled": world.unsettled.keys().collect::<Vec<_>>(),
            "questions": questions,
            "cutOff": world.cut_off.keys().collect::<Vec<_>>(),
            "asked": self.asked_of_person().map(|asked| &asked.id).collect::<Vec<_>>(),
            "tasks": world.open_tasks().map(|task| &task.id).collect::<Vec<_>>(),
            "blockers": world.open_blockers.iter().map(|note| &note.id).collect::<Vec<_>>(),
            "failures": world.failed_artifacts().map(|claim| &claim.id).collect::<Vec<_>>(),
            "findings": world.blocking_findings().map(|(id, _)| id).collect::<Vec<_>>(),
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
        for handoff in world.standing_handoffs() {
            let to = handoff.to.as_ref().map_or("nobody", |to| to.as_str());
            let ask = one_line(handoff_words(&handoff.from, &handoff.ask));
            let text = format!("handoff   {}  {} → {to}  {ask}", handoff.id, handoff.from);
            lines.push((handoff.seq, text));
        }
        for proposal in world.pending_proposals.values() {
            let summary = one_line(&proposal.proposal.summary);
            let text = format!("proposal  {}  {}  {summary}", proposal.id, proposal.by);
            lines.push((proposal.seq, text));
        }
        for (id, message) in &world.unsettled {
            let state = message.result.map_or("pending", |result| result.as_str());
            let mut text = format!("message   {id}  {} → {}  {state}", message.from, message.to);
            if let Some(words) = self.words.get(&message.seq) {
                text.push_str("  ");
                text.push_str(words);
            }
            lines.push((message.seq, text));
        }
        for (id, message) in &world.cut_off {
            let (from, to) = (&message.from, message.to);
            let text = format!("cut off   {id}  {from} → {to}  its turn ended early");
            lines.push((message.seq, text));
        }
        for (seq, question) in &world.open_questions {
            let text = format!(
                "question  {}  {} → {}  no answer yet  {}",
                question.id,
                question.from,
                question.to,
                one_line(&question.text)
            );
            lines.push((*seq, text));
        }
        for asked in self.asked_of_person() {
            let (id, by) = (&asked.id, asked.agent);
            let text = one_line(&asked.request.subject);
            lines.push((asked.seq, format!("asks you  {id}  {by}  {text}")));
        }
        for task in world.open_tasks() {
            let text = format!("task      {}  {}", task.id, one_line(&task.title));
            lines.push((task.seq, text));
        }
        for note in &world.open_blockers {
            let text = one_line(&note.text);
            let text = format!("blocker   {}  {}  {text}", note.id, note.by);
            lines.push((note.seq, text));
        }
        for claim in world.failed_artifacts() {
            let said = one_line(&Blocker::claim(claim));
            let text = format!("result    {}  {}  {said}", claim.id, claim.by);
            lines.push((claim.seq, text));
        }
        for (id, finding) in world.blocking_findings() {
            let title = one_line(&finding.facts.title);
            lines.push((
                finding.seq,
                format!("finding   {id}  blocks sign-off  {title}"),
            ));
        }
        lines.sort_by_key(|(seq, _)| *seq);
        lines.into_iter().map(|(_, text)| text).collect()
    }

    /// What the agents ask the person by `ask_user`: it waits on without its daemon.
    fn asked_of_person(&self) -> impl Iterator<Item = &ApprovalSnapshot> {
        let asked = self.world.open_approvals.values();
        asked.filter(|asked| asked.request.is_user_question())
    }
}

/// The places of the messages whose words are told.
fn told(world: &Snapshot) -> impl Iterator<Item = Seq> {
    let mut places: Vec<Seq> = world
        .unsettled
        .values()
        .map(|message| message.seq)
        .collect();
    places.sort_unstable();
    places.into_iter().take(WORDS_MAX)
}

/// Without those that cannot be read: that a message is open is told all the same.
async fn words_of_daemon(live: &Live, world: &Snapshot) -> BTreeMap<Seq, String> {
    let mut words = BTreeMap::new();
    for seq in told(world) {
        let show = Command::LedgerShow {
            entry: seq.to_string(),
            full: false,
            placed: false,
        };
        match live.ask(show).await {
            Ok(Reply::Entry(line)) => {
                words.insert(seq, one_line(field(&line.into_value(), "content")));
            }
            Ok(_) => {}
            // Nobody waits for each of them in vain.
            Err(_) => break,
        }
    }
    words
}

/// As [`words_of_daemon`].
fn words_on_disk(reading: &Reading) -> BTreeMap<Seq, String> {
    let stored = told(reading.snapshot()).filter_map(|seq| {
        let stored = reading.read(seq).ok().flatten()?;
        Some((seq, one_line(&stored.entry.content)))
    });
    stored.collect()
}

/// The beginning of a text, on one line.
fn one_line(text: &str) -> String {
    short(&cut_text::one_line(text), TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_session_open_is_told_in_the_dry_run_and_before_a_word_is_typed() {
        let mut open = Open {
            session: SessionId::new("session_1"),
            world: Snapshot::default(),
            kept_open: None,
            words: BTreeMap::new(),
        };
        assert_eq!((open.check_can_end(), open.not_now()), (Ok(()), None));
        open.kept_open = Some(KeptOpen {
            message: "a message is on its way to Codex, whose turn t1 runs".to_owned(),
            hint: "try again then".to_owned(),
        });
        let refused = open.check_can_end().unwrap_err();
        assert!(refused.message.contains("t1"), "{refused:?}");
        assert!(open.not_now().unwrap().contains("t1"));
    }
}
