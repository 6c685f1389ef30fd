use std::time::Instant;

use super::*;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place};
use crate::core::id::EntryId;
use crate::wire::control::{Refusal, RefusalCode, Role};

fn context(text: &str) -> impl Fn(&Command) -> Answering + Send + Sync + use<> {
    let text = text.to_owned();
    move |command| {
        Answering::Reply(match command {
            Command::Hook(_) => Reply::Hook(HookReply {
                additional_context: Some(text.clone()),
                ids: vec![EntryId::new("m1")],
            }),
            _ => Reply::Done,
        })
    }
}

/// Runs a hook to its end and gives its output: on a busy machine too, which says nothing of the hook.
async fn run_hook(place: &Place, event: &str, input: &str) -> String {
    run_hook_within(DEADLINE, place, event, input).await
}

async fn run_hook_within(wait: Duration, place: &Place, event: &str, input: &str) -> String {
    let mut output = Vec::new();
    let client = place.client(Role::Hook);
    let caller = HookCaller {
        pid: Some(7),
        has_monitors: true,
        is_judged: true,
    };
    let event = event.into();
    let work = run_within(wait, &event, caller, input.as_bytes(), &mut output, client);
    timeout(DEADLINE * 2, work).await.unwrap();
    String::from_utf8(output).unwrap()
}

#[tokio::test]
async fn a_prompt_gets_the_waiting_bodies_and_then_reports_them_as_handed() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("hello \"you\"")).await;
    let input = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"go on"}"#;
    let output = run_hook(&place, "UserPromptSubmit", input).await;
    assert_eq!(
        serde_json::from_str::<Value>(&output).unwrap(),
        json!({"hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit", "additionalContext": "hello \"you\""}})
    );
    let seen = daemon.so_far();
    let Command::Hook(params) = &seen[0] else {
        panic!("{seen:?}");
    };
    assert_eq!(params.claude_pid, Some(7));
    assert_eq!(params.claude_session_id.as_deref(), Some("s1"));
    assert!(!params.from_monitor);
    assert!(matches!(&seen[1], Command::HookHanded(handed) if handed.ids == [EntryId::new("m1")]));
}

#[tokio::test]
async fn a_monitor_event_is_not_the_human() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("")).await;
    let prompt = "<task-notification>\n<event>1 message from codex</event>";
    let input = json!({"prompt": prompt}).to_string();
    assert_eq!(run_hook(&place, "UserPromptSubmit", &input).await, "");
    let seen = daemon.so_far();
    assert!(matches!(&seen[..], [Command::Hook(params)] if params.from_monitor));
}

