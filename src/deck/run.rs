//! [`run`]: the deck's life. The drawing thread owns terminal and screen state; a task on the
//! runtime owns the model and talks to the daemon. They share two bounded queues and one slot,
//! so a blocked terminal delays nobody but itself.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossterm::event::{Event as TermEvent, KeyEventKind};
use ctxrelay_ui::model::{DeckView, Level};
use ctxrelay_ui::{Deck, Effect, Msg, QuitChoice, Settings, update};
use futures::future::BoxFuture;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::model::{DaemonLink, Model};
use super::perform::{agent_of, perform};
use super::present::present;
use super::reading::read_all;
use super::term::Screen;
use crate::client::{Client, Connection};
use crate::core::agent::Agent;
use crate::core::entry::WorkTree;
use crate::wire::control::{Command, Notification, Reply};

/// Inputs that may wait for the drawing thread. A person types slower; a paste is one message.
const INPUTS_MAX: usize = 256;

/// Wishes that may wait for the task; a key press makes at most a few.
const EFFECTS_MAX: usize = 64;

/// Changes within this time are drawn together: faster than the eye, slower than a flood.
const GATHER: Duration = Duration::from_millis(16);

/// How often the daemon is asked for its status at most, while entries come in.
const STATUS_EVERY: Duration = Duration::from_millis(100);

/// An agent that was started is looked for after this long.
const STARTED_BY: Duration = Duration::from_secs(6);

/// After the daemon refused to be read it is asked again this often.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// With nothing to draw the drawing thread looks this rarely whether it should end.
const QUIET: Duration = Duration::from_secs(60);

/// A daemon that was started from the deck.
#[derive(Debug)]
pub struct Restarted {
    /// As in [`DeckOptions`].
    pub client: Client,
    /// As in [`DeckOptions`].
    pub operator: Client,
    /// As in [`DeckOptions`].
    pub hosting: bool,
}

/// Starts a daemon again: one to talk to from now on, or nothing where the clients find it by
/// themselves; otherwise a sentence.
pub type Restart =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Option<Restarted>, String>> + Send + Sync>;

/// What a deck is given.
pub struct DeckOptions {
    /// For reading.
    pub client: Client,
    /// For the operator's commands; the same one when the daemon runs in this process.
    pub operator: Client,
    /// The daemon runs in this process.
    pub hosting: bool,
    /// The agents are scripted.
    pub demo: bool,
    /// The project's name.
    pub project: String,
    /// The pair.
    pub runtime_session: String,
    /// How the screen starts.
    pub settings: Settings,
    /// Seconds to add to UTC for local time.
    pub utc_offset_s: i32,
    /// Starts an agent beside the deck: a sentence either way.
    pub start_agent: Arc<dyn Fn(Agent) -> Result<String, String> + Send + Sync>,
    /// Starts the daemon again, which has ended.
    pub restart: Restart,
    /// The work tree of now; slow.
    pub read_tree: Arc<dyn Fn() -> Option<WorkTree> + Send + Sync>,
    /// Something to say from the start.
    pub notice: Option<String>,
    /// Becomes true when the process was told to end (a signal).
    pub told_to_end: watch::Receiver<bool>,
}

impl std::fmt::Debug for DeckOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeckOptions").finish_non_exhaustive()
    }
}

/// How the deck was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeckExit {
    /// By key, with this choice.
    Chosen(QuitChoice),
    /// By a signal, or because the terminal went away.
    Gone,
    /// Drawing failed by a fault of our own.
    Failed,
}

/// Why the deck could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DeckError {
    /// There is no usable terminal.
    #[error("could not take the terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// The theme or keymap is wrong.
    #[error("{0}")]
    Settings(String),
}

/// What goes to the drawing thread.
enum Input {
    Msg(Box<Msg>),
    /// A new view lies in the slot.
    Look,
    End,
}

type Slot = Arc<Mutex<Option<Box<DeckView>>>>;

