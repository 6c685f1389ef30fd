//! [`Foreground`]: the person's side of the deck's loop. Whatever the loop waits for, leaving works
//! at once, and a late answer is reported as late.

use std::pin::pin;
use std::time::Duration;

use ctxrelay_ui::model::DeckView;
use ctxrelay_ui::{Effect, Msg};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::deck::clock::now_ms;
use crate::deck::event_loop::deck_exit::DeckExit;
use crate::deck::terminal::display::Display;
use crate::deck::unsent::{OpenWishes, WishesBeside, dropped};

/// An answer that takes longer is one that a person wonders about.
const LATE: Duration = Duration::from_secs(2);

/// Wishes that are kept for when the answer has come. Nobody means more keys than these while
/// nothing happens.
const KEPT_MAX: usize = 16;

/// The screen, what it wished and has not got, and whether this process is told to end.
pub(in crate::deck) struct Foreground<'a> {
    display: &'a mut Display,
    told_to_end: watch::Receiver<bool>,
    open: &'a mut OpenWishes,
}

impl<'a> Foreground<'a> {
    pub(in crate::deck) fn new(
        display: &'a mut Display,
        told_to_end: watch::Receiver<bool>,
        open: &'a mut OpenWishes,
    ) -> Self {
        Self {
            display,
            told_to_end,
            open,
        }
    }

    /// This is being done from now on.
    pub(in crate::deck) fn began(&mut self, effect: &Effect) {
        self.open.began(effect);
    }

    /// It is done.
    pub(in crate::deck) fn ended(&mut self) {
        self.open.ended();
    }

    /// What goes on beside the loop is told there.
    pub(in crate::deck) fn wishes_beside(&self) -> WishesBeside {
        self.open.beside.clone()
    }

    /// Shows this view from now on.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub(in crate::deck) fn show(&self, view: DeckView) -> Result<(), DeckExit> {
        let is_there = self.display.show(view);
        is_there.then_some(()).ok_or(DeckExit::Gone)
    }

    /// Tells the screen something else than a view.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub(in crate::deck) fn tell(&self, msg: Msg) -> Result<(), DeckExit> {
        let is_there = self.display.tell(msg);
        is_there.then_some(()).ok_or(DeckExit::Gone)
    }

    /// See [`Display::tells_of_tree`].
    pub(in crate::deck) fn tells_of_tree(&self) -> watch::Receiver<bool> {
        self.display.tells_of_tree()
    }

    /// The next wish of the person, in their order. May be dropped while it waits.
    ///
    /// # Errors
    ///
    /// The deck was left, or is to end.
    pub(in crate::deck) async fn wish(&mut self) -> Result<Effect, DeckExit> {
        match self.open.kept.pop_front() {
            Some(kept) => Ok(kept),
            None => self.next().await,
        }
    }

    /// Waits for `work`, and says so once it is late. Wishes that come meanwhile are kept.
    ///
    /// # Errors
    ///
    /// The deck was left meanwhile, or is to end; `work` was given up.
    pub(in crate::deck) async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, DeckExit> {
        let (mut work, mut late) = (pin!(work), pin!(sleep(LATE)));
        let since_ms = now_ms();
        let mut is_late = false;
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                () = &mut late, if !is_late => {
                    is_late = true;
                    self.tell(Msg::Unanswered(Some(since_ms)))?;
                }
                wish = self.next() => {
                    let wish = wish?;
                    if self.open.kept.len() < KEPT_MAX {
                        self.open.kept.push_back(wish);
                    } else {
                        self.tell(dropped(&wish))?;
                    }
                }
            }
        };
        if is_late {
            self.tell(Msg::Unanswered(None))?;
        }
        Ok(done)
    }

    async fn next(&mut self) -> Result<Effect, DeckExit> {
        let ended = self.told_to_end.wait_for(|ends| *ends);
        tokio::select! {
            _ = ended => Err(DeckExit::Gone),
            wish = self.display.wish() => match wish {
                None => Err(DeckExit::Gone),
                Some(Effect::Quit(choice)) => Err(DeckExit::Chosen(choice)),
                Some(wish) => Ok(wish),
            },
        }
    }
}
