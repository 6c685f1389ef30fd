//! Capsules for reading: made from the record, or as they were kept, and compared with the work
//! tree. All of it runs beside the loop, because it runs git.
//!
//! A kept file lies where an agent can write. If the record knows its task, the file is accepted
//! only if the record names its digest (for a closed task, since the close). For any other task the
//! file is all there is: a session of the project may name its digest, though finding it may take
//! as long as reading that session; otherwise nobody vouches for it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::checks::not_found;
use crate::adapters::capsules_now::CapsulesNow;
use crate::adapters::git::deadline::GitDeadline;
use crate::core::agent::Agent;
use crate::core::capsule::{
    Capsule, CapsuleStatus, Freshness, GIT_SILENT, NOT_KEPT_AT_CLOSE, RENDER_CHARS_MAX,
    RenderTarget, RenderTerms, Rendering, StandsNow,
};
use crate::core::id::{CapsuleId, RuntimeSession};
use crate::core::redact::Redactor;
use crate::core::snapshot::{GateInForce, Snapshot, TaskSnapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::reply::ReplySender;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::dirs::ProjectDirs;
use crate::store::kept_sessions::KeptSessions;
use crate::store::ledger::Ledger;
use crate::wire::capsule::{self, BadCapsule};
use crate::wire::control::{
    CAPSULES_LISTED_MAX, CapsuleCheck, CapsuleList, CapsuleQuestion, CapsuleRow, CapsuleText,
    ReadCapsulesParams, Refusal, RefusalCode, Reply,
};

/// How long git may take for one answer: an agent waits for it, for 30 s, and the first look at a
/// large work tree takes seconds. How a task stands to the work tree is not known then.
const GIT_WAIT: Duration = Duration::from_secs(10);

/// Reads them for a client of `pair`. `asking`: the agent that it is of.
pub(super) fn read(
    readers: &Readers,
    sources: CapsuleInputs,
    conn: ConnId,
    pair: RuntimeSession,
    asking: Option<Agent>,
    params: ReadCapsulesParams,
    reply: ReplySender,
) {
    readers.read_with_git(conn, reply, GIT_WAIT, move |deadline| {
        let shelf = sources.open(deadline);
        match params.question {
            CapsuleQuestion::List => Ok(Reply::Capsules(shelf.list(params.ids, &pair))),
            CapsuleQuestion::Show => {
                let id = shelf.named(params.id, &pair)?;
                shelf.show(id, asking).map(Reply::CapsuleText)
            }
            CapsuleQuestion::Check => {
                let id = shelf.named(params.id, &pair)?;
                shelf.check(id).map(Reply::CapsuleCheck)
            }
        }
    });
}

/// What a read takes along to its thread.
pub(super) struct CapsuleInputs {
    dirs: ProjectDirs,
    kept: Capsules,
    world: Arc<Snapshot>,
    ledger: Ledger,
    redactor: Arc<Redactor>,
    gates: Vec<GateInForce>,
}

impl CapsuleInputs {
    pub(super) fn of<T>(
        dirs: &ProjectDirs,
        recorder: &Recorder<T>,
        configuration: &Configuration,
    ) -> Self {
        Self {
            dirs: dirs.clone(),
            kept: Capsules::of(dirs),
            world: Arc::clone(recorder.world()),
            ledger: recorder.ledger().clone(),
            redactor: Arc::clone(recorder.redactor()),
            gates: configuration.told_gates(),
        }
    }

    fn open(self, deadline: GitDeadline) -> CapsuleReading {
        let ledger = self.ledger;
        CapsuleReading {
            sessions: KeptSessions::new(
                self.dirs.clone(),
                &self.world,
                ledger.path().to_path_buf(),
            ),
            vouched: RefCell::default(),
            now: CapsulesNow::new(
                self.dirs.root,
                Arc::clone(&self.world),
                self.gates,
                Arc::clone(&self.redactor),
                move |seq| ledger.read(seq),
            )
            .to_show(deadline),
            kept: self.kept,
            world: self.world,
            redactor: self.redactor,
        }
    }
}

/// The capsules of a project in one moment.
struct CapsuleReading {
    now: CapsulesNow,
    kept: Capsules,
    world: Arc<Snapshot>,
    redactor: Arc<Redactor>,
    sessions: KeptSessions,
    /// Tasks that the record does not hold and that a session of the project vouches for.
    vouched: RefCell<BTreeSet<CapsuleId>>,
}

impl CapsuleReading {
    fn list(&self, named: Vec<CapsuleId>, pair: &RuntimeSession) -> CapsuleList {
        let current = self.world.current_task(pair).map(|task| &task.id);
        let mut ids = match named.is_empty() {
            true => self.ids(),
            // A name that is none goes into no path.
            false => named
                .into_iter()
                .filter(|id| CapsuleId::is_well_formed(id.as_str()))
                .collect(),
        };
        let total = ids.len() as u64;
        ids.truncate(CAPSULES_LISTED_MAX);
        let rows = ids.into_iter().map(|id| {
            let is_current = current == Some(&id);
            self.row(id, is_current)
        });
        CapsuleList {
            capsules: rows.collect(),
            total,
        }
    }

    /// As `ctxrelay capsule list` has them.
    fn ids(&self) -> Vec<CapsuleId> {
        let places = self.kept.places(&self.world).into_iter();
        places.map(|place| place.id).collect()
    }

    fn row(&self, id: CapsuleId, is_current: bool) -> CapsuleRow {
        let task = self.world.tasks.get(&id);
        let (kept, fault) = match self.kept(&id) {
            Ok(kept) => (kept, None),
            Err(fault) => (None, Some(fault.to_string())),
        };
        let title = task.map(|task| &task.title);
        let title = title.or(kept.as_ref().map(|kept| &kept.title));
        let freshness = match &kept {
            Some(kept) => Some(self.now.compare(kept).0),
            // Nothing of it went out: what it says is made of the work tree of now.
            None => task.filter(|_| fault.is_none()).map(|_| Freshness::Fresh),
        };
        let status = task.map(|task| match task.is_open() {
            true => CapsuleStatus::Open,
            false => CapsuleStatus::Closed,
        });
        CapsuleRow {
            title: title.map_or_else(String::new, |title| self.masked(title)),
            status: status.or(kept.as_ref().map(|kept| kept.status.clone())),
            freshness,
            is_current,
            is_foreign: self.is_foreign(&id),
            fault,
            id,
        }
    }

    fn show(&self, id: CapsuleId, asking: Option<Agent>) -> Result<CapsuleText, Refusal> {
        let (kept, remark) = self.as_recorded(&id)?;
        let (capsule, out) = match (self.world.tasks.get(&id), kept) {
            (Some(task), out) if task.is_open() => (self.made(task)?, out),
            (_, Some(kept)) => (kept, None),
            (Some(task), None) => (self.made(task)?, None),
            (None, None) => return Err(missing(&id)),
        };
        let is_open = self.world.tasks.get(&id).is_some_and(TaskSnapshot::is_open);
        let mut stands = match is_open {
            // It was made just now.
            true => StandsNow::of_now(&capsule),
            false => self.stands(&capsule),
        };
        if let Some(out) = out {
            stands = stands.since_out(self.stands(&out));
        }
        let is_foreign = self.is_foreign(&id);
        let rendering = Rendering::of(
            &capsule,
            RenderTerms {
                target: match asking {
                    Some(Agent::Claude) => RenderTarget::Claude,
                    Some(Agent::Codex) => RenderTarget::Codex,
                    None => RenderTarget::Markdown,
                },
                stands: &stands,
                is_foreign,
                chars_max: RENDER_CHARS_MAX,
                found: &[],
            },
        );
        let left = rendering.left_out.into_iter();
        Ok(CapsuleText {
            id,
            freshness: stands.freshness,
            is_foreign,
            text: self.masked(&rendering.text),
            left_out: left
                .map(|(what, count)| (what.to_owned(), count as u64))
                .collect(),
            remark: remark.or_else(|| self.git_silent(is_open, stands.has_git)),
        })
    }

    fn check(&self, id: CapsuleId) -> Result<CapsuleCheck, Refusal> {
        let (kept, remark) = self.as_recorded(&id)?;
        let stands = match (kept, self.world.tasks.get(&id)) {
            (Some(kept), _) => self.stands(&kept),
            (None, Some(task)) if task.is_open() => StandsNow::of_now(&self.made(task)?),
            (None, Some(task)) => self.stands(&self.made(task)?),
            (None, None) => return Err(missing(&id)),
        };
        let is_open = self.world.tasks.get(&id).is_some_and(TaskSnapshot::is_open);
        let touched = stands.changed.into_iter();
        let uncompared = stands.uncompared.iter();
        Ok(CapsuleCheck {
            is_foreign: self.is_foreign(&id),
            id,
            freshness: stands.freshness,
            ahead: stands.distance.map(|(since, _)| since),
            behind: stands.distance.map(|(_, before)| before),
            touched: touched
                .map(|file| (self.masked(&file.path), file.by))
                .collect(),
            uncompared: uncompared.map(|file| self.masked(&file.path)).collect(),
            remark: remark.or_else(|| self.git_silent(is_open, stands.has_git)),
        })
    }

    /// What has to be said of an open task, which is told on the work tree of now, where git did not
    /// tell of that.
    fn git_silent(&self, is_open: bool, has_git: bool) -> Option<String> {
        let is_silent = is_open && !has_git && self.now.has_repository();
        is_silent.then(|| GIT_SILENT.to_owned())
    }

    /// The task as the record tells it, on the work tree of now.
    fn made(&self, task: &TaskSnapshot) -> Result<Capsule, Refusal> {
        let made = match task.is_open() {
            true => self.now.make(task),
            false => self.now.make_late(task),
        };
        let (capsule, _) = made.map_err(|fault| {
            Refusal::new(
                RefusalCode::LedgerUnreadable,
                fault.to_string(),
                "`ctxrelay ledger verify` says more",
            )
        })?;
        Ok(capsule)
    }

    /// What is kept of a task as the record tells it; and of a task of the record of which there is no
    /// such thing, why.
    fn as_recorded(&self, id: &CapsuleId) -> Result<(Option<Capsule>, Option<String>), KeptFault> {
        let kept = match self.kept(id) {
            Err(fault @ KeptFault::NotAsRecorded(_)) => return Ok((None, Some(fault.to_string()))),
            kept => kept?,
        };
        let closed = self.world.tasks.get(id).filter(|task| !task.is_open());
        let is_late = closed.is_some() && kept.is_none();
        Ok((kept, is_late.then(|| NOT_KEPT_AT_CLOSE.to_owned())))
    }

    /// How a capsule stands to the work tree of now.
    fn stands(&self, capsule: &Capsule) -> StandsNow {
        let (_, now) = self.now.compare(capsule);
        StandsNow::of(capsule, &now, &self.world)
    }

    /// What is kept of a task: its own where the record or a session of the project vouches for that,
    /// else one from elsewhere.
    fn kept(&self, id: &CapsuleId) -> Result<Option<Capsule>, KeptFault> {
        let own = self.kept_of(CapsuleOwner::Project, id);
        if self.world.tasks.contains_key(id) {
            return own;
        }
        if let Ok(Some(kept)) = &own
            && self.sessions.vouch_for(kept)
        {
            self.vouched.borrow_mut().insert(id.clone());
            return own;
        }
        match self.kept_of(CapsuleOwner::Foreign, id)? {
            Some(foreign) => Ok(Some(foreign)),
            None => own,
        }
    }

    /// Nobody here vouches for what was kept of it. Known once that was read.
    fn is_foreign(&self, id: &CapsuleId) -> bool {
        !self.world.tasks.contains_key(id) && !self.vouched.borrow().contains(id)
    }

    fn kept_of(&self, owner: CapsuleOwner, id: &CapsuleId) -> Result<Option<Capsule>, KeptFault> {
        let bytes = self.kept.read(owner, id);
        let bytes = bytes.map_err(|error| KeptFault::Unreadable(id.clone(), error))?;
        let is_own = owner == CapsuleOwner::Project;
        let task = self.world.tasks.get(id).filter(|_| is_own);
        let open = task.filter(|task| task.is_open());
        let Some(bytes) = bytes else {
            return match open.is_some_and(|task| self.world.tells_of_kept(task)) {
                true => Err(KeptFault::NotAsRecorded(id.clone())),
                false => Ok(None),
            };
        };
        let read = capsule::read(&bytes);
        let read = read.map_err(|bad| KeptFault::NotIntact(id.clone(), bad))?;
        if read.id != *id {
            return Err(KeptFault::OfAnother(id.clone()));
        }
        let Some(task) = task else {
            let imported = self.world.imported.get(id).filter(|_| !is_own);
            return match imported.is_some_and(|imported| imported.digest != read.digest) {
                true => Err(KeptFault::Exchanged(id.clone())),
                false => Ok(Some(read)),
            };
        };
        let told = match task.is_open() {
            true => Some(self.world.has_kept(task, &read.digest)),
            // What went out before the task was closed is only older than the record.
            false if read.updated_at != task.updated_ms => None,
            false => self.world.has_kept_since_close(task, &read.digest),
        };
        match told {
            Some(true) => Ok(Some(read)),
            Some(false) => Err(KeptFault::NotAsRecorded(id.clone())),
            None => Ok(None),
        }
    }

    fn named(&self, id: Option<CapsuleId>, pair: &RuntimeSession) -> Result<CapsuleId, Refusal> {
        let current = || self.world.current_task(pair).map(|task| task.id.clone());
        let id = id.or_else(current).ok_or_else(|| {
            Refusal::new(
                RefusalCode::NotFound,
                "no task is the current one",
                "name one by its id",
            )
        })?;
        // A name that is none goes into no path and no sentence.
        match CapsuleId::is_well_formed(id.as_str()) {
            true => Ok(id),
            false => Err(not_found("such a task", LISTED)),
        }
    }

    /// What was kept, or git told, may have been written before one of the rules.
    fn masked(&self, text: &str) -> String {
        self.redactor.redact_text(text).0.into_owned()
    }
}

/// How one learns which there are.
const LISTED: &str = "see the list of them";

fn missing(id: &CapsuleId) -> Refusal {
    not_found(&format!("task {id}"), LISTED)
}

/// Why what is kept of a task is not taken.
#[derive(Debug, thiserror::Error)]
enum KeptFault {
    #[error("what is kept of {0} cannot be read: {1}")]
    Unreadable(CapsuleId, io::Error),
    #[error("what is kept of {0} is not what it was: {1}")]
    NotIntact(CapsuleId, BadCapsule),
    #[error("what is kept as {0} is another task")]
    OfAnother(CapsuleId),
    #[error("what is kept of {0} is not what the record says went out last")]
    NotAsRecorded(CapsuleId),
    #[error("what is kept of {0} was changed since its import")]
    Exchanged(CapsuleId),
}

impl From<KeptFault> for Refusal {
    fn from(fault: KeptFault) -> Self {
        Self::new(
            RefusalCode::WrongState,
            fault.to_string(),
            "nothing of it is shown; the operator sees to `.contextrelay/capsules`",
        )
    }
}
