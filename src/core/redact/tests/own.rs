//! A project's own rules and its allow-list, alone and together with the built-in rules.

use proptest::prelude::*;
use serde_json::json;

use super::line::text;
use super::*;
use crate::redact::secret_samples::check_settled;

fn rules(own: &[(&str, &str)], texts: &[&str], patterns: &[&str]) -> OwnRules {
    let mut rules = OwnRules::default();
    for (name, pattern) in own {
        rules.add_rule(name, pattern).unwrap();
    }
    for text in texts {
        rules.allow_text(text).unwrap();
    }
    for pattern in patterns {
        rules.allow_pattern(pattern).unwrap();
    }
    rules
}

fn with(own: &[(&str, &str)], allow: &[&str]) -> Redactor {
    redactor(rules(own, allow, &[]))
}

#[test]
fn an_own_rule_masks_all_of_what_it_matches_under_its_name() {
    let redactor = with(
        &[("acme-id", r"acme-\d{4,}"), ("host", r"[a-z]+\.corp\b")],
        &[],
    );
    let (masked, marks) = redactor.redact_text("acme-12345 on build.corp, acme-1");
    assert_eq!(masked, "[REDACTED_ACME_ID] on [REDACTED_HOST], acme-1");
    assert_eq!(marks, 2);
    let mut line =
        json!({"id": "acme-12345", "content": "x", "meta": {"acme-99999": ["build.corp"]}});
    assert_eq!(redactor.redact_entry(&mut line), 2);
    // What the protocol itself puts on a line is no text.
    assert_eq!(line["id"], json!("acme-12345"));
    assert_eq!(
        line["meta"]["[REDACTED_ACME_ID]"],
        json!(["[REDACTED_HOST]"])
    );
}

#[test]
fn the_ids_of_what_was_carried_over_stay_and_the_names_of_its_files_do_not() {
    let redactor = with(&[("acme-id", r"acme-\d{4,}")], &[]);
    let carried = |file: &str| {
        json!({"sessionId": "session_1_aaaaaaaa", "seq": 7, "inTurn": "acme-12345",
            "cutOffIn": ["acme-23456"], "codexPair": "acme-34567", "held": {"written": [file]}})
    };
    let mut line = json!({"content": "x", "meta": {"carriedFrom": carried("acme-45678/a.rs")}});
    assert_eq!(redactor.redact_entry(&mut line), 1);
    let masked = carried("[REDACTED_ACME_ID]/a.rs");
    assert_eq!(line["meta"]["carriedFrom"], masked);
}

#[test]
fn a_mark_is_never_masked_again() {
    let wide = [
        ("ALL", ".+"),
        ("UPPER", "[A-Z_]+"),
        ("OPEN", r"\["),
        ("CLOSE", r"\]"),
        ("WORD", r"\b\w+\b"),
        ("LAST", ".$"),
        ("BEFORE", r".\["),
    ];
    let marks = "[REDACTED_GITHUB_TOKEN]";
    for (name, pattern) in wide {
        let redactor = with(&[(name, pattern)], &[]);
        assert_eq!(redactor.redact_text(marks), (marks.into(), 0), "{pattern}");
        let (masked, _) = redactor.redact_text("[REDACTED_A][REDACTED_B]");
        assert_eq!(masked, "[REDACTED_A][REDACTED_B]", "{pattern}");
    }
    let all = with(&[("ALL", ".+")], &[]);
    assert_eq!(
        all.redact_text(&format!("a {marks} b")).0,
        format!("[REDACTED_ALL]{marks}[REDACTED_ALL]")
    );
}

#[test]
fn a_rule_that_feeds_on_its_own_marks_takes_the_whole_text() {
    let redactor = with(&[("BEFORE", r"[a-z]\[")], &[]);
    let (masked, _) = redactor.redact_text("abcdefghijklmnopqrstuvwxyz[");
    assert_eq!(masked, "[REDACTED_TEXT]");
    assert_eq!(redactor.redact_text(&masked).1, 0);
}

#[test]
fn an_allowed_text_survives_wherever_a_rule_finds_exactly_it() {
    let key = format!("AKIA{}", upper(16));
    let token = format!("ghp_{}", alnum(36));
    let redactor = with(
        &[("NUMBER", r"\d{6,}")],
        &[&key, &token, "hunter2!", "123456"],
    );
    for text in [
        format!("use {key}."),
        format!("AWS_ACCESS_KEY={key}\n"),
        format!("({token}), {key};"),
        "password: \"hunter2!\"".to_owned(),
        "in 123456 cases".to_owned(),
    ] {
        assert_eq!(redactor.redact_text(&text).1, 0, "{text}");
    }
    let mut line = json!({"meta": {"password": "hunter2!", "argv": ["--token", "hunter2!"]}});
    assert_eq!(redactor.redact_entry(&mut line), 0);
    assert_eq!(redactor.redact_text("in 1234567 cases").1, 1);
}

