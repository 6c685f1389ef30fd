//! [`Following`]: the deck's loop with a daemon. It wakes for whatever comes first, does what that
//! requires, and shows the result.

use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::model::Level;
use ctxrelay_ui::{Effect, Msg};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::client::{ClientError, Connection, Dormancy};
use crate::core::id::EntryId;
use crate::deck::clock::{local_time, now_ms};
use crate::deck::deck_about::WaitingTrust;
use crate::deck::deck_options::DeckOptions;
use crate::deck::event_loop::beside_work::{Begun, BesideWork};
use crate::deck::event_loop::deck_exit::DeckExit;
use crate::deck::event_loop::foreground::Foreground;
use crate::deck::event_loop::on_signed::{on_signed, report};
use crate::deck::event_loop::reading::{read_all, read_status};
use crate::deck::followed::model::{DaemonLink, Model};
use crate::deck::present::present;
use crate::deck::signing::{DeckSigning, SigningEnd, ToSign};
use crate::deck::tree_looks::{TreeLooks, TreeOfNow};
use crate::deck::trust_looks::TrustLooks;
use crate::wire::control::Notification;

/// Changes within this time are drawn together: faster than the eye, slower than a flood.
const GATHER: Duration = Duration::from_millis(16);

/// How often the daemon is asked for its status at most, while entries come in.
const STATUS_EVERY: Duration = Duration::from_millis(100);

/// An agent that was started is looked for after this long.
const STARTED_BY: Duration = Duration::from_secs(6);

/// While an agent is not installed, it is looked for this often.
const LOOK_FOR_AGENTS: Duration = Duration::from_secs(5);

/// After the daemon refused to be read it is asked again this often.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// With nothing due the loop looks this rarely.
const FAR: Duration = Duration::from_secs(3600);

/// When which part of what is shown is to be made again.
#[derive(Debug)]
struct Due {
    status: Option<Instant>,
    view: Option<Instant>,
    read: Option<Instant>,
    /// The next handoff becomes stale, which no entry says.
    stale_handoff: Option<Instant>,
}

impl Due {
    fn view_now(&mut self) {
        self.view = Some(Instant::now());
    }

    /// Now, unless it is due already.
    fn view_soon(&mut self) {
        self.view.get_or_insert(Instant::now());
    }
}

pub(in crate::deck) struct Following<'a> {
    person: Foreground<'a>,
    options: DeckOptions,
    model: Model,
    notifications: broadcast::Receiver<Notification>,
    connection: watch::Receiver<Connection>,
    trees: TreeLooks,
    trust: TrustLooks,
    signing: DeckSigning,
    work: BesideWork,
    answers: mpsc::Sender<Msg>,
    answered: mpsc::Receiver<Msg>,
    /// The proposals that wait, as the tree was last looked at for them.
    proposals: Vec<EntryId>,
    due: Due,
    /// All of it has to be read again.
    is_stale: bool,
    /// The connection has come to another state, or has its first one.
    is_told: bool,
    /// The daemon of this process has failed; the person at the deck may start it again.
    has_failed: bool,
    notice: Option<(Level, String)>,
}

impl<'a> Following<'a> {
    pub(in crate::deck) fn new(person: Foreground<'a>, options: DeckOptions) -> Self {
        let link = if options.hosting {
            DaemonLink::Hosting
        } else {
            DaemonLink::Reconnecting("connecting".to_owned())
        };
        let (keys, read_tree) = (options.keys.clone(), Arc::clone(&options.read_tree));
        let (answers, answered) = mpsc::channel(1);
        let glance = Arc::clone(&options.glance_at_tree);
        let trees = TreeLooks::new(Arc::clone(&read_tree), glance, person.tells_of_tree());
        let work = BesideWork::new(person.wishes_beside());
        Self {
            person,
            model: Model::new(link, options.about.clone()),
            notifications: options.client.notifications(),
            connection: options.client.connection(),
            trees,
            trust: TrustLooks::new(Arc::clone(&options.read_trust)),
            signing: DeckSigning::new(keys, read_tree, options.key_slot.clone()),
            work,
            answers,
            answered,
            proposals: Vec::new(),
            due: Due {
                status: None,
                view: Some(Instant::now()),
                read: None,
                stale_handoff: None,
            },
            is_stale: true,
            is_told: true,
            has_failed: false,
            notice: options.notice.clone(),
            options,
        }
    }

