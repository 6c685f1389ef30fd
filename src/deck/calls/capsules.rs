//! [`CapsuleAccess`]: the tasks that can travel, as the deck reads them and the operator acts on
//! them there. All reads run beside the loop that draws.

use std::sync::Arc;

use ctxrelay_ui::model::{
    AlikeTo, CapsuleAlong, CapsuleReader, CapsuleRows, CapsuleStanding, CapsuleView, FoundSnippet,
    Level, TASK_TITLE_CHARS_MAX,
};
use ctxrelay_ui::text::grouped;
use ctxrelay_ui::{Effect, Msg};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, spawn_blocking};

use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::capsule::{CapsuleDraft, FoundText, Freshness};
use crate::core::entry::NoteKind;
use crate::core::id::{CapsuleId, RuntimeSession};
use crate::deck::party::core_agent_of;
use crate::deck::unsent::WishesBeside;
use crate::wire::control::{
    Command, HandoffParams, Sent, StatedValue, TITLE_CHARS_MAX, TaskChange, TaskChanged, TaskParams,
};

// What the daemon refuses is said where it is typed.
const _: () = assert!(TASK_TITLE_CHARS_MAX == TITLE_CHARS_MAX);

/// What is done with one of them, or a sentence why it is not.
type OfOne<T> = Arc<dyn Fn(&str) -> Result<T, String> + Send + Sync>;

/// Has the record tell of what is done with a task.
type RecordChange<'a> = &'a dyn Fn(TaskChange) -> Result<(), String>;

