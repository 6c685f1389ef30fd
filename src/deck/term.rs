//! [`Screen`]: the only place that touches the terminal. Whatever happens, it is given back as
//! it was found.

use std::io::{self, Stdout, Write as _, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ctxrelay_ui::{Deck, view};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::core::panicked::Panicked;

/// The terminal is in our hands now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, in raw mode, on its alternate screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen")
    }
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn take() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let entered = execute!(
            stdout(),
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste,
            cursor::Hide
        )
        .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Columns and rows.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws what has changed, as one picture: a terminal that knows synchronised output (private
    /// mode 2026) never shows half a frame, the others ignore it.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn draw(&mut self, deck: &Deck) -> io::Result<()> {
        queue!(stdout(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(|frame| view(deck, frame)).map(drop);
        drawn.and(execute!(stdout(), EndSynchronizedUpdate))
    }

    /// Forgets what stands there, so that the next draw draws everything.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Puts text on the clipboard of whoever looks at this terminal (OSC 52).
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, once.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Each step on its own: a terminal that refuses one may take the others. A panic may have
        // come in the middle of a frame.
        let _ = execute!(stdout(), EndSynchronizedUpdate);
        let _ = execute!(stdout(), DisableBracketedPaste);
        let _ = execute!(stdout(), DisableMouseCapture);
        let _ = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
        let _ = stdout().flush();
    }
}

/// The threads without which there is no deck any more; see `run`.
pub(super) const DRAWING_THREAD: &str = "deck-draw";
const MAIN_THREAD: &str = "main";

/// A panic's report must land on a terminal that shows it. A panic that ends only a task of the
/// runtime goes to the log instead: the deck goes on and needs its terminal.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let thread = std::thread::current();
            let ends_the_deck = matches!(thread.name(), Some(MAIN_THREAD | DRAWING_THREAD));
            if TAKEN.load(Ordering::SeqCst) && !ends_the_deck {
                tracing::error!("{}", Panicked::of(info));
                return;
            }
            restore();
            report(info);
        }));
    });
}
