#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;

async fn read(text: &str) -> (Banner, String) {
    let mut last = String::new();
    let banner = banner(&mut text.as_bytes(), &mut last).await;
    (banner, last)
}

#[tokio::test]
async fn the_port_is_read_from_the_banner() {
    let text = "ERROR codex_app_server: Codex could not find bubblewrap on PATH.\n\
                codex app-server (WebSockets)\n  listening on: ws://127.0.0.1:36941\n";
    assert_eq!(read(text).await.0, Banner::Listening(36941));
}

#[tokio::test]
async fn settings_that_would_be_dropped_are_a_failed_start() {
    let text = "\u{1b}[31mERROR\u{1b}[0m Invalid configuration; using defaults. url is not supported\n\
                  listening on: ws://127.0.0.1:4500\n";
    assert_eq!(read(text).await.0, Banner::InvalidConfiguration);
}

#[tokio::test]
async fn a_taken_port_is_told_apart_from_other_ends() {
    assert_eq!(
        read("Error: Address in use (os error 98)\n").await.0,
        Banner::PortTaken
    );
    let said = "WARNING: proceeding\nerror: unexpected argument '--ws-auth'\u{7} found\n\n  tip: a \
                similar argument exists: '--auth'\n\nUsage: codex app-server [OPTIONS]\n\nFor more \
                information, try '--help'.\n";
    let (banner, last) = read(said).await;
    assert_eq!(banner, Banner::Ended);
    assert_eq!(last, "error: unexpected argument '--ws-auth' found");
    // Another end says last what was wrong.
    let said = "ERROR codex_app_server: no bubblewrap\nError: no home\n";
    assert_eq!(read(said).await.1, "Error: no home");
}

#[tokio::test]
async fn a_line_without_an_end_is_read_in_pieces() {
    let text = format!(
        "{}\n  listening on: ws://127.0.0.1:7\n",
        "x".repeat(100_000)
    );
    assert_eq!(read(&text).await.0, Banner::Listening(7));
}

#[test]
fn tokens_differ_and_are_long() {
    let (one, two) = (fresh_token(), fresh_token());
    assert_eq!(one.len(), 64);
    assert_ne!(one, two);
}

#[test]
fn an_upstream_does_not_print_its_token() {
    let upstream = Upstream {
        port: 1,
        token: "secret".to_owned(),
    };
    assert!(!format!("{upstream:?}").contains("secret"));
}
