//! `ctxrelay handoff close`: the operator closes a handoff or a question.

use clap::Subcommand;
use serde_json::json;

use crate::cli::connection::connect::{self, Live, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::deliveries::queue_names;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::{said, short};
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryState;
use crate::core::entry::{NoteKind, handoff_words};
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
        let live = connect::needed(&context.project, connect::control(&context.project).await)?;
        let world = live.snapshot().await?;
        let handoffs = world.open_handoffs.values().map(|handoff| OpenDebt {
            what: "handoff",
            id: &handoff.id,
            ask: handoff_words(&handoff.from, &handoff.ask),
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
            ask: handoff_words(&handoff.from, &handoff.ask),
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
        let asked_of = row_of(&live, &id).await?.filter(is_on_its_way);
        let and_back = asked_of.as_ref().map_or_else(String::new, what_is_promised);
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
        // The question may have stood for minutes, in which its receiver can have got it.
        let delivery = match row_of(&live, &id).await {
            Ok(Some(row)) if is_on_its_way(&row) => take_back(&operators, &row, &mut text).await,
            Ok(row) => {
                if asked_of.is_some() {
                    text.note(what_came_of(row.as_ref()));
                }
                NOTHING_TO_TAKE_BACK
            }
            Err(failure) => not_taken_back(&failure, &mut text),
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

/// Where it stands in the queue, if it does.
async fn row_of(live: &Live, id: &EntryId) -> Result<Option<QueueRow>, Failure> {
    let rows: Vec<QueueRow> = live.ask_for(Command::QueueList).await?;
    Ok(rows.into_iter().find(|row| row.id == *id))
}

/// Whether the operator can keep it from its receiver, or from being given again.
fn can_come_back(row: &QueueRow) -> bool {
    match row.state.known() {
        Some(DeliveryState::Offered) => row.to == Agent::Codex,
        Some(state) => QueueRow::can_be_removed(row.to, *state),
        None => false,
    }
}

/// What else the question says of one that is on its way.
fn what_is_promised(row: &QueueRow) -> String {
    let to = row.to.title();
    match row.state.known() {
        Some(DeliveryState::Attempted) if can_come_back(row) => {
            format!(", and not given to {to} again")
        }
        _ if can_come_back(row) => {
            format!(", and taken back unless {to} begins a turn with it just then")
        }
        _ => String::new(),
    }
}

/// What became of one that is not on its way any more.
fn what_came_of(row: Option<&QueueRow>) -> String {
    match row {
        None => "it left the queue meanwhile: there is nothing to take back".to_owned(),
        Some(row) if row.state.known() == Some(&DeliveryState::Ambiguous) => format!(
            "nobody can know whether {} got it meanwhile; it is not given again by itself",
            row.to.title()
        ),
        Some(row) => format!("{} has it by now", row.to.title()),
    }
}

fn not_taken_back(failure: &Failure, text: &mut ReportText) -> &'static str {
    text.note(format!(
        "it was not taken back, and may still be delivered: {}; see `ctxrelay queue list`",
        failure.message
    ));
    "goes_on"
}

/// Keeps what was closed from being delivered, where that is still possible. What became of it, in a
/// word.
async fn take_back(live: &Live, row: &QueueRow, text: &mut ReportText) -> &'static str {
    let (id, to) = (&row.id, row.to.title());
    if !can_come_back(row) {
        text.note(format!("it is just being given to {to}, which may read it"));
        return "goes_on";
    }
    let removal = Command::QueueChange(QueueChangeParams {
        id: id.clone(),
        change: QueueChange::Remove,
        placed: false,
    });
    match live.ask_for::<()>(removal).await {
        Err(failure) => not_taken_back(&failure, text),
        Ok(()) if row.state.known() == Some(&DeliveryState::Offered) => {
            text.note(
                "asked back from Codex's own queue: `ctxrelay queue list` no longer has it once Codex \
                 gave it back",
            );
            "asked_back"
        }
        Ok(()) if row.state.known() == Some(&DeliveryState::Attempted) => {
            text.note(format!(
                "{to} is not given it again; nobody can know whether it was read"
            ));
            "not_again"
        }
        Ok(()) => {
            text.note(format!("taken back: {to} does not get it"));
            "taken_back"
        }
    }
}
