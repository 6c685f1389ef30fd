use tokio::io::{BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::time::timeout;

use super::*;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place};
use crate::core::delivery::DeliveryWay;
use crate::core::envelope::MessageKind;
use crate::core::id::{EntryId, Seq};
use crate::core::plain_value::nested_texts;
use crate::wire::control::{Command, MessagePage, Recorded, Reply, Role};

/// The agent at the other end of the pipes.
struct Host {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    served: tokio::task::JoinHandle<StdioEnded>,
}

impl Host {
    fn start(side: Agent, client: Client) -> Self {
        let (ours, theirs) = duplex(64 * 1024);
        let (input, output) = split(theirs);
        let served = tokio::spawn(serve_on(
            side,
            None,
            client,
            input,
            output,
            CancellationToken::new(),
        ));
        let (output, input) = split(ours);
        Self {
            input,
            output: BufReader::new(output),
            served,
        }
    }

    async fn initialized(side: Agent, client: Client) -> Self {
        let mut agent = Self::start(side, client);
        agent.say(&initialize(0, "2025-11-25")).await;
        agent.hear().await;
        agent
            .say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        agent
    }

    async fn say(&mut self, message: &Value) {
        self.say_raw(format!("{message}\n").as_bytes()).await;
    }

    async fn say_raw(&mut self, bytes: &[u8]) {
        timeout(DEADLINE, self.input.write_all(bytes))
            .await
            .unwrap()
            .unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        timeout(DEADLINE, self.output.read_line(&mut line))
            .await
            .unwrap()
            .unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}}))
            .await;
    }
}

fn initialize(id: u64, version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1.330"}}})
}

fn message(id: &str, seq: u64, text: &str) -> MailMessage {
    MailMessage {
        message_id: EntryId::new(id),
        seq: Seq(seq),
        from: "codex".to_owned(),
        kind: MessageKind::Message,
        sent_at: 1,
        age_s: 2,
        repeat: false,
        require_reply: false,
        in_reply_to: None,
        handles: Vec::new(),
        text: text.to_owned(),
        reason: None,
        context_refs: Vec::new(),
        part: None,
    }
}

fn page(messages: Vec<MailMessage>) -> Reply {
    Reply::Messages(MessagePage {
        unread: messages.len() as u64,
        cursor: Some("5-5".parse().unwrap()),
        more: false,
        unfinished: Vec::new(),
        timed_out: messages.is_empty(),
        ended: None,
        cut: false,
        acked: Vec::new(),
        messages,
    })
}

#[tokio::test]
async fn initialize_and_tools_are_answered_without_a_daemon_and_capped_at_2025_11_25() {
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut claude = Host::start(Agent::Claude, Place::default().client(Role::Claude));
        claude.say(&initialize(7, asked)).await;
        let answer = claude.hear().await;
        assert_eq!(answer["id"], 7);
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], spoken, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "contextrelay");
        assert_eq!(
            result["capabilities"]["experimental"],
            json!({"claude/channel": {}})
        );
        claude
            .say(&json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"}))
            .await;
        let answer = claude.hear().await;
        assert_eq!(answer["id"], "x");
        assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 15);
    }
}

#[tokio::test]
async fn discover_is_unknown_and_initialize_works_after_it() {
    let mut claude = Host::start(Agent::Claude, Place::default().client(Role::Claude));
    claude
        .say(&json!({"jsonrpc": "2.0", "id": "server-discover-probe-1",
            "method": "server/discover",
            "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}))
        .await;
    let answer = claude.hear().await;
    assert_eq!(answer["id"], "server-discover-probe-1");
    assert_eq!(answer["error"]["code"], -32601);
    // A notification before `initialize` is no reason to end.
    claude
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}))
        .await;
    claude.say(&initialize(0, "2025-11-25")).await;
    assert_eq!(
        claude.hear().await["result"]["protocolVersion"],
        "2025-11-25"
    );
}

