//! [`Gh`]: runs the operator's own `gh` to get the reviews of a pull request.
//!
//! It runs with the operator's login and with none of our tokens, under a hold: whatever it starts
//! ends with it, with its time limit, and with us. Its output is read, never run, and shown masked.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::gate::{self, REST_WAIT};
use super::hold::{self, HoldError, spawn_held};
use crate::wire::github::{PullRequest, ReadComments, ReviewThreads, THREADS_QUERY};

/// How long all calls of an import may take together.
pub const GH_TIME: Duration = Duration::from_secs(60);

/// How much all calls of an import may print together, in bytes.
pub const GH_BYTES_MAX: usize = 20 * 1024 * 1024;

/// How much of its complaint is read, in bytes.
const COMPLAINT_BYTES_MAX: usize = 16 * 1024;

/// How many are asked for at once; GitHub gives no more.
const PER_PAGE: usize = 100;

/// How many pages of one sort are asked for.
const PAGES_MAX: usize = 50;

/// Exits with this where it is not logged in (gh 2.x).
const NOT_LOGGED_IN: i32 = 4;

/// Why there is no answer.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GhFault {
    /// It is not on `PATH`.
    #[error("`gh` is not installed")]
    Missing,
    /// It has no login.
    #[error("`gh` is not logged in")]
    LoggedOut,
    /// There is no such pull request.
    #[error("there is no such pull request")]
    NoPull,
    /// GitHub takes no more calls for now.
    #[error("GitHub takes no more calls for now (rate limit)")]
    RateLimit,
    /// The login may not see it.
    #[error("GitHub does not show it to this login, or it is not there")]
    Hidden,
    /// The project has no repository on GitHub.
    #[error("this project has no remote on a GitHub that `gh` knows")]
    NoRemote,
    /// The pull request is one of another repository.
    #[error("{0} is a pull request of another repository")]
    Elsewhere(String),
    /// It does not end.
    #[error("`gh` took longer than {} s and was stopped", GH_TIME.as_secs())]
    Hung,
    /// It prints without end.
    #[error("`gh` printed more than {} MiB and was stopped", GH_BYTES_MAX / 1024 / 1024)]
    TooMuch,
    /// There are more of one sort than are asked for.
    #[error("the pull request has {most} {sort} or more, which is more than is asked for")]
    TooMany { sort: &'static str, most: usize },
    /// What it printed is not what it is documented to print.
    #[error("`gh` answered something that cannot be read: {0}")]
    Unreadable(String),
    /// Anything else, in its own words.
    #[error("`gh` failed: {0}")]
    Failed(String),
    /// It could not be started.
    #[error("`gh` could not be started: {0}")]
    Unstarted(String),
}

/// What it is asked with.
#[derive(Debug)]
pub struct Gh {
    hold_program: PathBuf,
    program: OsString,
    root: PathBuf,
    until: Instant,
    bytes_left: usize,
}

/// What a review says.
#[derive(Debug)]
pub struct GhReview {
    pub pull: PullRequest,
    /// What is said of it.
    pub read: ReadComments,
}

impl Gh {
    /// In a project, by the program of this name or path. The time begins now. `hold_program` is our
    /// own binary.
    pub fn new(hold_program: &Path, program: &OsStr, root: &Path, time: Duration) -> Self {
        Self {
            hold_program: hold_program.to_owned(),
            program: program.to_owned(),
            root: root.to_owned(),
            until: Instant::now() + time,
            bytes_left: GH_BYTES_MAX,
        }
    }

    /// All that the reviews of a pull request say; of the branch's own where none is named. A name is
    /// a number or an address.
    ///
    /// # Errors
    ///
    /// See [`GhFault`]; of a part of it nothing is told.
    pub async fn review(&mut self, named: Option<&str>) -> Result<GhReview, GhFault> {
        let mut view = vec!["pr", "view"];
        view.extend(named);
        view.extend(["--json", "number,url"]);
        let seen = self.json(&view).await?;
        let url = seen.get("url").and_then(Value::as_str).unwrap_or_default();
        let pull =
            PullRequest::of_url(url).ok_or_else(|| unreadable("no pull request's address"))?;
        if named.is_some_and(|named| named.starts_with("https://")) {
            self.check_repository(&pull).await?;
        }
        let threads = self.threads(&pull).await?;
        let mut read = ReadComments::default();
        for sort in ["comments", "reviews"] {
            self.pages(&pull, sort, &threads, &mut read).await?;
        }
        Ok(GhReview { pull, read })
    }

