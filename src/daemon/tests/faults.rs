//! A disk that refuses, and a daemon that nobody needs.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::rig::Rig;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::daemon::event::Event;
use crate::daemon::fault::DaemonFault;
use crate::store::ledger::WriterEvent;
use crate::store::testing::Place;
use crate::wire::control::{Command, Role, SendParams};

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

#[tokio::test]
async fn a_start_whose_record_is_gone_does_not_promise_that_it_is_here() {
    for is_removed in [false, true] {
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let send = Command::Send(SendParams {
            from: None,
            to: Some(Agent::Claude),
            text: "please look".to_owned(),
            ..SendParams::default()
        });
        rig.call(&operator, send).await.unwrap();
        let path = rig.daemon.base.recorder.ledger().path().to_owned();
        drop(rig);
        DaemonFault::Unrecorded.leave_mark(&place.dirs);
        if is_removed {
            std::fs::remove_file(&path).unwrap();
        }
        let rig = Rig::start(&place).await;
        let said = rig.daemon.status().notices.join("\n");
        assert!(said.contains("before this start"), "{said}");
        let promises = said.contains("what was acknowledged is here");
        assert_eq!(promises, !is_removed, "{said}");
        let alarms: Vec<String> = rig
            .world()
            .open_alarms()
            .map(|it| it.alarm.text())
            .collect();
        assert_eq!(!alarms.is_empty(), is_removed, "{alarms:?}");
        // A daemon ran, and knows no more than that.
        let since = |text: &String| text.contains("since a daemon last wrote to it");
        assert!(alarms.iter().all(since), "{alarms:?}");
    }
}
