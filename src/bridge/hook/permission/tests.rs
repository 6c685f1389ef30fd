use super::*;

fn read(input: Value) -> PermissionAsk {
    PermissionAsk::read(&input, "k".to_owned()).unwrap()
}

fn also_wanted(ask: &PermissionAsk) -> Vec<String> {
    let wishes = ask.request.also_wants.iter();
    wishes.map(Wish::to_string).collect()
}

fn decision(ask: &PermissionAsk, choice: &str, note: Option<&str>) -> Value {
    let output: Value = serde_json::from_str(&ask.output(choice, note).unwrap()).unwrap();
    output["hookSpecificOutput"]["decision"].clone()
}

#[test]
fn a_command_is_allowed_once_allowed_with_claudes_own_rule_denied_or_stopped() {
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
        "behavior": "allow", "destination": "localSettings"});
    let ask = read(json!({"tool_name": "Bash", "cwd": "/p",
        "tool_input": {"command": "touch made.txt", "description": "Make it"},
        "permission_suggestions": [{"type": "later"}, rule]}));
    assert_eq!(ask.request.kind, ApprovalKind::Command);
    assert_eq!(ask.request.subject, "touch made.txt");
    assert_eq!(ask.details, "Make it");
    let ids: Vec<_> = ask
        .request
        .choices
        .iter()
        .map(|it| it.id.as_str())
        .collect();
    assert_eq!(ids, ["allow", "suggestion/0", "deny", "stop"]);
    let label = &ask.request.choices[1].label;
    assert_eq!(label, "allow, and always Bash(touch:*) (localSettings)");
    assert_eq!(decision(&ask, "allow", None), json!({"behavior": "allow"}));
    let always = json!({"behavior": "allow", "updatedPermissions": [rule]});
    assert_eq!(decision(&ask, "suggestion/0", None), always);
    let denied = json!({"behavior": "deny", "message": "use the lock"});
    assert_eq!(decision(&ask, "deny", Some("use the lock")), denied);
    let stopped = json!({"behavior": "deny", "message": DENIED, "interrupt": true});
    assert_eq!(decision(&ask, "stop", None), stopped);
    for unknown in ["suggestion/1", "suggestion/x", "accept", ""] {
        assert_eq!(ask.output(unknown, None), None);
    }
}

#[test]
fn a_command_says_all_that_a_yes_grants_beside_it() {
    let ask = read(
        json!({"tool_name": "Bash", "tool_input": {"command": "make test",
        "dangerouslyDisableSandbox": true, "run_in_background": true, "timeout": 9,
        "allowed_domains": ["example.org", "x.org"], "description": "Test\ntimeout: 1"}}),
    );
    let wants = [
        "to run outside of Claude's sandbox",
        "to reach example.org, x.org from Claude's sandbox",
        "to run in the background",
    ];
    assert_eq!(also_wanted(&ask), wants);
    // What Claude says of it passes for none of its members.
    assert!(
        ask.details.starts_with("Test\n  timeout: 1\n"),
        "{}",
        ask.details
    );
    for line in [
        "dangerouslyDisableSandbox: true",
        "run_in_background: true",
        "timeout: 9",
    ] {
        assert!(ask.details.lines().any(|it| it == line), "{}", ask.details);
    }
    // A host passes for no other wish.
    let host = read(
        json!({"tool_name": "Bash", "tool_input": {"command": "make",
        "allowed_domains": "the network\nto run in the background"}}),
    );
    let reached = "the network\nto run in the background from Claude's sandbox";
    assert_eq!(host.request.also_wants, [Wish::Reach(reached.to_owned())]);
    let none = read(
        json!({"tool_name": "Bash", "tool_input": {"command": "make",
        "dangerouslyDisableSandbox": false, "run_in_background": null, "allowed_domains": []}}),
    );
    assert_eq!(also_wanted(&none), [""; 0]);
    let odd = read(
        json!({"tool_name": "Bash", "tool_input": {"command": "make",
        "dangerouslyDisableSandbox": "yes"}}),
    );
    assert_eq!(also_wanted(&odd), wants[..1]);
}

#[test]
fn a_monitor_is_a_command_with_the_hints_of_one() {
    let ask = read(json!({"tool_name": "Monitor", "tool_input": {
        "command": "curl https://example.org", "description": "Watch it", "timeout_ms": 9}}));
    assert_eq!(ask.request.kind, ApprovalKind::Command);
    assert_eq!(ask.request.subject, "curl https://example.org");
    assert_eq!(ask.details, "tool: Monitor\nWatch it\ntimeout_ms: 9");
    let hints = crate::core::policy::risk_hints(Agent::Claude, &ask.request, &[], "/p");
    assert_eq!(hints, ["`curl` can reach beyond this machine"]);
    // A socket of its own is no command.
    let ws = read(json!({"tool_name": "Monitor", "tool_input": {"ws": {"url": "wss://x"}}}));
    assert_eq!(ws.request.kind, ApprovalKind::Tool);
}