#[tokio::test]
async fn other_events_report_their_state_and_print_nothing() {
    for (event, input, detail) in [
        ("PostCompact", r#"{"trigger":"manual"}"#, Some("manual")),
        ("SessionEnd", r#"{"reason":"clear"}"#, Some("clear")),
        (
            "StopFailure",
            r#"{"error":"rate_limit"}"#,
            Some("rate_limit"),
        ),
        ("SessionEnd", "this is no JSON", None),
    ] {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("not for these")).await;
        assert_eq!(run_hook(&place, event, input).await, "");
        let seen = daemon.so_far();
        assert!(
            matches!(&seen[..], [Command::Hook(params)]
                if params.event == HookEvent::from(event) && params.detail.as_deref() == detail),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn what_joins_a_compaction_is_plain_text() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("Keep these ids: h1")).await;
    let input = r#"{"trigger":"auto","custom_instructions":null}"#;
    let printed = run_hook(&place, "PreCompact", input).await;
    assert_eq!(printed, "Keep these ids: h1");
    let seen = daemon.so_far();
    assert!(
        matches!(&seen[..], [Command::Hook(params)] if params.detail.as_deref() == Some("auto"))
    );
}

#[tokio::test]
async fn what_claude_said_touched_and_summed_up_is_reported() {
    for (event, input, tool, path, text) in [
        (
            "PostToolUse",
            r#"{"tool_name":"Edit","tool_input":{"file_path":"/p/a.rs"}}"#,
            Some("Edit"),
            Some("/p/a.rs"),
            None,
        ),
        (
            "Stop",
            r#"{"last_assistant_message":"Sorted."}"#,
            None,
            None,
            Some("Sorted."),
        ),
        (
            "PostCompact",
            r#"{"compact_summary":"Plums."}"#,
            None,
            None,
            Some("Plums."),
        ),
    ] {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        run_hook(&place, event, input).await;
        let seen = daemon.so_far();
        assert!(
            matches!(&seen[..], [Command::Hook(params)]
                if params.tool.as_deref() == tool
                    && params.path.as_deref() == path
                    && params.text.as_deref() == text),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn tool_results_and_stops_carry_bodies_as_prompts_do() {
    for event in ["SessionStart", "PostToolUse", "Stop"] {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("plum")).await;
        let output = run_hook(&place, event, "{}").await;
        assert_eq!(
            serde_json::from_str::<Value>(&output).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "plum"}})
        );
        let seen = daemon.so_far();
        assert!(matches!(&seen[1], Command::HookHanded(_)), "{seen:?}");
    }
}

#[tokio::test]
async fn of_what_a_helper_of_claude_does_only_what_it_asks_the_person_is_told() {
    let input = json!({"agent_id": "a97", "agent_type": "general-purpose", "session_id": "s1",
        "tool_name": "Bash", "tool_input": {"command": "make"}, "cwd": "/p"});
    for (event, told) in [
        ("PermissionRequest", HookEvent::HelperAsks),
        ("PostToolUse", HookEvent::HelperToolUse),
        ("PostToolUseFailure", HookEvent::HelperToolUse),
    ] {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("not for a helper")).await;
        assert_eq!(run_hook(&place, event, &input.to_string()).await, "");
        let told = HookParams {
            event: told,
            claude_pid: Some(7),
            is_judged: true,
            helper: Some("a97".to_owned()),
            tool_use: tool_use(&input),
            ..HookParams::default()
        };
        let mut seen = daemon.so_far();
        let [Command::Hook(seen)] = &mut seen[..] else {
            panic!("{seen:?}");
        };
        // How long it took so far is another time each time.
        let asks = seen.asked_ago_ms.take().is_some();
        assert_eq!(asks, told.event == HookEvent::HelperAsks);
        assert_eq!(*seen, told, "{event}");
    }
}

#[tokio::test]
async fn what_may_be_heard_behind_its_answer_says_for_how_long_it_runs() {
    for (event, says_so) in [
        ("Notification", true),
        ("StopFailure", true),
        // Claude waits for it.
        ("Stop", false),
    ] {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        run_hook(&place, event, "{}").await;
        let seen = daemon.so_far();
        let Some(Command::Hook(told)) = seen.first() else {
            panic!("{seen:?}");
        };
        assert_eq!(told.asked_ago_ms.is_some(), says_so, "{event}");
    }
}

