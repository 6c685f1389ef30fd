//! Tasks: the operator opens one, makes it the current one, and closes it.

use std::io;

use super::checks::unreadable;
use super::checks::{check_marker, check_text, not_found, shortened};
use super::to_record::ToRecord;
use crate::core::agent::Party;
use crate::core::entry::{
    Entry, EntryKind, NoteKind, TASK, TASK_ONLY, TaskRecord, TaskStep, ToldDigest, exported_words,
};
use crate::core::id::{CapsuleId, EntryId, RuntimeSession, Seq, SessionId};
use crate::core::snapshot::{Snapshot, TASKS_OPEN_MAX, TaskSnapshot};
use crate::daemon::base::recorder::Recorder;
use crate::daemon::sessions::reopening::SealedTask;
use crate::wire::control::{
    Refusal, Reply, STATED_MAX, StatedValue, TITLE_CHARS_MAX, TaskChange, TaskChanged,
};
use crate::wire::line::is_hash;

/// The command that lists the tasks.
const LIST: &str = "see `ctxrelay capsule list`";

/// What a change of a task comes to.
pub(super) enum TaskWish {
    /// This record does not know the task: it is looked for in sealed sessions.
    Find(CapsuleId, RuntimeSession),
    Record(ToRecord),
}

/// What the operator's change of a task comes to.
pub(super) fn change_task<T>(
    recorder: &Recorder<T>,
    session: RuntimeSession,
    change: TaskChange,
) -> Result<TaskWish, Refusal> {
    if let TaskChange::Reopen { task } = &change
        && CapsuleId::is_well_formed(task.as_str())
        && !recorder.world().tasks.contains_key(task)
    {
        return Ok(TaskWish::Find(task.clone(), session));
    }
    let (id, entries) = steps(recorder, change, session)?;
    Ok(TaskWish::Record(changed(id, entries)))
}

/// What is recorded of a change; the answer is its first step: what is carried on comes before.
fn changed(id: CapsuleId, entries: Vec<Entry>) -> ToRecord {
    let changed = ToRecord::new(entries, move |stored| {
        let mut steps = stored.iter().filter(|it| it.entry.carried.is_none());
        let seq = steps.next().map_or(Seq(0), |step| step.entry.seq);
        Reply::Task(TaskChanged { id, seq })
    });
    // It says which task is the current one.
    changed.for_status(true)
}

/// By what a task of a sealed session goes on in this one, which is still the one that it was looked
/// for from.
pub(super) fn reopen_sealed<T>(
    recorder: &Recorder<T>,
    id: CapsuleId,
    session: &SessionId,
    pair: RuntimeSession,
    read: io::Result<Option<SealedTask>>,
) -> Result<ToRecord, Refusal> {
    let world = recorder.world();
    if world.tasks.contains_key(&id) {
        // Somebody else was faster.
        let (id, entries) = steps(recorder, TaskChange::Reopen { task: id }, pair)?;
        return Ok(changed(id, entries));
    }
    if session != recorder.session_id() {
        // What was read may be deleted for good by now, and must not come back.
        return Err(Refusal::wrong_state(
            format!("another session began while {id} was looked for"),
            "reopen it again",
        ));
    }
    let Some(found) = read.map_err(|error| unreadable(&error))? else {
        return Err(unknown(&id));
    };
    check_room(world)?;
    let step = TaskStep::Reopened.of(id.clone());
    let reopened = recorder.entry(Party::Human, None, step, found.title, Some(pair));
    let mut entries = found.entries;
    for entry in &mut entries {
        entry.session_id = recorder.session_id().clone();
    }
    entries.push(reopened);
    Ok(changed(id, entries))
}

