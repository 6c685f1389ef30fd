//! `ctxrelay` alone: the deck of this project, hosting the daemon or attached to it. And
//! `ctxrelay demo`.

use std::io::IsTerminal as _;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::{Depth, QuitChoice, Settings};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use super::args::DemoArgs;
use super::context::Context;
use super::detach;
use super::exit::{ExitKind, Failure, Verdict};
use super::logging;
use super::output::Output;
use super::shell::quote;
use crate::adapters::git;
use crate::client::{Client, WebsocketOptions, connect, operator_dial, project_dial};
use crate::core::agent::Agent;
use crate::daemon::build::{Running, StartError};
use crate::deck::run::{DeckOptions, Left, project_name, run as show, utc_offset_s};
use crate::demo::play::{Ending, play};
use crate::demo::text::run_as_text;
use crate::demo::world::set_up;
use crate::host::Setting;
use crate::wire::control::{Command, Reply, Role};

/// How long an orderly end may take: the daemon's own steps together, and a little.
const END_WAIT: Duration = Duration::from_secs(15);

/// Threads of the runtime. Drawing and input have their own.
const THREADS: usize = 2;

pub fn run(context: &Context) -> Verdict {
    if context.out.is_json() || !has_terminal() {
        return Err(Failure::new(
            ExitKind::Usage,
            "no_terminal",
            "the deck needs a terminal",
            "see `ctxrelay --help`; without a screen there are `ctxrelay daemon` and `ctxrelay status`",
        ));
    }
    let setting = &context.setting;
    let runtime = runtime()?;
    let started = runtime.block_on(setting.start_daemon(false, true));
    let _log = logging::start(setting);
    let verdict = match started {
        Ok(running) => runtime.block_on(host(context, running)),
        Err(StartError::Owned) => runtime.block_on(attach(setting)).map(|_| None),
        Err(error) => return Err(error.into()),
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    // Only now is the lock free for the one that goes on.
    if let Some(said) = verdict? {
        let ready = detach::start(setting, false)?;
        context.out.line(&format!(
            "{said}: the daemon goes on in the background, control port {}; `ctxrelay` comes back to it",
            ready.control_port
        ))?;
    }
    Ok(ExitKind::Ok)
}

/// The deck over the daemon of this process. Returns why a detached one should go on.
async fn host(context: &Context, running: Running) -> Result<Option<&'static str>, Failure> {
    let setting = &context.setting;
    let client = Client::in_process(
        running.handle.clone(),
        setting.hello(Role::Deck, None),
        true,
    )
    .await?;
    let options = options(setting, client.clone(), client.clone(), true, false)?;
    let left = show(options).await;
    let attached = match client.call(Command::ReadStatus).await {
        Ok(Reply::Status(status)) => {
            status.agents.claude.state.is_attached() || status.agents.codex.tui
        }
        _ => false,
    };
    end(&running).await;
    match left.map_err(|error| Failure::internal("show the deck", error))? {
        Left::Chosen(QuitChoice::Stay) => Ok(Some("left")),
        Left::Gone if attached => Ok(Some("the terminal went away")),
        Left::Chosen(QuitChoice::Stop) | Left::Gone => Ok(None),
    }
}

/// The deck over a daemon that runs elsewhere.
async fn attach(setting: &Setting) -> Result<Left, Failure> {
    let hello = setting.hello(Role::Deck, None);
    let client = connect(WebsocketOptions {
        dial: project_dial(setting.dirs.clone(), None),
        hello: hello.clone(),
        on_connect: Vec::new(),
    });
    let operator = connect(WebsocketOptions {
        dial: operator_dial(&setting.user_dirs, &setting.dirs),
        hello,
        on_connect: Vec::new(),
    });
    let options = options(setting, client, operator.clone(), false, false)?;
    let left = show(options)
        .await
        .map_err(|error| Failure::internal("show the deck", error))?;
    if left == Left::Chosen(QuitChoice::Stop) {
        operator.call(Command::Stop(Default::default())).await?;
    }
    Ok(left)
}

