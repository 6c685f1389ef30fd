//! [`UnderWay`]: that something is being done beside the loop.

use std::sync::Arc;

/// Keeps the daemon from ending of its own accord for as long as it is there: until the loop has
/// heard of the end of what it stands for, or that has failed.
#[derive(Debug)]
pub struct UnderWay {
    _beside: Arc<()>,
}

impl UnderWay {
    /// One more of these.
    pub fn of(all: &Arc<()>) -> Self {
        Self {
            _beside: Arc::clone(all),
        }
    }
}
