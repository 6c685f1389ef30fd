//! [`find`]: words in tasks that can travel, by the daemon or by what is on the disk; and
//! [`stand`]: how what was found stands to the work tree.

use std::sync::Arc;

use crate::adapters::capsules_now::CapsulesNow;
use crate::cli::connect::{self, DaemonFound, runtime, unexpected};
use crate::cli::disk;
use crate::cli::exit::Failure;
use crate::cli::ledger::search::senseless;
use crate::core::capsule::Freshness;
use crate::core::id::CapsuleId;
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::search::{CapsuleRequest, search_capsules};
use crate::store::{config, registry};
use crate::wire::capsule;
use crate::wire::control::{Command, Reply};
use crate::wire::search::{FoundHit, FoundIn, FoundPage, SearchParams};

/// The tasks of the record, latest first, then what else is kept.
pub(super) fn find(setting: &ProjectContext, params: &SearchParams) -> Result<FoundPage, Failure> {
    let by_daemon = async {
        let DaemonFound::Live(live) = connect::control(setting).await else {
            return Ok(None);
        };
        match live.ask(Command::SearchCapsules(params.clone())).await? {
            Reply::FoundTasks(page) => Ok(Some(page)),
            other => Err(unexpected(&other)),
        }
    };
    if let Some(page) = runtime()?.block_on(by_daemon)? {
        return Ok(page);
    }
    let world = Arc::new(disk::snapshot(setting)?);
    let request = CapsuleRequest::of(params, world).map_err(|error| senseless(&error))?;
    // An index that came with somebody else's project is not believed.
    let known = registry::is_known(&setting.user_dirs, &setting.dirs).unwrap_or(false);
    let rules = config::load(&setting.dirs, &setting.user_dirs).rules;
    let redactor = Redactor::with(rules);
    Ok(search_capsules(&setting.dirs, known, &redactor, &request))
}

/// Says of each task how what last went out of it stands to the work tree of now.
pub(super) fn stand(setting: &ProjectContext, hits: &mut [FoundHit]) {
    let kept = Capsules::of(&setting.dirs);
    let now = CapsulesNow::new(
        setting.dirs.root.clone(),
        Arc::new(Snapshot::default()),
        Vec::new(),
        Arc::new(Redactor::new()),
        |_| Ok(None),
    );
    for found in hits.iter_mut().filter(|it| it.kind == FoundIn::Capsule) {
        let id = CapsuleId::new(found.hit.id.as_str());
        let owner = match found.foreign {
            true => CapsuleOwner::Foreign,
            false => CapsuleOwner::Project,
        };
        found.freshness = match kept.read(owner, &id) {
            // Nothing of it went out: it is of the tree of now.
            Ok(None) => Some(Freshness::Fresh),
            // What is kept of a task may be no capsule any more; the record still tells of it.
            Ok(Some(bytes)) => capsule::read(&bytes).ok().map(|kept| now.compare(&kept).0),
            Err(_) => None,
        };
    }
}
