use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place};
use crate::core::id::{EntryId, Seq};
use crate::core::plain_value::nested_texts;
use crate::wire::control::{Command, Recorded, Reply, Role};

struct Answered {
    status: u16,
    session: Option<String>,
    body: Value,
}

/// The service on a port of its own.
async fn serve(place: &Place) -> u16 {
    serve_with(place, BODY_WAIT).await
}

async fn serve_with(place: &Place, body_wait: Duration) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app = Router::new().nest_service("/mcp", service_for(place.client(Role::Codex), body_wait));
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

async fn open(port: u16, method: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn finish(mut stream: TcpStream) -> Answered {
    let mut text = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut text))
        .await
        .unwrap()
        .unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answered {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        session: head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "))
            .map(str::to_owned),
        body: serde_json::from_str(body).unwrap_or_default(),
    }
}

async fn post(port: u16, headers: &str, body: &str) -> Answered {
    finish(open(port, "POST", headers, body).await).await
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"threadId": "t1"}}})
    .to_string()
}

#[tokio::test]
async fn a_codex_session_works_without_a_daemon_until_a_tool_needs_one() {
    let port = serve(&Place::default()).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "codex-mcp-client", "version": "0.169.0"}}});
    let answer = post(port, "", &initialize.to_string()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        answer.body["result"]["capabilities"].get("experimental"),
        None
    );
    assert_eq!(answer.session, None, "no session is known");
    // A client that had one from a daemon of before goes on.
    let session = "mcp-session-id: 0199a1b2\r\n";

    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(
        post(port, session, &initialized.to_string()).await.status,
        202
    );
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let tools = post(port, session, &list.to_string()).await.body;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 13);
    let wrong = post(port, session, &call(2, "append_note", &json!({})))
        .await
        .body;
    assert_eq!(
        wrong["result"]["structuredContent"]["code"],
        "invalid_arguments"
    );
    assert_eq!(
        finish(open(port, "GET", session, "").await).await.status,
        405
    );
    assert_eq!(
        finish(open(port, "DELETE", session, "").await).await.status,
        405
    );
}

#[tokio::test]
async fn what_is_no_message_gets_an_error_of_the_protocol() {
    let port = serve(&Place::default()).await;
    for (body, code) in [
        ("{\"jsonrpc\":", -32700),
        ("", -32700),
        ("[]", -32600),
        ("7", -32600),
    ] {
        let answer = post(port, "", body).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (400, &json!(code)),
            "{body}"
        );
    }
    let deep = "[".repeat(200_000);
    assert_eq!(post(port, "", &deep).await.body["error"]["code"], -32600);
    // What would be read as JSON, and what is in that, without an end.
    let mut nested = call(3, "append_note", &json!({"text": "x", "kind": "TEXTS"}));
    nested = nested.replace("\"TEXTS\"", &nested_texts(200));
    let answer = post(port, "", &nested).await;
    assert_eq!(
        (answer.status, &answer.body["error"]["code"]),
        (400, &json!(-32600))
    );
    let discover = json!({"jsonrpc": "2.0", "id": "d", "method": "server/discover"});
    let answer = post(port, "", &discover.to_string()).await;
    assert_eq!(
        (answer.status, &answer.body["error"]["code"]),
        (200, &json!(-32601))
    );
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let port = serve(&Place::default()).await;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        LINE_BYTES_MAX + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(finish(stream).await.status, 413);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let port = serve_with(&Place::default(), Duration::from_millis(100)).await;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 40\r\n\r\n{{\"jsonrpc\":"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = finish(stream).await;
    assert_eq!(
        (answer.status, &answer.body["error"]["code"]),
        (408, &json!(-32600))
    );
}

#[tokio::test]
async fn an_answer_that_tells_of_a_fault_holds_no_messages() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    for (status, id) in [(500, "lost"), (200, "given")] {
        let page = HandedPage {
            client: place.client(Role::Codex),
            side: Agent::Codex,
            ids: vec![EntryId::new(id)],
            are_read: false,
        };
        let mut response = Response::new(Body::from("{}"));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        let body = reporting(response, Some(page)).into_body();
        assert_eq!(to_bytes(body, 100).await.unwrap(), "{}");
    }
    daemon.seen(|seen| !seen.is_empty()).await;
    let seen = daemon.so_far();
    assert!(
        matches!(&seen[..], [Command::Fetched(fetched)] if fetched.ids == [EntryId::new("given")]),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_tool_call_reaches_the_daemon_with_its_thread() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| {
        Answering::Reply(Reply::Recorded(Recorded {
            entry_id: EntryId::new("e1"),
            seq: Seq(2),
        }))
    })
    .await;
    let port = serve(&place).await;
    let answer = post(port, "", &call(1, "append_note", &json!({"text": "x"}))).await;
    assert_eq!(answer.body["result"]["structuredContent"]["entry_id"], "e1");
    assert!(
        matches!(&daemon.so_far()[..], [Command::AppendNote(note)] if note.agent == Some(Agent::Codex))
    );
}

