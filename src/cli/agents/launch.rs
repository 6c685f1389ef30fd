//! [`Launch`]: a program that is about to replace this process; [`capture`]: runs one to its end
//! for its output.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::adapters::program_start::start;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Output;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::shell::{quote, quoted};
use crate::core::agent::Agent;
use crate::wire::control::ProgramCode;

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(10);

/// How long what a program said is waited for once it has ended.
const REST_WAIT: Duration = Duration::from_millis(500);

/// More than a vendor's own command says.
const OUTPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A program with its arguments and what its environment has to say in addition.
#[derive(Debug, Clone)]
pub struct Launch {
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables beside those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// Its folder; this process's own when absent.
    pub cwd: Option<PathBuf>,
}

impl Launch {
    /// The command line for a shell. `secret` variables are named without their value.
    pub fn shell_line(&self, secret: &[&str]) -> String {
        let mut line = String::new();
        if let Some(cwd) = &self.cwd {
            line.push_str(&format!("cd {} && ", quote(cwd.as_os_str())));
        }
        for (name, value) in &self.env {
            let value = if secret.iter().any(|secret| name == secret) {
                "'(secret)'".to_owned()
            } else {
                quote(value)
            };
            line.push_str(&format!("{}={value} ", name.to_string_lossy()));
        }
        let words = std::iter::once(self.program.clone().into_os_string()).chain(self.args.clone());
        line.push_str(&quoted(words.collect::<Vec<_>>().iter()));
        line
    }

    /// Prints what a dry run would start.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub fn show(&self, out: &Output, secret: &[&str]) -> CliOutcome {
        show_dry_run(out, &[self.shell_line(secret)])
    }

    /// Takes this process's place. Returns only when that fails.
    pub fn exec(self) -> Failure {
        self.exec_without(&[])
    }

    /// As [`Self::exec`], without these variables of this process.
    pub fn exec_without(self, variables: &[&str]) -> Failure {
        let mut command = Command::new(&self.program);
        for variable in variables {
            command.env_remove(variable);
        }
        command.args(&self.args).envs(self.env);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let error = command.exec();
        Failure::unavailable(
            ProgramCode::NotStartable,
            format!("cannot start {}: {error}", self.program.display()),
            "see that it can be run by itself",
        )
    }
}

/// Prints the command lines that would be run, for a shell.
///
/// # Errors
///
/// When standard output cannot be written.
pub fn show_dry_run(out: &Output, commands: &[String]) -> CliOutcome {
    let mut text = ReportText::new();
    for command in commands {
        text.line(command);
    }
    let value = json!({"dryRun": true, "commands": commands});
    out.report(Report::new(&value, text))
}

/// What a program said.
#[derive(Debug, Clone)]
pub struct Captured {
    /// It ended with 0.
    pub ok: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Captured {
    /// Why it failed, as far as it says. Codex 0.169.0 warns before its error, and tells file and line
    /// below it (observed).
    pub fn why(&self) -> String {
        let lines = self
            .stderr
            .lines()
            .chain(self.stdout.lines())
            .map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("WARNING:"));
        let Some(first) = lines.next() else {
            return "no reason given".to_owned();
        };
        let mut causes = lines.skip_while(|line| *line != "Caused by:").skip(1);
        match causes.next() {
            Some(cause) => format!("{first}: {}", cause.strip_prefix("0: ").unwrap_or(cause)),
            None => first.to_owned(),
        }
    }
}

