//! `ctxrelay ledger list`: from the daemon, or from the file if none runs or another session is
//! requested.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};
use serde_json::{Value, json};

use super::vouching::{FROM_ELSEWHERE, Provenance};
use crate::cli::connection::connect::{self, DaemonFound, Live, wait_for};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{entry_word, field, left_out, now_ms, short, time};
use crate::core::entry::EntryType;
use crate::core::id::{RuntimeSession, SessionId};
use crate::store::ledger::{EntryFilter, Reading};
use crate::wire::control::{Command, EntryLine, EntryPage, LedgerListParams};

/// Entries when nobody names a number.
const LIMIT: u32 = 100;

/// The most at once; the daemon's own bound.
const LIMIT_MAX: u32 = 1000;

/// Who writes entries, and for whom they are.
const PARTIES: [&str; 4] = ["claude", "codex", "human", "system"];

/// How much of a name that is not known is told, in characters.
const NAME_CHARS: usize = 40;

/// How much of an entry's text fits its line, in characters.
const TEXT_CHARS: usize = 100;

/// How much of a finding's id is shown, in characters.
const FINDING_CHARS: usize = 40;

/// Names that help and completions know. Any other is taken too: another version may write it.
#[derive(Debug, Clone)]
enum Offered {
    /// The types of entries that this version writes.
    Types,
    Parties,
}

impl Offered {
    fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Types => EntryType::ALL.map(EntryType::as_str).to_vec(),
            Self::Parties => PARTIES.to_vec(),
        }
    }
}

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names().into_iter().map(PossibleValue::new)))
    }
}

