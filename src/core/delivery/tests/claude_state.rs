//! What Claude is and does, as its hooks, its doorbell, its bridge and its calls tell.

use crate::agent::AgentState;
use crate::delivery::{
    ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeState, ClaudeStep, ClaudeTurnEnd, LadderInput,
    TurnEndSetting,
};
use crate::id::EntryId;

const HERE: ClaudeSetting = ClaudeSetting {
    is_here: true,
    is_limited: false,
};

/// What it has recorded.
fn hear(claude: &mut ClaudeState, input: ClaudeInput) -> Vec<AgentState> {
    let steps = claude.apply(input, HERE).into_iter();
    let recorded = steps.filter_map(|step| match step {
        ClaudeStep::Append { change, .. } => Some(change.state),
        _ => None,
    });
    recorded.collect()
}

fn attached() -> ClaudeState {
    let mut claude = ClaudeState::default();
    let pid = Some(7);
    assert_eq!(
        hear(&mut claude, ClaudeInput::Attached { pid }),
        [AgentState::Idle]
    );
    claude
}

#[test]
fn each_change_is_recorded_once() {
    let mut claude = attached();
    let pid = Some(7);
    assert_eq!(hear(&mut claude, ClaudeInput::Attached { pid }), []);
    let sign = ClaudeInput::GivesSign;
    assert_eq!(hear(&mut claude, sign), [], "no turn runs");
    for (input, recorded) in [
        (ClaudeInput::TurnBegan, Some(AgentState::Busy)),
        (ClaudeInput::ToolUsed, None),
        (ClaudeInput::Asks, Some(AgentState::Waiting)),
        // Beside the dialog: a call may be a helper's.
        (ClaudeInput::GivesSign, None),
        (ClaudeInput::ToolBegins, None),
        (ClaudeInput::Answered, Some(AgentState::Busy)),
        (ClaudeInput::Asks, Some(AgentState::Waiting)),
        (ClaudeInput::Prolonged, Some(AgentState::Busy)),
        (ClaudeInput::Worked, Some(AgentState::Idle)),
        (ClaudeInput::Answered, None),
        (ClaudeInput::Idle, None),
        // Its turn's beginning was told to nobody.
        (ClaudeInput::ToolUsed, Some(AgentState::Busy)),
        (ClaudeInput::Worked, Some(AgentState::Idle)),
        // The same, and a tool that runs for long.
        (ClaudeInput::ToolBegins, Some(AgentState::Busy)),
        (ClaudeInput::Gone, Some(AgentState::Offline)),
        (ClaudeInput::Gone, None),
    ] {
        let told = hear(&mut claude, input.clone());
        assert_eq!(told, Vec::from_iter(recorded), "{input:?}");
    }
    assert_eq!(claude.now().pid, None);
    assert!(!claude.is_in_turn());
}

fn helper_asks(about: &str) -> ClaudeInput {
    ClaudeInput::HelperAsks {
        helper: "a97".to_owned(),
        tool_use: Some(about.to_owned()),
    }
}

fn helper_goes_on(about: Option<&str>) -> ClaudeInput {
    ClaudeInput::HelperGoesOn {
        helper: "a97".to_owned(),
        tool_use: about.map(str::to_owned),
    }
}

#[test]
fn a_helper_that_asks_is_known_until_it_goes_on_whatever_becomes_of_the_turn() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    for (input, recorded, asking) in [
        (helper_asks("make"), Some(AgentState::Waiting), 1),
        // It tells of the helper's dialog.
        (ClaudeInput::DialogIsOpen, None, 1),
        (ClaudeInput::Worked, Some(AgentState::Idle), 1),
        (ClaudeInput::DialogIsOpen, None, 1),
        // What ran beside its dialog.
        (helper_goes_on(Some("ls")), None, 1),
        (helper_goes_on(Some("make")), None, 0),
        (helper_asks("make"), None, 1),
        (helper_asks("ls"), None, 1),
        (helper_goes_on(None), None, 0),
        // That is its own, then.
        (ClaudeInput::DialogIsOpen, Some(AgentState::Waiting), 0),
    ] {
        let told = hear(&mut claude, input.clone());
        assert_eq!(told, Vec::from_iter(recorded), "{input:?}");
        assert_eq!(claude.asking_helpers(), asking, "{input:?}");
    }
}

