//! `ctxrelay handoff close`: the operator's word that a handoff, or a question, is over.

use clap::Subcommand;
use serde_json::json;

use super::by_id::{Wanted, by_id};
use super::connect::{self, wait_for};
use super::context::CliContext;
use super::exit::CliOutcome;
use super::operator;
use super::queue_names;
use super::report::Report;
use super::words::{said, short};
use crate::core::entry::NoteKind;
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::kept_text::BRIEF_CHARS_MAX;
use crate::wire::control::{Command, NoteParams, Recorded};

const WANTED: Wanted = Wanted {
    what: "open handoff or question",
    place: "",
    list: "ctxrelay recover",
};

/// What can be done with handoffs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say that one is over, or a question that has no answer, whatever became of it (operator)
    #[command(
        after_help = "Example: ctxrelay handoff close 01997b2e-… --why 'done in another branch'"
    )]
    Close(HandoffCloseArgs),
}

/// What somebody owes an answer to, or a task tells as if somebody did.
struct OpenDebt<'a> {
    what: &'static str,
    id: &'a EntryId,
    ask: &'a str,
    pair: Option<&'a RuntimeSession>,
}

/// Arguments of `handoff close`.
#[derive(Debug, clap::Args)]
pub struct HandoffCloseArgs {
    /// Its name in the deck (h8, or #8 for a question), its id, or the end of the id
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
        let live = connect::needed(&context.setting, connect::control(&context.setting).await)?;
        let world = live.snapshot().await?;
        let handoffs = world.open_handoffs.values().map(|handoff| OpenDebt {
            what: "handoff",
            id: &handoff.id,
            ask: &handoff.ask,
            pair: handoff.runtime_session.as_ref(),
        });
        let questions = world.open_questions.values().map(|question| OpenDebt {
            what: "question",
            id: &question.id,
            ask: &question.text,
            pair: question.runtime_session.as_ref(),
        });
        let of_tasks = world.open_for_tasks_alone();
        let of_tasks = of_tasks.values().map(|handoff| OpenDebt {
            what: "handoff",
            id: &handoff.id,
            ask: &handoff.ask,
            pair: None,
        });
        let debts = handoffs.chain(questions).chain(of_tasks);
        let named = queue_names::id_of(&live, &args.id).await;
        let mut of_deck = debts.clone().filter(|debt| Some(debt.id) == named.as_ref());
        let debt = match of_deck.next() {
            Some(debt) => debt,
            None => by_id(debts, |debt| debt.id, &args.id, &WANTED)?,
        };
        let (id, ask) = (debt.id.clone(), short(debt.ask, BRIEF_CHARS_MAX));
        let what = format!(
            "{} {id} is to be closed, unanswered or not: {ask}",
            debt.what
        );
        // A note closes what it names, and wakes nobody.
        let note = Command::AppendNote(NoteParams {
            handles: vec![id.clone()],
            runtime_session_id: debt.pair.cloned(),
            ..NoteParams::new(None, NoteKind::Note, args.why)
        });
        let recorded: Recorded = operator::ask(context, note, &what, "close").await?;
        let value = json!({"id": id, "entryId": recorded.entry_id, "seq": recorded.seq});
        let text = format!("closed, on record: entry {}", recorded.seq);
        context.out.report(Report::new(&value, text))
    })
}
