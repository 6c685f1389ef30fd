//! [`InstructionFile`]: one file with rules for agents.

use crate::hidden::letters;

/// Where a file lies: below the project's folder, parts divided by `/`.
pub type FileName = String;

/// One file with rules, as it may be given to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    name: FileName,
    text: String,
    included_by: Option<FileName>,
}

impl InstructionFile {
    /// `text` is masked already. What a reader does not see and a program obeys is taken out: the
    /// file may have come with a stranger's project.
    pub fn new(name: FileName, text: &str, included_by: Option<FileName>) -> Self {
        let text = text.replace("\r\n", "\n");
        let is_seen = |(c, is_hidden): &(char, bool)| {
            matches!(c, '\n' | '\t') || !(c.is_control() || *is_hidden)
        };
        let seen = letters(&text).filter(is_seen);
        Self {
            name,
            text: seen.map(|(c, _)| c).collect(),
            included_by,
        }
    }

    /// Where it lies.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file whose `@` line named it; none when it is there by its own name.
    pub fn included_by(&self) -> Option<&str> {
        self.included_by.as_deref()
    }
}
