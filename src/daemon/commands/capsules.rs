//! Tasks that can travel, for reading: made from the record, or as they are kept, and held against
//! the work tree. All of it beside the loop: git is asked.
//!
//! A kept file lies where an agent can write. Of a task that this record knows only the state of the
//! work tree is taken from it; what was said for the task the record tells. Of any other task the
//! file is all there is: a session of the project may vouch for it, which may take as long as reading
//! that does; else nobody does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::checks::not_found;
use super::kept_sessions::KeptSessions;
use crate::adapters::capsules_now::CapsulesNow;
use crate::core::agent::Agent;
use crate::core::capsule::{
    Capsule, CapsuleStatus, RENDER_CHARS_MAX, RenderTarget, RenderTerms, Rendering, StandsNow,
};
use crate::core::id::{CapsuleId, RuntimeSession};
use crate::core::redact::Redactor;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::ReplySender;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::dirs::ProjectDirs;
use crate::store::ledger::Ledger;
use crate::wire::capsule;
use crate::wire::control::{
    CAPSULES_LISTED_MAX, CapsuleCheck, CapsuleList, CapsuleQuestion, CapsuleRow, CapsuleText,
    ReadCapsulesParams, Refusal, RefusalCode, Reply,
};

impl Daemon {
    pub(super) fn read_capsules(
        &self,
        conn: ConnId,
        asking: Option<Agent>,
        params: ReadCapsulesParams,
        reply: ReplySender,
    ) {
        let pair = self.clients.pair(conn, params.runtime_session_id);
        let gates = self.configuration.gates().iter();
        let sources = Sources {
            dirs: self.dirs.clone(),
            kept: Capsules::of(&self.dirs),
            world: Arc::clone(self.recorder.world()),
            ledger: self.recorder.ledger().clone(),
            redactor: Arc::clone(self.recorder.redactor()),
            gates: gates.map(|gate| gate.name.clone()).collect(),
        };
        self.readers.read(conn, reply, move || {
            let shelf = sources.open();
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
}

/// What a read takes along to its thread.
struct Sources {
    dirs: ProjectDirs,
    kept: Capsules,
    world: Arc<Snapshot>,
    ledger: Ledger,
    redactor: Arc<Redactor>,
    gates: Vec<String>,
}

impl Sources {
    fn open(self) -> CapsuleReading {
        let ledger = self.ledger;
        CapsuleReading {
            sessions: KeptSessions::new(
                self.dirs.clone(),
                Arc::clone(&self.world),
                Arc::clone(&self.redactor),
                ledger.path().to_path_buf(),
            ),
            vouched: RefCell::default(),
            now: CapsulesNow::new(
                self.dirs.root,
                Arc::clone(&self.world),
                self.gates,
                Arc::clone(&self.redactor),
                move |seq| ledger.read(seq),
            ),
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

    fn ids(&self) -> Vec<CapsuleId> {
        let mut tasks: Vec<&TaskSnapshot> = self.world.tasks.values().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.head));
        let mut ids: Vec<CapsuleId> = tasks.iter().map(|task| task.id.clone()).collect();
        for owner in [CapsuleOwner::Project, CapsuleOwner::Foreign] {
            let others = self.kept.ids(owner).into_iter();
            let others: Vec<_> = others.filter(|id| !ids.contains(id)).collect();
            ids.extend(others);
        }
        ids
    }

    fn row(&self, id: CapsuleId, is_current: bool) -> CapsuleRow {
        let task = self.world.tasks.get(&id);
        let (kept, fault) = match self.kept(&id) {
            Ok(kept) => (kept, None),
            Err(refusal) => (None, Some(refusal.message)),
        };
        let title = task.map(|task| &task.title);
        let title = title.or(kept.as_ref().map(|kept| &kept.title));
        let status = task.map(|task| match task.is_open() {
            true => CapsuleStatus::Open,
            false => CapsuleStatus::Closed,
        });
        CapsuleRow {
            title: title.map_or_else(String::new, |title| self.masked(title)),
            status: status.or(kept.as_ref().map(|kept| kept.status.clone())),
            freshness: kept.as_ref().map(|kept| self.now.compare(kept).0),
            is_current,
            is_foreign: self.is_foreign(&id),
            fault,
            id,
        }
    }

    fn show(&self, id: CapsuleId, asking: Option<Agent>) -> Result<CapsuleText, Refusal> {
        let capsule = match self.world.tasks.get(&id) {
            Some(task) => self.of_record(task)?,
            None => self.kept(&id)?.ok_or_else(|| missing(&id))?,
        };
        let stands = self.stands(&capsule);
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
        })
    }

    fn check(&self, id: CapsuleId) -> Result<CapsuleCheck, Refusal> {
        let capsule = match (self.kept(&id)?, self.world.tasks.get(&id)) {
            (Some(kept), _) => kept,
            (None, Some(task)) => self.of_record(task)?,
            (None, None) => return Err(missing(&id)),
        };
        let stands = self.stands(&capsule);
        let touched = stands.changed.into_iter();
        Ok(CapsuleCheck {
            is_foreign: self.is_foreign(&id),
            id,
            freshness: stands.freshness,
            ahead: stands.distance.map(|(since, _)| since),
            behind: stands.distance.map(|(_, before)| before),
            touched: touched
                .map(|file| (self.masked(&file.path), file.by))
                .collect(),
        })
    }

    /// The task as the record tells it. A closed one stands on the work tree on which it was closed.
    fn of_record(&self, task: &TaskSnapshot) -> Result<Capsule, Refusal> {
        let (mut capsule, _) = self.now.make(task).map_err(|fault| {
            Refusal::new(
                RefusalCode::LedgerUnreadable,
                fault.to_string(),
                "`ctxrelay ledger verify` says more",
            )
        })?;
        if !task.is_open()
            && let Some(kept) = self.kept(&task.id)?
        {
            capsule.git = kept.git;
            capsule.touched = kept.touched;
        }
        Ok(capsule)
    }

    /// How a capsule stands to the work tree of now.
    fn stands(&self, capsule: &Capsule) -> StandsNow {
        let (freshness, now) = self.now.compare(capsule);
        StandsNow::of(capsule, freshness, &now, &self.world)
    }

    /// What is kept of a task: its own where the record or a session of the project vouches for that,
    /// else one from elsewhere.
    fn kept(&self, id: &CapsuleId) -> Result<Option<Capsule>, Refusal> {
        let own = self.kept_of(CapsuleOwner::Project, id);
        if self.world.tasks.contains_key(id) {
            return own;
        }
        if let Ok(Some(kept)) = &own
            && self.sessions.vouch_for(&self.now, kept)
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

    fn kept_of(&self, owner: CapsuleOwner, id: &CapsuleId) -> Result<Option<Capsule>, Refusal> {
        let bytes = self
            .kept
            .read(owner, id)
            .map_err(|error| unbelieved(format!("what is kept of {id} cannot be read: {error}")))?;
        let open = self.world.tasks.get(id).filter(|task| task.is_open());
        let is_own = owner == CapsuleOwner::Project;
        let Some(bytes) = bytes else {
            let is_lost = is_own && open.is_some_and(|task| self.world.tells_of_kept(task));
            return match is_lost {
                true => Err(not_as_recorded(id)),
                false => Ok(None),
            };
        };
        let read = capsule::read(&bytes);
        let read = read
            .map_err(|bad| unbelieved(format!("what is kept of {id} is not what it was: {bad}")))?;
        if read.id != *id {
            return Err(unbelieved(format!("what is kept as {id} is another task")));
        }
        if is_own && open.is_some_and(|task| !self.world.has_kept(task, &read.digest)) {
            return Err(not_as_recorded(id));
        }
        let imported = self.world.imported.get(id);
        if !is_own && imported.is_some_and(|imported| imported.digest != read.digest) {
            let what = format!("what is kept of {id} was changed since its import");
            return Err(unbelieved(what));
        }
        Ok(Some(read))
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

fn not_as_recorded(id: &CapsuleId) -> Refusal {
    Refusal::new(
        RefusalCode::WrongState,
        format!("what is kept of {id} is not what the record says went out last"),
        "nothing of it is believed; the operator exports or sends the task anew",
    )
}

fn unbelieved(message: String) -> Refusal {
    Refusal::new(
        RefusalCode::WrongState,
        message,
        "nothing of it is shown; the operator sees to `.contextrelay/capsules`",
    )
}
