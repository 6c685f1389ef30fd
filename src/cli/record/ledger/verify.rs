//! `ctxrelay ledger verify`: reads files, whether a daemon runs or not.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::vouching::why_apart;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::gauge::Gauge;
use crate::cli::text::words::count;
use crate::core::alarm::Alarm;
use crate::core::entry::{Predecessor, SealedSession};
use crate::core::id::SessionId;
use crate::core::snapshot::Snapshot;
use crate::store::head::Kept;
use crate::store::ledger::{self, AlarmReport, SignedEntry, SignedWhat, VerifyReport};
use crate::store::sealed_way::{ends_foreign_part, sealed_before};
use crate::store::{owner, session};

/// Arguments of `ledger verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger verify --all && echo untouched")]
pub struct Args {
    /// This session, current or archived
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub session: Option<String>,
    /// All sessions of the project, archives included
    #[arg(long)]
    pub all: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let outside = disk::outside_head(&context.project)?;
    if args.all {
        return all(context, outside.as_ref());
    }
    let path = disk::record_file(&context.project, args.session.as_deref())?;
    let (report, _) = verify(context, &path, outside.as_ref())?;
    let told = Report::new(&to_json(&report), text(&path, &report));
    context.out.report(told.checked(report.ok))
}

fn all(context: &CliContext, outside: Option<&Kept>) -> CliOutcome {
    let mut ok = true;
    let mut sessions = Vec::new();
    let mut checked = Vec::new();
    let files = session::all(&context.project.dirs);
    let files = files.map_err(|(dir, error)| disk::unreadable(&dir, &error))?;
    for (session, path) in files.into_iter().rev() {
        let (report, said) = verify(context, &path, outside)?;
        ok &= report.ok;
        let mut value = to_json(&report);
        value["session"] = Value::from(session.as_str());
        sessions.push(value);
        let head = report.head.as_ref().map(|(_, hash)| hash.clone());
        checked.push(CheckedFile {
            session,
            head: head.unwrap_or_default(),
            is_whole: report.is_whole,
            said,
        });
        // Each as soon as it is checked: an old project has many. All are checked, also where
        // nobody reads any more: the exit code tells of all.
        match context.out.aside(text(&path, &report)) {
            Err(failure) if !failure.is_silent() => return Err(failure),
            _ => {}
        }
    }
    let lost = lost(context, outside, &checked);
    ok &= lost.is_empty();
    let mut text = ReportText::new();
    let world = disk::snapshot(&context.project).unwrap_or_default();
    let (reached, broken) = reached(&world, &checked);
    for (file, value) in checked.iter().zip(&mut sessions) {
        if !reached.contains(&file.session) {
            value["unvouched"] = true.into();
            let why = why_apart(&world, &file.session, broken);
            let told = format!("{}  {why}", file.session);
            text.spans(&[(Tone::Warning, "apart   "), (Tone::Plain, &told)]);
        }
    }
    let values = lost.iter().map(|(session, why)| {
        text.spans(&[
            (Tone::Bad, "broken  "),
            (Tone::Plain, &format!("{session}  {why}")),
        ]);
        json!({"session": session, "why": why})
    });
    let value = json!({"lost": values.collect::<Vec<_>>(), "ok": ok, "sessions": sessions});
    if !lost.is_empty() {
        text.note("a file that is put back as it was mends that; of one that you removed yourself it stays so");
    }
    context.out.report(Report::new(&value, text).checked(ok))
}

/// A file that was checked for itself.
struct CheckedFile {
    session: SessionId,
    /// The hash of its last entry.
    head: String,
    /// Its chain is as it was written.
    is_whole: bool,
    said: SaidOfBefore,
}

/// What a file says of what was before it.
#[derive(Default)]
struct SaidOfBefore {
    /// What its first entry says that it follows, unless that was deleted.
    follows: Option<SealedSession>,
    /// Where anything in it is somebody else's word, its first entry is.
    is_foreign: bool,
}

/// The current session, and those to which the record leads back, each as it was sealed; and one that
/// is not, where that ends the way: as [`WayBack`](crate::store::sealed_way::WayBack), of what was read
/// just now.
fn reached<'a>(
    world: &'a Snapshot,
    checked: &'a [CheckedFile],
) -> (BTreeSet<&'a SessionId>, Option<&'a SessionId>) {
    let mut reached: BTreeSet<_> = world.session_id.iter().collect();
    let before = world.believed_predecessor();
    let mut next = before.and_then(Predecessor::next_back);
    while let Some(sealed) = next.take() {
        let mut named = checked.iter();
        let Some(file) = named.find(|file| file.session == sealed.session_id) else {
            break;
        };
        if file.head != sealed.head || !file.is_whole {
            return (reached, Some(&file.session));
        }
        if reached.insert(&file.session) && !file.said.is_foreign {
            next.clone_from(&file.said.follows);
        }
    }
    (reached, None)
}

