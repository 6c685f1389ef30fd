//! `ctxrelay ledger show ID|SEQ`.

use std::sync::Arc;

use serde_json::Value;

use super::list::reading;
use super::vouching::{FROM_ELSEWHERE, Provenance};
use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::context::CliContext;
use crate::cli::deliveries::queue_names::numbered;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{field, now_ms, time};
use crate::client::ClientError;
use crate::core::id::{EntryId, Seq};
use crate::store::blobs::Blobs;
use crate::store::ledger::Reading;
use crate::wire::control::{Command, EntryLine, EntryPage, RefusalCode, Reply};

/// Arguments of `ledger show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger show 12")]
pub struct Args {
    /// An entry's id or the end of it, its number, or a handoff's name in the deck (h8)
    #[arg(value_name = "ID|SEQ")]
    pub entry: String,
    /// Another session than the current one
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// All of a text that was too long for its line, checked against its hash; without, its
    /// beginning and how much is missing
    #[arg(long)]
    pub full: bool,
}

pub fn run(context: &CliContext, mut args: Args) -> CliOutcome {
    if let Some(Seq(number)) = numbered(&args.entry) {
        args.entry = number.to_string();
    }
    let page = wait_for(find(context, &args))?;
    let entry = page.entries.into_iter().next();
    let mut entry = entry.ok_or_else(|| missing(&args.entry))?.into_value();
    let mut text = text(&entry);
    let session = args.session.as_deref();
    let whose = Provenance::of(&context.project, session, page.foreign_through);
    let is_apart = page
        .places
        .iter()
        .any(|place| whose.is_apart(*place, &entry));
    let one = is_apart.then(|| format!("it is {FROM_ELSEWHERE}"));
    if let Some(apart) = whose.apart.or(one) {
        entry["unvouched"] = true.into();
        text.note(apart);
    }
    context.out.report(Report::new(&entry, text))
}

/// The entry alone, with its place where that is known.
async fn find(context: &CliContext, args: &Args) -> Result<EntryPage, Failure> {
    let of_file = |session: &str| {
        let reading = reading(context, session)?;
        let entry = from_file(&reading, args)?;
        let places = match &entry {
            EntryLine::Read { stored, .. } => vec![stored.entry.seq.0],
            EntryLine::Sent(_) => Vec::new(),
        };
        Ok(EntryPage {
            entries: vec![entry],
            places,
            foreign_through: reading.snapshot().foreign_through.0,
            ..EntryPage::default()
        })
    };
    if let Some(session) = &args.session {
        return of_file(session);
    }
    match connect::control(&context.project).await {
        DaemonFound::Live(live) => {
            let entry = args.entry.clone();
            let full = args.full;
            let show = Command::LedgerShow {
                entry,
                full,
                placed: true,
            };
            match live.ask(show).await? {
                // A daemon of an earlier build does not say where it stands.
                Reply::Entry(entry) => Ok(EntryPage {
                    entries: vec![entry],
                    ..EntryPage::default()
                }),
                other => {
                    EntryPage::try_from(other).map_err(|other| ClientError::of_reply(&other).into())
                }
            }
        }
        DaemonFound::Nobody | DaemonFound::Unfit(_) => match disk::current(&context.project)? {
            Some((session, _)) => of_file(session.as_str()),
            None => Err(missing(&args.entry)),
        },
    }
}

pub(in crate::cli) fn from_file(reading: &Reading, args: &Args) -> Result<EntryLine, Failure> {
    let name = args.entry.as_str();
    let seq = match name.parse() {
        Ok(seq) => Ok(Some(Seq(seq))),
        Err(_) => reading.seq_of(&EntryId::new(name)),
    };
    let seq = match seq {
        Ok(None) if !name.is_empty() => match reading.ending_in(name) {
            Ok(found) if found.len() > 1 => return Err(ambiguous(name)),
            found => found.map(|found| found.first().copied()),
        },
        seq => seq,
    };
    let found = seq.and_then(|seq| seq.map_or(Ok(None), |seq| reading.read(seq)));
    let stored = found
        .map_err(|error| disk::unreadable(reading.path(), &error))?
        .ok_or_else(|| missing(name))?;
    let whole = stored.entry.whole.as_ref().filter(|_| args.full);
    let whole = whole.map(|whole| Blobs::of_ledger(reading.path()).get(&whole.sha256));
    let whole = whole.transpose().map_err(|error| {
        Failure::state(
            error.code(),
            format!("all of the text of entry {name} was kept in a file of its own, and {error}"),
            "see its beginning without --full, and what `ctxrelay ledger verify` says",
        )
    })?;
    let stored = Arc::new(stored);
    Ok(EntryLine::Read { stored, whole })
}

fn ambiguous(name: &str) -> Failure {
    Failure::invalid(
        format!("more than one entry ends in `{name}`"),
        "give the whole id, or the number: `ctxrelay ledger list`",
    )
}

fn missing(name: &str) -> Failure {
    Failure::state(
        RefusalCode::NotFound,
        format!("there is no entry {name}"),
        "see `ctxrelay ledger list`",
    )
}

fn text(entry: &Value) -> ReportText {
    let mut out = ReportText::new();
    // An entry is an object.
    for (name, value) in entry.as_object().into_iter().flatten() {
        let label = format!("{name:<20}");
        match (name.as_str(), value) {
            ("content", _) => {}
            ("timestamp", value) => {
                let at = value.as_i64().unwrap_or_default();
                out.spans(&[(Tone::Faint, &label), (Tone::Plain, &time(at, now_ms()))]);
            }
            (_, Value::String(text)) => out.spans(&[(Tone::Faint, &label), (Tone::Plain, text)]),
            (_, value) => {
                out.spans(&[(Tone::Faint, &label), (Tone::Plain, &value.to_string())]);
            }
        }
    }
    out.line("");
    out.block("  ", field(entry, "content"));
    out
}
