//! [`KeptFile`]: a small file that holds the newest value of something.

use std::io;
use std::path::PathBuf;

use super::dirs::write_fleeting;
use super::latest_thread::LatestThread;

/// Written on a thread of its own, as soon as the disk takes it. A process that is killed loses what
/// was put in its last moment; a machine that stops may lose all of it. Dropped, it waits until
/// what was put is written.
#[derive(Debug)]
pub struct KeptFile {
    writer: LatestThread<Vec<u8>>,
}

impl KeptFile {
    /// Begins to keep a file.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(path: PathBuf) -> io::Result<Self> {
        let writer = LatestThread::<Vec<u8>>::start("kept-file", move |pending| {
            while let Some(bytes) = pending.take() {
                if let Err(error) = write_fleeting(&path, &bytes) {
                    tracing::warn!(%error, path = %path.display(), "a file was not kept");
                }
            }
        })?;
        Ok(Self { writer })
    }

    /// The file is to hold this. Never waits for the disk; what was not written yet is replaced.
    pub fn put(&self, bytes: Vec<u8>) {
        self.writer.latest().put(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_was_put_is_there_after_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let kept = KeptFile::start(path.clone()).unwrap();
        for number in 0..100 {
            kept.put(format!("{number}").into_bytes());
        }
        drop(kept);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "99");
        let nowhere = KeptFile::start(path.join("below a file")).unwrap();
        nowhere.put(Vec::new());
    }
}
