//! What Codex is and does, as the lane takes it in.

use crate::agent::AgentState;
use crate::delivery::{Activity, Backlog, CodexFlow, CodexInput, Moment};
use crate::entry::{ErrorCode, TurnStatus};
use crate::id::{AttemptId, ThreadId, TurnId};

fn hear(flow: &mut CodexFlow, input: CodexInput) -> AgentState {
    let at = Moment {
        now_ms: 1,
        attempt: AttemptId::new("a"),
    };
    flow.apply(&mut Backlog::default(), input, &at);
    flow.state().agent_state()
}

/// With an idle thread.
fn idle() -> CodexFlow {
    let mut flow = CodexFlow::default();
    hear(&mut flow, CodexInput::ServerStarted { life: 1 });
    let thread = ThreadId::new("t");
    hear(&mut flow, CodexInput::Adopted { life: 1, thread });
    let activity = Activity::Idle;
    hear(&mut flow, CodexInput::Activity { life: 1, activity });
    flow
}

fn began(flow: &mut CodexFlow, turn: &str) {
    let turn = TurnId::new(turn);
    hear(flow, CodexInput::TurnStarted { life: 1, turn });
    let activity = Activity::Busy { waiting: false };
    hear(flow, CodexInput::Activity { life: 1, activity });
}

fn ended(flow: &mut CodexFlow, turn: &str, limited: bool) {
    let end = CodexInput::TurnEnded {
        life: 1,
        turn: TurnId::new(turn),
        status: TurnStatus::Completed,
        ids: Vec::new(),
        limited,
        died: false,
    };
    hear(flow, end);
}

#[test]
fn what_the_operator_reads_follows_the_app_server() {
    let mut flow = CodexFlow::default();
    assert_eq!(flow.state().agent_state(), AgentState::Offline);
    let life = 1;
    let started = CodexInput::ServerStarted { life };
    assert_eq!(hear(&mut flow, started), AgentState::Offline);
    for (activity, state) in [
        (Activity::NotLoaded, AgentState::Offline),
        (Activity::Idle, AgentState::Idle),
        (Activity::Busy { waiting: false }, AgentState::Busy),
        (Activity::Busy { waiting: true }, AgentState::Waiting),
        (Activity::Idle, AgentState::Idle),
    ] {
        let activity = CodexInput::Activity { life, activity };
        assert_eq!(hear(&mut flow, activity), state);
    }
    let needed = true;
    let signs_in = CodexInput::SignIn { life, needed };
    assert_eq!(hear(&mut flow, signs_in), AgentState::Waiting);
    assert_eq!(
        hear(&mut flow, CodexInput::LimitHolds),
        AgentState::Limited,
        "whatever else it does"
    );
    assert_eq!(hear(&mut flow, CodexInput::LimitOver), AgentState::Waiting);
    let gave_up = false;
    let lost = CodexInput::ServerLost { life, gave_up };
    assert_eq!(hear(&mut flow, lost), AgentState::Offline);
    assert!(!flow.state().needs_sign_in(), "another one says so itself");
}

#[test]
fn why_there_was_no_app_server_is_known_while_the_next_one_is_tried() {
    let mut flow = idle();
    let lost = |life| CodexInput::ServerLost {
        life,
        gave_up: true,
    };
    hear(&mut flow, lost(1));
    assert_eq!(flow.unavailable_for(), None, "nobody has said");
    let code = ErrorCode::CodexTooOld;
    hear(&mut flow, CodexInput::Unavailable { code });
    let known = Some(&ErrorCode::CodexTooOld);
    for input in [CodexInput::ServerStarted { life: 2 }, lost(2)] {
        hear(&mut flow, input);
        assert_eq!(flow.unavailable_for(), known);
    }
    let code = ErrorCode::CodexFailed;
    hear(&mut flow, CodexInput::Unavailable { code });
    assert_eq!(flow.unavailable_for(), Some(&ErrorCode::CodexFailed));
}

#[test]
fn a_turn_runs_from_its_beginning_to_whatever_ends_it() {
    let mut flow = idle();
    began(&mut flow, "1");
    assert_eq!(flow.state().turn(), Some(&TurnId::new("1")));
    ended(&mut flow, "1", false);
    assert_eq!(flow.state().turn(), None);
    // A history that is read anew tells of it a second time.
    began(&mut flow, "1");
    assert_eq!(flow.state().turn(), None);

    began(&mut flow, "2");
    // What the human said in a turn of before does not make that one run.
    let turn = TurnId::new("1");
    hear(&mut flow, CodexInput::HumanMessage { life: 1, turn });
    assert_eq!(flow.state().turn(), Some(&TurnId::new("2")));
    let activity = Activity::Idle;
    hear(&mut flow, CodexInput::Activity { life: 1, activity });
    assert_eq!(flow.state().turn(), None, "an idle thread runs none");

    began(&mut flow, "3");
    let gave_up = false;
    hear(&mut flow, CodexInput::ServerLost { life: 1, gave_up });
    assert_eq!(flow.state().turn(), None);
    assert!(!flow.state().is_running());
}

#[test]
fn a_turn_is_watched_from_the_first_that_is_told_of_it_until_its_thread_rests() {
    let mut flow = idle();
    let waits = |flow: &CodexFlow| flow.state().turn_waits();
    assert_eq!(waits(&flow), None);
    let turn = TurnId::new("1");
    hear(&mut flow, CodexInput::TurnStarted { life: 1, turn });
    assert_eq!(waits(&flow), Some(false));
    let activity = Activity::Busy { waiting: true };
    hear(&mut flow, CodexInput::Activity { life: 1, activity });
    assert_eq!(waits(&flow), Some(true));
    ended(&mut flow, "1", false);
    let activity = Activity::Idle;
    hear(&mut flow, CodexInput::Activity { life: 1, activity });
    assert_eq!(waits(&flow), None);
    // A history that is read again.
    let turn = TurnId::new("1");
    hear(&mut flow, CodexInput::TurnStarted { life: 1, turn });
    assert_eq!(waits(&flow), None);
}

#[test]
fn the_next_process_knows_the_turn_that_runs_and_the_limit_that_holds() {
    let mut flow = idle();
    began(&mut flow, "1");
    hear(&mut flow, CodexInput::LimitHolds);
    for server_stays in [true, false] {
        let mut next = CodexFlow::default();
        next.take_over(flow.carried(), server_stays);
        let state = next.state();
        assert_eq!(state.life(), 1);
        assert!(state.rests_at_limit());
        assert_eq!(state.thread(), Some(&ThreadId::new("t")));
        assert_eq!(state.is_running(), server_stays);
        assert_eq!(state.turn().is_some(), server_stays);
        assert_eq!(state.activity(), None, "the adapter tells it anew");
    }
}

#[test]
fn a_paused_lane_is_told_to_the_next_process_by_the_name_that_it_reads() {
    let mut flow = idle();
    let thread = Some(ThreadId::new("t"));
    hear(&mut flow, CodexInput::Stopped { thread });
    let text = serde_json::to_value(flow.carried()).unwrap();
    assert_eq!(text["isHeld"], true);
    let mut next = CodexFlow::default();
    next.take_over(serde_json::from_value(text).unwrap(), true);
    assert!(next.state().is_paused());
}
