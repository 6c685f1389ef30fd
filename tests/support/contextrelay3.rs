//! A project as ContextRelay 3.13.4 leaves it: `config.json`, `current`, a ledger with every type
//! that it writes, its state files and its queue. Generated here, in the formats that it was
//! observed to write.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::project::Project;

/// When the messages in its queue were sent, ms since the epoch.
pub const SENT_MS: i64 = 1_789_000_000_000;

/// The session of such a project.
pub const SESSION: &str = "session_1789000000000_c0ffee42";

/// What it knows of itself.
const INSTANCE: &str = "ctx_00112233aabb";

/// Handoffs of its ledger by what became of them.
pub const OPEN: [&str; 2] = [
    "aaaaaaaa-0000-4000-8000-000000000001",
    "aaaaaaaa-0000-4000-8000-000000000004",
];
pub const HANDLED: [&str; 3] = [
    "aaaaaaaa-0000-4000-8000-000000000002",
    "aaaaaaaa-0000-4000-8000-000000000003",
    "aaaaaaaa-0000-4000-8000-000000000005",
];

/// Its configuration, with a key that nobody knows.
pub fn config() -> Value {
    json!({
        "version": "1.0",
        "instanceId": INSTANCE,
        "stateDir": "/somewhere/.contextrelay/state",
        "controlPort": 4502,
        "codex": {"appPort": 4500, "proxyPort": 4501},
        "autonomy": {
            "enabled": false, "autoFinalize": false, "backupMode": "off", "backupTimeoutMs": 600_000,
            "idleScanner": {"mode": "off", "debounceMs": 5000, "disabledKinds": [],
                "askForWork": {"enabled": false, "cooldownMs": 900_000, "dualIdle": true}},
            "writableAction": {"enabled": false, "budgetUsd": 0.5},
        },
        "turnCoordination": {"attentionWindowSeconds": 15, "respectTarget": true,
            "hookCompaction": {"mode": "on"}},
        "collaboration": {"coordinator": "claude", "gitWrites": "coordinator"},
        "permissions": {"readonly": false, "allowed": ["send"], "agentOverrides": {}},
        "usageControl": {"mode": "ask"},
        "rateLimitResume": {"mode": "notify", "maxAttempts": 3, "maxScheduleAheadMinutes": 360,
            "fallbackBackoffMinutes": 30},
        "idleShutdownSeconds": 45,
        "activation": {"autoConnect": true},
        "headless": {"enabled": false, "maxConcurrency": 1, "maxQueue": 4, "budgetUsd": 1,
            "timeoutMs": 900_000},
        "ownedByNobody": {"kept": ["as", "it", "is"]},
    })
}

