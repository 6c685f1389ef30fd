//! What the loop does about free disk space, which [`DiskSpace`] knows: sentences for the operator,
//! and refusals of new messages.

use crate::daemon::base::clients::Clients;
use crate::daemon::base::notices::Notices;
use crate::daemon::base::recorder::space_refused;
use crate::store::disk_space::DiskSpace;
use crate::wire::control::{Command, Refusal};
use crate::wire::status::NoticeKey;

/// Whether the record has room for what a command would add. What the operator decides, and
/// whatever brings work to an end, is never refused here.
pub(in crate::daemon) fn check_space(space: &DiskSpace, command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Send(_)
        | Command::Handoff(_)
        | Command::AppendNote(_)
        | Command::StateWork(_)
        | Command::ChangeTask(_)
        | Command::ChangeReview(_)
        | Command::RecordArtifact(_)
        | Command::ProposeFinal(_) => {
            let admitted = space.admit_message();
            admitted.map_err(|refusal| space_refused(&refusal))
        }
        _ => Ok(()),
    }
}

/// Says what there is to say about the disk now.
pub(in crate::daemon) fn space_changed(
    space: &DiskSpace,
    notices: &mut Notices,
    clients: &Clients,
) {
    // First, so that what changes meanwhile is found by the next measure.
    space.say_now();
    let said = [
        (NoticeKey::Disk, space.disk_notice()),
        (NoticeKey::LongTexts, space.blobs_notice()),
    ];
    let mut is_news = false;
    for (key, notice) in said {
        is_news |= match notice {
            Some(text) => notices.set(key, text),
            None => notices.clear(&key),
        };
    }
    if is_news {
        clients.status_changed();
    }
}