/// Shows the deck until it is left.
///
/// # Errors
///
/// See [`DeckError`].
pub async fn run(options: DeckOptions) -> Result<DeckExit, DeckError> {
    let deck = Deck::new(options.settings.clone())
        .map_err(|error| DeckError::Settings(error.to_string()))?;
    let screen = Screen::take()?;
    let (inputs, to_draw) = sync_channel::<Input>(INPUTS_MAX);
    let (wishes, effects) = mpsc::channel(EFFECTS_MAX);
    let slot = Slot::default();

    let keys = inputs.clone();
    thread::Builder::new()
        .name("deck-input".to_owned())
        .spawn(move || read_terminal(&keys))?;
    let drawing = {
        let slot = Arc::clone(&slot);
        thread::Builder::new()
            .name(super::term::DRAWING_THREAD.to_owned())
            .spawn(move || draw(screen, deck, &to_draw, &slot, &wishes))?
    };
    let left = follow(options, inputs.clone(), effects, slot).await;
    // The drawing thread may hang on a blocked terminal; it is not waited for without end.
    let _ = inputs.try_send(Input::End);
    let deadline = Instant::now() + Duration::from_secs(1);
    while !drawing.is_finished() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    super::term::restore();
    let has_failed = drawing.is_finished() && drawing.join().is_err();
    Ok(if has_failed { DeckExit::Failed } else { left })
}

/// Terminal events, as they come. Ends with the process: reading a terminal cannot be cancelled.
fn read_terminal(inputs: &SyncSender<Input>) {
    loop {
        let msg = match crossterm::event::read() {
            Ok(TermEvent::Key(key)) if key.kind != KeyEventKind::Release => Msg::Key(key),
            Ok(TermEvent::Mouse(mouse)) => Msg::Mouse(mouse),
            Ok(TermEvent::Paste(text)) => Msg::Paste(text),
            Ok(TermEvent::Resize(columns, rows)) => Msg::Resize(columns, rows),
            Ok(_) => continue,
            Err(_) => {
                let _ = inputs.send(Input::End);
                return;
            }
        };
        if inputs.send(Input::Msg(Box::new(msg))).is_err() {
            return;
        }
    }
}

/// The drawing thread: takes everything that waits, then draws once.
fn draw(
    mut screen: Screen,
    mut deck: Deck,
    inputs: &Receiver<Input>,
    slot: &Slot,
    wishes: &mpsc::Sender<Effect>,
) {
    if let Ok((columns, rows)) = screen.size() {
        update(&mut deck, Msg::Resize(columns, rows));
    }
    let mut effects = Vec::new();
    loop {
        // Clock and ages are those of the moment in which they are drawn, whatever woke us.
        effects.extend(update(&mut deck, Msg::Tick(now_ms())));
        if screen.draw(&deck).is_err() {
            return;
        }
        let wait = deck.next_redraw_ms().map_or(QUIET, Duration::from_millis);
        let first = match inputs.recv_timeout(wait) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut has_view = false;
        for input in first.into_iter().chain(inputs.try_iter()) {
            match input {
                Input::Msg(msg) => {
                    if let Msg::Resize(columns, rows) = *msg {
                        tracing::debug!(columns, rows, "the screen has another size");
                    }
                    effects.extend(update(&mut deck, *msg));
                }
                Input::Look => has_view = true,
                Input::End => return,
            }
        }
        // Behind the keys and clicks: they were meant for the rows that stood there.
        if has_view && let Some(view) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
            effects.extend(update(&mut deck, Msg::View(view)));
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Redraw => {
                    let _ = screen.clear();
                }
                Effect::CopyText(text) => {
                    let _ = screen.copy(&text);
                }
                effect => {
                    if wishes.try_send(effect).is_err() {
                        update(
                            &mut deck,
                            Msg::Notice(Level::Error, "busy: press the key again".to_owned()),
                        );
                    }
                }
            }
        }
    }
}