    /// Refuses a pull request that is of neither this repository nor the one it was forked from.
    async fn check_repository(&mut self, pull: &PullRequest) -> Result<(), GhFault> {
        let seen = self
            .json(&["repo", "view", "--json", "nameWithOwner,parent,url"])
            .await?;
        // What it was forked from is on the same server.
        let url = seen.get("url").and_then(Value::as_str).unwrap_or_default();
        let own = seen.get("nameWithOwner").and_then(Value::as_str);
        let parent = seen.get("parent").and_then(|parent| {
            let owner = parent.pointer("/owner/login")?.as_str()?;
            Some(format!("{owner}/{}", parent.get("name")?.as_str()?))
        });
        let mut names = own.into_iter().chain(parent.as_deref());
        match names.any(|name| pull.is_of(url, name)) {
            true => Ok(()),
            false => Err(GhFault::Elsewhere(pull.review())),
        }
    }

    async fn threads(&mut self, pull: &PullRequest) -> Result<ReviewThreads, GhFault> {
        let mut threads = ReviewThreads::default();
        let mut cursor: Option<String> = None;
        let query = format!("query={THREADS_QUERY}");
        let (owner, name) = (
            format!("owner={}", pull.owner),
            format!("name={}", pull.name),
        );
        let number = format!("number={}", pull.number);
        for _ in 0..PAGES_MAX {
            let after = cursor.as_ref().map(|cursor| format!("cursor={cursor}"));
            let mut args = vec!["api", "graphql", "--hostname", &pull.host, "-f", &query];
            args.extend(["-f", &owner, "-f", &name, "-F", &number]);
            if let Some(after) = &after {
                args.extend(["-f", after]);
            }
            let page = self.json(&args).await?;
            let next = threads.take_page(&page);
            cursor = next.ok_or_else(|| unreadable("no page of review threads"))?;
            if cursor.is_none() {
                return Ok(threads);
            }
        }
        Err(too_many("threads"))
    }

    async fn pages(
        &mut self,
        pull: &PullRequest,
        sort: &'static str,
        threads: &ReviewThreads,
        read: &mut ReadComments,
    ) -> Result<(), GhFault> {
        let PullRequest {
            owner,
            name,
            number,
            ..
        } = pull;
        for page in 1..=PAGES_MAX {
            let path = format!(
                "repos/{owner}/{name}/pulls/{number}/{sort}?per_page={PER_PAGE}&page={page}"
            );
            let found = self.json(&["api", "--hostname", &pull.host, &path]).await?;
            let Value::Array(found) = found else {
                return Err(unreadable("no page of comments"));
            };
            read.take(&found, threads);
            if found.len() < PER_PAGE {
                return Ok(());
            }
        }
        Err(too_many(sort))
    }

    async fn json(&mut self, args: &[&str]) -> Result<Value, GhFault> {
        let printed = self.call(args).await?;
        serde_json::from_slice(&printed).map_err(|error| unreadable(&error.to_string()))
    }

