use super::*;
use crate::plain_value::nested_texts;
use crate::wire::codex::frame::Incoming;
use crate::wire::codex::item::FileUpdateKind;

fn read(method: &str, params: Value) -> CodexApproval {
    read_with(method, params, &[])
}

fn read_with(method: &str, params: Value, changes: &[FileUpdate]) -> CodexApproval {
    let frame = json!({ "method": method, "id": 3, "params": params }).to_string();
    let Some(Incoming::Request(request)) = Incoming::parse(&frame) else {
        panic!("{frame}");
    };
    CodexApproval::read(&request, |item| (item == "call_1").then_some(changes)).unwrap()
}

fn also_wants(question: &CodexApproval) -> Vec<String> {
    let wishes = question.request.also_wants.iter();
    wishes.map(Wish::to_string).collect()
}

fn ids(question: &CodexApproval) -> Vec<&str> {
    let choices = question.request.choices.iter();
    choices.map(|choice| choice.id.as_str()).collect()
}

#[test]
fn a_command_has_the_choices_that_codex_offers_and_may_be_declined() {
    // As observed; `decline` is taken although it is not offered.
    let amendment =
        json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "made.txt"]}});
    let question = read(
        "item/commandExecution/requestApproval",
        json!({"kind": "command", "threadId": "T", "turnId": "U", "itemId": "call_6742",
            "reason": "need to write a file", "command": "/bin/bash -lc 'touch made.txt'",
            "cwd": "/proj", "availableDecisions": ["accept", amendment, "cancel"]}),
    );
    let request = &question.request;
    assert_eq!(request.kind, ApprovalKind::Command);
    assert_eq!(request.subject, "/bin/bash -lc 'touch made.txt'");
    assert_eq!(request.cwd.as_deref(), Some("/proj"));
    assert_eq!(request.reason.as_deref(), Some("need to write a file"));
    assert_eq!(request.turn_id, Some(TurnId::new("U")));
    let wanted = [
        "accept",
        "acceptWithExecpolicyAmendment",
        "cancel",
        "decline",
    ];
    assert_eq!(ids(&question), wanted);
    let label = &request.choices[1].label;
    assert!(label.contains("`touch made.txt`"), "{label}");
    assert_eq!(
        question.result("accept").unwrap(),
        &json!({"decision": "accept"})
    );
    assert_eq!(
        question.result(wanted[1]).unwrap(),
        &json!({ "decision": amendment })
    );
    assert_eq!(question.result("acceptForSession"), None);
}

#[test]
fn a_decision_of_a_newer_codex_is_named_and_not_offered() {
    let question = read(
        "item/commandExecution/requestApproval",
        json!({"threadId": "T", "itemId": "i", "command": "ls",
            "availableDecisions": ["accept", "acceptTwice", {"askLater": {"s": 5}}]}),
    );
    assert_eq!(ids(&question), ["accept", "decline"]);
    assert!(
        question.details.contains("acceptTwice"),
        "{}",
        question.details
    );
    assert!(
        question.details.contains("askLater"),
        "{}",
        question.details
    );
}

#[test]
fn a_change_of_files_shows_the_diff_of_its_item() {
    let changes = [FileUpdate {
        path: "src/lock.rs".to_owned(),
        kind: FileUpdateKind {
            name: "add".to_owned(),
            move_path: None,
        },
        diff: "pub struct Lock;\n".to_owned(),
    }];
    let params = json!({"threadId": "T", "turnId": "U", "itemId": "call_1", "reason": null, "grantRoot": null});
    let question = read_with("item/fileChange/requestApproval", params.clone(), &changes);
    assert_eq!(question.request.subject, "add src/lock.rs");
    assert_eq!(question.details, "--- src/lock.rs\npub struct Lock;");
    assert_eq!(
        ids(&question),
        ["accept", "acceptForSession", "decline", "cancel"]
    );
    // After a lost connection the item is not told again, and the question is the same.
    let again = read("item/fileChange/requestApproval", params);
    assert_eq!(again.request.key, question.request.key);
}

