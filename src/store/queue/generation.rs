//! [`Generation`]: how often a queue's rows were written, kept outside of the project as well.
//!
//! Anybody who can write to the project can replace `queue.db` by an older copy, in which a message
//! that has left looks never attempted. The number in the file is durable before the one outside is
//! written, and that one before the first byte leaves. So a file whose number is lower is an older
//! copy; a crash, even of the machine, never leaves one behind.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;

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
        // In its place: a message waits for it, and to replace a file has the disk begin to write
        // what the next sync then waits for. So few bytes are written whole or not at all.
        let digits = format!("{generation:020}");
        let written = self.write_over(digits.as_bytes()).or_else(|_| {
            // There is none yet, or something else has its name.
            write_fleeting(&self.path, digits.as_bytes())
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the queue's number was not kept outside");
        }
    }

    fn write_over(&self, digits: &[u8]) -> io::Result<()> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.path)?;
        file.write_all_at(digits, 0)
    }
}