/// Arguments of `ledger list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger list --type handoff --limit 20")]
pub struct Args {
    /// At most this many entries, 1000 at once
    #[arg(long, default_value_t = LIMIT, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LIMIT_MAX)))]
    pub limit: u32,
    /// Newest first, or oldest first
    #[arg(long, value_enum, default_value_t = Order::Desc)]
    pub order: Order,
    /// Only entries of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = Offered::Types)]
    pub entry_type: Option<String>,
    /// Only entries from this party
    #[arg(long, value_name = "PARTY", value_parser = Offered::Parties)]
    pub source: Option<String>,
    /// Only entries for this party
    #[arg(long, value_name = "PARTY", value_parser = Offered::Parties)]
    pub target: Option<String>,
    /// Only entries of this pair of agents, and shared ones
    #[arg(long, value_name = "NAME")]
    pub runtime_session: Option<String>,
    /// Only entries of this time or later, as `2026-11-22T09:30` or `2h` for two hours ago
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<i64>,
    /// Only entries of this time or earlier
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<i64>,
    /// Only entries whose content has this text, whatever its case; `search` looks up words
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// Another session than the current one
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Go on after this `cursor`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

/// The order of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}

pub fn run(context: &CliContext, args: Args) -> CliOutcome {
    let named = args.session.clone();
    let page = wait_for(page(context, args))?;
    let whose = Provenance::of(&context.project, named.as_deref(), page.foreign_through);
    let mut text = ReportText::new();
    if let Some(apart) = &whose.apart {
        text.note(apart);
    }
    if page.entries.is_empty() {
        text.note("no entries");
    }
    let now_ms = now_ms();
    let lines = page.entries.into_iter().map(EntryLine::into_value);
    let mut entries: Vec<Value> = lines.collect();
    for (entry, place) in entries.iter_mut().zip(&page.places) {
        if entry.is_object() && whose.is_apart(*place, entry) {
            entry["unvouched"] = true.into();
        }
    }
    for entry in &entries {
        line(&mut text, entry, now_ms);
    }
    if let Some(cursor) = &page.cursor {
        text.note(format!("more with --after {cursor}"));
    }
    let mut value = json!({"entries": entries, "places": page.places, "cursor": page.cursor});
    if whose.apart.is_some() {
        value["unvouched"] = true.into();
    }
    if let Some(note) = left_out(page.unread_lines) {
        text.note(note);
        value["unreadLines"] = page.unread_lines.into();
    }
    context.out.report(Report::new(&value, text))
}

async fn page(context: &CliContext, args: Args) -> Result<EntryPage, Failure> {
    let params = LedgerListParams {
        limit: Some(args.limit),
        ascending: args.order == Order::Asc,
        entry_type: args.entry_type,
        source: args.source,
        target: args.target,
        runtime_session_id: args.runtime_session.map(RuntimeSession::new),
        since_ms: args.since,
        until_ms: args.until,
        text: args.text,
        after: args.after,
    };
    let session = match &args.session {
        Some(session) => Some(session.clone()),
        None => match connect::control(&context.project).await {
            DaemonFound::Live(live) => {
                return known(params, async |params| ask(&live, params).await).await;
            }
            DaemonFound::Nobody | DaemonFound::Unfit(_) => {
                disk::current(&context.project)?.map(|(session, _)| session.as_str().to_owned())
            }
        },
    };
    match session {
        Some(session) => {
            let reading = reading(context, &session)?;
            known(params, async |params| from_file(&reading, &params)).await
        }
        None => Ok(EntryPage::default()),
    }
}

/// A session up to where it is believed. That lines are left out is told on the terminal.
///
/// # Errors
///
/// As [`disk::reading`].
pub(super) fn reading(context: &CliContext, session: &str) -> Result<Reading, Failure> {
    let project = &context.project;
    let path = disk::session_file(&project.dirs, session)?;
    let reach = disk::reach_with(project, &SessionId::new(session), &path);
    let (reach, current) = reach.map_err(|error| disk::unreadable(&path, &error))?;
    if let Some(remark) = reach.remark() {
        context.out.note(&remark);
    }
    current.map_or_else(|| disk::reading(project, session), Ok)
}

async fn ask(live: &Live, params: LedgerListParams) -> Result<EntryPage, Failure> {
    live.ask_for(Command::LedgerList(params)).await
}

/// As [`fill`]. A page that is empty because no entry could have such a type or party is a mistake
/// of who typed it, and no empty record.
async fn known(
    params: LedgerListParams,
    ask: impl AsyncFn(LedgerListParams) -> Result<EntryPage, Failure>,
) -> Result<EntryPage, Failure> {
    let page = fill(params.clone(), &ask).await?;
    if !page.entries.is_empty() || params.after.is_some() {
        return Ok(page);
    }
    let none = LedgerListParams::default;
    let asked = [
        (
            "type",
            Offered::Types,
            params.entry_type.map(|name| LedgerListParams {
                entry_type: Some(name),
                ..none()
            }),
        ),
        (
            "source",
            Offered::Parties,
            params.source.map(|name| LedgerListParams {
                source: Some(name),
                ..none()
            }),
        ),
        (
            "target",
            Offered::Parties,
            params.target.map(|name| LedgerListParams {
                target: Some(name),
                ..none()
            }),
        ),
    ];
    for (what, offered, alone) in asked {
        let Some(mut alone) = alone else { continue };
        let names = offered.names();
        let filters = [&alone.entry_type, &alone.source, &alone.target];
        let name = filters.into_iter().flatten().next().cloned();
        let name = name.unwrap_or_default();
        if names.contains(&name.as_str()) {
            continue;
        }
        // Another version or product may have names of its own.
        alone.limit = Some(1);
        if fill(alone, &ask).await?.entries.is_empty() {
            return Err(Failure::invalid(
                format!(
                    "no entry here has the {what} `{}`",
                    short(&name, NAME_CHARS)
                ),
                format!("one of: {}", names.join(", ")),
            ));
        }
    }
    Ok(page)
}

/// Asks until there are as many entries as wanted or no more: one answer may be short, because
/// much was looked at.
async fn fill(
    mut params: LedgerListParams,
    ask: &impl AsyncFn(LedgerListParams) -> Result<EntryPage, Failure>,
) -> Result<EntryPage, Failure> {
    let wanted = params.limit.unwrap_or(LIMIT);
    let mut all = EntryPage::default();
    loop {
        let page = ask(params.clone()).await?;
        all.entries.extend(page.entries);
        all.places.extend(page.places);
        all.foreign_through = page.foreign_through;
        all.cursor = page.cursor;
        all.unread_lines += page.unread_lines;
        let missing = wanted.saturating_sub(u32::try_from(all.entries.len()).unwrap_or(u32::MAX));
        if missing == 0 || all.cursor.is_none() {
            return Ok(all);
        }
        params.limit = Some(missing);
        params.after.clone_from(&all.cursor);
    }
}

/// A page as the daemon would give it.
fn from_file(reading: &Reading, params: &LedgerListParams) -> Result<EntryPage, Failure> {
    let after: Option<u64> = params
        .after
        .as_deref()
        .map(|cursor| {
            cursor.parse().map_err(|_| {
                Failure::invalid(
                    format!("`{cursor}` is no cursor"),
                    "use the `cursor` of the page before",
                )
            })
        })
        .transpose()?;
    let limit = params.limit.unwrap_or(LIMIT) as usize;
    let page = reading
        .page(&EntryFilter::from(params), after, params.ascending, limit)
        .map_err(|error| disk::unreadable(reading.path(), &error))?;
    Ok(EntryPage {
        foreign_through: reading.snapshot().foreign_through.0,
        ..EntryPage::from(page)
    })
}

/// When something was: a moment, or how long ago.
fn moment(text: &str) -> Result<i64, String> {
    let ago = text
        .parse::<SignedDuration>()
        .map(|ago| Timestamp::now() - ago);
    let local = || {
        let at: civil::DateTime = text.parse().or_else(|_| {
            let day: civil::Date = text.parse()?;
            Ok::<_, jiff::Error>(day.at(0, 0, 0, 0))
        })?;
        at.to_zoned(TimeZone::system()).map(|at| at.timestamp())
    };
    ago.or_else(|_| text.parse())
        .or_else(|_| local())
        .map(Timestamp::as_millisecond)
        .map_err(|_| {
            "neither a time (2026-11-22, 2026-11-22T09:30) nor a while ago (2h, 3d)".into()
        })
}

fn line(out: &mut ReportText, entry: &Value, now_ms: i64) {
    let seq = entry
        .get("seq")
        .map(ToString::to_string)
        .unwrap_or_default();
    let at = entry.get("timestamp").and_then(Value::as_i64).unwrap_or(0);
    let target = match field(entry, "target") {
        "" => String::new(),
        target => format!(" → {target}"),
    };
    let whose = match entry["unvouched"] == true {
        true => format!("  {FROM_ELSEWHERE}"),
        false => String::new(),
    };
    let word = entry_word(entry);
    let tone = match EntryType::parse(field(entry, "type")) {
        Some(EntryType::Error) => Tone::Bad,
        Some(EntryType::FinalityProposal | EntryType::FinalityDecision) => Tone::Warning,
        Some(EntryType::Message | EntryType::Handoff) => Tone::Strong,
        _ => Tone::Plain,
    };
    out.spans(&[
        (Tone::Faint, &format!("{seq:>6}  {}  ", time(at, now_ms))),
        (tone, &word),
        (
            Tone::Plain,
            &format!("  {}{target}{whose}  ", field(entry, "source")),
        ),
        (Tone::Faint, &finding(entry)),
        (Tone::Plain, &short(field(entry, "content"), TEXT_CHARS)),
    ]);
}

/// Which finding a word on it is about: unlike the review's own, that does not name it.
fn finding(entry: &Value) -> String {
    let artifact = &entry["artifact"];
    let is_word = matches!(
        artifact["step"].as_str(),
        Some("resolved" | "dismissed" | "gone" | "missing")
    );
    match artifact["finding"].as_str().filter(|_| is_word) {
        Some(id) => format!("{}  ", short(id, FINDING_CHARS)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Ten unchained entries, odd ones notes of Claude, even ones of Codex.
    fn file(dir: &Path) -> std::path::PathBuf {
        let path = dir.join("session_1795000000000_a1b2c3d4.jsonl");
        let lines: String = (1..=10)
            .map(|n| {
                let source = if n % 2 == 1 { "claude" } else { "codex" };
                format!("{{\"schema\":\"v1\",\"id\":\"e{n}\",\"timestamp\":{n},\"sessionId\":\"s\",\"type\":\"note\",\"source\":\"{source}\",\"content\":\"n{n}\"}}\n")
            })
            .collect();
        std::fs::write(&path, lines).unwrap();
        path
    }

    fn ids(page: EntryPage) -> Vec<String> {
        let lines = page.entries.into_iter().map(EntryLine::into_value);
        lines.map(|line| field(&line, "id").to_owned()).collect()
    }

    #[test]
    fn pages_from_the_file_follow_each_other_in_both_orders() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path());
        let reading = Reading::open(&path, &SessionId::new("s"), None, None).unwrap();
        for (ascending, source, want) in [
            (
                true,
                None,
                vec!["e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10"],
            ),
            (
                false,
                None,
                vec!["e10", "e9", "e8", "e7", "e6", "e5", "e4", "e3", "e2", "e1"],
            ),
            (true, Some("codex"), vec!["e2", "e4", "e6", "e8", "e10"]),
            (false, Some("claude"), vec!["e9", "e7", "e5", "e3", "e1"]),
        ] {
            let mut all = Vec::new();
            let mut after = None;
            loop {
                let params = LedgerListParams {
                    limit: Some(3),
                    ascending,
                    source: source.map(str::to_owned),
                    after,
                    ..LedgerListParams::default()
                };
                let page = from_file(&reading, &params).unwrap();
                assert!(page.entries.len() <= 3);
                after = page.cursor.clone();
                all.extend(ids(page));
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, want, "ascending {ascending}, source {source:?}");
        }
    }
}
