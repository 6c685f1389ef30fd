//! [`CapsulesNow`]: makes capsules from the record and the current work tree.

mod along;
mod cut_statements;
mod kept;
mod own_names;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::file_digest::FileState;
use super::files_now::{FilesNow, LookedFile};
use super::tree_now::tree_now;
use crate::adapters::git::anchor::{PatchFit, PutInFault};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::head::is_repository;
use crate::adapters::git::now::{GitAhead, GitNeed, GitNow};
use crate::core::capsule::{
    CAPSULE_BUDGET, Capsule, CapsuleGit, CapsuleMask, CapsuleSources, FileNow, Freshness, LineRef,
    MadeAt, MaskedPlaces, TreeNow,
};
use crate::core::entry::Entry;
use crate::core::id::Seq;
use crate::core::redact::{Redactor, mark_names};
use crate::core::snapshot::{GateInForce, Snapshot, TaskSnapshot};
use crate::core::told_path::told_path;
use crate::wire::capsule::{LINES_BYTES_MAX, write};
use crate::wire::line::Stored;
use along::is_masked;
pub use along::{Along, FILTERED_FILES, OUTSIDE_FILES, PASSED_OVER_FILES, UNKNOWN_FILES};
pub use kept::Remasked;
use own_names::own_names;

/// The longest ledger line that is cited with its text, in bytes.
const LINE_BYTES_MAX: usize = 20_000;

/// Reads a line of the record.
type ReadLine = Box<dyn Fn(Seq) -> io::Result<Option<Stored>>>;

/// Reads a text that was too long for its line, by its SHA-256; none where it is not there any more.
type ReadWhole = Box<dyn Fn(&str) -> Option<String>>;