    /// Ends with how the deck was left.
    pub(in crate::deck) async fn until_left(mut self) -> Result<Infallible, DeckExit> {
        loop {
            self.take_connection();
            self.read_what_is_stale().await?;
            self.look_at_proposals();
            self.trees.look_when_due(&self.model);
            self.show_what_is_due()?;
            self.read_status_when_due().await?;
            let Some(wake) = self.next_wake() else {
                continue;
            };
            let key_slot = self.options.key_slot.clone();
            tokio::select! {
                () = sleep_until(wake) => {}
                changed = self.connection.changed(), if !self.has_failed => {
                    changed.map_err(|_| DeckExit::Gone)?;
                    self.is_told = true;
                }
                told = self.notifications.recv(), if !self.has_failed => self.on_told(told)?,
                effect = self.person.wish() => self.on_wish(effect?).await?,
                Some(end) = self.signing.ended() => self.on_signing_end(end).await?,
                () = key_slot.changed() => self.due.view_now(),
                Some(found) = self.answered.recv() => self.person.tell(found)?,
                looked = self.trees.next() => {
                    if let Some(tree) = looked {
                        self.on_tree(tree);
                    }
                }
                Some(found) = self.trust.next() => self.on_trust(found),
            }
        }
    }

    fn take_connection(&mut self) {
        if !mem::take(&mut self.is_told) {
            return;
        }
        let state = self.connection.borrow_and_update();
        self.has_failed = matches!(*state, Connection::Ended { .. });
        self.is_stale |= on_connection(&state, self.options.hosting, &mut self.model);
        self.due.view_now();
    }

    async fn read_what_is_stale(&mut self) -> Result<(), DeckExit> {
        if !self.is_stale
            || self.due.read.is_some_and(|due| due > Instant::now())
            || !matches!(*self.connection.borrow(), Connection::Connected(_))
        {
            return Ok(());
        }
        let read = read_all(&self.options.client, &mut self.model);
        self.is_stale = match self.person.during(read).await? {
            Ok(()) => {
                self.trust.look();
                self.look_for_agents();
                false
            }
            Err(why) => {
                self.model.unread = Some(why);
                true
            }
        };
        // Without a subscription nothing else would bring it up again.
        self.due.read = self.is_stale.then(|| Instant::now() + READ_AGAIN);
        self.due.view_now();
        Ok(())
    }

    /// Another proposal waits: its card says whether the tree is still as it was.
    fn look_at_proposals(&mut self) {
        let pending: Vec<_> = self.model.world.pending_proposals.keys().cloned().collect();
        if pending != self.proposals {
            self.proposals = pending;
            self.trees.look(&self.model);
        }
    }

    fn show_what_is_due(&mut self) -> Result<(), DeckExit> {
        let now = Instant::now();
        let dues = [self.due.view, self.due.stale_handoff];
        if !dues.into_iter().flatten().any(|due| due <= now) {
            return Ok(());
        }
        self.due.view = None;
        let now_ms = now_ms();
        self.model.about.local = local_time(now_ms);
        self.model.advance(now_ms);
        self.signing.slot().expire();
        let until = self.signing.slot().until();
        self.model.key_until_ms = until.map(|(_, until_ms)| until_ms);
        self.due.stale_handoff = self.model.work.next_due_ms().map(|due_ms| {
            let wait = u64::try_from(due_ms.saturating_sub(now_ms)).unwrap_or(0);
            Instant::now() + Duration::from_millis(wait)
        });
        self.person.show(present(&self.model, now_ms))?;
        // Behind the first view, which brings the time that a notice stands for.
        match self.notice.take() {
            Some((level, notice)) => self.person.tell(Msg::Notice(level, notice)),
            None => Ok(()),
        }
    }

    async fn read_status_when_due(&mut self) -> Result<(), DeckExit> {
        if self.due.status.is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        self.due.status = None;
        if !matches!(*self.connection.borrow(), Connection::Connected(_)) {
            // All of it is read when it is.
            return Ok(());
        }
        let read = read_status(&self.options.client);
        if let Ok((status, live_turn)) = self.person.during(read).await? {
            // That an agent is not there yet is told by the time that went by.
            let mut is_new = !self.model.started.is_empty();
            is_new |= self.model.take_status(*status);
            is_new |= live_turn != self.model.live_turn;
            self.model.live_turn = live_turn;
            self.trust.look();
            self.look_for_agents();
            if is_new {
                self.due.view_soon();
            }
        }
        Ok(())
    }

