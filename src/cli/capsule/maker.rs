//! [`CapsuleMaker`]: makes and keeps the capsules of this project.
//!
//! Agents can write to the folder in which they are kept. A kept file of the project's own is used
//! only if the record, or a session that it leads back to, has its digest; a file from elsewhere
//! only if it is unchanged since its import.

use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use super::keeping::{KEPT_LATE, not_as_recorded};
use crate::adapters::capsules_now::{Along, CapsuleFault, CapsulesNow};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::now::{GitAhead, GitNeed};
use crate::cli::connection::dialed::Dialed;
use crate::cli::connection::record_now::RecordNow;
use crate::cli::exit::{ExitKind, Failure};
use crate::cli::offline::disk;
use crate::cli::text::masking::Masking;
use crate::core::capsule::{Capsule, Freshness, GIT_SILENT, NOT_KEPT_AT_CLOSE, TreeNow};
use crate::core::id::CapsuleId;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::host::ProjectContext;
use crate::store::blobs::Blobs;
use crate::store::capsules::{CapsuleOwner, Capsules, ListPlace};
use crate::store::config;
use crate::store::kept_sessions::KeptSessions;
use crate::wire::capsule::{self, BadCapsule};
use crate::wire::control::{ProgramCode, RefusalCode};
use crate::wire::search::{FoundHit, FoundIn};

/// A capsule with its bytes.
#[derive(Debug)]
pub(in crate::cli) struct MadeCapsule {
    pub(in crate::cli) capsule: Capsule,
    pub(super) bytes: Vec<u8>,
    /// Whose it is, as far as the record vouches for that.
    pub(in crate::cli) owner: CapsuleOwner,
    /// What a person has to be told of it, each a sentence.
    pub(in crate::cli) remarks: Vec<String>,
    /// The record vouches for the file that is kept of it, where there is one.
    pub(in crate::cli) is_vouched: bool,
    /// It is shown otherwise than its file is.
    pub(super) is_masked_here: bool,
    /// It is an open task as it is now, not an earlier file.
    pub(super) is_of_now: bool,
}

/// What is needed to make capsules and to hold them against the work tree.
pub(in crate::cli) struct CapsuleMaker {
    pub(super) world: Arc<Snapshot>,
    pub(super) kept: Capsules,
    pub(super) now: CapsulesNow,
    record: Rc<RecordNow>,
    pub(super) sessions: KeptSessions,
    masking: Masking,
}

impl CapsuleMaker {
    /// Of this project, as it is now.
    pub(in crate::cli) fn open(project: &ProjectContext) -> Result<Self, Failure> {
        Self::open_by(project, &Dialed::dial(project)?)
    }

    /// As [`Self::open`], by the daemon that was looked for before.
    pub(in crate::cli) fn open_by(
        project: &ProjectContext,
        dialed: &Rc<Dialed>,
    ) -> Result<Self, Failure> {
        Self::open_with(project, dialed, None)
    }

    /// As [`Self::open`], for what certainly needs the repository: git is asked while the record is
    /// read.
    pub(super) fn open_ahead(project: &ProjectContext, need: GitNeed) -> Result<Self, Failure> {
        let root = project.dirs.root.clone();
        let ahead = GitAhead::start(root, need, GitDeadline::NONE);
        Self::open_with(project, &Dialed::dial(project)?, Some(ahead))
    }

    fn open_with(
        project: &ProjectContext,
        dialed: &Rc<Dialed>,
        ahead: Option<GitAhead>,
    ) -> Result<Self, Failure> {
        let record = Rc::new(RecordNow::open_by(project, dialed)?);
        let world = Arc::clone(record.world());
        let path = record.path().to_owned();
        let loaded = config::load(&project.dirs, &project.user_dirs);
        let gates = loaded.config.gates_in_force();
        let masking = Masking::of(&loaded);
        let redactor = Arc::new(masking.redactor());
        if ahead.is_some() {
            let redactor = Arc::clone(&redactor);
            thread::spawn(move || redactor.compile());
        }
        let now = CapsulesNow::new(
            project.dirs.root.clone(),
            Arc::clone(&world),
            gates,
            redactor,
            {
                let record = Rc::clone(&record);
                move |seq| record.read(seq)
            },
        );
        if let Some(ahead) = ahead {
            now.ask_ahead(ahead);
        }
        let blobs = Blobs::of_ledger(&path);
        let now = now.with_whole(move |sha256| blobs.get(sha256).ok());
        Ok(Self {
            sessions: KeptSessions::new(project.dirs.clone(), &world, path),
            world,
            kept: Capsules::of(&project.dirs),
            now,
            record,
            masking,
        })
    }

