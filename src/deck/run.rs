//! [`run`]: the deck's life with a daemon. The display owns terminal and screen state; a task on the
//! runtime owns the model and talks to the daemon.

use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::model::{Level, SearchScope};
use ctxrelay_ui::{Effect, Msg, QuitChoice};
use tokio::sync::{broadcast, mpsc};
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::agent_work::rules;
use super::capsules::CapsuleWork;
use super::clock::now_ms;
use super::deck_options::{DeckOptions, ReadRecovery, RulesOfFiles};
use super::display::Display;
use super::foreground::Foreground;
use super::key_slot::KeyFault;
use super::model::{DaemonLink, Model};
use super::perform::{agent_of, perform, search};
use super::present::present;
use super::reading::{read_all, read_turn};
use super::signing::{DeckSignature, DeckSigning, ToSign};
use super::tree_looks::TreeLooks;
use crate::client::{Client, Connection};
use crate::core::agent::Agent;
use crate::core::entry::WorkTree;
use crate::core::id::SessionId;
use crate::wire::control::{Command, Notification, Reply, ReportKeyParams};

/// Changes within this time are drawn together: faster than the eye, slower than a flood.
const GATHER: Duration = Duration::from_millis(16);

/// How often the daemon is asked for its status at most, while entries come in.
const STATUS_EVERY: Duration = Duration::from_millis(100);

/// An agent that was started is looked for after this long.
const STARTED_BY: Duration = Duration::from_secs(6);

/// After the daemon refused to be read it is asked again this often.
const READ_AGAIN: Duration = Duration::from_millis(500);

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

/// Follows the daemon, feeds the screen and performs wishes, until the deck is left; gives the
/// terminal back then.
pub async fn run(mut display: Display, options: DeckOptions) -> DeckExit {
    let told_to_end = options.told_to_end.clone();
    let Err(left) = follow(Foreground::new(&mut display, told_to_end), options).await;
    let has_failed = display.close().await;
    if has_failed { DeckExit::Failed } else { left }
}

