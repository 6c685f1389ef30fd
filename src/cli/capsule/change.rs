//! The operator's changes to tasks: `new`, `use`, `close`, `reopen`.

use std::io::{IsTerminal as _, stdin, stdout};

use serde_json::json;
use tokio::runtime::Runtime;

use super::alike::{chosen, goes_into};
use super::maker::CapsuleMaker;
use super::{CloseArgs, EditArgs, NewArgs};
use crate::adapters::git::now::GitNeed;
use crate::cli::connection::connect::{Live, runtime};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::Report;
use crate::core::capsule::{CapsuleDraft, DraftChanges};
use crate::core::entry::NoteKind;
use crate::core::id::{CapsuleId, EntryId};
use crate::core::snapshot::TASKS_CLOSED_MAX;
use crate::deck::terminal::editor::{self, Edited, Editor};
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::wire::control::{
    Command, ProgramCode, RefusalCode, StatedValue, TaskChange, TaskChanged, TaskParams,
};

pub(super) fn open(context: &CliContext, args: NewArgs) -> CliOutcome {
    let before = match &args.like {
        None => Vec::new(),
        // Before it is open: what is left at the question has opened nothing.
        Some(words) => {
            let maker = CapsuleMaker::open(&context.project)?;
            chosen(context, words, args.yes, |hit| goes_into(&maker, hit))?
        }
    };
    let changed = change(
        context,
        TaskChange::Open {
            title: args.title,
            goal: args.goal,
            handoff: args.handoff.map(EntryId::new),
        },
    )?;
    if !before.is_empty() {
        let values = before.iter().map(|found| StatedValue {
            kind: NoteKind::Assumption,
            text: found.to_string(),
        });
        let values = values.collect();
        let (task, title) = (changed.id.clone(), None);
        let edit = TaskChange::Edit {
            task,
            title,
            values,
        };
        change(context, edit).map_err(|failure| Failure {
            message: format!(
                "{} is open, and what was ticked is not recorded: {}",
                changed.id, failure.message
            ),
            ..failure
        })?;
    }
    let said = "what is recorded from now on belongs to it";
    told(
        context,
        &changed,
        &format!("{} is open; {said}", changed.id),
    )
}

pub(super) fn make_current(context: &CliContext, name: &str) -> CliOutcome {
    let task = named(context, name)?;
    let wish = TaskChange::Use { task: task.clone() };
    let changed = change(context, wish).map_err(|failure| of_elsewhere(context, &task, failure))?;
    let said = "what is recorded from now on belongs to";
    told(context, &changed, &format!("{said} {}", changed.id))
}

pub(super) fn edit(context: &CliContext, args: EditArgs) -> CliOutcome {
    let task = named(context, &args.id)?;
    let values = [
        (NoteKind::Goal, Vec::from_iter(args.goal)),
        (NoteKind::Hypothesis, Vec::from_iter(args.hypothesis)),
        (NoteKind::Constraint, args.constraint),
        (NoteKind::Decision, args.decision),
        (NoteKind::Assumption, args.assumption),
        (NoteKind::Question, args.question),
        (NoteKind::NextStep, args.next),
    ];
    let values = values.into_iter().flat_map(|(kind, texts)| {
        let texts = texts.into_iter();
        texts.map(move |text| (kind, text))
    });
    let changes = DraftChanges {
        title: args.title,
        values: values.collect(),
    };
    let changed = match changes.is_empty() {
        true => edited(context, &task)?,
        false => {
            let edit = edit_of(&task, changes);
            let changed = change(context, edit);
            Some(changed.map_err(|failure| of_elsewhere(context, &task, failure))?)
        }
    };
    match changed {
        Some(changed) => told(context, &changed, &format!("recorded for {}", changed.id)),
        None => {
            let value = json!({"id": task, "seq": null});
            let report = Report::new(&value, "nothing was changed");
            context.out.report(report)
        }
    }
}

fn edit_of(task: &CapsuleId, changes: DraftChanges) -> TaskChange {
    let values = changes.values.into_iter();
    let values = values.map(|(kind, text)| StatedValue { kind, text });
    TaskChange::Edit {
        task: task.clone(),
        title: changes.title,
        values: values.collect(),
    }
}