/// The task: follows the daemon, feeds the screen, performs wishes.
async fn follow(
    mut options: DeckOptions,
    inputs: SyncSender<Input>,
    mut effects: mpsc::Receiver<Effect>,
    slot: Slot,
) -> DeckExit {
    let link = if options.hosting {
        DaemonLink::Hosting
    } else {
        DaemonLink::Reconnecting("connecting".to_owned())
    };
    let mut model = Model::new(
        link,
        options.project.clone(),
        options.runtime_session.clone(),
        options.demo,
    );
    let mut notifications = options.client.notifications();
    let mut connection = options.client.connection();
    let mut told_to_end = options.told_to_end.clone();
    let (trees, mut tree_read) = mpsc::channel(1);
    let mut proposals = Vec::new();
    let mut stale = true;
    let mut status_due: Option<Instant> = None;
    let mut view_due: Option<Instant> = Some(Instant::now());
    let mut read_due: Option<Instant> = None;
    connection.mark_changed();
    // The daemon of this process is no more; whoever looks may start it again.
    let mut has_failed = false;
    let mut notice = options.notice.clone();
    loop {
        if stale
            && read_due.is_none_or(|due| due <= Instant::now())
            && matches!(*connection.borrow(), Connection::Connected(_))
        {
            stale = match read_all(&options.client, &mut model).await {
                Ok(()) => false,
                Err(why) => {
                    model.unread = Some(why);
                    true
                }
            };
            // Without a subscription nothing else would bring it up again.
            read_due = stale.then(|| Instant::now() + READ_AGAIN);
            view_due = Some(Instant::now());
        }
        let pending: Vec<_> = model.world.pending_proposals.keys().cloned().collect();
        if pending != proposals {
            proposals = pending;
            look_at_tree(&options, &trees);
        }
        let now = Instant::now();
        if view_due.is_some_and(|due| due <= now) {
            view_due = None;
            let view = present(&model, now_ms(), options.utc_offset_s);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(view));
            if let Err(TrySendError::Disconnected(_)) = inputs.try_send(Input::Look) {
                return DeckExit::Gone;
            }
            // Behind the first view, which brings the time that a notice stands for.
            if let Some(notice) = notice.take() {
                let msg = Msg::Notice(Level::Error, notice);
                let _ = inputs.try_send(Input::Msg(Box::new(msg)));
            }
        }
        if status_due.is_some_and(|due| due <= now) {
            status_due = None;
            if let Ok(Reply::Status(status)) = options.client.call(Command::ReadStatus).await {
                model.status = *status;
                view_due.get_or_insert(Instant::now());
            }
        }
        let far = now + Duration::from_secs(3600);
        let wake = [view_due, status_due, read_due]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(far);
        tokio::select! {
            () = sleep_until(wake) => {}
            changed = connection.changed(), if !has_failed => {
                if changed.is_err() {
                    return DeckExit::Gone;
                }
                has_failed = matches!(*connection.borrow(), Connection::Ended { .. });
                stale |= on_connection(&connection.borrow_and_update(), options.hosting, &mut model);
                view_due = Some(Instant::now());
            }
            notification = notifications.recv(), if !has_failed => {
                match notification {
                    Ok(Notification::Entry(stored)) => {
                        if !model.append(&stored.entry) {
                            stale = true;
                        }
                        status_due.get_or_insert(Instant::now() + STATUS_EVERY);
                        view_due.get_or_insert(Instant::now() + GATHER);
                    }
                    Ok(Notification::StatusChanged {}) => {
                        let soon = Instant::now() + GATHER;
                        status_due = Some(status_due.map_or(soon, |due| due.min(soon)));
                    }
                    Ok(Notification::Lagged { .. }) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        stale = true;
                    }
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Closed) => return DeckExit::Gone,
                }
            }
            effect = effects.recv() => {
                let Some(effect) = effect else { return DeckExit::Gone };
                if let Effect::Quit(choice) = effect {
                    return DeckExit::Chosen(choice);
                }
                if effect == Effect::LookAtTree {
                    look_at_tree(&options, &trees);
                    continue;
                }
                if matches!(effect, Effect::StartAgent(_)) {
                    // By then it is there, or worth a hint.
                    status_due.get_or_insert(Instant::now() + STARTED_BY);
                }
                if effect == Effect::Restart {
                    let restart = Arc::clone(&options.restart);
                    let msg = match restart().await {
                        Ok(restarted) => {
                            if let Some(restarted) = restarted {
                                options.client = restarted.client;
                                options.operator = restarted.operator;
                                options.hosting = restarted.hosting;
                                notifications = options.client.notifications();
                                connection = options.client.connection();
                                connection.mark_changed();
                                has_failed = false;
                            }
                            Msg::Notice(Level::Info, "the daemon was started again".to_owned())
                        }
                        Err(why) => Msg::Notice(Level::Error, why),
                    };
                    if inputs.try_send(Input::Msg(Box::new(msg))).is_err() {
                        return DeckExit::Gone;
                    }
                    view_due = Some(Instant::now());
                    continue;
                }
                if matches!(effect, Effect::Approve { .. }) {
                    // When it is refused, the card tells why.
                    look_at_tree(&options, &trees);
                }
                if let Some(msg) = on_effect(effect, &options, &mut model).await
                    && inputs.try_send(Input::Msg(Box::new(msg))).is_err()
                {
                    return DeckExit::Gone;
                }
                view_due = Some(Instant::now());
            }
            Some(tree) = tree_read.recv() => {
                model.tree = Some(WorkTree::pin(tree.as_ref()).to_owned());
                view_due.get_or_insert(Instant::now());
            }
            ended = told_to_end.changed() => {
                if ended.is_err() || *told_to_end.borrow() {
                    return DeckExit::Gone;
                }
            }
        }
    }
}

