//! Whole line objects.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{REDACTOR, alnum, hexa, upper};
use crate::redact::secret_samples::check_settled;

fn redact(mut line: Value) -> (Value, u32) {
    let marks = REDACTOR.redact_entry(&mut line);
    (line, marks)
}

#[test]
fn every_string_is_looked_at_keys_included() {
    let key = format!("sk-ant-api03-{}", alnum(93));
    let (line, marks) = redact(json!({
        "schema": "v1", "id": "m1", "type": "message", "content": format!("use {key}"),
        "message": {"list": [{"deep": key.clone()}], "n": 1},
        key.clone(): 1,
        "meta": {"runtimeSessionId": "default", "summary": key.clone(), key.clone(): {"x": key.clone()}},
    }));
    assert!(!line.to_string().contains(&key));
    assert_eq!(marks, 6);
    assert_eq!(line["meta"]["redacted"], json!(true));
    assert_eq!(line["content"], json!("use [REDACTED_ANTHROPIC_KEY]"));
    assert_eq!(line["message"]["n"], json!(1));
    assert_eq!(
        line["meta"]["[REDACTED_ANTHROPIC_KEY]"]["x"],
        json!("[REDACTED_ANTHROPIC_KEY]")
    );
}

#[test]
fn a_line_without_secrets_is_left_as_it_is() {
    let line = json!({
        "schema": "v1", "id": "550e8400-e29b-41d4-a716-446655440000", "timestamp": 1,
        "sessionId": "session_1795000000000_a1b2c3d4", "type": "note", "source": "claude",
        "content": format!("see {}", hexa(40)),
        "handles_handoff_ids": ["0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
        "runtimeEvent": {"kind": "message_delivery", "messageId": hexa(32), "deliveryAttemptId": "a1"},
        "meta": {"runtimeSessionId": "pair-2"}, "seq": 3, "prev": hexa(64), "hash": hexa(64),
    });
    assert_eq!(redact(line.clone()), (line, 0));
}

#[test]
fn the_protocols_own_fields_are_never_touched() {
    let odd = format!("ghp_{}", alnum(36));
    let line = json!({"id": odd, "type": odd, "sessionId": odd, "prev": odd, "hash": odd});
    assert_eq!(redact(line.clone()), (line, 0));
}

#[test]
fn keys_speak_for_their_values() {
    let (line, marks) = redact(json!({
        "artifact": {
            "password": "swordfish", "apiKey": alnum(24), "tokens": "12", "token_count": "5",
            "secrets": [1], "password_hint": "fish", "passphrase": ["open sesame", 3],
            "env": [{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "HOME", "value": "/root"}],
            "argv": ["tool", "--api-key", "shortkey", "--verbose", "--token", "--x"],
        },
    }));
    assert_eq!(
        line["artifact"],
        json!({
            "password": "[REDACTED_PASSWORD]", "apiKey": "[REDACTED_SECRET]", "tokens": "12", "token_count": "5",
            "secrets": [1], "password_hint": "fish", "passphrase": ["[REDACTED_PASSWORD]", 3],
            "env": [{"name": "DB_PASSWORD", "value": "[REDACTED_PASSWORD]"}, {"name": "HOME", "value": "/root"}],
            "argv": ["tool", "--api-key", "[REDACTED_SECRET]", "--verbose", "--token", "--x"],
        })
    );
    assert_eq!(marks, 5);
    assert_eq!(line["meta"], json!({"redacted": true}));
}

#[test]
fn two_keys_with_the_same_mark_keep_their_values() {
    let one = format!("AKIA{}", upper(16));
    let two = one.replace("AKIA", "ABIA");
    let (line, _) = redact(json!({"x": {one: 1, two: 2}}));
    assert_eq!(
        line["x"],
        json!({"[REDACTED_AWS_ACCESS_KEY]": 1, "[REDACTED_AWS_ACCESS_KEY] 2": 2})
    );
}

#[test]
fn a_value_without_bottom_is_cut_and_not_descended() {
    let mut deep = json!(format!("ghp_{}", alnum(36)));
    for _ in 0..500 {
        deep = Value::Array(vec![deep]);
    }
    let (line, marks) = redact(json!({"meta": {"x": deep}}));
    assert_eq!(marks, 1);
    let text = line.to_string();
    assert!(text.contains("[REDACTED_TOO_DEEP]"));
    serde_json::from_str::<Value>(&text).unwrap();
}

/// Pieces from which texts are put together that nobody thought of.
fn piece() -> impl Strategy<Value = String> {
    let names = [
        "password",
        "token",
        "api_key",
        "SECRET",
        "--token",
        "pwd",
        "Authorization",
        "Bearer",
        "basic",
        "cookie",
        "key",
        "credentials",
        "AccountKey",
        "login",
        "identified by",
        "value",
    ];
    let joints = [
        "=",
        ": ",
        " = ",
        ":",
        "=>",
        " ",
        "\"",
        "'",
        "`",
        "\\\"",
        "\n",
        "\\n",
        ":\n  ",
        ": |\n  ",
        ": >-\\n    ",
        "\u{1b}[0m",
        "\\u001b[2m",
        "&",
        ";",
        ",",
        "<",
        ">",
        "@",
        "://",
        "postgres://u:",
        "https://",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\\",
        "#",
    ];
    let finds = vec![
        format!("AKIA{}", upper(16)),
        format!("sk-ant-api03-{}", alnum(40)),
        format!("ghp_{}", alnum(36)),
        format!("eyJ{}.eyJ{}.{}", alnum(20), alnum(20), alnum(20)),
        "[REDACTED_SECRET]".to_owned(),
        "[REDACTED_".to_owned(),
        "-----BEGIN PRIVATE KEY-----".to_owned(),
        "-----END PRIVATE KEY-----".to_owned(),
        alnum(64),
        "hunter2".to_owned(),
        "swordfish".to_owned(),
        "dXNlcjpoVW50ZXIyIQ==".to_owned(),
        "é漢🦀".to_owned(),
        "null".to_owned(),
        "${X}".to_owned(),
    ];
    prop_oneof![
        3 => prop::sample::select(names.to_vec()).prop_map(str::to_owned),
        4 => prop::sample::select(joints.to_vec()).prop_map(str::to_owned),
        3 => prop::sample::select(finds),
        1 => "[ -~]{0,12}",
        1 => any::<String>(),
    ]
}

pub(super) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_is_redacting_once(text in text()) {
        check_settled(&REDACTOR, &text);
    }

    #[test]
    fn a_sure_secret_never_survives(before in text(), after in text()) {
        let secret = format!("ghp_{}", alnum(36));
        let line = json!({"content": format!("{before} {secret} {after}"), "meta": {"x": secret}});
        let redacted = redact(line).0.to_string();
        prop_assert!(!redacted.contains(&secret));
    }

    #[test]
    fn a_redacted_line_is_left_as_it_is(key in text(), inner in text(), content in text()) {
        let line = json!({"content": content, "x": {key: [inner]}});
        let (once, _) = redact(line);
        prop_assert_eq!(redact(once.clone()), (once, 0));
    }
}