    /// Nobody tells when an agent is installed: the daemon looks when it is asked for its status.
    fn look_for_agents(&mut self) {
        let agents = &self.model.status.agents;
        if !(agents.claude.installed && agents.codex.installed) {
            let due = Instant::now() + LOOK_FOR_AGENTS;
            self.due.status.get_or_insert(due);
        }
    }

    /// When something is due next; `None`: the key was locked by now, which is to be shown first.
    fn next_wake(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let until = self.signing.slot().until();
        let locked = until.map(|(until, _)| Instant::from_std(until));
        if locked.is_some_and(|due| due <= now) {
            self.due.view = Some(now);
            return None;
        }
        let Due {
            status,
            view,
            read,
            stale_handoff,
        } = self.due;
        let dues = [view, stale_handoff, status, read, locked, self.trees.due()];
        dues.into_iter().flatten().min().or(Some(now + FAR))
    }

    fn on_told(
        &mut self,
        told: Result<Notification, broadcast::error::RecvError>,
    ) -> Result<(), DeckExit> {
        match told {
            Ok(Notification::Entry(stored)) => {
                if !self.model.append(&stored.entry) {
                    self.is_stale = true;
                }
                self.model.note_hash(&stored.entry.id, &stored.hash);
                let soon = Instant::now();
                self.due.status.get_or_insert(soon + STATUS_EVERY);
                self.due.view.get_or_insert(soon + GATHER);
            }
            Ok(Notification::StatusChanged {}) => {
                let soon = Instant::now() + GATHER;
                let due = self.due.status.map_or(soon, |due| due.min(soon));
                self.due.status = Some(due);
            }
            Ok(Notification::Lagged { .. }) | Err(broadcast::error::RecvError::Lagged(_)) => {
                self.is_stale = true;
            }
            Ok(_) => {}
            Err(broadcast::error::RecvError::Closed) => return Err(DeckExit::Gone),
        }
        Ok(())
    }

    async fn on_wish(&mut self, effect: Effect) -> Result<(), DeckExit> {
        self.person.began(&effect);
        self.do_wish(effect).await?;
        self.person.ended();
        Ok(())
    }

    async fn do_wish(&mut self, effect: Effect) -> Result<(), DeckExit> {
        let Some(effect) = self.begin_beside(effect)? else {
            return Ok(());
        };
        let effect = match effect {
            Effect::LookAtTree => {
                self.trees.look(&self.model);
                self.trust.look();
                self.due.view_soon();
                return Ok(());
            }
            Effect::Restart => return self.restart().await,
            effect => effect,
        };
        if matches!(effect, Effect::StartAgent(_)) {
            // By then it is there, or worth a hint.
            let due = Instant::now() + STARTED_BY;
            self.due.status.get_or_insert(due);
        }
        if matches!(effect, Effect::Approve { .. }) {
            // When it is refused, the card tells why.
            self.trees.look(&self.model);
        }
        self.due.view_now();
        match effect {
            Effect::Unlock { passphrase } => {
                self.signing.unlock(passphrase);
                Ok(())
            }
            Effect::LeaveUnlock => {
                if self.signing.leave() {
                    return Ok(());
                }
                let text = "it was signed before you left it: the record says what came of it";
                self.person.tell(Msg::Notice(Level::Warn, text.to_owned()))
            }
            Effect::LockKey => {
                self.signing.slot().forget();
                let text = "the key is locked".to_owned();
                self.person.tell(Msg::Notice(Level::Info, text))
            }
            effect => self.perform(effect).await,
        }
    }

    /// Has begun what goes on beside the loop; what is to be done at once comes back.
    fn begin_beside(&mut self, effect: Effect) -> Result<Option<Effect>, DeckExit> {
        match self.work.begin(effect, &self.options, &self.answers) {
            Begun::NotBeside(effect) => Ok(Some(effect)),
            Begun::Silently => Ok(None),
            Begun::Saying(text) => {
                let text = text.to_owned();
                self.person.tell(Msg::Notice(Level::Info, text))?;
                Ok(None)
            }
        }
    }