async fn on_effect(effect: Effect, options: &DeckOptions, model: &mut Model) -> Option<Msg> {
    if let Effect::StartAgent(agent) = effect {
        let agent = agent_of(agent);
        let start = Arc::clone(&options.start_agent);
        let started = tokio::task::spawn_blocking(move || start(agent)).await;
        return Some(match started {
            Ok(Ok(text)) => {
                model.started.insert(agent, now_ms());
                Msg::Notice(Level::Info, text)
            }
            Ok(Err(text)) => Msg::Notice(Level::Warn, text),
            Err(_) => Msg::Notice(Level::Error, "it could not be started".to_owned()),
        });
    }
    perform(effect, &options.operator, model).await
}

/// Returns whether everything has to be read anew.
fn on_connection(connection: &Connection, hosting: bool, model: &mut Model) -> bool {
    match connection {
        Connection::Connected(_) => {
            model.link = if hosting {
                DaemonLink::Hosting
            } else {
                DaemonLink::Attached
            };
            true
        }
        Connection::Connecting { why } => {
            model.link = DaemonLink::Reconnecting(why.clone());
            false
        }
        Connection::Ended { why } => {
            model.link = DaemonLink::Ended(why.clone());
            false
        }
        Connection::Dormant(_) => {
            model.link = DaemonLink::Reconnecting(
                "the daemon was killed: `ctxrelay daemon` starts it again".to_owned(),
            );
            false
        }
    }
}

/// Reads the work tree aside; one at a time, the latest question is enough.
fn look_at_tree(options: &DeckOptions, trees: &mpsc::Sender<Option<WorkTree>>) {
    if let Ok(place) = trees.clone().try_reserve_owned() {
        let read = Arc::clone(&options.read_tree);
        tokio::task::spawn_blocking(move || {
            place.send(read());
        });
    }
}

/// The time zone's offset now, in seconds.
pub fn utc_offset_s() -> i32 {
    jiff::Zoned::now().offset().seconds()
}

/// The name that a project is shown under: its folder's.
pub fn project_name(root: &Path) -> String {
    root.file_name().map_or_else(
        || "/".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}
