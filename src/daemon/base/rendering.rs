//! The agents' work as files: made beside the loop when the record has something new about it.

use std::sync::Arc;

use tokio::time::Instant;

use crate::adapters::work_files_now::work_folders;
use crate::core::continuity::is_state;
use crate::core::entry::EntryKind;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::Event;
use crate::daemon::owners::Base;
use crate::store::ledger::Stored;
use crate::store::work_folders::{WorkFolders, recent_work};

impl Base {
    /// What was recorded may be about an agent's work.
    pub(in crate::daemon) fn look_for_work(&mut self, entries: &[Arc<Stored>]) {
        let is_of_work = |stored: &Arc<Stored>| match &stored.entry.kind {
            EntryKind::Continuity(_) | EntryKind::Artifact(_) => true,
            EntryKind::Note { note, .. } => is_state(*note),
            _ => false,
        };
        if entries.iter().any(is_of_work) {
            self.renderings.changed();
        }
    }

    /// Makes the files when that is due.
    pub(in crate::daemon) fn render_deadline(&mut self) {
        let is_due = self
            .renderings
            .next_deadline()
            .is_some_and(|due| due <= Instant::now());
        if !is_due || self.operations.is_stopping() {
            return;
        }
        let (dirs, ledger) = (self.dirs.clone(), self.recorder.ledger().clone());
        let world = Arc::clone(self.recorder.world());
        let redactor = Arc::clone(self.recorder.redactor());
        let lock = self.renderings.begin();
        let session = lock.session();
        self.beside(WorkBeside::Rendering, move |under_way| {
            let page = |filter: &_, limit| ledger.page(filter, None, false, limit);
            let made = recent_work(page).and_then(|recent| {
                let read = |seq| Ok(ledger.read(seq)?.map(|stored| stored.entry));
                work_folders(&dirs.root, &world, &redactor, &recent, read)
            });
            // The loop would copy it for its next entry.
            drop(world);
            let written = made.and_then(|folders| {
                let _held = lock.hold();
                if lock.session() == session {
                    WorkFolders::of(&dirs).write(&folders)
                } else {
                    Ok(())
                }
            });
            if let Err(error) = written {
                tracing::warn!(%error, "the files under state/continuity could not be written");
            }
            Event::WorkRendered(under_way)
        });
    }

    pub(in crate::daemon) fn on_work_rendered(&mut self) {
        self.work_done(&WorkBeside::Rendering);
        self.renderings.ended();
    }
}
