//! [`CapsuleMaker`]: capsules, made from the record and the work tree of now.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::process::Command;

use crate::adapters::file_digest::file_digest;
use crate::adapters::git_anchor::{GitAnchor, GitStand};
use crate::adapters::tree_now::tree_now;
use crate::cli::context::CliContext;
use crate::cli::disk;
use crate::cli::exit::{ExitKind, Failure};
use crate::core::capsule::{
    CAPSULE_BYTES_MAX, Capsule, CapsuleBudget, CapsuleMask, CapsuleSources, CapsuleStatement,
    FileNow, Freshness, LineRef, MadeAt, TreeNow,
};
use crate::core::id::CapsuleId;
use crate::core::redact::Redactor;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::config;
use crate::store::ledger::{Reading, Stored};
use crate::wire::capsule::{self, BadCapsule, LINES_BYTES_MAX, says, write};

/// The longest ledger line that is cited with its text, in bytes.
const LINE_BYTES_MAX: usize = 20_000;

/// A capsule with its bytes.
#[derive(Debug)]
pub(super) struct MadeCapsule {
    pub(super) capsule: Capsule,
    pub(super) bytes: Vec<u8>,
    /// Whose it is.
    pub(super) owner: CapsuleOwner,
}

/// What is needed to make capsules and to hold them against the work tree.
pub(super) struct CapsuleMaker<'a> {
    context: &'a CliContext,
    reading: Option<Reading>,
    pub(super) world: Snapshot,
    pub(super) kept: Capsules,
    /// Asked when it is needed: that takes as long as git does.
    git: OnceCell<Option<(GitAnchor, GitStand)>>,
    gates: Vec<String>,
    redactor: Redactor,
    host: Option<String>,
}

impl<'a> CapsuleMaker<'a> {
    /// Of this project, as it is now.
    pub(super) fn open(context: &'a CliContext) -> Result<Self, Failure> {
        let setting = &context.setting;
        let reading = disk::current_reading(setting)?;
        let world = reading
            .as_ref()
            .map_or_else(Snapshot::default, |reading| reading.snapshot().clone());
        let loaded = config::load(&setting.dirs, &setting.user_dirs);
        let gates = loaded.config.gates.iter().map(|gate| gate.name.clone());
        Ok(Self {
            context,
            reading,
            world,
            kept: Capsules::of(&setting.dirs),
            git: OnceCell::new(),
            gates: gates.collect(),
            redactor: Redactor::with(loaded.rules.clone()),
            host: host(),
        })
    }

