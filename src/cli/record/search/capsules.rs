//! [`find`]: searches for words in tasks that can travel, through the daemon or on the disk;
//! [`stand`]: compares the results with the work tree.

use std::rc::Rc;
use std::sync::Arc;

use crate::cli::capsule::maker::CapsuleMaker;
use crate::cli::connection::dialed::Dialed;
use crate::cli::exit::Failure;
use crate::cli::lifecycle::replace::NO_SUCH_METHOD;
use crate::cli::offline::disk;
use crate::cli::record::ledger::search::senseless;
use crate::cli::text::masking::Masking;
use crate::client::{Client, ClientError};
use crate::core::capsule::Freshness;
use crate::core::id::CapsuleId;
use crate::host::ProjectContext;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::registry;
use crate::store::search::{CapsuleRequest, search_capsules};
use crate::wire::capsule;
use crate::wire::control::Command;
use crate::wire::search::{FoundHit, FoundIn, FoundPage, SearchParams};

/// The tasks of the record, latest first, then what else is kept.
pub(super) fn find(
    project: &ProjectContext,
    dialed: &Dialed,
    params: &SearchParams,
) -> Result<FoundPage, Failure> {
    if let Some(live) = dialed.live()
        && let Some(page) = dialed.wait_for(by_daemon(&live.client, params))?
    {
        return Ok(page);
    }
    let world = Arc::new(disk::snapshot(project)?);
    let request = CapsuleRequest::of(params, world).map_err(|error| senseless(&error))?;
    // An index that came with somebody else's project is not believed.
    let known = registry::is_known(&project.user_dirs, &project.dirs).unwrap_or(false);
    let redactor = Masking::load(project).redactor();
    Ok(search_capsules(&project.dirs, known, &redactor, &request))
}

/// What the daemon finds; `None` from one of an earlier build, which searches no tasks.
async fn by_daemon(client: &Client, params: &SearchParams) -> Result<Option<FoundPage>, Failure> {
    let search = Command::SearchCapsules(params.clone());
    match client.ask_for(search).await {
        Ok(page) => Ok(Some(page)),
        Err(ClientError::Refused(refusal)) if refusal.code == NO_SUCH_METHOD => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says of each task how what last went out of it stands to the work tree of now, and of everything
/// whether anybody vouches for it.
pub(super) fn stand(
    project: &ProjectContext,
    dialed: &Rc<Dialed>,
    hits: &mut [FoundHit],
) -> Result<(), Failure> {
    if hits.is_empty() {
        return Ok(());
    }
    let maker = CapsuleMaker::open_by(project, dialed)?;
    for found in hits.iter_mut().filter(|it| it.kind != FoundIn::Capsule) {
        found.unvouched = !maker.leads_to(found);
    }
    let kept = Capsules::of(&project.dirs);
    for found in hits.iter_mut().filter(|it| it.kind == FoundIn::Capsule) {
        let id = CapsuleId::new(found.hit.id.as_str());
        let owner = match found.foreign {
            true => CapsuleOwner::Foreign,
            false => CapsuleOwner::Project,
        };
        // What is kept from elsewhere is read once for both.
        let made = maker.named(id.as_str()).ok().filter(|_| found.foreign);
        if let Some(made) = made.filter(|made| made.owner == CapsuleOwner::Foreign) {
            found.freshness = Some(maker.compare(&made.capsule).0);
            found.unvouched = !made.is_vouched;
            continue;
        }
        found.freshness = match kept.read(owner, &id) {
            // Nothing of it went out: it is of the tree of now. What did may be gone.
            Ok(None) => Some(Freshness::Fresh).filter(|_| !maker.tells_of_kept(&id)),
            // What is kept of a task may be no capsule any more; the record still tells of it.
            Ok(Some(bytes)) => capsule::read(&bytes)
                .ok()
                .filter(|kept| owner == CapsuleOwner::Foreign || maker.is_as_recorded(&id, kept))
                .map(|kept| maker.compare(&kept).0),
            Err(_) => None,
        };
        found.unvouched = !maker.vouches_for(found);
        found.foreign |= found.unvouched;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake_daemon::{Answering, FakeDaemon, Place};
    use crate::wire::control::{Refusal, RefusalCode, Role};

    /// What is made of a daemon that refuses with this code.
    async fn refused(code: RefusalCode) -> Result<Option<FoundPage>, Failure> {
        let place = Place::default();
        let refusal = Refusal::new(code, "no", "");
        let _daemon = FakeDaemon::start(&place, move |_| Answering::Refuse(refusal.clone())).await;
        by_daemon(&place.client(Role::Cli), &SearchParams::default()).await
    }

    #[tokio::test]
    async fn only_a_daemon_that_does_not_know_the_question_is_done_without() {
        assert_eq!(refused(NO_SUCH_METHOD).await, Ok(None));
        let failure = refused(RefusalCode::SearchFailed).await;
        assert!(failure.is_err_and(|failure| failure.is(&RefusalCode::SearchFailed)));
    }
}