#[tokio::test]
async fn a_question_outlives_a_daemon_that_changes_its_process_also_where_the_deck_comes_behind_it()
{
    let place = Place::default();
    let asked = std::sync::atomic::AtomicU32::new(0);
    let daemon = FakeDaemon::start(&place, move |command| {
        let given = ApprovalAnswer {
            choice: "allow".to_owned(),
            note: None,
        };
        match command {
            Command::Hook(_) => Answering::Reply(Reply::Hook(HookReply::default())),
            // The daemon goes, the next one has no deck yet, and then it has.
            _ => match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Answering::HangUp,
                1 => Answering::Reply(Reply::Approval(None)),
                _ => Answering::Reply(Reply::Approval(Some(given))),
            },
        }
    });
    let daemon = daemon.await;
    let input = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}).to_string();
    let output = run_hook(&place, "PermissionRequest", &input).await;
    assert!(output.contains(r#""behavior":"allow""#), "{output}");
    let asked = daemon.so_far();
    let keys = asked.iter().filter_map(|command| match command {
        Command::AskApproval(params) => Some(params.request.key.as_str()),
        _ => None,
    });
    let keys: Vec<&str> = keys.collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[tokio::test]
async fn a_yes_to_a_plan_that_has_changed_since_is_asked_for_again() {
    let place = Place::default();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "1. Mend it.").unwrap();
    let path = file.path().to_owned();
    let daemon = FakeDaemon::start(&place, move |command| match command {
        Command::AskApproval(params) => {
            if params.details.contains("Mend it") {
                std::fs::write(&path, "1. Drop it.").unwrap();
            }
            Answering::Reply(Reply::Approval(Some(ApprovalAnswer {
                choice: "allow".to_owned(),
                note: None,
            })))
        }
        _ => Answering::Reply(Reply::Hook(HookReply::default())),
    });
    let daemon = daemon.await;
    let input = json!({"tool_name": "ExitPlanMode", "tool_input": {
        "plan": "1. Mend it.", "planFilePath": file.path()}});
    let output = run_hook(&place, "PermissionRequest", &input.to_string()).await;
    let output: Value = serde_json::from_str(&output).unwrap();
    let decision = &output["hookSpecificOutput"]["decision"];
    assert_eq!(decision["updatedInput"]["plan"], "1. Drop it.");
    let asked: Vec<_> = daemon
        .so_far()
        .into_iter()
        .filter_map(|command| match command {
            Command::AskApproval(params) => Some((params.request.key, params.details)),
            _ => None,
        })
        .collect();
    let [(key, first), (again, second)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(key, again);
    assert!(
        first.contains("Mend it") && second.contains("Drop it"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn where_nobody_looks_a_question_is_claudes_own_at_once() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |command| {
        Answering::Reply(match command {
            Command::Hook(_) => Reply::Hook(HookReply::default()),
            _ => Reply::Approval(None),
        })
    });
    let daemon = daemon.await;
    let input = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}).to_string();
    assert_eq!(run_hook(&place, "PermissionRequest", &input).await, "");
    assert_eq!(daemon.so_far().len(), 2);
}

#[tokio::test]
async fn a_file_that_a_helper_of_claude_touches_is_told_and_the_helper_is_given_nothing() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("not for a helper")).await;
    let input = json!({
        "agent_id": "a97", "session_id": "s1", "tool_name": "Edit", "tool_use_id": "t1",
        "tool_input": {"file_path": "/p/a.rs"}});
    assert_eq!(
        run_hook(&place, "PostToolUse", &input.to_string()).await,
        ""
    );
    let told = HookParams {
        event: HookEvent::HelperToolUse,
        claude_pid: Some(7),
        is_judged: true,
        helper: Some("a97".to_owned()),
        tool_use: tool_use(&input),
        tool: Some("Edit".to_owned()),
        path: Some("/p/a.rs".to_owned()),
        ..HookParams::default()
    };
    // No message is handed over either.
    assert_eq!(daemon.so_far(), [Command::Hook(told)]);
}

#[tokio::test]
async fn of_a_tool_whose_answer_is_too_long_to_tell_whose_it_is_nothing_is_carried() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("not for a helper")).await;
    let long = "x".repeat(usize::try_from(INPUT_BYTES_MAX).unwrap());
    let of_helper = json!({"agent_id": "a97", "tool_response": &long}).to_string();
    for input in [of_helper.as_str(), "this is no JSON", "[]"] {
        assert_eq!(run_hook(&place, "PostToolUse", input).await, "");
        assert!(daemon.so_far().is_empty());
    }
    // A prompt is nobody's but Claude's.
    let prompt = json!({"prompt": &long}).to_string();
    assert_ne!(run_hook(&place, "UserPromptSubmit", &prompt).await, "");
}