/// The entries of a change, and the task that it is about.
fn steps<T>(
    recorder: &Recorder<T>,
    change: TaskChange,
    session: RuntimeSession,
) -> Result<(CapsuleId, Vec<Entry>), Refusal> {
    let world = recorder.world();
    let step = |step: TaskStep, id: &CapsuleId, content: String| {
        let kind = step.of(id.clone());
        recorder.entry(Party::Human, None, kind, content, Some(session.clone()))
    };
    Ok(match change {
        TaskChange::Open {
            title,
            goal,
            handoff,
        } => {
            check_title(&title)?;
            check_said("goal", goal.as_deref())?;
            check_handoff(world, handoff.as_ref())?;
            check_room(world)?;
            let id = new_id();
            let kind = EntryKind::Task(TaskRecord {
                task: id.clone(),
                step: TaskStep::Opened,
                handoff,
                dropped: Default::default(),
                forgotten: Default::default(),
            });
            let used = step(TaskStep::Used, &id, title.clone());
            let opened = recorder.entry(Party::Human, None, kind, title, Some(session.clone()));
            let mut entries = vec![opened, used];
            entries.extend(goal.map(|text| {
                let kind = NoteKind::Goal;
                let mut goal = note_of(recorder, &id, StatedValue { kind, text }, &session);
                // It is the current one by now.
                goal.meta.shift_remove(TASK_ONLY);
                goal
            }));
            (id, entries)
        }
        TaskChange::Use { task } => {
            let open = known(world, &task)?;
            check_open(open)?;
            let used = step(TaskStep::Used, &task, open.title.clone());
            (task, vec![used])
        }
        TaskChange::Close { task, outcome } => {
            check_open(known(world, &task)?)?;
            check_said("outcome", outcome.as_deref())?;
            let closed = step(TaskStep::Closed, &task, outcome.unwrap_or_default());
            (task, vec![closed])
        }
        TaskChange::Edit {
            task,
            title,
            values,
        } => {
            check_open(known(world, &task)?)?;
            title.as_deref().map_or(Ok(()), check_title)?;
            check_values(title.as_deref(), &values)?;
            let renamed = title.map(|title| step(TaskStep::Renamed, &task, title));
            let said = values.into_iter();
            let said = said.map(|said| note_of(recorder, &task, said, &session));
            let entries = renamed.into_iter().chain(said).collect();
            (task, entries)
        }
        TaskChange::Import { task, digest } => {
            check_import(world, &task, &digest)?;
            let words = ToldDigest::Imported(&digest).written();
            let imported = step(TaskStep::Imported, &task, words);
            (task, vec![imported])
        }
        TaskChange::Export {
            task,
            digest,
            kept,
            patch,
            outputs,
            open,
        } => {
            // Of any task: those of sealed sessions and from elsewhere go out as well.
            check_digests(&task, [Some(&digest), kept.as_ref()])?;
            if open && !world.tasks.get(&task).is_some_and(TaskSnapshot::is_open) {
                let message = format!("{task} was closed while its capsule was made");
                return Err(Refusal::wrong_state(
                    message,
                    "export it again, as it was closed",
                ));
            }
            let along = [
                (patch, "changes that no commit has"),
                (outputs, "what gates printed"),
            ];
            let along = along.into_iter().filter(|(goes, _)| *goes);
            let along: Vec<&str> = along.map(|(_, what)| what).collect();
            let words = exported_words(&digest, &along, kept.as_deref());
            let exported = step(TaskStep::Exported, &task, words);
            (task, vec![exported])
        }
        TaskChange::Keep { task, digest } => {
            known(world, &task)?;
            check_digests(&task, [Some(&digest), None])?;
            let kept = step(TaskStep::Kept, &task, ToldDigest::Kept(&digest).written());
            (task, vec![kept])
        }
        TaskChange::Reopen { task } => {
            let closed = known(world, &task)?;
            if closed.is_open() {
                let hint = "`ctxrelay capsule use ID` makes it the current one";
                return Err(Refusal::wrong_state(format!("{task} is open"), hint));
            }
            check_room(world)?;
            let reopened = step(TaskStep::Reopened, &task, closed.title.clone());
            (task, vec![reopened])
        }
    })
}

