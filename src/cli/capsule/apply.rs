//! [`apply`]: keeps a capsule from elsewhere, and records that.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::maker::CapsuleMaker;
use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::capsule::Capsule;
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::capsules::CapsuleOwner;
use crate::wire::capsule;
use crate::wire::control::{
    Command, ProgramCode, RefusalCode, TaskChange, TaskChanged, TaskParams,
};

/// How long it is looked whether an import is in the record whose answer was lost: what the daemon
/// took it may still be writing.
const LOOK: Duration = Duration::from_secs(2);

/// How often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Keeps it. False when just this file is here already.
pub(super) fn apply(
    context: &CliContext,
    maker: &CapsuleMaker,
    capsule: &Capsule,
    bytes: &[u8],
) -> Result<bool, Failure> {
    let id = &capsule.id;
    let command = Command::ChangeTask(TaskParams {
        change: TaskChange::Import {
            task: id.clone(),
            digest: capsule.digest.clone(),
        },
        runtime_session_id: Some(context.project.runtime_session.clone()),
    });
    let own = maker.kept.read(CapsuleOwner::Project, id).ok().flatten();
    let own = own.and_then(|own| capsule::read(&own).ok());
    let is_own = own.is_some_and(|own| own.id == *id && maker.sessions.vouch_for(&own));
    wait_for(async {
        let live = operator::live(context, &command).await?;
        let folder = context.project.dirs.relay.join("capsules");
        let unwritable = |error| Failure::unwritable(&folder, error, "see that the disk has room");
        let _lock = maker.kept.lock_foreign().map_err(unwritable)?;
        // As it is since nobody else imports.
        let world = live.snapshot().await?;
        if is_own || world.tasks.contains_key(id) {
            return Err(Failure::state(
                ProgramCode::OwnTask,
                format!("{id} is a task of this project itself"),
                "see `ctxrelay capsule show`; nothing was kept",
            ));
        }
        let before = maker.kept.read(CapsuleOwner::Foreign, id).ok().flatten();
        if is_recorded(&world, capsule) && before.as_deref() == Some(bytes) {
            return Ok(false);
        }
        let kept = maker.kept.write(CapsuleOwner::Foreign, id, bytes);
        kept.map_err(unwritable)?;
        let recorded: Result<TaskChanged, Failure> = live.ask_for(command).await;
        let Err(mut failure) = recorded else {
            return Ok(true);
        };
        let lost = [RefusalCode::Unanswered, RefusalCode::Protocol];
        if lost.iter().any(|code| failure.is(code)) {
            failure = match is_recorded_now(&context.project, capsule).await {
                Some(true) => return Ok(true),
                Some(false) => not_recorded(failure),
                None => return Err(unclear(failure)),
            };
        }
        // What the record does not tell of is not there.
        let back = match before {
            Some(before) => maker.kept.write(CapsuleOwner::Foreign, id, &before),
            None => maker.kept.remove(CapsuleOwner::Foreign, id),
        };
        if let Err(error) = back {
            tracing::warn!(%error, "a capsule that was not imported is still there");
        }
        Err(failure)
    })
}

fn is_recorded(world: &Snapshot, capsule: &Capsule) -> bool {
    let imported = world.imported.get(&capsule.id);
    imported.is_some_and(|it| it.digest == capsule.digest)
}

/// Whether the record tells of an import whose answer did not come; none where nobody can tell.
async fn is_recorded_now(project: &ProjectContext, capsule: &Capsule) -> Option<bool> {
    let end = Instant::now() + LOOK;
    loop {
        let found = match connect::control(project).await {
            DaemonFound::Live(live) => live.snapshot().await,
            // What it took is on the disk by now, or nowhere.
            DaemonFound::Nobody => {
                let world = disk::snapshot(project).ok()?;
                return Some(is_recorded(&world, capsule));
            }
            DaemonFound::Unfit(_) => return None,
        };
        match found {
            Ok(world) if is_recorded(&world, capsule) => return Some(true),
            found if Instant::now() >= end => return found.ok().map(|_| false),
            _ => sleep(LOOK_EVERY).await,
        }
    }
}

fn not_recorded(failure: Failure) -> Failure {
    Failure {
        message: format!(
            "{}, and the record tells of no import: nothing was kept",
            failure.message
        ),
        hint: "import it again".to_owned(),
        ..failure
    }
}

fn unclear(failure: Failure) -> Failure {
    Failure {
        message: format!(
            "{}, and nobody tells whether the record has the import: the file is kept as something \
             from elsewhere",
            failure.message
        ),
        hint: "import it again: the same import twice is one".to_owned(),
        ..failure
    }
}
