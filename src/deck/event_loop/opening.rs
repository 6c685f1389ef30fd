//! [`while_opening`]: the screen until there is a daemon, which may have to read a long record.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use ctxrelay_ui::Effect;

use crate::deck::clock::now_ms;
use crate::deck::deck_about::DeckAbout;
use crate::deck::followed::model::{DaemonLink, Model};
use crate::deck::present::present;
use crate::deck::terminal::display::Display;

/// How often it looks how far the start is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits for the start of a daemon and says meanwhile what it is `doing`. `None` when the operator left
/// before it was done.
pub async fn while_opening<T>(
    display: &mut Display,
    about: DeckAbout,
    doing: impl Fn() -> String,
    mut told_to_end: watch::Receiver<bool>,
    start: impl Future<Output = T>,
) -> Option<T> {
    let mut model = Model::new(DaemonLink::Starting(doing()), about);
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shown = None;
    tokio::pin!(start);
    loop {
        let words = doing();
        if shown.as_ref() != Some(&words) {
            model.set_link(DaemonLink::Starting(words.clone()), now_ms());
            shown = Some(words);
            if !display.show(present(&model, now_ms())) {
                return None;
            }
        }
        tokio::select! {
            done = &mut start => return Some(done),
            _ = look.tick() => {}
            wish = display.wish() => match wish {
                // Everything else needs a daemon, which the screen says itself.
                Some(wish) if !matches!(wish, Effect::Quit(_)) => {}
                _ => return None,
            },
            ended = told_to_end.changed() => {
                if ended.is_err() || *told_to_end.borrow() {
                    return None;
                }
            }
        }
    }
}