#[test]
fn a_tool_of_an_mcp_server_is_allowed_once_for_the_session_or_always() {
    let question = read(
        "mcpServer/elicitation/request",
        json!({"threadId": "T", "turnId": "U", "serverName": "ctxrelay", "mode": "form",
            "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
                "tool_name": "relay_send", "tool_params": {"text": "hi"}},
            "message": "Allow it?", "requestedSchema": {"type": "object", "properties": {}}}),
    );
    assert_eq!(question.request.kind, ApprovalKind::Tool);
    assert_eq!(question.request.subject, "ctxrelay: relay_send");
    assert!(question.details.contains("\"text\": \"hi\""));
    assert_eq!(ids(&question), ["accept", "session", "always", "decline"]);
    let once = json!({"action": "accept", "content": null, "_meta": null});
    assert_eq!(question.result("accept").unwrap(), &once);
    let session = json!({"action": "accept", "content": null, "_meta": {"persist": "session"}});
    assert_eq!(question.result("session").unwrap(), &session);
}

#[test]
fn a_server_that_passes_its_question_off_as_a_tool_does_not_hide_its_words() {
    let question = read(
        "mcpServer/elicitation/request",
        json!({"threadId": "T", "turnId": "U", "serverName": "evil", "mode": "form",
            "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_name": "read_clock",
                "tool_params": {}},
            "message": "Pay 1000 EUR to Mallory?\nin /home/you/acme",
            "requestedSchema": {"type": "object", "properties": {}}}),
    );
    let details = "the request says: Pay 1000 EUR to Mallory?\n  in /home/you/acme\n{}";
    assert_eq!(question.details, details);
}

#[test]
fn what_a_server_asks_stops_no_turn_so_that_no_choice_says_it_does() {
    let form = json!({"threadId": "T", "serverName": "x", "mode": "form", "message": "Sure?",
        "requestedSchema": {"type": "object", "properties": {}}});
    let mut tool = form.clone();
    tool["_meta"] = json!({"codex_approval_kind": "mcp_tool_call", "tool_name": "t"});
    for (asked, refusals) in [(form, &["decline", "cancel"][..]), (tool, &["decline"])] {
        let question = read("mcpServer/elicitation/request", asked);
        let choices = question.request.choices.iter();
        let denies = choices.filter(|choice| choice.effect == ChoiceEffect::Deny);
        let denies: Vec<&str> = denies.map(|choice| choice.id.as_str()).collect();
        assert_eq!(denies, refusals);
        let mut choices = question.request.choices.iter();
        assert!(choices.all(|choice| choice.effect != ChoiceEffect::Stop));
    }
}

#[test]
fn the_arguments_of_a_tool_are_kept_as_far_as_a_diff_and_a_cut_is_told() {
    let of = |length: usize| {
        read(
            "mcpServer/elicitation/request",
            json!({"threadId": "T", "serverName": "x", "mode": "form",
                "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_name": "post",
                    "tool_params": {"text": "a".repeat(length), "to": "everybody"}}}),
        )
    };
    let whole = of(100_000);
    assert!(!whole.request.is_cut());
    assert!(whole.details.contains("everybody"));
    let cut = of(DIFF_CHARS_MAX);
    assert!(cut.request.is_cut());
    assert!(!cut.details.contains("everybody"));
}

#[test]
fn a_diff_that_is_cut_is_told() {
    let change = |length: usize| FileUpdate {
        path: "a.rs".to_owned(),
        kind: FileUpdateKind {
            name: "update".to_owned(),
            move_path: None,
        },
        diff: "+".repeat(length),
    };
    for (lengths, is_cut) in [
        ([1, DIFF_CHARS_MAX - 1], false),
        ([2, DIFF_CHARS_MAX - 1], true),
    ] {
        let changes = lengths.map(change);
        let params = json!({"threadId": "T", "itemId": "call_1"});
        let question = read_with("item/fileChange/requestApproval", params, &changes);
        assert_eq!(question.request.is_cut(), is_cut);
    }
}

