//! [`GitCommand`]: runs one `git` and returns its output, within a deadline.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::deadline::GitDeadline;
use crate::adapters::program_start::start;

/// A caller inside a git hook has these set, and they would point somewhere else.
pub(in crate::adapters) const POINTERS: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_CONFIG_PARAMETERS",
];

/// With these a user says how paths are meant.
const PATHSPECS: [&str; 4] = [
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// A `git` that can be asked.
#[derive(Debug)]
pub(in crate::adapters) struct GitCommand {
    command: Command,
    deadline: GitDeadline,
}

/// `git` in a folder.
pub(in crate::adapters) fn git(root: &Path, deadline: GitDeadline) -> GitCommand {
    let mut git = plain_git(deadline);
    git.arg("-C").arg(root).args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.safecrlf=false",
    ]);
    git
}

/// `git` that is told nothing yet.
pub(in crate::adapters) fn plain_git(deadline: GitDeadline) -> GitCommand {
    let mut command = Command::new("git");
    for name in POINTERS.iter().chain(&PATHSPECS) {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0");
    // What is not here is not fetched: the configuration names the program for that too.
    command.env("GIT_NO_LAZY_FETCH", "1");
    command.env("GIT_ALLOW_PROTOCOL", "");
    GitCommand { command, deadline }
}

impl GitCommand {
    pub(in crate::adapters) fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(arg);
        self
    }

    pub(in crate::adapters) fn args(
        &mut self,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> &mut Self {
        self.command.args(args);
        self
    }

    pub(in crate::adapters) fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// For who waits for it in another way.
    pub(in crate::adapters) fn into_command(self) -> Command {
        self.command
    }

    /// What it prints of this, and how it ended; none where that took too long.
    fn printed<P: Read + Send + 'static>(
        &mut self,
        pipe: fn(&mut Child) -> Option<P>,
    ) -> Option<(Vec<u8>, ExitStatus)> {
        let end = self.deadline.end();
        if Instant::now() >= end {
            return None;
        }
        let mut child = start(&mut self.command).ok()?;
        let mut pipe = pipe(&mut child)?;
        let pid = Pid::from_child(&child);
        let (sender, ended) = std::sync::mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.read_to_end(&mut bytes);
            // It stays for who started it, and may be killed until then.
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let end = retry_on_intr(|| waitid(WaitId::Pid(pid), end));
            // Nobody waits any more for one that took too long.
            let _ = sender.send(read.ok().filter(|_| end.is_ok()).map(|_| bytes));
        });
        let left = end.saturating_duration_since(Instant::now());
        match ended.recv_timeout(left).ok().flatten() {
            Some(bytes) => Some((bytes, child.wait().ok()?)),
            None => {
                end_apart(child);
                None
            }
        }
    }
}

/// Ends it, and waits for that beside: one that waits for a disk ends when the disk answers.
fn end_apart(mut child: Child) {
    let _ = child.kill();
    thread::spawn(move || child.wait());
}

/// Whether there is a `git`. Without it there is no tree to be like another one.
pub(in crate::adapters) fn has_git() -> bool {
    let mut command = Command::new("git");
    command.arg("--version").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match start(&mut command) {
        // It need not say anything.
        Ok(child) => {
            end_apart(child);
            true
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

pub(in crate::adapters) fn line(command: &mut GitCommand) -> Option<String> {
    let text = text(command)?;
    let line = text.trim_end_matches('\n');
    (!line.is_empty()).then(|| line.to_owned())
}

/// What came of a thread that asked git; nothing where it panicked.
pub(in crate::adapters) fn said<T>(thread: ScopedJoinHandle<'_, Option<T>>) -> Option<T> {
    thread.join().ok().flatten()
}

pub(in crate::adapters) fn text(command: &mut GitCommand) -> Option<String> {
    bytes(command).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// What a command prints, if it ends in time and well.
pub(in crate::adapters) fn bytes(command: &mut GitCommand) -> Option<Vec<u8>> {
    bytes_with(command, Stdio::null())
}

/// As [`bytes()`], of a command that reads something.
pub(in crate::adapters) fn bytes_with(command: &mut GitCommand, input: Stdio) -> Option<Vec<u8>> {
    let to = &mut command.command;
    to.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
    let (bytes, status) = command.printed(|child| child.stdout.take())?;
    status.success().then_some(bytes)
}

/// One line of it, and not a long one: names and subjects are whatever somebody committed.
pub(in crate::adapters) fn short_line(text: &str, chars_max: usize) -> String {
    let seen = text.chars().filter(|c| !c.is_control());
    seen.take(chars_max).collect()
}

/// What a command says where it fails; none where it takes too long.
pub(in crate::adapters) fn complaint(command: &mut GitCommand) -> Option<String> {
    let to = &mut command.command;
    to.stdin(Stdio::null()).stdout(Stdio::null());
    to.stderr(Stdio::piped());
    let (bytes, _) = command.printed(|child| child.stderr.take())?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    /// A program that says which process it is, and does nothing more.
    fn hanging(folder: &Path, deadline: GitDeadline) -> GitCommand {
        let mut command = Command::new("sh");
        let script = "echo $$ >pid.new; mv pid.new pid; exec sleep 600";
        command.current_dir(folder).args(["-c", script]);
        GitCommand { command, deadline }
    }

    /// Whether a process is there, or was not waited for yet.
    fn is_there(pid: &str) -> bool {
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[test]
    fn one_that_hangs_is_told_of_at_the_deadline_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let deadline = GitDeadline::within(Duration::from_secs(5));
        let mut command = hanging(folder.path(), deadline);
        assert_eq!(text(&mut command), None);
        assert!(deadline.is_over());
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while is_there(&pid) {
            assert!(Instant::now() < end, "{pid} is still there");
            thread::yield_now();
        }
        // From then on none is begun.
        fs::remove_file(folder.path().join("pid")).unwrap();
        let mut command = hanging(folder.path(), deadline);
        assert_eq!(text(&mut command), None);
        assert!(!folder.path().join("pid").exists());
    }
}
