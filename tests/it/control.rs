//! The control port from outside: who is let in, and what bad input costs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::daemon::Daemon;
use crate::support::http;
use crate::support::mcp::McpClient;
use crate::support::operator::{self, Operator};
use crate::support::project::Project;
use crate::support::wait::{poll_until, timeout, wait_until};
use crate::support::ws::{Refused, RpcSocket};

fn hello(socket: &mut RpcSocket) {
    socket.expect(
        "hello",
        json!({"protocol": 1, "role": "cli", "pid": std::process::id()}),
    );
}

fn url(project: &Project) -> String {
    format!("ws://127.0.0.1:{}/ws", project.ports.control)
}

#[test]
fn only_the_right_token_comes_in_and_wrong_ones_lock_nobody_out() {
    let project = Project::live();
    for token in [None, Some("0".repeat(64)), Some(String::new())] {
        for _ in 0..100 {
            let refused = RpcSocket::open(&url(&project), token.as_deref(), &[]).unwrap_err();
            assert!(
                matches!(refused, Refused::Status(401, _)),
                "{token:?}: {refused:?}"
            );
        }
    }
    hello(&mut project.control().unwrap());
}

#[test]
fn a_browser_page_is_refused_whatever_it_knows() {
    let project = Project::live();
    let token = project.token();
    for origin in ["http://evil.example", "null", "http://127.0.0.1"] {
        let refused =
            RpcSocket::open(&url(&project), Some(&token), &[("origin", origin)]).unwrap_err();
        assert!(matches!(refused, Refused::Status(403, _)), "{refused:?}");
    }
    let refused =
        RpcSocket::open(&url(&project), Some(&token), &[("host", "evil.example")]).unwrap_err();
    assert!(matches!(refused, Refused::Status(403, _)), "{refused:?}");
}

#[test]
fn the_open_paths_say_nothing() {
    let project = Project::live();
    let answer = http::get(project.ports.control, "/healthz", &[]).unwrap();
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, r#"{"ok":true}"#)
    );
    assert_eq!(
        http::get(project.ports.control, "/metrics", &[])
            .unwrap()
            .status,
        401
    );
    assert_eq!(
        http::get(project.ports.control, "/", &[]).unwrap().status,
        404
    );
    assert_eq!(
        http::get(project.ports.control, "/viewer", &[])
            .unwrap()
            .status,
        404
    );
}

#[test]
fn metrics_carry_the_published_names() {
    let project = Project::live();
    let bearer = format!("Bearer {}", project.token());
    let asked = |accept: &str| {
        let headers = [("authorization", bearer.as_str()), ("accept", accept)];
        let port = project.ports.control;
        http::request(port, "GET", "/metrics", &headers, "").unwrap()
    };
    let ask = || asked("text/plain;q=0.5, application/openmetrics-text; version=1.0.0");
    // It may be asked before the start's first entry is on the disk, and before the loop is through
    // with the event that says so.
    let answer = wait_until("the first entry", timeout(), || {
        let answer = ask();
        let is_empty = answer.body.contains("contextrelay_ledger_writes_total 0\n");
        let is_counted = answer.body.contains("event=\"durable\"");
        (answer.status != 200 || (!is_empty && is_counted)).then_some(answer)
    });
    assert_eq!(answer.status, 200);
    for name in [
        "contextrelay_ledger_writes_total",
        "contextrelay_codex_messages_total",
        "contextrelay_idle_opportunities_detected_total",
        // How long the loop was busy, with the start's first events among them.
        "ctxrelay_loop_busy_seconds_bucket",
        "ctxrelay_loop_busy_longest_seconds{event=\"durable\"}",
    ] {
        assert!(answer.body.contains(name), "{name} in {}", answer.body);
    }
    assert!(answer.body.ends_with("# EOF\n"));
    // Who does not know that form gets the one before it.
    let plain = asked("*/*").body;
    let counter =
        "# TYPE contextrelay_ledger_writes_total counter\ncontextrelay_ledger_writes_total ";
    assert!(plain.contains(counter), "{plain}");
    let gauge = "# TYPE ctxrelay_ledger_bytes gauge\nctxrelay_ledger_bytes ";
    assert!(plain.contains(gauge), "{plain}");
    assert!(
        !plain.contains("# EOF") && !plain.contains("# UNIT"),
        "{plain}"
    );
}