/// Why a capsule could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CapsuleFault {
    /// The record cannot be read.
    #[error("the record cannot be read: {0}")]
    Record(#[from] io::Error),
    /// What was made cannot be written down.
    #[error("the capsule cannot be written: {0}")]
    Written(#[from] serde_json::Error),
}

/// What capsules are made of, and held against, in one moment. Blocks for the disk, and for as long as
/// git takes.
pub struct CapsulesNow {
    root: PathBuf,
    files: FilesNow,
    world: Arc<Snapshot>,
    gates: Vec<GateInForce>,
    redactor: Arc<Redactor>,
    read: ReadLine,
    whole: ReadWhole,
    /// Asked when it is needed: that takes as long as git does.
    git: OnceCell<Option<GitNow>>,
    ahead: Cell<Option<GitAhead>>,
    /// Only to be shown, and until when git may take for that.
    shown_by: Option<GitDeadline>,
    places: OnceCell<Arc<MaskedPlaces>>,
}

impl fmt::Debug for CapsulesNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapsulesNow")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl CapsulesNow {
    /// Of a project's folder with its record, its lines by `read`. `gates` are those that
    /// may run there.
    pub fn new(
        root: PathBuf,
        world: Arc<Snapshot>,
        gates: Vec<GateInForce>,
        redactor: Arc<Redactor>,
        read: impl Fn(Seq) -> io::Result<Option<Stored>> + 'static,
    ) -> Self {
        Self {
            files: FilesNow::new(root.clone()),
            root,
            world,
            gates,
            redactor,
            read: Box::new(read),
            whole: Box::new(|_| None),
            git: OnceCell::new(),
            ahead: Cell::new(None),
            shown_by: None,
            places: OnceCell::new(),
        }
    }

    /// The repository of that folder is being asked already.
    pub fn ask_ahead(&self, ahead: GitAhead) {
        self.ahead.set(Some(ahead));
    }

    /// The same, where nothing is built on what is only shown: of git it is as sure as a glance is, and
    /// what git does not tell by the deadline is not known.
    #[must_use]
    pub fn to_show(self, deadline: GitDeadline) -> Self {
        Self {
            shown_by: Some(deadline),
            ..self
        }
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// With what reads the texts that were too long for their lines; without it none is there.
    #[must_use]
    pub fn with_whole(self, whole: impl Fn(&str) -> Option<String> + 'static) -> Self {
        Self {
            whole: Box::new(whole),
            ..self
        }
    }

    /// The capsule of a task, as things are now, with its bytes.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub fn make(&self, task: &TaskSnapshot) -> Result<(Capsule, Vec<u8>), CapsuleFault> {
        self.make_with(task, Along::default())
    }

    /// As [`Self::make`], with what is asked to go along.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn make_with(
        &self,
        task: &TaskSnapshot,
        along: Along,
    ) -> Result<(Capsule, Vec<u8>), CapsuleFault> {
        self.make_at(task, along, None)
    }

    /// As [`Self::make`], of a task that is closed and was not kept then: the capsule says so.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn make_late(&self, task: &TaskSnapshot) -> Result<(Capsule, Vec<u8>), CapsuleFault> {
        self.make_at(task, Along::default(), Some(true))
    }

    fn make_at(
        &self,
        task: &TaskSnapshot,
        along: Along,
        late: Option<bool>,
    ) -> Result<(Capsule, Vec<u8>), CapsuleFault> {
        // While git is asked.
        let mask = self.mask();
        mask.prepare();
        let stand = self.git(GitNeed::Stand).and_then(GitNow::stand);
        let (git, lines) = match stand {
            Some((git, lines)) => {
                let git = git.clone();
                let folder = git
                    .folder
                    .map(|it| told_path(&mask.masked_name(&it)).into_owned());
                let git = CapsuleGit {
                    late,
                    folder,
                    ..git
                };
                (Some(git), Some(lines))
            }
            None => (None, None),
        };
        let files = task.files.iter().map(|file| {
            let (state, is_masked) = match is_marked(&file.path) {
                true => (FileState::Unread, false),
                false => {
                    let looked = self.look(&file.path);
                    (looked.state, looked.is_masked)
                }
            };
            let (sha256, is_unread) = match state {
                FileState::Plain(_) if is_masked => (None, true),
                FileState::Plain(digest) => (Some(digest), false),
                FileState::Gone => (None, false),
                FileState::Other | FileState::Unread => (None, true),
            };
            let now = FileNow {
                sha256,
                is_unread,
                is_masked,
                lines: lines.map(|lines| lines.get(&file.path).copied().unwrap_or_default()),
            };
            (file.path.clone(), now)
        });
        let mut full = self.full(task, git, &files.collect());
        self.mark_cut(&mut full)?;
        self.place_findings(&mut full);
        self.take_along(&mut full, &mask, along)?;
        mask.mask(&mut full);
        // Their names take room as well.
        along::count_marks(&mut full);
        let mut capsule = CAPSULE_BUDGET.fit(full);
        CapsuleMask::recount(&mut capsule);
        along::count_marks(&mut capsule);
        let missing = self.cite(&mut capsule, &mask, along)?;
        CAPSULE_BUDGET.count_lines(&mut capsule, missing);
        let (bytes, digest) = write(&capsule)?;
        capsule.digest = digest;
        Ok((capsule, bytes))
    }

    /// The lines of the record that the capsule of a task may cite.
    pub fn may_cite(&self, task: &TaskSnapshot) -> Vec<Seq> {
        let capsule = self.full(task, None, &BTreeMap::new());
        let mut seqs = vec![capsule.origin.head.seq];
        seqs.extend(capsule.refs().map(|(_, line)| line.seq));
        seqs
    }

    /// Reviews name files by their paths in the repository, capsules by those in the project.
    fn place_findings(&self, full: &mut Capsule) {
        let git = self.git(GitNeed::Stand);
        let Some(git) = git.filter(|git| git.stand().is_some()) else {
            return;
        };
        for finding in &mut full.findings {
            let path = finding.path.take();
            let in_project = |path: String| git.anchor().in_project(&path).map(str::to_owned);
            finding.path = path.and_then(in_project);
            if finding.path.is_none() {
                finding.line = None;
            }
        }
    }

    /// All that the record says of a task, without a budget and unmasked.
    fn full(
        &self,
        task: &TaskSnapshot,
        git: Option<CapsuleGit>,
        files: &BTreeMap<String, FileNow>,
    ) -> Capsule {
        let project = self.root.file_name().unwrap_or_default();
        let sources = CapsuleSources {
            world: &self.world,
            task,
            git,
            files,
            gates: &self.gates,
            project: &project.to_string_lossy(),
            version: env!("CARGO_PKG_VERSION"),
        };
        sources.capsule()
    }

    /// A text without what the rules of today mask, and without where and by whom it was written.
    pub fn masked(&self, text: &str) -> String {
        let masked = self.mask().masked(text);
        masked.unwrap_or_else(|| text.to_owned())
    }

    /// A file of the project, and whether a rule masks anything in it.
    fn look(&self, path: &str) -> LookedFile {
        let masks = |text: &str| self.redactor.redact_text(text).0 != text;
        self.files.look(path, |bytes| is_masked(masks, bytes))
    }

    /// As [`Self::masked`], of a file's name that is escaped afterwards.
    pub fn masked_name(&self, name: &str) -> String {
        self.mask().masked_name(name).into_owned()
    }

    /// The rules, and where capsules are made.
    fn mask(&self) -> CapsuleMask<'_> {
        let places = self.places.get_or_init(|| {
            let home = std::env::var("HOME").ok();
            Arc::new(MaskedPlaces::of(MadeAt {
                project: &self.root.display().to_string(),
                user: user(home.as_deref()).as_deref(),
                home: home.as_deref(),
                host: host().as_deref(),
                top: &top(),
                own: &own_names(&self.root),
            }))
        });
        CapsuleMask::of(&self.redactor, Arc::clone(places))
    }

    /// How a capsule stands to the work tree of now, and what was compared.
    pub fn compare(&self, capsule: &Capsule) -> (Freshness, TreeNow) {
        let root = &self.root;
        // Git is asked only about what has a place in it.
        let git = capsule.git.as_ref().and_then(|_| self.git(GitNeed::Tree));
        let own = self.world.tasks.get(&capsule.id);
        let masked = OnceCell::new();
        let mut now = tree_now(capsule, root, &self.files, git, &|path| {
            if !is_marked(path) {
                return Some(path.to_owned());
            }
            let masked = masked.get_or_init(|| self.masked_files(own));
            let mut named = masked.iter().filter(|(masked, _)| masked == path);
            match (named.next(), named.next()) {
                (Some((_, place)), None) => Some(place.clone()),
                _ => None,
            }
        });
        now.is_ours = own.is_some();
        now.ask_record(capsule, &self.world);
        (capsule.freshness(&now), now)
    }

    /// The files of a task by how a capsule names them, and where they are.
    fn masked_files(&self, task: Option<&TaskSnapshot>) -> Vec<(String, String)> {
        let mask = self.mask();
        let files = task.into_iter().flat_map(|task| &task.files);
        let files = files.filter(|file| !is_marked(&file.path));
        let named = files.map(|file| {
            let masked = mask.masked(&file.path);
            (
                masked.unwrap_or_else(|| file.path.clone()),
                file.path.clone(),
            )
        });
        named.collect()
    }

    /// Whether the project lies in a repository, whether git tells of it or not.
    pub fn has_repository(&self) -> bool {
        is_repository(&self.root)
    }

    /// Whether a patch on this commit, of a project in this folder of its repository, can be put into
    /// the work tree; none outside of git.
    pub fn patch_fit(&self, base: &str, folder: Option<&str>, patch: &[u8]) -> Option<PatchFit> {
        let git = self.git(GitNeed::Tree)?;
        Some(git.anchor().patch_fit(base, folder, patch))
    }

    /// Puts a patch into the work tree.
    ///
    /// # Errors
    ///
    /// Where git does not take it, or the disk.
    pub fn put_in(&self, patch: &[u8]) -> Result<(), PutInFault> {
        let git = self.git(GitNeed::Tree).ok_or(PutInFault::Refused)?;
        git.anchor().put_in(patch)
    }

    /// Nothing more is asked of the repository: what that needed is taken back while other things are
    /// done.
    pub fn let_git_go(&mut self) {
        if let Some(Some(git)) = self.git.take() {
            self.ahead.set(Some(GitAhead::end(git)));
        }
    }

    /// The project's repository, and what of it is needed at least.
    fn git(&self, need: GitNeed) -> Option<&GitNow> {
        let ask = || match (self.ahead.take(), self.shown_by) {
            (Some(ahead), _) => ahead.wait(),
            (None, Some(deadline)) => GitNow::with(&self.root, need, deadline),
            (None, None) => GitNow::open(&self.root, GitDeadline::NONE),
        };
        self.git.get_or_init(ask).as_ref()
    }

    /// Puts the hashes of the cited lines in, and the lines that may be told. How many are not. The
    /// line of a run has what that printed, which goes along only where it is asked for.
    fn cite(
        &self,
        capsule: &mut Capsule,
        mask: &CapsuleMask<'_>,
        along: Along,
    ) -> io::Result<usize> {
        let mut room = LINES_BYTES_MAX;
        let (mut missing, mut lines) = (0, BTreeMap::new());
        if let Some(head) = (self.read)(capsule.origin.head.seq)? {
            capsule.origin.head.hash = head.hash;
        }
        let mut cite = |line: &mut Option<LineRef>, is_said: &dyn Fn(&Entry) -> bool| {
            let stored = match line.as_ref() {
                Some(place) => (self.read)(place.seq)?.filter(|stored| stored.entry.id == place.id),
                None => return Ok(()),
            };
            let Some(stored) = stored else {
                *line = None;
                return Ok(());
            };
            if let Some(line) = line {
                line.hash.clone_from(&stored.hash);
            }
            let bytes = stored.line.len();
            let may_be_told = !stored.hash.is_empty()
                && is_said(&stored.entry)
                && (along.outputs || !stored.entry.tells_output())
                && bytes <= LINE_BYTES_MAX.min(room)
                && !mask.masks_line(&stored.to_value());
            if may_be_told {
                if lines.insert(stored.entry.seq, stored.line).is_none() {
                    room -= bytes;
                }
            } else {
                missing += 1;
            }
            Ok::<(), io::Error>(())
        };
        let id = capsule.id.clone();
        let tree = capsule.git.as_ref().and_then(|git| git.tree.clone());
        for (kind, said) in capsule.stated_mut() {
            let mut line = said.line.take();
            cite(&mut line, &|entry| said.is_of(entry, &id, kind))?;
            said.line = line;
        }
        if let Some(said) = &mut capsule.outcome {
            let mut line = said.line.take();
            cite(&mut line, &|entry| said.is_outcome_of(entry, &id))?;
            said.line = line;
        }
        for run in &mut capsule.verification {
            let mut line = run.line.take();
            cite(&mut line, &|entry| run.is_of(entry, &id, tree.as_deref()))?;
            run.line = line;
        }
        capsule.origin.lines = lines.into_values().collect();
        Ok(missing)
    }
}

