//! [`while_opening`]: the screen before there is a daemon, which may have a long record to read.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use ctxrelay_ui::Effect;

use super::clock::now_ms;
use super::display::Display;
use super::model::{DaemonLink, Model};
use super::present::present;
use super::run::DeckAbout;
use crate::store::ledger::{ReadProgress, ReadSoFar};

/// How often it looks how far the reading is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits for the start of a daemon and says meanwhile what it does. `None` when the operator left
/// before it was done.
pub async fn while_opening<T>(
    display: &mut Display,
    about: DeckAbout,
    reading: &ReadProgress,
    mut told_to_end: watch::Receiver<bool>,
    start: impl Future<Output = T>,
) -> Option<T> {
    let mut model = Model::new(DaemonLink::Starting(doing(reading.so_far())), about);
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shown = None;
    tokio::pin!(start);
    loop {
        let words = doing(reading.so_far());
        if shown.as_ref() != Some(&words) {
            model.link = DaemonLink::Starting(words.clone());
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

/// What a start does, as far as can be told from outside.
fn doing(ReadSoFar { bytes, of, .. }: ReadSoFar) -> String {
    match bytes.saturating_mul(100).checked_div(of) {
        Some(percent) => format!("opening the record … {} %", percent.min(100)),
        None => "starting the daemon …".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadSoFar, doing};

    #[test]
    fn what_is_read_is_told_in_percent_once_its_length_is_known() {
        let so_far = |bytes, of| ReadSoFar {
            bytes,
            of,
            entries: 7,
        };
        assert_eq!(doing(so_far(0, 0)), "starting the daemon …");
        assert_eq!(doing(so_far(61, 100)), "opening the record … 61 %");
        assert_eq!(doing(so_far(161, 100)), "opening the record … 100 %");
    }
}
