//! `ctxrelay queue …`: the outbox.

use clap::Subcommand;
use serde_json::json;

use crate::cli::connection::connect::{self, DaemonFound, Live, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::deliveries::queue_names::{self, NAMED_MAX, QueueNames};
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::offline::seen_claude::cut_off_turns;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::agent_word::agent_word;
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::{age, now_ms};
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryState;
use crate::core::entry::DeliveryResult;
use crate::core::word::OpenWord;
use crate::wire::control::{
    Command, EntryLine, FailureCode, QueueChange, QueueChangeParams, QueueRow, Refusal,
};

/// What can be done with messages on their way.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Messages that are not settled, and those whose turn ended early
    #[command(after_help = "Example: ctxrelay queue list --json")]
    List,
    /// One message, with its text
    #[command(after_help = "Example: ctxrelay queue show h8")]
    Show(ShowArgs),
    /// Send an ambiguous message again, or one whose turn ended early (operator)
    #[command(after_help = "Example: ctxrelay queue retry 01997b2e-… --apply")]
    Retry(QueueChangeArgs),
    /// Take a message back (operator)
    #[command(after_help = "Example: ctxrelay queue remove h8 --apply")]
    Remove(QueueChangeArgs),
    /// Take back everything that can be taken back (operator)
    #[command(after_help = "Example: ctxrelay queue drain --to claude --apply")]
    Drain(DrainArgs),
    /// Rebuild the queue from the record; what has no proof there becomes ambiguous (operator)
    #[command(after_help = "Example: ctxrelay queue rebuild --apply")]
    Rebuild(RebuildArgs),
}

/// Arguments of `queue show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Its name in the deck (h8), its number, its id, or the end of the id
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `queue retry` and `queue remove`.
#[derive(Debug, clap::Args)]
pub struct QueueChangeArgs {
    /// Its name in the deck (h8), its number, its id, or the end of the id
    #[arg(value_name = "ID")]
    pub id: String,
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
}

/// Arguments of `queue drain`.
#[derive(Debug, clap::Args)]
pub struct DrainArgs {
    /// Only what is for this agent
    #[arg(long, value_name = "AGENT", value_parser = agent_word())]
    pub to: Option<Agent>,
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
}

/// Arguments of `queue rebuild`.
#[derive(Debug, clap::Args)]
pub struct RebuildArgs {
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::List => list(context),
        Verb::Show(args) => show(context, &args.id),
        Verb::Retry(args) => change(context, &args, QueueChange::Retry),
        Verb::Remove(args) => change(context, &args, QueueChange::Remove),
        Verb::Drain(args) => crate::cli::deliveries::queue_all::drain(context, &args),
        Verb::Rebuild(args) => crate::cli::deliveries::queue_all::rebuild(context, &args),
    }
}

/// What waits, from the record alone: attempts are known to the daemon's queue only.
pub(in crate::cli) fn from_disk(context: &CliContext) -> Result<Vec<QueueRow>, Failure> {
    let mut world = disk::snapshot(&context.project)?;
    let now = now_ms();
    cut_off_turns(&mut world, now);
    // Claude's are unsettled, and have their row already.
    let mut of_claude = std::mem::take(&mut world.cut_off);
    let of_codex = of_claude.extract_if(.., |id, _| !world.unsettled.contains_key(id));
    world.cut_off = of_codex.collect();
    let mut rows: Vec<_> = world.unsettled.iter().collect();
    rows.sort_by_key(|(_, message)| message.seq);
    Ok(rows
        .into_iter()
        .map(|(id, message)| QueueRow {
            id: id.clone(),
            to: message.to,
            state: match of_claude.contains_key(id) {
                true => QueueRow::cut_off(),
                // The record has words that the queue has not.
                false => OpenWord::of(message.result.map_or("queued", DeliveryResult::as_str)),
            },
            attempts: 0,
            age_ms: now - message.sent_ms.unwrap_or(message.at_ms),
            on_busy: message.on_busy,
            pair: message
                .runtime_session
                .as_ref()
                .and_then(|pair| QueueRow::named_pair(message.to, pair)),
            waits_for_you: false,
            closed: message.closed,
        })
        .chain(QueueRow::of_cut_off(&world, now))
        .collect())
}