/// Runs a program to its end, without input, within `deadline`. What it leaves running is waited for
/// by nobody, and goes on.
///
/// # Errors
///
/// A sentence, when it cannot be started or takes too long.
pub fn capture(
    program: &Path,
    args: &[OsString],
    cwd: &Path,
    deadline: Duration,
) -> Result<Captured, String> {
    let name = program.display();
    // A group of its own: a wrapper's real program ends with it.
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = start(&mut command).map_err(|error| format!("cannot start {name}: {error}"))?;
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < deadline => std::thread::sleep(LOOK),
            Ok(None) => {
                if let Some(group) = i32::try_from(child.id())
                    .ok()
                    .and_then(rustix::process::Pid::from_raw)
                {
                    // It may just have ended by itself.
                    let _ =
                        rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.wait();
                return Err(format!(
                    "{name} did not end within {} s",
                    deadline.as_secs()
                ));
            }
            Err(error) => return Err(format!("cannot wait for {name}: {error}")),
        }
    };
    // What it left running may keep these open for as long as it likes.
    let until = Instant::now() + REST_WAIT;
    let text = |chunks: Option<Receiver<Vec<u8>>>| {
        let bytes = chunks.map(|chunks| read_until(&chunks, until));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ok(Captured {
        ok: status.success(),
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// What comes from there, at most [`OUTPUT_BYTES_MAX`].
fn reader(from: impl std::io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (chunks, read) = channel();
    std::thread::spawn(move || {
        let mut from = from.take(OUTPUT_BYTES_MAX);
        let mut chunk = vec![0; 8 * 1024];
        // What was read before an error is worth having.
        while let Ok(length @ 1..) = from.read(&mut chunk)
            && chunks.send(chunk[..length].to_vec()).is_ok()
        {}
    });
    read
}

fn read_until(chunks: &Receiver<Vec<u8>>, until: Instant) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
        bytes.extend(chunk);
    }
    bytes
}

/// An agent's program that is not there.
pub fn missing(agent: Agent, variable: &str, get: &str) -> Failure {
    Failure::unavailable(
        match agent {
            Agent::Claude => ProgramCode::NoClaude,
            Agent::Codex => ProgramCode::NoCodex,
        },
        format!("the `{agent}` program is not found"),
        format!("install it ({get}), or name it with {variable}"),
    )
}

/// Codex's program that is not there.
pub fn missing_codex() -> Failure {
    missing(
        Agent::Codex,
        "CONTEXTRELAY_CODEX_BIN",
        "npm install -g @openai/codex",
    )
}

/// Claude's program that is not there.
pub fn missing_claude() -> Failure {
    missing(
        Agent::Claude,
        "CONTEXTRELAY_CLAUDE_BIN",
        "npm install -g @anthropic-ai/claude-code",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_and_not_shown() {
        let launch = Launch {
            program: "/usr/bin/codex".into(),
            args: vec!["resume".into(), "two words".into()],
            env: vec![
                ("TOKEN".into(), "abc".into()),
                ("MODE".into(), "a b".into()),
            ],
            cwd: Some("/tmp/x y".into()),
        };
        assert_eq!(
            launch.shell_line(&["TOKEN"]),
            "cd '/tmp/x y' && TOKEN='(secret)' MODE='a b' /usr/bin/codex resume 'two words'"
        );
    }

    #[test]
    fn why_a_program_failed_is_its_error_and_the_first_cause() {
        let why = |stderr: &str, stdout: &str| {
            let (stderr, stdout) = (stderr.to_owned(), stdout.to_owned());
            let ok = false;
            Captured { ok, stdout, stderr }.why()
        };
        let codex = "WARNING: proceeding, even though\nError: failed to load bootstrap configuration\n\n\
                     Caused by:\n    0: /home/me/config.toml:1:5: key with no value\n    1: TOML\n";
        assert_eq!(
            why(codex, ""),
            "Error: failed to load bootstrap configuration: /home/me/config.toml:1:5: key with no value"
        );
        assert_eq!(why("", "\n no such plugin\nmore\n"), "no such plugin");
        assert_eq!(why("Caused by:\n", ""), "Caused by:");
        assert_eq!(why("WARNING: x\n", " "), "no reason given");
    }

    #[test]
    fn what_a_program_leaves_running_with_its_output_is_not_waited_for() {
        let args = ["-c".into(), "echo said; sleep 60 & echo $!".into()];
        let here = std::env::temp_dir();
        let day = Duration::from_secs(24 * 60 * 60);
        let begun = Instant::now();
        let said = capture(Path::new("/bin/sh"), &args, &here, day).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(50));
        let left = said.stdout.strip_prefix("said\n").unwrap().trim();
        let left = left.parse().ok().and_then(rustix::process::Pid::from_raw);
        // It goes on.
        rustix::process::kill_process(left.unwrap(), rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let args = ["-c".into(), "sleep 60 & sleep 60".into()];
        let here = std::env::temp_dir();
        let begun = Instant::now();
        let said = capture(
            Path::new("/bin/sh"),
            &args,
            &here,
            Duration::from_millis(200),
        );
        assert!(said.unwrap_err().contains("did not end"));
        // The readers would wait for the grandchild, had it been left.
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
