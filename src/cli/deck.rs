//! `ctxrelay` alone: the deck of this project, hosting the daemon or attached to it. And
//! `ctxrelay demo`.

use std::cell::RefCell;
use std::future::ready;
use std::io::IsTerminal as _;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::{Depth, QuitChoice, Settings};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::args::DemoArgs;
use super::context::CliContext;
use super::daemon::{Signals, attend};
use super::detach;
use super::exit::{CliOutcome, ExitKind, Failure};
use super::hand_over::{HandedOver, hand_over};
use super::logging;
use super::output::Output;
use super::pair_tmux::kept;
use super::replace::offer;
use crate::adapters::git;
use crate::client::{Client, WebsocketOptions, connect, operator_dial, project_dial};
use crate::core::agent::Agent;
use crate::daemon::running::Running;
use crate::daemon::start::StartError;
use crate::deck::run::{DeckExit, DeckOptions, Restarted, project_name, run as show, utc_offset_s};
use crate::demo::play::{Ending, play};
use crate::demo::text::run_as_text;
use crate::demo::world::set_up;
use crate::host::ProjectContext;
use crate::store::published::Published;
use crate::wire::control::{Command, RefusalCode, Reply, Role};

/// How long an orderly end may take: the daemon's own steps together, and a little.
const END_WAIT: Duration = Duration::from_secs(15);

/// Threads of the runtime. Drawing and input have their own.
const THREADS: usize = 2;