    /// Of what goes out of the project: see [`Masking::check_to_go_out`].
    pub(super) fn check_to_go_out(&self) -> Result<(), Failure> {
        self.masking.check_to_go_out()
    }

    /// Of what is shown: see [`Masking::remark`].
    pub(super) fn masking_remark(&self) -> Option<String> {
        self.masking.remark()
    }

    /// The capsule that a person means by its id, or by the end of it. That of a task which is
    /// closed, and one from elsewhere, is as it was kept.
    pub(in crate::cli) fn named(&self, name: &str) -> Result<MadeCapsule, Failure> {
        let id = self.id_of(name)?;
        match self.world.tasks.get(&id) {
            Some(task) if task.is_open() => self.make(task),
            Some(task) => self.closed(task),
            None => self.of_no_task(&id)?.ok_or_else(|| missing(name)),
        }
    }

    /// That of a closed task: as it was kept then, where the record tells its digest since.
    fn closed(&self, task: &TaskSnapshot) -> Result<MadeCapsule, Failure> {
        let kept = self.kept(CapsuleOwner::Project, &task.id)?;
        // What went out before the task was closed is only older than the record.
        let kept = kept.filter(|kept| kept.capsule.updated_at == task.updated_ms);
        let told = kept.map(|kept| {
            let digest = &kept.capsule.digest;
            (self.world.has_kept_since_close(task, digest), kept)
        });
        let (is_vouched, remark) = match told {
            Some((Some(true), mut kept)) => {
                let git = kept.capsule.git.as_ref();
                if git.is_some_and(|git| git.late == Some(true)) {
                    kept.remarks.push(KEPT_LATE.to_owned());
                }
                return self.masked_by_now(kept);
            }
            Some((Some(false), _)) => {
                let remark = format!(
                    "what is kept of {} says something else than the record, and stays there: this \
                     is what the record says, on the work tree of now",
                    task.id
                );
                (false, remark)
            }
            Some((None, _)) | None => (true, NOT_KEPT_AT_CLOSE.to_owned()),
        };
        let mut made = self.make_late(task)?;
        made.is_vouched = is_vouched;
        made.remarks.push(remark);
        Ok(made)
    }

    /// That of a task which the record does not know (any more), and one from elsewhere.
    fn of_no_task(&self, id: &CapsuleId) -> Result<Option<MadeCapsule>, Failure> {
        let own = match self.kept(CapsuleOwner::Project, id) {
            Ok(Some(own)) if self.sessions.vouch_for(&own.capsule) => {
                return self.masked_by_now(own).map(Some);
            }
            own => own,
        };
        if let Some(mut foreign) = self.kept(CapsuleOwner::Foreign, id)? {
            if !self.world.imported.contains_key(id) {
                foreign.is_vouched = false;
                foreign.remarks.push(format!(
                    "the record does not tell of an import of {id}, so that nobody can tell whether \
                     it is the file that was imported: import the sender's file again"
                ));
            }
            return Ok(Some(foreign));
        }
        Ok(own?.map(|mut own| {
            own.owner = CapsuleOwner::Foreign;
            own.is_vouched = false;
            own.remarks.push(match self.sessions.is_apart(&own.capsule.origin.session) {
                true => format!(
                    "the record does not lead back to the session that this names of {id}, or that \
                     session is not as it was sealed: it is kept here, and nobody vouches for it"
                ),
                false => format!(
                    "no record here tells the digest of this for {id}: it is kept here, and nobody \
                     vouches for it; where it was closed in this project, `ctxrelay capsule reopen \
                     {id}` and `close` keep it anew"
                ),
            });
            own
        }))
    }