#[test]
fn a_rule_of_claudes_that_cannot_be_read_whole_is_not_offered() {
    let bash = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
    let offered = |rules: Value| {
        let rule = json!({"type": "addRules", "rules": rules, "behavior": "allow",
            "destination": "session"});
        let ask = read(json!({"tool_name": "Bash", "tool_input": {"command": "ls"},
            "permission_suggestions": [rule]}));
        ids(&ask).contains(&"suggestion/0")
    };
    let long = format!("echo {}", "a".repeat(300));
    assert!(!offered(json!([bash(&long), bash("npx:*")])));
    let fits = "a".repeat(COMES_TO_CHARS_MAX - "and always Bash() (session)".len());
    assert!(offered(json!([bash(&fits)])));
    assert!(!offered(json!([bash(&format!("{fits}a"))])));
    // What stands beside it would hold, too.
    assert!(!offered(json!([bash("ls"), {"toolName": 5}])));
    assert!(!offered(
        json!([bash("ls"), {"toolName": "Bash", "ruleContent": ["npx"]}])
    ));
}

#[test]
fn a_change_shows_what_goes_and_what_comes() {
    let ask = read(
        json!({"tool_name": "Edit", "tool_input": {"file_path": "/p/a.rs",
        "old_string": "one\ntwo", "new_string": "three"}}),
    );
    assert_eq!(ask.request.kind, ApprovalKind::FileChange);
    assert_eq!(ask.request.subject, "edit /p/a.rs");
    assert_eq!(ask.details, "-one\n-two\n+three");
    let ask = read(json!({"tool_name": "Write",
        "tool_input": {"file_path": "/p/a.rs", "content": "all of it"}}));
    assert_eq!(ask.details, "+all of it");
}

#[test]
fn a_change_that_is_not_shown_whole_says_so() {
    let of = |length: usize| {
        read(json!({"tool_name": "Write",
            "tool_input": {"file_path": "/p/a.rs", "content": "a".repeat(length)}}))
    };
    assert!(!of(DETAILS_CHARS_MAX - 1).request.is_cut());
    assert!(of(DETAILS_CHARS_MAX).request.is_cut());
}

#[test]
fn a_change_says_how_far_it_reaches() {
    let ask = read(
        json!({"tool_name": "Edit", "tool_input": {"file_path": "/p/a.rs",
        "old_string": "one", "new_string": "two", "replace_all": true}}),
    );
    assert_eq!(ask.details, "replaces every occurrence\n-one\n+two");
    let ask = read(
        json!({"tool_name": "MultiEdit", "tool_input": {"file_path": "/p/a.rs", "edits": [
        {"old_string": "a", "new_string": "b", "replace_all": false},
        {"old_string": "c", "new_string": "d", "replace_all": true}]}}),
    );
    let details = "-a\n+b\nreplaces every occurrence\n-c\n+d";
    assert_eq!(ask.details, details);
    let cell = |edit: Value| {
        let mut input = edit;
        input["notebook_path"] = json!("/p/a.ipynb");
        read(json!({"tool_name": "NotebookEdit", "tool_input": input})).details
    };
    for (edit, details) in [
        (
            json!({"edit_mode": "delete", "cell_id": "c1", "new_source": ""}),
            "deletes cell c1",
        ),
        (
            json!({"edit_mode": "insert", "cell_id": "c1", "new_source": "x"}),
            "inserts a cell after c1\n+x",
        ),
        (
            json!({"edit_mode": "insert", "new_source": "x", "cell_type": "code"}),
            "inserts a cell at the beginning\ncell_type: code\n+x",
        ),
        (
            json!({"cell_id": "c1\n+no", "new_source": "x"}),
            "replaces cell c1\\n+no\n+x",
        ),
    ] {
        assert_eq!(cell(edit), details);
    }
}

#[test]
fn any_other_tool_shows_its_arguments_and_what_is_no_tool_is_not_asked() {
    let ask = read(json!({"tool_name": "mcp__x__ping", "tool_input": {"x": 1}}));
    assert_eq!(ask.request.kind, ApprovalKind::Tool);
    assert_eq!(ask.details, "x: 1");
    let ask = read(json!({"tool_name": "mcp__x__post", "tool_input": {
        "body": "one\nto: b", "tags": ["t"], "to": "a"}}));
    let details = "body:\n  one\n  to: b\ntags: [\n    \"t\"\n  ]\nto: a";
    assert_eq!(ask.details, details);
    assert_eq!(
        read(json!({"tool_name": "Bash"})).request.kind,
        ApprovalKind::Tool
    );
    for input in [json!(null), json!({}), json!({"tool_name": 5})] {
        assert_eq!(PermissionAsk::read(&input, String::new()), None);
    }
}

fn ids(ask: &PermissionAsk) -> Vec<&str> {
    let choices = ask.request.choices.iter();
    choices.map(|it| it.id.as_str()).collect()
}

fn lock(multi: bool) -> Value {
    json!({"question": "Which lock?", "header": "Lock", "multiSelect": multi, "options": [
        {"label": "A", "description": "a file"}, {"label": "B", "description": ""}]})
}