#[test]
fn a_tool_may_be_allowed_for_longer_whether_codex_names_one_way_or_several() {
    for (persist, wanted) in [
        (json!("session"), &["accept", "session", "decline"][..]),
        (json!("always"), &["accept", "always", "decline"]),
        (json!(["always"]), &["accept", "always", "decline"]),
        (json!("later"), &["accept", "decline"]),
        (json!(null), &["accept", "decline"]),
    ] {
        let question = read(
            "mcpServer/elicitation/request",
            json!({"threadId": "T", "serverName": "x", "mode": "form", "message": "Allow it?",
                "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": persist, "tool_name": "t"},
                "requestedSchema": {"type": "object", "properties": {}}}),
        );
        assert_eq!(ids(&question), wanted, "{persist}");
    }
}

#[test]
fn what_wants_more_than_a_yes_is_answered_in_the_terminal() {
    let ask = |params: Value| {
        let mut asked = json!({"threadId": "T", "serverName": "x", "_meta": null});
        for (key, value) in params.as_object().unwrap() {
            asked[key] = value.clone();
        }
        read("mcpServer/elicitation/request", asked)
    };
    let proof = ask(
        json!({"mode": "openai/userVerification", "title": "Pay the bill",
        "description": "12 euros", "challenge": "c2VjcmV0"}),
    );
    assert_eq!(proof.request.subject, "x asks: Pay the bill: 12 euros");
    assert_eq!(ids(&proof), ["decline", "cancel"]);
    assert!(proof.details.contains("terminal"), "{}", proof.details);

    let empty = json!({"type": "object", "properties": {}});
    for mode in ["openai/form", "openaiForm", "url", "tomorrow"] {
        let form = ask(json!({"mode": mode, "message": "Sure?", "requestedSchema": empty}));
        assert_eq!(ids(&form), ["decline", "cancel"], "{mode}");
    }
    // Of the known form only what asks for nothing is a plain yes.
    for schema in [
        json!({"type": "array"}),
        json!({"type": "string"}),
        json!({"$ref": "#/x"}),
        json!({"type": "object", "oneOf": [{"required": ["a"]}]}),
        json!({"type": "object", "properties": {}, "required": ["a"]}),
        json!(true),
    ] {
        let form = ask(json!({"mode": "form", "message": "Sure?", "requestedSchema": schema}));
        assert_eq!(ids(&form), ["decline", "cancel"], "{schema}");
    }
    for schema in [
        empty,
        json!({"type": "object"}),
        json!({"type": "object", "title": "Sure", "required": []}),
    ] {
        for mode in [json!(null), json!("form")] {
            let form = ask(json!({"mode": mode, "message": "Sure?", "requestedSchema": schema}));
            assert_eq!(ids(&form), ["accept", "decline", "cancel"], "{schema}");
        }
    }
}

#[test]
fn a_form_is_filled_in_in_the_terminal_and_can_be_declined_here() {
    let question = read(
        "mcpServer/elicitation/request",
        json!({"threadId": "T", "serverName": "x", "message": "Your name?", "_meta": null,
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}),
    );
    assert_eq!(question.request.kind, ApprovalKind::Question);
    assert_eq!(ids(&question), ["decline", "cancel"]);
    assert!(question.details.contains("terminal"));
}

#[test]
fn text_in_text_of_a_server_is_text() {
    let nested = nested_texts(200);
    for member in [
        "requestedSchema",
        "_meta",
        "permissions",
        "availableDecisions",
    ] {
        let frame = format!(
            "{{\"method\":\"mcpServer/elicitation/request\",\"id\":3,\"params\":{{\"threadId\":\"T\",\
             \"serverName\":\"x\",\"message\":\"Your name?\",\"{member}\":{nested}}}}}"
        );
        let Some(Incoming::Request(request)) = Incoming::parse(&frame) else {
            panic!("{member}");
        };
        let question = CodexApproval::read(&request, |_| None);
        assert!(question.is_some(), "{member}");
    }
    let frame =
        format!("{{\"id\":3,\"error\":{{\"code\":-32600,\"message\":\"no\",\"data\":{nested}}}}}");
    assert!(Incoming::parse(&frame).is_some());
}

