//! The daemon goes on in another process, with the app-server: what is under way is recorded, the
//! adapter lets go between two calls, and nothing of the new process acts before that.

use super::adapter::{Adapter, Busy, Order};
use super::daemon::Call;
use super::server::Request;
use super::world::{Event, World};
use crate::delivery::recovery::Unconfirmed;
use crate::delivery::{AdapterAnswer, CodexInput};
use crate::id::TurnId;

/// Between two looks whether everything is at rest, ms.
const LOOK_MS: i64 = 5;

impl World {
    /// The operator leaves the deck.
    pub fn daemon_leaves(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if daemon.is_leaving {
            return;
        }
        daemon.is_leaving = true;
        daemon.codex_wait = None;
        daemon.flow.begin_takeover();
        self.note(|| "the daemon leaves".to_owned());
        self.look_whether_it_may_go();
    }

    /// What was to be handed over is, before the adapter lets go: its row says that an attempt
    /// began.
    fn release_adapter(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if daemon.adapter.is_released || !daemon.held.is_empty() {
            return;
        }
        daemon.adapter.is_released = true;
        if self.adapter().is_some_and(|adapter| adapter.busy.is_none()) {
            self.adapter_lets_go();
        }
    }

    fn look_whether_it_may_go(&mut self) {
        let incarnation = self.incarnations;
        self.after(LOOK_MS, Event::Daemon(incarnation, Call::Leave));
    }

    /// Gives back what was not begun, and hears no more.
    pub fn adapter_lets_go(&mut self) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        // A call is brought to its end. What only looks is let go of.
        let calls = matches!(adapter.busy, Some(Busy::Sending(_) | Busy::TakingBack(_)));
        if calls || adapter.is_gone {
            return;
        }
        adapter.is_gone = true;
        adapter.busy = None;
        let waiting = std::mem::take(&mut adapter.waiting);
        let orders = std::mem::take(&mut adapter.orders);
        for (message, attempt) in waiting {
            self.answer(message.id, attempt, AdapterAnswer::NotTaken);
        }
        for order in orders {
            if let Order::Deliver { id, attempt, .. } = order {
                self.answer(id, Some(attempt), AdapterAnswer::NotTaken);
            }
        }
    }

    /// Whether everything is recorded and told; then the next process goes on.
    pub fn daemon_may_go(&mut self) {
        self.release_adapter();
        let (now, writing_until) = (self.now, self.disk.writing_until.max(self.disk.rows_until));
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let is_at_rest = daemon.adapter.is_gone
            && daemon.facts_until < now
            && daemon.told_until < now
            && daemon.writing.is_empty()
            && writing_until < now;
        if !is_at_rest {
            return self.look_whether_it_may_go();
        }
        let known = (daemon.flow.carried(), std::mem::take(&mut daemon.adapter));
        self.daemon = None;
        self.bridge_hears_nothing();
        self.note(|| "another process goes on".to_owned());
        let (flow, left) = known;
        let adapter = self.adapter_of_next(left);
        self.begin_daemon(Some((flow, adapter)));
        if let Some(life) = self.server.as_ref().map(|server| server.life) {
            self.fact(CodexInput::ServerStarted { life });
            self.request(life, Request::Queue);
        }
    }

    /// It has what the one before knew, and a connection of its own to make.
    fn adapter_of_next(&self, left: Adapter) -> Adapter {
        let mut adapter = Adapter {
            inflight: left.inflight,
            ..Adapter::default()
        };
        for message in &mut adapter.inflight {
            message.steered_into = None;
            message.unconfirmed = Some(Unconfirmed::default());
        }
        match &self.server {
            Some(server) => {
                adapter.life = server.life;
                adapter.busy = Some(Busy::Noting);
                adapter.open_before = left.turn.or(left.open_before);
                adapter.in_turn = left.in_turn;
                adapter.cut_off = left.cut_off;
            }
            // It died unheard, and its turn with it.
            None => {
                let open = left.turn.or(left.open_before);
                adapter.cut_off = open.map(|turn| (turn, left.in_turn)).or(left.cut_off);
            }
        }
        adapter
    }

    /// The history tells what happened while nobody listened.
    pub fn adapter_catches_up(&mut self, before: Option<TurnId>, now: Option<TurnId>) {
        let Some(life) = self.adapter().map(|adapter| adapter.life) else {
            return;
        };
        let ended =
            before.and_then(|turn| Some((turn.clone(), self.thread.ended.get(&turn).cloned()?)));
        if let Some((turn, (status, ids, limited))) = ended {
            self.fact(CodexInput::TurnEnded {
                life,
                turn,
                status,
                ids,
                limited,
                // The app-server that ran it is the one that tells of it.
                died: false,
            });
        }
        if let Some(turn) = now {
            self.fact(CodexInput::TurnStarted { life, turn });
        }
    }
}
