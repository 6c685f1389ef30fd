//! What the loop does when somebody else touches the project's files.

use serde_json::json;

use super::rig::{Guest, Rig};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{DeliveryState, OnBusy};
use crate::core::entry::{EntryKind, ErrorCode};
use crate::core::id::SessionId;
use crate::daemon::event::Event;
use crate::daemon::start::record_adoption;
use crate::daemon::tamper::fact::WatchFact;
use crate::store::contextrelay3::{Unread, UnreadMessage};
use crate::store::testing::{Full, Place};
use crate::store::{config, session, trust};
use crate::wire::control::{Command, RefusalCode, Reply, Role, TrustParams};

pub fn write_config(place: &Place, config: serde_json::Value) {
    std::fs::write(place.dirs.config(), config.to_string()).unwrap();
}

pub async fn configured(place: &Place) -> (Rig, Guest) {
    let mut rig = Rig::start(place).await;
    let loaded = config::load(&place.dirs, &place.user);
    rig.daemon.configure(place.user.clone(), &loaded);
    rig.daemon.base.recorder.redactor().replace(loaded.rules);
    let operator = rig.connect(Role::Deck, None, true);
    (rig, operator)
}

fn changed(rig: &mut Rig, place: &Place, keys: &[&str]) {
    rig.daemon.on_event(Event::Watch(WatchFact::Config {
        loaded: Box::new(config::load(&place.dirs, &place.user)),
        changed: keys.iter().map(|key| (*key).to_owned()).collect(),
        trusts: u64::MAX,
    }));
}

fn contents(rig: &Rig) -> Vec<String> {
    rig.daemon
        .base
        .recorder
        .recent()
        .iter()
        .map(|stored| stored.entry.content.clone())
        .collect()
}

