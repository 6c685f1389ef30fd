#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

const PORT: u16 = 4501;

fn head(lines: &[&str]) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n")).into_bytes()
}

/// What the real terminal sends (Codex 0.169.0, observed).
const TERMINAL: [&str; 7] = [
    "Host: 127.0.0.1:4501",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "authorization: Bearer secret",
    "x-codex-app-server-compression: zstd-stream-v1",
];

fn with(change: impl Fn(&mut Vec<&str>)) -> Result<Upgrade, ProxyRefusal> {
    let mut lines = TERMINAL.to_vec();
    change(&mut lines);
    check(&head(&lines), PORT, "secret")
}

#[test]
fn the_terminals_request_goes_on_with_the_other_token_and_without_compression() {
    let upgrade = with(|_| {}).unwrap();
    let upstream = Upstream {
        port: 4500,
        token: "inner".to_owned(),
    };
    let text = String::from_utf8(upgrade.rebuilt(&upstream)).unwrap();
    assert_eq!(
        text,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:4500\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer inner\r\n\r\n"
    );
}

#[test]
fn every_other_request_is_refused_for_its_own_reason() {
    let cases: [(&str, ProxyRefusal, Result<Upgrade, ProxyRefusal>); 10] = [
        (
            "wrong token",
            ProxyRefusal::Token,
            with(|l| l[5] = "authorization: Bearer secreT"),
        ),
        (
            "no token",
            ProxyRefusal::Token,
            with(|l| {
                l.remove(5);
            }),
        ),
        (
            "two tokens",
            ProxyRefusal::Token,
            with(|l| l.push("Authorization: Bearer secret")),
        ),
        (
            "origin",
            ProxyRefusal::Origin,
            with(|l| l.push("Origin: http://127.0.0.1:4501")),
        ),
        (
            "rebound name",
            ProxyRefusal::Host,
            with(|l| l[0] = "Host: evil.example:4501"),
        ),
        (
            "other port",
            ProxyRefusal::Host,
            with(|l| l[0] = "Host: 127.0.0.1:4500"),
        ),
        (
            "two hosts",
            ProxyRefusal::Host,
            with(|l| l.push("Host: 127.0.0.1:4501")),
        ),
        (
            "no upgrade",
            ProxyRefusal::NotFound,
            with(|l| {
                l.remove(2);
            }),
        ),
        (
            "a body",
            ProxyRefusal::Malformed,
            with(|l| l.push("Content-Length: 5")),
        ),
        (
            "folded line",
            ProxyRefusal::Malformed,
            with(|l| l.push(" continued")),
        ),
    ];
    for (name, wanted, got) in cases {
        assert_eq!(got.unwrap_err(), wanted, "{name}");
    }
}

#[test]
fn a_header_that_hides_a_line_is_malformed() {
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:4501\nauthorization: x\r\n\r\n".as_slice(),
        b"GET / HTTP/1.1\r\nHost : 127.0.0.1:4501\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: 127.0.0.1:4501\r\n\r\n",
        b"GET / x HTTP/1.1\r\nHost: 127.0.0.1:4501\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
        b"\r\n\r\n",
    ] {
        assert_eq!(
            check(bytes, PORT, "secret").unwrap_err(),
            ProxyRefusal::Malformed
        );
    }
}

#[test]
fn an_empty_token_lets_nobody_in() {
    let lines = [
        "Host: localhost:4501",
        "Upgrade: websocket",
        "authorization: Bearer ",
    ];
    assert_eq!(
        check(&head(&lines), PORT, "").unwrap_err(),
        ProxyRefusal::Token
    );
}

#[tokio::test]
async fn a_head_is_read_up_to_its_end_wherever_the_reads_are_cut() {
    let mut bytes = head(&TERMINAL);
    bytes.extend_from_slice(b"frames");
    for cut in 1..bytes.len() {
        let mut stream = tokio_test_reader(&bytes, cut);
        let read = read_head(&mut stream).await.unwrap();
        assert_eq!(read.bytes, head(&TERMINAL));
        assert!(b"frames".starts_with(&read.rest));
    }
}

/// Gives the bytes in two pieces.
fn tokio_test_reader(bytes: &[u8], cut: usize) -> impl AsyncRead + Unpin + use<> {
    use tokio::io::AsyncReadExt as _;
    let (first, second) = bytes.split_at(cut);
    std::io::Cursor::new(first.to_vec()).chain(std::io::Cursor::new(second.to_vec()))
}

#[tokio::test]
async fn a_head_without_an_end_is_given_up() {
    let long = vec![b'a'; HEAD_BYTES_MAX + 2000];
    assert_eq!(
        read_head(&mut long.as_slice()).await.unwrap_err(),
        ProxyRefusal::TooLarge
    );
    assert_eq!(
        read_head(&mut b"GET /".as_slice()).await.unwrap_err(),
        ProxyRefusal::Malformed
    );
}