/// Whether something was masked in the path of a file, so that nobody knows from it where that is.
fn is_marked(path: &str) -> bool {
    mark_names(path).next().is_some()
}

/// The name of the user, as far as the environment tells.
fn user(home: Option<&str>) -> Option<String> {
    let named = ["USER", "LOGNAME"].into_iter();
    let mut named = named.filter_map(|name| std::env::var(name).ok());
    let of_home = || Some(home?.rsplit_once('/')?.1.to_owned());
    named.find(|name| !name.is_empty()).or_else(of_home)
}

/// How many folders at the top of the disk are looked at.
const TOP_MAX: usize = 256;

/// The folders at the top of the disk.
fn top() -> Vec<String> {
    let found = std::fs::read_dir("/").into_iter().flatten().flatten();
    // A link may lead to a folder as well (`/data` to somewhere in `/home`); what a folder is is not
    // looked into, for one that lies on another machine may never answer.
    let is_folder = |it: &std::fs::DirEntry| {
        it.file_type()
            .is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
    };
    let folders = found.filter(is_folder).take(TOP_MAX);
    let names = folders.filter_map(|it| it.file_name().into_string().ok());
    names.collect()
}

/// The name of this machine.
fn host() -> Option<String> {
    let uname = || {
        let output = Command::new("uname").arg("-n").output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(uname)?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