#[test]
fn a_turn_that_waits_for_its_helper_goes_on_with_it_unless_it_asks_itself() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, helper_asks("make"));
    let goes_on = helper_goes_on(Some("make"));
    assert_eq!(hear(&mut claude, goes_on.clone()), [AgentState::Busy]);
    hear(&mut claude, helper_asks("make"));
    hear(&mut claude, ClaudeInput::Asks);
    assert_eq!(hear(&mut claude, goes_on), []);
    assert_eq!(claude.now().state, AgentState::Waiting);
}

#[test]
fn what_it_waits_for_is_not_read_from_a_reason_for_people() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, helper_asks("make"));
    let why = claude.now().why.clone().expect("it says why it waits");
    assert_eq!(why, "a helper of it asks you something in its terminal");
    hear(&mut claude, ClaudeInput::Asks);
    let own = claude.now().why.as_deref();
    assert_eq!(own, Some("it asks you something in its terminal"));
    // A helper asks beside no turn, and a silence says the same words.
    let mut claude = attached();
    hear(&mut claude, helper_asks("make"));
    hear(&mut claude, ClaudeInput::TurnBegan);
    let silent = hear(&mut claude, ClaudeInput::Silent { why });
    assert_eq!(silent, [AgentState::Stale]);
    assert_eq!(hear(&mut claude, helper_goes_on(Some("make"))), []);
    assert_eq!(claude.now().state, AgentState::Stale);
}

#[test]
fn an_answer_ends_no_helpers_question_and_begins_the_turn_that_nobody_told() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, helper_asks("make"));
    hear(&mut claude, ClaudeInput::Asks);
    assert_eq!(hear(&mut claude, ClaudeInput::Answered), []);
    let goes_on = helper_goes_on(Some("make"));
    assert_eq!(hear(&mut claude, goes_on), [AgentState::Busy]);

    let mut claude = attached();
    assert_eq!(hear(&mut claude, ClaudeInput::Asks), [AgentState::Waiting]);
    assert_eq!(hear(&mut claude, ClaudeInput::Answered), [AgentState::Busy]);
    assert!(claude.is_in_turn());

    let gone = ClaudeSetting {
        is_here: false,
        ..HERE
    };
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::Gone);
    assert_eq!(claude.apply(ClaudeInput::ToolBegins, gone), []);
    assert!(!claude.is_in_turn());
}

#[test]
fn what_ends_the_conversation_ends_what_its_helpers_ask() {
    for end in [ClaudeInput::NewConversation, ClaudeInput::Gone] {
        let mut claude = attached();
        hear(&mut claude, helper_asks("make"));
        hear(&mut claude, end);
        assert_eq!(claude.asking_helpers(), 0);
    }
}

#[test]
fn a_turn_is_over_with_its_conversation_and_without_one_nothing_is() {
    let mut claude = attached();
    assert_eq!(claude.apply(ClaudeInput::ConversationEnds, HERE), []);
    hear(&mut claude, ClaudeInput::TurnBegan);
    let steps = claude.apply(ClaudeInput::ConversationEnds, HERE);
    assert_eq!(steps, [ClaudeStep::Over(ClaudeTurnEnd::Lost)]);
    assert!(!claude.is_in_turn());
}