#[tokio::test]
async fn a_text_that_was_cut_within_an_emoji_is_taken_with_a_mark_in_its_place() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| {
        Answering::Reply(Reply::Recorded(Recorded {
            entry_id: EntryId::new("e1"),
            seq: Seq(9),
        }))
    })
    .await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    // As JSON.stringify writes it.
    claude
        .say_raw(
            br#"{"method":"tools/call","params":{"name":"append_note","arguments":{"text":"cut \ud83d \\ud83d"}},"jsonrpc":"2.0","id":1}
"#,
        )
        .await;
    let answer = claude.hear().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["seq"]),
        (&json!(1), &json!(9)),
        "{answer}"
    );
    let seen = daemon.so_far();
    assert!(
        matches!(&seen[..], [Command::AppendNote(note)] if note.text == "cut \u{fffd} \\ud83d"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn broken_json_and_a_line_over_the_limit_get_errors_and_end_nothing() {
    let mut claude = Host::initialized(Agent::Claude, Place::default().client(Role::Claude)).await;
    claude.say_raw(b"{\"jsonrpc\": \n").await;
    let answer = claude.hear().await;
    assert_eq!(answer["error"]["code"], -32700);
    assert_eq!(answer["id"], Value::Null);

    claude.say_raw(b"[1, 2]\n\n").await;
    assert_eq!(claude.hear().await["error"]["code"], -32600);

    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..=(LINE_BYTES_MAX / chunk.len()) {
        claude.say_raw(&chunk).await;
    }
    claude.say_raw(b"\n").await;
    assert_eq!(claude.hear().await["error"]["code"], -32600);
    claude.say_raw(b"{}\n").await;
    assert_eq!(claude.hear().await["error"]["code"], -32600);
    claude.say_raw("[".repeat(10_000).as_bytes()).await;
    claude.say_raw(b"\n").await;
    assert_eq!(claude.hear().await["error"]["code"], -32600);

    // What asked is told by its name, as far as it can be read.
    claude
        .say_raw(b"{\"method\":\"tools/call\",\"id\":40,\"params\":{\"text\":nonsense}}\n")
        .await;
    let answer = claude.hear().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(40), &json!(-32700))
    );

    // The id comes last, as Claude writes it.
    claude
        .say_raw(br#"{"method":"tools/call","params":{"id":1,"text":""#)
        .await;
    for _ in 0..=(LINE_BYTES_MAX / chunk.len()) {
        claude.say_raw(&chunk).await;
    }
    claude
        .say_raw(b"\"},\"jsonrpc\":\"2.0\",\"id\":41}\n")
        .await;
    let answer = claude.hear().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(41), &json!(-32600))
    );

    // What would be read as JSON, and what is in that, without an end.
    let nested = nested_texts(200);
    let asks = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":42,\"method\":\"tools/call\",\"params\":{{\"name\":\
         \"append_note\",\"arguments\":{{\"text\":{nested}}}}}}}\n"
    );
    claude.say_raw(asks.as_bytes()).await;
    let answer = claude.hear().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(42), &json!(-32600))
    );

    claude
        .say(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}))
        .await;
    let answer = claude.hear().await;
    assert_eq!((&answer["id"], &answer["result"]), (&json!(3), &json!({})));
}

#[tokio::test]
async fn unknown_methods_and_tools_are_errors_of_the_protocol_and_wrong_types_of_the_tool() {
    let mut claude = Host::initialized(Agent::Claude, Place::default().client(Role::Claude)).await;
    claude
        .say(&json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}))
        .await;
    assert_eq!(claude.hear().await["error"]["code"], -32601);
    claude.call(2, "send_to_claude", json!({"text": "x"})).await;
    assert_eq!(claude.hear().await["error"]["code"], -32602);
    // Neither says a long name again.
    let long = "plum".repeat(10_000);
    claude
        .say(&json!({"jsonrpc": "2.0", "id": 4, "method": long}))
        .await;
    let method = claude.hear().await;
    assert_eq!(method["error"]["code"], -32601);
    claude.call(5, &long, json!({})).await;
    let tool = claude.hear().await;
    assert_eq!(tool["error"]["code"], -32602);
    for answer in [method, tool] {
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains("plumplum"), "{said}");
        assert!(said.chars().count() <= 100, "{said}");
    }
    claude.call(3, "reply", json!({"text": 7})).await;
    let result = claude.hear().await["result"].clone();
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["code"], "invalid_arguments");
}

#[tokio::test]
async fn fetched_messages_are_marked_behind_the_answer_that_returns_them() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |command| match command {
        Command::GetMessages(_) => {
            let messages = vec![message("m1", 4, "hi"), message("m2", 5, "ho")];
            Answering::Reply(page(messages))
        }
        // The answer does not wait for the record.
        _ => Answering::Never,
    })
    .await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    claude.call(1, "get_messages", json!({})).await;
    let result = claude.hear().await["result"].clone();
    assert_eq!(result["structuredContent"]["messages"][1]["text"], "ho");
    assert_eq!(result["structuredContent"]["cursor"], "5-5");
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("hi")
    );
    daemon.seen(|seen| seen.len() == 2).await;
    let Some(Command::Fetched(fetched)) = daemon.so_far().pop() else {
        panic!("{:?}", daemon.so_far());
    };
    assert_eq!(fetched.ids, [EntryId::new("m1"), EntryId::new("m2")]);
    assert_eq!(fetched.rung, Some(DeliveryWay::Pull));
}

