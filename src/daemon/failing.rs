//! How the daemon ends when something of ours failed: nothing that was decided half is carried on,
//! folded or written down. Those who wait for an answer hear that there will be none, and what the
//! ledger's writer had taken is written, so that the next start folds all of it.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::attach::ConnId;
use super::codex_lane::CodexLane;
use super::ending::LAST_ANSWERS;
use super::ending::STEP;
use super::event::Event;
use super::fault::DaemonFault;
use super::run::{Daemon, Keepers};
use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::core::id::SessionId;
use crate::store::failed;
use crate::store::head::Head;
use crate::store::ledger::Ledger;

/// The key of the notice that the daemon before this one failed.
const DAEMON_FAILED: &str = "daemon_failed";

/// What of a daemon that failed can still be trusted: each has a thread or task of its own.
struct Sound {
    ledger: Ledger,
    keepers: Keepers,
    session_id: SessionId,
    codex: CodexLane,
    is_disowned: bool,
    clients: HashSet<ConnId>,
}

impl Daemon {
    /// Ends because of a fault.
    pub(super) async fn fail(
        self,
        fault: DaemonFault,
        mut events: mpsc::Receiver<Event>,
    ) -> DaemonFault {
        self.fault.set(fault);
        tracing::error!(code = fault.code(), "{fault}: it ends");
        let Sound {
            ledger,
            keepers,
            session_id,
            codex,
            is_disowned,
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
        let closed = tokio::task::spawn_blocking(move || {
            ledger.clone().close();
            let Keepers {
                heads,
                checkpoints,
                search,
                space: _,
            } = keepers;
            if is_disowned {
                heads.abandon();
            } else {
                // Every line up to there is ours, whatever became of the loop: with the mark of an
                // orderly end nothing that is put behind it counts. A writer that failed may have
                // left anything.
                let head = ledger.stats().head.filter(|_| fault != DaemonFault::Writer);
                heads.close(head.map(|(seq, hash)| Head {
                    seq,
                    hash,
                    session_id,
                }));
            }
            // The last one is of a world that was folded whole.
            drop(checkpoints);
            search.close();
        });
        if timeout(STEP, closed).await.is_err() {
            tracing::error!("the ledger's writer did not end in time");
        }
        fault
    }

    /// Takes out what is sound, and drops the rest with everything that somebody waits for.
    fn dismantle(self, fault: DaemonFault) -> Sound {
        let is_disowned = self.disowned.load(Ordering::Acquire);
        if !is_disowned && let Err(error) = failed::write(&self.dirs, fault.code()) {
            tracing::warn!(%error, "the next start will not know that this daemon failed");
        }
        self.clients.close_all();
        Sound {
            clients: self.clients.outside().collect(),
            ledger: self.ledger,
            keepers: self.keepers,
            session_id: self.session_id,
            codex: self.codex,
            is_disowned,
        }
    }

    /// Records that the daemon before this one failed, and has `status` and the deck say so for as
    /// long as this one runs.
    pub(super) fn note_failed(&mut self) {
        let Some(fault) = failed::take(&self.dirs) else {
            return;
        };
        let what = DaemonFault::of_code(&fault).unwrap_or(DaemonFault::Loop);
        let text = format!(
            "before this start {what}; what was acknowledged is here, and \
             .contextrelay/state/contextrelay.log says where it was"
        );
        let kind = ErrorCode::from(what.code());
        self.note_fact(Party::System, kind, text.clone());
        self.notices.set(DAEMON_FAILED, text);
    }
}