#[tokio::test]
async fn a_wait_ends_when_it_is_cancelled_or_the_client_hangs_up() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    let port = serve(&place).await;
    let session = "mcp-session-id: s1\r\n";
    let wait = call(5, "wait_for_claude", &json!({"timeout_s": 50}));

    let waiting = open(port, "POST", session, &wait).await;
    daemon.seen(|seen| seen.len() == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}});
    // Another session's call of the same number is another call.
    post(port, "mcp-session-id: s2\r\n", &cancel.to_string()).await;
    assert_eq!(post(port, session, &cancel.to_string()).await.status, 202);
    let cancelled = finish(waiting).await;
    assert_eq!(
        cancelled.body["result"]["structuredContent"]["code"],
        "cancelled"
    );

    let waiting = open(port, "POST", session, &wait).await;
    daemon.seen(|seen| seen.len() == 2).await;
    drop(waiting);
    // The same number can be used again at once, and is a call of its own.
    let again = open(port, "POST", session, &wait).await;
    daemon.seen(|seen| seen.len() == 3).await;
    post(port, session, &cancel.to_string()).await;
    assert_eq!(finish(again).await.status, 200);
    assert!(
        !daemon
            .so_far()
            .iter()
            .any(|command| matches!(command, Command::Fetched(_)))
    );
}

#[tokio::test]
async fn fetched_messages_are_marked_behind_the_answer_that_returns_them() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |command| match command {
        Command::WaitMessages(_) => {
            let message = json!({"messageId": "m1", "seq": 4, "from": "claude", "kind": "message",
                "sentAt": 1, "ageS": 2, "repeat": false, "requireReply": false,
                "inReplyTo": null, "handles": [], "text": "hi"});
            let page = json!({"messages": [message], "unread": 1, "cursor": "4-4",
                "timedOut": false});
            Answering::Reply(Reply::Messages(serde_json::from_value(page).unwrap()))
        }
        // The answer does not wait for the record.
        _ => Answering::Never,
    })
    .await;
    let port = serve(&place).await;
    let answer = post(port, "", &call(5, "wait_for_claude", &json!({}))).await;
    let result = &answer.body["result"]["structuredContent"];
    assert_eq!(result["messages"][0]["text"], "hi");
    daemon.seen(|seen| seen.len() == 2).await;
    let Some(Command::Fetched(fetched)) = daemon.so_far().pop() else {
        panic!("{:?}", daemon.so_far());
    };
    assert_eq!(fetched.ids, [EntryId::new("m1")]);
}

#[tokio::test]
async fn of_two_calls_with_one_number_and_no_session_none_is_cancelled_for_the_other() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    let port = serve(&place).await;
    let wait = call(5, "wait_for_claude", &json!({"timeout_s": 50}));
    let one = open(port, "POST", "", &wait).await;
    let mut two = open(port, "POST", "", &wait).await;
    daemon.seen(|seen| seen.len() == 2).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}})
    .to_string();
    assert_eq!(post(port, "", &cancel).await.status, 202);
    // Nothing has come for either; then one of them hangs up, and the number is unique again.
    let mut answer = [0];
    assert!(two.try_read(&mut answer).is_err());
    drop(one);
    let cancelled = async {
        loop {
            post(port, "", &cancel).await;
            let read = timeout(Duration::from_millis(50), two.read(&mut answer)).await;
            if let Ok(read) = read {
                return read.unwrap();
            }
        }
    };
    assert_eq!(timeout(DEADLINE, cancelled).await.unwrap(), 1);
}

#[tokio::test]
async fn so_many_requests_are_handled_at_once_and_the_next_is_refused() {
    let port = serve(&Place::default()).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let mut unfinished = Vec::new();
    for _ in 0..REQUESTS_MAX {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        // Its body does not come.
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        unfinished.push(stream);
    }
    let refused = loop {
        let answer = post(port, "", &list).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(refused.status, 503);
    assert_eq!(
        refused.body["error"]["message"],
        "more than 256 requests at once"
    );
    drop(unfinished);
    while post(port, "", &list).await.status != 200 {}
}