/// The sessions that are not there, or do not end any more as they were sealed, and why: no file can
/// tell that of itself.
fn lost<'a>(
    context: &CliContext,
    outside: Option<&'a Kept>,
    checked: &'a [CheckedFile],
) -> Vec<(&'a str, String)> {
    let dirs = &context.project.dirs;
    let current = outside.filter(|kept| kept.is_lost(dirs)).map(|kept| {
        let why = "is not there, and its head is kept outside of the project";
        (kept.head.session_id.as_str(), why.to_owned())
    });
    let sealed = checked.iter().filter_map(|file| {
        let before = file.said.follows.as_ref()?;
        let name = before.session_id.as_str();
        let there = checked.iter().find(|it| it.session == before.session_id);
        let why = match there {
            Some(there) => (there.head != before.head).then_some("does not end as it was sealed"),
            // One that was not listed may have been moved meanwhile.
            None => {
                let is_there = disk::session_file(dirs, name).is_ok();
                (!is_there).then_some("is not there")
            }
        };
        Some((name, format!("{}: {} follows it", why?, file.session)))
    });
    current.into_iter().chain(sealed).collect()
}

fn verify(
    context: &CliContext,
    path: &Path,
    outside: Option<&Kept>,
) -> Result<(VerifyReport, SaidOfBefore), Failure> {
    let (report, said) = verify_once(context, path, outside)?;
    let project = &context.project;
    if !report.has_foreign_lines() || !owner::is_owned(&project.dirs) {
        return Ok((report, said));
    }
    // The operator's word stands in the file for a moment before the head outside has it.
    let outside = disk::outside_head(project)?;
    verify_once(context, path, outside.as_ref())
}

