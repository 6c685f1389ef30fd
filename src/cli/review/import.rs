//! `ctxrelay review import`: what the reviews of a pull request say is read and recorded.
//!
//! By the operator's own `gh` where no file is named; nothing else of the program asks GitHub.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;

use super::change::{ask, command};
use super::source;
use crate::adapters::git_facts::folder_in_repository;
use crate::cli::connect::runtime;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::operator;
use crate::cli::report::{Report, ReportText};
use crate::cli::words::count;
use crate::client::Client;
use crate::core::redact::Redactor;
use crate::core::review::{ImportedFinding, ReviewComment};
use crate::core::snapshot::FINDINGS_MAX;
use crate::host::ProjectContext;
use crate::store::config;
use crate::wire::control::{
    IMPORT_BATCH_MAX, ProgramCode, ReadReview, ReviewChange, ReviewChanged,
};

/// So much of comments goes in one batch, in bytes; a single comment may be longer.
const BATCH_BYTES: usize = 1024 * 1024;

/// Arguments of `review import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay review import 12\n\n\
        Your own `gh` and its login are used, for this command alone; without a number, for the \
        pull request of the branch you are on. From a file: pages of comments and reviews as \
        `gh api` prints them, or an object with `comments`, `reviews` and `threads`. Imported \
        again, each finding is the same one: changed, resolved or gone.")]
pub struct ReviewSourceArgs {
    /// The number or address of a pull request, or with --from file the file
    #[arg(value_name = "PR|URL|FILE")]
    pub what: Option<String>,
    /// Where from; a few made-up findings with mock
    #[arg(long, value_name = "SOURCE", default_value = "gh")]
    pub from: SourceWord,
    /// The file, behind a pull request that it is of
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// The word for where a review comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceWord {
    /// GitHub, by `gh`.
    Gh,
    /// A file.
    File,
    /// Made up.
    Mock,
}

/// A review that was read.
pub(super) struct ReadSource {
    /// Its name in the record.
    pub(super) review: String,
    /// What it says.
    pub(super) comments: Vec<ReviewComment>,
    /// Values that were no comments.
    pub(super) unread: u64,
    /// It is all that the review says.
    pub(super) is_whole: bool,
}

pub(super) fn run(context: &CliContext, args: &ReviewSourceArgs) -> CliOutcome {
    let nothing = ReviewChange::Import {
        findings: Vec::new(),
        whole: None,
    };
    runtime()?.block_on(async {
        operator::check(context, &command(&context.setting, nothing)).await?;
        // Without a daemon nothing could be recorded, and nothing is asked of anybody.
        let live = operator::live(context).await?;
        let read = source::read(context, args).await?;
        let total = record(&live.client, &context.setting, &read).await?;
        told(context, &read, &total)
    })
}

/// What the operator's `gh` says of this branch's pull request is recorded; what came of it, in a
/// sentence.
///
/// # Errors
///
/// When this is no terminal of the operator's, `gh` cannot say, or the daemon refuses.
pub async fn import_from_deck(client: Client, setting: ProjectContext) -> Result<String, String> {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal.message);
    }
    let imported = async {
        let read = source::by_gh(&setting, || (), None).await?;
        let total = record(&client, &setting, &read).await?;
        let mut said = left_out(&read, &total);
        said.push(counts(&read, &total));
        Ok::<_, Failure>(said.join("; "))
    };
    imported
        .await
        .map_err(|failure| format!("{}: {}", failure.message, failure.hint))
}

