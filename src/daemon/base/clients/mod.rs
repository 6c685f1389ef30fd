//! [`Clients`]: who is connected, and who waits for an answer.
//!
//! It owns the connections with what each was told and given, the calls that wait (for messages,
//! for the outcome of one, for the record), the liveness probes to bridges, the places that are
//! kept across a start, and the clients that were refused as operator.
//!
//! Input: a client connects, subscribes, speaks, disconnects; a call begins to wait; time passes.
//! Output: who took which place, which calls to answer, and what to record. It knows neither the
//! ledger nor the lanes. It sends notifications itself: an outlet never blocks.

mod ack_waiters;
mod attachment;
mod kept_places;
mod probes;
mod refused;
mod waiters;

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::process::StartedProcess;
use crate::core::id::{EntryId, RuntimeSession};
use crate::wire::control::{
    DeliveryMode, Hello, Notification, PROTOCOL, Refusal, RefusalCode, Role,
};

use crate::daemon::attach::{CLIENTS_MAX, ConnId, OPERATORS_MAX, Outlet};
#[cfg(test)]
pub(in crate::daemon) use ack_waiters::ACK_WAITERS_MAX;
use ack_waiters::AckWaiters;
pub(in crate::daemon) use ack_waiters::{AckWaiter, When, too_many_ack_waiters};
pub(in crate::daemon) use attachment::Attachment;
use kept_places::KeptPlaces;
use probes::LivenessProbes;
pub(in crate::daemon) use probes::{ANSWER_MS, PlaceLost};
pub(in crate::daemon) use refused::Counted;
use refused::OperatorRefusals;
#[cfg(test)]
pub(in crate::daemon) use waiters::WAITERS_MAX;
pub(in crate::daemon) use waiters::{Waiter, WaiterId, Waiters, Wants, too_many_waiters};

/// All connected clients, and the calls that wait.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Clients {
    attached: BTreeMap<ConnId, Attachment>,
    probes: LivenessProbes,
    kept: KeptPlaces,
    waiters: Waiters,
    ack_waiters: AckWaiters,
    refusals: OperatorRefusals,
}

/// A client that said hello.
#[derive(Debug)]
pub(in crate::daemon) struct Newcomer {
    pub hello: Hello,
    /// It came over the operator's socket, or is the deck of this process.
    pub operator: bool,
    /// Its process, where the kernel says.
    pub process: Option<StartedProcess>,
    /// Wall clock, ms since the epoch.
    pub since_ms: i64,
    pub outlet: Outlet,
}

/// A client that left.
#[derive(Debug)]
pub(in crate::daemon) struct Gone {
    pub hello: Hello,
    /// It had the place of its pair.
    pub receiver: bool,
    pub doorbell: bool,
    /// The bridge that waited for its place.
    pub heir: Option<ConnId>,
}

/// A bridge that gets the deliveries of its pair from now on.
#[derive(Debug)]
pub(in crate::daemon) struct Receiver {
    pub pair: RuntimeSession,
    /// Its Claude.
    pub process: Option<u32>,
    pub mode: DeliveryMode,
}

/// A doorbell that connected.
#[derive(Debug)]
pub(in crate::daemon) struct Doorbell {
    pub pair: RuntimeSession,
    /// Its Claude.
    pub process: Option<u32>,
}

impl Clients {
    /// Refuses a client of another version.
    pub fn check_protocol(hello: &Hello) -> Result<(), Refusal> {
        if hello.protocol == PROTOCOL {
            return Ok(());
        }
        Err(Refusal::protocol_version(hello.protocol, PROTOCOL))
    }