/// Lines of its ledger, in file order.
pub fn ledger() -> Vec<Value> {
    let [superseded, open] = OPEN;
    let [by_message, by_note, by_list] = HANDLED;
    let mut lines = Lines::default();
    // A compaction comes first, and its summaries have times that mean nothing.
    lines.put("compact_0b6f5a10", 633_000_000_000, "summary", "system", json!({
        "content": "[compacted message] id 0b6f5a10, sha256 9f86d081, 2,113 bytes: look at the parser",
        "meta": {"compacted": true, "original_type": "message"},
    }));
    lines.put(
        "ledger_compacted_9f86d081884c7d65",
        640_123_456_789,
        "summary",
        "system",
        json!({
            "content": "compacted 212 entries", "meta": {"count": 212},
        }),
    );
    lines.add(
        "session_started",
        "system",
        json!({"content": "session started"}),
    );
    lines.add(
        "note",
        "claude",
        json!({
            "content": "Goal: a parser without panics", "caller_agent": "claude", "caller_depth": 0,
            "meta": {"runtimeSessionId": "default", "redacted": false, "truncated": false},
        }),
    );
    lines.handoff(superseded, "claude", "codex", "review src/lexer.rs");
    lines.handoff(by_message, "claude", "codex", "review src/parser.rs");
    lines.add("message", "codex", json!({
        "target": "claude", "content": "the parser is fine but for one loop", "caller_agent": "codex",
        "caller_depth": 0, "handles_handoff_id": by_message,
        "meta": {"bridgeMessageId": "bridge-1", "roomId": SESSION, "message_kind": "chat",
            "auto_handled_handoff": true, "redacted": false, "truncated": false},
    }));
    lines.delivery("bridge-1", "claude", "delivered_live");
    lines.add(
        "message",
        "claude",
        json!({
            "target": "codex", "content": "mend the loop, please", "caller_agent": "claude",
            "meta": {"bridgeMessageId": "bridge-2", "roomId": SESSION, "message_kind": "chat"},
        }),
    );
    lines.delivery("bridge-2", "codex", "queued_for_next_turn");
    lines.handoff(by_note, "codex", "claude", "write the tests");
    lines.add(
        "note",
        "claude",
        json!({
            "content": "tests are written", "handles_handoff_id": by_note,
            "meta": {"runtimeSessionId": "default"},
        }),
    );
    lines.add(
        "artifact",
        "codex",
        json!({
            "target": "claude", "content": "test report",
            "artifact": {"kind": "test_report", "title": "unit tests", "summary": "41 passed",
                "status": "passed", "evidence": ["cargo test"]},
            "meta": {"artifact_kind": "test_report", "artifact_status": "passed"},
        }),
    );
    lines.add("release_gate", "claude", json!({
        "content": "gate", "artifact": {"kind": "release_gate", "title": "gate", "summary": "none",
            "evidence": []},
        "meta": {"artifact_kind": "release_gate", "artifact_status": "unknown"},
    }));
    lines.handoff(by_list, "claude", "codex", "read the tests");
    lines.add(
        "runtime_event",
        "system",
        json!({
            "content": "codex app-server ready",
            "runtimeEvent": {"kind": "runtime", "status": "ready", "title": "codex ready"},
            "meta": {"runtime_event_kind": "runtime", "runtime_event_status": "ready"},
        }),
    );
    lines.add("backup_request", "claude", json!({
        "content": "backup wanted", "meta": {"reason": "stuck", "context_refs": [], "backupMode": "ask"},
    }));
    lines.add(
        "backup_result",
        "system",
        json!({
            "content": "backup done", "handles_handoff_id": "nobody",
            "meta": {"backup_request_id": "nobody", "ok": true, "exitCode": 0, "durationMs": 12,
                "timedOut": false, "killed": false, "stderr": ""},
        }),
    );
    lines.add(
        "error",
        "system",
        json!({"content": "backup failed", "meta": {"ok": false}}),
    );
    lines.add("finality_proposal", "codex", json!({
        "content": "PROPOSE FINAL", "handles_handoff_id": by_list, "handles_handoff_ids": [by_list],
        "meta": {"auto_finalized": true, "summary": "the parser works", "evidence": "cargo test",
            "remaining_risk": "none", "handled_handoff_ids": [by_list]},
    }));
    lines.add("message", "codex", json!({
        "target": "claude", "content": "and the tests are read", "handles_handoff_ids": [by_list],
        "meta": {"bridgeMessageId": "bridge-3"},
    }));
    lines.handoff(open, "claude", "codex", "write the changelog");
    lines.add(
        "somebody_elses_type",
        "viewer",
        json!({"content": "kept as it is", "odd": [1]}),
    );
    lines.0
}

#[derive(Default)]
struct Lines(Vec<Value>);

impl Lines {
    fn put(&mut self, id: &str, timestamp: i64, entry_type: &str, source: &str, rest: Value) {
        let mut line = json!({
            "schema": "v1", "id": id, "timestamp": timestamp, "sessionId": SESSION,
            "type": entry_type, "source": source,
        });
        for (key, value) in rest.as_object().unwrap() {
            line[key] = value.clone();
        }
        self.0.push(line);
    }

    fn next(&self) -> (String, i64) {
        let n = self.0.len();
        let id = format!("bbbbbbbb-0000-4000-8000-{n:012}");
        (id, 1_789_000_000_000 + 1000 * n as i64)
    }

    fn add(&mut self, entry_type: &str, source: &str, rest: Value) {
        let (id, at) = self.next();
        self.put(&id, at, entry_type, source, rest);
    }

    fn handoff(&mut self, id: &str, from: &str, to: &str, ask: &str) {
        let (_, at) = self.next();
        self.put(
            id,
            at,
            "handoff",
            from,
            json!({
                "target": to, "content": ask, "caller_agent": from, "caller_depth": 0,
                "handoff": {"from": from, "to": to, "reason": "it is next", "ask": ask,
                    "context_refs": ["src/"], "next_speaker": to,
                    "timeoutPolicy": {"liveWaitMs": 60_000, "afterLiveWait": "continue"}},
                "meta": {"runtimeSessionId": "default", "redacted": false, "truncated": false},
            }),
        );
    }

    fn delivery(&mut self, message: &str, to: &str, outcome: &str) {
        self.add("runtime_event", "system", json!({
            "target": to, "content": format!("Message to {to}: {outcome}"),
            "runtimeEvent": {"kind": "message_delivery", "status": "ok", "title": "delivery",
                "messageId": message, "deliveryAttemptId": "attempt-1", "deliveryOutcome": outcome,
                "onBusy": "queue"},
            "meta": {"runtime_event_kind": "message_delivery", "runtime_event_status": "ok"},
        }));
    }
}

