//! The operator has Codex's context compacted: only between its turns, and mail waits meanwhile.

use super::rig::Rig;
use super::silence::hook;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::{CompactionTrigger, EntryKind};
use crate::core::id::{RuntimeSession, SessionId, ThreadId, TurnId};
use crate::daemon::event::ClaudeCompacted;
use crate::wire::control::{
    AgentActionKind, AgentActionParams, Command, Refusal, RefusalCode, Reply, Role,
};

fn compact(agent: Agent) -> Command {
    Command::AgentAction(AgentActionParams {
        agent,
        act: AgentActionKind::Compact,
        turn_id: None,
        placed: false,
    })
}

fn code(result: Result<Reply, Refusal>) -> RefusalCode {
    result.unwrap_err().code
}

#[tokio::test]
async fn only_the_operator_compacts_and_only_between_turns() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let agent = rig.connect(Role::Claude, None, false);
    let by_agent = rig.call(&agent, compact(Agent::Codex)).await;
    assert_eq!(code(by_agent), RefusalCode::OperatorOnly);
    let of_claude = rig.call(&operator, compact(Agent::Claude)).await;
    assert_eq!(code(of_claude), RefusalCode::NotFromHere);
    rig.fact(CodexFact::ThreadStatus {
        status: ReportedStatus::Active { waiting: false },
    });
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("turn-1"),
    });
    let busy = rig.call(&operator, compact(Agent::Codex)).await;
    assert_eq!(code(busy), RefusalCode::WrongState);
    assert!(rig.requests.try_recv().is_err(), "the adapter is not asked");
}

#[tokio::test]
async fn a_summary_does_not_outlive_the_session_that_it_tells_of() {
    let mut rig = Rig::fresh().await;
    let now = rig.daemon.base.recorder.session_id().clone();
    for (session, kept) in [(SessionId::new("session_before"), ""), (now, "the plums")] {
        let compacted = ClaudeCompacted {
            session,
            pair: RuntimeSession::default(),
            trigger: CompactionTrigger::Manual,
            summary: "the plums".to_owned(),
            boundary: None,
            under_way: rig.daemon.base.operations.begin_beside(),
        };
        rig.daemon.base.on_claude_compacted(compacted);
        rig.settle().await;
        let mut recent = rig.daemon.base.recorder.recent().iter().rev();
        let said = recent.find_map(|stored| match &stored.entry.kind {
            EntryKind::Continuity(_) => Some(stored.entry.content.clone()),
            _ => None,
        });
        assert_eq!(said.as_deref(), Some(kept));
    }
}

/// Whether the status says so of each.
fn compacting(rig: &Rig) -> [bool; 2] {
    let agents = rig.daemon.status().agents;
    [
        agents.claude.continuity.compacting,
        agents.codex.continuity.compacting,
    ]
}

#[tokio::test]
async fn codex_is_not_compacted_while_claude_is_and_the_status_says_who_is() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    assert_eq!(compacting(&rig), [false, false]);
    rig.call(&hooks, hook("PreCompact", Some("manual")))
        .await
        .unwrap();
    assert_eq!(compacting(&rig), [true, false]);
    let refused = rig
        .call(&operator, compact(Agent::Codex))
        .await
        .unwrap_err();
    assert_eq!(refused.code, RefusalCode::WrongState);
    assert!(
        refused
            .message
            .contains("Claude's context is being compacted"),
        "{refused:?}"
    );
    for event in [
        hook("SessionStart", Some("compact")),
        hook("PostCompact", None),
    ] {
        rig.call(&hooks, event).await.unwrap();
    }
    assert_eq!(compacting(&rig), [false, false]);
    rig.fact(CodexFact::CompactionBegan);
    assert_eq!(compacting(&rig), [false, true]);
    rig.fact(CodexFact::NotCompacted);
    assert_eq!(compacting(&rig), [false, false]);
}

#[tokio::test]
async fn mail_waits_while_it_is_compacted_and_leaves_when_it_is_refused() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let begun = rig.ask(&operator, compact(Agent::Codex));
    let Ok(CodexRequest::Compact { reply }) = rig.requests.try_recv() else {
        panic!("nothing was asked of the adapter");
    };
    let again = rig.call(&operator, compact(Agent::Codex)).await;
    assert_eq!(code(again), RefusalCode::WrongState, "one at a time");
    let mail = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), []);
    // The app-server did not begin.
    reply.send(Err("no rollout found".to_owned())).unwrap();
    assert!(begun.await.unwrap().is_err());
    rig.fact(CodexFact::NotCompacted);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [mail]);
}
