//! `ctxrelay handoff close`: the operator's word that a handoff, or a question, is over.

use clap::Subcommand;
use serde_json::json;

use super::by_id::{Wanted, by_id};
use super::connect::{self, Live, wait_for};
use super::context::CliContext;
use super::exit::CliOutcome;
use super::operator;
use super::queue_names;
use super::report::{Report, ReportText};
use super::words::{said, short};
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryState;
use crate::core::entry::NoteKind;
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::kept_text::BRIEF_CHARS_MAX;
use crate::wire::control::{
    Command, NoteParams, QueueChange, QueueChangeParams, QueueRow, Recorded,
};

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
        let rows: Vec<QueueRow> = live.ask_for(Command::QueueList).await?;
        let on_its_way = rows
            .into_iter()
            .find(|row| row.id == id && is_on_its_way(row));
        let and_back = match &on_its_way {
            Some(row) if can_come_back(row) => {
                format!(", and taken back before {} begins with it", row.to.title())
            }
            _ => String::new(),
        };
        let what = format!(
            "{} {id} is to be closed, unanswered or not{and_back}: {ask}",
            debt.what
        );
        // A note closes what it names, and wakes nobody.
        let note = Command::AppendNote(NoteParams {
            handles: vec![id.clone()],
            runtime_session_id: debt.pair.cloned(),
            ..NoteParams::new(None, NoteKind::Note, args.why)
        });
        let operators = operator::live(context, &note).await?;
        operator::confirm(context, &what, "close")?;
        let recorded: Recorded = operators.ask_for(note).await?;
        let mut text = ReportText::from(format!("closed, on record: entry {}", recorded.seq));
        let delivery = match &on_its_way {
            Some(row) => take_back(&operators, row, &mut text).await,
            None => NOTHING_TO_TAKE_BACK,
        };
        let value = json!({"id": id, "entryId": recorded.entry_id, "seq": recorded.seq,
            "delivery": delivery});
        context.out.report(Report::new(&value, text))
    })
}

/// Its receiver has it, or nobody can know.
const NOTHING_TO_TAKE_BACK: &str = "none";

/// Whether it is still going to be given to its receiver.
fn is_on_its_way(row: &QueueRow) -> bool {
    use DeliveryState::{Ambiguous, Confirmed};
    let state = row.state.known();
    state.is_some_and(|state| !matches!(state, Ambiguous | Confirmed))
}

/// Whether its receiver was not shown it yet: it waits here, or in Codex's own queue.
fn can_come_back(row: &QueueRow) -> bool {
    match row.state.known() {
        Some(DeliveryState::Queued) => true,
        Some(DeliveryState::Offered) => row.to == Agent::Codex,
        _ => false,
    }
}

/// Keeps what was closed from being delivered, where that is still possible. What became of it, in a
/// word.
async fn take_back(live: &Live, row: &QueueRow, text: &mut ReportText) -> &'static str {
    let (id, to) = (&row.id, row.to.title());
    if !can_come_back(row) {
        text.note(format!(
            "{to} may still read it: `ctxrelay queue remove {id} --apply` keeps it from being given again"
        ));
        return "goes_on";
    }
    let removal = Command::QueueChange(QueueChangeParams {
        id: id.clone(),
        change: QueueChange::Remove,
        placed: false,
    });
    match live.ask_for::<()>(removal).await {
        Err(failure) => {
            text.note(format!(
                "it was not taken back, and may still be delivered: {}; see `ctxrelay queue list`",
                failure.message
            ));
            "goes_on"
        }
        Ok(()) if row.state.known() == Some(&DeliveryState::Offered) => {
            text.note(
                "asked back from Codex's own queue: `ctxrelay queue list` no longer has it once Codex \
                 gave it back",
            );
            "asked_back"
        }
        Ok(()) => {
            text.note(format!("taken back: {to} does not get it"));
            "taken_back"
        }
    }
}
