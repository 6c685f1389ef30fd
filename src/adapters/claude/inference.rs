//! [`infer`]: has a model read what an agent said, by a `claude -p` that can do nothing else
//! (`facts/claude-code.md` §5): it has no tools, servers, settings or session of its own, and its
//! folder contains only the question. The person's own account pays for it.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::adapters::gate::is_left_out;
use crate::adapters::hold::{self, HeldChild, spawn_held};

/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// How much is told of a failure, in characters.
const FAILURE_CHARS_MAX: usize = 200;

/// The file of the question. An argument would stand in the list of processes, which everybody on
/// the machine can read.
const PROMPT: &str = "prompt";

const ARGS: [&str; 11] = [
    "-p",
    "--tools",
    "",
    "--restricted",
    "--permission-mode",
    "dontAsk",
    "--strict-mcp-config",
    "--setting-sources",
    "",
    "--no-session-persistence",
    "--output-format=json",
];

/// What is asked of whom.
#[derive(Debug)]
pub struct InferenceOrder {
    /// The `claude` program.
    pub program: PathBuf,
    /// Our own program, which holds it.
    pub hold_program: PathBuf,
    /// Its folder, outside of the project: made, and removed again. One question at a time has it.
    pub folder: PathBuf,
    /// As `--model` takes it.
    pub model: String,
    /// What it may cost, in US dollars.
    pub max_usd: f64,
    /// The question.
    pub prompt: String,
    /// How long the answer may take: [`PATIENCE`].
    pub patience: Duration,
}

/// What came of a question.
#[derive(Debug)]
pub struct InferenceAnswer {
    /// The model's words, or why there are none, as a fragment.
    pub text: Result<String, String>,
    /// What it cost, in millionths of a US dollar, as the program reckons.
    pub cost_micro_usd: Option<u64>,
}

/// The line that `claude -p` ends with.
#[derive(Debug, Deserialize)]
struct ResultFrame {
    #[serde(default)]
    is_error: bool,
    /// How it ended, where there are no words: `error_max_budget_usd`.
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    result: String,
    total_cost_usd: Option<f64>,
}

/// Asks, and waits as long as the order says. `None` when `stop` was sent or dropped. Whatever happens,
/// nothing of it is left running.
pub async fn infer(order: InferenceOrder, stop: oneshot::Receiver<()>) -> Option<InferenceAnswer> {
    let mut child = match begin(&order).await {
        Ok(child) => child,
        Err(error) => return Some(failed(format!("it could not be asked: {error}"))),
    };
    let mark = child.record().mark.clone();
    let answer = tokio::select! {
        answer = timeout(order.patience, read(&mut child)) => Some(match answer {
            Ok(Ok(said)) => answer_of(&said),
            Ok(Err(error)) => failed(format!("its answer cannot be read: {error}")),
            Err(_) => failed(format!("it gave no answer within {} s", order.patience.as_secs())),
        }),
        _ = stop => None,
    };
    child.end().await;
    let rest = tokio::task::spawn_blocking(move || {
        hold::end_marked(&mark);
        sweep(&order.folder);
    });
    let _ = rest.await;
    answer
}

async fn begin(order: &InferenceOrder) -> io::Result<HeldChild> {
    let (folder, prompt) = (order.folder.clone(), order.prompt.clone());
    let made = tokio::task::spawn_blocking(move || make(&folder, &prompt));
    made.await.map_err(io::Error::other)??;
    let mut command = hold::command(&order.hold_program, OsStr::new("sh"));
    command
        .args([
            "-c",
            &format!("exec < {PROMPT}; rm {PROMPT}; exec \"$0\" \"$@\""),
        ])
        .arg(&order.program)
        .args(ARGS)
        .args(["--model", &order.model])
        .args(["--max-budget-usd", &order.max_usd.to_string()])
        .current_dir(&order.folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if is_left_out(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command.env("CONTEXTRELAY_WORKER", "1");
    let mark = uuid::Uuid::new_v4().simple().to_string();
    spawn_held(command, &mark).await.map_err(io::Error::other)
}

fn make(folder: &Path, prompt: &str) -> io::Result<()> {
    sweep(folder);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    fs::write(folder.join(PROMPT), prompt)
}

/// Removes the folder of a question, also one that a daemon which was killed left.
pub fn sweep(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the folder of a question is still there");
    }
}

async fn read(child: &mut HeldChild) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    if let Some(stdout) = child.take_stdout() {
        stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut said).await?;
    }
    Ok(said)
}

/// An error of the API is told in the same frame, as `is_error` (`facts/claude-code.md` §5).
fn answer_of(said: &[u8]) -> InferenceAnswer {
    let Ok(frame) = serde_json::from_slice::<ResultFrame>(said) else {
        return failed("`claude -p` gave no result".to_owned());
    };
    let cost = frame.total_cost_usd.filter(|cost| *cost >= 0.0);
    InferenceAnswer {
        text: match (frame.is_error, frame.result.is_empty()) {
            (_, true) => Err(beginning(&frame.subtype)),
            (true, false) => Err(beginning(&frame.result)),
            (false, false) => Ok(frame.result),
        },
        cost_micro_usd: cost.map(|cost| (cost * 1e6).round() as u64),
    }
}

fn failed(why: String) -> InferenceAnswer {
    InferenceAnswer {
        text: Err(beginning(&why)),
        cost_micro_usd: None,
    }
}

fn beginning(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(FAILURE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_tells_words_and_cost_and_a_failure_whatever_its_name() {
        let answer = answer_of(
            br#"{"type":"result","subtype":"success","is_error":false,"result":"words","total_cost_usd":0.0016}"#,
        );
        assert_eq!(
            (answer.text, answer.cost_micro_usd),
            (Ok("words".to_owned()), Some(1_600))
        );
        let failure =
            answer_of(br#"{"subtype":"success","is_error":true,"result":"Not logged in\nmore"}"#);
        assert_eq!(failure.text, Err("Not logged in".to_owned()));
        let spent = answer_of(br#"{"subtype":"error_max_budget_usd","total_cost_usd":0.06}"#);
        assert_eq!(
            (spent.text, spent.cost_micro_usd),
            (Err("error_max_budget_usd".to_owned()), Some(60_000))
        );
        for said in [&b""[..], b"words", b"[]", b"{\"result\":1}"] {
            assert!(answer_of(said).text.is_err());
        }
    }
}