    /// Somebody came. Whether the place of its pair is free and its own: a bridge that finds it
    /// taken has the holder asked whether it lives, and so has the holder that comes behind one that
    /// waits. `now_ms`: of the steady clock.
    ///
    /// # Errors
    ///
    /// When its pair has no proper name, or there is no room for it.
    pub fn connect(
        &mut self,
        conn: ConnId,
        newcomer: Newcomer,
        now_ms: i64,
    ) -> Result<bool, Refusal> {
        const MAX: usize = RuntimeSession::CHARS_MAX;
        let Newcomer {
            hello,
            operator,
            process,
            since_ms,
            outlet,
        } = newcomer;
        let pair = hello.runtime_session_id.clone();
        if pair.as_str().is_empty() || pair.as_str().chars().count() > MAX {
            return Err(Refusal::invalid(
                format!("the runtime session id is empty or longer than {MAX} characters"),
                "set CONTEXTRELAY_RUNTIME_SESSION to a short word",
            ));
        }
        self.check_room(operator)?;
        let is_bridge = hello.role == Role::Claude;
        let may_receive = is_bridge && !hello.in_print_mode;
        let takes_place = may_receive
            && self.receiver(&pair).is_none()
            && !self.is_kept_for_another(&pair, hello.agent_pid);
        if takes_place {
            self.kept.remove(&pair);
        }
        let mut client = Attachment::new(hello, operator, process, since_ms, outlet);
        client.receiver = takes_place;
        self.attached.insert(conn, client);
        if may_receive && self.bridges_of(&pair).nth(1).is_some() {
            self.probe_holder(&pair, now_ms);
        }
        Ok(takes_place)
    }

