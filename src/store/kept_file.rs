//! [`KeptFile`]: a small file that holds the newest of something.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::dirs::write_fleeting;
use super::latest::Latest;

/// Written on a thread of its own, as soon as the disk takes it. A process that is killed loses what
/// was put in its last moment; a machine that stops may lose all of it.
#[derive(Debug)]
pub struct KeptFile {
    latest: Arc<Latest<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl KeptFile {
    /// Begins to keep a file.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start(path: PathBuf) -> io::Result<Self> {
        let latest: Arc<Latest<Vec<u8>>> = Arc::default();
        let pending = Arc::clone(&latest);
        let keep = move || {
            while let Some(bytes) = pending.take() {
                if let Err(error) = write_fleeting(&path, &bytes) {
                    tracing::warn!(%error, path = %path.display(), "a file was not kept");
                }
            }
        };
        let thread = thread::Builder::new().name("kept-file".to_owned());
        Ok(Self {
            latest,
            thread: Some(thread.spawn(keep)?),
        })
    }

    /// The file is to hold this. Never waits for the disk; what was not written yet is replaced.
    pub fn put(&self, bytes: Vec<u8>) {
        self.latest.put(bytes);
    }
}

impl Drop for KeptFile {
    /// Waits until what was put is written.
    fn drop(&mut self) {
        self.latest.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("what keeps a file panicked");
        }
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