#[test]
fn a_compaction_is_over_once_whatever_ends_it_and_lapses_where_nothing_does() {
    for end in [
        ClaudeInput::CompactionOver,
        ClaudeInput::TurnBegan,
        ClaudeInput::Worked,
        ClaudeInput::Idle,
        ClaudeInput::ConversationEnds,
        ClaudeInput::Gone,
        ClaudeInput::Attached { pid: Some(8) },
    ] {
        let mut claude = attached();
        let begins = ClaudeInput::Compacts { at_ms: 1_000 };
        assert_eq!(claude.apply(begins, HERE), [ClaudeStep::Compacts]);
        // It may be in the middle of a turn.
        hear(&mut claude, ClaudeInput::ToolUsed);
        assert!(claude.is_compacting(180_999) && !claude.is_compacting(181_000));
        assert_eq!(claude.compaction_lapses_ms(), Some(181_000));
        for times in [1, 0] {
            let steps = claude.apply(end.clone(), HERE).into_iter();
            let over = steps.filter(|step| *step == ClaudeStep::CompactionOver);
            assert_eq!(over.count(), times, "{end:?}");
            assert_eq!(claude.compaction_lapses_ms(), None, "{end:?}");
        }
    }
    let mut claude = attached();
    claude.apply(ClaudeInput::Compacts { at_ms: 1_000 }, HERE);
    // Where its beginning was told to nobody, the ladder is to know of its end.
    for _ in 0..2 {
        let steps = claude.apply(ClaudeInput::Compacted, HERE);
        assert_eq!(steps, [ClaudeStep::Compacted]);
        assert!(!claude.is_compacting(1_000));
    }
}

#[test]
fn one_that_comes_while_the_limit_holds_is_limited() {
    let limited = ClaudeSetting {
        is_limited: true,
        ..HERE
    };
    let mut claude = ClaudeState::default();
    let steps = claude.apply(ClaudeInput::Attached { pid: Some(7) }, limited);
    let Some(ClaudeStep::Append { change, has_come }) = steps.last() else {
        panic!("{steps:?}");
    };
    assert_eq!((change.state, *has_come), (AgentState::Limited, true));
    assert_eq!(
        hear(&mut claude, ClaudeInput::LimitOver),
        [AgentState::Idle]
    );
}

#[test]
fn what_comes_late_does_not_bring_it_back() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::Gone);
    let gone = ClaudeSetting {
        is_here: false,
        is_limited: false,
    };
    claude.apply(ClaudeInput::TurnBegan, gone);
    claude.apply(ClaudeInput::ToolUsed, gone);
    let why = "no sign".to_owned();
    claude.apply(ClaudeInput::Silent { why }, gone);
    assert_eq!(claude.now().state, AgentState::Offline);
}

#[test]
fn what_the_disk_refused_is_said_once_it_takes_it() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    let known = (AgentState::Offline, None);
    let not_recorded = |state| ClaudeInput::NotRecorded {
        change: ClaudeChange {
            state,
            pid: Some(7),
            why: None,
        },
        known,
    };
    // The later change is on its way still.
    hear(&mut claude, not_recorded(AgentState::Idle));
    assert_eq!(hear(&mut claude, ClaudeInput::Recordable), []);
    hear(&mut claude, not_recorded(AgentState::Busy));
    assert_eq!(claude.now().state, AgentState::Busy);
    assert_eq!(
        hear(&mut claude, ClaudeInput::Recordable),
        [AgentState::Busy]
    );
    assert_eq!(hear(&mut claude, ClaudeInput::Recordable), []);
}

