//! `ctxrelay review import`: reads and records what the reviews of a pull request say.
//!
//! It uses the operator's own `gh` if no file is named; nothing else of the program asks GitHub.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::json;

use super::change::{ask, command};
use super::source;
use crate::adapters::git::facts::folder_in_repository;
use crate::cli::connection::connect::wait_for;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::count;
use crate::client::Client;
use crate::core::id::{FindingId, Seq};
use crate::core::redact::Redactor;
use crate::core::review::{ImportedFinding, ReviewComment};
use crate::core::snapshot::{FINDINGS_MAX, Snapshot};
use crate::host::ProjectContext;
use crate::store::config;
use crate::wire::control::{
    Command, IMPORT_BATCH_MAX, ProgramCode, ReadReview, ReviewChange, ReviewChanged,
};

/// So much of comments goes in one batch, in bytes; a single comment may be longer.
const BATCH_BYTES: usize = 1024 * 1024;

/// How many blockers are named.
const NAMED_MAX: usize = 5;

/// Arguments of `review import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay review import 12\n\n\
        Your own `gh` and its login are used, for this command alone; without a number, for the \
        pull request of the branch you are on. From a file: pages of comments and reviews as \
        `gh api` prints them, pages of threads as `gh api graphql` does, or an object with `comments`, \
        `reviews` and `threads`. A name of \
        GitHub's counts there only where the comment's address, or you, say that it is of that pull \
        request. A file is one review by its path: one that lies elsewhere is another review. \
        Imported again, each finding is the same one: changed, resolved or gone; none is gone \
        where a value could not be read, nor by a file of a pull request's comments, which need not be \
        all of them. What blocks \
        sign-off and is gone or rated lower goes on blocking until you say so.")]
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
    /// Values that name something else than they are of.
    pub(super) refused: u64,
    /// Comments of which GitHub names no thread.
    pub(super) unthreaded: u64,
    /// It is all that the review says, but for what could not be read.
    pub(super) is_whole: bool,
}

pub(super) fn run(context: &CliContext, args: &ReviewSourceArgs) -> CliOutcome {
    let nothing = ReviewChange::Import {
        findings: Vec::new(),
        whole: None,
        read_at: None,
    };
    wait_for(async {
        // Without a daemon nothing could be recorded, and nothing is asked of anybody.
        let live = operator::live(context, &command(&context.project, nothing)).await?;
        // A file is as old as it is, whenever it is read.
        let read_at = match args.from {
            SourceWord::Gh => Some(live.snapshot().await?.seq),
            SourceWord::File | SourceWord::Mock => None,
        };
        let read = source::read(context, args).await?;
        let total = record(&live.client, &context.project, &read, read_at).await?;
        told(context, &read, &total)
    })
}

/// What the operator's `gh` says of this branch's pull request is recorded; what came of it, in a
/// sentence.
///
/// # Errors
///
/// When this is no terminal of the operator's, `gh` cannot say, or the daemon refuses.
pub async fn import_from_deck(client: Client, project: ProjectContext) -> Result<String, String> {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal.message);
    }
    let imported = async {
        let world: Arc<Snapshot> = client.ask_for(Command::ReadSnapshot).await?;
        let read_at = world.seq;
        let read = source::by_gh(&project, || (), None).await?;
        let total = record(&client, &project, &read, Some(read_at)).await?;
        let mut said = left_out(&read, &total);
        said.extend(told_of_blockers(&total));
        said.push(counts(&read, &total));
        Ok::<_, Failure>(said.join("; "))
    };
    imported
        .await
        .map_err(|failure| format!("{}: {}", failure.message, failure.hint))
}

