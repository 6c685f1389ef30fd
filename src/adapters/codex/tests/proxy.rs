#![allow(clippy::unwrap_used, reason = "tests")]
use std::sync::atomic::AtomicBool;

use super::lobby::LOBBY_MAX;
use super::*;
use crate::adapters::test_log::TestLog;

const TOKEN: &str = "secret";

struct Bench {
    port: u16,
    facts: mpsc::Receiver<CodexFact>,
    wishes: mpsc::Receiver<()>,
    upstream: watch::Sender<Option<Upstream>>,
    app_server: TcpListener,
    release: CancellationToken,
    serving: tokio::task::JoinHandle<Vec<PassedTerminal>>,
}

async fn bench() -> Bench {
    bench_with(Waits::default()).await
}

async fn bench_with(waits: Waits) -> Bench {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let app_server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (facts, told) = mpsc::channel(64);
    let (wanted, wishes) = mpsc::channel(1);
    let (sender, upstream) = watch::channel(None);
    let release = CancellationToken::new();
    let proxy = Proxy {
        token: TOKEN.to_owned(),
        upstream,
        wanted,
        facts,
        waits,
        release: release.clone(),
    };
    let serving = tokio::spawn(Arc::new(proxy).serve(listener, Vec::new()));
    let bench = Bench {
        port,
        facts: told,
        wishes,
        upstream: sender,
        app_server,
        release,
        serving,
    };
    bench.app_server_is_up();
    bench
}

impl Bench {
    fn app_server_is_up(&self) {
        let port = self.app_server.local_addr().unwrap().port();
        let token = "inner".to_owned();
        self.upstream.send_replace(Some(Upstream { port, token }));
    }

    fn head(&self, extra: &str) -> String {
        format!(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{extra}\r\n",
            self.port
        )
    }

    async fn connect(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    /// The first line of the answer to these bytes.
    async fn status(&self, bytes: &[u8]) -> String {
        let mut answer = String::new();
        let mut stream = self.connect(bytes).await;
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }

    /// Lets a terminal in and returns both ends.
    async fn attached(&mut self, rest: &[u8]) -> (TcpStream, TcpStream, String) {
        let mut bytes = self
            .head(&format!("authorization: Bearer {TOKEN}\r\n"))
            .into_bytes();
        bytes.extend_from_slice(rest);
        let terminal = self.connect(&bytes).await;
        let (mut server, _) = self.app_server.accept().await.unwrap();
        let head = read_head(&mut server).await.unwrap();
        assert!(rest.starts_with(&head.rest));
        let mut missing = vec![0; rest.len() - head.rest.len()];
        server.read_exact(&mut missing).await.unwrap();
        server
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            .await
            .unwrap();
        (terminal, server, String::from_utf8(head.bytes).unwrap())
    }
}

#[tokio::test]
async fn bytes_pass_untouched_in_both_directions() {
    let mut bench = bench().await;
    let (mut terminal, mut server, head) = bench.attached(b"\x81early").await;
    assert!(head.contains("Authorization: Bearer inner\r\n"));
    assert!(!head.contains(TOKEN));
    let fact = bench.facts.recv().await;
    let Some(CodexFact::Tui {
        attached: true,
        pid,
    }) = fact
    else {
        panic!("{fact:?}");
    };
    if cfg!(target_os = "linux") {
        assert_eq!(pid, Some(std::process::id()));
    }
    let mut answer = [0; 36];
    terminal.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101 Switching Protocols\r\n\r\n");

    // More than any buffer on the way, and every byte there is.
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n * 7 % 256) as u8).collect();
    for swap in [false, true] {
        let (from, to) = if swap {
            (&mut terminal, &mut server)
        } else {
            (&mut server, &mut terminal)
        };
        let mut received = vec![0; sent.len()];
        let (written, read) = tokio::join!(from.write_all(&sent), to.read_exact(&mut received));
        written.unwrap();
        read.unwrap();
        assert!(received == sent);
    }
    drop(terminal);
    assert_eq!(
        bench.facts.recv().await,
        Some(CodexFact::Tui {
            attached: false,
            pid: None
        })
    );
}

#[tokio::test]
async fn the_terminal_hears_of_the_end_of_the_app_server() {
    let mut bench = bench().await;
    let (mut terminal, server, _) = bench.attached(b"").await;
    drop(server);
    let mut rest = Vec::new();
    terminal.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
}

