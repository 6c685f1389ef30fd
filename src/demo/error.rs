//! [`DemoError`].

use std::io;
use std::path::PathBuf;

use crate::client::ClientError;
use crate::host::StartError;
use crate::wire::control::Refusal;

/// Why the demo could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The speed is no number above zero.
    #[error("a speed of {0} makes no sense")]
    Speed(f64),
    /// Something of the throw-away project or of a process could not be had.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// There is no folder for the throw-away project.
    #[error("cannot make a folder in {}: {source}", place.display())]
    NoFolder {
        /// Where temporary files go.
        place: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The daemon did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The daemon refused us as a reader.
    #[error("the daemon refused: {}", .0.message)]
    Refused(Refusal),
    /// The daemon did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The bridge ended, or does not speak MCP.
    #[error("the bridge of the scripted Claude {0}")]
    Bridge(String),
    /// A tool call was refused.
    #[error("{tool}: {message}")]
    Tool {
        tool: &'static str,
        /// The tool's own words.
        message: String,
    },
    /// Something that the story waits for did not happen.
    #[error("waited in vain for {0}")]
    InVain(&'static str),
    /// The daemon ended in the middle of the story.
    #[error("the daemon ended")]
    Ended,
    /// The record of the demo does not verify.
    #[error("the record does not verify: {0}")]
    Record(String),
    /// A signal asked for the end.
    #[error("interrupted")]
    Interrupted,
}

impl DemoError {
    /// For `map_err`: names what was tried.
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