    /// The capsule that a person means by its id, or by the end of it. That of a task which is
    /// closed, and one from elsewhere, is as it was kept.
    pub(super) fn named(&self, name: &str) -> Result<MadeCapsule, Failure> {
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
    pub(super) fn last_kept(&self, id: &CapsuleId) -> Result<MadeCapsule, Failure> {
        match self.kept(CapsuleOwner::Project, id)? {
            Some(kept) => Ok(kept),
            None => self.named(id.as_str()),
        }
    }

    /// The capsule of a task, as things are now.
    pub(super) fn make(&self, task: &TaskSnapshot) -> Result<MadeCapsule, Failure> {
        let root = &self.context.setting.dirs.root;
        let (git, lines) = match self.git() {
            Some((_, (git, lines))) => (Some(git.clone()), Some(lines)),
            None => (None, None),
        };
        let files = task.files.iter().map(|file| {
            let now = FileNow {
                sha256: file_digest(root, &file.path),
                lines: lines.map(|lines| lines.get(&file.path).copied().unwrap_or_default()),
            };
            (file.path.clone(), now)
        });
        let project = root.file_name().unwrap_or_default().to_string_lossy();
        let how = format!("ctxrelay capsule log {}", task.id);
        let sources = CapsuleSources {
            world: &self.world,
            task,
            git,
            files: &files.collect(),
            gates: &self.gates,
            project: &project,
            version: env!("CARGO_PKG_VERSION"),
            how: &how,
        };
        let mut full = sources.capsule();
        let root = root.display().to_string();
        let home = std::env::var("HOME").ok();
        let user = user(home.as_deref());
        let mask = CapsuleMask::new(
            &self.redactor,
            MadeAt {
                project: &root,
                home: home.as_deref(),
                user: user.as_deref(),
                host: self.host.as_deref(),
            },
        );
        mask.mask(&mut full);
        let budget = CapsuleBudget {
            bytes_max: CAPSULE_BYTES_MAX,
            how: &how,
        };
        let mut capsule = budget.fit(full);
        CapsuleMask::recount(&mut capsule);
        let missing = self.cite(&mut capsule, &mask)?;
        budget.count_lines(&mut capsule, missing);
        let (bytes, digest) =
            write(&capsule).map_err(|error| Failure::internal("write the capsule", error))?;
        capsule.digest = digest;
        Ok(MadeCapsule {
            capsule,
            bytes,
            owner: CapsuleOwner::Project,
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
    pub(super) fn compare(&self, capsule: &Capsule) -> (Freshness, TreeNow) {
        let root = &self.context.setting.dirs.root;
        let git = self.git().map(|(git, (stand, _))| (git, stand));
        let now = tree_now(capsule, root, git);
        (capsule.freshness(&now), now)
    }

    /// The project's repository, and where it stands.
    fn git(&self) -> Option<&(GitAnchor, GitStand)> {
        let asked = self.git.get_or_init(|| {
            let git = GitAnchor::open(&self.context.setting.dirs.root)?;
            let stand = git.stand()?;
            Some((git, stand))
        });
        asked.as_ref()
    }

    /// Puts the hashes of the cited lines in, and the lines that may be told. How many are not.
    fn cite(&self, capsule: &mut Capsule, mask: &CapsuleMask<'_>) -> Result<usize, Failure> {
        let mut room = LINES_BYTES_MAX;
        let (mut missing, mut lines) = (0, BTreeMap::new());
        if let Some(head) = self.stored(capsule.origin.head.seq)? {
            capsule.origin.head.hash = head.hash;
        }
        let mut cite = |line: &mut Option<LineRef>, said: Option<&CapsuleStatement>| {
            let stored = match line.as_ref() {
                Some(place) => self
                    .stored(place.seq)?
                    .filter(|stored| stored.entry.id == place.id),
                None => return Ok(()),
            };
            let Some(stored) = stored else {
                *line = None;
                return Ok(());
            };
            if let Some(line) = line {
                line.hash.clone_from(&stored.hash);
            }
            let is_said = said.is_none_or(|said| says(&stored.entry, said));
            let bytes = stored.line.len();
            let may_be_told = !stored.hash.is_empty()
                && is_said
                && bytes <= LINE_BYTES_MAX.min(room)
                && !mask.masks_line(&stored.to_value());
            if may_be_told {
                if lines.insert(stored.entry.seq, stored.line).is_none() {
                    room -= bytes;
                }
            } else {
                missing += 1;
            }
            Ok::<(), Failure>(())
        };
        for said in capsule.statements_mut() {
            let mut line = said.line.take();
            cite(&mut line, Some(said))?;
            said.line = line;
        }
        for run in &mut capsule.verification {
            cite(&mut run.line, None)?;
        }
        capsule.origin.lines = lines.into_values().collect();
        Ok(missing)
    }

    fn stored(&self, seq: crate::core::id::Seq) -> Result<Option<Stored>, Failure> {
        let Some(reading) = &self.reading else {
            return Ok(None);
        };
        let stored = reading.read(seq);
        stored.map_err(|error| disk::unreadable(reading.path(), &error))
    }

    /// The id that a person means.
    pub(super) fn id_of(&self, name: &str) -> Result<CapsuleId, Failure> {
        let mut all: Vec<CapsuleId> = self.world.tasks.keys().cloned().collect();
        all.extend(self.kept.ids(CapsuleOwner::Project));
        all.extend(self.kept.ids(CapsuleOwner::Foreign));
        all.sort();
        all.dedup();
        if let Some(exact) = all.iter().find(|id| id.as_str() == name) {
            return Ok(exact.clone());
        }
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

/// The name of the user, as far as the environment tells.
fn user(home: Option<&str>) -> Option<String> {
    let named = ["USER", "LOGNAME"].into_iter();
    let mut named = named.filter_map(|name| std::env::var(name).ok());
    let of_home = || Some(home?.rsplit_once('/')?.1.to_owned());
    named.find(|name| !name.is_empty()).or_else(of_home)
}

/// The name of this machine.
fn host() -> Option<String> {
    let output = Command::new("uname").arg("-n").output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
