//! What waits while Codex's context is compacted.

use super::*;

const BEGAN: CodexInput = CodexInput::CompactionBegan {
    life: 1,
    is_asked: true,
};
const COMPACTED: CodexInput = CodexInput::Compacted { life: 1 };
const OVER: CodexInput = CodexInput::CompactionOver { life: 1 };

#[test]
fn a_message_waits_for_a_compaction_and_its_packet() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.hear(BEGAN);
    assert!(lane.flow.is_compaction_asked());
    assert_eq!(lane.send(1, OnBusy::Queue), []);
    assert_eq!(lane.send(2, OnBusy::Steer), []);
    assert_eq!(lane.hear(COMPACTED), []);
    // The compaction's own turn.
    assert_eq!(lane.turn_ended("c", TurnStatus::Completed, Vec::new()), []);
    assert_eq!(lane.activity(Activity::Idle), []);
    assert!(!lane.flow.may_deliver_soon());
    assert_eq!(handed_over(&lane.hear(OVER)), [(id(2), false)]);
    assert!(!lane.flow.is_compacting());
}

#[test]
fn a_message_waits_for_no_compaction_longer_than_a_minute() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.hear(BEGAN);
    let until = lane.now_ms + 60_000;
    lane.send(1, OnBusy::Queue);
    assert_eq!(lane.flow.next_ms(&lane.backlog), Some(until));
    // Its packet makes the wait no longer.
    lane.now_ms = until - 3;
    assert_eq!(lane.hear(COMPACTED), []);
    assert_eq!(lane.hear(CodexInput::Tick), []);
    assert_eq!(handed(&lane.hear(CodexInput::Tick)), [id(1)]);
    assert_eq!(lane.flow.next_ms(&lane.backlog), None);
}

#[test]
fn a_compaction_that_ends_without_success_or_with_its_app_server_keeps_nothing() {
    let thread = ThreadId::new("another");
    let gave_up = false;
    for end in [
        CodexInput::TurnEnded {
            life: 1,
            turn: TurnId::new("c"),
            status: TurnStatus::Failed,
            ids: Vec::new(),
            limited: false,
            died: false,
        },
        CodexInput::ServerLost { life: 1, gave_up },
        CodexInput::ServerStarted { life: 2 },
        CodexInput::Adopted { life: 1, thread },
    ] {
        let mut lane = Lane::new(CodexTimeouts::default());
        lane.hear(BEGAN);
        assert_eq!(lane.send(1, OnBusy::Queue), []);
        let effects = lane.hear(end.clone());
        assert_eq!(handed(&effects), [id(1)], "{end:?}");
    }
}

#[test]
fn what_was_about_to_leave_when_a_compaction_began_leaves_after_it() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    let attempt = lane.backlog.get(&id(1)).unwrap().attempt.clone().unwrap();
    assert!(lane.flow.may_leave(&lane.backlog, &id(1), &attempt));
    lane.hear(CodexInput::CompactionBegan {
        life: 1,
        is_asked: false,
    });
    assert!(!lane.flow.is_compaction_asked());
    assert!(!lane.flow.may_leave(&lane.backlog, &id(1), &attempt));
    assert_eq!(
        handed(&lane.hear(CodexInput::NotWanted { id: id(1) })),
        [] as [EntryId; 0]
    );
    lane.hear(COMPACTED);
    assert_eq!(handed(&lane.hear(OVER)), [id(1)]);
}
