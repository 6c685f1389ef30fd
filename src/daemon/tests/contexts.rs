//! How full the agents' contexts are, from what their vendors tell.

use serde_json::json;

use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::context_fill::ContextFill;
use crate::core::id::{ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::control::{Command, ContextFigures, HookParams, Role};

fn used(rig: &mut Rig, used: u64) {
    let window = Some(100_000);
    rig.fact(CodexFact::ContextUsed { used, window });
}

fn codex(rig: &Rig) -> ContextFill {
    rig.daemon.status().agents.codex.context
}

#[tokio::test]
async fn codexs_figure_falls_with_a_compaction_in_either_order_and_ends_with_its_thread() {
    let mut rig = Rig::fresh_with_codex().await;
    assert_eq!(codex(&rig), ContextFill::default());
    let turn_id = TurnId::new("U1");
    let compacted = || CodexFact::Compacted {
        turn_id: turn_id.clone(),
        in_turn: true,
    };
    used(&mut rig, 60_500);
    assert_eq!(codex(&rig).percent, Some(60));
    used(&mut rig, 6_907);
    rig.fact(compacted());
    let fill = codex(&rig);
    assert_eq!((fill.used, fill.compactions), (Some(6_907), 1));
    used(&mut rig, 61_000);
    rig.fact(compacted());
    used(&mut rig, 7_000);
    let fill = codex(&rig);
    assert_eq!((fill.used, fill.compactions), (Some(7_000), 2));
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("another"),
    });
    assert_eq!(codex(&rig), ContextFill::default());
}

#[tokio::test]
async fn a_nearly_full_context_is_told_from_the_percent_on_that_the_operator_set_until_it_is_compacted()
 {
    let mut rig = Rig::fresh_with_codex().await;
    let warn_from = |rig: &mut Rig, percent| {
        let now_ms = rig.daemon.base.clock.now_ms();
        rig.daemon.agents.contexts.warn_from(percent, now_ms);
    };
    warn_from(&mut rig, 80);
    used(&mut rig, 79_999);
    assert_eq!(codex(&rig).nearly_full_since, None);
    used(&mut rig, 80_000);
    let since = codex(&rig).nearly_full_since;
    assert!(since.is_some());
    rig.later(5_000).await;
    used(&mut rig, 90_000);
    assert_eq!(codex(&rig).nearly_full_since, since, "told once");
    warn_from(&mut rig, 0);
    assert_eq!(codex(&rig).nearly_full_since, None, "it is not to be told");
    warn_from(&mut rig, 50);
    assert!(codex(&rig).nearly_full_since > since);
    rig.fact(CodexFact::Compacted {
        turn_id: TurnId::new("U1"),
        in_turn: false,
    });
    used(&mut rig, 6_907);
    assert_eq!(codex(&rig).nearly_full_since, None);
    used(&mut rig, 60_000);
    assert!(codex(&rig).nearly_full_since.is_some());
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("another"),
    });
    assert_eq!(codex(&rig), ContextFill::default());
}

#[tokio::test]
async fn claudes_figure_comes_from_the_transcript_that_its_hooks_name() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(4_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let call = |event: &str, path: String| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(4_000_000),
            transcript: Some(path),
            ..HookParams::default()
        })
    };
    let write = |name: &str, line: String| {
        let path = place.dirs.root.join(name);
        std::fs::write(&path, line).unwrap();
        path.display().to_string()
    };
    let answer = json!({"type": "assistant", "message": {"model": "claude-opus-5-5",
        "usage": {"input_tokens": 90_000, "output_tokens": 10_000}}});
    let first = write("first.jsonl", answer.to_string());
    rig.call(&hook, call("PostToolUse", first.clone()))
        .await
        .unwrap();
    let claude = |rig: &Rig| rig.daemon.status().agents.claude.context;
    while claude(&rig).used.is_none() {
        // It is read on a thread of its own.
        tokio::task::yield_now().await;
        rig.pump().await;
    }
    let fill = claude(&rig);
    assert_eq!((fill.used, fill.percent), (Some(100_000), Some(10)));

    // What it knew of another conversation says nothing of this one, however odd its file is.
    let second = write("second.jsonl", "\"usage\"".to_owned());
    rig.call(&hook, call("PostToolUse", second)).await.unwrap();
    assert_eq!(claude(&rig), ContextFill::default());
    rig.call(&hook, call("PostToolUse", "../first.jsonl".to_owned()))
        .await
        .unwrap();
    assert_eq!(claude(&rig), ContextFill::default());
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .agent(Agent::Claude)
            .state
            .is_attached()
    );
}

#[tokio::test]
async fn a_turn_of_claudes_behind_one_that_its_person_stopped_counts_in_the_forecast() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(4_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let told = |event: &str, detail: Option<&str>, used: Option<u64>| {
        let window = Some(1_000_000);
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(4_000_000),
            detail: detail.map(str::to_owned),
            transcript: Some("/nowhere/plums.jsonl".to_owned()),
            context: used.map(|used| ContextFigures {
                used: Some(used),
                window,
            }),
            ..HookParams::default()
        })
    };
    for (event, detail, used, turns_left) in [
        ("StatusLine", None, Some(100_000), None),
        ("UserPromptSubmit", None, None, None),
        ("StatusLine", None, Some(200_000), Some(7)),
        ("Notification", Some("idle_prompt"), None, Some(7)),
        ("UserPromptSubmit", None, None, Some(7)),
        // Of 100,000 a turn, and not of 160,000: the turn that runs is another one.
        ("StatusLine", None, Some(260_000), Some(7)),
        // Two turns of 80,000.
        ("Stop", None, None, Some(8)),
    ] {
        rig.call(&hook, told(event, detail, used)).await.unwrap();
        rig.settle().await;
        let fill = rig.daemon.status().agents.claude.context;
        assert_eq!(fill.turns_left, turns_left, "{event} {used:?}");
    }
}

#[tokio::test]
async fn a_turn_of_codexs_that_died_with_its_app_server_is_over_for_the_forecast() {
    let mut rig = Rig::fresh_with_codex().await;
    let began = |turn: &str| CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
    };
    used(&mut rig, 10_000);
    rig.fact(began("U1"));
    used(&mut rig, 20_000);
    rig.fact(CodexFact::ServerLost {
        why: "it ended".to_owned(),
        gave_up: false,
    });
    rig.codex_runs_as(4_000_003).await;
    rig.fact(began("U2"));
    used(&mut rig, 24_000);
    // Of 10,000 a turn, and not of 14,000.
    assert_eq!(codex(&rig).turns_left, Some(6));
}
