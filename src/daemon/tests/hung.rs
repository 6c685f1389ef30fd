//! A disk that stalls while a daemon ends: who began behind it would have its entries cut off once the
//! disk answers, and covered by a head.

use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use super::rig::hello;
use super::start::{ledger, live_once, start, with_ports};
use crate::core::agent::Agent;
use crate::core::entry::NoteKind;
use crate::daemon::event::Event;
use crate::daemon::fault::DaemonFault;
use crate::daemon::running::Running;
use crate::store::head::{self, Kept};
use crate::store::owner::OwnerLock;
use crate::store::testing::{Place, Stalled};
use crate::wire::control::{Command, NoteParams, Role};

/// Has the writer wait for the disk: with a note, or with what it wrote before that.
async fn stall(running: &Running, place: &Place) -> Stalled {
    let stalled = Stalled::of(&ledger(place));
    let codex = hello(Role::Codex, 4_000_001, None);
    let joined = running.handle.join(codex, false).await.unwrap();
    let handle = running.handle.clone();
    let note = Command::AppendNote(NoteParams::new(
        Agent::Codex,
        NoteKind::Goal,
        "Sort the pears",
    ));
    tokio::spawn(async move { handle.call(joined.conn, note).await });
    spawn_blocking(move || {
        stalled.wait_for_sync();
        stalled
    })
    .await
    .unwrap()
}

fn outside(place: &Place) -> Kept {
    let kept = head::read(&place.user, &place.dirs.instance_id());
    kept.unwrap().unwrap()
}

fn is_owned(place: &Place) -> bool {
    OwnerLock::try_acquire(&place.dirs).unwrap().is_none()
}

#[track_caller]
fn ends_while_the_disk_stalls(fails: bool) {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let place = Place::new();
    let builder = with_ports(&place);
    let (mut running, stalled) = runtime.block_on(async {
        live_once(&builder).await;
        let running = start(&builder, true).await.unwrap();
        let stalled = stall(&running, &place).await;
        (running, stalled)
    });
    let ended = runtime.block_on(async {
        if fails {
            let events = running.handle.events();
            events.send(Event::ServiceFailed).await.unwrap();
        } else {
            running.handle.shutdown(false).await;
        }
        running.ended().await
    });
    assert_eq!(ended, Err(DaemonFault::Hung));
    assert!(running.handle.is_hung());
    let first = if fails {
        DaemonFault::Service
    } else {
        DaemonFault::Hung
    };
    assert_eq!(running.handle.fault(), Some(first));
    assert!(is_owned(&place), "its writer goes on");
    let before = outside(&place);
    assert!(!before.clean, "{before:?}");

    drop(stalled);
    // Waits for what was given up.
    drop(runtime);
    assert_eq!(outside(&place), before);
    assert!(is_owned(&place), "for as long as the process lives");
}

#[test]
fn a_stop_that_the_disk_stalls_keeps_the_project_until_the_process_ends() {
    ends_while_the_disk_stalls(false);
}

#[test]
fn a_failed_daemon_that_the_disk_stalls_keeps_the_project_until_the_process_ends() {
    ends_while_the_disk_stalls(true);
}