#[tokio::test]
async fn nobody_else_gets_in() {
    let bench = bench().await;
    let token = format!("authorization: Bearer {TOKEN}\r\n");
    let twice = format!("{token}Authorization: Bearer {TOKEN}\r\n");
    let cases = [
        (
            bench.head("authorization: Bearer wrong\r\n"),
            "HTTP/1.1 401 Unauthorized",
        ),
        (bench.head(""), "HTTP/1.1 401 Unauthorized"),
        (bench.head(&twice), "HTTP/1.1 401 Unauthorized"),
        (
            bench.head(&format!("{token}Origin: http://x\r\n")),
            "HTTP/1.1 403 Forbidden",
        ),
        (
            bench
                .head(&token)
                .replace("Host: 127.0.0.1", "Host: evil.example"),
            "HTTP/1.1 403 Forbidden",
        ),
        (
            format!(
                "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
                bench.port
            ),
            "HTTP/1.1 404 Not Found",
        ),
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400 Bad Request"),
        (
            format!("GET / HTTP/1.1\r\n{}", "x".repeat(17_000)),
            "HTTP/1.1 431 Request Header Fields Too Large",
        ),
    ];
    for (request, status) in cases {
        assert_eq!(
            bench.status(request.as_bytes()).await,
            status,
            "{request:.300}"
        );
    }
}

#[tokio::test]
async fn wrong_tokens_are_told_in_sum_and_do_not_lock_out_a_good_one() {
    let mut bench = bench().await;
    for _ in 0..100 {
        bench
            .status(bench.head("authorization: Bearer wrong\r\n").as_bytes())
            .await;
    }
    assert_eq!(
        bench.facts.recv().await,
        Some(CodexFact::ProxyRefused {
            count: 1,
            is_full: false
        })
    );
    let (_terminal, _server, _) = bench.attached(b"").await;
    let fact = bench.facts.recv().await;
    assert!(
        matches!(
            fact,
            Some(CodexFact::Tui { attached: true, .. } | CodexFact::ProxyRefused { .. })
        ),
        "{fact:?}"
    );
}