/// What waits, from the daemon, which alone can change it.
pub(in crate::cli) async fn rows(context: &CliContext) -> Result<(Live, Vec<QueueRow>), Failure> {
    let live = connect::needed(&context.project, connect::control(&context.project).await)?;
    let rows = live.ask_for(Command::QueueList).await?;
    Ok((live, rows))
}

fn list(context: &CliContext) -> CliOutcome {
    let found = wait_for(async {
        match connect::control(&context.project).await {
            DaemonFound::Nobody => connect::is_nowhere(&context.project).map(|()| None),
            // One that runs and does not answer knows what the record does not.
            found => {
                let live = connect::needed(&context.project, found)?;
                let rows: Vec<QueueRow> = live.ask_for(Command::QueueList).await?;
                let names = QueueNames::of_live(&live, &rows).await;
                Ok(Some((rows, names)))
            }
        }
    })?;
    let (rows, names) = match found {
        Some(found) => found,
        None => {
            context
                .out
                .note("no daemon runs: this is what the record knows, without attempts");
            let rows = from_disk(context)?;
            let names = QueueNames::from_disk(context, &rows);
            (rows, names)
        }
    };
    let mut text = ReportText::new();
    if rows.is_empty() {
        text.note("nothing is on its way");
    }
    table(&mut text, &rows, &names);
    if rows.iter().any(|row| row.waits_for_you) {
        text.note(
            "held: the agents answered each other for long without you; the rest goes on with \
             `ctxrelay queue retry ID --apply` for one, or your next prompt to either",
        );
    }
    context
        .out
        .report(Report::new(&json!({"messages": names.values(&rows)}), text))
}

/// The heads of the columns.
const COLUMNS: [&str; 8] = [
    "ID",
    "NAME",
    "TO",
    "STATE",
    "TRIES",
    "AGE",
    "WHEN BUSY",
    "BEGINS",
];

/// Rows as a table; nothing when there are none.
pub(in crate::cli) fn table(out: &mut ReportText, rows: &[QueueRow], names: &QueueNames) {
    if rows.is_empty() {
        return;
    }
    let cells: Vec<[String; 8]> = rows.iter().map(|row| cells(row, names)).collect();
    let heads = COLUMNS.map(str::to_owned);
    let widths: [usize; 8] = std::array::from_fn(|at| {
        cells
            .iter()
            .chain([&heads])
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or_default()
    });
    table_line(out, &heads, &widths, [Tone::Faint; 4]);
    for (row, cells) in rows.iter().zip(&cells) {
        let state = match row.state.known() {
            Some(DeliveryState::Ambiguous) => Tone::Bad,
            _ => Tone::Plain,
        };
        let tones = [Tone::Plain, state, Tone::Faint, Tone::Plain];
        table_line(out, cells, &widths, tones);
    }
    if rows.len() > NAMED_MAX {
        out.note(format!(
            "name and first words stand at the first {NAMED_MAX} only; `ctxrelay queue show ID` tells \
             those of another"
        ));
    }
}

fn cells(row: &QueueRow, names: &QueueNames) -> [String; 8] {
    let named = names.get(&row.id);
    let (name, words) = named.map_or(("", ""), |named| (&*named.name, &*named.words));
    [
        row.id.to_string(),
        name.to_owned(),
        match &row.pair {
            Some(pair) => format!("{} ({pair})", row.to),
            None => row.to.to_string(),
        },
        {
            let state = row.state.to_string();
            let held = row.waits_for_you.then_some(", held");
            let closed = row.closed.then_some(", closed");
            state + held.unwrap_or_default() + closed.unwrap_or_default()
        },
        match row.is_cut_off() && row.to == Agent::Codex {
            // Codex has it: what that took is not kept.
            true => "-".to_owned(),
            false => row.attempts.to_string(),
        },
        age(row.age_ms),
        row.on_busy.as_str().to_owned(),
        words.to_owned(),
    ]
}

