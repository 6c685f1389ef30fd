//! A disk that refuses, and a daemon that nobody needs.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::rig::Rig;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::daemon::event::Event;
use crate::store::ledger::WriterEvent;
use crate::wire::control::Role;

#[tokio::test]
async fn proof_that_came_while_the_disk_refused_is_recorded_once_it_no_longer_does() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.fail_writes().await;
    assert!(rig.daemon.deliveries.outbox.get(&id).is_some());
    assert_eq!(rig.daemon.base.notices.lines().len(), 1);

    let deadline = rig.daemon.next_deadline();
    assert!(deadline < Instant::now() + Duration::from_secs(2));
    sleep_until(deadline).await;
    rig.daemon.on_event(Event::Ledger(WriterEvent::Recovered));
    rig.daemon.on_deadline();
    rig.settle().await;
    assert!(rig.daemon.deliveries.outbox.get(&id).is_none());
    assert!(rig.daemon.base.recorder.world().unsettled.is_empty());
    assert!(rig.daemon.base.notices.lines().is_empty());
}

#[tokio::test]
async fn the_service_in_its_own_process_keeps_no_detached_daemon_alive() {
    let mut rig = Rig::fresh().await;
    rig.daemon.base.identity.detach();
    rig.connect_from(std::process::id(), Role::Codex, None, false);
    rig.settle().await;
    rig.daemon.watch_idleness();
    let soon = Instant::now() + Duration::from_secs(31);
    assert!(rig.daemon.next_deadline() < soon);
    rig.connect(Role::Cli, None, false);
    rig.settle().await;
    rig.daemon.watch_idleness();
    assert!(rig.daemon.next_deadline() > soon);
}

#[tokio::test]
async fn a_detached_daemon_stays_while_a_message_waits() {
    let mut rig = Rig::fresh().await;
    rig.daemon.base.identity.detach();
    let guest = rig.connect(Role::Codex, None, false);
    let id = rig.send(&guest, Agent::Codex, OnBusy::Queue).await;
    rig.daemon.base.clients.forget_all();
    rig.daemon.watch_idleness();
    assert_eq!(rig.daemon.base.operations.idle_since(), None);
    rig.daemon.deliveries.outbox.settle(&id);
    rig.daemon.watch_idleness();
    assert!(rig.daemon.base.operations.idle_since().is_some());
}