#[tokio::test]
async fn that_a_helper_of_claude_ends_is_told_without_its_words() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context("not for a helper")).await;
    let input = r#"{"agent_id":"a97","last_assistant_message":"<!-- relay:done -->"}"#;
    assert_eq!(run_hook(&place, "SubagentStop", input).await, "");
    let seen = daemon.so_far();
    assert!(
        matches!(&seen[..], [Command::Hook(params)]
            if params.event == HookEvent::SubagentStop
                && params.helper.as_deref() == Some("a97")
                && params.text.is_none()),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_stop_tells_whether_it_is_prolonged_and_whether_our_monitor_runs() {
    let task = |kind: &str, name: &str, status: &str| json!([{"id": "b", "type": kind, "status": status, "description": name}]);
    for (tasks, runs) in [
        (Some(json!([])), Some(false)),
        (None, None),
        (Some(task("monitor", MONITOR, "running")), Some(true)),
        (Some(task("monitor", MONITOR_BEFORE, "running")), Some(true)),
        (Some(task("monitor", MONITOR, "completed")), Some(false)),
        (Some(task("subagent", MONITOR, "running")), Some(false)),
        (Some(task("monitor", "another one", "running")), Some(false)),
    ] {
        let mut input = json!({"stop_hook_active": runs.is_some()});
        if let Some(tasks) = tasks {
            input["background_tasks"] = tasks;
        }
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        run_hook(&place, "Stop", &input.to_string()).await;
        let seen = daemon.so_far();
        let [Command::Hook(params)] = &seen[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(params.monitor_runs, runs);
        assert_eq!(params.stop_hook_active, runs.is_some());
    }
    let headless = HookCaller {
        pid: None,
        has_monitors: false,
        is_judged: true,
    };
    let told = params(&HookEvent::Stop, headless, &json!({"background_tasks": []}));
    assert_eq!(told.monitor_runs, None);
}

#[tokio::test]
async fn without_a_daemon_a_hook_is_over_at_once() {
    let began = Instant::now();
    assert_eq!(
        run_hook(&Place::default(), "UserPromptSubmit", "{}").await,
        ""
    );
    // Below what a call waits for a connection.
    assert!(began.elapsed() < DEADLINE / 4);
}

#[tokio::test]
async fn a_daemon_that_hangs_or_refuses_costs_bounded_time_and_no_output() {
    for answering in [
        || Answering::Never,
        || Answering::Refuse(Refusal::new(RefusalCode::Busy, "y", "z")),
    ] {
        let place = Place::default();
        let _daemon = FakeDaemon::start(&place, move |_| answering()).await;
        let began = Instant::now();
        let output = run_hook_within(HOOK_WAIT, &place, "UserPromptSubmit", "{}").await;
        assert_eq!(output, "");
        // Bounded, on a machine that has other things to do, too.
        assert!(began.elapsed() < HOOK_WAIT * 10);
    }
}

#[tokio::test]
async fn context_that_claude_would_cut_is_not_handed_over() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, context(&"x".repeat(9_001))).await;
    assert_eq!(run_hook(&place, "UserPromptSubmit", "{}").await, "");
    assert_eq!(daemon.so_far().len(), 1);
}

mod before {
    use super::*;
    use crate::bridge::hook::before_tool::before_tool_within;
    use crate::core::policy::{Coordinator, PolicyChange, PolicyRules};

    fn codex_writes() -> PolicyRules {
        let to = Some(Coordinator::Codex);
        PolicyRules::default().with(PolicyChange::Coordinator { to })
    }

    /// On a busy machine too, which says nothing of the hook.
    async fn judged(rules: &PolicyRules, place: &Place, input: &str) -> String {
        let waits = (DEADLINE, DEADLINE);
        judged_within(waits, rules, place, input).await
    }

    async fn judged_within(
        waits: (Duration, Duration),
        rules: &PolicyRules,
        place: &Place,
        input: &str,
    ) -> String {
        let mut output = Vec::new();
        let caller = HookCaller {
            pid: Some(7),
            has_monitors: true,
            is_judged: true,
        };
        let client = || place.client(Role::Hook);
        let (input, client) = (input.as_bytes(), Some(client));
        let work = before_tool_within(waits, rules, caller, input, &mut output, client);
        timeout(DEADLINE * 2, work).await.unwrap();
        String::from_utf8(output).unwrap()
    }

    fn bash(command: &str) -> String {
        json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1"})
            .to_string()
    }

    #[tokio::test]
    async fn a_call_with_half_an_emoji_in_it_is_judged_as_any_other() {
        let input = bash("git commit -m cut_").replace("cut_", r"\ud83d");
        let output = judged(&codex_writes(), &Place::default(), &input).await;
        assert!(output.contains("\"deny\""), "{output}");
    }