    /// Refuses a client for which there is no place.
    fn check_room(&self, operator: bool) -> Result<(), Refusal> {
        let clients = self.attached.values();
        let taken = clients.filter(|other| other.operator == operator).count();
        let max = if operator { OPERATORS_MAX } else { CLIENTS_MAX };
        if taken < max {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalCode::TooManyClients,
            format!("{max} clients are connected already"),
            "end the ones that nobody needs; `ctxrelay status` and the deck need one each",
        ))
    }

    /// One left; `None` if it never came.
    pub fn disconnect(&mut self, conn: ConnId) -> Option<Gone> {
        let gone = self.attached.remove(&conn)?;
        self.probes.forget(conn);
        let pair = &gone.hello.runtime_session_id;
        // A second bridge of the same pair waited for the place.
        let heir = self.heir_of_left(pair);
        Some(Gone {
            heir: heir.filter(|_| gone.receiver),
            hello: gone.hello,
            receiver: gone.receiver,
            doorbell: gone.doorbell,
        })
    }

    /// This bridge has the place of its pair from now on.
    pub fn give_place(&mut self, conn: ConnId) -> Option<Receiver> {
        let bridge = self.attached.get_mut(&conn)?;
        bridge.receiver = true;
        Some(Receiver {
            pair: bridge.hello.runtime_session_id.clone(),
            process: bridge.hello.agent_pid,
            mode: bridge.hello.mode,
        })
    }

    /// This client is a doorbell from now on.
    pub fn hang_doorbell(&mut self, conn: ConnId) -> Option<Doorbell> {
        let client = self.attached.get_mut(&conn)?;
        client.doorbell = true;
        Some(Doorbell {
            pair: client.hello.runtime_session_id.clone(),
            process: client.hello.agent_pid,
        })
    }

    /// This client wants every entry from now on.
    pub fn subscribe(&mut self, conn: ConnId) {
        if let Some(client) = self.attached.get_mut(&conn) {
            client.subscribed = true;
        }
    }

    /// This client was given bodies: a hook to hand them over, a Claude that answers one prompt to
    /// read them.
    pub fn give_bodies(&mut self, conn: ConnId, ids: &[EntryId]) {
        if let Some(client) = self.attached.get_mut(&conn) {
            client.given.extend(ids.iter().cloned());
        }
    }

    /// This client says that it has handed these over, or read them: those of them that it was given,
    /// each once.
    pub fn bodies_done(&mut self, conn: ConnId, mut ids: Vec<EntryId>) -> Vec<EntryId> {
        let given = self.attached.get_mut(&conn);
        let mut given = given.map(|client| &mut client.given);
        ids.retain(|id| given.as_mut().is_some_and(|given| given.remove(id)));
        ids
    }

    /// One client.
    pub fn get(&self, conn: ConnId) -> Option<&Attachment> {
        self.attached.get(&conn)
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ConnId, &Attachment)> {
        self.attached.iter().map(|(conn, client)| (*conn, client))
    }

    /// Those of other processes. The service behind `/mcp` is a client in this one that never
    /// leaves.
    pub fn outside(&self) -> impl Iterator<Item = ConnId> {
        let own = std::process::id();
        let outside = self.iter().filter(move |(_, it)| it.hello.pid != own);
        outside.map(|(conn, _)| conn)
    }

    /// How many decks are here. One of another process has two connections: it reads by one and
    /// decides by the other.
    pub fn decks(&self) -> usize {
        let clients = self.attached.values();
        let decks = clients.filter(|client| client.hello.role == Role::Deck);
        let pids: BTreeSet<u32> = decks.map(|deck| deck.hello.pid).collect();
        pids.len()
    }

    /// The bridges of every Claude, also of those that a program asks.
    pub fn all_bridges(&self) -> impl Iterator<Item = &Attachment> {
        let clients = self.attached.values();
        clients.filter(|client| client.hello.role == Role::Claude)
    }

    /// Those of the Claudes with which a person works: each may receive.
    pub fn bridges(&self) -> impl Iterator<Item = (ConnId, &Attachment)> {
        let may_receive = |hello: &Hello| hello.role == Role::Claude && !hello.in_print_mode;
        self.iter().filter(move |(_, it)| may_receive(&it.hello))
    }

    fn bridges_of(&self, pair: &RuntimeSession) -> impl Iterator<Item = (ConnId, &Attachment)> {
        let bridges = self.bridges();
        bridges.filter(move |(_, bridge)| bridge.hello.runtime_session_id == *pair)
    }

    /// The bridge that gets the deliveries of a pair.
    pub fn receiver(&self, pair: &RuntimeSession) -> Option<&Attachment> {
        let mut bridges = self.bridges_of(pair).map(|(_, bridge)| bridge);
        bridges.find(|bridge| bridge.receiver)
    }

    /// Whether any Claude is here. A doorbell whose bridge died is one too.
    pub fn is_claude_here(&self) -> bool {
        let mut clients = self.attached.values();
        clients.any(Attachment::is_of_claude)
    }

    /// Whether a Claude of this pair is.
    pub fn is_claude_of(&self, pair: &RuntimeSession) -> bool {
        let mut clients = self.attached.values();
        clients.any(|client| client.is_of_claude() && client.hello.runtime_session_id == *pair)
    }

    /// Sends to one client. Whether there was one with room for it.
    pub fn send(&self, conn: ConnId, notification: Notification) -> bool {
        let client = self.attached.get(&conn);
        client.is_some_and(|client| client.outlet.send(notification))
    }

    /// Sends to everybody.
    pub fn tell_all(&self, notification: &Notification) {
        for client in self.attached.values() {
            client.outlet.send(notification.clone());
        }
    }

    /// Sends to everybody who subscribed. Without any of them it is not even made.
    pub fn tell_subscribers(&self, notification: impl FnOnce() -> Notification) {
        let mut subscribers = self.attached.values().filter(|client| client.subscribed);
        if let Some(first) = subscribers.next() {
            let notification = notification();
            for other in subscribers {
                other.outlet.send(notification.clone());
            }
            first.outlet.send(notification);
        }
    }

    /// Tells subscribers that `status/read` has news which no entry tells.
    pub fn status_changed(&self) {
        self.tell_subscribers(|| Notification::StatusChanged {});
    }

    /// The pair that a client speaks of: the one that it names, else its own.
    pub fn pair(&self, conn: ConnId, named: Option<RuntimeSession>) -> RuntimeSession {
        let its_own = || Some(self.get(conn)?.hello.runtime_session_id.clone());
        named.or_else(its_own).unwrap_or_default()
    }

    /// Has a bridge know whether it gets the deliveries, which its tools say.
    pub fn tell_receiver(&self, conn: ConnId, receiver: bool) {
        self.send(conn, Notification::Receiver { receiver });
    }

    /// Ends all connections.
    pub fn close_all(&self) {
        for client in self.attached.values() {
            client.outlet.close();
        }
    }

    /// The calls that wait for messages, or for what becomes of one.
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// It came so much earlier than it did.
    #[cfg(test)]
    pub fn came_earlier(&mut self, conn: ConnId, ms: i64) {
        if let Some(client) = self.attached.get_mut(&conn) {
            client.since_ms -= ms;
        }
    }

    /// Nobody is there any more.
    #[cfg(test)]
    pub fn forget_all(&mut self) {
        self.attached.clear();
    }
}
