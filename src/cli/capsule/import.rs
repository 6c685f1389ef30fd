//! `ctxrelay capsule import`: checks and shows a capsule from elsewhere, and keeps it with
//! `--apply`.
//!
//! Nothing in it is run or believed; the import leaves only its file and one entry of the record.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::apply::apply;
use super::check::{tell_changed, tell_uncited, tell_vouched, tone, touched, uncompared, why};
use super::maker::CapsuleMaker;
use super::put_in::{ImportedPatch, PutIn, WORD};
use super::vouched::Vouched;
use crate::adapters::git::now::GitNeed;
use crate::adapters::plain_file::read_plain;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::core::capsule::Freshness;
use crate::core::id::CapsuleId;
use crate::store::capsules::CapsuleOwner;
use crate::wire::capsule::{self, BadCapsule, FILE_BYTES_MAX, check_lines, uncited};
use crate::wire::control::ProgramCode;
use crate::wire::line::is_hash;

/// Arguments of `capsule import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: ctxrelay capsule import login.ctxcapsule.json --expect 5b9c… --apply\n\n\
        Without --apply it is only checked. Intact: the file is as it was written, and its cited \
        lines are what it says. Anchored: those lines also stand in a record that verifies, this \
        project's or that of --ledger. Neither says who made the file: compare the digest with \
        what the sender tells you.\n\nA \
        patch in it goes into the work tree where that is clean and on the patch's commit, and only \
        after --apply and a word that you type."
)]
pub struct ImportArgs {
    /// The capsule's file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The digest that the sender told you
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub expect: Option<String>,
    /// The sender's record, in which the cited lines are looked for
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Keep it (operator); without, only say what would be kept
    #[arg(long)]
    pub apply: bool,
}

/// The one value of a `--json` call. Of a file that cannot be believed next to nothing is known.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportTold<'a> {
    id: Option<&'a CapsuleId>,
    freshness: Option<Freshness>,
    ahead: Option<u64>,
    behind: Option<u64>,
    touched: Vec<Value>,
    uncompared: Vec<&'a str>,
    intact: Option<bool>,
    expected: Option<bool>,
    anchored: bool,
    chain_read: bool,
    uncited: Option<usize>,
    first_bad: Option<Value>,
    digest: Option<&'a str>,
    patch: Option<Value>,
    applied: bool,
}

/// As a person copies it, from whatever wrote it.
fn digest(text: &str) -> Result<String, String> {
    let digest = text.trim().to_lowercase();
    match is_hash(&digest) {
        true => Ok(digest),
        false => {
            Err("a digest is 64 hex digits, as `ctxrelay capsule export` prints it".to_owned())
        }
    }
}

