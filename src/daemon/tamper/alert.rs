//! The loop's reaction to a [`WatchFact`]: an entry, a sentence for the operator, and for `current`
//! the right name again.

use super::fact::{FileVerdict, Touch, WatchFact};
use super::file_watch::PutBack;
use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::core::id::SessionId;
use crate::daemon::base::disk_space::space_changed;
use crate::daemon::fault::DaemonFault;
use crate::daemon::owners::{Base, Daemon};
use crate::daemon::stop::Stop;
use crate::daemon::tamper::FileWatch;
use crate::wire::status::NoticeKey;

impl Daemon {
    pub(in crate::daemon) fn on_watch(&mut self, fact: WatchFact) {
        match fact {
            // What counts was read again behind the trust, and the watch does so as well.
            WatchFact::Config {
                changed, trusts, ..
            } if self.files.is_before_trust(trusts) => self.base.note_reloaded(&changed),
            WatchFact::Config {
                loaded, changed, ..
            } => self.reconfigure(*loaded, &changed),
            WatchFact::Current { found } => self.base.on_current(&mut self.files, found),
            WatchFact::Ledger {
                session,
                touches,
                verdict,
            } if session == *self.base.recorder.session_id() => {
                self.base.on_touched(&touches, &verdict)
            }
            WatchFact::Chain { session, is_whole }
                if session == *self.base.recorder.session_id() =>
            {
                self.files.read_over(is_whole);
                self.base.clients.status_changed();
            }
            // The record tells of it.
            WatchFact::TouchOver { session } if session == *self.base.recorder.session_id() => {
                self.base.notice_over(&NoticeKey::Touched);
            }
            // It was sealed meanwhile, by us.
            WatchFact::Ledger { .. } | WatchFact::Chain { .. } | WatchFact::TouchOver { .. } => {}
            WatchFact::Space => space_changed(
                self.base.recorder.space(),
                &mut self.base.notices,
                &self.base.clients,
            ),
            WatchFact::Hooks(off) => {
                let bridges = self.base.clients.all_bridges();
                let keeping = bridges.filter(|it| it.hello.keeps_hooks);
                let keeping = keeping.filter_map(|it| it.hello.agent_pid).collect();
                self.agents.claude_processes.hooks_switched(off, &keeping);
                self.base.clients.status_changed();
            }
            WatchFact::LockLost => self.on_lock_lost(),
            WatchFact::FolderLost => self.on_folder_lost(),
            WatchFact::Degraded { why } => {
                let notice = format!(
                    "changes of files are noticed late, because the system gives no signs: {why}"
                );
                self.base.notice(NoticeKey::Watch, notice);
            }
        }
    }

    /// Ends, because nobody can find this daemon any more, and the next one cannot start before it
    /// has gone: it has the project's folder.
    fn on_lock_lost(&mut self) {
        if self.base.operations.is_stopping() {
            return;
        }
        let text = "somebody else removed the lock of this daemon with the state folder: nobody \
                    finds it there any more, so it ends; the next start makes the folder anew";
        tracing::error!(text, "alarm");
        self.base.record_touch(ErrorCode::LockLost, text.to_owned());
        self.stop(Stop::because_of(DaemonFault::LockLost));
    }

    /// Ends without a word in the record, which is wherever somebody moved it.
    fn on_folder_lost(&mut self) {
        if self.base.operations.is_stopping() {
            return;
        }
        tracing::error!("somebody removed or renamed this project's folder: its daemon ends");
        self.base.recorder.disown();
        self.stop_serving(false);
        let stop = Stop::because_of(DaemonFault::FolderLost);
        self.base.operations.stop(stop);
    }
}

impl Base {
    fn on_touched(&mut self, touches: &[Touch], verdict: &FileVerdict) {
        let words: Vec<&str> = touches.iter().map(|touch| touch.as_str()).collect();
        let text = format!(
            "somebody else touched the record: it was {}; {verdict}",
            words.join(" and ")
        );
        tracing::warn!(text, "alarm");
        self.record_touch(ErrorCode::LedgerTouched, text.clone());
        self.notices.set(
            NoticeKey::Touched,
            format!("{text} (`ctxrelay ledger verify`)"),
        );
        self.clients.status_changed();
    }

    fn on_current(&mut self, files: &mut FileWatch, found: Option<SessionId>) {
        // A session that was begun meanwhile, by us.
        if found.as_ref() == Some(self.recorder.session_id()) {
            return;
        }
        let named = found.map_or_else(
            || "names no session".to_owned(),
            |found| format!("names {found}"),
        );
        let text = format!(
            "somebody else changed .contextrelay/current, which {named}: this daemon goes on with {}",
            self.recorder.session_id()
        );
        self.notice(NoticeKey::Current, text.clone());
        let put_back = files.current_changed();
        if put_back == PutBack::Waits {
            return;
        }
        self.record_touch(ErrorCode::CurrentChanged, text);
        if put_back == PutBack::Now {
            self.put_current_back(files);
        }
    }

    /// What an alarm says cannot be said again by anybody, so it is kept until the disk takes it.
    fn record_touch(&mut self, code: ErrorCode, text: String) {
        let entry = self.recorder.entry(Party::System, None, code, text, None);
        self.recorder.keep_entry(entry);
    }

    pub(in crate::daemon) fn watch_deadline(&mut self, files: &mut FileWatch) {
        if files.is_put_back_due() {
            self.put_current_back(files);
        }
    }

    fn put_current_back(&mut self, files: &mut FileWatch) {
        files.puts_back();
        match self.recorder.name_current() {
            // The record tells of it; there is nothing left to be done.
            Ok(()) => self.notice_over(&NoticeKey::Current),
            Err(error) => {
                files.was_not_put_back();
                let notice = format!(
                    "somebody else changed .contextrelay/current, and it could not be put back: \
                     {error}; it is tried again"
                );
                if self.notice(NoticeKey::Current, notice) {
                    tracing::warn!(%error, "`current` could not be put back");
                }
            }
        }
    }

    /// Watches the session that has just begun.
    pub(in crate::daemon) fn watch_session(&mut self, files: &mut FileWatch) {
        files.follow(
            self.recorder.session_id().clone(),
            self.recorder.ledger().clone(),
        );
        // They spoke of the session before.
        self.notices.clear(&NoticeKey::Touched);
        self.notices.clear(&NoticeKey::Current);
    }
}
