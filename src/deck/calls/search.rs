//! [`search`]: searches the record beside the deck's loop.

use std::time::Duration;

use ctxrelay_ui::Msg;
use ctxrelay_ui::model as ui;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::client::Client;
use crate::deck::calls::found::found;
use crate::deck::clock::now_ms;
use crate::deck::followed::timeline::query_of;
use crate::wire::control::Command;
use crate::wire::search::SearchParams;

/// Hits that are read at once; more are when somebody comes near the end of them.
pub(in crate::deck) const FOUND_MAX: u32 = 100;

/// While the index is being built a search is made again this often.
pub(in crate::deck) const SEARCH_AGAIN: Duration = Duration::from_millis(500);

/// What is searched for: as of [`ctxrelay_ui::Effect::Search`].
pub(in crate::deck) struct SearchAsked {
    pub(in crate::deck) place: ui::SearchScope,
    pub(in crate::deck) words: String,
    pub(in crate::deck) chips: ui::Chips,
    pub(in crate::deck) number: u64,
    pub(in crate::deck) after: Option<String>,
}

/// Searches the record, again for as long as its index is being built. A fault is an answer too: it
/// stands where the hits would.
pub(in crate::deck) async fn search(
    operator: Client,
    asked: SearchAsked,
    answers: mpsc::Sender<Msg>,
) {
    let SearchAsked {
        words,
        chips,
        number,
        after,
        ..
    } = asked;
    loop {
        let search = Command::LedgerSearch(SearchParams {
            words: words.clone(),
            limit: Some(FOUND_MAX),
            after: after.clone(),
            query: query_of(&chips, now_ms()),
        });
        let mut found = found(number, words.clone(), operator.ask_for(search).await);
        found.goes_on = after.is_some();
        let behind = found.behind;
        let told = answers.send(Msg::Found(Box::new(found))).await;
        if behind == 0 || told.is_err() || after.is_some() {
            return;
        }
        // Nobody tells how far the index is.
        sleep(SEARCH_AGAIN).await;
    }
}
