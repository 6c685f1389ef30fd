//! [`run`]: the deck's life with a daemon. The display owns the terminal and the screen state; a
//! task on the runtime owns the model and talks to the daemon.

use std::io;

use crate::core::lock::lock;
use crate::deck::deck_options::{DeckOptions, KeepUnsent};
use crate::deck::event_loop::deck_exit::DeckExit;
use crate::deck::event_loop::following::Following;
use crate::deck::event_loop::foreground::Foreground;
use crate::deck::terminal::display::Display;
use crate::deck::terminal::private_copy::private_copy;
use crate::deck::terminal::term::is_lost;
use crate::deck::unsent::OpenWishes;

/// Follows the daemon, feeds the screen and performs wishes, until the deck is left; gives the
/// terminal back then. What was wished and not got by then is told, a line each. Where nobody reads
/// the terminal any more these lines stay in a file; what was written in a demo goes with it.
pub async fn run(
    mut display: Display,
    options: DeckOptions,
    tell_unsent: impl Fn(&str),
) -> DeckExit {
    let told_to_end = options.told_to_end.clone();
    let is_demo = options.about.demo;
    let keep_unsent = options.keep_unsent.clone();
    let mut open = OpenWishes::default();
    let person = Foreground::new(&mut display, told_to_end, &mut open);
    // Who shows a deck would hold all of it in its own future, and move it from place to place.
    let Err(left) = Box::pin(Following::new(person, options).until_left()).await;
    open.kept.extend(display.left_over());
    let unsent = display.unsent();
    let has_failed = display.close().await;
    open.written = std::mem::take(&mut *lock(&unsent));
    let lines = open.in_words();
    for line in &lines {
        tell_unsent(line);
    }
    if is_lost() && !is_demo && !lines.is_empty() {
        keep(&keep_unsent, &lines);
    }
    if has_failed { DeckExit::Failed } else { left }
}

fn keep(keep_unsent: &KeepUnsent, unsent: &[String]) {
    let text = unsent.join("\n") + "\n";
    let kept = keep_unsent(&text).or_else(|error| {
        tracing::warn!(%error, "what was not sent cannot be kept in its place");
        // Where the home has no room.
        let (folder, file) = private_copy("unsent.txt", &text)?;
        let _ = folder.keep();
        Ok::<_, io::Error>(file)
    });
    match kept {
        Ok(file) => {
            let file = file.display();
            tracing::warn!(%file, "the terminal is gone: what was not sent stays in this file");
        }
        Err(error) => {
            tracing::error!(%error, "the terminal is gone, and what was not sent cannot be kept");
        }
    }
}
