//! Two bridges for one place: who is silent loses it, who answers keeps it.

use futures::FutureExt as _;

use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::daemon::event::Event;
use crate::store::testing::Place;
use crate::wire::control::{Notification, Role};

const HOLDER: u32 = 7_000_000;
const NEWCOMER: u32 = 7_000_001;

/// Longer than a holder may take.
const SILENT_MS: i64 = 3_100;

/// Until a holder that answers is asked again.
const AGAIN_MS: i64 = 30_100;

async fn pass(rig: &mut Rig, ms: i64) {
    rig.daemon.base.clock.pass(ms);
    rig.daemon.on_deadline();
    rig.settle().await;
}

fn was_asked(guest: &Guest) -> bool {
    guest.probes.notified().now_or_never().is_some()
}

fn answers(rig: &mut Rig, guest: &Guest) {
    rig.daemon
        .on_event(Event::PingAnswered { conn: guest.conn });
}

fn receives(rig: &Rig, guest: &Guest) -> bool {
    rig.daemon.base.clients.get(guest.conn).unwrap().receiver
}

/// What a client was told: whether it receives, and how many messages were pushed.
fn told(guest: &mut Guest) -> (Vec<bool>, usize) {
    let (mut receiver, mut pushed) = (Vec::new(), 0);
    while let Ok(notification) = guest.notifications.try_recv() {
        match notification {
            Notification::Receiver { receiver: now } => receiver.push(now),
            Notification::Push(_) => pushed += 1,
            _ => {}
        }
    }
    (receiver, pushed)
}

#[tokio::test]
async fn a_holder_that_answers_keeps_its_place_and_is_asked_again_only_now_and_then() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let holder = rig.connect(Role::Claude, Some(HOLDER), false);
    assert!(!was_asked(&holder), "nobody else wants its place");
    let mut newcomer = rig.connect(Role::Claude, Some(NEWCOMER), false);
    assert!(was_asked(&holder));
    answers(&mut rig, &holder);
    pass(&mut rig, SILENT_MS).await;
    assert!(receives(&rig, &holder) && !receives(&rig, &newcomer));
    assert!(!was_asked(&holder));
    pass(&mut rig, AGAIN_MS).await;
    assert!(was_asked(&holder));
    answers(&mut rig, &holder);
    rig.daemon.disconnect(newcomer.conn);
    pass(&mut rig, AGAIN_MS).await;
    assert!(!was_asked(&holder), "nobody waits any more");
    assert!(rig.daemon.base.next_probe().is_none());
    assert_eq!(told(&mut newcomer), (Vec::new(), 0));
}

#[tokio::test]
async fn a_holder_that_is_silent_loses_its_place_and_waits_when_it_comes_back() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let mut holder = rig.connect(Role::Claude, Some(HOLDER), false);
    let mut newcomer = rig.connect(Role::Claude, Some(NEWCOMER), false);
    rig.settle().await;
    pass(&mut rig, SILENT_MS).await;
    assert!(!receives(&rig, &holder) && receives(&rig, &newcomer));
    assert_eq!(told(&mut newcomer).0, [true]);
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    // Beyond the moment in which a doorbell may still come.
    pass(&mut rig, SILENT_MS).await;
    assert_eq!(told(&mut newcomer).1, 1);
    assert_eq!(told(&mut holder), (vec![false], 0));

    // It was only stopped for a while. The place is the other's now.
    answers(&mut rig, &holder);
    assert!(was_asked(&newcomer));
    answers(&mut rig, &newcomer);
    pass(&mut rig, SILENT_MS).await;
    assert!(!receives(&rig, &holder) && receives(&rig, &newcomer));
    // Until the other one goes.
    rig.daemon.disconnect(newcomer.conn);
    assert!(receives(&rig, &holder));
    assert_eq!(told(&mut holder).0, [true]);
}

#[tokio::test]
async fn a_place_is_not_given_to_one_that_is_silent_itself() {
    let mut rig = Rig::fresh().await;
    let first = rig.connect(Role::Claude, Some(HOLDER), false);
    let second = rig.connect(Role::Claude, Some(NEWCOMER), false);
    rig.settle().await;
    pass(&mut rig, SILENT_MS).await;
    assert!(receives(&rig, &second));
    // Both are silent now, and going back and forth would help nobody.
    pass(&mut rig, AGAIN_MS).await;
    pass(&mut rig, SILENT_MS).await;
    assert!(!receives(&rig, &first) && receives(&rig, &second));
}

#[tokio::test]
async fn a_bridge_of_another_pair_has_nobody_probed() {
    let mut rig = Rig::fresh().await;
    let holder = rig.connect(Role::Claude, Some(HOLDER), false);
    let other = rig.connect_to("other", Role::Claude, Some(NEWCOMER));
    assert!(!was_asked(&holder));
    assert!(receives(&rig, &holder) && receives(&rig, &other));
}
