//! [`Screen`]: the only place that touches the terminal. In every case the terminal is restored to
//! the state in which it was found.

use std::fs::File;
use std::io::{self, Stdout, Write as _, stderr, stdin, stdout};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ctxrelay_ui::{Deck, NotificationWay, view};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::stdio::dup2_stderr;
use rustix::termios::{OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};
use terminal_colorsaurus::{QueryOptions, background_color};

use crate::core::panicked::Panicked;
use crate::deck::terminal::clipboard;

/// The terminal is in our hands now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal was found gone. Kept, because [`quieten_if_lost`] puts something else in its place.
static LOST: AtomicBool = AtomicBool::new(false);

/// Keeps the window's title on the terminal's own stack (XTWINOPS). A terminal without one ignores
/// it.
const KEEP_TITLE: &str = "\x1b[22;0t";

/// Gives the window the title that was kept.
const GIVE_TITLE_BACK: &str = "\x1b[23;0t";

/// The terminal, in raw mode, on its alternate screen.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// The title that the window was given last.
    title: Option<String>,
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
        let entered = enter().and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match entered {
            Ok(terminal) => Ok(Self {
                terminal,
                title: None,
            }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Gives the terminal to another program, for whose end `wait` waits. Its modes are then what they
    /// were: a program that was killed leaves its own, and nobody else knows the shell's.
    pub fn lend<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        restore();
        let modes = tcgetattr(stdin());
        let ended = wait();
        // From the background this process would be stopped.
        let is_ours = tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
        if let (Ok(modes), true) = (modes, is_ours) {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
        }
        ended
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

    /// Draws what has changed, with the window's title, as one picture: a terminal that knows
    /// synchronised output (private mode 2026) never shows half a frame, the others ignore it.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn draw(&mut self, deck: &Deck) -> io::Result<()> {
        queue!(stdout(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(|frame| view(deck, frame)).map(drop);
        let titled = drawn.and_then(|()| self.set_title(deck.window_title()));
        titled.and(execute!(stdout(), EndSynchronizedUpdate))
    }

    /// A harmless line; see [`Deck::window_title`].
    fn set_title(&mut self, title: String) -> io::Result<()> {
        if self.title.as_ref() == Some(&title) {
            return Ok(());
        }
        queue!(stdout(), SetTitle(&title))?;
        self.title = Some(title);
        Ok(())
    }

    /// Gives the terminal back and has `stop_group` tell this process, with whatever was started
    /// together with it, to stop until the shell continues it. Where no shell controls it nothing
    /// stops. Which of the threads stops first is not known: wait before [`Self::resume`].
    pub fn suspend(&mut self, stop_group: fn()) {
        restore();
        stop_group();
    }

    /// Takes the terminal again, of which somebody else may have made use, and draws everything.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        // Whatever mode the shell has left it in.
        let _ = disable_raw_mode();
        enter()?;
        self.clear()
    }

    /// Forgets what stands there, so that the next draw draws everything.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn clear(&mut self) -> io::Result<()> {
        self.title = None;
        quieten_if_lost();
        // A terminal of its own would ask where the cursor is, and the answer comes among the keys.
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        execute!(stdout(), Clear(ClearType::All))
    }

    /// Writes a notification; see [`notification`].
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn notify(&mut self, ways: &[NotificationWay], text: &str) -> io::Result<()> {
        execute!(stdout(), Print(notification(ways, text)))
    }

    /// Puts text on the clipboard of the person at this terminal; see [`clipboard`].
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        clipboard::copy(text)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// What tells the person at this terminal by these ways. `text` is a harmless line.
pub fn notification(ways: &[NotificationWay], text: &str) -> String {
    let is_in_tmux = std::env::var_os("TMUX").is_some();
    ways.iter()
        .map(|way| way.sequence(text, is_in_tmux))
        .collect()
}

/// Raw mode, and the screen on which nothing of the terminal's history is lost.
fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    // After a stop from outside the title is still ours, and the one to give back is kept already.
    if !TAKEN.swap(true, Ordering::SeqCst) {
        queue!(stdout(), Print(KEEP_TITLE))?;
    }
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Hide
    )
}