/// Records what was read, in as many commands as that takes. `read_at`: the last entry before its
/// origin was asked.
async fn record(
    client: &Client,
    project: &ProjectContext,
    read: &ReadSource,
    mut read_at: Option<Seq>,
) -> Result<ReviewChanged, Failure> {
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let redactor = Redactor::with(loaded.rules.clone());
    // Paths of findings are relative to the repository.
    let root = project.dirs.root.clone();
    let folder = tokio::task::spawn_blocking(move || folder_in_repository(&root));
    let folder = folder.await.ok().flatten();
    let (mut findings, mut unread) = (Vec::new(), 0);
    for comment in &read.comments {
        match ImportedFinding::of(comment, &read.review, &redactor) {
            Some(found) => findings.push(found.seen_from(folder.as_deref(), &redactor)),
            // An approval has no words, and nothing to say.
            None => unread += u64::from(!comment.body.trim().is_empty()),
        }
    }
    // What has no room is what weighs least.
    findings.sort_by_key(ImportedFinding::rank);
    // What is longer than there is room for is no whole review any more, nor one of which a value
    // could not be read: that may be a finding which stands.
    let unread = read.unread + unread;
    let is_whole = read.is_whole && unread == 0 && findings.len() <= FINDINGS_MAX;
    let beyond = findings.split_off(findings.len().min(FINDINGS_MAX));
    let blocking = beyond.iter().filter(|found| found.would_block());
    let blocking = blocking.map(|found| found.finding.clone()).collect();
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
        left_out: beyond.len() as u64,
        left_out_blocking: blocking,
        refused: read.refused,
        unread,
        ..ReviewChanged::default()
    };
    let parts = batches.into_iter().map(|findings| (findings, None));
    for (findings, whole) in parts.chain([(last, whole)]) {
        let import = ReviewChange::Import {
            findings,
            whole,
            read_at,
        };
        let changed = ask(client, command(project, import)).await?;
        // What this very import recorded is not newer than itself.
        read_at = read_at.map(|seq| changed.seq.unwrap_or(seq));
        add(&mut total, changed);
    }
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
    if total.refused > 0 {
        said.push(format!(
            "{} refused: the name stands for a finding of another pull request, or is one of GitHub's \
             and no address there says so",
            count(total.refused, "finding was", "findings were")
        ));
    }
    if !total.left_out_blocking.is_empty() {
        said.push(format!(
            "{} of what is left out would block sign-off: {}",
            total.left_out_blocking.len(),
            names(&total.left_out_blocking)
        ));
    }
    if total.unread > 0 {
        said.push(format!(
            "{} no comment with a name and words",
            count(total.unread, "value was", "values were")
        ));
    }
    if read.unthreaded > 0 {
        said.push(format!(
            "GitHub names no thread of {}: a new one counts as open, and what was known of others stays",
            count(read.unthreaded, "comment", "comments")
        ));
    }
    said
}

/// The first of them by name.
fn names(ids: &[FindingId]) -> String {
    let mut names: Vec<&str> = ids.iter().take(NAMED_MAX).map(FindingId::as_str).collect();
    names.extend((ids.len() > NAMED_MAX).then_some("more"));
    names.join(", ")
}

/// What became of those that kept the work from being signed off, each a sentence.
fn told_of_blockers(total: &ReviewChanged) -> Vec<String> {
    let mut said = Vec::new();
    if !total.settled.is_empty() {
        said.push(format!(
            "{} sign-off any more, its thread is resolved: {}",
            count(
                total.settled.len() as u64,
                "finding does not block",
                "findings do not block"
            ),
            names(&total.settled)
        ));
    }
    if !total.held.is_empty() {
        said.push(format!(
            "{} sign-off though gone or rated lower since, until you resolve or dismiss it: {}",
            count(
                total.held.len() as u64,
                "finding still blocks",
                "findings still block"
            ),
            names(&total.held)
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
    total.left_out_blocking.extend(changed.left_out_blocking);
    total.refused += changed.refused;
    total.settled.extend(changed.settled);
    total.held.extend(changed.held);
    total.seq = changed.seq.or(total.seq);
}

fn told(context: &CliContext, read: &ReadSource, total: &ReviewChanged) -> CliOutcome {
    let mut text = ReportText::new();
    text.line(counts(read, total));
    let notes = left_out(read, total).into_iter();
    for note in notes.chain(told_of_blockers(total)) {
        text.note(note);
    }
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
        "leftOutBlocking": total.left_out_blocking,
        "unread": total.unread,
        "refused": total.refused,
        "unthreaded": read.unthreaded,
        "settled": total.settled,
        "held": total.held,
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