    async fn restart(&mut self) -> Result<(), DeckExit> {
        let restart = Arc::clone(&self.options.restart);
        let msg = match self.person.during(restart()).await? {
            Ok(restarted) => {
                if let Some(restarted) = restarted {
                    self.options.client = restarted.client;
                    self.options.operator = restarted.operator;
                    self.options.hosting = restarted.hosting;
                    self.notifications = self.options.client.notifications();
                    self.connection = self.options.client.connection();
                    self.is_told = true;
                    self.has_failed = false;
                }
                Msg::Notice(Level::Info, "the daemon was started again".to_owned())
            }
            Err(why) => Msg::Notice(Level::Error, why),
        };
        self.person.tell(msg)?;
        self.due.view_now();
        Ok(())
    }

    /// Performs a wish, signed where it has to be.
    async fn perform(&mut self, effect: Effect) -> Result<(), DeckExit> {
        let is_trust = matches!(effect, Effect::Trust { .. });
        let signed = self.signing.prepare(effect, &self.model);
        let to_sign = self.person.during(signed).await?;
        let performed = on_signed(to_sign, &self.options, &mut self.model);
        if let Some(msg) = self.person.during(performed).await? {
            self.person.tell(msg)?;
        }
        if is_trust {
            // Trusted, or changed meanwhile: either way it is another one now.
            self.trust.look();
        }
        self.due.view_now();
        Ok(())
    }

    async fn on_signing_end(&mut self, end: SigningEnd) -> Result<(), DeckExit> {
        let Some(taken) = self.signing.take(end) else {
            return Ok(());
        };
        let is_trust = matches!(&taken, Ok(ToSign::Ready(Effect::Trust { .. }, _)));
        match taken {
            Ok(to_sign) => {
                // Before it is performed: nobody is offered to leave what is signed.
                self.person.tell(Msg::Unlocked(Ok(())))?;
                if let ToSign::Ready(effect, _) = &to_sign {
                    self.person.began(effect);
                }
                let performed = on_signed(to_sign, &self.options, &mut self.model);
                let msg = self.person.during(performed).await?;
                self.person.ended();
                if let Some(msg) = msg {
                    self.person.tell(msg)?;
                }
            }
            Err(fault) => {
                let reported = report(&fault, &self.options.operator);
                self.person.during(reported).await?;
                self.person.tell(Msg::Unlocked(Err(fault.text())))?;
            }
        }
        if is_trust {
            self.trust.look();
        }
        self.due.view_now();
        Ok(())
    }

    fn on_tree(&mut self, tree: TreeOfNow) {
        let (tree, changed) = tree;
        let found = (Some(tree), changed);
        if found != (self.model.tree.take(), self.model.changed.take()) {
            self.due.view_soon();
        }
        (self.model.tree, self.model.changed) = found;
        self.trees.go_on(&self.model);
    }

    /// What waits for trust: two small files, read whenever the daemon has news.
    fn on_trust(&mut self, found: Option<WaitingTrust>) {
        let before = self.model.trust.clone();
        self.model.set_trust(found, now_ms());
        if self.model.trust != before {
            self.due.view_soon();
        }
        self.trust.go_on();
    }
}

/// Returns whether everything has to be read again.
fn on_connection(connection: &Connection, hosting: bool, model: &mut Model) -> bool {
    let link = match connection {
        Connection::Connected(_) if hosting => DaemonLink::Hosting,
        Connection::Connected(_) => DaemonLink::Attached,
        Connection::Connecting {
            why, is_raw: true, ..
        } => DaemonLink::Silent(why.clone()),
        Connection::Connecting { why, .. } => DaemonLink::Reconnecting(why.clone()),
        Connection::Ended { why } => DaemonLink::Ended(why.clone()),
        Connection::Dormant(Dormancy::Gone(root)) => {
            DaemonLink::FolderGone(ClientError::ProjectGone(root.clone()).to_string())
        }
        Connection::Dormant(_) => DaemonLink::Reconnecting(
            "the daemon was killed: `ctxrelay daemon` starts it again".to_owned(),
        ),
    };
    let is_live = link.is_live();
    model.set_link(link, now_ms());
    is_live
}
