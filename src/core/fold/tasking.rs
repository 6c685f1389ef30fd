//! Tasks: their steps, and what is recorded while one of them is current.

use std::collections::VecDeque;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::closing::{closer, closes};
use crate::agent::Party;
use crate::continuity_state::{StateTag, StatedText};
use crate::entry::{
    CommandRun, ContinuityFact, Entry, EntryKind, NoteKind, TaskRecord, TaskStep, ToldDigest,
    TurnFiles,
};
use crate::id::CapsuleId;
use crate::kept_text::{brief, cut};
use crate::snapshot::{
    CurrentTask, IMPORTED_MAX, ImportedCapsule, KeptDigest, Snapshot, TASK_ITEMS_MAX,
    TASKS_CLOSED_MAX, TASKS_OPEN_MAX, TaskClaim, TaskEnd, TaskFile, TaskHandoff, TaskSnapshot,
};

/// The longest path that is kept, in characters.
const PATH_CHARS_MAX: usize = 400;

/// Of how many dropped items of a task it is known which they are.
const FORGOTTEN_MAX: usize = 1_000;

/// A step that the operator took.
pub(super) fn fold_task(world: &mut Snapshot, entry: &Entry, record: &TaskRecord) {
    if entry.source != Party::Human {
        return;
    }
    let has_room = world.open_tasks().count() < TASKS_OPEN_MAX;
    let session = entry.pair();
    let id = &record.task;
    let is_foreign = entry.seq <= world.foreign_through;
    match (&record.step, world.tasks.get_mut(id)) {
        (TaskStep::Opened, None) if has_room && CapsuleId::is_well_formed(id.as_str()) => {
            let title = brief(&entry.content);
            let mut task = TaskSnapshot::new(id.clone(), title, entry.seq, entry.timestamp_ms);
            task.dropped.clone_from(&record.dropped);
            let forgotten = record.forgotten.iter().take(FORGOTTEN_MAX);
            task.forgotten = forgotten.copied().collect();
            begin_with(world, record, &mut task);
            world.tasks.insert(id.clone(), task);
        }
        (TaskStep::Used, Some(task)) if task.is_open() => {
            touch(task, entry);
            let current = CurrentTask {
                id: id.clone(),
                seq: entry.seq,
            };
            world.current_tasks.insert(session, current);
        }
        (TaskStep::Renamed, Some(task)) if task.is_open() => {
            touch(task, entry);
            task.title = brief(&entry.content);
            task.named = entry.seq;
        }
        (TaskStep::Closed, Some(task)) if task.is_open() => {
            touch(task, entry);
            let outcome = Some(cut(&entry.content)).filter(|outcome| !outcome.is_empty());
            task.end = Some(TaskEnd {
                at_ms: entry.timestamp_ms,
                outcome,
                seq: Some(entry.seq),
                id: Some(entry.id.clone()),
            });
            world.current_tasks.retain(|_, current| current.id != *id);
            forget_oldest(world);
        }
        (TaskStep::Reopened, Some(task)) if !task.is_open() && has_room => {
            touch(task, entry);
            task.end = None;
        }
        (TaskStep::Imported, None) => take_import(world, entry, record),
        // Not touched: what went out says what the task was, and goes out again as it was.
        (TaskStep::Exported | TaskStep::Kept, Some(task)) if !is_foreign => {
            if let Some(ToldDigest::Kept(digest)) = ToldDigest::read(&record.step, &entry.content) {
                task.kept = Some(KeptDigest {
                    seq: entry.seq,
                    digest: digest.to_owned(),
                });
            }
        }
        _ => {}
    }
}

