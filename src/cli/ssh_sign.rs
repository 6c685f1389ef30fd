//! [`ssh_sign`]: has `ssh-keygen` sign with a person's own key. The agent works, and a security key
//! waits for a touch.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::adapters::program_start::start;
use crate::core::hex::hex;
use crate::core::signing::{SSH_NAMESPACE, Signer, signature_of_armor};

/// How long a person may take to touch the key, or to type what it asks for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// How long it may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// More than any signature is long.
const BYTES_MAX: u64 = 64 * 1024;

/// Where `ssh-keygen` may ask.
#[derive(Debug, Clone, Copy)]
pub enum Asking<'a> {
    /// On the terminal, as by itself.
    Terminal,
    /// Nowhere but in a window of its own (`SSH_ASKPASS`): the screen is taken. `program`: ours.
    Elsewhere {
        /// Ours, which begins it in a session without a terminal.
        program: &'a Path,
    },
}

/// The signature of these bytes, in hex. `is_left`: nobody waits for it any more.
///
/// # Errors
///
/// A sentence.
pub fn ssh_sign(
    signer: &Signer,
    public_key: &Path,
    message: &[u8],
    asking: Asking<'_>,
    is_left: &dyn Fn() -> bool,
) -> Result<String, String> {
    let mut command = match asking {
        Asking::Terminal => Command::new("ssh-keygen"),
        Asking::Elsewhere { program } => {
            let mut command = Command::new(program);
            command.args(["apart", "--", "ssh-keygen"]);
            command
        }
    };
    command
        .args(["-Y", "sign", "-n", SSH_NAMESPACE, "-f"])
        .arg(public_key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(match asking {
            Asking::Terminal => Stdio::inherit(),
            Asking::Elsewhere { .. } => Stdio::piped(),
        });
    let cannot = |error| format!("ssh-keygen cannot be run: {error}");
    let mut child = start(&mut command).map_err(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it did not read it says itself.
        let _ = stdin.write_all(message);
    }
    let has_ended = wait(&mut child, is_left);
    if let Err(why) = has_ended {
        end(&mut child);
        return Err(why);
    }
    let mut armor = String::new();
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(BYTES_MAX).read_to_string(&mut armor);
    }
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(BYTES_MAX).read_to_string(&mut said);
    }
    let Some(value) = signature_of_armor(&armor).map(|bytes| hex(&bytes)) else {
        let why = said.lines().rfind(|line| !line.trim().is_empty());
        let why = why.unwrap_or("it says no more").trim();
        return Err(format!("ssh-keygen has not signed: {why}"));
    };
    match signer.verifies(message, &value) {
        true => Ok(value),
        false => Err(format!(
            "{} was replaced, or the key was not touched: its signature is not one of {signer}",
            public_key.display()
        )),
    }
}

/// Ends it. It may be asking on the terminal, which shows no typed letter then: told to end, it gives
/// the terminal back as it was, and killed it cannot.
fn end(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let begun = Instant::now();
    while let Ok(None) = child.try_wait()
        && begun.elapsed() < GRACE
    {
        sleep(LOOK_EVERY);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits for its end. What it prints fits into the pipes.
fn wait(child: &mut Child, is_left: &dyn Fn() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if is_left() => return Err("left".to_owned()),
            Ok(None) if begun.elapsed() > PATIENCE => {
                let seconds = PATIENCE.as_secs();
                return Err(format!(
                    "the key was not touched, or its passphrase not typed, within {seconds} s"
                ));
            }
            Ok(None) => sleep(LOOK_EVERY),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn it_is_told_to_end_before_it_is_killed() {
        let place = tempfile::tempdir().unwrap();
        let mark = place.path().join("mark");
        let asks = "trap 'touch \"$0\"; exit 1' TERM; echo asks; while :; do sleep 0.05; done";
        let mut child = Command::new("sh")
            .args(["-c", asks])
            .arg(&mark)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        end(&mut child);
        assert!(mark.exists(), "it could give nothing back");
        assert!(child.try_wait().unwrap().is_some());
    }
}