fn verify_once(
    context: &CliContext,
    path: &Path,
    outside: Option<&Kept>,
) -> Result<(VerifyReport, SaidOfBefore), Failure> {
    let bytes = path.symlink_metadata().map_or(0, |found| found.len());
    let mut gauge = Gauge::new("checking:", context.out.is_json());
    let mut lines = 0;
    let mut first = None;
    let mut is_foreign = false;
    let report = ledger::verify_with(path, outside, |done, entry| {
        lines += 1;
        gauge.tell(done, bytes, lines);
        if let Some((_, text)) = entry {
            first.get_or_insert_with(|| sealed_before(text));
            is_foreign |= ends_foreign_part(text);
        }
    });
    let report = report.map_err(|error| disk::unreadable(path, &error))?;
    let said = SaidOfBefore {
        follows: first.flatten(),
        is_foreign,
    };
    Ok((report, said))
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn to_json(report: &VerifyReport) -> Value {
    json!({
        "ok": report.ok,
        "entries": report.entries,
        "chained": report.chained,
        "prefix": report.prefix,
        "badLines": report.bad_lines,
        "firstBad": report.first_bad.as_ref().map(|fault| json!({
            "seq": fault.seq,
            "line": fault.line,
            "reason": fault.reason.as_str(),
        })),
        "head": report.head.as_ref().map(|(seq, hash)| json!({"seq": seq, "hash": hash})),
        "outsideHead": report.outside_head.as_str(),
        "foreign": report.alarms.iter().filter_map(foreign).collect::<Vec<_>>(),
        "cut": report.alarms.iter().filter_map(cut).collect::<Vec<_>>(),
        "messagesAltered": report.alarms.iter().filter_map(message_altered).collect::<Vec<_>>(),
        "unsigned": report.alarms.iter().filter_map(unsigned).collect::<Vec<_>>(),
        "unknownAlarms": report.alarms.iter().filter_map(unknown).collect::<Vec<_>>(),
        "signed": report.signed.iter().filter_map(decision).collect::<Vec<_>>(),
        "signedActs": report.signed.iter().filter_map(act).collect::<Vec<_>>(),
        "tornBytes": report.torn_bytes,
        "blobs": {
            "texts": report.blobs.texts,
            "missing": report.blobs.missing,
            "altered": report.blobs.altered,
        },
    })
}

fn decision(signed: &SignedEntry) -> Option<Value> {
    let SignedWhat::Decision { proposal, approved } = &signed.what else {
        return None;
    };
    Some(json!({
        "seq": signed.seq,
        "proposalId": proposal,
        "approved": approved,
        "signer": signed.signer.as_str(),
        "fingerprint": signed.signer.fingerprint(),
    }))
}

fn act(signed: &SignedEntry) -> Option<Value> {
    let (act, subject, verdict) = match &signed.what {
        SignedWhat::Decision { .. } => return None,
        SignedWhat::Act {
            act,
            subject,
            verdict,
        } => (act.as_str(), Some(subject), Some(verdict)),
        SignedWhat::Session { from } => ("session", Some(from), None),
        SignedWhat::Signing => ("signing", None, None),
    };
    Some(json!({
        "seq": signed.seq,
        "act": act,
        "subject": subject,
        "verdict": verdict,
        "signer": signed.signer.as_str(),
        "fingerprint": signed.signer.fingerprint(),
    }))
}

fn foreign(report: &AlarmReport) -> Option<Value> {
    match &report.alarm {
        Alarm::ForeignLines {
            file,
            lines,
            sha256,
        } => Some(json!({
            "file": file,
            "lines": lines,
            "sha256": sha256,
            "acknowledged": report.acknowledged,
        })),
        _ => None,
    }
}

fn cut(report: &AlarmReport) -> Option<Value> {
    match &report.alarm {
        Alarm::RecordCut { seq, sha256 } => Some(json!({
            "seq": seq,
            "hash": sha256,
            "acknowledged": report.acknowledged,
        })),
        Alarm::RecordGone {
            session,
            seq,
            sha256,
        } => Some(json!({
            "session": session,
            "seq": seq,
            "hash": sha256,
            "acknowledged": report.acknowledged,
        })),
        _ => None,
    }
}

fn message_altered(report: &AlarmReport) -> Option<Value> {
    match &report.alarm {
        Alarm::MessageAltered {
            message,
            to,
            others,
        } => Some(json!({
            "id": message,
            "to": to,
            "others": others,
            "acknowledged": report.acknowledged,
        })),
        _ => None,
    }
}

/// What is not signed as it has to be.
fn unsigned(report: &AlarmReport) -> Option<Value> {
    let (seq, why) = match &report.alarm {
        Alarm::UnsignedDecision { seq, why, .. } => (Some(seq), why.to_string()),
        Alarm::UnsignedAct { seq, act, why } => (Some(seq), format!("{}: {why}", act.as_str())),
        Alarm::UnsignedChange { seq } => {
            (Some(seq), "it is not signed by the key in force".to_owned())
        }
        Alarm::SignerLost { .. } | Alarm::SignerReplaced { .. } => (None, report.alarm.text()),
        _ => return None,
    };
    Some(json!({"seq": seq, "why": why, "acknowledged": report.acknowledged}))
}

/// An alarm that only another version knows.
fn unknown(report: &AlarmReport) -> Option<Value> {
    match &report.alarm {
        Alarm::Unknown(alarm) => Some(json!({"alarm": alarm, "acknowledged": report.acknowledged})),
        _ => None,
    }
}

fn text(path: &Path, report: &VerifyReport) -> ReportText {
    let mut out = ReportText::new();
    // The words of `status` for the same chain.
    let (tone, word) = match (report.ok, &report.first_bad) {
        (true, _) => (Tone::Good, "ok      "),
        (false, Some(_)) => (Tone::Bad, "broken  "),
        (false, None) => (Tone::Warning, "touched "),
    };
    let mut text = format!(
        "{}  {}, {} chained",
        stem(path),
        count(report.entries, "entry", "entries"),
        report.chained
    );
    if report.prefix > 0 {
        let lines = count(report.prefix, "older line", "older lines");
        text.push_str(&format!(", {lines} before the chain"));
    }
    if report.bad_lines > 0 {
        text.push_str(&format!(
            ", {}",
            count(report.bad_lines, "bad line", "bad lines")
        ));
    }
    out.spans(&[(tone, word), (Tone::Plain, &text)]);
    if let Some(fault) = &report.first_bad {
        let text = format!(
            "        entry {} (line {}) is {}",
            fault.seq,
            fault.line,
            fault.reason.as_str()
        );
        out.spans(&[(Tone::Bad, &text)]);
    }
    for report in &report.alarms {
        let (tone, state) = if report.acknowledged {
            (Tone::Faint, "acknowledged")
        } else {
            (Tone::Bad, "not acknowledged: see the deck's Inbox")
        };
        let text = format!("        {} ({state})", report.alarm.text());
        out.spans(&[(tone, &text)]);
    }
    for signed in &report.signed {
        let what = signed.what.text();
        let text = format!(
            "        entry {}: {what}, signed by {}",
            signed.seq, signed.signer
        );
        out.spans(&[(Tone::Good, &text)]);
    }
    if report.blobs.texts > 0 {
        let texts = count(report.blobs.texts, "long text", "long texts");
        out.line(format!(
            "        {texts} beside it, {} missing, {} altered",
            report.blobs.missing, report.blobs.altered
        ));
    }
    if report.torn_bytes > 0 {
        let bytes = count(report.torn_bytes, "byte", "bytes");
        out.line(format!(
            "        the last line is not complete ({bytes}): a crash, or a write that is going on"
        ));
    }
    if let Some((seq, hash)) = &report.head {
        let text = format!(
            "        head {seq} {hash}, kept outside: {}",
            report.outside_head.as_str()
        );
        out.spans(&[(Tone::Faint, &text)]);
    }
    out
}