/// The operator's word on a task. Of one that is not current it says nothing to the agents.
fn note_of<T>(
    recorder: &Recorder<T>,
    id: &CapsuleId,
    said: StatedValue,
    session: &RuntimeSession,
) -> Entry {
    let mut note = recorder.entry(
        Party::Human,
        None,
        said.kind,
        said.text,
        Some(session.clone()),
    );
    note.meta.insert(TASK.to_owned(), id.as_str().into());
    let current = recorder.world().current_task(session);
    if current.is_none_or(|current| current.id != *id) {
        note.meta.insert(TASK_ONLY.to_owned(), true.into());
    }
    note
}

/// Twelve hex digits that no other task has.
fn new_id() -> CapsuleId {
    let random = uuid::Uuid::new_v4().simple().to_string();
    CapsuleId::new(format!("{}{}", CapsuleId::PREFIX, &random[..12]))
}

fn known<'a>(world: &'a Snapshot, id: &CapsuleId) -> Result<&'a TaskSnapshot, Refusal> {
    world.tasks.get(id).ok_or_else(|| unknown(id))
}

fn unknown(id: &CapsuleId) -> Refusal {
    let name = shortened(id.as_str());
    not_found(&format!("task `{name}` in this record"), LIST)
}

fn check_open(task: &TaskSnapshot) -> Result<(), Refusal> {
    if task.is_open() {
        return Ok(());
    }
    let hint = format!("`ctxrelay capsule reopen {}` has it go on", task.id);
    Err(Refusal::wrong_state(format!("{} is closed", task.id), hint))
}

fn check_room(world: &Snapshot) -> Result<(), Refusal> {
    if world.open_tasks().count() < TASKS_OPEN_MAX {
        return Ok(());
    }
    Err(Refusal::wrong_state(
        format!("{TASKS_OPEN_MAX} tasks are open"),
        "close one: `ctxrelay capsule close ID`",
    ))
}

fn check_title(title: &str) -> Result<(), Refusal> {
    check_text("title", title)?;
    let is_long = title.chars().count() > TITLE_CHARS_MAX;
    if is_long || title.chars().any(char::is_control) {
        return Err(Refusal::invalid(
            format!("`title` is not one line of at most {TITLE_CHARS_MAX} characters"),
            "say more in `--goal`",
        ));
    }
    Ok(())
}

fn check_said(field: &str, text: Option<&str>) -> Result<(), Refusal> {
    let Some(text) = text else {
        return Ok(());
    };
    check_text(field, text)?;
    check_marker(&format!("`{field}`"), text)
}

fn check_handoff(world: &Snapshot, id: Option<&EntryId>) -> Result<(), Refusal> {
    match id {
        Some(id) if !world.open_handoffs.contains_key(id) => Err(not_found(
            &format!("open handoff `{}`", shortened(id.as_str())),
            "see `ctxrelay recover`, or open the task without one",
        )),
        _ => Ok(()),
    }
}

fn check_values(title: Option<&str>, values: &[StatedValue]) -> Result<(), Refusal> {
    if values.len() > STATED_MAX || (values.is_empty() && title.is_none()) {
        return Err(Refusal::invalid(
            format!("{} values are stated", values.len()),
            format!("state 1 to {STATED_MAX}, or another title"),
        ));
    }
    let mut values = values.iter();
    values.try_for_each(|value| check_said(value.kind.as_str(), Some(&value.text)))
}

fn check_import(world: &Snapshot, id: &CapsuleId, digest: &str) -> Result<(), Refusal> {
    if world.tasks.contains_key(id) {
        let hint = "see `ctxrelay capsule show`; nothing was kept";
        return Err(Refusal::wrong_state(
            format!("{id} is a task of this record"),
            hint,
        ));
    }
    check_digests(id, [Some(digest), None])
}

fn check_digests<T: AsRef<str>>(id: &CapsuleId, digests: [Option<T>; 2]) -> Result<(), Refusal> {
    let mut digests = digests.iter().flatten();
    if CapsuleId::is_well_formed(id.as_str()) && digests.all(|digest| is_hash(digest.as_ref())) {
        return Ok(());
    }
    Err(Refusal::invalid(
        "no capsule's id, or no SHA-256",
        "use `ctxrelay capsule import FILE` and `export`",
    ))
}
