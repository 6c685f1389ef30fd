//! [`Channel`]: both ends of the loop's queue, before the loop runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::core::redact::Redactor;
use crate::daemon::base::agent_programs::ProgramLook;
use crate::daemon::base::recorder::WriterEvents;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::event::Event;
use crate::daemon::handle::{DaemonHandle, EVENTS_MAX};
use crate::store::queue::QueueEvent;

/// Both ends of the loop's queue.
#[derive(Debug)]
pub(in crate::daemon) struct Channel {
    pub(in crate::daemon) handle: DaemonHandle,
    pub(in crate::daemon) event_receiver: mpsc::Receiver<Event>,
    /// Cancelled with the loop's end.
    pub(in crate::daemon) ended: CancellationToken,
}

impl Channel {
    /// Of the project in this folder, as it is now. Blocking.
    pub(super) fn new(root: PathBuf, programs: ProgramLook, redactor: Arc<Redactor>) -> Self {
        let ended = CancellationToken::new();
        let (events, event_receiver) = mpsc::channel(EVENTS_MAX);
        let commit = TreeCommit::start(root, events.downgrade());
        Self {
            handle: DaemonHandle::new(events, commit, programs, redactor, ended.clone()),
            event_receiver,
            ended,
        }
    }

    /// For those who must not keep the queue open.
    pub(super) fn weak(&self) -> mpsc::WeakSender<Event> {
        self.handle.events().downgrade()
    }

    /// What the queue's writer tells the loop through.
    pub(super) fn queue_events(&self) -> impl Fn(QueueEvent) + Send + 'static {
        let weak = self.weak();
        move |event| {
            // It has a thread of its own, too.
            if let Some(events) = weak.upgrade() {
                let _ = events.blocking_send(Event::Queue(event));
            }
        }
    }

    /// What keeps the head outside tells the loop through.
    pub(super) fn head_events(&self) -> impl Fn(io::Result<()>) + Send + 'static {
        let weak = self.weak();
        move |written| {
            // It has a thread of its own, too.
            if let Some(events) = weak.upgrade() {
                let _ = events.blocking_send(Event::Head(written));
            }
        }
    }

    pub(super) fn writer_events(&self) -> WriterEvents {
        let weak = self.weak();
        Box::new(move || {
            let weak = weak.clone();
            Box::new(move |event| {
                // The writer has a thread of its own: it may wait for the loop.
                if let Some(events) = weak.upgrade() {
                    let _ = events.blocking_send(Event::Ledger(event));
                }
            })
        })
    }
}