    /// What was kept may be older than one of the rules.
    fn masked_by_now(&self, mut kept: MadeCapsule) -> Result<MadeCapsule, Failure> {
        let masked = self.now.remasked(&kept.capsule);
        let masked = masked.map_err(|fault| self.failure(fault))?;
        let Some(masked) = masked else {
            return Ok(kept);
        };
        let why = match (masked.by_rules, masked.rules.as_slice()) {
            (false, _) => "lines of an earlier version that tell what gates printed are left out".to_owned(),
            (true, []) => "today's redaction rules mask more in what it tells and cites than when it was closed".to_owned(),
            (true, rules) => format!("today's redaction rules mask more ({}) than when it was closed", rules.join(", ")),
        };
        kept.remarks.push(format!(
            "{why}, so that its digest is another one: it was {}",
            kept.capsule.digest
        ));
        Ok(MadeCapsule {
            capsule: masked.capsule,
            bytes: masked.bytes,
            ..kept
        })
    }

    /// Whether the record vouches for what was found in a kept file. Of its own tasks what it says
    /// itself is found.
    pub(in crate::cli) fn vouches_for(&self, found: &FoundHit) -> bool {
        let id = CapsuleId::new(found.hit.id.as_str());
        found.kind != FoundIn::Capsule
            || self.world.tasks.contains_key(&id)
            || self.named(id.as_str()).is_ok_and(|made| {
                made.is_vouched && found.foreign == (made.owner == CapsuleOwner::Foreign)
            })
    }

    /// A capsule as it is shown: somebody else's rules may have left in it what ours mask. Its bytes
    /// and its digest stay those of the file.
    pub(super) fn shown(&self, mut made: MadeCapsule) -> MadeCapsule {
        if made.owner == CapsuleOwner::Foreign
            && let Some(masked) = self.now.masked_texts(&made.capsule)
        {
            made.capsule = masked;
            made.is_masked_here = true;
            made.remarks.push(
                "your redaction rules mask more in it than its sender's: the digest is that of the \
                 file, and not of what is shown"
                    .to_owned(),
            );
        }
        made
    }

    /// A text without what a capsule would not tell.
    pub(super) fn masked(&self, text: &str) -> String {
        self.now.masked(text)
    }

    fn failure(&self, fault: CapsuleFault) -> Failure {
        match fault {
            CapsuleFault::Record(error) => disk::unreadable(self.record.path(), &error),
            CapsuleFault::Written(error) => Failure::internal("write the capsule", error),
        }
    }

    /// Of an open task the capsule that went out last, which may be out of date; as [`Self::named`]
    /// where there is none, or another one than the record says.
    pub(in crate::cli) fn last_kept(&self, id: &CapsuleId) -> Result<MadeCapsule, Failure> {
        let task = self.world.tasks.get(id).filter(|task| task.is_open());
        let kept = match task {
            Some(_) => self.kept(CapsuleOwner::Project, id)?,
            None => None,
        };
        match (task, kept) {
            (Some(task), Some(kept)) if self.world.has_kept(task, &kept.capsule.digest) => Ok(kept),
            (task, kept) => {
                let is_lost = task.is_some_and(|task| self.world.tells_of_kept(task));
                let mut made = self.named(id.as_str())?;
                if kept.is_some() || is_lost {
                    made.remarks.push(not_as_recorded(id));
                }
                Ok(made)
            }
        }
    }

    /// The capsule of a task, as things are now.
    pub(super) fn make(&self, task: &TaskSnapshot) -> Result<MadeCapsule, Failure> {
        self.make_with(task, Along::default())
    }

    /// That of a closed task which was not kept then.
    pub(super) fn make_late(&self, task: &TaskSnapshot) -> Result<MadeCapsule, Failure> {
        self.record.fetch(self.now.may_cite(task).into_iter());
        self.made(self.now.make_late(task))
    }

    /// As [`Self::make`], with what is asked to go along.
    pub(super) fn make_with(
        &self,
        task: &TaskSnapshot,
        along: Along,
    ) -> Result<MadeCapsule, Failure> {
        // Before git is waited for.
        self.record.fetch(self.now.may_cite(task).into_iter());
        let made = self.made(self.now.make_with(task, along))?;
        Ok(MadeCapsule {
            is_of_now: task.is_open(),
            ..made
        })
    }

    fn made(&self, made: Result<(Capsule, Vec<u8>), CapsuleFault>) -> Result<MadeCapsule, Failure> {
        let (capsule, bytes) = made.map_err(|fault| self.failure(fault))?;
        let is_untold = capsule.git.is_none() && self.now.has_repository();
        Ok(MadeCapsule {
            capsule,
            bytes,
            owner: CapsuleOwner::Project,
            remarks: is_untold
                .then(|| GIT_SILENT.to_owned())
                .into_iter()
                .collect(),
            is_vouched: true,
            is_masked_here: false,
            is_of_now: false,
        })
    }