#[tokio::test]
async fn silent_connections_keep_no_terminal_out_and_the_oldest_of_them_make_room() {
    // None of them is late, however slowly they come.
    let mut bench = bench_with(Waits {
        head: Duration::from_secs(600),
        room: Duration::from_secs(600),
        ..Waits::default()
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..LOBBY_MAX + TERMINALS_MAX {
        silent.push(bench.connect(b"GET / HTTP/1.1\r\n").await);
    }
    let mut said = String::new();
    silent[0].read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");
    let told = bench.facts.recv().await;
    assert!(
        matches!(told, Some(CodexFact::ProxyRefused { is_full: true, .. })),
        "{told:?}"
    );
    // A wrong token is counted for itself.
    let wrong = bench.head("authorization: Bearer wrong\r\n");
    bench.status(wrong.as_bytes()).await;
    let of_token = loop {
        match bench.facts.recv().await.unwrap() {
            CodexFact::ProxyRefused {
                count,
                is_full: false,
            } => break count,
            CodexFact::ProxyRefused { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(of_token, 1);
    let (_terminal, _server, _) = bench.attached(b"").await;
}

#[tokio::test]
async fn once_nobody_is_one_too_many_any_more_there_is_said_to_be_room() {
    let mut bench = bench_with(Waits {
        room: Duration::from_millis(50),
        ..Waits::default()
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..LOBBY_MAX + TERMINALS_MAX {
        silent.push(bench.connect(b"GET / HTTP/1.1\r\n").await);
    }
    let told = bench.facts.recv().await;
    assert!(
        matches!(told, Some(CodexFact::ProxyRefused { is_full: true, .. })),
        "{told:?}"
    );
    drop(silent);
    let behind = loop {
        match bench.facts.recv().await {
            // Those that took longer than a second to come.
            Some(CodexFact::ProxyRefused { is_full: true, .. }) => {}
            behind => break behind,
        }
    };
    assert_eq!(behind, Some(CodexFact::ProxyHasRoom));
}

#[tokio::test]
async fn of_too_many_terminals_the_last_is_told_why_and_the_others_stay() {
    let mut bench = bench().await;
    let mut there = Vec::new();
    for _ in 0..TERMINALS_MAX {
        there.push(bench.attached(b"").await);
    }
    let head = bench.head(&format!("authorization: Bearer {TOKEN}\r\n"));
    let refused = bench.status(head.as_bytes()).await;
    assert_eq!(refused, "HTTP/1.1 503 Service Unavailable");
    let (terminal, server, _) = &mut there[0];
    let mut answer = [0; 36];
    terminal.read_exact(&mut answer).await.unwrap();
    server.write_all(b"still").await.unwrap();
    let mut still = [0; 5];
    terminal.read_exact(&mut still).await.unwrap();
    assert_eq!(&still, b"still");
}

/// A log that panics where it is to hold this, once.
struct PanicsAt(&'static str, Arc<AtomicBool>);

impl io::Write for PanicsAt {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let is_it = String::from_utf8_lossy(line).contains(self.0);
        assert!(!is_it || self.1.swap(true, Ordering::SeqCst), "a test's");
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_terminal_whose_connection_panics_has_left_and_the_next_one_comes_in() {
    let mut bench = bench().await;
    let has_panicked = Arc::new(AtomicBool::default());
    let log = move || PanicsAt("a terminal is connected", Arc::clone(&has_panicked));
    let _logged = TestLog::to(log);
    let (mut terminal, _server, _) = bench.attached(b"").await;
    let came = bench.facts.recv().await;
    assert!(
        matches!(came, Some(CodexFact::Tui { attached: true, .. })),
        "{came:?}"
    );
    assert_eq!(bench.facts.recv().await, Some(CodexFact::TerminalFailed));
    let left = CodexFact::Tui {
        attached: false,
        pid: None,
    };
    assert_eq!(bench.facts.recv().await, Some(left));
    let mut rest = Vec::new();
    terminal.read_to_end(&mut rest).await.unwrap();
    let (_terminal, _server, _) = bench.attached(b"").await;
    let came = bench.facts.recv().await;
    assert!(
        matches!(came, Some(CodexFact::Tui { attached: true, .. })),
        "{came:?}"
    );
}

#[tokio::test]
async fn a_terminal_waits_for_an_app_server_that_it_asked_for() {
    let mut bench = bench().await;
    bench.upstream.send_replace(None);
    let head = bench.head(&format!("authorization: Bearer {TOKEN}\r\n"));
    let _terminal = bench.connect(head.as_bytes()).await;
    assert_eq!(bench.wishes.recv().await, Some(()));
    bench.app_server_is_up();
    let (mut server, _) = bench.app_server.accept().await.unwrap();
    assert!(read_head(&mut server).await.is_ok());
}

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_terminal_is_told_when_there_is_no_app_server() {
    let bench = bench_with(Waits {
        app_server: SHORT,
        ..Waits::default()
    })
    .await;
    bench.upstream.send_replace(None);
    let head = bench.head(&format!("authorization: Bearer {TOKEN}\r\n"));
    assert_eq!(
        bench.status(head.as_bytes()).await,
        "HTTP/1.1 503 Service Unavailable"
    );
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let bench = bench_with(Waits {
        head: SHORT,
        ..Waits::default()
    })
    .await;
    assert_eq!(
        bench.status(b"GET / HTTP/1.1\r\n").await,
        "HTTP/1.1 408 Request Timeout"
    );
}

/// Another process's proxy, on a port that nobody comes to.
async fn heir(passed: Vec<PassedTerminal>) -> mpsc::Receiver<CodexFact> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (facts, told) = mpsc::channel(64);
    let proxy = Proxy {
        token: TOKEN.to_owned(),
        upstream: watch::channel(None).1,
        wanted: mpsc::channel(1).0,
        facts,
        waits: Waits::default(),
        release: CancellationToken::new(),
    };
    tokio::spawn(Arc::new(proxy).serve(listener, passed));
    told
}

#[tokio::test]
async fn a_terminal_goes_on_elsewhere_without_missing_a_byte() {
    let mut bench = bench().await;
    let (mut terminal, mut server, _) = bench.attached(b"").await;
    let mut answer = [0; 36];
    terminal.read_exact(&mut answer).await.unwrap();
    let sent: Vec<u8> = (0..10_000_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let mut received = vec![0; sent.len()];
    let passing = async {
        // Not read at first, so that something is under way when the proxy is released.
        bench.release.cancel();
        let passed = bench.serving.await.unwrap();
        assert_eq!(passed.len(), 1);
        let unwritten = serde_json::to_vec(&passed[0].unwritten).unwrap();
        let passed = passed.into_iter().map(|terminal| PassedTerminal {
            unwritten: serde_json::from_slice(&unwritten).unwrap(),
            ..terminal
        });
        let told = heir(passed.collect()).await;
        server.read_exact(&mut received).await.unwrap();
        server.write_all(b"from below").await.unwrap();
        told
    };
    let (written, mut told) = tokio::join!(terminal.write_all(&sent), passing);
    written.unwrap();
    assert!(received == sent);
    let mut below = [0; 10];
    terminal.read_exact(&mut below).await.unwrap();
    assert_eq!(&below, b"from below");
    // The one before never says that it left.
    while let Ok(fact) = bench.facts.try_recv() {
        assert!(matches!(fact, CodexFact::Tui { attached: true, .. }));
    }
    let fact = told.recv().await;
    assert!(matches!(fact, Some(CodexFact::Tui { attached: true, .. })));
    drop(terminal);
    let fact = told.recv().await;
    assert!(matches!(
        fact,
        Some(CodexFact::Tui {
            attached: false,
            ..
        })
    ));
}

#[tokio::test]
async fn who_is_not_through_when_the_proxy_is_released_is_not_passed_on() {
    let bench = bench().await;
    let _slow = bench.connect(b"GET / HTTP/1.1\r\n").await;
    bench.release.cancel();
    assert!(bench.serving.await.unwrap().is_empty());
}
