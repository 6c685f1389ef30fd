//! How the daemon ends after a fault of our own: nothing half decided is carried out, folded or
//! written. Callers are told that there will be no answer, and whatever the ledger's writer has
//! accepted is written, so that the next start folds all of it.

use std::collections::HashSet;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::attach::ConnId;
use super::ending::{LAST_ANSWERS, close_writers};
use super::event::Event;
use super::fault::DaemonFault;
use super::owners::{Base, Daemon};
use crate::core::agent::Party;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::recorder::{CloseHow, ClosingRecord};
use crate::store::queue::QueueWriter;
use crate::wire::status::NoticeKey;

/// What of a daemon that failed can still be trusted: each has a thread or task of its own.
struct Sound {
    record: ClosingRecord,
    rows: QueueWriter,
    codex: CodexLane,
    clients: HashSet<ConnId>,
}

impl Daemon {
    /// Ends because of a fault. Which one to tell of: that it hangs outweighs what ended it.
    pub(super) async fn fail(
        self: Box<Self>,
        fault: DaemonFault,
        mut events: mpsc::Receiver<Event>,
    ) -> DaemonFault {
        self.base.operations.fail(fault);
        tracing::error!(code = fault.code().as_str(), "{fault}: it ends");
        let Sound {
            record,
            rows,
            codex,
            mut clients,
        } = self.dismantle(fault);
        // Dropping what comes in tells its sender that there is no answer. Those outside get the
        // time to hear it.
        let deadline = Instant::now() + LAST_ANSWERS;
        while !clients.is_empty() {
            match timeout_at(deadline, events.recv()).await {
                Ok(Some(Event::Disconnected { conn })) => {
                    clients.remove(&conn);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        drop(events);
        codex.shutdown().await;
        let how = CloseHow::Failed {
            is_writer: fault == DaemonFault::Writer,
        };
        match close_writers(record, rows, how, ()).await {
            // What ended it stands in the log, and its mark is there for the next start.
            Err(DaemonFault::Hung) => DaemonFault::Hung,
            Ok(()) | Err(_) => fault,
        }
    }

    /// Takes out what is sound, and drops the rest with everything that somebody waits for.
    fn dismantle(self: Box<Self>, fault: DaemonFault) -> Sound {
        if !self.base.recorder.is_disowned() {
            fault.leave_mark(&self.base.dirs);
        }
        self.base.clients.close_all();
        Sound {
            clients: self.base.clients.outside().collect(),
            record: self.base.recorder.into_closing(),
            rows: self.deliveries.outbox.into_writer(),
            codex: self.agents.codex,
        }
    }
}

impl Base {
    /// Records that the daemon before this one failed, if it left this mark, and has `status` and the
    /// deck say so for as long as this one runs. `is_whole`: the record has all that is known of it
    /// outside of the project.
    pub(super) fn note_failed(&mut self, mark: Option<String>, is_whole: bool) {
        let Some(fault) = mark else {
            return;
        };
        let what = DaemonFault::of_code(&fault.into()).unwrap_or(DaemonFault::Loop);
        let kept = match is_whole {
            true => "what was acknowledged is here, and ",
            false => "",
        };
        let text = format!(
            "before this start {what}; {kept}.contextrelay/state/contextrelay.log says where it was"
        );
        self.recorder.keep(Party::System, what.code(), text.clone());
        self.notices.set(NoticeKey::DaemonFailed, text);
    }
}