    /// One that was kept; none where there is none. Nothing of one is shown that is another task's,
    /// or another one than was imported.
    pub(super) fn kept(
        &self,
        owner: CapsuleOwner,
        id: &CapsuleId,
    ) -> Result<Option<MadeCapsule>, Failure> {
        let found = self.kept.read(owner, id).map_err(|error| {
            Failure::state(
                ProgramCode::Unreadable,
                format!("the capsule {id} cannot be read: {error}"),
                "see .contextrelay/capsules",
            )
        })?;
        let Some(bytes) = found else {
            return Ok(None);
        };
        let capsule = capsule::read(&bytes).map_err(|bad| not_intact(&bad))?;
        if capsule.id != *id {
            let why = format!("it is {}, kept as {id}", capsule.id);
            return Err(not_intact(&bad("id", why)));
        }
        if owner == CapsuleOwner::Foreign
            && let Some(imported) = self.world.imported.get(id)
            && imported.digest != capsule.digest
        {
            return Err(Failure::new(
                ExitKind::CheckFailed,
                ProgramCode::NotIntact,
                format!(
                    "the capsule {id} was changed since its import: what is kept has the digest {}, \
                     imported was {}",
                    capsule.digest, imported.digest
                ),
                "import the sender's file again, and compare the digest",
            ));
        }
        Ok(Some(MadeCapsule {
            capsule,
            bytes,
            owner,
            remarks: Vec::new(),
            is_vouched: true,
            is_masked_here: false,
            is_of_now: false,
        }))
    }

    /// How a capsule stands to the work tree of now, and what was compared.
    pub(in crate::cli) fn compare(&self, capsule: &Capsule) -> (Freshness, TreeNow) {
        self.now.compare(capsule)
    }

    /// Whether the record of now has every line that is cited with its text, and there is one. Of its
    /// own tasks alone: each line is read by itself, and one that was rewritten since is found where
    /// all of the chain is verified.
    pub(super) fn has_lines(&self, capsule: &Capsule) -> bool {
        if !self.world.tasks.contains_key(&capsule.id) {
            return false;
        }
        self.record.fetch(capsule.refs().map(|(_, line)| line.seq));
        self.now.has_lines(capsule).unwrap_or(false)
    }

    /// All of them in the order of the list: the tasks of the record, and what else is kept.
    pub(in crate::cli) fn places(&self) -> Vec<ListPlace> {
        self.kept.places(&self.world)
    }

    /// The id that a person means.
    pub(super) fn id_of(&self, name: &str) -> Result<CapsuleId, Failure> {
        let exact = CapsuleId::new(name);
        let owners = [CapsuleOwner::Project, CapsuleOwner::Foreign];
        let is_kept = |owner: &CapsuleOwner| self.kept.has(*owner, &exact);
        if self.world.tasks.contains_key(&exact) || owners.iter().any(is_kept) {
            return Ok(exact);
        }
        let mut all: Vec<CapsuleId> = self.world.tasks.keys().cloned().collect();
        all.extend(owners.into_iter().flat_map(|owner| self.kept.ids(owner)));
        all.sort();
        all.dedup();
        let mut alike = all.iter().filter(|id| id.as_str().ends_with(name));
        match (alike.next(), alike.next()) {
            (Some(one), None) if !name.is_empty() => Ok(one.clone()),
            (Some(_), Some(_)) => Err(Failure::state(
                ProgramCode::AmbiguousId,
                format!("more than one task ends in `{name}`"),
                "give the whole id: `ctxrelay capsule list`",
            )),
            _ => Err(missing(name)),
        }
    }
}

/// Nothing of such a file is shown.
pub(super) fn not_intact(bad: &BadCapsule) -> Failure {
    Failure::new(
        ExitKind::CheckFailed,
        ProgramCode::NotIntact,
        format!("the capsule is not what it was: {bad}"),
        "ask for it again where it was made, and compare the digest",
    )
}

fn bad(place: &str, why: String) -> BadCapsule {
    BadCapsule {
        place: place.to_owned(),
        why,
    }
}

fn missing(name: &str) -> Failure {
    Failure::state(
        RefusalCode::NotFound,
        format!("there is no task `{name}`"),
        "see `ctxrelay capsule list`",
    )
}
