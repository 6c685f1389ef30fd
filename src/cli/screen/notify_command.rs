//! [`NotifyCommand`]: the user's own program that notifies them that something waits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::cli::agents::launch::capture;

/// How long it may take. Less than the time between two notifications: only one runs at a time.
const DEADLINE: Duration = Duration::from_secs(9);

/// Runs it in the folder of the user's `config.json`: never in the project, where a name could mean
/// another program.
#[derive(Debug, Clone)]
pub(in crate::cli) struct NotifyCommand {
    folder: PathBuf,
    runs: Arc<AtomicBool>,
}

impl NotifyCommand {
    pub(in crate::cli) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            runs: Arc::default(),
        }
    }

    /// Runs it to its end with the sentence as its last argument.
    ///
    /// # Errors
    ///
    /// A sentence, when it cannot be started, fails, or takes longer than 9 s; it is ended then.
    pub(in crate::cli) fn run(&self, command: &[String], text: &str) -> Result<(), String> {
        let Some((program, words)) = command.split_first() else {
            return Ok(());
        };
        let words = words.iter().map(String::as_str).chain([text]);
        let args: Vec<OsString> = words.map(OsString::from).collect();
        let ended = capture(Path::new(program), &args, &self.folder, DEADLINE);
        match ended {
            Ok(ended) if ended.ok => Ok(()),
            Ok(_) => Err(format!("notifyCommand: {program} failed")),
            Err(error) => Err(format!("notifyCommand: {error}")),
        }
    }

    /// As [`Self::run`], beside the caller. `failed` hears why it did not work, also when the one
    /// before still runs.
    pub(in crate::cli) fn begin(
        &self,
        command: Vec<String>,
        text: String,
        failed: impl FnOnce(String) + Send + 'static,
    ) {
        if self.runs.swap(true, Ordering::SeqCst) {
            failed("notifyCommand: the one before still runs".to_owned());
            return;
        }
        let this = self.clone();
        let begun = thread::Builder::new()
            .name("notify".to_owned())
            .spawn(move || {
                let ended = this.run(&command, &text);
                this.runs.store(false, Ordering::SeqCst);
                if let Err(why) = ended {
                    failed(why);
                }
            });
        if begun.is_err() {
            self.runs.store(false, Ordering::SeqCst);
        }
    }
}