/// A capsule from elsewhere. Of too many the earliest is forgotten.
fn take_import(world: &mut Snapshot, entry: &Entry, record: &TaskRecord) {
    let id = &record.task;
    let Some(ToldDigest::Imported(digest)) = ToldDigest::read(&record.step, &entry.content) else {
        return;
    };
    if !CapsuleId::is_well_formed(id.as_str()) {
        return;
    }
    let imported = ImportedCapsule {
        seq: entry.seq,
        digest: digest.to_owned(),
    };
    world.imported.insert(id.clone(), imported);
    if world.imported.len() > IMPORTED_MAX {
        let earliest = world.imported.iter().min_by_key(|(_, it)| it.seq);
        let earliest = earliest.map(|(id, _)| id.clone());
        world.imported.retain(|id, _| Some(id) != earliest.as_ref());
    }
}

/// The handoff that a task began with; where both are carried on, it may be answered by now.
fn begin_with(world: &Snapshot, record: &TaskRecord, task: &mut TaskSnapshot) {
    let Some(id) = &record.handoff else { return };
    let mut closed = world.closed_handoffs.iter();
    let handoff = world.open_handoffs.get(id).map(Arc::as_ref);
    if let Some(handoff) = handoff.or_else(|| closed.find(|handoff| handoff.id == *id)) {
        task.handoffs.push_back(TaskHandoff {
            id: handoff.id.clone(),
            seq: handoff.seq,
            from: handoff.from.clone(),
            to: handoff.to.clone(),
            ask: handoff.ask.to_string(),
            tells_task: false,
            is_over: handoff.handled_by.is_some(),
            is_unanswered: handoff.handled_by.is_some() && handoff.unanswered,
        });
    }
}

/// An entry of long ago that a task which was opened again is made of. What it claimed, answered,
/// withdrew and told of its author is long over.
pub(super) fn rebuild_task(world: &mut Snapshot, entry: &Entry) {
    if let EntryKind::Task(record) = &entry.kind {
        fold_task(world, entry, record);
    }
    take_work(world, entry);
}

/// What was recorded while a task was current.
pub(super) fn work_of_task(world: &mut Snapshot, entry: &Entry) {
    settle_handoffs(world, entry);
    take_work(world, entry);
}

/// A closed task stays as it is.
fn take_work(world: &mut Snapshot, entry: &Entry) {
    if entry.seq <= world.foreign_through || !entry.kind.is_work() || world.tasks.is_empty() {
        return;
    }
    let Some(id) = entry.task() else {
        return;
    };
    let turn = match entry.source.agent() {
        // Said before any turn that is counted here.
        Some(_) if entry.only_rebuilds_task() => 0,
        Some(agent) => {
            let session = entry.pair();
            world
                .state_of(agent, &session)
                .map_or(0, |state| state.turns)
        }
        None => 0,
    };
    let Some(task) = world.tasks.get_mut(&id).filter(|task| task.is_open()) else {
        return;
    };
    touch(task, entry);
    // What entries that are carried on drop again was counted where they stood first.
    let carried = entry.carried.as_ref();
    let dropped = carried.map(|_| (task.dropped.clone(), task.forgotten.clone()));
    match &entry.kind {
        EntryKind::Note { note, .. } => take_note(task, StatedText::of(entry, turn), *note),
        EntryKind::Handoff(_) => {
            let handoff = TaskHandoff {
                id: entry.id.clone(),
                seq: entry.seq,
                from: entry.source.clone(),
                to: entry.target.clone(),
                ask: cut(&entry.content),
                tells_task: entry.hands_over(&id),
                is_over: carried.is_some_and(|it| it.answered),
                is_unanswered: carried.is_some_and(|it| it.unanswered),
            };
            task.handoffs.retain(|other| other.id != handoff.id);
            let oldest = |_: &VecDeque<_>| 0;
            let key = |handoff: &TaskHandoff| handoff.id.as_str().to_owned();
            push(
                task,
                "handoffs",
                handoff,
                |task| &mut task.handoffs,
                key,
                oldest,
            );
        }
        EntryKind::Artifact(artifact) if entry.source.agent().is_some() && artifact.is_run() => {
            let claim = TaskClaim {
                id: entry.id.clone(),
                seq: entry.seq,
                title: brief(&artifact.title),
                status: artifact.status,
                ran: artifact.ran.as_ref().map(CommandRun::cut),
            };
            // What an agent says and what it ran are two things.
            let key = |claim: &TaskClaim| match claim.ran {
                Some(_) => format!("ran {}", claim.title),
                None => claim.title.clone(),
            };
            task.claims.retain(|other| key(other) != key(&claim));
            let oldest = |_: &VecDeque<_>| 0;
            push(
                task,
                "verification",
                claim,
                |task| &mut task.claims,
                key,
                oldest,
            );
        }
        EntryKind::Continuity(record) => {
            if let ContinuityFact::TurnFiles(files) = &record.fact {
                take_files(task, entry, files);
            }
        }
        _ => {}
    }
    if let Some((dropped, forgotten)) = dropped {
        (task.dropped, task.forgotten) = (dropped, forgotten);
    }
}