/// As [`OfOne`], into this file, once the record tells of it.
type ExportOne = Arc<
    dyn Fn(&str, &str, CapsuleAlong, RecordChange<'_>) -> Result<Vec<String>, String> + Send + Sync,
>;

/// As [`OfOne`], for this reader; and what a person has to be told of it.
type TellOne =
    Arc<dyn Fn(&str, CapsuleReader) -> Result<(String, Vec<String>), String> + Send + Sync>;

/// Keeps a capsule; its digest, where it is kept.
type KeepMade = Box<dyn FnOnce() -> Result<Option<String>, String> + Send>;

/// A task that is handed to an agent.
pub struct HandedTask {
    /// As a handoff.
    pub params: HandoffParams,
    /// What a person has to be told of it.
    pub remarks: Vec<String>,
    /// Keeps what the agent is given, whatever is done for the task meanwhile.
    pub keep: KeepMade,
}

impl std::fmt::Debug for HandedTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandedTask")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// As [`OfOne`], for this agent and with what was said before.
type HandoffOfOne =
    Arc<dyn Fn(&str, Agent, &[FoundText]) -> Result<HandedTask, String> + Send + Sync>;

/// What the disk has of them, and what is written there; all of it slow.
#[derive(Clone)]
pub struct CapsuleAccess {
    /// The pair that the operator acts for.
    pub runtime_session: RuntimeSession,
    /// The latest of them, and how many there are.
    pub list: Arc<dyn Fn() -> Result<CapsuleRows, String> + Send + Sync>,
    /// One of them.
    pub read: OfOne<CapsuleView>,
    /// Writes one into a new file, named from the project's folder; where it is, its digest, and what
    /// went along or did not.
    pub export: ExportOne,
    /// What was said before about the same as one of them.
    pub alike: OfOne<Vec<FoundText>>,
    /// What was said before by these words that a task may begin with.
    pub before: OfOne<Vec<FoundText>>,
    /// One that is handed to an agent.
    pub handoff: HandoffOfOne,
    /// One as a text for somebody who is no agent of the pair.
    pub tell: TellOne,
    /// Keeps the capsule of a task that was closed, as it is now; its digest, where it is kept.
    pub keep: OfOne<Option<String>>,
}

/// What is being done with tasks: one thing after the other, since each reads the record and asks git.
#[derive(Debug, Default)]
pub(in crate::deck) struct CapsuleWork {
    turn: Arc<Mutex<()>>,
    reading: Option<AbortHandle>,
    open: WishesBeside,
}

impl CapsuleWork {
    /// What is being done is told in `open` as well.
    pub(in crate::deck) fn new(open: WishesBeside) -> Self {
        Self {
            open,
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for CapsuleAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CapsuleAccess").finish_non_exhaustive()
    }
}

impl CapsuleAccess {
    /// Carries out an effect about a task; all others come back.
    pub(in crate::deck) fn perform(
        &self,
        effect: Effect,
        work: &mut CapsuleWork,
        operator: &Client,
        answers: &mpsc::Sender<Msg>,
    ) -> Option<Effect> {
        let is_read = match effect {
            Effect::ReadCapsules | Effect::ReadCapsule { .. } => true,
            Effect::ExportCapsule { .. }
            | Effect::FindAlike(_)
            | Effect::BeginTask { .. }
            | Effect::HandCapsule { .. }
            | Effect::TellCapsule { .. }
            | Effect::EditCapsule { .. }
            | Effect::CloseCapsule { .. } => false,
            effect => return Some(effect),
        };
        // Of what is read the latest alone is looked at: what still waits for its turn is left out.
        if let Some(before) = work.reading.take_if(|_| is_read) {
            before.abort();
        }
        let (access, operator, answers) = (self.clone(), operator.clone(), answers.clone());
        let turn = Arc::clone(&work.turn);
        let open = work.open.began(&effect);
        let task = tokio::spawn(async move {
            let _open = open;
            let _turn = turn.lock().await;
            for msg in access.answer(effect, &operator).await {
                // Nobody waits for it where the deck was left.
                let _ = answers.send(msg).await;
            }
        });
        if is_read {
            work.reading = Some(task.abort_handle());
        }
        None
    }

    async fn answer(self, effect: Effect, operator: &Client) -> Vec<Msg> {
        // What was written for it comes back where it is not done.
        let asked = Box::new(effect.clone());
        let refused = |why| Msg::Refused { why, effect: asked };
        match effect {
            Effect::ReadCapsule { id } => vec![self.one(id).await],
            Effect::ExportCapsule { id, file, along } => {
                let said = self.export(id.clone(), file, along, operator).await;
                vec![said.map_or_else(error_notice, |lines| Msg::Exported { id, lines })]
            }
            Effect::FindAlike(to) => vec![self.find_alike(to).await],
            Effect::BeginTask { title, found } => {
                let found = found.into_iter().map(found_text).collect();
                let said = self.begin(title, found, operator).await;
                vec![said.unwrap_or_else(refused), self.all().await]
            }
            Effect::HandCapsule { id, to, found } => {
                let found = found.into_iter().map(found_text).collect();
                let said = self.hand(id, core_agent_of(to), found, operator).await;
                vec![said.map_or_else(error_notice, told)]
            }
            Effect::TellCapsule { id, to } => {
                let tell = Arc::clone(&self.tell);
                match beside(move || tell(&id, to)).await {
                    Ok((text, remarks)) => with_remarks(text, &remarks),
                    Err(why) => vec![Msg::CapsuleText(Err(why))],
                }
            }
            Effect::EditCapsule { id, before, after } => {
                let said = self.edit(&id, &before, &after, operator).await;
                let msg = said.map_or_else(refused, told);
                vec![msg, self.one(id).await, self.all().await]
            }
            Effect::CloseCapsule { id, outcome } => {
                let said = self.close(id.clone(), outcome, operator).await;
                let msg = said.unwrap_or_else(refused);
                vec![msg, self.one(id).await, self.all().await]
            }
            _ => vec![self.all().await],
        }
    }

    async fn all(&self) -> Msg {
        let list = Arc::clone(&self.list);
        Msg::Capsules(beside(move || list()).await)
    }

    async fn one(&self, id: String) -> Msg {
        let (read, name) = (Arc::clone(&self.read), id.clone());
        let read = beside(move || read(&name)).await.map(Box::new);
        Msg::Capsule { id, read }
    }

    async fn export(
        &self,
        id: String,
        file: String,
        along: CapsuleAlong,
        operator: &Client,
    ) -> Result<Vec<String>, String> {
        let export = Arc::clone(&self.export);
        let (access, operator) = (self.clone(), operator.clone());
        let loop_of = Handle::current();
        beside(move || {
            let record = |change| {
                let recorded = loop_of.block_on(access.change(change, &operator));
                recorded.map(|_| ())
            };
            export(&id, &file, along, &record)
        })
        .await
    }

    /// Keeps the capsule of a task, and has the record say so; which of both failed, in the words of
    /// `ctxrelay capsule`.
    async fn keep(&self, id: String, keep: KeepMade, operator: &Client) -> Result<(), String> {
        let kept = beside(keep).await;
        let kept = kept.map_err(|why| format!("its capsule is not kept: {why}"))?;
        let Some(digest) = kept else {
            return Ok(());
        };
        let task = CapsuleId::new(id);
        let recorded = self
            .change(TaskChange::Keep { task, digest }, operator)
            .await;
        let recorded = recorded.map(|_| ());
        recorded.map_err(|why| format!("what is kept of it is not recorded: {why}"))
    }

    async fn find_alike(&self, to: AlikeTo) -> Msg {
        let (look, name) = match &to {
            AlikeTo::Task(id) => (Arc::clone(&self.alike), id.clone()),
            AlikeTo::Words(words) => (Arc::clone(&self.before), words.clone()),
        };
        let found = beside(move || look(&name)).await;
        let found = found.map(|found| {
            let found = found.into_iter().map(|found| FoundSnippet {
                text: found.text,
                cited: found.cited,
            });
            found.collect()
        });
        Msg::Alike { to, found }
    }

    /// As `ctxrelay capsule new TITLE --like WORDS` does: what is taken along is an assumption of the
    /// operator's.
    ///
    /// # Errors
    ///
    /// None was begun.
    async fn begin(
        &self,
        title: String,
        found: Vec<FoundText>,
        operator: &Client,
    ) -> Result<Msg, String> {
        let open = TaskChange::Open {
            title,
            goal: None,
            handoff: None,
        };
        let opened = self.change(open, operator).await?;
        let task = opened.id;
        if !found.is_empty() {
            let values = found.iter().map(|found| StatedValue {
                kind: NoteKind::Assumption,
                text: found.to_string(),
            });
            let edit = TaskChange::Edit {
                task: task.clone(),
                title: None,
                values: values.collect(),
            };
            if let Err(why) = self.change(edit, operator).await {
                let why = format!("{task} is open, and what was ticked is not recorded: {why}");
                return Ok(error_notice(why));
            }
        }
        Ok(told(format!(
            "{task} is open; what is recorded from now on belongs to it: entry {}",
            grouped(opened.seq.0)
        )))
    }

    async fn hand(
        &self,
        id: String,
        to: Agent,
        found: Vec<FoundText>,
        operator: &Client,
    ) -> Result<String, String> {
        let (handoff, name) = (Arc::clone(&self.handoff), id.clone());
        let handed = beside(move || handoff(&name, to, &found)).await?;
        let HandedTask {
            params,
            remarks,
            keep,
        } = handed;
        let sent = operator.ask_for(Command::Handoff(params)).await;
        let sent: Sent = sent.map_err(|error| error.to_refusal().message)?;
        if sent.duplicate {
            return Ok(Sent::said_before(&grouped(sent.seq.0)));
        }
        // What went out is what the task is held against from now on.
        let kept = self.keep(id, keep, operator).await;
        let kept = kept.map_or_else(|why| format!("; {why}"), |()| String::new());
        let remarks = remarks.iter().map(|remark| format!("; {remark}"));
        Ok(format!(
            "handed to {} as entry {}{kept}{}",
            to.title(),
            grouped(sent.seq.0),
            remarks.collect::<String>()
        ))
    }

    async fn edit(
        &self,
        id: &str,
        before: &str,
        after: &str,
        operator: &Client,
    ) -> Result<String, String> {
        let read = |text| CapsuleDraft::read(text).map_err(|lines| lines.to_string());
        let changes = read(before)?.changes(&read(after)?);
        if changes.is_empty() {
            return Ok("nothing was changed".to_owned());
        }
        let (task, title) = (CapsuleId::new(id), changes.title);
        let values = changes.values.into_iter();
        let change = TaskChange::Edit {
            task,
            title,
            values: values
                .map(|(kind, text)| StatedValue { kind, text })
                .collect(),
        };
        let seq = self.change(change, operator).await?.seq;
        Ok(format!("recorded as yours, up to entry {}", grouped(seq.0)))
    }

    async fn change(&self, change: TaskChange, operator: &Client) -> Result<TaskChanged, String> {
        let params = TaskParams {
            change,
            runtime_session_id: Some(self.runtime_session.clone()),
        };
        let changed = operator.ask_for(Command::ChangeTask(params)).await;
        changed.map_err(|error| error.to_refusal().message)
    }

    /// # Errors
    ///
    /// It is not closed.
    async fn close(
        &self,
        id: String,
        outcome: Option<String>,
        operator: &Client,
    ) -> Result<Msg, String> {
        let task = CapsuleId::new(id.clone());
        let change = TaskChange::Close { task, outcome };
        let seq = self.change(change, operator).await?.seq;
        let (keep, name) = (Arc::clone(&self.keep), id.clone());
        let keep = Box::new(move || keep(&name));
        Ok(match self.keep(id.clone(), keep, operator).await {
            Ok(()) => told(format!("{id} is closed by entry {}", grouped(seq.0))),
            Err(why) => error_notice(format!("{id} is closed, and {why}")),
        })
    }
}

/// How a capsule stands to the work tree, as the screen has it.
pub fn standing(freshness: Freshness) -> CapsuleStanding {
    match freshness {
        Freshness::Fresh => CapsuleStanding::Fresh,
        Freshness::Moved => CapsuleStanding::Moved,
        Freshness::Touched => CapsuleStanding::Touched,
        Freshness::Diverged => CapsuleStanding::Diverged,
        Freshness::Unknown => CapsuleStanding::Unknown,
        Freshness::Foreign => CapsuleStanding::Foreign,
    }
}

/// Beside the loops of this process.
async fn beside<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let read = spawn_blocking(read).await;
    read.unwrap_or_else(|_| Err("it cannot be read".to_owned()))
}

fn found_text(found: FoundSnippet) -> FoundText {
    FoundText {
        text: found.text,
        cited: found.cited,
    }
}

/// A text that is put on the clipboard, and what a person has to know of it.
fn with_remarks(text: String, remarks: &[String]) -> Vec<Msg> {
    let mut messages = vec![Msg::CapsuleText(Ok(text))];
    if !remarks.is_empty() {
        // In the place of the notice that it was copied.
        let said = format!("copied; {}", remarks.join("; "));
        messages.push(Msg::Notice(Level::Warn, said));
    }
    messages
}

fn told(said: String) -> Msg {
    Msg::Notice(Level::Info, said)
}

fn error_notice(why: String) -> Msg {
    Msg::Notice(Level::Error, why)
}

#[cfg(test)]
mod tests;