/// `ctxrelay demo`.
pub fn demo(out: &Output, args: &DemoArgs) -> Verdict {
    let program =
        std::env::current_exe().map_err(|error| Failure::internal("find itself", error))?;
    let runtime = runtime()?;
    let verdict = if has_terminal() && !out.is_json() {
        runtime.block_on(demo_on_screen(program, args.speed))
    } else {
        runtime.block_on(async {
            run_as_text(program, args.speed, |line| {
                // A reader that closed the pipe has seen enough; the story ends by itself.
                let _ = out.line(line);
            })
            .await
            .map_err(|error| Failure::internal("play the demo", error))
        })
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    verdict.map(|()| ExitKind::Ok)
}

async fn demo_on_screen(program: std::path::PathBuf, speed: f64) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::internal("play the demo", error);
    let world = set_up(program, speed)
        .await
        .map_err(|error| failed(&error))?;
    let running = world.setting.start_daemon(false, true).await?;
    let hello = world.setting.hello(Role::Deck, None);
    let client = Client::in_process(running.handle.clone(), hello, true).await?;
    let options = options(&world.setting, client.clone(), client, true, true)?;
    let left = {
        let story = play(&world, &running, Ending::Operator);
        let screen = show(options);
        tokio::pin!(story, screen);
        tokio::select! {
            left = &mut screen => left.map(|_| ()),
            told = &mut story => {
                let left = screen.await.map(|_| ());
                told.map_err(|error| failed(&error))?;
                left
            }
        }
    };
    end(&running).await;
    left.map_err(|error| failed(&error))
}

fn options(
    setting: &Setting,
    client: Client,
    operator: Client,
    hosting: bool,
    demo: bool,
) -> Result<DeckOptions, Failure> {
    let root = setting.dirs.root.clone();
    let starter = setting.clone();
    Ok(DeckOptions {
        client,
        operator,
        hosting,
        demo,
        project: project_name(&root),
        runtime_session: setting.runtime_session.to_string(),
        settings: screen_settings()?,
        utc_offset_s: utc_offset_s(),
        start_agent: Arc::new(move |agent| start_agent(&starter, agent)),
        read_tree: Arc::new(move || git::work_tree(&root)),
        told_to_end: signals()?,
    })
}

fn screen_settings() -> Result<Settings, Failure> {
    let mut settings =
        Settings::new().map_err(|error| Failure::internal("read the keymap", error))?;
    let var = |name: &str| std::env::var(name).ok();
    settings.depth = Depth::detect(
        var("NO_COLOR").as_deref(),
        var("COLORTERM").as_deref(),
        var("TERM").as_deref(),
    );
    let speaks_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| var(name).filter(|value| !value.is_empty()))
        .next()
        .is_none_or(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    if !speaks_utf8 {
        settings.glyphs = ctxrelay_ui::Glyphs::Ascii;
    }
    Ok(settings)
}

/// Opens a pane beside the deck. Only inside tmux: another terminal cannot be opened from here.
fn start_agent(setting: &Setting, agent: Agent) -> Result<String, String> {
    let command = format!("ctxrelay {agent}");
    if std::env::var_os("TMUX").is_none() {
        return Err(format!(
            "run `{command}` in another terminal in this project"
        ));
    }
    let line = format!(
        "{} --project {} {agent}",
        quote(setting.own_program.as_os_str()),
        quote(setting.dirs.root.as_os_str())
    );
    let done = Process::new("tmux")
        .args(["split-window", "-h", "-d", "-c"])
        .arg(&setting.dirs.root)
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match done {
        Ok(status) if status.success() => Ok(format!("{command} starts in a pane beside")),
        _ => Err(format!(
            "tmux opened no pane; run `{command}` in another terminal"
        )),
    }
}

/// Becomes true when the process is told to end.
fn signals() -> Result<watch::Receiver<bool>, Failure> {
    let (tell, told) = watch::channel(false);
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        let mut stream =
            signal(kind).map_err(|error| Failure::internal("listen for signals", error))?;
        let tell = tell.clone();
        tokio::spawn(async move {
            stream.recv().await;
            let _ = tell.send(true);
        });
    }
    Ok(told)
}

async fn end(running: &Running) {
    running.handle.shutdown(false).await;
    if timeout(END_WAIT, running.handle.ended().cancelled())
        .await
        .is_err()
    {
        tracing::error!("the daemon did not end in time");
    }
}

fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("start the runtime", error))
}