    /// One call, to its end.
    async fn call(&mut self, args: &[&str]) -> Result<Vec<u8>, GhFault> {
        let mut command = hold::command(&self.hold_program, &self.program);
        command
            .args(args)
            .current_dir(&self.root)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if is_left_out(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        command
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("NO_COLOR", "1");
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let child = timeout_at(self.until, spawn_held(command, &mark)).await;
        let mut child = match child {
            Err(_) => return Err(GhFault::Hung),
            Ok(Ok(child)) => child,
            Ok(Err(HoldError::Command(why))) if is_missing(&why) => return Err(GhFault::Missing),
            Ok(Err(error)) => return Err(GhFault::Unstarted(error.to_string())),
        };
        let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
        let (mut printed, mut complaint) = (Vec::new(), Vec::new());
        let (is_all, code) = {
            let mut reading = pin!(async {
                let complaint = all_of(stderr, COMPLAINT_BYTES_MAX, &mut complaint);
                tokio::join!(all_of(stdout, self.bytes_left, &mut printed), complaint).0
            });
            let said = async {
                tokio::select! {
                    is_all = &mut reading => (Some(is_all), child.gone().await),
                    code = child.gone() => (None, code),
                }
            };
            let said = timeout_at(self.until, said).await;
            child.end().await;
            // A grandchild in a group of its own holds nobody up, and does not outlive its owner.
            let strays = tokio::task::spawn_blocking(move || hold::end_marked(&mark));
            let _ = strays.await;
            let Ok((is_all, code)) = said else {
                return Err(GhFault::Hung);
            };
            let is_all = match is_all {
                Some(is_all) => is_all,
                // One without our mark may hold the outputs open. What `gh` printed is there by now.
                None => timeout(REST_WAIT, reading).await.unwrap_or(true),
            };
            (is_all, code.ok().flatten())
        };
        if !is_all {
            return Err(GhFault::TooMuch);
        }
        self.bytes_left -= printed.len();
        match code {
            Some(0) => Ok(printed),
            code => Err(fault(code, &String::from_utf8_lossy(&complaint))),
        }
    }
}

/// Reads until the end, or until it is too much; whether that is all. What was read by then is kept
/// where nobody waits any longer.
async fn all_of(from: Option<impl AsyncRead + Unpin>, max: usize, bytes: &mut Vec<u8>) -> bool {
    let Some(mut from) = from else {
        return true;
    };
    let mut piece = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let room = max - bytes.len();
        bytes.extend(&piece[..read.min(room)]);
        if read > room {
            return false;
        }
    }
    true
}

/// What it means by what it prints when it fails (gh 2.x).
fn fault(code: Option<i32>, complaint: &str) -> GhFault {
    let said = complaint.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if says(&["rate limit", "http 429", "abuse detection"]) {
        GhFault::RateLimit
    } else if says(&["none of the git remotes"]) {
        // Its sentence goes on to name `gh auth login` for a server that it does not know.
        GhFault::NoRemote
    } else if code == Some(NOT_LOGGED_IN) || says(&["gh auth login", "http 401", "bad credentials"])
    {
        GhFault::LoggedOut
    } else if says(&[
        "no pull requests found",
        "could not resolve to a pullrequest",
    ]) {
        GhFault::NoPull
    } else if says(&["no git remotes", "not a git repository"]) {
        GhFault::NoRemote
    } else if says(&["http 404", "could not resolve to a repository", "http 403"]) {
        GhFault::Hidden
    } else {
        let line = complaint.lines().find(|line| !line.trim().is_empty());
        let line: String = line
            .unwrap_or("it gives no reason")
            .chars()
            .take(200)
            .collect();
        GhFault::Failed(line)
    }
}

fn too_many(sort: &'static str) -> GhFault {
    let most = PER_PAGE * PAGES_MAX;
    GhFault::TooMany { sort, most }
}

fn unreadable(why: &str) -> GhFault {
    GhFault::Unreadable(why.to_owned())
}

fn is_missing(why: &str) -> bool {
    why.contains("No such file")
}

/// What has `gh` print what it sends, look elsewhere, or print as to a terminal: then it colours even
/// JSON, whatever `NO_COLOR` says.
const MISLEADING: [&str; 5] = [
    "GH_DEBUG",
    "DEBUG",
    "GH_REPO",
    "GH_FORCE_TTY",
    "CLICOLOR_FORCE",
];

/// Whether a variable is an agent's, one of ours, or would mislead git or `gh`.
fn is_left_out(name: &str) -> bool {
    gate::is_left_out(name) || MISLEADING.contains(&name)
}
