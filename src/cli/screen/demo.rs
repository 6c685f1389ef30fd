//! `ctxrelay demo`: the deck on a throw-away project with two scripted agents.

use std::cell::RefCell;
use std::future::pending;
use std::time::Duration;

use serde_json::json;

use crate::cli::args::DemoArgs;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::lifecycle::end_signals::EndSignals;
use crate::cli::output::Output;
use crate::cli::report::{Report, ReportText};
use crate::cli::screen::deck::{end, has_terminal, runtime};
use crate::cli::screen::deck_screen::{DeckScreen, about, options};
use crate::client::Client;
use crate::deck::event_loop::run::run as show;
use crate::demo::DemoError;
use crate::demo::play::{Ending, play};
use crate::demo::text::run_as_text;
use crate::demo::world::set_up;
use crate::wire::control::{ProgramCode, Role};

pub fn run(out: &Output, args: &DemoArgs) -> CliOutcome {
    let program =
        std::env::current_exe().map_err(|error| Failure::internal("find itself", error))?;
    let runtime = runtime()?;
    let verdict = if has_terminal() && !out.is_json() {
        let shown = runtime.block_on(demo_on_screen(program, args.speed));
        shown.map(|()| ExitKind::Ok)
    } else {
        runtime.block_on(demo_as_text(out, program, args.speed))
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    verdict
}

async fn demo_as_text(out: &Output, program: std::path::PathBuf, speed: f64) -> CliOutcome {
    let timeline = RefCell::new(Vec::new());
    let print = |line: &str| {
        // A reader that closed the pipe has seen enough; the story ends by itself.
        let _ = out.aside(line);
        timeline.borrow_mut().push(line.to_owned());
    };
    let told_to_end = async {
        match EndSignals::listen() {
            Ok(mut signals) => signals.next().await,
            Err(_) => pending().await,
        }
    };
    let played = run_as_text(program, speed, print, told_to_end);
    played.await.map_err(failed)?;
    let value = json!({"ok": true, "timeline": timeline.into_inner()});
    out.report(Report::new(&value, ReportText::new()))
}

async fn demo_on_screen(program: std::path::PathBuf, speed: f64) -> Result<(), Failure> {
    let shown = DeckScreen::open()?;
    let world = match set_up(program, speed).await {
        Ok(world) => world,
        Err(error) => {
            shown.display.close().await;
            return Err(failed(error));
        }
    };
    let running = match world.project.start_daemon().await {
        Ok(running) => running,
        Err(error) => {
            shown.display.close().await;
            return Err(error.into());
        }
    };
    let hello = world.project.hello(Role::Deck, None);
    let client = Client::in_process(running.handle.clone(), hello, true).await?;
    let about = about(&world.project, true);
    let mut options = options(&world.project, about, client.clone(), client, &shown);
    options.hosting = true;
    let told = {
        let story = play(&world, &running, Ending::Operator);
        // Its project goes with it, and what was not done there.
        let screen = show(shown.display, options, |_| ());
        tokio::pin!(story, screen);
        tokio::select! {
            _ = &mut screen => Ok(()),
            told = &mut story => {
                screen.await;
                told
            }
        }
    };
    end(running, &mut EndSignals::listen_once_more()?).await?;
    told.map_err(failed)
}

/// Why there was no demo. Its log goes with its project.
fn failed(error: DemoError) -> Failure {
    match error {
        DemoError::NoFolder { .. } => Failure::state(
            ProgramCode::Unwritable,
            error.to_string(),
            "name a folder that is there and that you can write, by its whole path, with TMPDIR",
        ),
        error => Failure {
            hint: String::new(),
            ..Failure::internal("play the demo", error)
        },
    }
}