fn touch(task: &mut TaskSnapshot, entry: &Entry) {
    task.head = entry.seq;
    task.updated_ms = entry.timestamp_ms;
}

/// Handoffs that are over, by whatever entry that is, or open again.
fn settle_handoffs(world: &mut Snapshot, entry: &Entry) {
    if world.tasks.is_empty() || entry.handles().is_empty() {
        return;
    }
    let by = closer(world, entry);
    let tasks = world.tasks.values_mut();
    for handoff in tasks.flat_map(|task| &mut task.handoffs) {
        if !entry.handles().contains(&handoff.id) {
            continue;
        }
        if world.open_handoffs.contains_key(&handoff.id) {
            (handoff.is_over, handoff.is_unanswered) = (false, false);
        } else if !handoff.is_over && closes(entry) {
            let mut closed = world.closed_handoffs.iter().rev();
            handoff.is_unanswered = match closed.find(|closed| closed.id == handoff.id) {
                Some(closed) => closed.unanswered,
                // One of an earlier session was not among the open ones.
                None => by != handoff.to,
            };
            handoff.is_over = true;
        }
    }
}

fn take_note(task: &mut TaskSnapshot, said: StatedText, kind: NoteKind) {
    match kind {
        NoteKind::Goal => take_goal(task, said),
        NoteKind::Hypothesis => replace(&mut task.hypothesis, said),
        NoteKind::Constraint => list(task, "constraints", said, |task| &mut task.constraints),
        NoteKind::Decision => list(task, "decisions", said, |task| &mut task.decisions),
        NoteKind::Assumption => list(task, "assumptions", said, |task| &mut task.assumptions),
        NoteKind::Question => list(task, "questions", said, |task| &mut task.questions),
        NoteKind::NextStep => {
            // What somebody says in a later turn is all that comes next.
            task.next_steps
                .retain(|step| step.by != said.by || step.turn == said.turn);
            list(task, "next", said, |task| &mut task.next_steps);
        }
        NoteKind::Done => {
            task.next_steps.retain(|step| step.by != said.by);
        }
        NoteKind::Plan | NoteKind::Blocker | NoteKind::Note => {}
    }
}

/// What the operator says is to be reached stands; what agents say of it stands below, as theirs.
fn take_goal(task: &mut TaskSnapshot, said: StatedText) {
    let is_operators = |said: &StatedText| said.by == Party::Human;
    let stands = |old: &StatedText| is_operators(old) || old.pinned;
    if !is_operators(&said) && task.goal.as_ref().is_some_and(stands) {
        return take_agent_goal(task, said);
    }
    let before = task.goal.clone().filter(|old| !is_operators(old));
    let is_new_owner = is_operators(&said);
    replace(&mut task.goal, said);
    if let Some(before) = before.filter(|_| is_new_owner) {
        take_agent_goal(task, before);
    }
}

/// The latest of each agent.
fn take_agent_goal(task: &mut TaskSnapshot, said: StatedText) {
    let goals = &mut task.agent_goals;
    let at = goals.iter().position(|old| old.by == said.by);
    let mut place = at.and_then(|at| goals.remove(at));
    replace(&mut place, said);
    goals.extend(place);
    while goals.len() > TASK_ITEMS_MAX {
        goals.pop_front();
    }
}

