//! What somebody hears whose words were not recorded.

use crate::daemon::fault::DaemonFault;
use crate::store::disk_space::SpaceRefusal;
use crate::store::ledger::LedgerError;
use crate::wire::control::{Refusal, RefusalCode};

/// The way on where the record's file was taken away.
pub(in crate::daemon) const GONE_HINT: &str = "put its file back as it was, and it goes on by itself; \
                                               else `ctxrelay kill`, and start again";

/// The refusal of a call for want of room.
pub(in crate::daemon) fn space_refused(refusal: &SpaceRefusal) -> Refusal {
    Refusal::new(refusal.code(), refusal.to_string(), refusal.hint())
}

pub(super) fn folder_lost() -> Refusal {
    Refusal::new(
        RefusalCode::FolderLost,
        "this project's folder was removed or renamed",
        "nothing was recorded; put the folder back, or begin anew with `ctxrelay init`",
    )
}

pub(super) fn overloaded() -> Refusal {
    Refusal::new(
        RefusalCode::Overloaded,
        "the ledger's queue is full",
        "nothing was recorded; try again in a moment",
    )
}

pub(super) fn writer_gone(error: &LedgerError) -> Refusal {
    Refusal::new(
        RefusalCode::WriterGone,
        error.to_string(),
        DaemonFault::HINT,
    )
}

/// Why an append failed that the writer had taken.
pub(super) fn of_error(error: &LedgerError) -> Refusal {
    match error {
        LedgerError::Refused { .. } => Refusal::new(
            RefusalCode::EntryRefused,
            error.to_string(),
            "nothing was recorded; say it in fewer words",
        ),
        LedgerError::HeadUnwritable { .. } => Refusal::new(
            RefusalCode::HeadUnwritable,
            error.to_string(),
            "make that folder writable, or free some space, and say it again",
        ),
        LedgerError::NoRoom(refusal) => space_refused(refusal),
        LedgerError::Gone { .. } => Refusal::new(
            RefusalCode::LedgerUnwritable,
            format!("the record could not be written: {error}"),
            GONE_HINT,
        ),
        error => Refusal::new(
            RefusalCode::LedgerUnwritable,
            format!("the record could not be written: {error}"),
            "nothing was recorded; free space or make the project writable, it goes on by itself",
        ),
    }
}