pub fn run(context: &CliContext) -> CliOutcome {
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
    let mut has_failed = false;
    let verdict = match started {
        Ok(running) => runtime.block_on(host(context, running, &mut has_failed)),
        Err(StartError::Owned) => {
            let read_only = offer(context, &runtime);
            runtime.block_on(attach(setting, read_only)).map(|left| {
                has_failed = left == DeckExit::Failed;
                After::Nothing
            })
        }
        Err(error) => return Err(error.into()),
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    let verdict = match verdict? {
        After::Nothing => Ok(ExitKind::Ok),
        After::GoesOn(said) => {
            let ready = Published::read(&setting.dirs).ok_or_else(Failure::no_daemon)?;
            report(context, said, &ready)
        }
        // Only now is the lock free.
        After::StartsAnew(said) => report(context, said, &detach::start(setting, false)?),
    };
    if has_failed {
        return Err(Failure::internal(
            "draw the deck",
            "a fault of ctxrelay's own",
        ));
    }
    verdict
}

/// What is to be done when the deck was left.
enum After {
    Nothing,
    /// Another process has the daemon; says why.
    GoesOn(&'static str),
    /// A new daemon is to begin; says why.
    StartsAnew(&'static str),
}

fn report(context: &CliContext, said: &str, ready: &Published) -> CliOutcome {
    context.out.line(&format!(
        "{said}: the daemon goes on in the background, control port {}; `ctxrelay` comes back to it",
        ready.control_port
    ))?;
    Ok(ExitKind::Ok)
}

/// The daemon that a deck began with, or the one that was started from it since.
enum Hosted {
    Here {
        running: Box<Running>,
        client: Client,
    },
    Elsewhere {
        operator: Client,
    },
}

impl Hosted {
    /// Joins a daemon of this process.
    async fn here(setting: &ProjectContext, mut running: Running) -> Result<Self, Failure> {
        // Nobody here takes a successor: the operator's way is to leave the deck, and is told so.
        running.successors.close();
        let hello = setting.hello(Role::Deck, None);
        let client = Client::in_process(running.handle.clone(), hello, true).await?;
        let running = Box::new(running);
        Ok(Self::Here { running, client })
    }

    /// Starts it again where it failed, unless somebody else has.
    async fn again(setting: &ProjectContext) -> Result<(Self, Restarted), Failure> {
        match setting.start_daemon(false, true).await {
            Ok(running) => {
                let hosted = Self::here(setting, running).await?;
                let Self::Here { client, .. } = &hosted else {
                    return Err(Failure::no_daemon());
                };
                let restarted = Restarted {
                    client: client.clone(),
                    operator: client.clone(),
                    hosting: true,
                };
                Ok((hosted, restarted))
            }
            Err(StartError::Owned) => {
                let (client, operator) = clients(setting);
                let restarted = Restarted {
                    client,
                    operator: operator.clone(),
                    hosting: false,
                };
                Ok((Self::Elsewhere { operator }, restarted))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The deck over the daemon of this process, until it is left for good.
async fn host(
    context: &CliContext,
    running: Running,
    has_failed: &mut bool,
) -> Result<After, Failure> {
    let setting = &context.setting;
    let mut running = running;
    let mut notice = None;
    loop {
        let hosted = Hosted::here(setting, running).await?;
        let Hosted::Here { client, .. } = &hosted else {
            return Err(Failure::no_daemon());
        };
        let mut options = options(setting, client.clone(), client.clone(), true, false)?;
        options.notice = notice.take();
        let hosted = Arc::new(Mutex::new(hosted));
        options.restart = {
            let (setting, hosted) = (setting.clone(), Arc::clone(&hosted));
            Arc::new(move || {
                let (setting, hosted) = (setting.clone(), Arc::clone(&hosted));
                Box::pin(async move {
                    let again = Hosted::again(&setting).await;
                    let (again, restarted) = again.map_err(|failure| failure.message)?;
                    *hosted.lock().await = again;
                    Ok(Some(restarted))
                })
            })
        };
        let shown = show(options).await;
        let hosted = Arc::into_inner(hosted).map(Mutex::into_inner);
        let (kept, client) = match hosted {
            Some(Hosted::Here { running, client }) => (*running, client),
            Some(Hosted::Elsewhere { operator }) => {
                let left = shown.map_err(|error| Failure::internal("show the deck", error))?;
                if left == DeckExit::Chosen(QuitChoice::Stop) {
                    operator.call(Command::Stop(Default::default())).await?;
                }
                return Ok(After::Nothing);
            }
            None => return Err(Failure::no_daemon()),
        };
        running = kept;
        let left = match shown {
            // Whatever became of the screen, the agents keep their daemon.
            Ok(DeckExit::Failed) => {
                *has_failed = true;
                DeckExit::Gone
            }
            Ok(left) => left,
            Err(error) => {
                end(&running).await;
                return Err(Failure::internal("show the deck", error));
            }
        };
        if running.handle.fault().is_some() {
            // It was left as it was: the process ends as a daemon without a screen would.
            return Ok(running.ended().await.map(|()| After::Nothing)?);
        }
        let agents = match client.call(Command::ReadStatus).await {
            Ok(Reply::Status(status)) => Some(status.agents),
            _ => None,
        };
        let attached = agents
            .as_ref()
            .is_some_and(|agents| agents.claude.state.is_attached() || agents.codex.tui);
        let said = match left {
            DeckExit::Chosen(QuitChoice::Stay) => "left",
            DeckExit::Gone if attached => "the terminal went away",
            DeckExit::Chosen(QuitChoice::Stop) | DeckExit::Gone | DeckExit::Failed => {
                end(&running).await;
                return Ok(After::Nothing);
            }
        };
        let program = setting.own_program.clone();
        let (kept, failure) = match hand_over(setting, running, &program, true, |_| ()).await {
            HandedOver::Done => return Ok(After::GoesOn(said)),
            HandedOver::Kept(kept, failure) => (*kept, failure),
            HandedOver::Ended(failure) => {
                tracing::error!(why = failure.message, "a new daemon begins");
                return Ok(After::StartsAnew(said));
            }
        };
        if left == DeckExit::Gone {
            // Nobody is left to be told: the daemon goes on right here, without a screen.
            stay(setting, kept).await?;
            return Ok(After::Nothing);
        }
        let in_turn = agents.is_some_and(|agents| agents.codex.turn_id.is_some());
        if failure.is(&RefusalCode::CannotTakeOver) && !in_turn {
            // Another version was installed meanwhile, and nothing is lost by a stop.
            end(&kept).await;
            return Ok(After::StartsAnew(said));
        }
        notice = Some(failure.message);
        running = kept;
    }
}

/// Goes on in this process, as a daemon that ends when nobody needs it.
async fn stay(setting: &ProjectContext, running: Running) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let running = match running.handle.leave_all().await {
        Err(_) => running,
        Ok(()) => match running.takeover.await {
            Ok(takeover) => setting.take_over(takeover, ready(true), true).await?,
            Err(_) => return Err(Failure::no_daemon()),
        },
    };
    attend(setting, running, signals).await.map(drop)
}

/// The deck over a daemon that runs elsewhere; without the operator's way in when it must be left
/// alone.
async fn attach(setting: &ProjectContext, read_only: Option<String>) -> Result<DeckExit, Failure> {
    let (client, operator) = clients(setting);
    let operator = match read_only {
        Some(_) => client.clone(),
        None => operator,
    };
    let mut options = options(setting, client, operator.clone(), false, false)?;
    options.notice = read_only;
    options.restart = {
        let setting = setting.clone();
        Arc::new(move || {
            let setting = setting.clone();
            Box::pin(async move {
                let started = spawn_blocking(move || detach::start(&setting, true)).await;
                match started {
                    // The clients look for it all the time.
                    Ok(Ok(_)) => Ok(None),
                    Ok(Err(failure)) => Err(failure.message),
                    Err(_) => Err("it could not be started".to_owned()),
                }
            })
        })
    };
    let left = show(options)
        .await
        .map_err(|error| Failure::internal("show the deck", error))?;
    if left == DeckExit::Chosen(QuitChoice::Stop) {
        operator.call(Command::Stop(Default::default())).await?;
    }
    Ok(left)
}

/// Clients of a daemon that runs elsewhere: for reading, and for the operator.
fn clients(setting: &ProjectContext) -> (Client, Client) {
    let hello = setting.hello(Role::Deck, None);
    let client = connect(WebsocketOptions {
        dial: project_dial(setting.dirs.clone(), Role::Deck, None),
        hello: hello.clone(),
        on_connect: Vec::new(),
    });
    let operator = connect(WebsocketOptions {
        dial: operator_dial(&setting.user_dirs, &setting.dirs),
        hello,
        on_connect: Vec::new(),
    });
    (client, operator)
}

/// `ctxrelay demo`.
pub fn demo(out: &Output, args: &DemoArgs) -> CliOutcome {
    let program =
        std::env::current_exe().map_err(|error| Failure::internal("find itself", error))?;
    let runtime = runtime()?;
    let verdict = if has_terminal() && !out.is_json() {
        runtime.block_on(demo_on_screen(program, args.speed))
    } else {
        let timeline = RefCell::new(Vec::new());
        let played = runtime.block_on(async {
            run_as_text(program, args.speed, |line| {
                if out.is_json() {
                    timeline.borrow_mut().push(line.to_owned());
                } else {
                    // A reader that closed the pipe has seen enough; the story ends by itself.
                    let _ = out.line(line);
                }
            })
            .await
            .map_err(|error| Failure::internal("play the demo", error))
        });
        match played {
            Ok(()) if out.is_json() => {
                out.json(&json!({"ok": true, "timeline": timeline.into_inner()}))
            }
            played => played,
        }
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
    setting: &ProjectContext,
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
        restart: Arc::new(|| {
            let why = "it cannot be started from here".to_owned();
            Box::pin(ready(Err(why)))
        }),
        read_tree: Arc::new(move || git::work_tree(&root)),
        notice: None,
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
fn start_agent(setting: &ProjectContext, agent: Agent) -> Result<String, String> {
    let command = format!("ctxrelay {agent}");
    if std::env::var_os("TMUX").is_none() {
        return Err(format!(
            "run `{command}` in another terminal in this project"
        ));
    }
    let words = [
        setting.own_program.clone().into_os_string(),
        "--project".into(),
        setting.dirs.root.clone().into_os_string(),
        agent.as_str().into(),
    ];
    let done = Process::new("tmux")
        .args(["split-window", "-h", "-d", "-c"])
        .arg(&setting.dirs.root)
        .args(kept(agent.as_str(), words.into()))
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