/// Ends with how the deck was left.
async fn follow(
    mut person: Foreground<'_>,
    mut options: DeckOptions,
) -> Result<Infallible, DeckExit> {
    let link = if options.hosting {
        DaemonLink::Hosting
    } else {
        DaemonLink::Reconnecting("connecting".to_owned())
    };
    let mut model = Model::new(link, options.about.clone());
    let mut notifications = options.client.notifications();
    let mut connection = options.client.connection();
    let mut trees = TreeLooks::new();
    let (keys, read_tree) = (options.keys.clone(), Arc::clone(&options.read_tree));
    let key_slot = options.key_slot.clone();
    let mut signing = DeckSigning::new(keys, read_tree, key_slot.clone());
    let (answers, mut answered) = mpsc::channel(1);
    let mut searching: Option<AbortHandle> = None;
    let mut recovering: Option<JoinHandle<()>> = None;
    let mut importing: Option<JoinHandle<()>> = None;
    let mut capsules = CapsuleWork::default();
    let mut proposals = Vec::new();
    let mut stale = true;
    let mut status_due: Option<Instant> = None;
    let mut view_due: Option<Instant> = Some(Instant::now());
    let mut read_due: Option<Instant> = None;
    // When the next handoff becomes stale, which no entry says.
    let mut stale_due: Option<Instant> = None;
    // The connection has come to another state, or has its first one.
    let mut is_told = true;
    // The daemon of this process is no more; whoever looks may start it again.
    let mut has_failed = false;
    let mut notice = options.notice.clone();
    loop {
        if mem::take(&mut is_told) {
            let state = connection.borrow_and_update();
            has_failed = matches!(*state, Connection::Ended { .. });
            stale |= on_connection(&state, options.hosting, &mut model);
            view_due = Some(Instant::now());
        }
        if stale
            && read_due.is_none_or(|due| due <= Instant::now())
            && matches!(*connection.borrow(), Connection::Connected(_))
        {
            let read = read_all(&options.client, &mut model);
            stale = match person.during(read).await? {
                Ok(()) => {
                    look_at_trust(&options, &mut model).await;
                    false
                }
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
            trees.look(&options, &model);
        }
        let now = Instant::now();
        if [view_due, stale_due]
            .into_iter()
            .flatten()
            .any(|due| due <= now)
        {
            view_due = None;
            let now_ms = now_ms();
            model.advance(now_ms);
            signing.slot().expire();
            model.key_until_ms = signing.slot().until().map(|(_, until_ms)| until_ms);
            stale_due = model.work.next_due_ms().map(|due_ms| {
                let wait = u64::try_from(due_ms.saturating_sub(now_ms)).unwrap_or(0);
                Instant::now() + Duration::from_millis(wait)
            });
            person.show(present(&model, now_ms))?;
            // Behind the first view, which brings the time that a notice stands for.
            if let Some(notice) = notice.take() {
                person.tell(Msg::Notice(Level::Error, notice))?;
            }
        }
        if status_due.is_some_and(|due| due <= now) {
            status_due = None;
            let read = async {
                let status = options.client.call(Command::ReadStatus).await;
                (status, read_turn(&options.client).await)
            };
            if let (Ok(Reply::Status(status)), live_turn) = person.during(read).await? {
                model.status = *status;
                model.live_turn = live_turn;
                look_at_trust(&options, &mut model).await;
                view_due.get_or_insert(Instant::now());
            }
        }
        let far = now + Duration::from_secs(3600);
        let locked_due = signing
            .slot()
            .until()
            .map(|(until, _)| Instant::from_std(until));
        if locked_due.is_some_and(|due| due <= now) {
            view_due = Some(now);
            continue;
        }
        let wake = [view_due, stale_due, status_due, read_due, locked_due]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(far);
        tokio::select! {
            () = sleep_until(wake) => {}
            changed = connection.changed(), if !has_failed => {
                if changed.is_err() {
                    return Err(DeckExit::Gone);
                }
                is_told = true;
            }
            notification = notifications.recv(), if !has_failed => {
                match notification {
                    Ok(Notification::Entry(stored)) => {
                        if !model.append(&stored.entry) {
                            stale = true;
                        }
                        model.note_hash(&stored.entry.id, &stored.hash);
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
                    Err(broadcast::error::RecvError::Closed) => return Err(DeckExit::Gone),
                }
            }
            effect = person.wish() => {
                let effect = effect?;
                if let Effect::Search { place, words, chips, number } = effect {
                    // Each key press asks anew: the answer to the one before is not waited for.
                    if let Some(before) = searching.take() {
                        before.abort();
                    }
                    let answers = answers.clone();
                    let task = match place {
                        SearchScope::Record => {
                            let operator = options.operator.clone();
                            tokio::spawn(search(operator, words, chips, number, answers))
                        }
                        place => {
                            let elsewhere = options.elsewhere.clone();
                            tokio::spawn(elsewhere.search(place, words, number, answers))
                        }
                    };
                    searching = Some(task.abort_handle());
                    continue;
                }
                let access = &options.capsules;
                let operator = &options.operator;
                let effect = access.perform(effect, &mut capsules, operator, &answers);
                let Some(effect) = effect else { continue };
                if effect == Effect::ReadRecovery {
                    // A long record takes seconds; whoever asks again has the same answer.
                    if recovering.as_ref().is_none_or(JoinHandle::is_finished) {
                        let read = Arc::clone(&options.read_recovery);
                        recovering = Some(tokio::spawn(recover(read, answers.clone())));
                    }
                    continue;
                }
                if effect == Effect::ImportReview {
                    // Its program may take a minute; the deck goes on meanwhile.
                    let said = match importing.as_ref().is_none_or(JoinHandle::is_finished) {
                        true => {
                            let import = (options.import_review)(options.operator.clone());
                            importing = Some(tokio::spawn(imported(import, answers.clone())));
                            "asking GitHub with your `gh`"
                        }
                        false => "it is being imported already",
                    };
                    person.tell(Msg::Notice(Level::Info, said.to_owned()))?;
                    continue;
                }
                if effect == Effect::LookAtTree {
                    trees.look(&options, &model);
                    look_at_trust(&options, &mut model).await;
                    view_due.get_or_insert(Instant::now());
                    continue;
                }
                if matches!(effect, Effect::StartAgent(_)) {
                    // By then it is there, or worth a hint.
                    status_due.get_or_insert(Instant::now() + STARTED_BY);
                }
                if effect == Effect::Restart {
                    let restart = Arc::clone(&options.restart);
                    let msg = match person.during(restart()).await? {
                        Ok(restarted) => {
                            if let Some(restarted) = restarted {
                                options.client = restarted.client;
                                options.operator = restarted.operator;
                                options.hosting = restarted.hosting;
                                notifications = options.client.notifications();
                                connection = options.client.connection();
                                is_told = true;
                                has_failed = false;
                            }
                            Msg::Notice(Level::Info, "the daemon was started again".to_owned())
                        }
                        Err(why) => Msg::Notice(Level::Error, why),
                    };
                    person.tell(msg)?;
                    view_due = Some(Instant::now());
                    continue;
                }
                if matches!(effect, Effect::Approve { .. }) {
                    // When it is refused, the card tells why.
                    trees.look(&options, &model);
                }
                let is_trust = matches!(effect, Effect::Trust { .. });
                view_due = Some(Instant::now());
                let effect = match effect {
                    Effect::Unlock { passphrase } => {
                        signing.unlock(passphrase);
                        continue;
                    }
                    Effect::LeaveUnlock => {
                        signing.leave();
                        continue;
                    }
                    Effect::LockKey => {
                        signing.slot().forget();
                        let text = "the key is locked".to_owned();
                        person.tell(Msg::Notice(Level::Info, text))?;
                        continue;
                    }
                    effect => effect,
                };
                let to_sign = signing.prepare(effect, &model).await;
                let performed = on_signed(to_sign, &options, &mut model);
                if let Some(msg) = person.during(performed).await? {
                    person.tell(msg)?;
                }
                if is_trust {
                    // Trusted, or changed meanwhile: either way it is another one now.
                    look_at_trust(&options, &mut model).await;
                }
                view_due = Some(Instant::now());
            }
            Some(end) = signing.ended() => {
                let Some(taken) = signing.take(end) else { continue };
                let is_trust = matches!(&taken, Ok(ToSign::Ready(Effect::Trust { .. }, _)));
                let (unlocked, msg) = match taken {
                    Ok(to_sign) => {
                        let performed = on_signed(to_sign, &options, &mut model);
                        (Ok(()), person.during(performed).await?)
                    }
                    Err(fault) => {
                        person.during(report(&fault, &options.operator)).await?;
                        (Err(fault.text()), None)
                    }
                };
                for msg in std::iter::once(Msg::Unlocked(unlocked)).chain(msg) {
                    person.tell(msg)?;
                }
                if is_trust {
                    look_at_trust(&options, &mut model).await;
                }
                view_due = Some(Instant::now());
            }
            () = key_slot.changed() => view_due = Some(Instant::now()),
            Some(found) = answered.recv() => person.tell(found)?,
            tree = trees.done() => {
                let (tree, changed) = tree.unzip();
                model.tree = Some(WorkTree::pin(tree.as_ref()).to_owned());
                model.changed = changed.flatten();
                view_due.get_or_insert(Instant::now());
                trees.go_on(&options, &model);
            }
        }
    }
}

/// Reads anew what waits for trust: two small files, whenever the daemon has news.
async fn look_at_trust(options: &DeckOptions, model: &mut Model) {
    let read = Arc::clone(&options.read_trust);
    let found = spawn_blocking(move || read()).await;
    model.set_trust(found.ok().flatten(), now_ms());
}

/// Performs what is signed as far as it has to be.
async fn on_signed(to_sign: ToSign, options: &DeckOptions, model: &mut Model) -> Option<Msg> {
    match to_sign {
        ToSign::Ready(effect, signature) => on_effect(effect, signature, options, model).await,
        ToSign::Ask(question) => Some(question),
        ToSign::Refused(why) => Some(Msg::Notice(Level::Error, why)),
    }
}

/// That another key is in the place of the one that signs is an alarm.
async fn report(fault: &KeyFault, operator: &Client) {
    if let KeyFault::Replaced(found) = fault {
        let found = found.clone();
        let told = operator.call(Command::ReportKey(ReportKeyParams { found }));
        if let Err(error) = told.await {
            tracing::warn!(%error, "that the key was replaced could not be recorded");
        }
    }
}

async fn on_effect(
    effect: Effect,
    signature: Option<DeckSignature>,
    options: &DeckOptions,
    model: &mut Model,
) -> Option<Msg> {
    if let Effect::StartAgent(agent) = effect {
        let agent = agent_of(agent);
        let start = Arc::clone(&options.start_agent);
        let started = spawn_blocking(move || start(agent)).await;
        return Some(match started {
            Ok(Ok(text)) => {
                model.started.insert(agent, now_ms());
                Msg::Notice(Level::Info, text)
            }
            Ok(Err(text)) => Msg::Notice(Level::Warn, text),
            Err(_) => Msg::Notice(Level::Error, "it could not be started".to_owned()),
        });
    }
    if let Effect::ReadRules { agent } = effect {
        let read = Arc::clone(&options.read_rules);
        let of = agent_of(agent);
        let now = &model.status.agents;
        let said = match of {
            Agent::Claude => now.claude.continuity.instructions_read.clone(),
            Agent::Codex => now.codex.continuity.instructions_read.clone(),
        };
        let read = spawn_blocking(move || read(of, said)).await;
        let read = read.unwrap_or_else(|_| RulesOfFiles {
            doubts: vec!["The files cannot be read.".to_owned()],
            ..RulesOfFiles::default()
        });
        return Some(Msg::Rules(Box::new(rules(agent, read))));
    }
    // An entry of the record is named by the short name of its session.
    if let Effect::OpenEntry { place } = &effect
        && SessionId::is_well_formed(&place.session)
    {
        return options.elsewhere.open(model, place.clone()).await;
    }
    perform(effect, signature, &options.operator, model).await
}

/// Where the work stands, whenever that is read.
async fn recover(read: ReadRecovery, answers: mpsc::Sender<Msg>) {
    let read = spawn_blocking(move || read()).await;
    let read = read.unwrap_or_else(|_| Err("The record cannot be read.".to_owned()));
    // Nobody waits for it where the deck was left.
    let _ = answers.send(Msg::Recovery(read.map(Box::new))).await;
}

/// Says what came of it.
async fn imported(
    import: impl Future<Output = Result<String, String>>,
    answers: mpsc::Sender<Msg>,
) {
    let msg = match import.await {
        Ok(said) => Msg::Notice(Level::Info, said),
        Err(why) => Msg::Notice(Level::Error, why),
    };
    // Nobody waits for it where the deck was left.
    let _ = answers.send(msg).await;
}

/// Returns whether everything has to be read anew.
fn on_connection(connection: &Connection, hosting: bool, model: &mut Model) -> bool {
    match connection {
        Connection::Connected(_) => {
            model.link = match hosting {
                true => DaemonLink::Hosting,
                false => DaemonLink::Attached,
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
