//! [`ask`]: a passphrase, typed on the terminal and shown nowhere.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::cli::exit::Failure;
use crate::wire::control::ProgramCode;

/// The longest that is taken, in bytes.
const BYTES_MAX: usize = 1024;

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Silent {
    terminal: File,
    before: Termios,
}

impl Silent {
    fn new(terminal: File) -> std::io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut modes = before.clone();
        // No line mode and no signals either: who gives up halfway gets the terminal back as it
        // was.
        modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(&terminal, OptionalActions::Flush, &modes)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
        let _ = self.terminal.write_all(b"\n");
    }
}

/// Asks on the controlling terminal itself: neither a pipe nor an argument can answer.
///
/// # Errors
///
/// When there is no terminal, or the question is left with `ctrl-c` or `ctrl-d`.
pub fn ask(question: &str) -> Result<Zeroizing<String>, Failure> {
    let failed = |error| Failure::internal("ask on the terminal", error);
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .map_err(failed)?;
    // Before the question: what is typed at its first sight is neither shown nor lost.
    let mut silent = Silent::new(terminal).map_err(failed)?;
    write!(silent.terminal, "{question} ").map_err(failed)?;
    // Its room is there from the beginning: growing would leave copies behind.
    let mut typed = Zeroizing::new(Vec::with_capacity(BYTES_MAX));
    loop {
        let mut byte = [0];
        if silent.terminal.read(&mut byte).map_err(failed)? == 0 {
            return Err(left());
        }
        match byte[0] {
            b'\r' | b'\n' => break,
            3 | 4 => return Err(left()),
            8 | 127 => {
                // A whole character.
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            21 => typed.clear(),
            byte if typed.len() < BYTES_MAX => typed.push(byte),
            _ => {}
        }
    }
    let text = std::str::from_utf8(&typed).map_err(|_| left())?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn left() -> Failure {
    Failure::refused(
        ProgramCode::NotConfirmed,
        "no passphrase: nothing was changed",
        "run the command again",
    )
}
