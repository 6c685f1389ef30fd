//! `ctxrelay ledger list`: from the daemon, or from the file when none runs or another session is
//! asked for.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;

use crate::cli::connect::{self, Found, runtime, unexpected};
use crate::cli::context::Context;
use crate::cli::disk;
use crate::cli::exit::{ExitKind, Failure, Verdict};
use crate::cli::output::Tone;
use crate::cli::words::{field, now_ms, short, time};
use crate::core::agent::Party;
use crate::core::id::RuntimeSession;
use crate::store::ledger::Filter;
use crate::wire::control::{Command, EntryPage, LedgerListParams, Reply};

/// Entries when nobody names a number.
const LIMIT: u32 = 100;

/// The most at once; the daemon's own bound.
const LIMIT_MAX: u32 = 1000;

/// How much of an entry's text fits its line, in characters.
const TEXT_CHARS: usize = 100;

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
    #[arg(long = "type", value_name = "TYPE")]
    pub entry_type: Option<String>,
    /// Only entries from this party
    #[arg(long, value_name = "PARTY")]
    pub source: Option<String>,
    /// Only entries for this party
    #[arg(long, value_name = "PARTY")]
    pub target: Option<String>,
    /// Only entries of this pair of agents, and shared ones
    #[arg(long, value_name = "NAME")]
    pub runtime_session: Option<String>,
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

pub fn run(context: &Context, args: Args) -> Verdict {
    let page = runtime()?.block_on(page(context, args))?;
    if context.out.is_json() {
        context.out.json(&page)?;
        return Ok(ExitKind::Ok);
    }
    if page.entries.is_empty() {
        context.out.note("no entries");
    }
    let now_ms = now_ms();
    for entry in &page.entries {
        line(context, entry, now_ms)?;
    }
    if let Some(cursor) = &page.cursor {
        context.out.note(&format!("more with --after {cursor}"));
    }
    Ok(ExitKind::Ok)
}

async fn page(context: &Context, args: Args) -> Result<EntryPage, Failure> {
    let dirs = &context.setting.dirs;
    let params = LedgerListParams {
        limit: Some(args.limit),
        ascending: args.order == Order::Asc,
        entry_type: args.entry_type,
        source: args.source,
        target: args.target,
        runtime_session_id: args.runtime_session.map(RuntimeSession::new),
        after: args.after,
    };
    if let Some(session) = &args.session {
        return from_file(&disk::session_file(dirs, session)?, &params);
    }
    match connect::control(&context.setting).await {
        Found::Live(live) => match live.ask(Command::LedgerList(params)).await? {
            Reply::Entries(page) => Ok(page),
            other => Err(unexpected(&other)),
        },
        Found::Nobody | Found::Unfit(_) => match disk::current(dirs)? {
            Some((_, path)) => from_file(&path, &params),
            None => Ok(EntryPage {
                entries: Vec::new(),
                cursor: None,
            }),
        },
    }
}

/// A page as the daemon would give it, from one pass over the file.
fn from_file(path: &Path, params: &LedgerListParams) -> Result<EntryPage, Failure> {
    let after: Option<u64> = params
        .after
        .as_deref()
        .map(|cursor| {
            cursor.parse().map_err(|_| {
                Failure::new(
                    ExitKind::Usage,
                    "invalid_arguments",
                    format!("`{cursor}` is no cursor"),
                    "use the `cursor` of the page before",
                )
            })
        })
        .transpose()?;
    let filter = Filter {
        entry_type: params.entry_type.clone(),
        source: params.source.clone().map(Party::from),
        target: params.target.clone().map(Party::from),
        runtime_session: params.runtime_session_id.clone(),
    };
    let limit = params.limit.unwrap_or(LIMIT) as usize;
    let mut taken: VecDeque<(u64, Value)> = VecDeque::new();
    let mut more = false;
    disk::scan(path, |stored| {
        let seq = stored.entry.seq.0;
        if params.ascending {
            if after.is_some_and(|after| seq <= after) {
                return ControlFlow::Continue(());
            }
            if taken.len() == limit {
                more = true;
                return ControlFlow::Break(());
            }
        } else if after.is_some_and(|after| seq >= after) {
            return ControlFlow::Break(());
        }
        if filter.takes(&stored.entry) {
            if taken.len() == limit {
                taken.pop_front();
                more = true;
            }
            taken.push_back((seq, stored.to_value()));
        }
        ControlFlow::Continue(())
    })?;
    if !params.ascending {
        taken.make_contiguous().reverse();
    }
    let last = taken.back().map(|(seq, _)| seq.to_string());
    Ok(EntryPage {
        entries: taken.into_iter().map(|(_, entry)| entry).collect(),
        cursor: last.filter(|_| more),
    })
}

fn line(context: &Context, entry: &Value, now_ms: i64) -> Result<(), Failure> {
    let seq = entry
        .get("seq")
        .map(ToString::to_string)
        .unwrap_or_default();
    let at = entry.get("timestamp").and_then(Value::as_i64).unwrap_or(0);
    let target = match field(entry, "target") {
        "" => String::new(),
        target => format!(" → {target}"),
    };
    let kind = field(entry, "type");
    let tone = match kind {
        "error" => Tone::Bad,
        "finality_proposal" | "finality_decision" => Tone::Warning,
        "message" | "handoff" => Tone::Strong,
        _ => Tone::Plain,
    };
    context.out.spans(&[
        (Tone::Faint, &format!("{seq:>6}  {}  ", time(at, now_ms))),
        (tone, kind),
        (
            Tone::Plain,
            &format!("  {}{target}  ", field(entry, "source")),
        ),
        (Tone::Plain, &short(field(entry, "content"), TEXT_CHARS)),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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

    fn ids(page: &EntryPage) -> Vec<&str> {
        page.entries
            .iter()
            .map(|entry| field(entry, "id"))
            .collect()
    }

    #[test]
    fn pages_from_the_file_follow_each_other_in_both_orders() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path());
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
                let page = from_file(&path, &params).unwrap();
                assert!(page.entries.len() <= 3);
                all.extend(ids(&page).into_iter().map(str::to_owned));
                after = page.cursor.clone();
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, want, "ascending {ascending}, source {source:?}");
        }
    }
}