fn codes(rig: &Rig) -> Vec<String> {
    rig.daemon
        .base
        .recorder
        .recent()
        .iter()
        .filter_map(|stored| match &stored.entry.kind {
            EntryKind::Error { code } => Some(code.to_string()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_changed_configuration_counts_at_once_and_only_its_keys_are_recorded() {
    let place = Place::new();
    let (mut rig, _operator) = configured(&place).await;
    write_config(
        &place,
        json!({"redaction": {"rules": [{"name": "FISH", "pattern": "please"}]}, "odd": "valueOfIt"}),
    );
    changed(&mut rig, &place, &["redaction.rules", "odd"]);
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let contents = contents(&rig).join("\n");
    assert!(contents.contains("[REDACTED_FISH] look"), "{contents}");
    assert!(contents.contains("redaction.rules, odd"), "{contents}");
    assert!(!contents.contains("valueOfIt"));
}

#[tokio::test]
async fn a_file_that_is_no_json_takes_no_rule_away() {
    let place = Place::new();
    write_config(
        &place,
        json!({"redaction": {"rules": [{"name": "FISH", "pattern": "please"}]}}),
    );
    let (mut rig, _operator) = configured(&place).await;
    std::fs::write(place.dirs.config(), "{").unwrap();
    changed(&mut rig, &place, &[]);
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert!(contents(&rig).join("\n").contains("[REDACTED_FISH] look"));
    assert!(rig.daemon.base.notices.lines()[0].contains("not JSON"));
    write_config(&place, json!({}));
    changed(&mut rig, &place, &["redaction"]);
    assert!(rig.daemon.base.notices.lines().is_empty());
}

#[tokio::test]
async fn trust_that_a_crash_cut_off_behind_its_entry_is_told_of_once() {
    let place = Place::new();
    write_config(&place, json!({"gates": [{"name": "tests", "cmd": "true"}]}));
    let (mut rig, operator) = configured(&place).await;
    let command = Command::Trust(TrustParams {
        digest: config::load(&place.dirs, &place.user).digest,
        signing: None,
        signature: None,
    });
    rig.call(&operator, command).await.unwrap();
    drop(rig);
    let told = |rig: &Rig| {
        let recent = rig.daemon.base.recorder.recent().iter();
        let told = recent.filter(|it| it.entry.kind == ErrorCode::TrustNotKept.into());
        told.map(|it| it.entry.content.clone()).collect::<Vec<_>>()
    };
    // It came into force.
    let rig = Rig::start(&place).await;
    assert_eq!(told(&rig), Vec::<String>::new());
    drop(rig);
    // As it was before that entry.
    trust::write(
        &place.user,
        &place.dirs.instance_id(),
        Default::default(),
        1,
    )
    .unwrap();
    for _ in 0..2 {
        let rig = Rig::start(&place).await;
        let told = told(&rig);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("`ctxrelay trust`"), "{told:?}");
    }
}

#[tokio::test]
async fn only_what_was_shown_is_trusted_and_it_is_the_operators_word() {
    let place = Place::new();
    let allowed = format!("AKIA{}", "EXAMPLE7EXAMPLE7");
    write_config(&place, json!({"redaction": {"allow": [allowed]}}));
    let (mut rig, operator) = configured(&place).await;
    assert!(rig.daemon.base.notices.lines()[0].contains("waits for your trust"));
    let digest = config::load(&place.dirs, &place.user).digest;
    let command = Command::Trust(TrustParams {
        digest: digest.clone(),
        signing: None,
        signature: None,
    });

    let agent = rig.connect(Role::Codex, None, false);
    let refused = rig.call(&agent, command.clone()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::OperatorOnly);

    write_config(
        &place,
        json!({"redaction": {"allow": [allowed, {"pattern": ".*"}]}}),
    );
    let refused = rig.call(&operator, command.clone()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::StaleConfig);
    let id = place.dirs.instance_id();
    assert_eq!(
        trust::read(&place.user, &id).unwrap(),
        trust::Trusted::default()
    );

    write_config(&place, json!({"redaction": {"allow": [allowed]}}));
    let Ok(Reply::Recorded(recorded)) = rig.call(&operator, command).await else {
        panic!("not trusted");
    };
    assert_eq!(trust::read(&place.user, &id).unwrap().digest, digest);
    let entry = &rig
        .daemon
        .base
        .recorder
        .ledger()
        .read(recorded.seq)
        .unwrap()
        .unwrap()
        .entry;
    assert_eq!(entry.source, Party::Human);
    assert!(entry.content.contains("redaction.allow"));
    assert!(!entry.content.contains(&allowed));
    assert!(rig.daemon.base.notices.lines().is_empty());
    assert_eq!(
        rig.daemon.base.recorder.redactor().redact_text(&allowed).1,
        0
    );
}

#[tokio::test]
async fn a_reading_of_before_the_trust_takes_nothing_of_it_back_and_what_changed_is_recorded() {
    let place = Place::new();
    let allowed = format!("AKIA{}", "EXAMPLE7EXAMPLE7");
    write_config(&place, json!({"redaction": {"allow": [allowed]}}));
    let (mut rig, operator) = configured(&place).await;
    // The watch read it, and was not heard yet when the operator trusted it.
    let before = config::load(&place.dirs, &place.user);
    let command = Command::Trust(TrustParams {
        digest: before.digest.clone(),
        signing: None,
        signature: None,
    });
    rig.call(&operator, command).await.unwrap();
    rig.daemon.on_event(Event::Watch(WatchFact::Config {
        loaded: Box::new(before),
        changed: vec!["redaction.allow".to_owned()],
        trusts: 0,
    }));
    assert_eq!(
        rig.daemon.base.recorder.redactor().redact_text(&allowed).1,
        0
    );
    assert!(rig.daemon.base.notices.lines().is_empty());
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let contents = contents(&rig).join("\n");
    assert!(
        contents.contains("was read again: redaction.allow"),
        "{contents}"
    );
    // One of behind it counts.
    write_config(&place, json!({}));
    changed(&mut rig, &place, &["redaction"]);
    assert_eq!(
        rig.daemon.base.recorder.redactor().redact_text(&allowed).1,
        1
    );
}

#[tokio::test]
async fn a_foreign_current_is_said_and_put_back_and_not_without_end() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let own = rig.daemon.base.recorder.session_id().clone();
    let other = SessionId::new("session_1795000000001_00000000");
    let current = || session::read_current(&place.dirs).unwrap();
    let fact = |rig: &mut Rig, found: &SessionId| {
        rig.daemon.on_event(Event::Watch(WatchFact::Current {
            found: Some(found.clone()),
        }));
    };
    session::write_current(&place.dirs, &other).unwrap();
    fact(&mut rig, &other);
    assert_eq!(current(), Some(own.clone()));
    session::write_current(&place.dirs, &other).unwrap();
    fact(&mut rig, &other);
    // Not at once again, and not never.
    assert_eq!(current(), Some(other));
    let deadline = rig.daemon.files.next_deadline().unwrap();
    tokio::time::sleep_until(deadline).await;
    rig.daemon.on_deadline();
    assert_eq!(current(), Some(own.clone()));
    assert_eq!(rig.daemon.files.next_deadline(), None);
    // What is right again by the time it is heard of is no alarm.
    fact(&mut rig, &own);
    rig.settle().await;
    assert_eq!(codes(&rig), ["current_changed", "current_changed"]);
    assert!(rig.daemon.base.notices.lines().is_empty());
}

#[tokio::test]
async fn a_current_that_cannot_be_put_back_is_put_back_once_it_can_be() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let own = rig.daemon.base.recorder.session_id().clone();
    let other = SessionId::new("session_1795000000001_00000000");
    session::write_current(&place.dirs, &other).unwrap();
    let full = Full::after(0, &place.dirs.current());
    rig.daemon
        .on_event(Event::Watch(WatchFact::Current { found: Some(other) }));
    assert!(rig.daemon.base.notices.lines()[0].contains("could not be put back"));
    drop(full);
    let deadline = rig.daemon.files.next_deadline().unwrap();
    tokio::time::sleep_until(deadline).await;
    rig.daemon.on_deadline();
    assert_eq!(session::read_current(&place.dirs).unwrap(), Some(own));
    assert!(rig.daemon.base.notices.lines().is_empty());
    assert_eq!(rig.daemon.files.next_deadline(), None);
    rig.settle().await;
    assert_eq!(codes(&rig), ["current_changed"]);
}

#[tokio::test]
async fn a_daemon_that_nobody_can_find_any_more_says_so_and_ends() {
    let mut rig = Rig::fresh().await;
    rig.daemon.on_event(Event::Watch(WatchFact::LockLost));
    rig.daemon.on_event(Event::Watch(WatchFact::LockLost));
    rig.settle().await;
    assert_eq!(codes(&rig), ["lock_lost"]);
    assert!(contents(&rig).last().unwrap().contains("stopped"));
    assert!(rig.daemon.deliveries.may_stop(&rig.daemon.base));
}

#[tokio::test]
async fn unread_messages_of_contextrelay_3_wait_for_the_operator() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let unread = Unread {
        messages: vec![UnreadMessage {
            id: "m-1".to_owned(),
            content: "did you see ghp_0123456789abcdefghijABCDEFGHIJ0123456789?".to_owned(),
            at_ms: 5,
            pushed: true,
        }],
        total: 7,
    };
    record_adoption(&mut rig.daemon, 12, &unread);
    rig.settle().await;
    let rows: Vec<_> = rig
        .daemon
        .deliveries
        .outbox
        .lane(Agent::Claude)
        .cloned()
        .collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].state, DeliveryState::Ambiguous);
    let entry = rig
        .daemon
        .base
        .recorder
        .ledger()
        .read(rows[0].seq)
        .unwrap()
        .unwrap()
        .entry;
    assert_eq!(entry.content, "did you see [REDACTED_GITHUB_TOKEN]?");
    assert_eq!(entry.meta["bridgeMessageId"], json!("m-1"));
    let id = rows[0].id.clone();
    drop(rig);
    let rig = Rig::start(&place).await;
    let state = rig.daemon.deliveries.outbox.get(&id).unwrap().state;
    assert_eq!(state, DeliveryState::Ambiguous);
}
