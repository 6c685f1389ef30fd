//! Two bridges for one place: who is silent loses it, who answers keeps it, over a restart of the
//! daemon too.

use futures::FutureExt as _;

use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::event::Event;
use crate::store::testing::Place;
use crate::wire::control::{Command, HookParams, Notification, Reply, Role, SendParams};

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
    assert!(rig.daemon.base.next_place().is_none());
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

const PAIR: &str = "second";

/// The pid of a Claude that lives on over a restart of the daemon, as this process does.
fn living() -> u32 {
    std::process::id()
}

fn recorded_pid(rig: &Rig) -> Option<u32> {
    let claude = rig.daemon.base.recorder.world().agent(Agent::Claude);
    claude.status(&RuntimeSession::new(PAIR)).pid
}

/// What a prompt of this Claude is handed.
async fn prompted(rig: &mut Rig, claude_pid: u32) -> Vec<EntryId> {
    let hook = rig.connect_to(PAIR, Role::Hook, Some(claude_pid));
    let prompt = HookParams {
        event: "UserPromptSubmit".into(),
        claude_pid: Some(claude_pid),
        ..HookParams::default()
    };
    match rig.call(&hook, Command::Hook(prompt)).await {
        Ok(Reply::Hook(reply)) => reply.ids,
        other => panic!("{other:?}"),
    }
}

/// A daemon that died while this Claude had the place of the pair, and a message waits for it.
async fn died_with(place: &Place, claude_pid: u32) -> EntryId {
    let mut rig = Rig::start(place).await;
    let _bridge = rig.connect_to(PAIR, Role::Claude, Some(claude_pid));
    rig.settle().await;
    assert_eq!(recorded_pid(&rig), Some(claude_pid));
    let codex = rig.connect(Role::Codex, None, false);
    let send = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "please look".to_owned(),
        runtime_session_id: Some(RuntimeSession::new(PAIR)),
        ..SendParams::default()
    });
    match rig.call(&codex, send).await {
        Ok(Reply::Sent(sent)) => sent.message_id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn after_a_start_the_claude_that_had_the_place_has_it_whoever_comes_first() {
    let place = Place::new();
    died_with(&place, living()).await;
    let mut rig = Rig::start(&place).await;
    let mut bell = rig.connect_to(PAIR, Role::Hook, Some(NEWCOMER));
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    assert_eq!(prompted(&mut rig, NEWCOMER).await, []);
    let mut newcomer = rig.connect_to(PAIR, Role::Claude, Some(NEWCOMER));
    assert_eq!(prompted(&mut rig, NEWCOMER).await, []);
    assert!(!receives(&rig, &newcomer));
    assert_eq!(recorded_pid(&rig), None);

    let mut holder = rig.connect_to(PAIR, Role::Claude, Some(living()));
    assert!(receives(&rig, &holder));
    assert!(was_asked(&holder), "another one waits for its place");
    answers(&mut rig, &holder);
    pass(&mut rig, SILENT_MS).await;
    assert!(receives(&rig, &holder) && !receives(&rig, &newcomer));
    assert_eq!(told(&mut newcomer), (Vec::new(), 0));
    let rung = std::iter::from_fn(|| bell.notifications.try_recv().ok());
    let rung = rung.filter(|told| matches!(told, Notification::Ring { .. }));
    assert_eq!(rung.count(), 0);
    assert_eq!(recorded_pid(&rig), Some(living()));
    assert_eq!(told(&mut holder), (Vec::new(), 1));
}

#[tokio::test]
async fn a_hook_of_the_claude_that_had_the_place_counts_before_its_bridge_is_back() {
    let place = Place::new();
    let id = died_with(&place, living()).await;
    let mut rig = Rig::start(&place).await;
    let _newcomer = rig.connect_to(PAIR, Role::Claude, Some(NEWCOMER));
    assert_eq!(prompted(&mut rig, living()).await, [id]);
}

#[tokio::test]
async fn a_place_is_kept_for_a_moment_and_not_for_a_claude_that_is_gone() {
    let place = Place::new();
    died_with(&place, living()).await;
    let mut rig = Rig::start(&place).await;
    let mut newcomer = rig.connect_to(PAIR, Role::Claude, Some(NEWCOMER));
    assert!(!receives(&rig, &newcomer));
    pass(&mut rig, SILENT_MS).await;
    assert!(receives(&rig, &newcomer));
    assert_eq!(told(&mut newcomer).0, [true]);
    assert_eq!(recorded_pid(&rig), Some(NEWCOMER));
    let late = rig.connect_to(PAIR, Role::Claude, Some(living()));
    assert!(receives(&rig, &newcomer) && !receives(&rig, &late));
    drop(rig);

    // The newcomer is no process of this machine.
    let mut rig = Rig::start(&place).await;
    let next = rig.connect_to(PAIR, Role::Claude, Some(HOLDER));
    assert!(receives(&rig, &next));
}
