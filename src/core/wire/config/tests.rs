use serde_json::{Map, Value, json};

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn keys(problems: &[Problem]) -> Vec<&str> {
    problems
        .iter()
        .map(|problem| problem.key.as_str())
        .collect()
}

#[test]
fn an_empty_file_means_the_defaults() {
    let (config, problems) = read(&Map::new());
    assert_eq!(config, Config::default());
    assert_eq!(problems, []);
    assert_eq!(config.idle_shutdown_seconds.get(), 30);
}

#[test]
fn a_wrong_value_costs_no_more_than_itself() {
    let (config, problems) = read(&object(json!({
        "version": "one",
        "idleShutdownSeconds": 3,
        "codex": {"autostart": true, "model": "kept"},
        "watchdog": [],
        "redaction": {
            "rules": [
                {"name": "ACME", "pattern": "acme_[a-z]+"},
                {"name": 7, "pattern": "x"},
                "acme",
                {"name": "OTHER", "pattern": "o"},
            ],
            "allow": ["one", 2, {"pattern": "two"}, {"text": "three"}],
        },
        "nobodyKnowsThis": {"deep": [1]},
    })));
    assert_eq!(
        keys(&problems),
        [
            "version",
            "redaction.rules[1]",
            "redaction.rules[2]",
            "redaction.allow[1]",
            "redaction.allow[3]",
            "idleShutdownSeconds",
            "watchdog",
        ]
    );
    assert!(config.codex.autostart);
    assert_eq!(config.idle_shutdown_seconds.get(), 30);
    assert_eq!(config.watchdog, WatchdogKeys::default());
    assert_eq!(config.redaction.rules.len(), 2);
    assert_eq!(config.redaction.allow.len(), 2);
    // A value never stands in a report.
    assert!(!format!("{problems:?}").contains("three"));
}

#[test]
fn a_wrong_value_is_told_what_would_be_right_and_never_repeated() {
    let (_, problems) = read(&object(json!({
        "idleShutdownSeconds": 3,
        "codex": {"autostart": "please"},
        "delivery": {"idleSeconds": 99_999, "expireSeconds": "swordfish"},
        "rateLimitResume": {"mode": "swordfish"},
        "redaction": {"rules": [{"name": 7}, "swordfish"], "allow": [2]},
        "watchdog": [],
    })));
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for (key, wanted) in [
        ("idleShutdownSeconds: ", "a whole number from 5 to 604800"),
        ("codex.autostart: ", "true or false"),
        ("delivery.idleSeconds: ", "a whole number from 1 to 3600"),
        (
            "delivery.expireSeconds: ",
            "a whole number from 0 to 31536000",
        ),
        ("rateLimitResume.mode: ", "one of off, notify, resume"),
        ("redaction.rules[0]: ", "a group with name and pattern"),
        ("redaction.rules[1]: ", "a group with name and pattern"),
        ("redaction.allow[0]: ", "`ctxrelay config schema` allows"),
        ("watchdog: ", "a group of keys"),
    ] {
        assert!(
            said.iter()
                .any(|line| line.starts_with(key) && line.contains(wanted)),
            "{key}{wanted}: {said:#?}"
        );
    }
    assert!(!said.concat().contains("swordfish"));
}

#[test]
fn every_key_of_the_defaults_is_in_the_schema_and_the_other_way_round() {
    fn leaves(prefix: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    leaves(&format!("{prefix}/{key}"), value, found);
                }
            }
            _ => found.push(prefix.to_owned()),
        }
    }
    fn documented(prefix: &str, schema: &Value, all: &Value, found: &mut Vec<String>) {
        let schema = match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => all.pointer(name.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                for (key, schema) in properties {
                    documented(&format!("{prefix}/{key}"), schema, all, found);
                }
            }
            None => found.push(prefix.to_owned()),
        }
    }
    let schema = schema();
    let (mut written, mut read) = (Vec::new(), Vec::new());
    documented("", &schema, &schema, &mut written);
    leaves(
        "",
        &serde_json::to_value(Config::default()).unwrap(),
        &mut read,
    );
    written.retain(|key| !KEPT_KEYS.iter().any(|(kept, _)| *key == format!("/{kept}")));
    written.sort();
    read.sort();
    assert_eq!(written, read);
}

