//! Search in the record. The loop only forwards the query; the search thread answers it.

use std::sync::Arc;

use super::checks::unreadable;
use super::ledger::waiting;
use crate::core::id::Seq;
use crate::core::row_class::RowResult;
use crate::daemon::attach::ConnId;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::reply::{ReplySender, answer, too_much};
use crate::store::derived;
use crate::store::dirs::ProjectDirs;
use crate::store::kept_sessions::KeptSessions;
use crate::store::search::{
    CapsuleRequest, RequestError, SealedRequest, SearchError, SearchRequest,
};
use crate::wire::control::{Refusal, RefusalCode, Reply};
use crate::wire::search::{IndexReport, RebuildParams, SearchParams};

/// Hands the question on.
pub(super) fn find<T>(recorder: &Recorder<T>, params: &SearchParams, reply: ReplySender) {
    let mut request = match SearchRequest::of(params) {
        Ok(request) => request,
        Err(error) => return answer(reply, Err(senseless(&error))),
    };
    if request.rows.results.contains(&RowResult::Waits) {
        request.waiting = waiting(recorder.world());
    }
    let is_foreign = recorder.world().foreign_places();
    recorder.search().find(request, move |found| {
        let found = found.map(|mut page| {
            for hit in &mut page.hits {
                hit.apart |= is_foreign(Seq(hit.seq));
            }
            Reply::Found(page)
        });
        answer(reply, found.map_err(|error| refusal(&error)));
    });
}

/// Hands on the question for tasks.
pub(super) fn find_capsules<T>(recorder: &Recorder<T>, params: &SearchParams, reply: ReplySender) {
    let request = match CapsuleRequest::of(params, Arc::clone(recorder.world())) {
        Ok(request) => request,
        Err(error) => return answer(reply, Err(senseless(&error))),
    };
    recorder.search().find_capsules(request, move |found| {
        let found = found.map(Reply::FoundTasks);
        answer(reply, found.map_err(|error| refusal(&error)));
    });
}

/// Searches the sealed sessions, beside the loop.
pub(super) fn find_sealed<T>(
    dirs: ProjectDirs,
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    params: &SearchParams,
    reply: ReplySender,
) {
    let request = match SealedRequest::of(params) {
        Ok(request) => request,
        Err(error) => return answer(reply, Err(senseless(&error))),
    };
    let current = recorder.session_id().clone();
    let search = recorder.search().sealed();
    let record = dirs.ledger(&current);
    // Archives may be long: the world is not kept meanwhile.
    let sessions = KeptSessions::new(dirs, recorder.world(), record);
    readers.read(conn, reply, move || {
        let found = search.find(&current, &request);
        let mut found = found.map_err(|error| refusal(&error))?;
        for hit in &mut found.page.hits {
            // Anybody can put a file among the archives.
            let session = hit.session.as_ref();
            hit.apart |= session.is_none_or(|session| !sessions.leads_to(session, Seq(hit.seq)));
        }
        Ok(Reply::FoundSealed(found))
    });
}

/// Says how far the index is, and rebuilds everything when asked to.
pub(super) fn rebuild<T>(
    dirs: ProjectDirs,
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    params: RebuildParams,
    reply: ReplySender,
) {
    if params.begin {
        recorder.search().rebuild();
    }
    let state = recorder.search().state();
    let mut report = IndexReport {
        session_id: Some(recorder.session_id().clone()),
        indexed_to: state.indexed_to,
        head: recorder.world().seq.0,
        removed: Vec::new(),
        fault: state.fault,
    };
    readers.read(conn, reply, move || {
        if params.begin {
            report.removed = derived::discard_checkpoint(&dirs).map_err(|error| {
                Refusal::new(
                    RefusalCode::RebuildFailed,
                    format!("the checkpoint could not be removed: {error}"),
                    "see that the state folder is yours and can be written",
                )
            })?;
            report.removed.push(derived::INDEX.to_owned());
        }
        Ok(Reply::Index(report))
    });
}

/// What the caller typed makes no sense.
fn senseless(error: &RequestError) -> Refusal {
    Refusal::invalid(error.to_string(), error.hint())
}

fn refusal(error: &SearchError) -> Refusal {
    match error {
        SearchError::Busy => too_much(error.to_string()),
        SearchError::Ledger { source, .. } => unreadable(source),
        _ => Refusal::new(
            RefusalCode::SearchFailed,
            error.to_string(),
            "build the index anew with `ctxrelay ledger rebuild`",
        ),
    }
}
