//! A session ends once what it leaves was read, if it still can.

use crate::daemon::carrying::{EndingWish, SessionEnding};
use crate::daemon::event::{DeletionAsked, DeletionDone, Event};
use crate::daemon::owners::Daemon;
use crate::daemon::reply::answer;
use crate::daemon::under_way::WorkBeside;
use crate::wire::control::{Cleared, Reply};

impl Daemon {
    /// What it leaves was read: the session ends, if it still can.
    pub(in crate::daemon) fn on_session_ending(&mut self, ending: SessionEnding) {
        let SessionEnding {
            wish,
            session,
            read,
            reply,
            under_way: _heard,
        } = ending;
        if self.base.operations.is_stopping() {
            return answer(reply, Err(self.base.operations.refusal()));
        }
        let named = match &wish {
            EndingWish::Clear(params) => params.session_id.as_ref(),
            EndingWish::Compact(params) => params.session_id.as_ref(),
        };
        let read = match self.may_end(named).and(read) {
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
        let DeletionAsked {
            params,
            texts,
            reply,
            under_way: _heard,
        } = asked;
        if self.base.operations.is_stopping() {
            return answer(reply, Err(self.base.operations.refusal()));
        }
        if let Err(refusal) = self.may_end(params.session_id.as_ref()) {
            return answer(reply, Err(refusal));
        }
        if texts.session != *self.base.recorder.session_id() {
            // Another one has ended meanwhile, whose texts are not among them.
            return self.base.read_texts(params, reply);
        }
        let (cleared, deletion) = match self.clear_now(Some(texts), None, params.signature) {
            Ok((cleared, Some(deletion))) => (cleared, deletion),
            Ok((cleared, None)) => return answer(reply, Ok(Reply::Cleared(cleared))),
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        self.base.beside(WorkBeside::Deletion, move |under_way| {
            let left = deletion.wait();
            let cleared = Cleared { left, ..cleared };
            Event::DeletionDone(DeletionDone {
                cleared,
                reply,
                under_way,
            })
        });
    }
}
