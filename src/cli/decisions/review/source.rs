//! [`read`]: reads a review from the source that the person names.

use std::ffi::OsStr;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::import::{ReadSource, ReviewSourceArgs, SourceWord, usage};
use crate::adapters::gh::{GH_BYTES_MAX, GH_TIME, Gh, GhFault};
use crate::adapters::plain_file::read_plain;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::hex::hex;
use crate::core::redact::Redactor;
use crate::core::review::{FILE_APART_DIGITS, FILE_REVIEW};
use crate::host::ProjectContext;
use crate::store::config;
use crate::wire::control::{FailureCode, ProgramCode, RefusalCode};
use crate::wire::github::{NamedPull, PullRequest, ReadComments};

/// A few made-up findings, to see what there is to see without a pull request.
const MOCK: &str = include_str!("mock.json");

pub(super) async fn read(
    context: &CliContext,
    args: &ReviewSourceArgs,
) -> Result<ReadSource, Failure> {
    match (args.from, &args.what, &args.file) {
        (SourceWord::Gh, what, None) => {
            let note = || context.out.note("asking GitHub with your `gh`");
            by_gh(&context.project, note, what.as_deref()).await
        }
        (SourceWord::Gh, ..) => Err(usage("a file is read with `--from file`")),
        (SourceWord::Mock, None, None) => mock(),
        (SourceWord::Mock, ..) => Err(usage("`--from mock` makes its findings up")),
        (SourceWord::File, None, _) => Err(usage("`--from file` needs a file")),
        (SourceWord::File, Some(file), None) => of_file(Path::new(file), None),
        (SourceWord::File, Some(pull), Some(file)) => {
            let named = match number(pull) {
                Some(number) => NamedPull::Number(number),
                None => NamedPull::Whole(PullRequest::of_url(pull).ok_or_else(|| {
                    usage("a pull request is named by its number or its address")
                })?),
            };
            of_file(file, Some(named))
        }
    }
}

/// By the operator's own program; `note` is called before it runs.
pub(super) async fn by_gh(
    project: &ProjectContext,
    note: impl FnOnce(),
    what: Option<&str>,
) -> Result<ReadSource, Failure> {
    let is_named = |text: &str| number(text).is_some() || PullRequest::of_url(text).is_some();
    if what.is_some_and(|what| !is_named(what)) {
        return Err(usage(
            "a pull request is named by its number or its address",
        ));
    }
    note();
    let (hold, root) = (&project.own_program, &project.dirs.root);
    let mut gh = Gh::new(hold, OsStr::new("gh"), root, GH_TIME);
    let found = gh.review(what).await;
    let found = found.map_err(|fault| refused(project, &fault))?;
    Ok(ReadSource {
        review: found.pull.review(),
        comments: found.read.comments,
        unread: found.read.unread,
        refused: found.read.refused,
        unthreaded: found.read.unthreaded,
        is_whole: true,
    })
}

/// Of a pull request's number, as it is typed.
fn number(text: &str) -> Option<u64> {
    let is_number = text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn of_file(file: &Path, pull: Option<NamedPull>) -> Result<ReadSource, Failure> {
    let text =
        read_plain(file, GH_BYTES_MAX as u64).map_err(|error| disk::unreadable(file, &error))?;
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let apart = hex(&Sha256::digest(path.as_os_str().as_encoded_bytes()));
    let apart = &apart[..FILE_APART_DIGITS];
    let read = ReadComments::of_file(&text, pull.as_ref(), apart).map_err(|why| {
        Failure::state(
            ProgramCode::NotAReview,
            format!("{} is no review: {why}", file.display()),
            "see `ctxrelay review import --help` for what it may hold",
        )
    })?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let named = match (pull, &read.pull) {
        (Some(NamedPull::Whole(pull)), _) => Some(pull.review()),
        (Some(NamedPull::Number(number)), Some(found)) if found.number != number => {
            let found = found.review();
            return Err(usage(&format!("the comments in it are of {found}")));
        }
        (Some(NamedPull::Number(_)), None) => {
            return Err(usage(
                "none of its comments names its pull request: give the whole address",
            ));
        }
        (_, found) => found.as_ref().map(PullRequest::review),
    };
    Ok(ReadSource {
        // A file of a pull request's comments need not have all of them.
        is_whole: named.is_none(),
        // Another file of the same name is another review.
        review: named.unwrap_or_else(|| format!("{FILE_REVIEW}{name}#{apart}")),
        comments: read.comments,
        unread: read.unread,
        refused: read.refused,
        // Pages of comments alone have no threads.
        unthreaded: 0,
    })
}

fn mock() -> Result<ReadSource, Failure> {
    let read = ReadComments::of_file(MOCK, None, "mock");
    let read = read.map_err(|why| Failure::internal("read the made-up review", why))?;
    Ok(ReadSource {
        review: "mock".to_owned(),
        comments: read.comments,
        unread: read.unread,
        refused: read.refused,
        unthreaded: 0,
        is_whole: true,
    })
}

/// Each cause with its way out; what `gh` says in its own words is masked, by the project's rules too.
fn refused(project: &ProjectContext, fault: &GhFault) -> Failure {
    let (code, hint): (FailureCode, _) = match fault {
        GhFault::Missing => (
            ProgramCode::GhMissing.into(),
            "install it from cli.github.com, or import a file with `--from file`",
        ),
        GhFault::LoggedOut => (
            ProgramCode::GhLoggedOut.into(),
            "run `gh auth login`, then this again, or import a file with `--from file`",
        ),
        GhFault::NoPull => (
            ProgramCode::NoPullRequest.into(),
            "name one by its number or its address (`ctxrelay review import 12`), or import a file with \
             `--from file`",
        ),
        GhFault::RateLimit => (
            ProgramCode::RateLimit.into(),
            "try again in an hour (`gh api rate_limit` says when), or import a file with `--from file`",
        ),
        GhFault::Hidden => (
            ProgramCode::NotVisible.into(),
            "see which login it is with `gh auth status`",
        ),
        GhFault::NoRemote => (
            ProgramCode::NoRemote.into(),
            "run it in a clone of the repository (for a GitHub server of your own: `gh auth login \
             --hostname HOST`), or import a file with `--from file`",
        ),
        GhFault::Elsewhere(_) => (
            ProgramCode::OtherRepository.into(),
            "run it in a clone of that repository",
        ),
        GhFault::Hung => (
            ProgramCode::GhHung.into(),
            "see what `gh pr view` does in this folder",
        ),
        GhFault::TooMuch | GhFault::TooMany { .. } => (
            RefusalCode::TooLarge.into(),
            "import a part of it with `--from file`",
        ),
        GhFault::Unreadable(_) => (
            ProgramCode::GhUnreadable.into(),
            "see whether `gh --version` is 2.x",
        ),
        GhFault::Failed(_) | GhFault::Unstarted(_) => (
            ProgramCode::GhFailed.into(),
            "see what `gh pr view` says in this folder",
        ),
    };
    let said = fault.to_string();
    let rules = config::load(&project.dirs, &project.user_dirs).rules;
    let said = Redactor::with(rules).redact_text(&said).0.into_owned();
    Failure::unavailable(code, format!("{said}; nothing was imported"), hint)
}
