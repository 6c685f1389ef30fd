//! `Child`: a process that the test started in its own group. Its output is kept, and it ends with
//! all its descendants when the test drops it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use super::launch::Launch;
use super::wait::{poll_soon, poll_until, timeout, wait_until};

/// How long a process may take to end by itself after a polite signal, before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// What a finished program left.
#[derive(Clone, Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The exit code; a signal counts as 128 + signal, as shells have it.
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON on stdout ({error}): {self:#?}"))
    }

    /// Itself, when the exit code is 0; panics with everything printed otherwise.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "the program failed: {self:#?}");
        self
    }
}

/// A running process with its output collected line by line.
#[derive(Debug)]
pub struct Child {
    name: String,
    inner: std::process::Child,
    stdin: Option<ChildStdin>,
    stdout: Lines,
    stderr: Lines,
}

type Lines = Arc<Mutex<Vec<String>>>;

impl Child {
    /// Starts `launch` in a process group of its own.
    #[track_caller]
    pub fn spawn(launch: &Launch) -> Self {
        let mut command = launch.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut inner = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {launch:?}: {error}"));
        let stdin = inner.stdin.take();
        let stdout = collect(inner.stdout.take().unwrap());
        let stderr = collect(inner.stderr.take().unwrap());
        Self {
            name: launch.name(),
            inner,
            stdin,
            stdout,
            stderr,
        }
    }

    pub fn pid(&self) -> u32 {
        self.inner.id()
    }

    /// The complete lines printed to standard output so far.
    pub fn stdout(&self) -> Vec<String> {
        self.stdout.lock().unwrap().clone()
    }

    /// The complete lines printed to standard error so far.
    pub fn stderr(&self) -> Vec<String> {
        self.stderr.lock().unwrap().clone()
    }

    /// Writes one line to its standard input.
    pub fn write_line(&mut self, line: &str) -> std::io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{line}")?;
        stdin.flush()
    }

    /// Ends its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for a line of standard output that `pick` likes.
    #[track_caller]
    pub fn wait_for_line<T>(&mut self, what: &str, mut pick: impl FnMut(&str) -> Option<T>) -> T {
        let found = poll_until(timeout(), || {
            let hit = self.stdout().iter().find_map(|line| pick(line));
            match (hit, self.try_exit()) {
                (Some(hit), _) => Some(Ok(hit)),
                // One more look: the last line may have come between the look and the exit, or be
                // on its way still.
                (None, Some(status)) => {
                    self.wait_last_words();
                    let hit = self.stdout().iter().find_map(|line| pick(line));
                    Some(hit.ok_or(status))
                }
                (None, None) => None,
            }
        });
        match found {
            Some(Ok(hit)) => hit,
            outcome => panic!(
                "{} never printed {what} ({})\nstdout: {:#?}\nstderr: {:#?}",
                self.name,
                if outcome.is_some() {
                    "it ended"
                } else {
                    "time is up"
                },
                self.stdout(),
                self.stderr()
            ),
        }
    }

    /// Its exit status, if it has ended.
    pub fn try_exit(&mut self) -> Option<ExitStatus> {
        self.inner.try_wait().unwrap()
    }

    /// Waits for its end by itself.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        self.stdin = None;
        let what = format!("the end of {} (pid {})", self.name, self.pid());
        let status = poll_soon(timeout(), || self.try_exit());
        let Some(status) = status else {
            panic!(
                "waited in vain for {what}\nstdout: {:#?}\nstderr: {:#?}",
                self.stdout(),
                self.stderr()
            )
        };
        self.wait_last_words();
        Finished {
            status,
            stdout: joined(&self.stdout),
            stderr: joined(&self.stderr),
        }
    }

    /// It has ended: waits until all that it printed is read. A grandchild may hold the pipe; what
    /// has come by then is what this process wrote.
    fn wait_last_words(&self) {
        let drained = |lines: &Lines| Arc::strong_count(lines) == 1;
        poll_soon(GRACE, || {
            (drained(&self.stdout) && drained(&self.stderr)).then_some(())
        });
    }

    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(as_pid(self.pid()), signal);
    }

    /// SIGKILL to this process alone, as a crash would be; returns when it is gone.
    #[track_caller]
    pub fn crash(&mut self) {
        self.signal(Signal::KILL);
        wait_until("the killed process to be gone", timeout(), || {
            self.try_exit()
        });
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stdin = None;
        let pid = self.pid();
        end_group(pid, || self.inner.try_wait().ok().flatten().is_some());
        if std::thread::panicking() {
            eprintln!(
                "--- {} (pid {pid}) stdout\n{}",
                self.name,
                joined(&self.stdout)
            );
            eprintln!(
                "--- {} (pid {pid}) stderr\n{}",
                self.name,
                joined(&self.stderr)
            );
        }
    }
}

/// Runs `launch` to its end.
#[track_caller]
pub fn run(launch: &Launch) -> Finished {
    Child::spawn(launch).wait()
}

/// Ends the group led by `pid` and every descendant of it: politely first, then by SIGKILL.
/// `gone` reaps the leader and says whether it has ended.
pub fn end_group(pid: u32, mut gone: impl FnMut() -> bool) {
    // Noted before the end, for an orphan is no longer anybody's descendant.
    let family = descendants(pid);
    if !gone() {
        let _ = kill_process_group(as_pid(pid), Signal::TERM);
        poll_until(GRACE, || gone().then_some(()));
    }
    let _ = kill_process_group(as_pid(pid), Signal::KILL);
    for (member, started) in family {
        // The same start time: the number has not been given to somebody else meanwhile.
        if parent_and_start(member).is_some_and(|(_, now)| now == started) {
            let _ = kill_process(as_pid(member), Signal::KILL);
        }
    }
    poll_until(GRACE, || gone().then_some(()));
}

/// All living descendants of `pid` with their start times (Linux; elsewhere the group must do).
pub fn descendants(pid: u32) -> Vec<(u32, u64)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let all: Vec<(u32, u32, u64)> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|member| {
            parent_and_start(member).map(|(parent, start)| (member, parent, start))
        })
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for (member, _, start) in all
            .iter()
            .filter(|(_, its_parent, _)| *its_parent == parent)
        {
            found.push((*member, *start));
            parents.push(*member);
        }
    }
    found
}

/// Whether a process with this number exists and is no zombie (where `/proc` can tell).
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_zombie = stat
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('Z'));
    test_kill_process(as_pid(pid)).is_ok() && !is_zombie
}

/// Parent and start time of a process, from `/proc/PID/stat` fields 4 and 22.
fn parent_and_start(pid: u32) -> Option<(u32, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold blanks and brackets; what follows the last bracket does not.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

fn as_pid(pid: u32) -> Pid {
    Pid::from_raw(pid.cast_signed()).unwrap()
}

fn joined(lines: &Lines) -> String {
    lines
        .lock()
        .unwrap()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect()
}

fn collect(stream: impl Read + Send + 'static) -> Lines {
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line);
            sink.lock()
                .unwrap()
                .push(text.trim_end_matches(['\n', '\r']).to_owned());
            line.clear();
        }
    });
    lines
}
