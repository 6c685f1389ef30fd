//! [`OwnFiles`]: what a person has written for the deck: keys, themes, and which of them is used.

use crate::keymap::Keymap;
use crate::notification::NotificationSettings;

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
    /// What could not be read or was wrong, a sentence each, with file, line and column.
    pub problems: Vec<String>,
}