/// How long the terminal may take to say its background.
const BACKGROUND_WAIT: Duration = Duration::from_millis(100);

/// Whether the terminal says that its background is a light one. One that does not know the
/// question (OSC 11) answers the next one first, which all of them know: nobody waits for it.
///
/// Asked once. A deck that comes back is answered from memory: the reader of the one before may be
/// there still, and where it takes the terminal's answer away between the look whether there is one
/// and the read, the read waits for the next key.
pub fn is_light() -> bool {
    static IS_LIGHT: OnceLock<bool> = OnceLock::new();
    *IS_LIGHT.get_or_init(|| {
        let mut options = QueryOptions::default();
        options.timeout = BACKGROUND_WAIT;
        background_color(options).is_ok_and(|color| color.perceived_lightness() > 0.5)
    })
}

/// Gives the terminal back, once.
pub fn restore() {
    quieten_if_lost();
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Each step on its own: a terminal that refuses one may take the others. A panic may have
        // come in the middle of a frame.
        let _ = execute!(stdout(), EndSynchronizedUpdate);
        let _ = execute!(stdout(), DisableFocusChange);
        let _ = execute!(stdout(), DisableBracketedPaste);
        let _ = execute!(stdout(), DisableMouseCapture);
        // Before the shell's screen is there: who sees it types into it.
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
        // Where nothing was kept none is better than one that counts on.
        let _ = execute!(stdout(), SetTitle(""), Print(GIVE_TITLE_BACK));
        let _ = stdout().flush();
    }
}

/// What cannot be printed ends the code that prints it, and in a panic's report the process: ratatui's
/// `Terminal` complains when it is dropped, a report of a panic is one itself. On a terminal that is
/// gone nobody reads it: it goes nowhere.
fn quieten_if_lost() {
    if is_lost()
        && let Ok(nowhere) = File::options().write(true).open("/dev/null")
    {
        let _ = dup2_stderr(nowhere);
    }
}

/// Whether the terminal that the screen is drawn on is gone, wherever else its messages go.
pub(in crate::deck) fn is_gone() -> bool {
    polled(&stdout()).intersects(GONE)
}

/// Whether nobody reads what is told on the terminal any more. What was lost once stays lost.
pub(in crate::deck) fn is_lost() -> bool {
    if polled(&stderr()).intersects(GONE) {
        LOST.store(true, Ordering::SeqCst);
    }
    LOST.load(Ordering::SeqCst)
}

/// Whether who writes to the terminal goes on. One that reads nothing has no room, neither has one
/// that was stopped (`ctrl-s`); one that is gone refuses at once.
pub(in crate::deck) fn is_taking() -> bool {
    polled(&stdout()).intersects(PollFlags::OUT | GONE)
}

/// What is said of a terminal that is gone.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

/// What can be said of it now; nothing where it cannot be asked.
fn polled(terminal: &impl AsFd) -> PollFlags {
    let mut asked = [PollFd::new(terminal, PollFlags::OUT)];
    match poll(&mut asked, Some(&Timespec::default())) {
        Ok(_) => asked[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

/// Gives back what can be given to a terminal that reads nothing: its modes. Who writes to it waits
/// for ever.
pub(in crate::deck) fn restore_unread() {
    TAKEN.store(false, Ordering::SeqCst);
    let _ = disable_raw_mode();
}

/// The threads without which there is no deck any more: see `Display::close`.
pub(in crate::deck) const DRAWING_THREAD: &str = "deck-draw";
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
            if TAKEN.load(Ordering::SeqCst) {
                tracing::error!("{}", Panicked::of(info));
                if !ends_the_deck {
                    return;
                }
            }
            restore();
            report(info);
        }));
    });
}