    #[tokio::test]
    async fn a_denied_call_is_told_to_claude_and_to_the_record() {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        let output = judged(&codex_writes(), &place, &bash("git -C x commit")).await;
        let line: Value = serde_json::from_str(&output).unwrap();
        let said = &line["hookSpecificOutput"];
        assert_eq!(said["hookEventName"], "PreToolUse");
        assert_eq!(said["permissionDecision"], "deny");
        let why = said["permissionDecisionReason"].as_str().unwrap();
        assert!(why.contains("`git commit`"), "{why}");
        let seen = daemon.so_far();
        let [Command::Hook(params)] = &seen[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(params.event, HookEvent::PreToolUse);
        assert_eq!(params.text.as_deref(), Some(why));
    }

    #[tokio::test]
    async fn a_call_of_a_helper_of_claudes_is_judged_as_its_own() {
        let place = Place::default();
        let mut input: Value = serde_json::from_str(&bash("git push")).unwrap();
        input["agent_id"] = json!("a1");
        let output = judged(&codex_writes(), &place, &input.to_string()).await;
        assert!(output.contains("\"deny\""), "{output}");
    }

    #[tokio::test]
    async fn a_helper_of_claudes_takes_no_message_and_may_wait_for_its_own_answer() {
        let server = "mcp__plugin_contextrelay_contextrelay__";
        for (tool, arguments, helper, is_denied) in [
            ("get_messages", json!({}), true, true),
            ("wait_for_messages", json!({}), true, true),
            ("ack_messages", json!({"ids": ["m1"]}), true, true),
            (
                "wait_for_messages",
                json!({"handoff_id": "h1"}),
                true,
                false,
            ),
            ("append_note", json!({"text": "seven"}), true, false),
            ("get_messages", json!({}), false, false),
        ] {
            let mut input =
                json!({"tool_name": format!("{server}{tool}"), "tool_input": arguments});
            if helper {
                input["agent_id"] = json!("a1");
            }
            let none = PolicyRules::default();
            let output = judged(&none, &Place::default(), &input.to_string()).await;
            assert_eq!(output.contains("\"deny\""), is_denied, "{input}: {output}");
            assert_eq!(output.contains("hand back"), is_denied, "{input}: {output}");
        }
    }

    #[tokio::test]
    async fn a_call_that_no_rule_is_against_is_told_for_who_looks_and_costs_no_word() {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        assert_eq!(
            judged(&codex_writes(), &place, &bash("git status")).await,
            ""
        );
        let none = PolicyRules::default();
        assert_eq!(judged(&none, &place, &bash("git push")).await, "");
        let edit = json!({"tool_name": "Edit", "tool_input": {"file_path": "/p/a.rs"},
            "tool_use_id": "toolu_2"});
        assert_eq!(judged(&none, &place, &edit.to_string()).await, "");
        let told = daemon.so_far();
        let told: Vec<_> = told
            .iter()
            .map(|command| match command {
                Command::ToolBegins(it) => (&*it.tool, it.command.as_deref(), it.path.as_deref()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            told,
            [
                ("Bash", Some("git status"), None),
                ("Bash", Some("git push"), None),
                ("Edit", None, Some("/p/a.rs")),
            ]
        );
    }

    #[tokio::test]
    async fn what_a_helper_of_claudes_runs_is_not_told_as_its_own() {
        let place = Place::default();
        let daemon = FakeDaemon::start(&place, context("")).await;
        let mut input: Value = serde_json::from_str(&bash("cargo test")).unwrap();
        input["agent_id"] = json!("a1");
        let none = PolicyRules::default();
        assert_eq!(judged(&none, &place, &input.to_string()).await, "");
        assert!(daemon.so_far().is_empty());
    }

    #[tokio::test]
    async fn a_daemon_that_hangs_holds_no_call_up() {
        let place = Place::default();
        let _daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
        let began = Instant::now();
        let (none, input) = (PolicyRules::default(), bash("cargo test"));
        let waits = (DEADLINE, Duration::from_millis(50));
        assert_eq!(judged_within(waits, &none, &place, &input).await, "");
        // Far below what the hook may take, on a machine that has other things to do, too.
        assert!(began.elapsed() < DEADLINE / 2, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_rule_holds_without_a_daemon_and_what_cannot_be_read_is_asked_for() {
        let place = Place::default();
        let denied = judged(&codex_writes(), &place, &bash("git push")).await;
        assert!(denied.contains("\"deny\""), "{denied}");
        for input in ["this is no JSON", "", r#"{"tool_name": "Bash"}"#] {
            let asked = judged(&codex_writes(), &place, input).await;
            assert!(asked.contains("\"ask\""), "{input}: {asked}");
        }
    }
}
