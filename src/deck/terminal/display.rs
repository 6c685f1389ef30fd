//! [`Display`]: the terminal with its two threads. One reads it, the other draws and owns the state
//! of the screen; they share two bounded queues and one slot with their callers, so that a blocked
//! terminal delays only itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctxrelay_ui::model::DeckView;
use ctxrelay_ui::{Deck, Effect, Msg, Settings};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::core::lock::lock;
use crate::deck::terminal::display_host::DisplayHost;
use crate::deck::terminal::drawing::Drawing;
use crate::deck::terminal::input::{Input, UnsentSlot, ViewSlot};
use crate::deck::terminal::term::{DRAWING_THREAD, Screen, is_taking, restore, restore_unread};
use crate::deck::terminal::terminal_input::TerminalInput;

/// Inputs that may wait for the drawing thread. A person types slower; a paste is one message.
const INPUTS_MAX: usize = 256;

/// Wishes that may wait; a key press makes at most a few.
const EFFECTS_MAX: usize = 64;

/// How long the drawing thread may take to end where the terminal takes nothing: there it hangs.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// How long it may take on a machine that is only slow: without its end nothing is given back.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Why the deck could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DisplayError {
    /// There is no usable terminal.
    #[error("could not take the terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// The theme or keymap is wrong.
    #[error("{0}")]
    Settings(String),
}

/// Tells the screen something from another thread.
#[derive(Debug, Clone)]
pub struct DisplayTeller {
    inputs: SyncSender<Input>,
    is_resized: Arc<AtomicBool>,
}

impl DisplayTeller {
    /// False when the screen is gone.
    pub fn tell(&self, msg: Msg) -> bool {
        self.inputs.send(Input::Msg(Box::new(msg))).is_ok()
    }

    /// The process was stopped and goes on: somebody else may have used the terminal. Waits for
    /// nothing: a screen that is drawing has not lost it.
    pub fn continued(&self) {
        let _ = self.inputs.try_send(Input::Continued);
    }

    /// The terminal has, or had, another size. Told beside what reads the terminal: crossterm forgets
    /// a size that comes together with a key. Waits for nothing, and is never lost.
    pub fn resized(&self) {
        self.is_resized.store(true, Ordering::Release);
        let _ = self.inputs.try_send(Input::Look);
    }
}

/// The screen, from its first frame on. Dropped, it gives the terminal back without waiting for the
/// frame that is being drawn: see [`Self::close`].
#[derive(Debug)]
pub struct Display {
    inputs: SyncSender<Input>,
    slot: ViewSlot,
    is_resized: Arc<AtomicBool>,
    wishes: mpsc::Receiver<Effect>,
    tells_of_tree: watch::Receiver<bool>,
    unsent: UnsentSlot,
    /// Until it is waited for.
    drawing: Option<JoinHandle<()>>,
}

impl Drop for Display {
    fn drop(&mut self) {
        self.send_end();
        restore();
    }
}

impl Display {
    /// Takes the terminal and draws the first frame, before anything is known.
    ///
    /// # Errors
    ///
    /// See [`DisplayError`].
    pub fn open(settings: Settings, host: DisplayHost) -> Result<Self, DisplayError> {
        let deck =
            Deck::new(settings).map_err(|error| DisplayError::Settings(error.to_string()))?;
        let screen = Screen::take()?;
        let (inputs, to_draw) = sync_channel::<Input>(INPUTS_MAX);
        let (wish, wishes) = mpsc::channel(EFFECTS_MAX);
        let (tells, tells_of_tree) = watch::channel(false);
        let slot = ViewSlot::default();
        let is_resized = Arc::<AtomicBool>::default();
        let unsent = UnsentSlot::default();
        let typed = TerminalInput::read_for(inputs.clone())?;
        let drawing = Drawing {
            screen,
            deck,
            inputs: to_draw,
            slot: Arc::clone(&slot),
            is_resized: Arc::clone(&is_resized),
            wishes: wish,
            tells_of_tree: tells,
            host,
            typed,
            unsent: Arc::clone(&unsent),
            effects: Vec::new(),
            behind: VecDeque::new(),
            was_away: false,
        };
        let drawing = thread::Builder::new()
            .name(DRAWING_THREAD.to_owned())
            .spawn(move || drawing.run())?;
        Ok(Self {
            inputs,
            slot,
            is_resized,
            wishes,
            tells_of_tree,
            unsent,
            drawing: Some(drawing),
        })
    }

    /// For another thread that has something to tell.
    pub fn teller(&self) -> DisplayTeller {
        DisplayTeller {
            inputs: self.inputs.clone(),
            is_resized: Arc::clone(&self.is_resized),
        }
    }

    /// Shows this view from now on. False when the terminal is gone.
    pub(in crate::deck) fn show(&self, view: DeckView) -> bool {
        *lock(&self.slot) = Some(Box::new(view));
        self.send(Input::Look)
    }

    /// Tells the screen something else than a view. False when the terminal is gone.
    pub(in crate::deck) fn tell(&self, msg: Msg) -> bool {
        self.send(Input::Msg(Box::new(msg)))
    }

    fn send(&self, input: Input) -> bool {
        !matches!(
            self.inputs.try_send(input),
            Err(TrySendError::Disconnected(_))
        )
    }

    fn send_end(&self) -> bool {
        self.inputs.try_send(Input::End).is_ok()
    }

    /// The next wish of the person at the screen; `None` when the terminal is gone.
    pub(in crate::deck) async fn wish(&mut self) -> Option<Effect> {
        self.wishes.recv().await
    }

    /// Wishes that nobody has taken.
    pub(in crate::deck) fn left_over(&mut self) -> impl Iterator<Item = Effect> {
        std::iter::from_fn(|| self.wishes.try_recv().ok())
    }

    /// What the person wrote and did not send. Nothing before [`Self::close`].
    pub(in crate::deck) fn unsent(&self) -> UnsentSlot {
        Arc::clone(&self.unsent)
    }

    /// Whether the screen says of the work tree whether it is still the same.
    pub(in crate::deck) fn tells_of_tree(&self) -> watch::Receiver<bool> {
        self.tells_of_tree.clone()
    }

    /// Gives the terminal back. Returns whether drawing had failed by a fault of our own.
    pub async fn close(mut self) -> bool {
        let Some(drawing) = self.drawing.take() else {
            return false;
        };
        let begun = Instant::now();
        let mut is_told = false;
        while !drawing.is_finished() {
            // Its queue may have been full.
            is_told = is_told || self.send_end();
            let waited = begun.elapsed();
            if waited >= CLOSE_WAIT_MAX || (waited >= CLOSE_WAIT && !is_taking()) {
                restore_unread();
                return false;
            }
            sleep(Duration::from_millis(5)).await;
        }
        restore();
        drawing.join().is_err()
    }
}