/// One line: which one and for whom, how it stands, the rest, and its words, each in its tone.
fn table_line(out: &mut ReportText, cells: &[String; 8], widths: &[usize; 8], tones: [Tone; 4]) {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    let text = [
        format!("{}  ", padded[..3].join("  ")),
        format!("{}  ", padded[3]),
        format!("{}  ", padded[4..7].join("  ")),
        cells[7].clone(),
    ];
    let spans: Vec<(Tone, &str)> = tones
        .into_iter()
        .zip(text.iter().map(String::as_str))
        .collect();
    out.spans(&spans);
}

/// The message that the deck calls so, that of this id, or the only one whose id ends like this.
async fn find<'a>(live: &Live, rows: &'a [QueueRow], name: &str) -> Result<&'a QueueRow, Failure> {
    const WANTED: Wanted = Wanted {
        what: "message",
        place: " on its way",
        list: "ctxrelay queue list",
    };
    let named = queue_names::id_of(live, name).await;
    match rows.iter().find(|row| Some(&row.id) == named.as_ref()) {
        Some(row) => Ok(row),
        None => by_id(rows.iter(), |row| &row.id, name, &WANTED),
    }
}

fn show(context: &CliContext, name: &str) -> CliOutcome {
    wait_for(async {
        let (live, rows) = rows(context).await?;
        let row = find(&live, &rows, name).await?;
        let names = QueueNames::of_live(&live, std::slice::from_ref(row)).await;
        let show = |full| Command::LedgerShow {
            entry: row.id.to_string(),
            full,
            placed: false,
        };
        let shown = live.ask_for(show(true)).await;
        let entry: EntryLine = match shown {
            Err(Failure {
                code: FailureCode::Refusal(code),
                message,
                ..
            }) if code.is_lost_text() => {
                let lost = format!("only the beginning of its text is left: {message}");
                context.out.note(&lost);
                live.ask_for(show(false)).await?
            }
            entry => entry?,
        };
        let entry = entry.into_value();
        let mut text = ReportText::new();
        table(&mut text, std::slice::from_ref(row), &names);
        text.block("  ", crate::cli::text::words::field(&entry, "content"));
        let value = json!({"message": row, "entry": entry});
        context.out.report(Report::new(&value, text))
    })
}

/// For the one who is about to ask for it; a refusal where the daemon would refuse.
/// `is_codex_held`: the person stopped a turn of Codex's, behind which its messages wait.
fn what_a_retry_does(row: &QueueRow, is_codex_held: bool) -> Result<&'static str, Failure> {
    match row.state.known() {
        _ if row.is_cut_off() => Ok("is sent again, marked as a repetition, and costs a turn"),
        _ if row.waits_for_you => Ok("goes on, and the agents may answer each other anew"),
        // Of a later version: the daemon knows.
        Some(DeliveryState::Ambiguous) | None => Ok("is sent again: its receiver may get it twice"),
        Some(DeliveryState::Queued | DeliveryState::Offered)
            if row.to == Agent::Codex && is_codex_held =>
        {
            Ok("goes on, with all that waits because you stopped Codex's turn")
        }
        Some(_) => Err(Failure::from(Refusal::wrong_state(
            format!("{} is {}", row.id, row.state),
            "retry what is ambiguous or cut off; what is queued is sent by itself",
        ))),
    }
}

/// As [`what_a_retry_does`].
fn what_a_removal_does(row: &QueueRow) -> Result<String, Failure> {
    let to = row.to.title();
    match row.state.known() {
        _ if row.is_cut_off() => Ok("is not sent again".to_owned()),
        Some(DeliveryState::Queued) | None => Ok("is never sent".to_owned()),
        Some(DeliveryState::Offered) if row.to == Agent::Codex => Ok(format!(
            "is taken out of {to}'s own queue, unless it begins a turn just then"
        )),
        Some(DeliveryState::Confirmed) => Ok(format!("is not given again: {to} has it")),
        Some(state) if QueueRow::can_be_removed(row.to, *state) => Ok(format!(
            "is not given again: nobody can know whether {to} has read it"
        )),
        Some(_) => Err(Failure::from(Refusal::in_flight(
            format!("{} is just being given to {to}", row.id),
            "look again in a moment: `ctxrelay queue list`",
        ))),
    }
}

