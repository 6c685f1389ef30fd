//! [`copy`]: puts text on the clipboard of the person at this terminal.

use std::io::{self, Write as _, stdout};
use std::process::{Command, Stdio};

use crossterm::clipboard::CopyToClipboard;
use crossterm::execute;

/// Puts it there. In tmux by tmux's own command: of what programs print it takes nothing for the
/// clipboard unless `set-clipboard` is `on`, and then what agents print could change it too. Elsewhere,
/// and where tmux has no such command (before 3.2), by OSC 52.
///
/// # Errors
///
/// When the terminal is gone.
pub(in crate::deck) fn copy(text: &str) -> io::Result<()> {
    let is_in_tmux = std::env::var_os("TMUX").is_some_and(|tmux| !tmux.is_empty());
    if is_in_tmux && by_tmux(text).is_ok() {
        return Ok(());
    }
    execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
}

fn by_tmux(text: &str) -> io::Result<()> {
    let mut tmux = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Dropped behind it: tmux reads to the end.
    let given = match tmux.stdin.take() {
        Some(mut input) => input.write_all(text.as_bytes()),
        None => Ok(()),
    };
    let is_taken = tmux.wait()?.success();
    given?;
    match is_taken {
        true => Ok(()),
        false => Err(io::Error::other("tmux does not take it")),
    }
}