#[test]
fn an_allowed_pattern_speaks_for_the_whole_find() {
    let redactor = redactor(rules(&[], &[], &["ghp_test[A-Za-z0-9]*", "a|ghp_b.*"]));
    let test = format!("ghp_test{}", alnum(40));
    assert_eq!(redactor.redact_text(&test).1, 0);
    for secret in [
        format!("ghp_{}", alnum(40)),
        format!("ghp_tes{}", alnum(40)),
    ] {
        assert_eq!(redactor.redact_text(&secret).1, 1, "{secret}");
    }
}

#[test]
fn an_allowed_text_uncovers_nothing_longer() {
    let allowed = [
        format!("AKIA{}", upper(16)),
        format!("ghp_{}", alnum(36)),
        format!("sk-ant-api03-{}", alnum(40)),
        // Formats that end at a fixed length: what is longer begins like what is allowed.
        format!("M{}.{}.{}", alnum(23), alnum(6), alnum(40)),
        format!("npm_{}", alnum(36)),
        format!("eyJ{}.eyJ{}.{}", alnum(33), alnum(60), alnum(43)),
    ];
    let texts: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let redactor = with(&[], &texts);
    for text in &allowed {
        assert_eq!(redactor.redact_text(text).1, 0, "{text}");
        for longer in [
            format!("{text}{}", alnum(12)),
            format!("{text}-{}", alnum(12)),
            format!("{text}.{}", alnum(12)),
            format!("token={text}{}", alnum(12)),
            format!("password={}{text}", alnum(12)),
        ] {
            let plain = REDACTOR.redact_text(&longer).0;
            assert_eq!(redactor.redact_text(&longer).0, plain, "{longer}");
        }
    }
}

#[test]
fn rules_can_be_exchanged_while_they_are_in_use() {
    let redactor = Redactor::new();
    assert_eq!(redactor.redact_text("acme-12345").1, 0);
    redactor.replace(rules(&[("ACME", r"acme-\d+")], &[], &[]));
    assert_eq!(redactor.redact_text("acme-12345").1, 1);
    redactor.replace(OwnRules::default());
    assert_eq!(redactor.redact_text("acme-12345").1, 0);
    assert_eq!(redactor.redact_text(&format!("AKIA{}", upper(16))).1, 1);
}

#[test]
fn there_is_an_end_to_what_a_project_may_add() {
    let mut many = OwnRules::default();
    for _ in 0..RULES_MAX {
        many.add_rule("A", "aa").unwrap();
        many.allow_text("aa").unwrap();
    }
    assert_eq!(many.add_rule("A", "aa"), Err(BadRule::TooMany));
    assert_eq!(many.allow_text("aa"), Err(BadRule::TooMany));
    assert_eq!(many.allow_pattern("aa"), Err(BadRule::TooMany));
}

#[test]
fn what_readers_need_is_left_by_a_projects_rules_and_not_by_the_built_in_ones() {
    let redactor = with(&[("ALL", "(?s).+")], &[]);
    let line = |id: &str| {
        json!({
            "source": "claude", "target": "codex", "content": "text", "noteKind": "plan",
            "handles_handoff_ids": [id],
            "runtimeEvent": {"kind": "turn", "messageId": id, "title": "text"},
            "message": {"onBusy": "queue", "inReplyTo": id},
            "handoff": {"from": "claude", "to": "codex", "reason": "text", "context_refs": ["text"]},
            "artifact": {"kind": "text", "status": "passed"},
            "finality": {"proposalId": id, "summary": "text", "tree": {"commit": id}},
            "meta": {"runtimeSessionId": "pair-2", "other": "text", "a key of mine": 1},
        })
    };
    let mut redacted = line("m1");
    redactor.redact_entry(&mut redacted);
    let masked = |value: &Value| *value == json!("[REDACTED_ALL]");
    assert!(masked(&redacted["content"]) && masked(&redacted["artifact"]["kind"]));
    assert!(masked(&redacted["handoff"]["reason"]) && masked(&redacted["finality"]["summary"]));
    assert!(masked(&redacted["runtimeEvent"]["title"]) && masked(&redacted["meta"]["other"]));
    assert_eq!(redacted["meta"]["[REDACTED_ALL]"], json!(1));
    for path in [
        "/source",
        "/target",
        "/noteKind",
        "/handles_handoff_ids/0",
        "/runtimeEvent/kind",
        "/runtimeEvent/messageId",
        "/message/onBusy",
        "/message/inReplyTo",
        "/handoff/from",
        "/artifact/status",
        "/finality/proposalId",
        "/finality/tree/commit",
        "/meta/runtimeSessionId",
    ] {
        assert_eq!(redacted.pointer(path), line("m1").pointer(path), "{path}");
    }
    let secret = format!("ghp_{}", alnum(36));
    let mut odd = line(&secret);
    redactor.redact_entry(&mut odd);
    assert!(!odd.to_string().contains(&secret));
}

