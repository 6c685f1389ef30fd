//! [`ImportedPatch`]: the changes that came with a capsule, compared with the work tree, and
//! applied after the operator has agreed.

use serde_json::{Value, json};

use super::maker::CapsuleMaker;
use crate::adapters::git::anchor::{PatchFit, PutInFault};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::report::ReportText;
use crate::cli::text::words::count;
use crate::core::capsule::{
    Capsule, CapsuleLeftOut, CapsuleSection, PatchedFile, is_obeyed, patched_files,
};
use crate::core::told_path::told_path;
use crate::wire::control::ProgramCode;

/// What has to be typed before anything is put in.
pub(super) const WORD: &str = "patch";

/// Behind the name of a file that nobody has to open.
const OBEYED: &str = "  an agent or a tool runs or obeys this";

/// What became of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutIn {
    /// It is in the work tree.
    Done,
    /// The operator was asked, and did not type the word.
    Declined,
    /// Nobody was asked.
    Unasked,
}

/// A patch that came with a capsule.
pub(super) struct ImportedPatch<'a> {
    maker: &'a CapsuleMaker,
    base: String,
    /// Of its sender's project in the repository.
    folder: Option<String>,
    bytes: Vec<u8>,
    /// As they are shown: their names are the sender's words.
    files: Vec<PatchedFile>,
    /// The same for a reader: first what an agent runs or obeys.
    told: Vec<String>,
    /// None outside of git.
    fit: Option<PatchFit>,
    /// How many files of its sender's did not come along.
    left: u64,
    /// Their names, as far as its sender gave any.
    left_names: Vec<String>,
    /// Its sender's git did not tell how many exactly.
    is_inexact: bool,
}

