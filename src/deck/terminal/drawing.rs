//! [`Drawing`]: the thread that draws. It takes the waiting input, up to a key that opens the
//! editor, draws once, and does what the screen wants of the terminal; other wishes it passes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ctxrelay_ui::model::Level;
use ctxrelay_ui::{Deck, Effect, Msg, update};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use crate::core::lock::lock;
use crate::deck::clock::now_ms;
use crate::deck::terminal::display_host::DisplayHost;
use crate::deck::terminal::editor::Edited;
use crate::deck::terminal::input::{Input, UnsentSlot, ViewSlot};
use crate::deck::terminal::lend::{Missed, edit, keep};
use crate::deck::terminal::term::Screen;
use crate::deck::terminal::terminal_input::TerminalInput;
use crate::deck::unsent::dropped;

/// With nothing to draw the drawing thread looks this rarely whether it should end.
const QUIET: Duration = Duration::from_secs(60);

/// How long a stop may take to reach the thread that asked for it. The system does it at once.
const STOP_WAIT: Duration = Duration::from_millis(200);

/// What became of a wish to be stopped.
enum Stop {
    /// It was stopped, and goes on.
    Continued,
    /// No shell controls this terminal.
    NotStopped,
    /// The deck is to end.
    Over,
}

/// The deck is to end, or its terminal is gone.
struct Ended;

/// The drawing thread's own: nobody else touches screen and deck.
pub(in crate::deck) struct Drawing {
    pub(in crate::deck) screen: Screen,
    pub(in crate::deck) deck: Deck,
    pub(in crate::deck) inputs: Receiver<Input>,
    /// Where the next view lies.
    pub(in crate::deck) slot: ViewSlot,
    /// The terminal has, or had, another size since it was looked at last.
    pub(in crate::deck) is_resized: Arc<AtomicBool>,
    pub(in crate::deck) wishes: mpsc::Sender<Effect>,
    /// See [`Deck::tells_of_tree`].
    pub(in crate::deck) tells_of_tree: watch::Sender<bool>,
    pub(in crate::deck) host: DisplayHost,
    pub(in crate::deck) typed: &'static TerminalInput,
    /// Where what was written and not sent lies once the deck has ended.
    pub(in crate::deck) unsent: UnsentSlot,
    /// What the deck wants and has not got.
    pub(in crate::deck) effects: Vec<Effect>,
    /// What was typed behind the key of an editor that has left a text: for that text.
    pub(in crate::deck) behind: VecDeque<Msg>,
    /// Somebody else had the terminal; a view may have come meanwhile.
    pub(in crate::deck) was_away: bool,
}

impl Drawing {
    /// Draws until the deck ends.
    pub(in crate::deck) fn run(mut self) {
        while self.turn().is_ok() {}
        // The words among it belong to what was written and not sent.
        for msg in std::mem::take(&mut self.behind) {
            self.update(msg);
        }
        // What the deck wants still is not done any more: what was written for it is a draft again.
        for effect in std::mem::take(&mut self.effects) {
            update(&mut self.deck, dropped(&effect));
        }
        lock(&self.unsent).extend(self.deck.unsent());
        // What is typed once the screen is the shell's again is the shell's.
        self.typed.pause();
    }

    fn turn(&mut self) -> Result<(), Ended> {
        if self.was_away {
            // A key that is pressed on the first frame meets what it shows.
            self.take_inputs(None)?;
        }
        self.draw()?;
        if !self.opens_editor() {
            let first = self.wait_for_input()?;
            self.take_inputs(first)?;
        }
        // What the deck wants because of what comes of these is done after the next frame.
        let mut wanted = std::mem::take(&mut self.effects).into_iter();
        while let Some(effect) = wanted.next() {
            if self.perform(effect).is_err() {
                self.effects.splice(0..0, wanted);
                return Err(Ended);
            }
        }
        Ok(())
    }

    /// Waits until the next frame is due at most.
    fn wait_for_input(&self) -> Result<Option<Input>, Ended> {
        let wait = match self.deck.next_redraw_ms() {
            _ if !self.effects.is_empty() => Duration::ZERO,
            Some(ms) => Duration::from_millis(ms),
            None => QUIET,
        };
        match self.inputs.recv_timeout(wait) {
            Ok(input) => Ok(Some(input)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Ended),
        }
    }

    fn draw(&mut self) -> Result<(), Ended> {
        // Clock and ages are those of the moment in which they are drawn, whatever woke us.
        self.update(Msg::Tick(now_ms()));
        // Asked each time: a new size that comes together with a key may not be told.
        if let Ok((columns, rows)) = self.screen.size()
            && self.deck.size() != (columns, rows)
        {
            self.update(Msg::Resize(columns, rows));
        }
        let tells = self.deck.tells_of_tree();
        self.tells_of_tree
            .send_if_modified(|told| std::mem::replace(told, tells) != tells);
        self.screen.draw(&self.deck).map_err(|_| Ended)
    }

    /// The deck takes a message; what it wants is done behind those that wait as well, but for the
    /// editor of a draft: see [`Self::opens_editor`].
    fn update(&mut self, msg: Msg) {
        self.effects.extend(update(&mut self.deck, msg));
    }

    /// As [`Self::update`], for what is told in the middle of doing what it wants.
    fn say(&mut self, level: Level, text: &str) {
        update(&mut self.deck, Msg::Notice(level, text.to_owned()));
    }

