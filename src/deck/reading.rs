//! [`read_all`]: everything that the deck begins with.

use std::sync::Arc;

use super::model::Model;
use crate::client::{Client, ClientError};
use crate::wire::control::{Command, LedgerListParams, Reply};

/// Entries that the timeline begins with.
const FIRST_PAGE: u32 = 500;

/// Subscribes first and reads after, so that nothing falls between.
///
/// # Errors
///
/// What could not be read, and why, in one sentence.
pub(super) async fn read_all(client: &Client, model: &mut Model) -> Result<(), String> {
    let unreadable = |what: &str, answer: Result<Reply, ClientError>| match answer {
        Err(error) => format!("{what} cannot be read: {}", error.to_refusal().message),
        Ok(_) => format!("{what} cannot be read: the daemon answers something else"),
    };
    match client.call(Command::Subscribe).await {
        Ok(_) => {}
        failed => return Err(unreadable("the record", failed)),
    }
    let page = Command::LedgerList(LedgerListParams {
        limit: Some(FIRST_PAGE),
        ..LedgerListParams::default()
    });
    let world = match client.call(Command::ReadSnapshot).await {
        Ok(Reply::Snapshot(world)) => world,
        failed => return Err(unreadable("the state of the record", failed)),
    };
    let page = match client.call(page).await {
        Ok(Reply::Entries(page)) => page,
        failed => return Err(unreadable("the record", failed)),
    };
    let status = match client.call(Command::ReadStatus).await {
        Ok(Reply::Status(status)) => status,
        failed => return Err(unreadable("the daemon's status", failed)),
    };
    model.reset(Arc::unwrap_or_clone(world), page);
    model.status = *status;
    Ok(())
}