pub(super) fn close(context: &CliContext, args: CloseArgs) -> CliOutcome {
    let task = named(context, &args.id)?;
    let outcome = args.outcome;
    let wish = TaskChange::Close {
        task: task.clone(),
        outcome,
    };
    let changed = change(context, wish).map_err(|failure| of_elsewhere(context, &task, failure))?;
    // As it is now it stays: the work tree goes on without it.
    let kept = CapsuleMaker::open_ahead(&context.project, GitNeed::Stand);
    match kept.and_then(|maker| maker.keep_closed(&changed.id)) {
        Ok(kept) => record_kept(context, &changed.id, kept),
        // Nothing takes the close back.
        Err(failure) => context
            .out
            .note(&format!("{}; {}", failure.message, failure.hint)),
    }
    told(context, &changed, &format!("{} is closed", changed.id))
}

pub(super) fn reopen(context: &CliContext, name: &str) -> CliOutcome {
    let task = named(context, name)?;
    let reopen = TaskChange::Reopen { task: task.clone() };
    let changed = change(context, reopen).map_err(|failure| of_sealed(context, &task, failure))?;
    let said = format!(
        "{} goes on; `ctxrelay capsule use {}` has the work belong to it",
        changed.id, changed.id
    );
    told(context, &changed, &said)
}

/// The list shows tasks too of which the record of now knows nothing (any more).
fn of_sealed(context: &CliContext, task: &CapsuleId, failure: Failure) -> Failure {
    let kept = Capsules::of(&context.project.dirs);
    if !failure.is(&RefusalCode::NotFound) || !kept.has(CapsuleOwner::Project, task) {
        return of_elsewhere(context, task, failure);
    }
    let is_of_this = CapsuleMaker::open(&context.project).is_ok_and(|maker| {
        let made = maker.named(task.as_str());
        made.is_ok_and(|made| {
            made.owner == CapsuleOwner::Project
                && maker.world.session_id.as_ref() == Some(&made.capsule.origin.session)
        })
    });
    let why = match is_of_this {
        true => format!("it is older than the last {TASKS_CLOSED_MAX} tasks that were closed"),
        false => "no sealed session that the record leads back to ended with it closed".to_owned(),
    };
    Failure::state(
        ProgramCode::SealedTask,
        format!("{task} stays as it is: {why}"),
        "begin a new one: `ctxrelay capsule new TITLE --like WORDS` takes along what was said in it",
    )
}

/// The list shows tasks too that were brought from elsewhere, and those of sealed sessions.
fn of_elsewhere(context: &CliContext, task: &CapsuleId, failure: Failure) -> Failure {
    let kept = Capsules::of(&context.project.dirs);
    if !failure.is(&RefusalCode::NotFound) {
        return failure;
    }
    match [CapsuleOwner::Foreign, CapsuleOwner::Project].map(|owner| kept.has(owner, task)) {
        [true, _] => foreign(task),
        [_, true] => Failure {
            hint: format!(
                "if a sealed session has it, `ctxrelay capsule reopen {task}` has it go on"
            ),
            ..failure
        },
        _ => failure,
    }
}

fn foreign(task: &CapsuleId) -> Failure {
    Failure::state(
        RefusalCode::NotFound,
        format!(
            "{task} was brought from elsewhere: it is no task of this record, and can be read and \
             handed over but not changed"
        ),
        format!(
            "open one of your own with `ctxrelay capsule new TITLE`; an agent gets this one with \
             `ctxrelay capsule handoff {task} --to codex`"
        ),
    )
}

/// What the person changed of a task in their editor, once that is recorded; none where nothing was.
/// The daemon is asked before the editor is opened, and has this client meanwhile, so that it does
/// not end for having none.
fn edited(context: &CliContext, task: &CapsuleId) -> Result<Option<TaskChanged>, Failure> {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal);
    }
    let hint = "say it by an option: `ctxrelay capsule edit --help`";
    let failed = |why: String| Failure::invalid(why, hint);
    if !(stdin().is_terminal() && stdout().is_terminal()) {
        return Err(failed("there is no terminal for an editor".to_owned()));
    }
    let command = editor::command();
    let command = command.ok_or_else(|| failed("$EDITOR is not set".to_owned()))?;
    let changing = Changing::open(context)?;
    let open = changing.check_open(task);
    open.map_err(|failure| of_elsewhere(context, task, failure))?;
    let made = CapsuleMaker::open(&context.project)?.named(task.as_str())?;
    let before = CapsuleDraft::of(&made.capsule);
    let text = before.text();
    let mut editor = Editor::open(&command, &text)
        .map_err(|error| failed(format!("$EDITOR cannot be opened: {error}")))?;
    let (edited, mut editor) = changing.beside(move || (editor.wait(), editor))?;
    let changed = match edited {
        Edited::Text(after) => CapsuleDraft::read(&after)
            .map_err(|lines| failed(lines.to_string()))
            .and_then(|after| match before.changes(&after) {
                changes if changes.is_empty() => Ok(None),
                changes => changing.change(edit_of(task, changes)).map(Some),
            }),
        Edited::Failed(why) => Err(failed(why)),
    };
    changed.map_err(|failure| match editor.keep(&text) {
        Some(kept) => Failure {
            hint: format!("what you wrote is in {}; {}", kept.display(), failure.hint),
            ..failure
        },
        None => failure,
    })
}

