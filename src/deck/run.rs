//! [`run`]: the deck's life with a daemon. The display owns terminal and screen state; a task on the
//! runtime owns the model and talks to the daemon.

use super::deck_exit::DeckExit;
use super::deck_options::DeckOptions;
use super::display::Display;
use super::following::Following;
use super::foreground::Foreground;
use super::unsent::OpenWishes;
use crate::core::lock::lock;

/// Follows the daemon, feeds the screen and performs wishes, until the deck is left; gives the
/// terminal back then. What was wished and not got by then is told, a line each.
pub async fn run(
    mut display: Display,
    options: DeckOptions,
    tell_unsent: impl Fn(&str),
) -> DeckExit {
    let told_to_end = options.told_to_end.clone();
    let mut open = OpenWishes::default();
    let person = Foreground::new(&mut display, told_to_end, &mut open);
    let Err(left) = Following::new(person, options).until_left().await;
    open.kept.extend(display.left_over());
    let unsent = display.unsent();
    let has_failed = display.close().await;
    open.written = std::mem::take(&mut *lock(&unsent));
    for line in open.in_words() {
        tell_unsent(&line);
    }
    if has_failed { DeckExit::Failed } else { left }
}