impl<'a> ImportedPatch<'a> {
    /// That of a capsule which was read, so that it has the form that may be put in.
    pub(super) fn of(maker: &'a CapsuleMaker, capsule: &Capsule) -> Option<Self> {
        let patch = capsule.patch.as_ref()?;
        let bytes = patch.bytes()?;
        let files = patched_files(&bytes).ok()?;
        let folder = capsule.git.as_ref().and_then(|git| git.folder.clone());
        let fit = maker.now.patch_fit(&patch.base, folder.as_deref(), &bytes);
        let left = capsule.left_out.iter();
        let left: Vec<&CapsuleLeftOut> = left
            .filter(|left| left.what == CapsuleSection::Patch)
            .collect();
        let masked = capsule.redaction.files.len() as u64;
        let names = left.iter().flat_map(|left| &left.names);
        let names = capsule.redaction.files.iter().chain(names);
        let shown = |file: &String| told_path(&maker.now.masked_name(file)).into_owned();
        let (obeyed, others): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| is_obeyed(&file.path));
        let told = |file: &PatchedFile| format!("{}{}", shown(&file.path), file.fate());
        let obeyed = obeyed.into_iter();
        let obeyed = obeyed.map(|file| format!("{}{OBEYED}", told(file)));
        let others = others.into_iter().map(told);
        let told = obeyed.chain(others).collect();
        let left_names = names.map(shown).collect();
        let files = files.into_iter().map(|file| PatchedFile {
            path: shown(&file.path),
            ..file
        });
        Some(Self {
            told,
            maker,
            base: patch.base.clone(),
            files: files.collect(),
            folder,
            bytes,
            fit,
            left_names,
            is_inexact: left.iter().any(|left| left.inexact == Some(true)),
            left: left
                .iter()
                .fold(masked, |all, left| all.saturating_add(left.count)),
        })
    }

    /// As `--json` tells it.
    pub(super) fn value(&self) -> Value {
        let names = |is_told: fn(&PatchedFile) -> bool| {
            let files = self.files.iter().filter(|file| is_told(file));
            files.map(|file| file.path.as_str()).collect::<Vec<_>>()
        };
        json!({
            "files": names(|_| true),
            "new": names(|file| file.is_new),
            "deleted": names(|file| file.is_deleted),
            "applies": self.applies(),
            "isIn": self.fit == Some(PatchFit::IsIn),
        })
    }

    /// Says what it changes, and whether it can be put in.
    pub(super) fn tell(&self, text: &mut ReportText) {
        let files = count(self.files.len() as u64, "file", "files");
        text.line(format!("a patch of {files}: {}", self.why()));
        for file in &self.told {
            text.block("  ", file.clone());
        }
        if self.left > 0 || self.is_inexact {
            let files = count(self.left, "file", "files");
            let exact = match self.is_inexact {
                true => ", as far as git told there",
                false => "",
            };
            text.line(format!(
                "{files} more of its sender's did not come along{exact}"
            ));
            for name in &self.left_names {
                text.block("  ", name.clone());
            }
        }
    }

    /// Puts it in, when it can be and the operator types the word.
    ///
    /// # Errors
    ///
    /// When the input ends, or the disk does not take it.
    pub(super) fn put_in(&self, context: &CliContext) -> Result<PutIn, Failure> {
        if !self.applies() {
            return Ok(PutIn::Unasked);
        }
        if let Some(refusal) = operator::asking_refusal() {
            context
                .out
                .note(&format!("its patch stays out: {}", refusal.message));
            return Ok(PutIn::Unasked);
        }
        context.out.note(
            "Somebody else's changes go into these files of the work tree, where programs will \
             run them:",
        );
        for file in &self.told {
            context.out.note(&format!("  {file}"));
        }
        let question = format!("Type `{WORD}` to put them in, anything else to leave them:");
        if context.out.ask(&question)?.as_deref() != Some(WORD) {
            return Ok(PutIn::Declined);
        }
        // Meanwhile somebody may have worked there.
        let now = &self.maker.now;
        let is_put_in = match now.patch_fit(&self.base, self.folder.as_deref(), &self.bytes) {
            Some(PatchFit::Applies) => now.put_in(&self.bytes),
            _ => Err(PutInFault::Refused),
        };
        let done = PutIn::Done;
        is_put_in.map(|()| done).map_err(|fault| match fault {
            PutInFault::Half { changed, error } => {
                let changed = changed
                    .iter()
                    .map(|file| told_path(&now.masked_name(file)).into_owned());
                let changed = changed.collect::<Vec<_>>().join(", ");
                Failure::state(
                    ProgramCode::PatchRefused,
                    format!("the patch could not be put in whole ({error}): it changed {changed}"),
                    "`git diff` shows what is there of it; the capsule itself is kept",
                )
            }
            PutInFault::Refused | PutInFault::Disk(_) => Failure::state(
                ProgramCode::PatchRefused,
                "the patch could not be put in, and no file is changed",
                "see `git status`, and that the disk has room; the capsule itself is kept",
            ),
        })
    }

    fn applies(&self) -> bool {
        self.fit == Some(PatchFit::Applies)
    }

    fn why(&self) -> String {
        match self.fit {
            Some(PatchFit::Applies) => "it can be put in".to_owned(),
            Some(PatchFit::OtherCommit) => {
                let base = self.base.get(..12).unwrap_or(&self.base);
                format!("it is made on commit {base}, and the work tree is on another one")
            }
            Some(PatchFit::Dirty) => {
                "files here differ from the commit, so it stays out".to_owned()
            }
            Some(PatchFit::OtherFolder) => {
                let masked = |folder: &String| self.maker.now.masked_name(folder);
                match self.folder.as_ref().map(masked) {
                    Some(folder) => format!(
                        "its project is the folder `{}` of the repository, and this one is not",
                        told_path(&folder)
                    ),
                    None => "its project is all of the repository, and this one is a folder of it"
                        .to_owned(),
                }
            }
            Some(PatchFit::IsIn) => "all of it is in the work tree already".to_owned(),
            Some(PatchFit::Refused) => "git does not take it here".to_owned(),
            None => "there is no repository to put it into".to_owned(),
        }
    }
}
