//! [`ssh_sign`]: signs with a person's own key through `ssh-keygen`. An SSH agent works, and a
//! security key waits for a touch.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::adapters::program_start::start;
use crate::cli::text::shell::quoted;
use crate::cli::text::words::short;
use crate::core::hex::hex;
use crate::core::signer::{SSH_NAMESPACE, Signer, signature_of_armor};

/// How long a person may take to touch the key, or to type what it asks for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// How long it may take to end once it is told to: it puts the terminal back, which nothing else knows.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// How much of what it complains about is told, in characters.
const COMPLAINT_CHARS: usize = 600;

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
    let modes = match asking {
        Asking::Terminal => File::open("/dev/tty").ok().and_then(TerminalModes::of),
        Asking::Elsewhere { .. } => None,
    };
    let mut child = start(&mut command).map_err(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it did not read it says itself.
        let _ = stdin.write_all(message);
    }
    if let Err(why) = wait(&mut child, is_left) {
        end(&mut child);
        if let Some(modes) = modes {
            modes.put_back();
        }
        return Err(match why {
            Unended::Left => "left".to_owned(),
            Unended::Late => late(signer.wants_touch(), asking),
            Unended::Unknown(error) => error.to_string(),
        });
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
        return Err(format!("ssh-keygen has not signed: {}", complaint(&said)));
    };
    match signer.verifies(message, &value) {
        true => Ok(value),
        false => {
            let touch = match signer.wants_touch() {
                true => ", or the key was not touched",
                false => "",
            };
            Err(format!(
                "{} was replaced{touch}: its signature is not one of {signer}",
                public_key.display()
            ))
        }
    }
}

/// What it said, as one sentence. The reason may be its first line: the last one says only that it
/// failed.
fn complaint(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut told: Vec<&str> = Vec::new();
    for line in lines {
        if !told.contains(&line) {
            told.push(line);
        }
    }
    match told.is_empty() {
        true => "it says no more".to_owned(),
        false => short(&told.join("; "), COMPLAINT_CHARS),
    }
}

/// What a person can do whose key wants something that cannot be asked for on the screen.
pub fn help_elsewhere(signer: &Signer, public_key: &Path, has_agent: bool) -> String {
    let is_pub = public_key.extension().is_some_and(|ending| ending == "pub");
    let private = match is_pub {
        true => public_key.with_extension(""),
        false => public_key.to_path_buf(),
    };
    // Whatever else runs as this person can have the agent sign: unless that takes a touch, it is to
    // ask first.
    let (wants, add): (&str, &[&str]) = match signer.wants_touch() {
        true => ("Where this security key wants a PIN", &["ssh-add"]),
        false => ("Where this key has a passphrase", &["ssh-add", "-c"]),
    };
    let mut add: Vec<OsString> = add.iter().map(OsString::from).collect();
    add.push(private.into_os_string());
    let add = quoted(&add);
    let agent = match has_agent {
        true => String::new(),
        false => " This deck knows no ssh-agent (SSH_AUTH_SOCK is not set): start it again from a \
                  shell that does."
            .to_owned(),
    };
    format!(
        "{wants}, nothing can ask for it on this screen: load the key into ssh-agent in another \
         terminal (`{add}`) and decide again, or decide on the command line, where it is asked \
         for.{agent}"
    )
}

/// Why the end of `ssh-keygen` is not waited for any more.
enum Unended {
    Left,
    Late,
    Unknown(std::io::Error),
}

/// Waits for its end. What it prints fits into the pipes.
fn wait(child: &mut Child, is_left: &dyn Fn() -> bool) -> Result<(), Unended> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if is_left() => return Err(Unended::Left),
            Ok(None) if begun.elapsed() > PATIENCE => return Err(Unended::Late),
            Ok(None) => sleep(LOOK_EVERY),
            Err(error) => return Err(Unended::Unknown(error)),
        }
    }
}