/// Fills a project with all of it. `known` puts it into the registry, as that product does; without
/// it looks like a clone.
pub fn fill(project: &Project, known: bool) {
    let mut text = String::new();
    for line in ledger() {
        text.push_str(&format!("{line}\n"));
    }
    project.write(&format!(".contextrelay/sessions/{SESSION}.jsonl"), &text);
    project.write(".contextrelay/current", &format!("{SESSION}\n"));
    let config = serde_json::to_string_pretty(&config()).unwrap();
    project.write(".contextrelay/config.json", &config);
    project.write(".contextrelay/COORDINATION.md", "# Coordination\n");
    project.write(
        ".contextrelay/archives/session_1788000000000_00000001.jsonl",
        "{}\n",
    );
    for (name, text) in [
        ("token", format!("{}\n", "ab".repeat(32))),
        ("proxy-token", format!("{}\n", "cd".repeat(32))),
        ("viewer-token", format!("{}\n", "ef".repeat(32))),
        ("daemon-identity", format!("{}\n", "01".repeat(16))),
        // Of a process that is long gone.
        ("daemon.pid", "4194000\n".to_owned()),
        ("daemon.lock", "4194000\n".to_owned()),
        (
            "status.json",
            json!({"instanceId": INSTANCE, "controlPort": 4502, "pid": 4_194_000}).to_string(),
        ),
        (
            "sessions.json",
            json!({"version": 1, "instanceId": INSTANCE, "activeSessionId": "default",
            "sessions": {"default": {"id": "default", "label": "default", "lifecycle": "active",
                "createdAt": "2026-09-01T10:00:00.000Z", "lastSeenAt": "2026-09-01T10:00:00.000Z",
                "participants": [{"agentId": "claude", "role": "driver"}]}}})
            .to_string(),
        ),
        (
            "codex-app-server.json",
            json!({"schema": "contextrelay.managed-process.v1", "pid": 4_194_001,
            "ports": [4500], "requiredArgs": ["app-server"]})
            .to_string(),
        ),
        (
            "transcript.jsonl",
            "{\"ts\":1,\"event\":\"message_queued\"}\n".to_owned(),
        ),
        ("contextrelay.log", "started\n".to_owned()),
    ] {
        project.write(&format!(".contextrelay/state/{name}"), &text);
    }
    queue(project);
    for (path, mode) in [
        ("", 0o755),
        ("sessions", 0o755),
        ("archives", 0o755),
        ("config.json", 0o644),
    ] {
        let path = project.state().join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    if known {
        let instance = json!({"instances": [{
            "instanceId": INSTANCE, "projectRoot": project.root(),
            "stateDir": project.state().join("state"), "appPort": project.ports.app_server,
            "proxyPort": project.ports.proxy, "controlPort": project.ports.control,
            "lastSeenAt": "2026-09-01T10:00:00.000Z",
        }]});
        std::fs::write(
            project.registry().join("instances.json"),
            instance.to_string(),
        )
        .unwrap();
    }
}

/// Its queue, with one message that Claude drained and two that it never fetched.
fn queue(project: &Project) {
    let db = Connection::open(queue_path(project)).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE messages (
            id TEXT PRIMARY KEY, chat_id TEXT NOT NULL, content_hash TEXT NOT NULL,
            payload TEXT NOT NULL, created_at INTEGER NOT NULL, pushed_at INTEGER,
            push_attempted_at INTEGER, push_error TEXT, acked_at INTEGER, drained_at INTEGER,
            status_class TEXT);
         CREATE UNIQUE INDEX open_messages ON messages (chat_id, content_hash)
            WHERE drained_at IS NULL;",
    )
    .unwrap();
    for (id, content, pushed, drained) in [
        (
            "bridge-1",
            "the parser is fine but for one loop",
            Some(1),
            Some(2),
        ),
        ("bridge-3", "and the tests are read", Some(3), None),
        (
            "turn-9",
            &format!("by the way, the key is ghp_{}", "a1B2".repeat(9)),
            None,
            None,
        ),
    ] {
        let payload =
            json!({"id": id, "source": "codex", "content": content, "timestamp": SENT_MS});
        db.execute(
            "INSERT INTO messages (id, chat_id, content_hash, payload, created_at, pushed_at, drained_at)
             VALUES (?1, 'chat', ?1, ?2, ?5, ?3, ?4)",
            rusqlite::params![id, payload.to_string(), pushed, drained, SENT_MS],
        )
        .unwrap();
    }
}

/// `state/queue.db`.
pub fn queue_path(project: &Project) -> PathBuf {
    project.state().join("state/queue.db")
}