#[test]
fn each_of_many_requests_that_are_refused_at_once_is_answered() {
    const ASKED: usize = 3_000;
    let project = Project::live();
    let mut socket = project.control().unwrap();
    hello(&mut socket);
    let ids: Vec<_> = (0..ASKED)
        .map(|_| socket.begin("no/such", json!({})))
        .collect();
    let last = ids.last().unwrap();
    socket.take("the last answer", |frame| frame["id"] == *last);
    let refused = socket.count(|frame| frame["error"]["code"] == -32601);
    assert_eq!(refused, ASKED - 1);
}

#[test]
fn bad_frames_get_an_answer_and_the_connection_lives() {
    let project = Project::live();
    let mut socket = project.control().unwrap();
    let early = socket.call("status/read", json!({})).unwrap_err();
    assert_eq!(early.data["code"], "no_hello");
    hello(&mut socket);

    socket.send_text("{not json");
    let answer = socket.take("a parse error", |frame| frame["error"]["code"] == -32700);
    assert!(answer["id"].is_null());
    socket.send_text("[1,2,3]");
    socket.take("an invalid request", |frame| {
        frame["error"]["code"] == -32600
    });
    socket.send_message(Message::binary(vec![0, 159, 146, 150]));
    socket.take("a refusal of binary", |frame| {
        frame["error"]["code"] == -32600
    });
    for (frame, id) in [
        ("[]", json!(null)),
        ("{}", json!(null)),
        (r#"{"method":"status/read"}"#, json!(null)),
        (r#"{"id":77}"#, json!(77)),
    ] {
        socket.send_text(frame);
        let answer = socket.take(frame, |answer| answer["error"]["code"] == -32600);
        assert_eq!(answer["id"], id, "{frame}");
    }
    let unknown = socket.call("no/such", json!({})).unwrap_err();
    assert_eq!(unknown.code, -32601);
    let mistyped = json!({"from": "codex", "text": "t", "onBusy": "stear"});
    let mistyped = socket.call("message/send", mistyped).unwrap_err();
    assert_eq!(mistyped.code, -32602, "{mistyped:?}");
    assert!(mistyped.message.contains("stear"), "{mistyped:?}");
    let wrong = socket
        .call("note/append", json!({"agent": "claude", "text": 7}))
        .unwrap_err();
    assert_eq!(wrong.code, -32602);
    let deep = format!(
        r#"{{"id":9,"method":"status/read","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    socket.send_text(&deep);
    let answer = socket.take("an answer to the deep one", |frame| frame["id"] == 9);
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(socket.call("status/read", json!({})).is_ok());
}

#[test]
fn an_oversized_frame_ends_its_own_connection_only() {
    let project = Project::live();
    let mut good = project.control().unwrap();
    hello(&mut good);
    let mut bad = project.agent("codex");
    bad.send_text(&format!(
        r#"{{"id":1,"method":"note/append","params":{{"agent":"codex","text":"{}"}}}}"#,
        "x".repeat(9 * 1024 * 1024)
    ));
    bad.wait_closed();
    assert!(good.call("status/read", json!({})).is_ok());
}

#[test]
fn a_text_over_the_limit_is_refused_whole() {
    let project = Project::live();
    let mut socket = project.agent("codex");
    // Behind it all that the start tells is in the file.
    socket.expect("note/append", json!({"agent": "codex", "text": "begun"}));
    let before = project.ledger().len();
    let refused = socket
        .call(
            "note/append",
            json!({"agent": "codex", "text": "é".repeat(1_000_001)}),
        )
        .unwrap_err();
    assert_eq!(refused.data["code"], "too_large");
    assert_eq!(project.ledger().len(), before);
    socket.expect(
        "note/append",
        json!({"agent": "codex", "text": "é".repeat(1_000_000)}),
    );
}

#[test]
fn a_reader_that_stops_reading_slows_nobody() {
    let project = Project::live();
    let mut deaf = project.control().unwrap();
    hello(&mut deaf);
    deaf.expect("entries/subscribe", json!({}));
    let mut writer = project.agent("codex");
    for n in 0..600 {
        writer.expect(
            "note/append",
            json!({"agent": "codex", "text": format!("{n} {}", "y".repeat(20_000))}),
        );
    }
    // The slow one is told how much it missed, or got everything: both are honest.
    let seen = deaf.take("entries or a lag", |frame| {
        frame["method"] == "entry/appended" || frame["method"] == "reader/lagged"
    });
    assert!(seen["params"].is_object());
}

#[test]
fn two_clients_may_use_the_same_request_id() {
    let project = Project::live();
    let (mut one, mut two) = (project.control().unwrap(), project.control().unwrap());
    hello(&mut one);
    hello(&mut two);
    let (a, b) = (
        one.begin("status/read", json!({})),
        two.begin("queue/list", json!({})),
    );
    assert_eq!(a, b);
    assert_eq!(one.response(&a).unwrap()["kind"], "status");
    assert_eq!(two.response(&b).unwrap()["kind"], "queue");
}

#[test]
fn clients_beyond_the_bound_are_told_so_and_the_operator_still_comes_in() {
    let project = Project::live();
    raise_descriptors();
    let mut clients = Vec::new();
    let refused = loop {
        let mut socket = project.control().unwrap();
        let greeting = json!({"protocol": 1, "role": "cli", "pid": std::process::id()});
        match socket.call("hello", greeting) {
            Ok(_) => clients.push(socket),
            Err(refused) => break refused,
        }
        assert!(clients.len() < 2_000, "nobody is ever refused");
    };
    assert_eq!(refused.data["code"], "too_many_clients", "{refused:?}");
    assert!(refused.message.contains("clients are connected already"));
    Operator::connect(&project)
        .call("status/read", json!({}))
        .unwrap();
    // Whoever leaves makes room.
    drop(clients.pop());
    let came_in = poll_until(timeout(), || {
        let greeting = json!({"protocol": 1, "role": "cli", "pid": std::process::id()});
        let mut socket = project.control().unwrap();
        socket.call("hello", greeting).ok()
    });
    assert!(came_in.is_some(), "a place that was given up stays taken");
}

#[test]
fn the_operators_socket_takes_no_larger_frame_than_the_port_and_says_so() {
    let project = Project::live();
    let socket = UnixStream::connect(operator::socket(&project)).unwrap();
    socket.set_read_timeout(Some(timeout())).unwrap();
    let (mut ws, _) = tokio_tungstenite::tungstenite::client("ws://operator/", socket).unwrap();
    // The head of a frame of 9 MiB alone, before any hello: text, whole, masked, and its length.
    let mut head = vec![0x81, 0xff];
    head.extend((9_u64 << 20).to_be_bytes());
    head.extend([0; 4]);
    ws.get_mut().write_all(&head).unwrap();
    let Message::Close(Some(close)) = ws.read().unwrap() else {
        panic!("no close");
    };
    assert_eq!(close.code, CloseCode::Size);
}

/// This process needs a descriptor for each connection.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// Silent connections to all doors, held by this test.
struct Silent {
    tcp: Vec<TcpStream>,
    unix: Vec<UnixStream>,
}

/// How many; far more than the soft limit that the daemon of the test is started with.
const SILENT: usize = 1_000;

impl Silent {
    fn open(project: &Project) -> Self {
        raise_descriptors();
        let socket = operator::socket(project);
        let ports = [project.ports.control, project.ports.proxy];
        let tcp = ports.into_iter().flat_map(|port| {
            (0..SILENT).map(move |n| {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                // Half of them begin a request that never ends. One that was ended is silent enough.
                if n % 2 == 0 {
                    let _ = stream.write_all(b"GET /ws HTTP/1.1\r\nHost: ");
                }
                stream
            })
        });
        let tcp = tcp.collect();
        let unix = (0..SILENT).map(|_| UnixStream::connect(&socket).unwrap());
        Self {
            tcp,
            unix: unix.collect(),
        }
    }

    /// Waits until the daemon has ended all of them.
    #[track_caller]
    fn wait_closed(self) {
        for mut stream in self.tcp {
            stream.set_read_timeout(Some(timeout())).unwrap();
            expect_end(stream.read(&mut [0; 512]));
        }
        for mut stream in self.unix {
            stream.set_read_timeout(Some(timeout())).unwrap();
            expect_end(stream.read(&mut [0; 512]));
        }
    }
}

/// The end, or an answer that says why.
#[track_caller]
fn expect_end(read: std::io::Result<usize>) {
    let kind = read.err().map(|error| error.kind());
    assert_ne!(kind, Some(std::io::ErrorKind::WouldBlock), "still open");
}

#[test]
fn a_thousand_silent_connections_to_each_door_keep_nobody_out() {
    let project = Project::new();
    // The soft limit that the service starts with would not do for a third of them.
    let launch = project.program("/bin/sh").envs(project.env()).args([
        "-c",
        "ulimit -Sn 300; exec \"$0\" daemon",
        env!("CARGO_BIN_EXE_ctxrelay"),
    ]);
    let _daemon = Daemon::start(&launch);
    let mut before = project.agent("codex");
    let begun = Instant::now();
    let silent = Silent::open(&project);
    // Who was there works, and who comes gets in, also as the operator.
    before.expect(
        "note/append",
        json!({"agent": "codex", "text": "still here"}),
    );
    for _ in 0..20 {
        hello(&mut project.control().unwrap());
    }
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "in spite of all that"}));
    Operator::connect(&project)
        .call("status/read", json!({}))
        .unwrap();
    assert_eq!(project.run(["doctor", "--json"]).json()["ok"], true);
    // A terminal's token is looked at: no Codex is here to go on with.
    let answer = at_proxy(&project);
    assert!(
        answer.contains("codex app-server is not running"),
        "{answer}"
    );
    silent.wait_closed();
    before.expect("status/read", json!({}));
    let log = std::fs::read_to_string(project.state().join("state/contextrelay.log")).unwrap();
    let told = log.matches("refused a connection").count() as u64;
    let minutes = begun.elapsed().as_secs() / 60;
    assert!(
        (1..=1 + minutes).contains(&told),
        "one line a minute: {log}"
    );
}

/// What the proxy says to a terminal with the token.
fn at_proxy(project: &Project) -> String {
    let token = project.read(".contextrelay/state/proxy-token");
    let port = project.ports.proxy;
    let mut terminal = TcpStream::connect(("127.0.0.1", port)).unwrap();
    terminal.set_read_timeout(Some(timeout())).unwrap();
    let head = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer {}\r\n\r\n",
        token.trim()
    );
    terminal.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    terminal.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_second_daemon_steps_back() {
    let project = Project::new();
    let daemon = project.daemon();
    let second = project.run(["daemon"]);
    assert_ne!(second.code(), 0);
    assert!(
        second.stderr.contains("another process hosts"),
        "{}",
        second.stderr
    );
    hello(&mut project.control().unwrap());
    let finished = daemon.stop();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
}

#[test]
fn a_taken_port_is_named_with_the_way_out() {
    let project = Project::new();
    let _stranger = std::net::TcpListener::bind(("127.0.0.1", project.ports.control)).unwrap();
    let finished = project.run(["daemon"]);
    assert_eq!(finished.code(), 3);
    let port = project.ports.control.to_string();
    assert!(finished.stderr.contains(&port), "{}", finished.stderr);
}