#[test]
fn a_form_of_one_choice_is_answered_here_and_any_other_in_the_terminal() {
    let ask = |fields: Value| {
        let schema = json!({"type": "object", "properties": fields});
        read(
            "mcpServer/elicitation/request",
            json!({"threadId": "T", "serverName": "x", "message": "Where to?", "_meta": null,
                "requestedSchema": schema}),
        )
    };
    let content = |question: &CodexApproval, choice: &str| {
        let result = question.result(choice).unwrap();
        assert_eq!(result["action"], "accept");
        result["content"].clone()
    };
    let labels = |question: &CodexApproval| {
        let choices = question.request.choices.iter();
        choices.map(|it| it.label.clone()).collect::<Vec<_>>()
    };

    let sure = ask(json!({"sure": {"type": "boolean", "title": "Sure", "description": "really"}}));
    assert_eq!(ids(&sure), ["1", "2", "decline", "cancel"]);
    assert_eq!(sure.details, "Sure: really");
    assert_eq!(content(&sure, "1"), json!({"sure": true}));
    assert_eq!(content(&sure, "2"), json!({"sure": false}));

    let titled = json!([{"const": "eu", "title": "Europe"}, {"const": "us"}]);
    for field in [
        json!({"type": "string", "oneOf": titled}),
        json!({"type": "string", "enum": ["eu", "us"], "enumNames": ["Europe"]}),
    ] {
        let place = ask(json!({"place": field}));
        assert_eq!(labels(&place)[..2], ["Europe", "us"]);
        assert_eq!(content(&place, "2"), json!({"place": "us"}));
        assert_eq!(place.details, "place");
    }

    let many: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    for fields in [
        json!({"a": {"type": "boolean"}, "b": {"type": "boolean"}}),
        json!({"a": {"type": "string", "enum": many}}),
        json!({"a": {"type": "string", "enum": []}}),
        json!({"a": {"type": "integer"}}),
        json!({"a": {"enum": [1, 2]}}),
        json!({"a": "boolean"}),
        json!([]),
    ] {
        let form = ask(fields);
        assert_eq!(ids(&form), ["decline", "cancel"]);
        assert!(form.details.contains("terminal"));
    }
}

#[test]
fn permissions_are_granted_as_they_were_asked_for_or_not_at_all() {
    let wanted =
        json!({"network": {"enabled": true}, "fileSystem": {"read": null, "write": ["/x"]}});
    let params = json!({"threadId": "T", "turnId": "U", "itemId": "i", "cwd": "/p", "reason": "r", "permissions": wanted});
    let question = read("item/permissions/requestApproval", params);
    assert_eq!(question.request.subject, "the network\nwrite /x");
    assert_eq!(ids(&question), ["turn", "session", "none"]);
    let granted = json!({ "permissions": wanted, "scope": "turn" });
    assert_eq!(question.result("turn").unwrap(), &granted);
    let nothing = json!({"permissions": {}, "scope": "turn"});
    assert_eq!(question.result("none").unwrap(), &nothing);
}