#[tokio::test]
async fn an_answer_that_could_not_leave_marks_nothing() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Reply(Reply::Done)).await;
    let leave = async |output: DuplexStream| {
        let (lines, written) = mpsc::channel(1);
        let handed = Some(HandedPage {
            client: place.client(Role::Claude),
            side: Agent::Claude,
            ids: vec![EntryId::new("m1")],
            are_read: true,
        });
        let text = "an answer".to_owned();
        assert!(lines.send(OutLine { text, handed }).await.is_ok());
        drop(lines);
        let reports = TaskTracker::new();
        write(output, written, reports.clone()).await;
        reports.close();
        timeout(DEADLINE, reports.wait()).await.unwrap();
    };
    let (output, agent) = duplex(64);
    drop(agent);
    leave(output).await;
    assert!(daemon.so_far().is_empty(), "{:?}", daemon.so_far());
    let (output, _agent) = duplex(64);
    leave(output).await;
    // What the call was for is read with it.
    let told = daemon.so_far();
    assert!(
        matches!(told[..], [Command::Fetched(_), Command::Ack(_)]),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_cancelled_wait_is_not_answered_and_its_messages_are_not_marked() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |command| match command {
        Command::WaitMessages(_) => Answering::Never,
        _ => Answering::Reply(Reply::Acked(vec![EntryId::new("m1")])),
    })
    .await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    claude
        .call(1, "wait_for_messages", json!({"timeout_s": 50}))
        .await;
    daemon.seen(|seen| seen.len() == 1).await;
    claude
        .say(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "timeout"}}),
        )
        .await;
    claude.call(2, "ack_messages", json!({"ids": ["m1"]})).await;
    let answer = claude.hear().await;
    assert_eq!(answer["id"], 2, "the cancelled call must not be answered");
    assert_eq!(
        answer["result"]["structuredContent"]["acked"],
        json!(["m1"])
    );
    assert!(
        !daemon
            .so_far()
            .iter()
            .any(|command| matches!(command, Command::Fetched(_)))
    );
}

#[tokio::test]
async fn a_wait_ends_with_the_agent_and_takes_nothing() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    claude
        .call(1, "wait_for_messages", json!({"timeout_s": 50}))
        .await;
    daemon.seen(|seen| seen.len() == 1).await;
    claude.input.shutdown().await.unwrap();
    let ended = timeout(DEADLINE, claude.served).await.unwrap().unwrap();
    assert_eq!(ended, StdioEnded::Closed);
    assert_eq!(daemon.so_far().len(), 1);
}

#[tokio::test]
async fn a_bridge_outlives_its_daemon() {
    let recorded = |_: &Command| {
        Answering::Reply(Reply::Recorded(Recorded {
            entry_id: EntryId::new("e1"),
            seq: Seq(9),
        }))
    };
    let place = Place::default();
    let first = FakeDaemon::start(&place, recorded).await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    claude.call(1, "append_note", json!({"text": "one"})).await;
    assert_eq!(claude.hear().await["result"]["structuredContent"]["seq"], 9);
    drop(first);
    claude.call(2, "append_note", json!({"text": "two"})).await;
    let second = FakeDaemon::start(&place, recorded).await;
    let answer = claude.hear().await;
    // Either it waited for the new daemon, or it was under way in the old one and says so.
    let structured = &answer["result"]["structuredContent"];
    assert!(
        structured["seq"] == 9 || structured["code"] == "unanswered",
        "{answer}"
    );
    claude
        .call(3, "append_note", json!({"text": "three"}))
        .await;
    assert_eq!(claude.hear().await["result"]["structuredContent"]["seq"], 9);
    assert!(!second.so_far().is_empty());
}

#[tokio::test]
async fn a_push_becomes_a_channel_notification_with_text_only_in_meta() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Reply(Reply::Acked(Vec::new()))).await;
    let mut claude = Host::initialized(Agent::Claude, place.client(Role::Claude)).await;
    claude.call(1, "ack_messages", json!({"ids": ["m0"]})).await;
    claude.hear().await;
    daemon.notify(Notification::Push(Box::new(message(
        "m1",
        41,
        "the build is red",
    ))));
    let pushed = claude.hear().await;
    assert_eq!(pushed["method"], "notifications/claude/channel");
    assert_eq!(
        pushed["params"],
        json!({"content": "the build is red", "meta":
            {"message_id": "m1", "from": "codex", "kind": "message", "seq": "41"}})
    );
}

#[tokio::test]
async fn codex_calls_carry_their_thread_and_turn() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    let mut codex = Host::initialized(Agent::Codex, place.client(Role::Codex)).await;
    codex
        .say(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "send_to_claude", "arguments": {"text": "hello"},
            "_meta": {"threadId": "t1", "x-codex-turn-metadata": {"turn_id": "u1"}}}}),
        )
        .await;
    let seen = daemon.seen(|seen| seen.len() == 1).await;
    let Command::Send(params) = &seen[0] else {
        panic!("{seen:?}");
    };
    assert_eq!(params.thread_id.as_ref().unwrap().as_str(), "t1");
    assert_eq!(params.turn_id.as_deref(), Some("u1"));
    assert_eq!(params.from, Some(Agent::Codex));
}