pub(super) fn run(context: &CliContext, args: &ImportArgs) -> CliOutcome {
    let bytes = read_plain(&args.file, FILE_BYTES_MAX as u64)
        .map_err(|error| disk::unreadable(&args.file, &error))?;
    let bytes = bytes.as_bytes();
    let read = capsule::read(bytes);
    let is_expected = match (&read, &args.expect) {
        (Ok(capsule), Some(expect)) => Some(*expect == capsule.digest),
        _ => None,
    };
    let read = read.and_then(|capsule| match is_expected {
        Some(false) => Err(BadCapsule {
            place: "digest".to_owned(),
            why: format!("it is {}, and not the one that you expect", capsule.digest),
        }),
        _ => check_lines(&capsule).map(|()| capsule),
    });
    let is_other = is_expected == Some(false);
    let capsule = match read {
        Ok(capsule) => capsule,
        Err(bad) if args.apply => return Err(not_kept(&args.file, &bad, is_other)),
        Err(bad) => return refused(context, &bad, is_expected),
    };
    let maker = match args.apply {
        // What it puts in makes another tree.
        true => CapsuleMaker::open(&context.project)?,
        false => CapsuleMaker::open_ahead(&context.project, GitNeed::Tree)?,
    };
    let vouched = match &args.ledger {
        // Of an own task all the rest of a long record need not be read for that.
        None if maker.has_lines(&capsule) => Vouched::Own,
        ledger => Vouched::of(context, &maker.world, &capsule, ledger.as_deref())?,
    };
    let before = maker.kept.read(CapsuleOwner::Foreign, &capsule.id).ok();
    let before = before.flatten().filter(|before| before != bytes);
    let applied = args.apply && apply(context, &maker, &capsule, bytes)?;
    let patch = ImportedPatch::of(&maker, &capsule);
    let put_in = match &patch {
        Some(patch) if args.apply => patch.put_in(context)?,
        _ => PutIn::Unasked,
    };
    let stands = maker.stands(&capsule);
    let uncited = uncited(&capsule);
    let value = ImportTold {
        id: Some(&capsule.id),
        freshness: Some(stands.freshness),
        ahead: stands.distance.map(|(since, _)| since),
        behind: stands.distance.map(|(_, before)| before),
        touched: touched(&stands),
        uncompared: uncompared(&stands),
        intact: Some(true),
        expected: is_expected,
        anchored: vouched.is_anchored(),
        chain_read: vouched.is_chain_read(),
        uncited: Some(uncited.0),
        first_bad: None,
        digest: Some(&capsule.digest),
        patch: patch.as_ref().map(ImportedPatch::value),
        applied,
    };
    let mut text = ReportText::new();
    text.spans(&[
        (Tone::Faint, &format!("{}  ", capsule.id)),
        (Tone::Plain, &maker.masked(&capsule.title)),
    ]);
    text.spans(&[
        (tone(stands.freshness), stands.freshness.as_str()),
        (Tone::Faint, &format!("  {}", why(&stands))),
    ]);
    tell_changed(&mut text, &stands);
    tell_vouched(&mut text, vouched);
    tell_uncited(&mut text, uncited);
    text.spans(&[(Tone::Faint, &format!("digest {}", capsule.digest))]);
    if args.expect.is_none() {
        text.note(
            "compare the digest with the sender's: it shows a change, and not who made the file",
        );
    }
    if let Some(before) = before {
        let place = match args.apply {
            true => "in",
            false => "--apply puts it in",
        };
        text.line(match capsule::read(&before) {
            Ok(before) => format!("{place} the place of the one with digest {}", before.digest),
            Err(_) => format!("{place} the place of one that is not intact"),
        });
    }
    match &patch {
        Some(_) if put_in == PutIn::Done => {
            text.line("its patch is in the work tree, and nothing was run");
        }
        Some(patch) => {
            if put_in == PutIn::Declined {
                text.line(format!("its patch was left out: `{WORD}` was not typed"));
            }
            patch.tell(&mut text);
        }
        None => {}
    }
    text.note(match (args.apply, applied) {
        (true, true) => "kept, as something from elsewhere; nothing in it was run",
        (true, false) => "it was here already",
        (false, _) => "nothing was kept; --apply keeps it",
    });
    context.out.report(Report::new(&value, text))
}

/// `is_other`: it is another capsule than the person expects.
fn not_kept(file: &Path, bad: &BadCapsule, is_other: bool) -> Failure {
    let code = match is_other {
        true => ProgramCode::OtherDigest,
        false => ProgramCode::NotIntact,
    };
    Failure::new(
        ExitKind::CheckFailed,
        code,
        format!("{} is not kept: {bad}", file.display()),
        "name the file that `ctxrelay capsule export` wrote; if it is that one, ask for it again where \
         it was made, and compare the digest",
    )
}

/// What cannot be believed is not shown either, and of another capsule than the person expects
/// it is not told whether it is intact.
fn refused(context: &CliContext, bad: &BadCapsule, is_expected: Option<bool>) -> CliOutcome {
    let is_other = is_expected == Some(false);
    let value = ImportTold {
        intact: (!is_other).then_some(false),
        expected: is_expected,
        first_bad: Some(json!({"path": bad.place, "reason": bad.why})),
        ..ImportTold::default()
    };
    let mut text = ReportText::new();
    let (what, next) = match is_other {
        true => ("another capsule  ", "compare the digest with the sender's"),
        false => (
            "not intact  ",
            "a capsule is the file that `ctxrelay capsule export` wrote",
        ),
    };
    text.spans(&[(Tone::Bad, what), (Tone::Plain, &bad.to_string())]);
    text.note(format!("nothing was kept; {next}"));
    context.out.report(Report::new(&value, text).checked(false))
}