    fn take_inputs(&mut self, first: Option<Input>) -> Result<(), Ended> {
        let mut has_view = std::mem::take(&mut self.was_away);
        let mut is_resized = false;
        let mut next = first.or_else(|| self.next_input());
        while let Some(input) = next {
            match input {
                Input::Msg(msg) => {
                    if let Msg::Resize(columns, rows) = *msg {
                        tracing::debug!(columns, rows, "the screen has another size");
                        is_resized = true;
                    }
                    self.update(*msg);
                    if self.opens_editor() {
                        break;
                    }
                }
                Input::Look => has_view = true,
                Input::Continued => {
                    // Somebody else suspended it.
                    self.host.key_slot.forget();
                    self.screen.resume().map_err(|_| Ended)?;
                }
                Input::End => return Err(Ended),
            }
            next = self.next_input();
        }
        // Also to the size that was drawn for: a terminal that was smaller in between has lost what
        // stood there.
        if self.is_resized.swap(false, Ordering::AcqRel) || is_resized {
            let _ = self.screen.clear();
        }
        // Behind the keys and clicks: they were meant for the rows that stood there.
        let mut slot = lock(&self.slot);
        let view = slot.take_if(|_| has_view);
        drop(slot);
        if let Some(view) = view {
            self.update(Msg::View(view));
        }
        Ok(())
    }

    /// What waits already.
    fn next_input(&mut self) -> Option<Input> {
        match self.behind.pop_front() {
            Some(msg) => Some(Input::Msg(Box::new(msg))),
            None => self.inputs.try_recv().ok(),
        }
    }

    /// A draft is to be edited: what is typed behind that is for what the editor leaves.
    fn opens_editor(&self) -> bool {
        let mut effects = self.effects.iter();
        effects.any(|effect| matches!(effect, Effect::OpenEditor { is_draft: true, .. }))
    }

    fn perform(&mut self, effect: Effect) -> Result<(), Ended> {
        match effect {
            Effect::Redraw => {
                let _ = self.screen.clear();
            }
            Effect::Suspend => self.suspend()?,
            Effect::Notify { text, by } => {
                let _ = self.screen.notify(&by.ways, &text);
                if !by.command.is_empty() {
                    (self.host.notify)(by.command, text);
                }
            }
            Effect::CopyText(text) => {
                let _ = self.screen.copy(&text);
            }
            Effect::OpenEditor { text, is_draft } => self.open_editor(&text, is_draft)?,
            Effect::SetTheme(name) => {
                if let Err(why) = (self.host.keep_theme)(&name) {
                    self.say(Level::Warn, &why);
                }
            }
            effect => {
                if let Err(TrySendError::Full(effect) | TrySendError::Closed(effect)) =
                    self.wishes.try_send(effect)
                {
                    update(&mut self.deck, dropped(&effect));
                }
            }
        }
        Ok(())
    }

    fn suspend(&mut self) -> Result<(), Ended> {
        self.host.key_slot.forget();
        self.screen.suspend(self.host.stop_group);
        let mut missed = Vec::new();
        let stop = wait_for_stop(&self.inputs, &mut missed);
        for msg in missed {
            self.update(msg);
        }
        if matches!(stop, Stop::Over) || self.screen.resume().is_err() {
            return Err(Ended);
        }
        if matches!(stop, Stop::NotStopped) {
            self.say(
                Level::Info,
                "no shell here could bring it back: the deck stays",
            );
        }
        self.was_away = true;
        Ok(())
    }

    fn open_editor(&mut self, text: &str, is_draft: bool) -> Result<(), Ended> {
        let (screen, inputs) = (&mut self.screen, &self.inputs);
        let mut missed = Missed::new(&self.host.key_slot, is_draft);
        let edited = edit(screen, self.typed, inputs, text, &mut missed);
        // What came meanwhile stands in the next frame.
        self.was_away = true;
        let mut is_over = edited.is_err();
        let edited = match edited {
            Ok(Edited::Text(text)) if is_draft => Some(Msg::EditorText(text)),
            Err(over) if is_draft => {
                let (saved, unsaved) = over.left(text);
                lock(&self.unsent).extend(unsaved);
                saved.map(Msg::EditorText)
            }
            Ok(Edited::Failed(why)) => Some(Msg::Notice(Level::Warn, why)),
            Ok(Edited::Text(_)) | Err(_) => None,
        };
        if is_draft && !matches!(edited, Some(Msg::EditorText(_))) {
            // It was typed for a text that there is not: Enter would send the one before.
            is_over |= missed.take_waiting(inputs);
            self.behind.clear();
        }
        let (told, typed) = missed.parted(edited.as_ref());
        self.behind.extend(typed);
        // Behind what came meanwhile: the last that was said is what is read.
        for msg in told.into_iter().chain(edited) {
            self.update(msg);
        }
        if is_over { Err(Ended) } else { Ok(()) }
    }
}

/// Waits until this process was stopped and goes on, or has not been stopped. A view that comes
/// meanwhile lies in its slot, and keys were meant for the shell.
fn wait_for_stop(inputs: &Receiver<Input>, missed: &mut Vec<Msg>) -> Stop {
    let begun = Instant::now();
    loop {
        let left = STOP_WAIT.saturating_sub(begun.elapsed());
        match inputs.recv_timeout(left) {
            Ok(Input::Continued) => return Stop::Continued,
            Ok(Input::End) | Err(RecvTimeoutError::Disconnected) => return Stop::Over,
            // The clock went on while nothing else did.
            Err(RecvTimeoutError::Timeout) if begun.elapsed() > 2 * STOP_WAIT => {
                return Stop::Continued;
            }
            Err(RecvTimeoutError::Timeout) => return Stop::NotStopped,
            Ok(Input::Msg(msg)) => keep(missed, *msg),
            Ok(Input::Look) => {}
        }
    }
}
