//! What the loop does about the room on the disk, which [`DiskSpace`] knows: sentences for the
//! operator, and refusals of new messages.
//!
//! [`DiskSpace`]: crate::store::disk_space::DiskSpace

use super::owners::Daemon;
use super::recorder::space_refused;
use crate::wire::control::{Command, Refusal};

/// The key of the sentence about the disk.
const DISK: &str = "disk";

/// The key of the sentence about the long texts.
const LONG_TEXTS: &str = "long_texts";

impl Daemon {
    /// Whether the record has room for what a command would add. What the operator decides, and
    /// whatever brings work to an end, is never refused here.
    pub(super) fn check_space(&self, command: &Command) -> Result<(), Refusal> {
        match command {
            Command::Send(_)
            | Command::Handoff(_)
            | Command::AppendNote(_)
            | Command::StateWork(_)
            | Command::ChangeTask(_)
            | Command::ChangeReview(_)
            | Command::RecordArtifact(_)
            | Command::ProposeFinal(_) => {
                let admitted = self.recorder.space().admit_message();
                admitted.map_err(|refusal| space_refused(&refusal))
            }
            _ => Ok(()),
        }
    }

    /// Says what there is to say about the disk now.
    pub(super) fn space_changed(&mut self) {
        let space = self.recorder.space();
        // First, so that what changes meanwhile is found by the next measure.
        space.say_now();
        let said = [
            (DISK, space.disk_notice()),
            (LONG_TEXTS, space.blobs_notice()),
        ];
        let mut is_news = false;
        for (key, notice) in said {
            is_news |= match notice {
                Some(text) => self.notices.set(key, text),
                None => self.notices.clear(key),
            };
        }
        if is_news {
            self.status_changed();
        }
    }
}