fn change(context: &CliContext, args: &QueueChangeArgs, change: QueueChange) -> CliOutcome {
    wait_for(async {
        let (live, rows) = rows(context).await?;
        let row = find(&live, &rows, &args.id).await?;
        let names = QueueNames::of_live(&live, std::slice::from_ref(row)).await;
        let (word, what) = match change {
            QueueChange::Retry => {
                let is_held = live.status().await?.agents.codex.held;
                ("retry", what_a_retry_does(row, is_held)?.to_owned())
            }
            QueueChange::Remove => ("remove", what_a_removal_does(row)?),
        };
        let named = names.get(&row.id);
        let called = named.map(|named| format!("{}, ", named.name));
        let called = called.unwrap_or_default();
        let begins = named.map(|named| &named.words);
        let begins = begins.filter(|words| !words.is_empty());
        let begins = begins.map_or_else(String::new, |words| format!(": “{words}”"));
        let what = format!(
            "{called}{} for {} ({}) {what}{begins}",
            row.id, row.to, row.state
        );
        if !args.apply {
            let value = json!({"dryRun": true, "change": change, "message": row});
            let text = ReportText::dry_run(&what, |_| {});
            return context.out.report(Report::new(&value, text));
        }
        let command = Command::QueueChange(QueueChangeParams {
            id: row.id.clone(),
            change,
            placed: false,
        });
        operator::ask::<()>(context, command, &what, word).await?;
        let value = json!({"change": change, "id": row.id});
        let is_asked_back = change == QueueChange::Remove
            && matches!(row.state.known(), Some(DeliveryState::Offered));
        let mut text = ReportText::from(match is_asked_back {
            true => "asked back: `ctxrelay queue list` no longer has it once Codex gave it back",
            false => "done",
        });
        let is_removed = change == QueueChange::Remove;
        if is_removed
            && let Ok(world) = live.snapshot().await
            && world.open_handoffs.contains_key(&row.id)
        {
            text.note(format!(
                "the handoff stays in your list until you close it: `ctxrelay handoff close {}`",
                row.id
            ));
        }
        context.out.report(Report::new(&value, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::ReportPart;
    use crate::core::delivery::OnBusy;

    #[test]
    fn of_a_message_that_lost_its_turn_in_codex_no_number_of_tries_is_told() {
        let row = |to, state, attempts| QueueRow {
            id: "m1".into(),
            to,
            state,
            attempts,
            age_ms: 0,
            on_busy: OnBusy::Queue,
            pair: None,
            waits_for_you: false,
            closed: false,
        };
        let tries = |to, state, attempts| {
            let row = row(to, state, attempts);
            cells(&row, &QueueNames::default())[4].clone()
        };
        assert_eq!(COLUMNS[4], "TRIES");
        assert_eq!(tries(Agent::Codex, QueueRow::cut_off(), 0), "-");
        assert_eq!(tries(Agent::Codex, DeliveryState::Queued.into(), 0), "0");
        // Of Claude's it is known.
        assert_eq!(tries(Agent::Claude, QueueRow::cut_off(), 2), "2");
    }

    #[test]
    fn a_list_longer_than_what_is_named_says_why_its_end_has_no_names() {
        let notes = |count: usize| -> Vec<String> {
            let row = |n| QueueRow {
                id: format!("m{n}").into(),
                to: Agent::Codex,
                state: QueueRow::cut_off(),
                attempts: 0,
                age_ms: 0,
                on_busy: OnBusy::Queue,
                pair: None,
                waits_for_you: false,
                closed: false,
            };
            let rows: Vec<_> = (0..count).map(row).collect();
            let mut text = ReportText::new();
            table(&mut text, &rows, &QueueNames::default());
            let notes = text.parts.into_iter().filter_map(|part| match part {
                ReportPart::Note(note) => Some(note),
                _ => None,
            });
            notes.collect()
        };
        assert_eq!(notes(NAMED_MAX), Vec::<String>::new());
        let [note] = &notes(NAMED_MAX + 1)[..] else {
            panic!("one note");
        };
        assert!(note.contains("first 500 only"), "{note}");
        assert!(note.contains("`ctxrelay queue show ID`"), "{note}");
    }
}
