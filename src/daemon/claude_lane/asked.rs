//! [`Asked`]: somebody said that messages arrived or were read, and is answered once the record
//! says so.

use std::collections::BTreeSet;

use crate::core::entry::DeliveryResult;
use crate::core::id::EntryId;
use crate::daemon::attach::ConnId;
use crate::daemon::event::ReplySender;
use crate::daemon::run::{Daemon, answer};
use crate::wire::control::{AckedPartly, GetMessagesParams, Refusal, RefusalCode, Reply};

/// How many may wait for the record at once. It is written within milliseconds.
pub(in crate::daemon) const ASKED_MAX: usize = 512;

/// Somebody who waits for the record.
#[derive(Debug)]
pub struct Asked {
    /// Of these it does not say so yet.
    left: BTreeSet<EntryId>,
    result: DeliveryResult,
    when: When,
    reply: ReplySender,
}

/// The answer once the record says so.
#[derive(Debug)]
pub enum When {
    /// Nothing more.
    Done,
    /// These were acknowledged.
    Acked(AckedPartly),
    /// These were acknowledged, and what else waits is asked for.
    Page {
        /// Who asks.
        conn: ConnId,
        /// For what.
        params: GetMessagesParams,
        /// What was acknowledged with it.
        acked: AckedPartly,
    },
}

impl Daemon {
    /// Answers once the ledger has this result of these messages; at once when it is about none.
    pub(in crate::daemon) fn answer_when_recorded(
        &mut self,
        ids: &[EntryId],
        result: DeliveryResult,
        when: When,
        reply: ReplySender,
    ) {
        let left: BTreeSet<EntryId> = ids
            .iter()
            .filter(|id| self.outbox.backlog.records(id, result))
            .cloned()
            .collect();
        if left.is_empty() {
            return self.answer_asked(when, reply);
        }
        if self.is_read_only() {
            // Said again while the disk refuses: it is kept since the first time.
            return answer(reply, Err(unwritable()));
        }
        self.claude.asked.retain(|asked| !asked.reply.is_closed());
        if self.claude.asked.len() >= ASKED_MAX {
            return answer(reply, Err(too_many_asked()));
        }
        self.claude.asked.push(Asked {
            left,
            result,
            when,
            reply,
        });
    }

    /// The ledger has it.
    pub(in crate::daemon) fn recorded_for_asked(&mut self, id: &EntryId, result: DeliveryResult) {
        for asked in &mut self.claude.asked {
            if asked.result == result {
                asked.left.remove(id);
            }
        }
        let (done, left) = std::mem::take(&mut self.claude.asked)
            .into_iter()
            .partition(|asked| asked.left.is_empty());
        self.claude.asked = left;
        for asked in done {
            self.answer_asked(asked.when, asked.reply);
        }
    }

    /// The disk refuses for now. What was said is kept and written later; whoever said it goes on.
    pub(in crate::daemon) fn refuse_asked(&mut self, ids: &[EntryId], refusal: &Refusal) {
        let (refused, left) = std::mem::take(&mut self.claude.asked)
            .into_iter()
            .partition(|asked| ids.iter().any(|id| asked.left.contains(id)));
        self.claude.asked = left;
        for asked in refused {
            answer(asked.reply, Err(refusal.clone()));
        }
    }

    fn answer_asked(&mut self, when: When, reply: ReplySender) {
        match when {
            When::Done => answer(reply, Ok(Reply::Done)),
            When::Acked(acked) if acked.unfinished.is_empty() => {
                answer(reply, Ok(Reply::Acked(acked.acked)));
            }
            When::Acked(acked) => answer(reply, Ok(Reply::AckedPartly(acked))),
            When::Page {
                conn,
                params,
                acked,
            } => {
                let page = self.page_for(conn, &params, acked);
                self.answer_page(reply, page, params.agent);
            }
        }
    }
}

fn unwritable() -> Refusal {
    Refusal::new(
        RefusalCode::LedgerUnwritable,
        "the record cannot be written now",
        "what you said is kept and recorded once it can be; go on",
    )
}

fn too_many_asked() -> Refusal {
    Refusal::new(
        RefusalCode::TooManyWaiters,
        format!("{ASKED_MAX} calls wait for the record already"),
        "what you said is being recorded; go on",
    )
}