#[test]
fn rules_that_are_none_are_named_and_the_others_work() {
    let (config, _) = read(&object(json!({"redaction": {
        "rules": [
            {"name": "acme", "pattern": "acme_[a-z]+"},
            {"name": "no good", "pattern": "x"},
            {"name": "OPEN", "pattern": "("},
            {"name": "EMPTY", "pattern": "a*"},
            {"name": "LARGE", "pattern": "(?:.{500}){500}"},
            {"name": "LONG", "pattern": "x".repeat(1001)},
        ],
        "allow": [{"pattern": "a)|(b"}, ""],
    }})));
    let (rules, problems) = own_rules(&config);
    assert_eq!(
        keys(&problems),
        [
            "redaction.rules \"no good\"",
            "redaction.rules \"OPEN\"",
            "redaction.rules \"EMPTY\"",
            "redaction.rules \"LARGE\"",
            "redaction.rules \"LONG\"",
            "redaction.allow[0]",
            "redaction.allow[1]",
        ]
    );
    let redactor = crate::redact::Redactor::with(rules);
    assert_eq!(redactor.redact_text("acme_one").0, "[REDACTED_ACME]");
}

#[test]
fn what_has_power_waits_until_it_is_trusted_as_it_is() {
    let file = object(json!({
        "version": 1,
        "redaction": {"rules": [], "allow": ["a", {"pattern": "b"}]},
        "autonomy": {"enabled": true},
        "idleShutdownSeconds": 60,
    }));
    let found = power(&file);
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["redaction.allow", "autonomy"]
    );
    let waits = waiting(&found, &Map::new());
    assert_eq!(waits.len(), 2);
    assert!(waits[0].matters_now() && !waits[1].matters_now());
    assert_eq!(waiting(&found, &found), []);

    let (mut config, _) = read(&file);
    only_trusted(&mut config, &Map::new());
    assert_eq!(config.redaction.allow, []);
    let (mut config, _) = read(&file);
    only_trusted(&mut config, &object(json!({"redaction.allow": ["a", "c"]})));
    assert_eq!(config.redaction.allow, [Allowed::Text("a".to_owned())]);
}

#[test]
fn less_of_a_list_needs_no_trust_and_more_does() {
    let trusted = object(json!({"redaction.allow": ["a", "b"]}));
    for (allow, waits) in [
        (json!(["a"]), false),
        (json!([]), false),
        (json!(["b", "a"]), false),
        (json!(["a", "c"]), true),
        (json!("a"), true),
    ] {
        let found = power(&object(json!({"redaction": {"allow": allow.clone()}})));
        assert_eq!(!waiting(&found, &trusted).is_empty(), waits, "{allow}");
    }
    assert_eq!(waiting(&Map::new(), &trusted), []);
    // Of a group nobody can tell whether it is less.
    let trusted = object(json!({"autonomy": {"enabled": false}}));
    assert_eq!(waiting(&Map::new(), &trusted).len(), 1);
}

#[test]
fn a_model_is_asked_only_as_the_operator_trusts_and_not_where_the_file_says_so() {
    let extract = json!({"everyTurns": 5, "model": "sonnet", "maxUsd": 0.2});
    let file = object(json!({"continuity": {"extract": extract}}));
    let asks = |file: &Map<String, Value>, trusted: &Map<String, Value>| {
        let (mut config, problems) = read(file);
        assert_eq!(problems, []);
        only_trusted(&mut config, trusted);
        let extract = config.continuity.extract;
        (
            extract.every_turns.get(),
            extract.model,
            f64::from(extract.max_usd),
        )
    };
    let off = (0, "haiku".to_owned(), 0.05);
    assert_eq!(asks(&file, &Map::new()), off);
    let trusted = power(&file);
    assert_eq!(asks(&file, &trusted), (5, "sonnet".to_owned(), 0.2));
    let more = object(json!({"continuity": {"extract": {"everyTurns": 1, "maxUsd": 9}}}));
    assert_eq!(asks(&more, &trusted), (5, "sonnet".to_owned(), 0.2));
    assert!(waiting(&power(&more), &trusted)[0].matters_now());
    assert_eq!(asks(&Map::new(), &trusted), off);
    assert_eq!(waiting(&Map::new(), &trusted), []);
    let none = object(json!({"continuity": {"extract": {"everyTurns": 0}}}));
    assert_eq!(asks(&none, &trusted).0, 0);
    assert_eq!(waiting(&power(&none), &trusted), []);
    let wrong = object(json!({"continuity": {"extract": {"everyTurns": 5, "maxUsd": -1}}}));
    assert_eq!(keys(&read(&wrong).1), ["continuity.extract.maxUsd"]);
}

#[test]
fn the_digest_does_not_depend_on_the_order_of_keys() {
    let one = object(json!({"autonomy": {"a": 1, "b": [1, 2]}, "gates": {}}));
    let other = object(json!({"gates": {}, "autonomy": {"b": [1, 2], "a": 1}}));
    assert_eq!(digest(&one), digest(&other));
    let swapped = object(json!({"gates": {}, "autonomy": {"b": [2, 1], "a": 1}}));
    assert_ne!(digest(&one), digest(&swapped));
}

