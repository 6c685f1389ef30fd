//! [`DisplayHost`]: what the screen needs from the process around it.

use crate::deck::key_slot::KeySlot;

/// Remembers the theme that was chosen; a sentence when that fails.
pub type KeepTheme = Box<dyn Fn(&str) -> Result<(), String> + Send>;

/// What the screen asks of the process around it.
pub struct DisplayHost {
    /// See [`KeepTheme`].
    pub keep_theme: KeepTheme,
    /// Runs this program with these arguments and the sentence; waits for nothing.
    pub notify: Box<dyn Fn(Vec<String>, String) + Send>,
    /// Tells the process, with its group, to stop until a shell continues it.
    pub stop_group: fn(),
    /// Forgets the key that signs, before this process is suspended.
    pub key_slot: KeySlot,
}

impl std::fmt::Debug for DisplayHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DisplayHost")
    }
}
