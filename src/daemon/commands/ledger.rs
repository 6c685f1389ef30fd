//! Reading ledger entries, as they are on the disk.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::checks::{check_cursor, not_found, shortened, unreadable};
use crate::core::id::{EntryId, Seq};
use crate::core::row_class::RowResult;
use crate::core::snapshot::Snapshot;
use crate::daemon::attach::ConnId;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::reply::ReplySender;
use crate::store::blobs::Blobs;
use crate::store::ledger::{EntryFilter, Ledger};
use crate::wire::control::{EntryLine, EntryPage, LedgerListParams, Refusal, Reply};
use crate::wire::window::WindowParams;

/// Entries per page when nobody names a number.
const PAGE: u32 = 100;

/// The most that one page can have.
const PAGE_MAX: u32 = 1000;

/// A page of the record.
pub(super) fn list<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    params: LedgerListParams,
    reply: ReplySender,
) {
    let ledger = recorder.ledger().clone();
    let foreign_through = recorder.world().foreign_through;
    readers.read(conn, reply, move || {
        let page = page(&ledger, &params)?;
        Ok(Reply::Entries(EntryPage {
            foreign_through: foreign_through.0,
            ..page
        }))
    });
}

/// The rows of a timeline around a place.
pub(super) fn window<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    params: WindowParams,
    reply: ReplySender,
) {
    let ledger = recorder.ledger().clone();
    // For as long as a read has the world, the next entry is folded into a copy of it.
    let wants = params.query.results.contains(&RowResult::Waits);
    let world = wants.then(|| Arc::clone(recorder.world()));
    readers.read(conn, reply, move || {
        let waiting = world.map_or_else(BTreeSet::new, |world| waiting(&world));
        let page = ledger.window(&params, &waiting);
        page.map(Reply::Window).map_err(|error| unreadable(&error))
    });
}

/// The lines of what waits for somebody: messages without proof, proposals, questions.
pub(super) fn waiting(world: &Snapshot) -> BTreeSet<u64> {
    let messages = world.unsettled.values().map(|message| message.seq.0);
    let proposals = world
        .pending_proposals
        .values()
        .map(|proposal| proposal.seq.0);
    let questions = world.open_questions.keys().map(|seq| seq.0);
    messages.chain(proposals).chain(questions).collect()
}

/// One entry, by its id or its place; `full`: with all of a long text; `placed`: with its place.
pub(super) fn show<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    conn: ConnId,
    name: String,
    full: bool,
    placed: bool,
    reply: ReplySender,
) {
    let ledger = recorder.ledger().clone();
    let foreign_through = recorder.world().foreign_through;
    readers.read(conn, reply, move || {
        let (seq, entry) = entry(&ledger, &name, full)?;
        Ok(match placed {
            true => Reply::Entries(EntryPage {
                entries: vec![entry],
                places: vec![seq.0],
                foreign_through: foreign_through.0,
                ..EntryPage::default()
            }),
            false => Reply::Entry(entry),
        })
    });
}

fn page(ledger: &Ledger, params: &LedgerListParams) -> Result<EntryPage, Refusal> {
    let from = check_cursor(params.after.as_deref())?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize;
    let page = ledger
        .page(&EntryFilter::from(params), from, params.ascending, limit)
        .map_err(|error| unreadable(&error))?;
    Ok(EntryPage::from(page))
}

/// The only entry whose id ends like this.
fn ending_in(ledger: &Ledger, end: &str) -> Result<Option<Seq>, Refusal> {
    if end.is_empty() {
        return Ok(None);
    }
    let found = ledger.ending_in(end);
    match found.map_err(|error| unreadable(&error))?.as_slice() {
        [one] => Ok(Some(*one)),
        [] => Ok(None),
        _ => Err(Refusal::invalid(
            format!("more than one entry ends in `{}`", shortened(end)),
            "give the whole id, or the number: `ctxrelay ledger list`",
        )),
    }
}

fn entry(ledger: &Ledger, name: &str, full: bool) -> Result<(Seq, EntryLine), Refusal> {
    let missing = || {
        let what = format!("entry {}", shortened(name));
        not_found(&what, "see `ctxrelay ledger list`")
    };
    let seq = match name.parse::<u64>() {
        Ok(seq) => Seq(seq),
        Err(_) => {
            let seq = ledger.seq_of(&EntryId::new(name));
            match seq.map_err(|error| unreadable(&error))? {
                Some(seq) => seq,
                None => ending_in(ledger, name)?.ok_or_else(missing)?,
            }
        }
    };
    let stored = ledger
        .read(seq)
        .map_err(|error| unreadable(&error))?
        .ok_or_else(missing)?;
    let whole = stored.entry.whole.as_ref().filter(|_| full);
    let whole = whole.map(|whole| Blobs::of_ledger(ledger.path()).get(&whole.sha256));
    let whole = whole.transpose().map_err(|error| {
        Refusal::new(
            error.code(),
            format!("all of the text of entry {name} was kept in a file of its own, and {error}"),
            "see its beginning without --full, and what `ctxrelay ledger verify` says",
        )
    })?;
    let stored = Arc::new(stored);
    Ok((seq, EntryLine::Read { stored, whole }))
}