#[test]
fn many_rules_and_many_finds_are_no_reason_to_mask_all() {
    let mut many = OwnRules::default();
    many.add_rule("ACME", "acme-[0-9]+").unwrap();
    for n in 1..RULES_MAX {
        many.add_rule("OTHER", &format!("other-{n}-[a-z]+"))
            .unwrap();
    }
    let line = "a line of some length that names acme-12345 among other things\n";
    for lines in [10, 1_000, 15_000] {
        let text = line.repeat(lines);
        let (masked, marks) = redactor(many.clone()).redact_text(&text);
        assert_eq!(marks as usize, lines);
        assert_eq!(masked, text.replace("acme-12345", "[REDACTED_ACME]"));
    }
}

#[test]
fn a_match_longer_than_a_window_is_found_and_masked_once() {
    let redactor = with(&[("BLOCK", "(?s)BEGIN.*?END"), ("LINE", "(?m)^x.+$")], &[]);
    let block = format!("a BEGIN{}END b", "é".repeat(40_000));
    assert_eq!(redactor.redact_text(&block).0, "a [REDACTED_BLOCK] b");
    let line = format!("a\nx{}\nb", "y".repeat(70_000));
    assert_eq!(redactor.redact_text(&line).0, "a\n[REDACTED_LINE]\nb");
    // An end that is only the window's is none.
    let last = with(&[("LAST", "y$")], &[]);
    let (masked, marks) = last.redact_text(&line);
    assert_eq!((marks, masked.len()), (0, line.len()));
}

/// Rules that nobody should write, and some that people do.
fn own_pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r"acme_[a-z0-9]{8,}",
        r"(?i)token",
        r".",
        r".+",
        r".$",
        r"^.",
        r"\s",
        r"[A-Z]+_",
        r"\[R",
        r"\]",
        r"[a-z]\[",
        r"(?s)a.*d",
        r"\b\w",
        r"REDACTED|swordfish",
        r"é|漢",
        r"\d{3,}",
        r"=\S+",
    ])
}

fn own_rules() -> impl Strategy<Value = OwnRules> {
    let allowed = prop::sample::select(vec!["swordfish", "hunter2", "x", "token"]);
    let rules = prop::collection::vec((own_pattern(), "[A-Z]{1,6}"), 0..3);
    (rules, prop::collection::vec(allowed, 0..3)).prop_map(|(rules, allowed)| {
        let mut own = OwnRules::default();
        for (pattern, name) in rules {
            own.add_rule(&name, pattern).unwrap();
        }
        for text in allowed {
            own.allow_text(text).unwrap();
        }
        own.allow_text(&format!("AKIA{}", upper(16))).unwrap();
        own
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_is_redacting_once(own in own_rules(), text in text()) {
        check_settled(&redactor(own), &text);
    }

    #[test]
    fn a_redacted_line_is_left_as_it_is(own in own_rules(), key in text(), content in text()) {
        let redactor = redactor(own);
        let mut once = json!({"content": content, "x": {key.clone(): [content]}});
        redactor.redact_entry(&mut once);
        let mut twice = once.clone();
        prop_assert_eq!(redactor.redact_entry(&mut twice), 0);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn own_rules_and_what_is_allowed_uncover_no_other_secret(own in own_rules(), before in text(), after in text()) {
        let secret = format!("ghp_{}", alnum(36));
        let redactor = redactor(own);
        let redacted = redactor.redact_text(&format!("{before} {secret} {after}")).0.into_owned();
        prop_assert!(!redacted.contains(&secret));
        // Nor does another round, with other rules.
        let again = REDACTOR.redact_text(&redacted).0.into_owned();
        prop_assert!(!again.contains(&secret));
    }

    #[test]
    fn what_an_own_rule_finds_is_gone(before in text(), after in text()) {
        let secret = format!("acme_{}", hexa(16));
        let redactor = redactor(rules(&[("ACME", r"acme_[a-z0-9]{8,}")], &[], &[]));
        let redacted = redactor.redact_text(&format!("{before} {secret} {after}")).0.into_owned();
        prop_assert!(!redacted.contains(&secret));
    }
}