/// Records what was read, in as many commands as that takes.
async fn record(
    client: &Client,
    setting: &ProjectContext,
    read: &ReadSource,
) -> Result<ReviewChanged, Failure> {
    let loaded = config::load(&setting.dirs, &setting.user_dirs);
    let redactor = Redactor::with(loaded.rules.clone());
    // Paths of findings are relative to the repository.
    let root = setting.dirs.root.clone();
    let folder = tokio::task::spawn_blocking(move || folder_in_repository(&root));
    let folder = folder.await.ok().flatten();
    let comments = read.comments.iter();
    let of = |comment| {
        let read = ImportedFinding::of(comment, &read.review, &redactor)?;
        Some(read.seen_from(folder.as_deref(), &redactor))
    };
    let mut findings: Vec<ImportedFinding> = comments.filter_map(of).collect();
    // What is longer than there is room for is no whole review any more.
    let is_whole = read.is_whole && findings.len() <= FINDINGS_MAX;
    let beyond = findings.len().saturating_sub(FINDINGS_MAX) as u64;
    findings.truncate(FINDINGS_MAX);
    let whole = is_whole.then(|| ReadReview {
        review: findings
            .first()
            .map_or_else(|| read.review.clone(), |first| first.facts.review.clone()),
        findings: findings.iter().map(|found| found.finding.clone()).collect(),
    });
    let mut batches = batches(findings);
    // The last one says what the review does not say any more.
    let last = batches.pop().unwrap_or_default();
    let mut total = ReviewChanged {
        left_out: beyond,
        ..ReviewChanged::default()
    };
    for findings in batches {
        let import = ReviewChange::Import {
            findings,
            whole: None,
        };
        add(&mut total, ask(client, command(setting, import)).await?);
    }
    let findings = last;
    let import = ReviewChange::Import { findings, whole };
    add(&mut total, ask(client, command(setting, import)).await?);
    Ok(total)
}

fn counts(read: &ReadSource, total: &ReviewChanged) -> String {
    format!(
        "{}: {} new, {} changed, {} as before, {} gone",
        read.review, total.imported, total.changed, total.same, total.gone
    )
}

/// What of it is not in the record, each a sentence.
fn left_out(read: &ReadSource, total: &ReviewChanged) -> Vec<String> {
    let mut said = Vec::new();
    if total.left_out > 0 {
        said.push(format!(
            "{} left out: {FINDINGS_MAX} is the most that can stand; dismiss or resolve some",
            count(total.left_out, "finding was", "findings were")
        ));
    }
    if read.unread > 0 {
        said.push(format!(
            "{} no comment",
            count(read.unread, "value was", "values were")
        ));
    }
    said
}

fn batches(findings: Vec<ImportedFinding>) -> Vec<Vec<ImportedFinding>> {
    let mut batches: Vec<Vec<ImportedFinding>> = Vec::new();
    let mut room = 0;
    for finding in findings {
        let bytes = finding.text.len() + finding.raw.as_ref().map_or(0, String::len);
        match batches.last_mut() {
            Some(batch) if batch.len() < IMPORT_BATCH_MAX && bytes <= room => {
                room -= bytes;
                batch.push(finding);
            }
            _ => {
                room = BATCH_BYTES.saturating_sub(bytes);
                batches.push(vec![finding]);
            }
        }
    }
    batches
}

fn add(total: &mut ReviewChanged, changed: ReviewChanged) {
    total.imported += changed.imported;
    total.changed += changed.changed;
    total.same += changed.same;
    total.gone += changed.gone;
    total.left_out += changed.left_out;
    total.seq = changed.seq.or(total.seq);
}

fn told(context: &CliContext, read: &ReadSource, total: &ReviewChanged) -> CliOutcome {
    let mut text = ReportText::new();
    text.line(counts(read, total));
    left_out(read, total)
        .iter()
        .for_each(|note| text.note(note));
    if total.imported + total.changed > 0 {
        text.note("see them with `ctxrelay review list`, or `F` in the deck");
    }
    let value = json!({
        "review": read.review,
        "imported": total.imported,
        "changed": total.changed,
        "same": total.same,
        "gone": total.gone,
        "leftOut": total.left_out,
        "unread": read.unread,
        "seq": total.seq,
    });
    context.out.report(Report::new(&value, text))
}

/// Arguments that do not go together.
pub(super) fn usage(message: &str) -> Failure {
    Failure::usage(
        ProgramCode::Usage,
        message,
        "see `ctxrelay review import --help`",
    )
}
