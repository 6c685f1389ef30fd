//! Ends a session once what it leaves has been read, if it still can end.

use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{DeletionAsked, DeletionDone, DeletionWaiter, Event};
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::sessions::carrying::{EndingWish, SessionEnding};
use crate::daemon::sessions::deletion::Deletion;
use crate::daemon::sessions::rollover::{being_written, ends_already};
use crate::daemon::sessions::waiting_ending::WaitingEnding;
use crate::wire::control::{Cleared, Reply};

impl Daemon {
    /// The operator has the session end.
    pub(in crate::daemon) fn end_session(&mut self, wish: EndingWish, reply: ReplySender) {
        if self.base.operations.has_failed_deletion() {
            return self.delete_rest(wish, reply);
        }
        if let Err(refusal) = self.may_end(wish.named()) {
            return answer(reply, Err(refusal));
        }
        let ready = self.once_written(WaitingEnding::Asked(wish, reply));
        match ready {
            Some(WaitingEnding::Asked(EndingWish::Clear(params), reply)) => {
                self.clear(params, reply);
            }
            Some(WaitingEnding::Asked(wish, reply)) => self.base.read_carrying(wish, reply),
            _ => {}
        }
    }

    /// Goes on with a session that was to end once the disk had what has happened in it.
    pub(in crate::daemon) fn go_on_ending(&mut self, ending: WaitingEnding) {
        if self.base.operations.is_stopping() {
            let refusal = self.base.operations.refusal();
            return answer(ending.into_reply(), Err(refusal));
        }
        if self.base.recorder.pending_count() > 0 {
            return answer(ending.into_reply(), Err(being_written()));
        }
        match ending {
            WaitingEnding::Asked(wish, reply) => self.end_session(wish, reply),
            WaitingEnding::Read(ending) => self.on_session_ending(*ending),
            WaitingEnding::Texts(asked) => self.on_deletion_asked(asked),
        }
    }

    /// One that need not wait any longer.
    pub(in crate::daemon) fn next_ending(&mut self) -> Option<WaitingEnding> {
        let is_written = self.base.recorder.pending_count() == 0 && self.deliveries.held.is_empty();
        self.base.operations.take_ending(is_written)
    }

    /// Handed back where the disk has all that has happened; else it waits.
    fn once_written(&mut self, ending: WaitingEnding) -> Option<WaitingEnding> {
        if self.base.recorder.pending_count() == 0 {
            return Some(ending);
        }
        if let Some(second) = self.base.operations.wait_to_end(ending) {
            answer(second.into_reply(), Err(ends_already()));
        }
        None
    }

    /// What it leaves was read: the session ends, if it still can.
    pub(in crate::daemon) fn on_session_ending(&mut self, ending: SessionEnding) {
        if self.base.operations.is_stopping() {
            return answer(ending.reply, Err(self.base.operations.refusal()));
        }
        if let Err(refusal) = self.may_end(ending.wish.named()) {
            return answer(ending.reply, Err(refusal));
        }
        let ready = self.once_written(WaitingEnding::Read(Box::new(ending)));
        let Some(WaitingEnding::Read(ending)) = ready else {
            return;
        };
        let SessionEnding {
            wish,
            session,
            read,
            reply,
            under_way: _heard,
        } = *ending;
        let read = match read {
            Ok(read) => read,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if session != *self.base.recorder.session_id() {
            // Another one has ended meanwhile, and this one leaves something else.
            return self.base.read_carrying(wish, reply);
        }
        let ended = match wish {
            EndingWish::Clear(params) => self
                .clear_now(None, Some(&read), params.signature)
                .map(|(cleared, _)| Reply::Cleared(cleared)),
            EndingWish::Compact(params) => self
                .compact_now(&read, params.signature)
                .map(Reply::Compacted),
        };
        answer(reply, ended);
    }

    /// The second step.
    pub(in crate::daemon) fn on_deletion_asked(&mut self, asked: DeletionAsked) {
        if self.base.operations.is_stopping() {
            return answer(asked.reply, Err(self.base.operations.refusal()));
        }
        if let Err(refusal) = self.may_end(asked.params.session_id.as_ref()) {
            return answer(asked.reply, Err(refusal));
        }
        let Some(WaitingEnding::Texts(asked)) = self.once_written(WaitingEnding::Texts(asked))
        else {
            return;
        };
        let DeletionAsked {
            params,
            texts,
            reply,
            under_way: _heard,
        } = asked;
        if texts.session != *self.base.recorder.session_id() {
            // Another one has ended meanwhile, whose texts are not among them.
            return self.base.read_texts(params, reply);
        }
        let (cleared, deletion) = match self.clear_now(Some(texts), None, params.signature) {
            Ok((cleared, Some(deletion))) => (cleared, deletion),
            Ok((cleared, None)) => return answer(reply, Ok(Reply::Cleared(cleared))),
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        self.delete_beside(deletion, DeletionWaiter::Answer(cleared, reply));
    }

    /// A fault of ours cut the deletion of the session before short: what is left of it goes first.
    fn delete_rest(&mut self, wish: EndingWish, reply: ReplySender) {
        let ready = self.once_written(WaitingEnding::Asked(wish, reply));
        let Some(WaitingEnding::Asked(wish, reply)) = ready else {
            return;
        };
        match self.deliveries.deletion_again(&mut self.base) {
            Some(deletion) => self.delete_beside(deletion, DeletionWaiter::Ending(wish, reply)),
            None => {
                self.base.operations.deletion_over();
                self.end_session(wish, reply);
            }
        }
    }

    /// The third step.
    fn delete_beside(&self, deletion: Deletion, waited: DeletionWaiter) {
        self.base.beside(WorkBeside::Deletion, move |under_way| {
            let (session, left) = deletion.carry_out();
            Event::DeletionDone(DeletionDone {
                session,
                left,
                waited,
                under_way,
            })
        });
    }

    /// It is done.
    pub(in crate::daemon) fn on_deletion_done(&mut self, done: DeletionDone) {
        let DeletionDone {
            session,
            left,
            waited,
            under_way: _heard,
        } = done;
        self.base.deletion_is_done(&session, &left);
        match waited {
            DeletionWaiter::Answer(cleared, reply) => {
                answer(reply, Ok(Reply::Cleared(Cleared { left, ..cleared })));
            }
            DeletionWaiter::Ending(_, reply) if self.base.operations.is_stopping() => {
                answer(reply, Err(self.base.operations.refusal()));
            }
            DeletionWaiter::Ending(wish, reply) => self.end_session(wish, reply),
        }
    }
}
