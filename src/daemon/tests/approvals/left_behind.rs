//! What a thread of Codex's asked that the terminal has left.

use super::super::rig::Rig;
use super::{WAITING, request};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::{ApprovalRequest, TurnStatus};
use crate::core::id::{ThreadId, TurnId};

const GOES_ON: ReportedStatus = ReportedStatus::Active { waiting: false };

impl Rig {
    /// Not on the record yet.
    fn asks_in(&mut self, thread: &str, turn: &str, request_id: &str) {
        self.fact(CodexFact::ApprovalAsked {
            request_id: request_id.to_owned(),
            request: Box::new(ApprovalRequest {
                thread_id: Some(ThreadId::new(thread)),
                turn_id: Some(TurnId::new(turn)),
                ..request(&format!("{thread}/{turn}/{request_id}"))
            }),
            details: String::new(),
        });
    }

    fn turns_that_wait(&self) -> Vec<&str> {
        let open = &self.daemon.base.recorder.world().open_approvals;
        let turns = open.values().map(|asked| &asked.request.turn_id);
        turns.map(|turn| turn.as_ref().unwrap().as_str()).collect()
    }

    /// The terminal goes on in another thread.
    async fn goes_to(&mut self, thread: &str, status: ReportedStatus) {
        self.fact(CodexFact::ThreadAdopted {
            thread_id: ThreadId::new(thread),
        });
        self.status(status);
        self.settle().await;
    }

    async fn turn_ends_in(&mut self, thread: &str, turn: &str) {
        self.fact(CodexFact::TurnCompleted {
            thread_id: ThreadId::new(thread),
            turn_id: TurnId::new(turn),
            status: TurnStatus::Interrupted,
            final_answer: None,
            client_ids: Vec::new(),
            error: None,
            usage_limited: false,
            died: false,
        });
        self.settle().await;
    }
}

#[tokio::test]
async fn an_answer_in_the_thread_of_now_ends_nothing_of_the_one_that_was_left() {
    for left_is_recorded in [true, false] {
        for is_recorded in [true, false] {
            let mut rig = Rig::fresh_with_codex().await;
            rig.status(GOES_ON);
            rig.goes_to("thread-2", GOES_ON).await;
            rig.asks_in("thread-1", "turn-1", "1");
            if left_is_recorded {
                rig.settle().await;
            }
            rig.asks_in("thread-2", "turn-2", "2");
            if is_recorded {
                rig.settle().await;
            }
            rig.status(WAITING);
            rig.status(GOES_ON);
            rig.settle().await;
            assert_eq!(rig.turns_that_wait(), ["turn-1"]);
        }
    }
}

#[tokio::test]
async fn the_end_of_a_turn_ends_what_that_turn_asked_in_a_thread_that_was_left() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.goes_to("thread-2", ReportedStatus::Idle).await;
    rig.asks_in("thread-1", "turn-1", "1");
    rig.asks_in("thread-1", "turn-4", "4");
    rig.settle().await;
    rig.turn_ends_in("thread-1", "turn-1").await;
    assert_eq!(rig.turns_that_wait(), ["turn-4"]);
    rig.fact(CodexFact::ApprovalResolved {
        request_id: "4".to_owned(),
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
}

#[tokio::test]
async fn a_thread_that_waits_when_the_terminal_goes_elsewhere_waits_until_its_server_is_gone() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.status(GOES_ON);
    rig.asks_in("thread-1", "turn-1", "1");
    rig.status(WAITING);
    rig.settle().await;
    rig.goes_to("thread-2", ReportedStatus::Idle).await;
    let left = rig.only_open();
    assert!(rig.daemon.decisions.approvals.is_answerable(&left));
    let codex = rig.daemon.base.recorder.world().agent(Agent::Codex);
    assert_eq!(codex.state, AgentState::Idle);
    rig.fact(CodexFact::ServerLost {
        why: "killed".to_owned(),
        gave_up: false,
    });
    rig.settle().await;
    assert_eq!(rig.open(), 0);
    assert_eq!(rig.steps().await, ["codex asked", "system lost"]);
}
