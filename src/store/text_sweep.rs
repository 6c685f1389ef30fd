//! [`TextSweep`]: which long texts are removed while a session is deleted and the next one is
//! recorded.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use rustix::io::Errno;

use ctxrelay_core::lock::lock;

/// The names that were kept since the sweep began, before anybody looked whether they lie there.
/// `None` while nothing is swept. Locked while one is unlinked: who keeps a text either finds that
/// it is gone, and writes it, or keeps it from going.
#[derive(Debug, Default)]
pub struct TextSweep(Mutex<Option<HashSet<String>>>);

impl TextSweep {
    /// Begins. To be called before the next session keeps anything.
    pub fn begin(&self) {
        self.names().get_or_insert_default();
    }

    /// Ends: from here on nothing is unlinked. Waits for the one that is.
    pub fn end(&self) {
        *self.names() = None;
    }

    /// Whether it has ended, or there is none.
    pub fn is_over(&self) -> bool {
        self.names().is_none()
    }

    /// A text, or the file that becomes one, is about to be kept.
    pub(crate) fn keep(&self, name: &str) {
        if let Some(names) = self.names().as_mut() {
            names.insert(name.to_owned());
        }
    }

    /// Unlinks one, unless it was kept meanwhile. Whether it is gone.
    ///
    /// # Errors
    ///
    /// As `unlink`; and when the sweep has ended.
    pub(crate) fn unlink(
        &self,
        name: &str,
        unlink: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<bool, Errno> {
        let names = self.names();
        let kept = names.as_ref().ok_or(Errno::CANCELED)?;
        if kept.contains(name) {
            return Ok(false);
        }
        unlink().map(|()| true)
    }

    fn names(&self) -> MutexGuard<'_, Option<HashSet<String>>> {
        lock(&self.0)
    }
}