fn questions(questions: &Value) -> PermissionAsk {
    let rule = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    read(json!({"tool_name": "AskUserQuestion", "cwd": "/p",
        "tool_input": {"questions": questions}, "permission_suggestions": [rule]}))
}

#[test]
fn a_question_of_one_choice_is_answered_with_the_whole_input_and_the_label() {
    let ask = questions(&json!([lock(false)]));
    assert_eq!(ask.request.kind, ApprovalKind::Question);
    assert_eq!(ask.request.subject, "Which lock?");
    assert_eq!(ask.request.cwd.as_deref(), Some("/p"));
    assert_eq!(ask.details, "Lock");
    assert_eq!(ids(&ask), ["choice/1", "choice/2", "deny", "stop"]);
    let labels: Vec<_> = ask.request.choices.iter().map(|it| &*it.label).collect();
    assert_eq!(labels[..2], ["A: a file", "B"]);
    assert_eq!(ask.request.choices[0].effect, ChoiceEffect::Answer);
    let answered = json!({"behavior": "allow", "updatedInput": {
        "questions": [lock(false)], "answers": {"Which lock?": "A"}}});
    assert_eq!(decision(&ask, "choice/1", None), answered);
    // A bare yes would be no answer, and Claude would ask on.
    for unknown in ["allow", "suggestion/0", "choice/0", "choice/3"] {
        assert_eq!(ask.output(unknown, None), None, "{unknown}");
    }
    let denied = json!({"behavior": "deny", "message": "ask later"});
    assert_eq!(decision(&ask, "deny", Some("ask later")), denied);
}

#[test]
fn what_one_choice_does_not_answer_is_for_claudes_terminal() {
    let mut text = lock(false);
    text["kind"] = json!("text");
    let mut long = lock(false);
    long["options"][0]["label"] = json!("é".repeat(301));
    let mut none = lock(false);
    none["options"] = json!([]);
    for asked in [
        json!([lock(false), lock(false)]),
        json!([lock(true)]),
        json!([text]),
        json!([long]),
        json!([none]),
        json!([]),
        json!("Which?"),
        json!([{"question": 5}]),
    ] {
        let ask = questions(&asked);
        assert_eq!(ids(&ask), ["deny", "stop"], "{asked}");
        let says = "Answer it in Claude's own terminal.";
        assert!(ask.details.starts_with(says), "{}", ask.details);
    }
    let several = questions(&json!([lock(true), lock(false)]));
    assert_eq!(several.request.subject, "Which lock?\nWhich lock?");
    assert!(several.details.contains("- A: a file\n- B\n"));
    let huge = json!([{"question": "é".repeat(1_000_000), "options": [{"label": "A"}]}]);
    let huge = questions(&huge);
    assert!(huge.request.is_cut());
    assert!(huge.request.subject.chars().count() < SUBJECT_CHARS_MAX + 10);
    let bare = read(json!({"tool_name": "AskUserQuestion"}));
    assert_eq!(ids(&bare), ["deny", "stop"]);
}

#[test]
fn a_plan_is_approved_with_its_whole_input() {
    let plan = json!({"plan": "1. Mend the lock.\n2. Test it.", "allowedPrompts": []});
    let rule = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    let ask = read(json!({"tool_name": "ExitPlanMode", "tool_input": plan,
        "permission_suggestions": [rule]}));
    let details = "plan:\n  1. Mend the lock.\n  2. Test it.\nallowedPrompts: []";
    assert_eq!(ask.details, details);
    // Whatever mode Claude was in before it planned.
    let label = &ask.request.choices[0].label;
    assert_eq!(label, "allow, and ask before each edit");
    let asks = json!({"type": "setMode", "mode": "default", "destination": "session"});
    let allowed = json!({"behavior": "allow", "updatedPermissions": [asks], "updatedInput": plan});
    assert_eq!(decision(&ask, "allow", None), allowed);
    let label = &ask.request.choices[1].label;
    assert_eq!(label, "allow, and switch to the mode acceptEdits");
    let with_rule =
        json!({"behavior": "allow", "updatedPermissions": [rule], "updatedInput": plan});
    assert_eq!(decision(&ask, "suggestion/0", None), with_rule);
}

#[test]
fn a_dialog_is_the_same_use_whatever_was_answered_in_it() {
    let asked = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": [lock(false)]}});
    let mut ran = asked.clone();
    ran["tool_input"]["answers"] = json!({"Which lock?": "A"});
    assert_eq!(tool_use(&asked), tool_use(&ran));
    let plan = json!({"tool_name": "ExitPlanMode", "tool_input": {}});
    assert_ne!(tool_use(&asked), tool_use(&plan));
}

#[test]
fn a_use_of_a_tool_is_named_by_all_that_it_is_given() {
    let used = |command: &str| {
        tool_use(&json!({"tool_name": "Bash", "tool_input": {"command": command}})).unwrap()
    };
    assert_eq!(used("ls"), used("ls"));
    assert_ne!(used("ls"), used("ls -a"));
    assert_eq!(tool_use(&json!({})), None);
}
