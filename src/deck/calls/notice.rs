//! [`notice`]: the result of a call, as shown on the screen; [`failed`]: a refusal.

use ctxrelay_ui::Msg;
use ctxrelay_ui::model::Level;
use ctxrelay_ui::text::grouped;

use crate::client::ClientError;
use crate::wire::control::Reply;

/// What is recorded or done is told as `done`; every other reply says that nobody knows.
pub(in crate::deck) fn notice(result: Result<Reply, ClientError>, done: &str) -> Msg {
    match result {
        // The number leads to it, with the key for a number or a time.
        Ok(Reply::Recorded(recorded)) => {
            let entry = grouped(recorded.seq.0);
            Msg::Notice(Level::Info, format!("{done}: entry {entry}"))
        }
        Ok(Reply::Review(changed)) => {
            let entry = changed.seq.map(|seq| format!(": entry {}", grouped(seq.0)));
            Msg::Notice(Level::Info, format!("{done}{}", entry.unwrap_or_default()))
        }
        Ok(Reply::Done) => Msg::Notice(Level::Info, done.to_owned()),
        other => failed(failure(other)),
    }
}

/// Why something was not done.
pub(in crate::deck) fn failed(error: ClientError) -> Msg {
    let refusal = error.to_refusal();
    let why = format!("{}: {}", refusal.message, refusal.hint);
    Msg::Notice(Level::Error, why)
}

/// The error of a call; a reply where another one belongs is one too.
pub(in crate::deck) fn failure(result: Result<Reply, ClientError>) -> ClientError {
    result.map_or_else(|error| error, |reply| ClientError::of_reply(&reply))
}
