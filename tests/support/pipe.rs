//! `NamedPipe`: a file by which a test controls a command that an agent runs: the command blocks in
//! `cat PIPE` until the test writes.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use super::wait::{timeout, wait_until};

/// A named pipe in a folder of the test.
#[derive(Debug)]
pub struct NamedPipe {
    path: PathBuf,
}

impl NamedPipe {
    #[track_caller]
    pub fn new(path: PathBuf) -> Self {
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A shell command that stands until something is written, and prints it.
    pub fn reading_command(&self) -> String {
        format!("cat \"{}\"", self.path.display())
    }

    /// Waits until somebody reads: the command is running. It goes on when the writer is dropped.
    #[track_caller]
    pub fn wait_for_reader(&self) -> File {
        wait_until(
            &format!("a reader of {}", self.path.display()),
            timeout(),
            || {
                // Without a reader such an open fails at once, where a plain one would wait for ever.
                File::options()
                    .write(true)
                    .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                    .open(&self.path)
                    .ok()
            },
        )
    }

    /// Writes once somebody reads.
    #[track_caller]
    pub fn write(&self, text: &str) {
        self.wait_for_reader().write_all(text.as_bytes()).unwrap();
    }
}
