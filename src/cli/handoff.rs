//! `ctxrelay handoff close`: the operator's word that a handoff is over.

use clap::Subcommand;
use serde_json::json;

use super::by_id::{Wanted, by_id};
use super::connect::{self, unexpected, wait_for};
use super::context::CliContext;
use super::exit::CliOutcome;
use super::operator;
use super::report::Report;
use super::words::{said, short};
use crate::core::entry::NoteKind;
use crate::core::snapshot::BRIEF_CHARS_MAX;
use crate::wire::control::{Command, NoteParams, Reply};

const WANTED: Wanted = Wanted {
    what: "open handoff",
    place: "",
    list: "ctxrelay recover",
};

/// What can be done with handoffs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say that one is over, whatever became of it (operator)
    #[command(
        after_help = "Example: ctxrelay handoff close 01997b2e-… --why 'done in another branch'"
    )]
    Close(HandoffCloseArgs),
}

/// Arguments of `handoff close`.
#[derive(Debug, clap::Args)]
pub struct HandoffCloseArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// What the record says of it
    #[arg(long, value_name = "TEXT", default_value = "closed by the operator", value_parser = said)]
    pub why: String,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::Close(args) => close(context, args),
    }
}

fn close(context: &CliContext, args: HandoffCloseArgs) -> CliOutcome {
    wait_for(async {
        let live = connect::needed(connect::control(&context.setting).await)?;
        let world = live.snapshot().await?;
        let open = world.open_handoffs.values();
        let handoff = by_id(open, |handoff| &handoff.id, &args.id, &WANTED)?;
        let (id, ask) = (handoff.id.clone(), short(&handoff.ask, BRIEF_CHARS_MAX));
        let what = format!("handoff {id} is closed, unanswered or not: {ask}");
        // A note closes what it names, and wakes nobody.
        let note = Command::AppendNote(NoteParams {
            agent: None,
            text: args.why,
            kind: NoteKind::Note,
            handles: vec![id.clone()],
            finding: None,
            withdraws: None,
            runtime_session_id: handoff.runtime_session.clone(),
        });
        match operator::ask(context, note, &what, "close").await? {
            Reply::Recorded(recorded) => {
                let value = json!({"id": id, "entryId": recorded.entry_id, "seq": recorded.seq});
                let text = format!("closed, on record: entry {}", recorded.seq);
                context.out.report(Report::new(&value, text))
            }
            other => Err(unexpected(&other)),
        }
    })
}
