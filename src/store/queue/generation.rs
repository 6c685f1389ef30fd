//! [`Generation`]: how often a queue's rows were written, kept outside of the project as well.
//!
//! Whoever can write the project can put an older `queue.db` in the place of the one that is there,
//! in which a message that has left looks never attempted. The number in the file is durable before
//! the one outside is written, and that before the first byte leaves: so a file that is behind is an
//! older one, and a crash, of the machine too, leaves none behind.

use std::path::PathBuf;

use crate::dirs::{UserDirs, read_private, write_fleeting};

/// More than any number is long.
const BYTES_MAX: u64 = 32;

/// The number that is kept outside.
#[derive(Debug, Clone)]
pub struct Generation {
    path: PathBuf,
}

impl Generation {
    /// Of a project.
    pub fn of(user: &UserDirs, instance_id: &str) -> Self {
        let path = user.queue_generation(instance_id);
        Self { path }
    }

    /// As it is kept; 0 when it is not.
    pub(super) fn read(&self) -> u64 {
        let text = read_private(&self.path, BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8(text).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// Keeps it. Nobody waits for the disk: one that is lost hides an older file, and nothing else.
    pub(super) fn write(&self, generation: u64) {
        if let Err(error) = write_fleeting(&self.path, generation.to_string().as_bytes()) {
            tracing::debug!(%error, "the queue's number was not kept outside");
        }
    }
}