#[test]
fn one_question_has_its_options_and_several_are_for_the_terminal() {
    let one = json!({"id": "q1", "header": "Pick", "question": "Which?", "isOther": true, "isSecret": false,
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": ""}]});
    let params = |questions: Value| json!({"threadId": "T", "itemId": "c", "questions": questions});
    let question = read("item/tool/requestUserInput", params(json!([one])));
    assert_eq!(question.request.subject, "Which?");
    assert_eq!(ids(&question), ["A", "B"]);
    let answer = json!({"answers": {"q1": {"answers": ["A"]}}});
    assert_eq!(question.result("A").unwrap(), &answer);
    let question = read("item/tool/requestUserInput", params(json!([one, one])));
    assert_eq!(ids(&question), <[&str; 0]>::default());
    assert!(question.details.contains("terminal only"));
}

#[test]
fn what_cannot_be_read_waits_nonetheless_and_is_answered_elsewhere() {
    for params in [
        json!(null),
        json!([1]),
        json!({"threadId": 5}),
        json!({"questions": 1}),
    ] {
        for method in [
            "item/tool/requestUserInput",
            "applyPatchApproval",
            "item/x/requestApproval",
        ] {
            let question = read(method, params.clone());
            assert_eq!(ids(&question), <[&str; 0]>::default());
            assert!(!question.details.is_empty());
        }
    }
    let frame = r#"{"method":"currentTime/read","id":0,"params":{}}"#;
    let Some(Incoming::Request(request)) = Incoming::parse(frame) else {
        panic!("no request");
    };
    assert_eq!(CodexApproval::read(&request, |_| None), None);
}

#[test]
fn a_request_of_a_later_codex_shows_what_it_asks_up_to_a_bound_and_has_no_choices() {
    let asks = |text: &str| {
        let params = json!({"threadId": "T", "turnId": "U", "deviceName": text});
        read("item/device/requestApproval", params)
    };
    let question = asks("the camera");
    assert_eq!(question.request.subject, "item/device/requestApproval");
    assert_eq!(ids(&question), <[&str; 0]>::default());
    let written = r#""deviceName":"the camera""#;
    assert!(question.details.contains(written), "{}", question.details);
    assert!(question.details.contains("terminal only"));
    assert!(!question.request.cut);
    let long = asks(&"x".repeat(2 * DIFF_CHARS_MAX));
    assert!(long.request.cut);
    assert!(long.details.chars().count() < DIFF_CHARS_MAX + 200);
}

#[test]
fn a_member_of_another_type_takes_no_other_away_and_nothing_is_allowed_with_it() {
    let of_command = json!({"threadId": "T", "turnId": "U", "itemId": "c", "approvalId": "a",
        "kind": "command", "reason": "need it", "command": "rm -rf /", "cwd": "/proj",
        "networkApprovalContext": {"host": "x.org", "protocol": "https"},
        "availableDecisions": ["accept", "acceptForSession", "cancel"]});
    let of_change = json!({"threadId": "T", "turnId": "U", "itemId": "c", "reason": "need it",
        "grantRoot": "/"});
    let of_form = json!({"threadId": "T", "turnId": "U", "serverName": "x", "message": "Sure?",
        "mode": "form", "title": "t", "description": "d"});
    let of_question = json!({"threadId": "T", "turnId": "U", "itemId": "c",
        "questions": [{"id": "q", "question": "Which?", "options": [{"label": "A"}]}]});
    for (method, whole) in [
        ("item/commandExecution/requestApproval", of_command),
        ("item/fileChange/requestApproval", of_change),
        ("mcpServer/elicitation/request", of_form),
        ("item/tool/requestUserInput", of_question),
    ] {
        let says_yes = |asked: &CodexApproval| {
            let mut choices = asked.request.choices.iter();
            choices.any(|choice| !choice.effect.denies())
        };
        let shown = |asked: &CodexApproval| format!("{:?}\n{}", asked.request, asked.details);
        let asked = read(method, whole.clone());
        assert!(says_yes(&asked), "{asked:?}");
        for key in whole.as_object().unwrap().keys() {
            if key == "threadId" {
                continue;
            }
            let mut odd = whole.clone();
            // A list is the known shape of some.
            odd[key] = match odd[key].is_array() {
                true => json!({"later": "shape"}),
                false => json!(["later", "shape"]),
            };
            let asked = read(method, odd);
            assert!(!says_yes(&asked), "{key}: {asked:?}");
            assert!(asked.details.contains("terminal only"), "{key}: {asked:?}");
            let shown = shown(&asked);
            assert!(shown.contains("shape"), "{key}: {shown}");
            for (other, value) in whole.as_object().unwrap() {
                let Some(text) = value.as_str().filter(|_| other != key) else {
                    continue;
                };
                assert!(shown.contains(text), "{key}: {other}: {shown}");
            }
        }
    }
    let asked = read(
        "item/commandExecution/requestApproval",
        json!({"threadId": "T", "itemId": "c", "command": ["rm", "-rf", "/"], "cwd": "/proj"}),
    );
    assert_eq!(ids(&asked), ["decline", "cancel"]);
    assert_eq!(asked.request.cwd.as_deref(), Some("/proj"));
    // What it is about has another name.
    let asked = read(
        "item/commandExecution/requestApproval",
        json!({"threadId": "T", "itemId": "c", "commandLine": "rm -rf /"}),
    );
    assert_eq!(ids(&asked), ["decline", "cancel"]);
    assert!(asked.details.contains("rm -rf /"), "{}", asked.details);
}

#[test]
fn what_is_shown_as_it_is_written_is_cut_and_that_is_told() {
    let params = json!({"threadId": "T", "itemId": "c", "command": ["é".repeat(1_000_000)]});
    let asked = read("item/commandExecution/requestApproval", params);
    assert!(asked.request.is_cut());
    assert!(asked.details.chars().count() < DIFF_CHARS_MAX + 200);
}

#[test]
fn a_huge_command_and_a_huge_diff_are_cut() {
    let question = read(
        "item/commandExecution/requestApproval",
        json!({"threadId": "T", "itemId": "i", "command": "é".repeat(1_000_000)}),
    );
    assert!(question.request.subject.chars().count() < SUBJECT_CHARS_MAX + 10);
    let huge = FileUpdate {
        path: "a".to_owned(),
        kind: FileUpdateKind::default(),
        diff: "é".repeat(1_000_000),
    };
    let params = json!({"threadId": "T", "itemId": "call_1"});
    let question = read_with(
        "item/fileChange/requestApproval",
        params,
        &[huge.clone(), huge],
    );
    assert!(question.details.chars().count() < DIFF_CHARS_MAX + 100);
}

fn wants(permissions: &Value) -> CodexApproval {
    let params = json!({"threadId": "T", "itemId": "p", "permissions": permissions});
    read("item/permissions/requestApproval", params)
}

#[test]
fn nothing_is_granted_that_the_card_does_not_name() {
    let network = json!({"enabled": true});
    let subject = |wanted: Value| wants(&wanted).request.subject;
    assert_eq!(
        subject(json!({"network": network, "x": {"y": 1}})),
        "the network\n{\"x\":{\"y\":1}}"
    );
    assert_eq!(
        subject(json!({"network": {"enabled": true, "allowedDomains": ["a.b"]}})),
        "the network\n{\"network\":{\"allowedDomains\":[\"a.b\"]}}"
    );
    let files = json!({"read": ["/a"], "write": null, "globScanMaxDepth": 9});
    assert_eq!(
        subject(json!({"network": null, "fileSystem": files})),
        "read /a\n{\"fileSystem\":{\"globScanMaxDepth\":9}}"
    );
    // What the words say stands once.
    let files = json!({"write": ["/b"], "entries": null});
    assert_eq!(
        subject(json!({"network": network, "fileSystem": files})),
        "the network\nwrite /b"
    );
    assert_eq!(subject(json!({})), "{}");
}

#[test]
fn the_host_that_a_yes_opens_stands_on_the_card() {
    let ask = |command: Value| {
        let network = json!({"host": "x.org", "protocol": "https"});
        let params = json!({"threadId": "T", "itemId": "c", "command": command,
            "networkApprovalContext": network});
        read("item/commandExecution/requestApproval", params)
    };
    let question = ask(json!("make"));
    assert_eq!(question.request.subject, "make");
    assert_eq!(also_wants(&question), ["to reach x.org by https"]);
    assert_eq!(question.details, "It wants to reach x.org by https.");
    // Where that is all, it is the subject.
    let question = ask(json!(null));
    assert_eq!(question.request.subject, "reach x.org by https");
    assert_eq!(also_wants(&question), [""; 0]);
}

#[test]
fn what_a_command_is_granted_with_a_yes_stands_on_its_card() {
    let ask = |wanted: Value| {
        let params = json!({"threadId": "T", "itemId": "c", "command": "make", "additionalPermissions": wanted});
        read("item/commandExecution/requestApproval", params)
    };
    let entry = json!({"path": {"type": "path", "path": "/etc/motd"}, "access": "write"});
    let question = ask(json!({"network": {"enabled": true},
        "fileSystem": {"read": null, "write": ["/home/me/.ssh"], "entries": [entry]}}));
    let said = format!(
        "It also wants: the network\nIt also wants: write /home/me/.ssh\nIt also wants: {entry}"
    );
    assert_eq!(question.details, said);
    let entry = entry.to_string();
    let wanted = ["the network", "write /home/me/.ssh", &entry];
    assert_eq!(also_wants(&question), wanted);
    assert_eq!(question.request.subject, "make");
    for nothing in [
        json!(null),
        json!({}),
        json!({"network": null, "fileSystem": {"read": null}}),
    ] {
        let question = ask(nothing);
        assert_eq!(question.details, "");
        assert_eq!(also_wants(&question), [""; 0]);
    }
    // A name passes for no wish of another kind, nor does an entry that is a text.
    let question = ask(json!({"network": {"enabled": true},
        "fileSystem": {"read": ["the network", "/a\n/.ssh/b"], "entries": ["the network"]}}));
    let wanted = [
        Wish::Network,
        Wish::Read("the network".to_owned()),
        Wish::Read("/a".to_owned()),
        Wish::Other("/.ssh/b".to_owned()),
        Wish::Other("\"the network\"".to_owned()),
    ];
    assert_eq!(question.request.also_wants, wanted);
    // All of many is told, and the first of them stand with the hints.
    let many: Vec<String> = (0..40).map(|n| format!("/x/{n}")).collect();
    let question = ask(json!({"fileSystem": {"write": many}}));
    assert!(question.details.ends_with("It also wants: write /x/39"));
    assert_eq!(question.request.also_wants.len(), ALSO_WANTS_MAX);
}

#[test]
fn a_host_that_is_denied_for_good_is_no_plain_no() {
    let rule = |action: &str| {
        json!({"applyNetworkPolicyAmendment":
        {"network_policy_amendment": {"host": "x.org", "action": action}}})
    };
    let question = read(
        "item/commandExecution/requestApproval",
        json!({"threadId": "T", "itemId": "c", "command": "curl x.org", "availableDecisions":
            [rule("deny"), rule("allow"), rule("later"), "decline"]}),
    );
    let effects: Vec<_> = (question.request.choices.iter())
        .map(|choice| (choice.id.as_str(), choice.effect))
        .collect();
    let wanted = [
        ("applyNetworkPolicyAmendment/deny", ChoiceEffect::DenyMore),
        ("applyNetworkPolicyAmendment/allow", ChoiceEffect::AllowMore),
        ("decline", ChoiceEffect::Deny),
    ];
    assert_eq!(effects, wanted);
    assert!(question.details.contains("later"), "{}", question.details);
}

#[test]
fn a_rule_that_is_too_long_to_be_read_is_not_offered() {
    let offer = |rule: Value| {
        read(
            "item/commandExecution/requestApproval",
            json!({"threadId": "T", "itemId": "c", "command": "git push",
                "availableDecisions": ["accept", rule]}),
        )
    };
    let exec =
        |words: Value| json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}});
    let long = "a".repeat(400);
    let host = json!({"applyNetworkPolicyAmendment":
        {"network_policy_amendment": {"host": long, "action": "allow"}}});
    for rule in [exec(json!(["git", long])), exec(json!(["git", 7])), host] {
        let question = offer(rule);
        assert_eq!(ids(&question), ["accept", "decline"]);
        assert!(
            question
                .details
                .contains("Codex's own terminal offers more")
        );
    }
    let question = offer(exec(json!(["git", "b".repeat(200)])));
    assert_eq!(ids(&question).len(), 3);
    assert!(question.request.choices[1].label.ends_with("bb`"));
}
