#![allow(clippy::unwrap_used, reason = "tests")]
use std::net::TcpStream;

use super::*;
use crate::adapters::codex::adapter::CodexHandle;
use crate::daemon::codex_lane::CodexLane;
use crate::store::testing::Place;

fn estate(place: &Place) -> Estate {
    let port = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (control, proxy) = (port(), port());
    let at = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let socket = place.dir.path().join("operator.sock");
    let (requests, _) = tokio::sync::mpsc::channel(1);
    Estate {
        detached: true,
        publisher: None,
        lock: OwnerLock::try_acquire(&place.dirs).unwrap().unwrap(),
        premises: Premises {
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
        remains: Remains {
            codex: Passed::default(),
            known: Known {
                lane: CodexLane::new(CodexHandle { requests }).carried(),
                agents: vec![(4711, Some("then".to_owned())), (4712, None)],
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
    let estate = estate(&place);
    let (ours, theirs) = sockets();
    estate.send(&ours).unwrap();
    // The sender dies here.
    let ports = estate.premises.ports;
    estate.leave();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    // Who comes now waits for the receiver.
    let early = TcpStream::connect(("127.0.0.1", ports.control)).unwrap();
    let received = Estate::receive(&theirs, &place.dirs).unwrap();
    assert_eq!(received.premises.ports, ports);
    assert_eq!(received.premises.mcp_token, "the secret of mcp");
    assert_eq!(received.remains.known.agents.len(), 2);
    assert!(!format!("{received:?}").contains("the secret"));
    let listeners = received.premises.listen().unwrap();
    let (_, peer) = listeners.control.accept().await.unwrap();
    assert_eq!(peer, early.local_addr().unwrap());
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    drop(received);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

#[tokio::test]
async fn a_receiver_that_gives_up_takes_nothing_away() {
    let place = Place::new();
    let estate = estate(&place);
    let (ours, theirs) = sockets();
    estate.send(&ours).unwrap();
    drop(theirs);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    let elsewhere = Place::new();
    let (ours, theirs) = sockets();
    estate.send(&ours).unwrap();
    let error = Estate::receive(&theirs, &elsewhere.dirs).unwrap_err();
    assert!(matches!(error, EstateError::NotOwned), "{error}");
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
}

#[tokio::test]
async fn another_form_and_missing_descriptors_are_refused() {
    let place = Place::new();
    let estate = estate(&place);
    let newer = serde_json::to_vec(&Form {
        format: FORMAT + 1,
        estate: "something else",
    });
    let (ours, theirs) = sockets();
    parcel::send(&ours, &newer.unwrap(), &[]).unwrap();
    let error = Estate::receive(&theirs, &place.dirs).unwrap_err();
    assert!(matches!(error, EstateError::Format(form) if form == FORMAT + 1));

    let (ours, theirs) = sockets();
    estate.send(&ours).unwrap();
    let whole = parcel::receive(&theirs).unwrap();
    let fewer: Vec<_> = whole.descriptors[1..].iter().map(OwnedFd::as_fd).collect();
    let mut more: Vec<_> = whole.descriptors.iter().map(OwnedFd::as_fd).collect();
    more.push(whole.descriptors[0].as_fd());
    for descriptors in [fewer, more] {
        let (ours, theirs) = sockets();
        parcel::send(&ours, &whole.text, &descriptors).unwrap();
        let error = Estate::receive(&theirs, &place.dirs).unwrap_err();
        assert!(matches!(error, EstateError::Incomplete), "{error}");
    }
    let (ours, theirs) = sockets();
    parcel::send(&ours, b"no text of ours", &[]).unwrap();
    let error = Estate::receive(&theirs, &place.dirs).unwrap_err();
    assert!(matches!(error, EstateError::Text(_)), "{error}");
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
}
