//! Facts that the disk refuses.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::writing::{UNWRITTEN_MAX, UNWRITTEN_RESERVED};
use super::{Written, words};
use crate::core::agent::{Agent, Party};
use crate::core::entry::{DeliveryRecord, DeliveryResult, EntryKind};
use crate::core::id::EntryId;
use crate::daemon::base::recorder::RecorderAction;
use crate::store::ledger::{LedgerError, WriterEvent};

#[test]
fn a_fact_that_the_disk_refuses_is_recorded_behind_the_outage_and_goes_on_once() {
    let mut written = Written::new();
    assert!(written.keep_then("happened", "then").is_empty());
    let actions = written.next_fails(written.no_space());
    assert_eq!(
        words(&actions),
        ["unwritable", "fact happened ledger_unwritable kept"]
    );
    assert!(written.recorder.is_read_only() && written.recorder.has_unwritten());
    // Behind it, however soon.
    assert!(written.keep_then("later", "later").is_empty());
    let outage = written.next();
    assert_eq!(outage.len(), 1);
    assert!(written.texts()[0].contains("could not be written"));
    assert!(written.told(WriterEvent::Recovered).is_empty());
    assert!(!written.recorder.is_read_only());
    assert!(written.recorder.next_deadline().is_some());
    written.recorder.write_again_now();
    written.recorder.write_again();
    assert!(written.actions().is_empty());
    assert!(!written.recorder.has_unwritten());
    assert_eq!(
        words(&written.next()),
        [r#"recorded happened Some("then")"#]
    );
    assert_eq!(
        words(&written.next()),
        [r#"recorded later Some("later")"#, "writable"]
    );
    assert!(written.events.try_recv().is_err(), "and nothing twice");
}

#[test]
fn one_fact_that_the_disk_never_takes_is_one_outage_until_it_does() {
    let mut written = Written::new();
    let never = || LedgerError::NotAFile("/plums/blobs".into());
    let refused = ["unwritable", "fact happened ledger_unwritable kept"];
    written.keep_then("happened", "then");
    assert_eq!(words(&written.next_fails(never())), refused);
    let outage = words(&written.next());
    assert!(outage[0].contains("could not be written"), "{outage:?}");
    for _ in 0..3 {
        // All else is taken.
        assert!(written.told(WriterEvent::Recovered).is_empty());
        written.recorder.write_again_now();
        written.recorder.write_again();
        assert_eq!(words(&written.next_fails(never())), refused);
        assert_eq!(written.recorder.pending_count(), 0, "another outage");
    }
    written.told(WriterEvent::Recovered);
    written.recorder.write_again_now();
    written.recorder.write_again();
    assert_eq!(
        words(&written.next()),
        [r#"recorded happened Some("then")"#, "writable"]
    );
    // The next one is another outage.
    written.recorder.outage_ended_at = None;
    written.keep_then("later", "then");
    written.next_fails(never());
    let outage = words(&written.next());
    assert!(outage[0].contains("could not be written"), "{outage:?}");
}

#[test]
fn a_disk_that_refuses_every_other_write_is_told_once_and_then_as_often_as_it_is_asked_again() {
    let mut written = Written::new();
    for times in 1..=3 {
        // Who was refused asks again as soon as the disk takes something.
        written.append("asked for", "then");
        let refused = written.next_fails(written.no_space());
        assert_eq!(
            words(&refused),
            ["unwritable", "refused then ledger_unwritable"]
        );
        if times > 1 {
            assert_eq!(written.recorder.pending_count(), 0, "told at once");
            assert!(written.recorder.next_deadline().is_some());
            written.recorder.write_again_now();
            written.recorder.write_again();
        }
        let mut told = words(&written.told(WriterEvent::Recovered));
        told.extend(words(&written.next()));
        assert!(told.contains(&"writable".to_owned()), "{told:?}");
        let texts = written.texts();
        assert_eq!(texts.len(), times);
        assert!(texts[times - 1].contains("could not be written"));
        // However long this test is kept waiting.
        let soon = Instant::now() + Duration::from_secs(3_600);
        written.recorder.outage_ended_at = Some(soon);
    }
}

#[test]
fn a_fact_that_waits_for_the_head_outside_is_said_until_it_is_recorded() {
    let mut written = Written::new();
    written.keep_then("happened", "then");
    let told = written.next_fails(LedgerError::HeadUnwritable {
        path: "/home/heads/plums".into(),
        source: Arc::new(std::io::ErrorKind::ReadOnlyFilesystem.into()),
    });
    assert_eq!(
        words(&told),
        ["fact happened head_unwritable kept", "unwritable"]
    );
    let [_, RecorderAction::Unwritable(why)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(why.contains("/home/heads/plums"), "{why}");
    // The ledger takes all else, and needs no entry on an outage.
    assert!(!written.recorder.is_read_only());
    assert_eq!(written.recorder.pending_count(), 0);
    written.append("another", "then");
    assert_eq!(words(&written.next()), [r#"recorded another Some("then")"#]);
    written.recorder.write_again_now();
    written.recorder.write_again();
    assert_eq!(
        words(&written.next()),
        [r#"recorded happened Some("then")"#, "writable"]
    );
}

#[test]
fn facts_are_kept_in_the_order_in_which_they_came_and_not_in_that_of_their_refusals() {
    let mut written = Written::new();
    written.keep_then("one", "then");
    written.keep_then("two", "then");
    let gone = || LedgerError::Gone("/plums/ledger".into());
    let _ = written.next_fails(gone());
    // It waits behind the first one before the second one is heard of.
    written.keep_then("three", "then");
    let _ = written.next_fails(gone());
    let on_the_way = |written: &Written| {
        let facts = written.recorder.facts_on_the_way();
        facts.map(|fact| fact.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(on_the_way(&written), ["one", "two", "three"]);
    written.told(WriterEvent::Recovered);
    written.recorder.write_again_now();
    written.recorder.write_again();
    for _ in 0..3 {
        written.next();
    }
    assert_eq!(written.texts(), ["one", "two", "three"]);
}

#[test]
fn a_fact_that_fails_only_after_it_was_time_to_try_again_keeps_its_place() {
    let mut written = Written::new();
    written.keep_then("one", "then");
    written.keep_then("two", "then");
    let gone = || LedgerError::Gone("/plums/ledger".into());
    let _ = written.next_fails(gone());
    // The disk is slow to refuse the second one.
    written.recorder.write_again_now();
    written.recorder.write_again();
    written.keep_then("three", "then");
    assert!(written.recorder.next_deadline().is_some());
    let _ = written.next_fails(gone());
    written.told(WriterEvent::Recovered);
    written.recorder.write_again_now();
    written.recorder.write_again();
    for _ in 0..3 {
        written.next();
    }
    assert_eq!(written.texts(), ["one", "two", "three"]);
    assert!(!written.recorder.has_unwritten());
}

#[test]
fn no_more_facts_are_kept_than_fit_and_the_record_says_how_many_were_given_up() {
    let mut written = Written::new();
    let delivered = |written: &Written| {
        let kind = EntryKind::Delivery(DeliveryRecord {
            message_id: EntryId::new("a message"),
            attempt_id: None,
            to: Agent::Claude,
            result: DeliveryResult::Acknowledged,
            outcome: None,
            rung: None,
            turn_id: None,
            given: None,
        });
        let recorder = &written.recorder;
        recorder.entry(Party::System, None, kind, "delivered", None)
    };
    let plain = UNWRITTEN_MAX - UNWRITTEN_RESERVED;
    for n in 0..=plain {
        assert!(written.keep_then(&n.to_string(), "then").is_empty());
    }
    let (mut given_up, mut others) = (Vec::new(), Vec::new());
    for _ in 0..=plain {
        let actions = written.next_fails(written.no_space());
        for word in words(&actions) {
            match word.ends_with("given up") {
                true => given_up.push(word),
                false if word.ends_with("kept") => {}
                false => others.push(word),
            }
        }
    }
    let last = format!("fact {plain} ledger_unwritable given up");
    assert_eq!(given_up, [last]);
    others.dedup();
    assert_eq!(
        others,
        ["unwritable", "lost", "refused then ledger_unwritable"]
    );
    // The next one does not overtake those that wait.
    assert_eq!(
        words(&written.keep_then("next", "then")),
        ["fact next overloaded given up", "refused then overloaded"]
    );
    // The last places are for what became of a message, and the like.
    for _ in 0..UNWRITTEN_RESERVED {
        let delivered = delivered(&written);
        written.recorder.keep_then(vec![delivered], "then");
        assert!(written.actions().is_empty());
    }
    let batch = vec![delivered(&written), written.said("with it")];
    written.recorder.keep_then(batch, "then");
    assert_eq!(
        words(&written.actions()),
        [
            "fact delivered overloaded given up",
            "refused then overloaded"
        ]
    );

    // A try that fails takes no place from any of them.
    let _outage = written.next();
    written.recorder.write_again_now();
    written.recorder.write_again();
    for _ in 0..UNWRITTEN_MAX {
        let words = words(&written.next_fails(written.no_space()));
        assert!(
            words.iter().all(|it| !it.ends_with("given up")),
            "{words:?}"
        );
    }
    written.told(WriterEvent::Recovered);
    written.recorder.write_again_now();
    written.recorder.write_again();
    for _ in 1..UNWRITTEN_MAX {
        written.next();
    }
    let words = words(&written.next());
    assert_eq!(words[1..], ["writable", "lost"]);
    assert_eq!(written.texts().len(), 1 + UNWRITTEN_MAX);
    written.next();
    let said = written.texts().pop().unwrap();
    assert!(
        said.starts_with("4 things that happened were not recorded"),
        "{said}"
    );
    assert!(!written.recorder.has_unwritten());
    assert!(written.events.try_recv().is_err(), "and once");
}