#[test]
fn a_turn_that_fails_is_cut_off_with_what_it_was_given() {
    let mut claude = attached();
    let ids = vec![EntryId::new("m1")];
    let given = |ids: &[EntryId]| ClaudeInput::Given { ids: ids.to_vec() };
    hear(&mut claude, given(&ids));
    hear(&mut claude, ClaudeInput::TurnBegan);
    assert_eq!(claude.cut_off(), []);
    let failed = |limited| ClaudeInput::Failed {
        limited,
        why: "rate_limit".to_owned(),
    };
    let steps = claude.apply(failed(true), HERE);
    assert_eq!(
        steps.last(),
        Some(&ClaudeStep::Died(Vec::new())),
        "what it was given before the turn is not in it"
    );
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, given(&ids));
    hear(&mut claude, given(&ids));
    let steps = claude.apply(failed(true), HERE);
    assert_eq!(steps.last(), Some(&ClaudeStep::Died(ids.clone())));
    assert_eq!(claude.now().state, AgentState::Limited);
    assert_eq!(claude.cut_off(), ids);
    // One that had nothing changes nothing about what the one before had.
    hear(&mut claude, ClaudeInput::TurnBegan);
    let steps = claude.apply(failed(true), HERE);
    assert_eq!(steps.last(), Some(&ClaudeStep::Died(Vec::new())));
    assert_eq!(claude.cut_off(), ids);
    let id = ids[0].clone();
    hear(&mut claude, ClaudeInput::SentAgain { id });
    assert_eq!(claude.cut_off(), []);
    assert_eq!(
        hear(&mut claude, ClaudeInput::LimitOver),
        [AgentState::Idle]
    );
}

#[test]
fn a_dialog_is_no_silence() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, ClaudeInput::Asks);
    let silent = || ClaudeInput::Silent {
        why: "no sign".to_owned(),
    };
    assert_eq!(hear(&mut claude, silent()), []);
    hear(&mut claude, ClaudeInput::ToolUsed);
    assert_eq!(hear(&mut claude, silent()), [AgentState::Stale]);
}

#[test]
fn what_is_settled_was_not_cut_off() {
    let mut claude = attached();
    let [before, within, left] = ["m1", "m2", "m3"].map(EntryId::new);
    let failed = || ClaudeInput::Failed {
        limited: true,
        why: "rate_limit".to_owned(),
    };
    let settled = |id: &EntryId| ClaudeInput::Settled { id: id.clone() };
    hear(&mut claude, ClaudeInput::TurnBegan);
    let ids = vec![before.clone()];
    hear(&mut claude, ClaudeInput::Given { ids });
    hear(&mut claude, failed());
    assert_eq!(claude.cut_off(), std::slice::from_ref(&before));
    hear(&mut claude, ClaudeInput::TurnBegan);
    let ids = vec![within.clone(), left.clone()];
    hear(&mut claude, ClaudeInput::Given { ids });
    hear(&mut claude, settled(&within));
    let steps = claude.apply(failed(), HERE);
    assert_eq!(steps.last(), Some(&ClaudeStep::Died(vec![left.clone()])));
    hear(&mut claude, settled(&before));
    assert_eq!(claude.cut_off(), [left]);
}

#[test]
fn the_ladder_hears_how_a_turn_ended_and_what_stands_around_that() {
    let plain = TurnEndSetting {
        rests: false,
        rests_after_work: false,
        is_read: true,
    };
    let rests = TurnEndSetting {
        rests: true,
        ..plain
    };
    let rests_on = TurnEndSetting {
        rests_after_work: true,
        is_read: false,
        ..rests
    };
    let failed = |limited| ClaudeTurnEnd::Failed { limited };
    let worked = |rests, is_read| LadderInput::TurnWorked { rests, is_read };
    let ended = |limited| LadderInput::TurnEnded { limited };
    for (end, setting, told) in [
        (ClaudeTurnEnd::Worked, plain, worked(false, true)),
        (ClaudeTurnEnd::Worked, rests, worked(false, true)),
        (ClaudeTurnEnd::Worked, rests_on, worked(true, false)),
        (failed(false), plain, ended(false)),
        (failed(true), plain, ended(true)),
        (failed(false), rests, ended(true)),
        (ClaudeTurnEnd::Stopped, rests, LadderInput::TurnStopped),
        (ClaudeTurnEnd::Lost, rests, LadderInput::TurnLost),
    ] {
        let heard = ClaudeStep::Over(end).told_ladder(setting);
        assert_eq!(heard, Some(told), "{end:?}, {setting:?}");
    }
    assert_eq!(ClaudeStep::Worked.told_ladder(plain), None);
}