/// Tells the record what is kept of a task since then. What was done before stays done without it.
pub(super) fn record_kept(context: &CliContext, task: &CapsuleId, kept: Option<String>) {
    let Some(digest) = kept else {
        return;
    };
    let task = task.clone();
    if let Err(failure) = change(context, TaskChange::Keep { task, digest }) {
        let why = failure.message;
        context
            .out
            .note(&format!("what is kept of it is not recorded: {why}"));
    }
}

/// Nothing is lost by any of these, so that no word has to be typed.
pub(super) fn change(context: &CliContext, change: TaskChange) -> Result<TaskChanged, Failure> {
    let command = command(context, change);
    let runtime = runtime()?;
    runtime.block_on(operator::check(context, &command))?;
    Changing::with(context, runtime).ask(command)
}

fn command(context: &CliContext, change: TaskChange) -> Command {
    Command::ChangeTask(TaskParams {
        change,
        runtime_session_id: Some(context.project.runtime_session.clone()),
    })
}

/// The operator's connection, made before it is known what will be asked.
pub(super) struct Changing<'a> {
    context: &'a CliContext,
    runtime: Runtime,
    live: Result<Live, Failure>,
}

impl<'a> Changing<'a> {
    /// Of the operator, which the daemon sees to.
    ///
    /// # Errors
    ///
    /// When the system gives no event queue; that no daemon answers is told when one is asked.
    pub(super) fn open(context: &'a CliContext) -> Result<Self, Failure> {
        Ok(Self::with(context, runtime()?))
    }

    fn with(context: &'a CliContext, runtime: Runtime) -> Self {
        let live = runtime.block_on(operator::connection(context));
        Self {
            context,
            runtime,
            live,
        }
    }

    /// Whether a task can be changed, before a person says what.
    ///
    /// # Errors
    ///
    /// When it is not open, no daemon runs, or this is not the operator.
    fn check_open(&self, task: &CapsuleId) -> Result<(), Failure> {
        let live = self.live.clone()?;
        // Refused and recorded as this where it is not the operator.
        let change = edit_of(task, DraftChanges::default());
        let command = command(self.context, change);
        let world = self.runtime.block_on(async {
            let live = operator::admitted(live, &command).await?;
            live.snapshot().await
        })?;
        match world.tasks.get(task) {
            Some(task) if task.is_open() => Ok(()),
            Some(_) => Err(Failure::state(
                RefusalCode::WrongState,
                format!("{task} is closed"),
                format!("`ctxrelay capsule reopen {task}` has it go on"),
            )),
            None => Err(Failure::state(
                RefusalCode::NotFound,
                format!("there is no task `{task}` in this record"),
                "see `ctxrelay capsule list`",
            )),
        }
    }

    /// Does something long while the connection is kept.
    ///
    /// # Errors
    ///
    /// When it cannot be done.
    fn beside<T: Send + 'static>(
        &self,
        long: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let done = self
            .runtime
            .block_on(self.runtime.handle().spawn_blocking(long));
        done.map_err(|error| Failure::internal("wait for the editor", error))
    }

    pub(super) fn change(self, change: TaskChange) -> Result<TaskChanged, Failure> {
        let command = command(self.context, change);
        self.ask(command)
    }

    fn ask(self, command: Command) -> Result<TaskChanged, Failure> {
        let live = self.live?;
        self.runtime.block_on(async {
            let live = operator::admitted(live, &command).await?;
            live.ask_for(command).await
        })
    }
}

/// The task that a person means. What the daemon does not know it refuses itself.
fn named(context: &CliContext, name: &str) -> Result<CapsuleId, Failure> {
    if CapsuleId::is_well_formed(name) {
        return Ok(CapsuleId::new(name));
    }
    CapsuleMaker::open(&context.project)?.id_of(name)
}

fn told(context: &CliContext, changed: &TaskChanged, said: &str) -> CliOutcome {
    let value = json!({"id": changed.id, "seq": changed.seq});
    context.out.report(Report::new(&value, said))
}
