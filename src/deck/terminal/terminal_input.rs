//! [`TerminalInput`]: the one reader of this process's terminal. Reading a terminal cannot be
//! cancelled: a separate reader for each screen would outlive its screen and take the next one's
//! first key.

use std::sync::mpsc::{SendError, SyncSender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crossterm::event::{Event as TermEvent, KeyEventKind};
use ctxrelay_ui::Msg;
use rustix::process::{Signal, getpid, kill_process};

use crate::core::lock::lock;
use crate::deck::terminal::input::Input;
use crate::deck::terminal::late_reply::LateReply;

/// How often the reading thread is woken until it says that it rests.
const WAKE_EVERY: Duration = Duration::from_millis(20);

/// After so many times it counts as gone: it has ended, or hangs where nothing wakes it.
const WAKES_MAX: usize = 100;

static INPUT: TerminalInput = TerminalInput::new();

/// What the thread and the screens share.
#[derive(Debug)]
struct Stand {
    /// Somebody else has the terminal, or nobody shows anything on it.
    is_paused: bool,
    rests: bool,
    has_thread: bool,
    /// Screens so far; `inputs` leads to the last one.
    screens: usize,
    inputs: Option<SyncSender<Input>>,
}

/// Reads the terminal for the screen that was opened last.
#[derive(Debug)]
pub(in crate::deck) struct TerminalInput {
    stand: Mutex<Stand>,
    changed: Condvar,
}

impl TerminalInput {
    const fn new() -> Self {
        Self {
            stand: Mutex::new(Stand {
                is_paused: false,
                rests: false,
                has_thread: false,
                screens: 0,
                inputs: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// From now on what is read goes to these inputs.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub(in crate::deck) fn read_for(inputs: SyncSender<Input>) -> io::Result<&'static Self> {
        INPUT.lead_to(inputs);
        let has_thread = std::mem::replace(&mut INPUT.lock().has_thread, true);
        if !has_thread {
            let reading = || {
                let mut late = LateReply::new(Instant::now());
                INPUT.pass_on(|| read(&mut late));
            };
            let thread = thread::Builder::new().name("deck-input".to_owned());
            if let Err(error) = thread.spawn(reading) {
                INPUT.lock().has_thread = false;
                return Err(error);
            }
        }
        Ok(&INPUT)
    }

    fn lead_to(&self, inputs: SyncSender<Input>) {
        let mut stand = self.lock();
        stand.screens += 1;
        stand.inputs = Some(inputs);
        stand.is_paused = false;
        self.changed.notify_all();
    }

    /// Passes on what `read` returns, for ever. What is read for a screen that is gone is meant for
    /// the next one.
    fn pass_on(&self, mut read: impl FnMut() -> Option<Input>) {
        let mut gone = 0;
        loop {
            drop(self.rest(|stand| stand.is_paused));
            let Some(mut input) = read() else {
                continue;
            };
            loop {
                let stand = self.rest(|stand| stand.is_paused || stand.screens == gone);
                let (screen, inputs) = (stand.screens, stand.inputs.clone());
                drop(stand);
                let is_end = matches!(input, Input::End);
                let sent = match inputs {
                    Some(inputs) => inputs.send(input),
                    None => Err(SendError(input)),
                };
                if sent.is_err() || is_end {
                    gone = screen;
                }
                match sent {
                    Ok(()) => break,
                    Err(SendError(unsent)) => input = unsent,
                }
            }
        }
    }

    /// Rests while it is so, and says that it does.
    fn rest(&self, while_so: impl Fn(&Stand) -> bool) -> MutexGuard<'_, Stand> {
        let mut stand = self.lock();
        while while_so(&stand) {
            stand.rests = true;
            self.changed.notify_all();
            stand = self
                .changed
                .wait(stand)
                .unwrap_or_else(PoisonError::into_inner);
        }
        stand.rests = false;
        stand
    }

    /// Waits until nobody reads the terminal any more: what is typed then is for its next reader.
    /// Returns whether that is so; otherwise it reads on.
    pub(in crate::deck) fn pause(&self) -> bool {
        let mut stand = self.lock();
        stand.is_paused = true;
        for _ in 0..WAKES_MAX {
            if stand.rests {
                return true;
            }
            // It waits for the terminal, and wakes for nothing else than this: the size may have
            // changed.
            let _ = kill_process(getpid(), Signal::WINCH);
            let waited = self.changed.wait_timeout(stand, WAKE_EVERY);
            stand = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(stand);
        self.go_on();
        false
    }

    /// It reads on.
    pub(in crate::deck) fn go_on(&self) {
        self.lock().is_paused = false;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Stand> {
        lock(&self.stand)
    }
}

/// The next event of the terminal; `None` for one that means nothing.
fn read(late: &mut LateReply) -> Option<Input> {
    let msg = match crossterm::event::read() {
        Ok(TermEvent::Key(key)) if late.takes(&key, Instant::now()) => return None,
        Ok(TermEvent::Key(key)) if key.kind != KeyEventKind::Release => Msg::Key(key),
        Ok(TermEvent::Key(_)) => return None,
        Ok(TermEvent::Mouse(mouse)) => Msg::Mouse(mouse),
        Ok(TermEvent::Paste(text)) => Msg::Paste(text),
        Ok(TermEvent::Resize(columns, rows)) => Msg::Resize(columns, rows),
        Ok(TermEvent::FocusGained) => Msg::Focus(true),
        Ok(TermEvent::FocusLost) => Msg::Focus(false),
        Err(_) => return Some(Input::End),
    };
    Some(Input::Msg(Box::new(msg)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel, sync_channel};

    use super::*;

    /// A reader of what the test sends, which ends with the test's process as the real one does.
    fn reader() -> (&'static TerminalInput, std::sync::mpsc::Sender<Input>) {
        let input: &'static TerminalInput = Box::leak(Box::new(TerminalInput::new()));
        let (typed, terminal) = channel();
        thread::spawn(move || input.pass_on(|| Some(terminal.recv().unwrap_or(Input::End))));
        (input, typed)
    }

    fn screen(input: &TerminalInput) -> Receiver<Input> {
        let (inputs, shown) = sync_channel(4);
        input.lead_to(inputs);
        shown
    }

    fn pasted(text: &str) -> Input {
        Input::Msg(Box::new(Msg::Paste(text.to_owned())))
    }

    #[track_caller]
    fn expect_paste(shown: &Receiver<Input>, wanted: &str) {
        match shown.recv().unwrap() {
            Input::Msg(msg) => assert!(matches!(*msg, Msg::Paste(text) if text == wanted)),
            _ => panic!("no message"),
        }
    }

    #[test]
    fn what_is_typed_behind_a_screen_that_is_gone_is_the_next_ones() {
        let (input, typed) = reader();
        let first = screen(input);
        typed.send(pasted("one")).unwrap();
        expect_paste(&first, "one");
        drop(first);
        typed.send(pasted("two")).unwrap();
        // It waits for a screen, and reads nothing more.
        assert!(input.pause());
        let second = screen(input);
        expect_paste(&second, "two");
        typed.send(pasted("three")).unwrap();
        expect_paste(&second, "three");
    }

    #[test]
    fn a_terminal_that_is_gone_is_told_to_each_screen_once() {
        let (input, typed) = reader();
        let first = screen(input);
        drop(typed);
        assert!(matches!(first.recv().unwrap(), Input::End));
        assert!(input.pause());
        assert!(first.try_recv().is_err());
        let second = screen(input);
        assert!(matches!(second.recv().unwrap(), Input::End));
    }
}
