//! [`CapsuleRows`] and [`CapsuleView`]: tasks that can travel; [`FoundSnippet`]: what one takes
//! along.

use crate::named::named;

/// How a capsule stands to the work tree of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapsuleStanding {
    /// The same tree.
    #[default]
    Fresh,
    /// Another tree, and none of its files differs.
    Moved,
    /// Files of it differ.
    Touched,
    /// Each side has commits that the other one does not have.
    Diverged,
    /// Nobody can tell.
    Unknown,
    /// It is of another repository.
    Foreign,
}

impl CapsuleStanding {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Moved => "moved",
            Self::Touched => "touched",
            Self::Diverged => "diverged",
            Self::Unknown => "unknown",
            Self::Foreign => "foreign",
        }
    }

    /// Whether what it says of the work tree is still so.
    pub fn holds(self) -> bool {
        matches!(self, Self::Fresh | Self::Moved)
    }
}

/// The tasks that are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsuleRows {
    /// The latest, bounded.
    pub rows: Vec<CapsuleLine>,
    pub total: u64,
}

impl From<Vec<CapsuleLine>> for CapsuleRows {
    fn from(rows: Vec<CapsuleLine>) -> Self {
        let total = rows.len() as u64;
        Self { rows, total }
    }
}

/// By what it is looked for what was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlikeTo {
    /// The title of this task.
    Task(String),
    /// These words, for a task that begins.
    Words(String),
}

/// The longest title of a task, in characters.
pub const TASK_TITLE_CHARS_MAX: usize = 120;

/// Something that was said before about the same as a task; hostile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundSnippet {
    /// What, one line.
    pub text: String,
    /// Where it stands, and who said it.
    pub cited: String,
}

/// A task in the list. The title of one from elsewhere is somebody else's; hostile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsuleLine {
    /// By which it is named, `cap_…`.
    pub id: String,
    /// One line.
    pub title: String,
    /// It goes on.
    pub is_open: bool,
    /// What is recorded belongs to it.
    pub is_current: bool,
    /// It came from elsewhere: shown, and not believed.
    pub is_foreign: bool,
    /// How it stands.
    pub standing: CapsuleStanding,
    /// What its file takes.
    pub bytes: u64,
    /// Findings of reviews in it.
    pub findings: u64,
    /// The file that an export is offered, from the project's folder.
    pub file: String,
    /// Why it cannot be read; then nothing else of it is known.
    pub broken: Option<String>,
}

impl CapsuleLine {
    /// Whether the operator can say that it is over.
    pub fn can_be_closed(&self) -> bool {
        self.is_open && !self.is_foreign
    }
}

/// What goes along with a task into a file, besides what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapsuleAlong {
    /// Changes of tracked files that no commit has.
    pub patch: bool,
    /// What the latest run of each gate printed.
    pub outputs: bool,
}

impl CapsuleAlong {
    /// The next choice, round the end.
    pub(crate) fn next(self) -> Self {
        Self {
            patch: !self.patch,
            outputs: self.outputs ^ self.patch,
        }
    }
}

named! {
    /// Somebody who goes on with a task and is no agent of the pair.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CapsuleReader {
        Cursor = "Cursor",
        Opencode = "OpenCode",
        /// Any reader of Markdown.
        Markdown = "Markdown",
    }
    /// The name that is shown.
    pub fn title;
}

/// A section of a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsulePart {
    /// Its heading.
    pub title: String,
    /// What stands in it, in order.
    pub rows: Vec<String>,
}

/// A task that was opened. All texts may be somebody else's; hostile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsuleView {
    /// As in the list.
    pub row: CapsuleLine,
    /// Why it stands so, a sentence.
    pub why: String,
    /// What stands in it.
    pub parts: Vec<CapsulePart>,
    /// The record that it was made from, in words.
    pub origin: String,
    /// Its SHA-256, in lower-case hex.
    pub digest: String,
    /// What is said of it, for the person to edit; empty where they cannot.
    pub draft: String,
}
