//! `ctxrelay review dismiss` and `resolve`: the operator's ruling on one finding.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{DismissArgs, ResolveArgs, named};
use crate::cli::connection::connect::wait_for;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::Report;
use crate::client::Client;
use crate::core::id::FindingId;
use crate::host::ProjectContext;
use crate::wire::control::{Command, RefusalCode, ReviewChange, ReviewChanged, ReviewParams};

/// How long to wait before what was refused for now is asked again.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// How often it is asked again.
const TRIES_MAX: u32 = 50;

pub(super) fn dismiss(context: &CliContext, args: DismissArgs) -> CliOutcome {
    let reason = args.reason;
    say(context, &args.id, "dismissed", |finding| {
        ReviewChange::Dismiss { finding, reason }
    })
}

pub(super) fn resolve(context: &CliContext, args: ResolveArgs) -> CliOutcome {
    let reason = args.reason;
    say(context, &args.id, "resolved", |finding| {
        ReviewChange::Resolve { finding, reason }
    })
}

/// It is one finding, it stays in the record, and another import does not undo it: no word has to be
/// typed.
fn say(
    context: &CliContext,
    name: &str,
    word: &str,
    change: impl FnOnce(FindingId) -> ReviewChange,
) -> CliOutcome {
    let (id, changed) = wait_for(async {
        // Who may not is told so before anything is looked up.
        let nothing = ReviewChange::Resolve {
            finding: FindingId::new(name),
            reason: None,
        };
        let live = operator::live(context, &command(&context.project, nothing)).await?;
        let world = live.snapshot().await?;
        let id = named(&world, name)?.0.clone();
        let changed = ask(&live.client, command(&context.project, change(id.clone()))).await?;
        Ok::<_, Failure>((id, changed))
    })?;
    let value = json!({"externalId": id, "state": word, "seq": changed.seq});
    context
        .out
        .report(Report::new(&value, format!("{id} is {word}")))
}

pub(super) fn command(project: &ProjectContext, change: ReviewChange) -> Command {
    Command::ChangeReview(ReviewParams {
        change,
        runtime_session_id: Some(project.runtime_session.clone()),
    })
}

/// Asks again for a while where another import is being recorded.
pub(super) async fn ask(client: &Client, command: Command) -> Result<ReviewChanged, Failure> {
    let mut tries = TRIES_MAX;
    loop {
        match client.ask_for(command.clone()).await.map_err(Failure::from) {
            Err(failure) if tries > 0 && failure.is(&RefusalCode::Overloaded) => {
                tries -= 1;
                sleep(TRY_AGAIN).await;
            }
            answer => return answer,
        }
    }
}