/// What only is inferred takes the place of nothing that somebody said, and what the operator
/// pinned stays.
fn replace(place: &mut Option<StatedText>, said: StatedText) {
    let stays = place.as_ref().is_some_and(|old| {
        let is_guess = said.tag == StateTag::Auto && old.tag != StateTag::Auto;
        is_guess || (old.pinned && said.tag != StateTag::You)
    });
    if !stays {
        *place = Some(said);
    }
}

fn list(
    task: &mut TaskSnapshot,
    name: &str,
    said: StatedText,
    of: fn(&mut TaskSnapshot) -> &mut VecDeque<StatedText>,
) {
    of(task).retain(|old| old.text != said.text);
    push(task, name, said, of, |said| said.text.clone(), |_| 0);
}

fn take_files(task: &mut TaskSnapshot, entry: &Entry, files: &TurnFiles) {
    for (paths, is_written) in [(&files.read, false), (&files.written, true)] {
        for path in paths {
            if path.chars().nth(PATH_CHARS_MAX).is_some() {
                // No part of a path is one.
                count_dropped(task, "touched", path);
                continue;
            }
            let before = task.files.iter().position(|file| file.path == *path);
            let before = before.and_then(|at| task.files.remove(at));
            // Who wrote it is worth more than who looked at it later.
            let file = match before {
                Some(file) if file.is_written && !is_written => file,
                _ => TaskFile {
                    path: path.clone(),
                    by: entry.source.clone(),
                    is_written,
                    seq: entry.seq,
                },
            };
            // What was changed is what the task is about.
            let least = |files: &VecDeque<TaskFile>| {
                files.iter().position(|file| !file.is_written).unwrap_or(0)
            };
            let key = |file: &TaskFile| file.path.clone();
            push(task, "touched", file, |task| &mut task.files, key, least);
        }
    }
}

/// Puts something behind a list of a task. Of too many the `least` goes, and is counted by its `key`.
fn push<T>(
    task: &mut TaskSnapshot,
    name: &str,
    item: T,
    of: fn(&mut TaskSnapshot) -> &mut VecDeque<T>,
    key: impl Fn(&T) -> String,
    least: impl Fn(&VecDeque<T>) -> usize,
) {
    // It may have been there before.
    if task.forgotten.remove(&number_of(name, &key(&item)))
        && let Some(count) = task.dropped.get_mut(name)
    {
        *count = count.saturating_sub(1);
    }
    let kept = of(task);
    kept.push_back(item);
    if kept.len() > TASK_ITEMS_MAX {
        let at = least(kept);
        if let Some(gone) = kept.remove(at) {
            count_dropped(task, name, &key(&gone));
        }
    }
    task.dropped.retain(|_, count| *count > 0);
}

/// Counts what is not kept, the same thing once.
fn count_dropped(task: &mut TaskSnapshot, name: &str, key: &str) {
    let is_new = match task.forgotten.len() < FORGOTTEN_MAX {
        true => task.forgotten.insert(number_of(name, key)),
        false => !task.forgotten.contains(&number_of(name, key)),
    };
    if is_new {
        *task.dropped.entry(name.to_owned()).or_default() += 1;
    }
}

/// A number that another item of the lists hardly has.
fn number_of(name: &str, key: &str) -> u64 {
    let digest = Sha256::new().chain_update(name).chain_update([0]);
    let digest = digest.chain_update(key).finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// Of the closed tasks only the latest are kept.
fn forget_oldest(world: &mut Snapshot) {
    let closed = world.tasks.values().filter(|task| !task.is_open());
    let mut closed: Vec<_> = closed.map(|task| (task.head, task.id.clone())).collect();
    closed.sort();
    let many = closed.len().saturating_sub(TASKS_CLOSED_MAX);
    for (_, id) in closed.into_iter().take(many) {
        world.tasks.remove(&id);
    }
}

#[cfg(test)]
mod tests;
