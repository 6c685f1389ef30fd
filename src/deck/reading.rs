//! [`read_all`]: everything that the deck begins with.

use std::sync::Arc;

use super::clock::now_ms;
use super::model::{Model, rows_of};
use crate::client::{Client, ClientError};
use crate::core::live_turn::LiveTurn;
use crate::wire::control::{Command, LedgerListParams, Reply};

/// Subscribes first and reads after, so that nothing falls between.
///
/// # Errors
///
/// What could not be read, and why, in one sentence.
pub(super) async fn read_all(client: &Client, model: &mut Model) -> Result<(), String> {
    let unreadable = |what: &str, answer: Result<Reply, ClientError>| match answer {
        Err(error) => {
            let why = error.to_refusal().message;
            match why.starts_with(what) {
                // It says so itself.
                true => why,
                false => format!("{what} cannot be read: {why}"),
            }
        }
        Ok(_) => format!("{what} cannot be read: the daemon answers something else"),
    };
    match client.call(Command::Subscribe).await {
        Ok(_) => {}
        failed => return Err(unreadable("the record", failed)),
    }
    let world = match client.call(Command::ReadSnapshot).await {
        Ok(Reply::Snapshot(world)) => world,
        failed => return Err(unreadable("the state of the record", failed)),
    };
    let rows = match client
        .call(Command::LedgerWindow(model.timeline.params()))
        .await
    {
        Ok(Reply::Window(rows)) => rows,
        // A daemon of an earlier build gives no rows.
        _ => match client
            .call(Command::LedgerList(LedgerListParams::default()))
            .await
        {
            Ok(Reply::Entries(page)) => rows_of(page),
            failed => return Err(unreadable("the record", failed)),
        },
    };
    let status = match client.call(Command::ReadStatus).await {
        Ok(Reply::Status(status)) => status,
        failed => return Err(unreadable("the daemon's status", failed)),
    };
    model.reset(Arc::unwrap_or_clone(world), rows, now_ms());
    model.status = *status;
    model.live_turn = read_turn(client).await;
    Ok(())
}

/// What Codex's turn has done so far; nothing where the daemon is of an earlier build.
pub(super) async fn read_turn(client: &Client) -> LiveTurn {
    match client.call(Command::ReadTurn).await {
        Ok(Reply::Turn(turn)) => turn,
        _ => LiveTurn::default(),
    }
}
