//! [`open`]: reads an entry with all of its text, to show or copy it.

use ctxrelay_ui::Msg;
use ctxrelay_ui::model::EntryPlace;

use crate::client::{Client, ClientError};
use crate::core::entry::Entry;
use crate::deck::calls::notice::failed;
use crate::deck::calls::thread::named;
use crate::deck::followed::model::{Model, entry, session_name};
use crate::deck::followed::row_detail::detail;
use crate::deck::followed::rows::row;
use crate::wire::control::{Command, EntryLine};

/// Reads the entry at a place. `None`: another record has begun meanwhile.
pub(in crate::deck) async fn open(
    operator: &Client,
    model: &Model,
    place: EntryPlace,
) -> Option<Msg> {
    let show = |full| Command::LedgerShow {
        entry: place.line.to_string(),
        full,
        placed: false,
    };
    let mut shown = operator.ask_for::<EntryLine>(show(false)).await;
    if let Ok(line) = &shown
        && line.entry().as_ref().is_some_and(is_cut)
    {
        match operator.ask_for(show(true)).await {
            // A long text that is lost: its beginning says itself that it is one.
            Err(ClientError::Refused(_) | ClientError::Protocol(_)) => {}
            whole => shown = whole,
        }
    }
    match shown {
        Ok(line) => {
            let entry = entry(line.clone(), Some(place.line))?;
            let raw = serde_json::to_string_pretty(&line.into_value()).unwrap_or_default();
            if session_name(&entry.session_id) != place.session {
                // The same line of another record, which began meanwhile.
                return None;
            }
            let facts = model.row_facts();
            Some(Msg::EntryText {
                place,
                row: Box::new(row(&facts, &entry, false)),
                detail: detail(&facts, &entry),
                refs: named(operator, model, &entry).await,
                text: entry.content,
                raw,
            })
        }
        Err(error) => Some(failed(error)),
    }
}

/// Whether more of its text is kept elsewhere. What is kept of what a review says is the comment before
/// it was cleaned, with what it hides from people for agents to obey: nobody reads that here.
fn is_cut(entry: &Entry) -> bool {
    entry.whole.is_some() && entry.review_author().is_none()
}
