//! [`Output`]: the only place of the command line that prints.
//!
//! Anything printed may contain text of an agent or of a stranger's ledger, so every line goes
//! through `ctxrelay_ui::sanitize` first; colour is added afterwards.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};

use crossterm::clipboard::CopyToClipboard;
use crossterm::execute;
use ctxrelay_ui::sanitize;
use serde::Serialize;
use serde_json::json;

use super::exit::{CliOutcome, Failure};
use super::report::{Report, ReportPart, ReportText};
use crate::core::hidden::letters;
use crate::wire::control::ProgramCode;

/// What a piece of a line means; what it looks like is decided here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// What one looks for first.
    Strong,
    /// What one may skip.
    Faint,
    /// All is well.
    Good,
    /// Needs attention.
    Warning,
    /// Is wrong.
    Bad,
}

impl Tone {
    /// The SGR parameters; the 16 colours of the terminal's own theme.
    fn sgr(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// How much of a large result is gathered for one write.
const STREAM_BYTES: usize = 64 * 1024;

/// Where a verb prints.
#[derive(Debug, Clone)]
pub struct Output {
    json: bool,
    colour: bool,
}

impl Output {
    /// For this process. `json` is what the user asked for.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            colour: !json && io::stdout().is_terminal() && wants_colour(),
        }
    }

    /// Whether one JSON value is wanted instead of text.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the one value of a `--json` call.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string(value).map_err(|error| Failure::internal("write JSON", error))?;
        self.json_text(&text)
    }

    fn json_text(&self, text: &str) -> Result<(), Failure> {
        put(io::stdout().lock(), &format!("{}\n", harmless_json(text)))
    }

    /// Prints a report as it was asked for, and says how the program ends.
    ///
    /// # Errors
    ///
    /// As [`Self::json`].
    pub fn report(&self, report: Report) -> CliOutcome {
        let printed = if self.json {
            let value = report
                .value
                .map_err(|error| Failure::internal("write JSON", error))?;
            self.json_text(&value)
        } else {
            self.text(&report.text)
        };
        match printed {
            // A reader that stops early wants the verdict all the same: `… | grep -q`.
            Err(failure) if failure.is_silent() => Ok(report.kind),
            printed => printed.map(|()| report.kind),
        }
    }

    /// Prints what only a person is shown, on the way to the result.
    ///
    /// # Errors
    ///
    /// As [`Self::json`].
    pub fn aside(&self, text: impl Into<ReportText>) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        self.text(&text.into())
    }

    fn text(&self, text: &ReportText) -> Result<(), Failure> {
        for part in &text.parts {
            match part {
                ReportPart::Spans(spans) => self.spans(spans)?,
                ReportPart::Block(indent, text) => self.block(indent, text)?,
                ReportPart::Note(text) => self.note(text),
                ReportPart::Raw(bytes) => self.raw(bytes)?,
            }
        }
        Ok(())
    }

    /// Prints one line of text.
    ///
    /// # Errors
    ///
    /// As [`Self::json`].
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.spans(&[(Tone::Plain, text)])
    }

    fn spans(&self, spans: &[(Tone, impl AsRef<str>)]) -> Result<(), Failure> {
        let mut line = String::new();
        for (tone, text) in spans {
            let text = sanitize::line(text.as_ref());
            match tone.sgr().filter(|_| self.colour && !text.is_empty()) {
                Some(sgr) => {
                    let _ = write!(line, "\x1b[{sgr}m{text}\x1b[0m");
                }
                None => line.push_str(&text),
            }
        }
        line.push('\n');
        put(io::stdout().lock(), &line)
    }

    fn block(&self, indent: &str, text: &str) -> Result<(), Failure> {
        for line in sanitize::lines(text) {
            put(io::stdout().lock(), &format!("{indent}{line}\n"))?;
        }
        Ok(())
    }

    /// Prints bytes of our own making as they are: completions, the manual page, a hook's answer.
    ///
    /// # Errors
    ///
    /// As [`Self::json`].
    pub fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::from_output(&error))
    }

    /// Standard output for a result that is too large to hold. What goes there is made harmless by
    /// its writer; [`Self::is_terminal`] says whether a terminal would obey it.
    pub fn stream(&self) -> impl io::Write + use<> {
        io::BufWriter::with_capacity(STREAM_BYTES, io::stdout().lock())
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Says something to the person that is not the result.
    pub fn note(&self, text: &str) {
        // Nobody to tell is no fault: the result is what counts.
        let _ = put(io::stderr().lock(), &format!("{}\n", sanitize::line(text)));
    }

    /// Asks on the terminal and reads one line; `None` at its end.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be read.
    pub fn ask(&self, question: &str) -> Result<Option<String>, Failure> {
        let prompt = format!("{} ", sanitize::line(question));
        put(io::stderr().lock(), &prompt)?;
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(answer.trim().to_owned())),
            Err(error) => Err(Failure::internal("read the answer", error)),
        }
    }

    /// Puts text on the clipboard of the person at this terminal (OSC 52).
    ///
    /// # Errors
    ///
    /// When there is no terminal.
    pub fn copy(&self, text: &str) -> Result<(), Failure> {
        let tty = OpenOptions::new().write(true).open("/dev/tty");
        let copied =
            tty.and_then(|mut tty| execute!(tty, CopyToClipboard::to_clipboard_from(text)));
        copied.map_err(|error| {
            Failure::state(
                ProgramCode::NoTerminal,
                format!("no terminal takes it on its clipboard: {error}"),
                "name a file with -o, or pipe the text to a program that copies",
            )
        })
    }

    /// Tells why the program ends: JSON on standard output for a `--json` call, else two lines on
    /// standard error.
    pub fn failure(&self, failure: &Failure) {
        if failure.is_silent() {
            return;
        }
        if self.json {
            // A reader that has gone does not want the error either.
            let _ = self.json(&json!({"error": {
                "code": failure.code,
                "message": failure.message,
                "hint": failure.hint,
            }}));
            return;
        }
        let colour = io::stderr().is_terminal() && wants_colour();
        let (on, off) = if colour {
            ("\x1b[31m", "\x1b[0m")
        } else {
            ("", "")
        };
        let mut text = format!("{on}error:{off} {}\n", sanitize::line(&failure.message));
        if !failure.hint.is_empty() {
            let _ = writeln!(text, "  next: {}", sanitize::line(&failure.hint));
        }
        let _ = put(io::stderr().lock(), &text);
    }
}

/// Whether the environment allows colour at all.
pub fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn put(mut to: impl io::Write, text: &str) -> Result<(), Failure> {
    to.write_all(text.as_bytes())
        .and_then(|()| to.flush())
        .map_err(|error| Failure::from_output(&error))
}

/// Escapes what a terminal could take for a command, or hides: JSON itself escapes only C0. The
/// value stays the same, because such characters stand only inside of strings.
pub fn harmless_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (c, is_hidden) in letters(text) {
        if is_hidden {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value_and_holds_nothing_that_a_terminal_obeys() {
        let value = json!({"text": "a\u{9b}2J\u{202e}b\u{7f}\u{e0041}\u{1b}[0m é 漢"});
        let text = harmless_json(&value.to_string());
        assert!(
            !letters(&text).any(|(c, is_hidden)| c.is_control() || is_hidden),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