/// What it waited for, in a sentence.
fn late(touch: bool, asking: Asking<'_>) -> String {
    let seconds = PATIENCE.as_secs();
    match (touch, asking) {
        (true, _) => format!("the key was not touched within {seconds} s"),
        (false, Asking::Terminal) => {
            format!("the passphrase of the key was not typed within {seconds} s")
        }
        (false, Asking::Elsewhere { .. }) => format!(
            "ssh-keygen has not signed within {seconds} s: it may wait for the passphrase of the key"
        ),
    }
}

/// Ends it: first as it can put back what it changed.
fn end(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let begun = Instant::now();
    while begun.elapsed() < ENDS_WITHIN {
        match child.try_wait() {
            Ok(None) => sleep(LOOK_EVERY),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// How a terminal was before another program had it.
struct TerminalModes {
    terminal: File,
    before: Termios,
}

impl TerminalModes {
    fn of(terminal: File) -> Option<Self> {
        let before = tcgetattr(&terminal).ok()?;
        Some(Self { terminal, before })
    }

    /// Half a passphrase may lie there: nobody else reads it.
    fn put_back(&self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead as _, BufReader, Lines};
    use std::process::{Child, ChildStdout, Command, Stdio};

    use portable_pty::{PtySize, native_pty_system};
    use rustix::fs::{Mode, OFlags, open};
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    use super::{TerminalModes, complaint, end, help_elsewhere};
    use crate::core::signer::Signer;

    #[test]
    fn what_it_complains_about_is_told_whole_and_once() {
        let said = "Load key \"/k\": incorrect passphrase supplied to decrypt private key\r\n\
                    \nCouldn't sign message: x\nCouldn't sign message: x\n";
        assert_eq!(
            complaint(said),
            "Load key \"/k\": incorrect passphrase supplied to decrypt private key; Couldn't sign \
             message: x"
        );
        assert_eq!(complaint(" \n"), "it says no more");
        assert!(complaint(&"é".repeat(10_000)).chars().count() < 1_000);
    }

    #[test]
    fn a_key_that_wants_to_be_asked_is_told_of_ssh_agent() {
        let key = Signer::new(&[1; 32]);
        let path = std::path::Path::new("/home/me/my keys/id_ed25519.pub");
        let help = help_elsewhere(&key, path, true);
        assert!(
            help.contains("`ssh-add -c '/home/me/my keys/id_ed25519'`"),
            "{help}"
        );
        assert!(
            help.contains("command line") && !help.contains("SSH_AUTH_SOCK"),
            "{help}"
        );
        assert!(help_elsewhere(&key, path, false).contains("SSH_AUTH_SOCK"));
    }

    /// A shell that waits, behind this, and what it says from then on.
    fn waiting(before: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
        let script = format!("{before}; echo ready; while :; do sleep 0.01; done");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        (child, lines)
    }

    #[test]
    fn who_asks_on_the_terminal_is_told_to_end_before_it_is_killed() {
        let (mut child, mut lines) = waiting("trap 'echo put back; exit 1' TERM");
        end(&mut child);
        assert_eq!(lines.next().unwrap().unwrap(), "put back");
    }

    #[test]
    fn who_does_not_heed_that_is_killed() {
        let (mut child, _lines) = waiting("trap '' TERM");
        end(&mut child);
        assert!(child.try_wait().unwrap().is_some());
    }

    #[test]
    fn the_terminal_shows_again_what_is_typed() {
        let pty = native_pty_system().openpty(PtySize::default()).unwrap();
        let name = pty.master.tty_name().unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let terminal = File::from(open(name, flags, Mode::empty()).unwrap());
        let modes = TerminalModes::of(terminal.try_clone().unwrap()).unwrap();
        let mut silent = tcgetattr(&terminal).unwrap();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(&terminal, OptionalActions::Now, &silent).unwrap();
        modes.put_back();
        let now = tcgetattr(&terminal).unwrap();
        assert!(now.local_modes.contains(LocalModes::ECHO));
    }
}
