//! [`TakeoverProgress`]: whether another process is to take over, who asked for that, and how far
//! it is. [`Replacement`]: the request.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;

use super::CarriedClaudes;
use crate::adapters::codex::passed::Passed;
use crate::daemon::reply::ReplySender;
use crate::wire::control::{Refusal, RefusalCode};

/// The operator wants another program to go on: only the host of the daemon can start it.
#[derive(Debug)]
pub struct Replacement {
    /// The program, absolute.
    pub program: PathBuf,
    /// Whether it has begun.
    pub reply: ReplySender,
}

/// A daemon that leaves everything to another process, or could.
#[derive(Debug, Default)]
pub(in crate::daemon) struct TakeoverProgress {
    /// Where to ask for that process; `None` where nobody can start it.
    next_daemons: Option<mpsc::Sender<Replacement>>,
    release: Option<Release>,
}

/// How long it waits to hear that what was given to an agent has arrived there. Milliseconds, where
/// that agent goes on at all; the next process would give it once more, as shown before.
const PROOF_WAIT: Duration = Duration::from_secs(2);

/// What is known of the Codex adapter since it began.
#[derive(Debug)]
struct Release {
    /// Until when receivers may say that what they were given arrived.
    proofs_until: Instant,
    /// What was known of Claude when it began: its clients are sent away then.
    claudes: CarriedClaudes,
    /// It was asked to let go.
    is_asked: bool,
    /// What it left.
    passed: Option<Passed>,
    /// It failed to.
    has_failed: bool,
    /// All of its facts have come.
    is_silent: bool,
}

impl Release {
    fn is_over(&self) -> bool {
        self.has_failed || self.passed.is_some() && self.is_silent
    }
}

impl TakeoverProgress {
    /// Where another process can be asked for.
    pub(in crate::daemon) fn take_next_daemons(&mut self, next_daemons: mpsc::Sender<Replacement>) {
        self.next_daemons = Some(next_daemons);
    }

    /// Asks for another process that goes on.
    ///
    /// # Errors
    ///
    /// When that was asked for already, or when nobody can do it.
    pub(in crate::daemon) fn ask_next_daemon(
        &self,
        replacement: Replacement,
    ) -> Result<(), TrySendError<Replacement>> {
        match &self.next_daemons {
            Some(next_daemons) => next_daemons.try_send(replacement),
            None => Err(TrySendError::Closed(replacement)),
        }
    }

    /// Another process is to go on.
    pub(in crate::daemon) fn begin(&mut self, claudes: CarriedClaudes) {
        self.release = Some(Release {
            proofs_until: Instant::now() + PROOF_WAIT,
            claudes,
            is_asked: false,
            passed: None,
            has_failed: false,
            is_silent: false,
        });
    }

    /// Until when it is waited for proofs, and a proof is still taken.
    pub(in crate::daemon) fn proofs_until(&self) -> Option<Instant> {
        self.release.as_ref().map(|release| release.proofs_until)
    }

    pub(in crate::daemon) fn is_begun(&self) -> bool {
        self.release.is_some()
    }

    /// The adapter is to let go. Whether that is to be asked of it now.
    pub(in crate::daemon) fn ask_adapter(&mut self) -> bool {
        self.release
            .as_mut()
            .is_some_and(|release| !std::mem::replace(&mut release.is_asked, true))
    }

    /// The adapter let go, with what it leaves; or failed to.
    pub(in crate::daemon) fn adapter_left(&mut self, passed: Option<Passed>) {
        if let Some(release) = &mut self.release {
            release.has_failed = passed.is_none();
            release.passed = passed;
        }
    }

    /// The adapter has told everything.
    pub(in crate::daemon) fn adapter_is_silent(&mut self) {
        if let Some(release) = &mut self.release {
            release.is_silent = true;
        }
    }

    /// Nothing more has to be waited for.
    pub(in crate::daemon) fn is_over(&self) -> bool {
        self.release.as_ref().is_none_or(Release::is_over)
    }

    /// What was known of Claude when it began.
    pub(in crate::daemon) fn take_claudes(&mut self) -> CarriedClaudes {
        let release = self.release.as_mut();
        release.map_or_else(CarriedClaudes::default, |release| {
            std::mem::take(&mut release.claudes)
        })
    }

    /// What the adapter leaves to the next process; `None` when that has to begin without.
    /// `is_settled`: nothing is on its way to the record.
    pub(in crate::daemon) fn take_passed(&mut self, is_settled: bool) -> Option<Passed> {
        let release = self.release.take()?;
        if !is_settled || !release.is_over() {
            tracing::error!("the daemon cannot hand over what is under way; it ends instead");
            return None;
        }
        release.passed
    }

    /// What a call hears that came too late for this process.
    pub(in crate::daemon) fn refusal(&self) -> Option<Refusal> {
        self.release.as_ref().map(|_| {
            Refusal::new(
                RefusalCode::DaemonMoving,
                "the daemon goes on in another process",
                "the call was not carried out; repeat it in a moment",
            )
        })
    }
}
