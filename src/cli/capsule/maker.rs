//! [`CapsuleMaker`]: the capsules of this project, made and kept.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::adapters::capsules_now::{Along, CapsuleFault, CapsulesNow};
use crate::cli::disk;
use crate::cli::exit::{ExitKind, Failure};
use crate::cli::record_now::RecordNow;
use crate::core::capsule::{Capsule, Freshness, TreeNow};
use crate::core::id::CapsuleId;
use crate::core::redact::Redactor;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::host::ProjectContext;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::config;
use crate::wire::capsule::{self, BadCapsule};

/// A capsule with its bytes.
#[derive(Debug)]
pub(in crate::cli) struct MadeCapsule {
    pub(in crate::cli) capsule: Capsule,
    pub(super) bytes: Vec<u8>,
    /// Whose it is.
    pub(in crate::cli) owner: CapsuleOwner,
}

/// What is needed to make capsules and to hold them against the work tree.
pub(in crate::cli) struct CapsuleMaker {
    pub(super) world: Arc<Snapshot>,
    pub(super) kept: Capsules,
    now: CapsulesNow,
    /// The record's file.
    path: PathBuf,
}

impl CapsuleMaker {
    /// Of this project, as it is now.
    pub(in crate::cli) fn open(setting: &ProjectContext) -> Result<Self, Failure> {
        let record = RecordNow::open(setting)?;
        let world = Arc::clone(record.world());
        let path = record.path().to_owned();
        let loaded = config::load(&setting.dirs, &setting.user_dirs);
        let gates = loaded.config.gates.iter().map(|gate| gate.name.clone());
        let now = CapsulesNow::new(
            setting.dirs.root.clone(),
            Arc::clone(&world),
            gates.collect(),
            Arc::new(Redactor::with(loaded.rules.clone())),
            move |seq| record.read(seq),
        );
        Ok(Self {
            world,
            kept: Capsules::of(&setting.dirs),
            now,
            path,
        })
    }

    /// The capsule that a person means by its id, or by the end of it. That of a task which is
    /// closed, and one from elsewhere, is as it was kept.
    pub(in crate::cli) fn named(&self, name: &str) -> Result<MadeCapsule, Failure> {
        let id = self.id_of(name)?;
        match self.world.tasks.get(&id) {
            Some(task) if task.is_open() => self.make(task),
            Some(task) => match self.kept(CapsuleOwner::Project, &id)? {
                Some(kept) if kept.capsule.updated_at == task.updated_ms => Ok(kept),
                _ => self.make(task),
            },
            None => {
                let own = self.kept(CapsuleOwner::Project, &id)?;
                let kept = match own {
                    Some(own) => Some(own),
                    None => self.kept(CapsuleOwner::Foreign, &id)?,
                };
                kept.ok_or_else(|| missing(name))
            }
        }
    }

    /// The capsule that was last closed or exported, which may be out of date; as [`Self::named`]
    /// where there is none.
    pub(in crate::cli) fn last_kept(&self, id: &CapsuleId) -> Result<MadeCapsule, Failure> {
        match self.kept(CapsuleOwner::Project, id)? {
            Some(kept) => Ok(kept),
            None => self.named(id.as_str()),
        }
    }

    /// The capsule of a task, as things are now.
    pub(super) fn make(&self, task: &TaskSnapshot) -> Result<MadeCapsule, Failure> {
        self.make_with(task, Along::default())
    }

    /// As [`Self::make`], with what is asked to go along.
    pub(super) fn make_with(
        &self,
        task: &TaskSnapshot,
        along: Along,
    ) -> Result<MadeCapsule, Failure> {
        match self.now.make_with(task, along) {
            Ok((capsule, bytes)) => Ok(MadeCapsule {
                capsule,
                bytes,
                owner: CapsuleOwner::Project,
            }),
            Err(CapsuleFault::Record(error)) => Err(disk::unreadable(&self.path, &error)),
            Err(CapsuleFault::Written(error)) => Err(Failure::internal("write the capsule", error)),
        }
    }

    /// As [`Self::keep`], for a task that this keeps as it is: one that is closed already stays as it
    /// was then.
    pub(super) fn keep_task(&self, id: &CapsuleId) -> Result<(), Failure> {
        let made = self.named(id.as_str())?;
        if made.owner == CapsuleOwner::Foreign {
            return Ok(());
        }
        let kept = self.kept.write(made.owner, id, &made.bytes);
        kept.map_err(|error| {
            Failure::state(
                "unwritable",
                format!("the capsule of {id} could not be kept: {error}"),
                "see that the disk has room; `ctxrelay capsule show` makes it again from the record",
            )
        })
    }

    /// What went out is what a task is held against from now on.
    pub(super) fn keep(&self, made: &MadeCapsule) {
        if made.owner == CapsuleOwner::Project {
            let kept = self.kept.write(made.owner, &made.capsule.id, &made.bytes);
            if let Err(error) = kept {
                tracing::warn!(%error, "a capsule that went out could not be kept");
            }
        }
    }

    /// One that was kept; none where there is none.
    pub(super) fn kept(
        &self,
        owner: CapsuleOwner,
        id: &CapsuleId,
    ) -> Result<Option<MadeCapsule>, Failure> {
        let found = self.kept.read(owner, id).map_err(|error| {
            Failure::state(
                "unreadable",
                format!("the capsule {id} cannot be read: {error}"),
                "see .contextrelay/capsules",
            )
        })?;
        let Some(bytes) = found else {
            return Ok(None);
        };
        let capsule = capsule::read(&bytes).map_err(|bad| not_intact(&bad))?;
        Ok(Some(MadeCapsule {
            capsule,
            bytes,
            owner,
        }))
    }

    /// How a capsule stands to the work tree of now, and what was compared.
    pub(in crate::cli) fn compare(&self, capsule: &Capsule) -> (Freshness, TreeNow) {
        self.now.compare(capsule)
    }

    /// All of them: the tasks of the record, latest first, then what else is kept.
    pub(in crate::cli) fn ids(&self) -> Vec<CapsuleId> {
        let mut tasks: Vec<_> = self.world.tasks.values().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.head));
        let mut ids: Vec<_> = tasks.into_iter().map(|task| task.id.clone()).collect();
        let mut known: BTreeSet<_> = ids.iter().cloned().collect();
        for owner in [CapsuleOwner::Project, CapsuleOwner::Foreign] {
            let kept = self.kept.ids(owner).into_iter();
            ids.extend(kept.filter(|id| known.insert(id.clone())));
        }
        ids
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
                "ambiguous_id",
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
        "not_intact",
        format!("the capsule is not what it was: {bad}"),
        "ask for it again where it was made, and compare the digest",
    )
}

fn missing(name: &str) -> Failure {
    Failure::state(
        "not_found",
        format!("there is no task `{name}`"),
        "see `ctxrelay capsule list`",
    )
}
