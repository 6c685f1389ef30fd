use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::*;
use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::store::testing::Place;

fn takeover(place: &Place) -> Takeover {
    let port = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (control, proxy) = (port(), port());
    let at = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let socket = place.dir.path().join("operator.sock");
    let (requests, _) = tokio::sync::mpsc::channel(1);
    Takeover {
        detached: true,
        publisher: None,
        lock: OwnerLock::try_acquire(&place.dirs).unwrap().unwrap(),
        endpoints: Endpoints {
            ports: Ports {
                codex: 1,
                proxy: at(&proxy),
                control: at(&control),
            },
            control: control.into(),
            proxy: proxy.into(),
            operator: std::os::unix::net::UnixListener::bind(socket)
                .unwrap()
                .into(),
            mcp_token: "the secret of mcp".to_owned(),
        },
        loop_state: LoopState {
            codex: Passed::default(),
            known: CarriedState {
                lane: CodexLane::new(CodexHandle { requests }, CompactionHook::default()).carried(),
                agents: vec![(4711, Some("then".to_owned())), (4712, None)],
                recent_writes: RecentWrites::default(),
                claudes: CarriedClaudes::default(),
            },
        },
    }
}

fn sockets() -> (StdUnixStream, StdUnixStream) {
    StdUnixStream::pair().unwrap()
}

#[tokio::test]
async fn everything_arrives_and_nothing_is_free_in_between() {
    let place = Place::new();
    let moved = place.dir.path().join("moved");
    let moved = ProjectDirs::new(place.dirs.root.clone(), Some(moved));
    moved.create().unwrap();
    let takeover = takeover(&place);
    let (ours, theirs) = sockets();
    takeover.send(&ours).unwrap();
    // The sender dies here.
    let ports = takeover.endpoints.ports;
    takeover.leave();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    // Who comes now waits for the receiver.
    let early = TcpStream::connect(("127.0.0.1", ports.control)).unwrap();
    let received = Takeover::receive(&theirs, &place.dirs).unwrap();
    assert_eq!(received.endpoints.ports, ports);
    assert_eq!(received.endpoints.mcp_token, "the secret of mcp");
    assert_eq!(received.loop_state.known.agents.len(), 2);
    assert!(!format!("{received:?}").contains("the secret"));
    let listeners = received.endpoints.listen().unwrap();
    let (_, peer) = listeners.control.accept().await.unwrap();
    assert_eq!(peer, early.local_addr().unwrap());
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    drop(received);
    // A process that another test begins has a copy of it until its program takes its place.
    let until = Instant::now() + Duration::from_secs(60);
    while OwnerLock::try_acquire(&place.dirs).unwrap().is_none() {
        assert!(Instant::now() < until, "it is not free");
    }
}

#[tokio::test]
async fn a_receiver_that_gives_up_takes_nothing_away() {
    let place = Place::new();
    let takeover = takeover(&place);
    let (ours, theirs) = sockets();
    takeover.send(&ours).unwrap();
    drop(theirs);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    let elsewhere = Place::new();
    let (ours, theirs) = sockets();
    takeover.send(&ours).unwrap();
    let error = Takeover::receive(&theirs, &elsewhere.dirs).unwrap_err();
    assert!(matches!(error, TakeoverError::NotOwned), "{error}");
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
}

#[tokio::test]
async fn another_form_and_missing_descriptors_are_refused() {
    let place = Place::new();
    let takeover = takeover(&place);
    let newer = serde_json::to_vec(&Form {
        format: FORMAT + 1,
        takeover: "something else",
    });
    let (ours, theirs) = sockets();
    fd_channel::send(&ours, &newer.unwrap(), &[]).unwrap();
    let error = Takeover::receive(&theirs, &place.dirs).unwrap_err();
    assert!(matches!(error, TakeoverError::Format(form) if form == FORMAT + 1));

    let (ours, theirs) = sockets();
    takeover.send(&ours).unwrap();
    let whole = fd_channel::receive(&theirs).unwrap();
    let fewer: Vec<_> = whole.descriptors[1..].iter().map(OwnedFd::as_fd).collect();
    let mut more: Vec<_> = whole.descriptors.iter().map(OwnedFd::as_fd).collect();
    more.push(whole.descriptors[0].as_fd());
    for descriptors in [fewer, more] {
        let (ours, theirs) = sockets();
        fd_channel::send(&ours, &whole.text, &descriptors).unwrap();
        let error = Takeover::receive(&theirs, &place.dirs).unwrap_err();
        assert!(matches!(error, TakeoverError::Incomplete), "{error}");
    }
    let (ours, theirs) = sockets();
    fd_channel::send(&ours, b"no text of ours", &[]).unwrap();
    let error = Takeover::receive(&theirs, &place.dirs).unwrap_err();
    assert!(matches!(error, TakeoverError::Text(_)), "{error}");
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
}

#[test]
fn a_claude_of_which_a_newer_process_says_what_is_not_known_here_is_as_if_it_was_not_known() {
    let left = serde_json::json!({"pairs": [
        {"pair": "main", "claude": {"state": "dreaming", "pid": 7}},
        {"pair": "second", "claude": {"state": "busy", "pid": 8, "dreams": true}},
    ]});
    let claudes: CarriedClaudes = serde_json::from_value(left).unwrap();
    let pids: Vec<u32> = claudes.pairs.iter().map(CarriedPair::pid).collect();
    assert_eq!(pids, [8]);
}
