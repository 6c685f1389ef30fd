//! [`OwnFiles`]: a person's own files for the deck: keys, themes, and the chosen theme.

use std::fmt;

use crate::keymap::Keymap;
use crate::notification::NotificationSettings;
use crate::source_error::SourceError;

/// The user's own files, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFiles {
    /// Our keys with theirs laid over them.
    pub keymap: Keymap,
    /// Name and text of their themes; one with the name of a built-in theme replaces it.
    pub themes: Vec<(String, String)>,
    /// The theme that was chosen; `None` when none was.
    pub theme: Option<String>,
    /// How they want to be told that something waits.
    pub notification: NotificationSettings,
    /// What could not be read or was wrong.
    pub problems: Vec<FileProblem>,
}

/// What is wrong in a file of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// By the name under which they know it.
    pub file: String,
    /// With line and column, where it is a TOML file that could be read.
    pub why: String,
}

impl FileProblem {
    pub fn new(file: impl Into<String>, why: impl fmt::Display) -> Self {
        let (file, why) = (file.into(), why.to_string());
        Self { file, why }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.why)
    }
}

/// Why a theme cannot be used.
#[derive(Debug)]
pub(crate) enum ThemeFault {
    /// What is wrong in a text.
    Text(SourceError),
    /// `config.json` names it, and there is none of its name.
    Unknown,
    /// It is in use, and its file has gone.
    Gone,
}

/// Puts first why a theme cannot be used: one whose file could not be read is not among the themes,
/// and that there is none of its name would be said of a file that is there.
pub(crate) fn put_theme_problem(problems: &mut Vec<FileProblem>, name: &str, fault: &ThemeFault) {
    let file = format!("themes/{name}.toml");
    let unread = problems.iter().position(|known| known.file == file);
    let problem = match (unread, fault) {
        (Some(place), _) => problems.remove(place),
        (None, ThemeFault::Text(error)) => FileProblem::new(format!("theme {name}"), error),
        (None, ThemeFault::Unknown) => {
            FileProblem::new("config.json", format!("theme '{name}' does not exist"))
        }
        (None, ThemeFault::Gone) => FileProblem::new(format!("theme {name}"), "its file has gone"),
    };
    problems.insert(0, problem);
}