#[test]
fn a_file_of_contextrelay_3_keeps_everything_but_its_plumbing() {
    let file = object(json!({
        "version": "1.0", "instanceId": "ctx_0123456789ab", "stateDir": "/x", "controlPort": 4502,
        "codex": {"appPort": 4500, "proxyPort": 4501, "odd": 1},
        "autonomy": {"enabled": true}, "idleShutdownSeconds": 45, "mine": [null],
    }));
    assert!(is_contextrelay_3(&file));
    let migrated = migrate(&file);
    assert_eq!(
        Value::Object(migrated.file.clone()),
        json!({
            "version": 1, "codex": {"odd": 1}, "autonomy": {"enabled": true},
            "idleShutdownSeconds": 45, "mine": [null],
        })
    );
    assert_eq!(
        migrated.dropped,
        [
            "instanceId",
            "stateDir",
            "controlPort",
            "codex.appPort",
            "codex.proxyPort"
        ]
    );
    assert!(!is_contextrelay_3(&migrated.file));
    let (config, problems) = read(&migrated.file);
    assert_eq!((config.idle_shutdown_seconds.get(), problems), (45, vec![]));
}

#[test]
fn changed_keys_are_named_to_the_last_part() {
    let before = object(json!({"a": 1, "b": {"c": 1, "d": 2}, "e": 1}));
    let after = object(json!({"b": {"c": 1, "d": 3}, "e": {"f": 1}, "g": 1}));
    assert_eq!(changed_keys(&before, &after), ["a", "b.d", "e", "g"]);
    assert_eq!(changed_keys(&after, &after), Vec::<String>::new());
}

#[test]
fn the_rules_for_the_agents_count_as_they_were_trusted_and_in_no_other_way() {
    use crate::agent::Agent;
    use crate::policy::{Coordinator, Permission, PermissionRule, PolicyChange, PolicyRules};

    let rules = PolicyRules::default()
        .with(PolicyChange::Coordinator {
            to: Some(Coordinator::Codex),
        })
        .with(PolicyChange::ReadOnly { on: true })
        .with(PolicyChange::Permission {
            permission: Permission::ExternalApi,
            agent: Some(Agent::Claude),
            rule: Some(PermissionRule::Ask),
        });
    let trusted: Map<String, Value> = keys_of(&rules)
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect();
    assert_eq!(trusted_policy(&trusted), rules);
    let said = json!({"readOnly": true, "agents": {"claude": {"external_api": "ask"}}});
    assert_eq!(trusted["permissions"], said);

    // The file allows everything by now: what was trusted counts.
    let file = json!({"permissions": {"readOnly": false, "git": "allow"}});
    let (mut config, problems) = read(file.as_object().unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    only_trusted(&mut config, &trusted);
    assert_eq!(policy(&config), rules);
    let waits: Vec<String> = waiting(&power(file.as_object().unwrap()), &trusted)
        .into_iter()
        .map(|waiting| waiting.key)
        .collect();
    assert_eq!(waits, ["permissions", "collaboration.coordinator"]);
}

#[test]
fn a_rule_with_a_word_that_is_none_costs_that_rule_alone() {
    let file =
        json!({"permissions": {"git": "never", "shell": "ask", "agents": {"codex": {"write": 7}}}});
    let (config, problems) = read(file.as_object().unwrap());
    let keys: Vec<&str> = problems
        .iter()
        .map(|problem| problem.key.as_str())
        .collect();
    assert_eq!(keys, ["permissions.git", "permissions.agents.codex.write"]);
    assert_eq!(
        config.permissions.both.shell,
        Some(crate::policy::PermissionRule::Ask)
    );
    assert_eq!(config.permissions.both.git, None);
}

#[test]
fn an_unknown_key_is_named_as_no_other_and_not_at_any_length() {
    let file = json!({
        "delivery": {"retries": 1, "idle seconds": 1},
        "delivery.idleSeconds": 1,
        "permissions was checked": 1,
    });
    let unknown = unknown_keys(file.as_object().unwrap());
    let named = [
        "delivery.retries",
        r#"delivery."idle seconds""#,
        r#""delivery.idleSeconds""#,
        r#""permissions was checked""#,
    ];
    assert_eq!(unknown, named);
    let is_within = |key: &&String| Problem::unknown(key).is_within("delivery");
    assert_eq!(unknown.iter().filter(is_within).count(), 2);
    assert!(!Problem::unknown(&unknown[3]).is_within("permissions"));

    let long = Problem::unknown(&"k".repeat(1_000));
    assert!(long.key.chars().count() < 200, "{long}");
    let told = Problem::told(&vec![long; 7]);
    assert_eq!((told.len(), told[5].as_str()), (6, "and 2 more"));
}
