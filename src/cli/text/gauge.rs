//! [`Gauge`]: the progress of long work, on one line of the terminal.

use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::cli::text::words::count;
use crate::store::dirs::ProjectDirs;
use crate::store::ledger::ReadSoFar;
use crate::store::shown_reading::ShownReading;

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(100);

/// A line on standard error that is written over, and gone in the end. Without a terminal there
/// is none. Only words and figures of our own stand in it.
#[derive(Debug)]
pub struct Gauge {
    what: &'static str,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Gauge {
    /// For a `--json` call there is no line either: its reader is a program.
    pub fn new(what: &'static str, is_json: bool) -> Self {
        Self {
            what,
            shown: None,
            is_terminal: !is_json && io::stderr().is_terminal(),
        }
    }

    /// Of a daemon that reads the record before it is ready. Read from its beginning, as after an
    /// update, a long one takes seconds.
    pub fn of_reading(is_json: bool) -> Self {
        Self::new("reading the record:", is_json)
    }

    /// The reading is so far.
    pub fn tell_reading(&mut self, ReadSoFar { bytes, of, entries }: ReadSoFar) {
        if of > 0 {
            self.tell(bytes, of, entries);
        }
    }

    /// Tells what the daemon of a project shows of its reading, for as long as somebody waits.
    pub async fn follow_reading(mut self, dirs: &ProjectDirs) -> Infallible {
        loop {
            sleep(EVERY).await;
            if let Some(so_far) = ShownReading::read(dirs) {
                self.tell_reading(so_far);
            }
        }
    }

    /// It is so far.
    pub fn tell(&mut self, done: u64, of: u64, entries: u64) {
        let due = self.shown.is_none_or(|at| at.elapsed() >= EVERY);
        if !self.is_terminal || !due {
            return;
        }
        self.shown = Some(Instant::now());
        let percent = done.saturating_mul(100).checked_div(of).unwrap_or(100);
        // Nobody to tell is no fault.
        let _ = write!(
            io::stderr().lock(),
            "\r{} {:>3} %, {}\x1b[K",
            self.what,
            percent.min(100),
            count(entries, "entry", "entries")
        );
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
