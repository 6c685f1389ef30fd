//! [`run`]: the plugin's monitor. Each line on standard output wakes Claude.
//!
//! Claude Code 2.1.330 never restarts a monitor, spends a turn on one that ends, and leaves one
//! behind when it is killed (observed). So this process ends when its Claude is gone, and not
//! before.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::broadcast;

use super::process::Process;
use super::stdio::signals;
use crate::client::Client;
use crate::core::trace;
use crate::wire::control::Notification;

/// The longest line that Claude Code 2.1.330 takes whole, in characters (observed).
const LINE_CHARS_MAX: usize = 500;

/// How often it is looked whether Claude still lives.
const LIFE_POLL: Duration = Duration::from_secs(1);

/// Prints a line for each ring until the Claude process is gone or a signal comes.
///
/// `client` is one that attaches as the doorbell (`Command::DoorbellAttach`) on each connect.
pub async fn run(client: Client, claude_pid: u32) {
    let Some(claude) = Process::find(claude_pid) else {
        return;
    };
    tokio::select! {
        () = ring(&client, tokio::io::stdout()) => {}
        () = gone(claude) => {}
        () = signals() => {}
    }
}

/// Prints rings; never ends.
async fn ring<W: AsyncWrite + Unpin>(client: &Client, mut output: W) {
    let mut notifications = client.notifications();
    let mut open = true;
    loop {
        let line = match notifications.recv().await {
            Ok(Notification::Ring { line, ids }) => {
                for id in &ids {
                    trace::message(id).in_scope(|| tracing::debug!("rung for claude"));
                }
                one_line(&line)
            }
            // Something was missed; that it was a ring is likely enough to look.
            Err(broadcast::error::RecvError::Lagged(_)) => {
                "new messages. Call get_messages.".to_owned()
            }
            Ok(_) => continue,
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        };
        if open && !line.is_empty() {
            let written = async {
                output.write_all(line.as_bytes()).await?;
                output.write_all(b"\n").await?;
                output.flush().await
            };
            // Nobody reads any more; ending would cost a turn all the same.
            open = written.await.is_ok();
        }
    }
}

/// Makes sure that a ring is one line, short, and no sequence for a terminal.
fn one_line(line: &str) -> String {
    let clean = line
        .chars()
        .map(|character| {
            if character.is_whitespace() {
                ' '
            } else {
                character
            }
        })
        .filter(|character| !character.is_control());
    clean
        .take(LINE_CHARS_MAX)
        .collect::<String>()
        .trim()
        .to_owned()
}

async fn gone(claude: Process) {
    let mut poll = tokio::time::interval(LIFE_POLL);
    loop {
        poll.tick().await;
        if !claude.lives() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