/// What the next process makes of what this one knows.
fn next(claude: &ClaudeState) -> (ClaudeState, Vec<ClaudeStep>) {
    let carried = serde_json::to_string(&claude.carried(0).unwrap()).unwrap();
    let carried = serde_json::from_str(&carried).unwrap();
    let mut next = ClaudeState::default();
    let claude = Box::new(carried);
    let steps = next.apply(ClaudeInput::Recalled { claude }, AWAY);
    (next, steps)
}

const AWAY: ClaudeSetting = ClaudeSetting {
    is_here: false,
    ..HERE
};

#[test]
fn what_the_process_before_knew_goes_on_and_is_recorded_once_its_claude_comes() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    hear(&mut claude, ClaudeInput::Asks);
    let (mut claude, steps) = next(&claude);
    let waits = ClaudeStep::Waits(true);
    assert_eq!(steps, [ClaudeStep::Runs, ClaudeStep::Lives, waits]);
    assert!(claude.is_away() && claude.is_in_turn());
    assert_eq!(hear(&mut claude, ClaudeInput::Recordable), [], "not yet");
    let pid = Some(7);
    let attaches = ClaudeInput::Attached { pid };
    assert_eq!(hear(&mut claude, attaches.clone()), [AgentState::Waiting]);
    assert!(!claude.is_away());
    assert_eq!(hear(&mut claude, attaches), [], "once");
    assert_eq!(hear(&mut claude, ClaudeInput::Answered), [AgentState::Busy]);
    // What it had in the turn that died is known too.
    let ids = vec![EntryId::new("m1")];
    hear(&mut claude, ClaudeInput::Given { ids: ids.clone() });
    let (mut claude, _) = next(&claude);
    let failed = ClaudeInput::Failed {
        limited: true,
        why: "rate_limit".to_owned(),
    };
    let steps = claude.apply(failed, AWAY);
    assert!(steps.contains(&ClaudeStep::Died(ids)), "{steps:?}");
}

#[test]
fn what_is_told_before_a_recalled_claude_comes_counts_and_another_ones_turn_does_not() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    let (mut ended, _) = next(&claude);
    ended.apply(ClaudeInput::Worked, AWAY);
    hear(&mut ended, ClaudeInput::Attached { pid: Some(7) });
    assert_eq!(ended.now().state, AgentState::Idle);
    let (mut another, _) = next(&claude);
    let pid = Some(8);
    let attached = hear(&mut another, ClaudeInput::Attached { pid });
    assert_eq!(attached, [AgentState::Idle]);
    assert!(!another.is_in_turn());
    let (mut away, _) = next(&claude);
    away.apply(ClaudeInput::StaysAway, AWAY);
    assert_eq!(away.now().state, AgentState::Offline);
    assert!(!away.is_in_turn());
    assert_eq!(away.carried(0), None);
    // It is not waited for.
    assert_eq!(claude.apply(ClaudeInput::StaysAway, HERE), []);
}

#[test]
fn what_is_proven_while_the_process_leaves_is_known_to_the_next_of_that_very_claude() {
    let mut claude = attached();
    hear(&mut claude, ClaudeInput::TurnBegan);
    let left = claude.carried(0).unwrap();
    let ids = vec![EntryId::new("m1")];
    hear(&mut claude, ClaudeInput::Given { ids: ids.clone() });
    let mut another = ClaudeState::default();
    hear(&mut another, ClaudeInput::Attached { pid: Some(8) });
    for (of, died) in [(&claude, ids), (&another, Vec::new())] {
        let mut left = left.clone();
        left.has_by_now(of);
        let mut next = ClaudeState::default();
        let claude = Box::new(left);
        next.apply(ClaudeInput::Recalled { claude }, AWAY);
        let why = "rate_limit".to_owned();
        let steps = next.apply(ClaudeInput::Failed { limited: true, why }, AWAY);
        assert!(steps.contains(&ClaudeStep::Died(died)), "{steps:?}");
    }
}
