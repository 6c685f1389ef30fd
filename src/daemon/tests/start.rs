//! A start that fails, at each of its stages, and what it leaves on the disk.

use std::future::ready;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;

use super::rig::builder;
use crate::core::entry::Entry;
use crate::daemon::running::Running;
use crate::daemon::start::{Builder, StartError};
use crate::store::dirs::make_private_dir;
use crate::store::operator_socket;
use crate::store::owner::OwnerLock;
use crate::store::published::Published;
use crate::store::registry::{self, Ports};
use crate::store::sentinel;
use crate::store::session;
use crate::store::testing::Place;
use crate::wire::control::ProgramCode;
use crate::wire::line::{parse, seal, serialize};

/// Where a start fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fails {
    /// The secrets cannot be made.
    Claiming,
    /// The record is somebody else's as well.
    OpeningTheRecord,
    /// The outbox is no database.
    OpeningTheOutbox,
    /// A stranger holds a port.
    BindingAPort,
    /// The operator's socket has no room.
    BindingTheSocket,
    /// It cannot be shown where the daemon is.
    Showing,
    /// The one before goes on.
    Yielding,
    /// The head outside takes no word more, once the one before has ended.
    TakingTheMark,
}

impl Fails {
    const ALL: [Self; 8] = [
        Self::Claiming,
        Self::OpeningTheRecord,
        Self::OpeningTheOutbox,
        Self::BindingAPort,
        Self::BindingTheSocket,
        Self::Showing,
        Self::Yielding,
        Self::TakingTheMark,
    ];

    fn code(self) -> ProgramCode {
        match self {
            Self::Claiming | Self::Showing | Self::TakingTheMark => ProgramCode::Unwritable,
            Self::OpeningTheRecord => ProgramCode::Ledger,
            Self::OpeningTheOutbox => ProgramCode::Queue,
            Self::BindingAPort => ProgramCode::PortTaken,
            Self::BindingTheSocket => ProgramCode::Socket,
            Self::Yielding => ProgramCode::NotYielded,
        }
    }

    /// Puts something in the way; what is returned is in the way until it is dropped.
    fn spoil(self, place: &Place, builder: &Builder) -> Spoiled {
        let mut spoiled = Spoiled::default();
        match self {
            Self::Claiming => spoiled.put_folder(place.dirs.state_file("token")),
            Self::OpeningTheRecord => {
                let other = place.dir.path().join("other name");
                std::fs::hard_link(ledger(place), &other).unwrap();
                spoiled.link = Some(other);
            }
            Self::OpeningTheOutbox => spoiled.put_folder(place.dirs.state_file("queue.db")),
            Self::BindingAPort => {
                let port = builder.ports.unwrap().proxy;
                // Another test may have been given the same one, and end soon.
                let bound = std::iter::repeat_with(|| {
                    std::thread::yield_now();
                    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                });
                let in_use = |bound: &std::io::Result<_>| {
                    let error = bound.as_ref().err().map(std::io::Error::kind);
                    error == Some(std::io::ErrorKind::AddrInUse)
                };
                let mut bound = bound.skip_while(in_use);
                spoiled.listener = Some(bound.next().unwrap().unwrap());
            }
            Self::BindingTheSocket => spoiled.put_folder(socket(place)),
            Self::Showing => spoiled.put_folder(place.dirs.state_file("ports.json")),
            Self::Yielding | Self::TakingTheMark => {}
        }
        spoiled
    }

    /// Starts, and fails here. What was in the way is out of it again.
    async fn fail(self, place: &Place, builder: &Builder) -> StartError {
        let mut spoiled = self.spoil(place, builder);
        let head = place.user.head(&place.dirs.instance_id());
        let yielded = async {
            if self == Self::TakingTheMark {
                // By then it was read.
                spoiled.put_folder(head);
            }
            self != Self::Yielding
        };
        start_behind(builder, yielded).await.unwrap_err()
    }
}

#[derive(Default)]
struct Spoiled {
    /// The folder in the way, and where what it replaced lies.
    folder: Option<(PathBuf, PathBuf)>,
    link: Option<PathBuf>,
    listener: Option<TcpListener>,
}

impl Spoiled {
    fn put_folder(&mut self, path: PathBuf) {
        let away = path.with_extension("away");
        // It may not be there.
        let _ = std::fs::rename(&path, &away);
        make_private_dir(path.parent().unwrap()).unwrap();
        make_private_dir(&path).unwrap();
        self.folder = Some((path, away));
    }
}

impl Drop for Spoiled {
    fn drop(&mut self) {
        if let Some((path, away)) = &self.folder {
            std::fs::remove_dir(path).unwrap();
            let _ = std::fs::rename(away, path);
        }
        if let Some(link) = &self.link {
            std::fs::remove_file(link).unwrap();
        }
    }
}

/// With ports that the system gives to nobody who does not name them.
pub(super) fn with_ports(place: &Place) -> Builder {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 2_000).unwrap() * 4;
    let mut free = std::iter::from_fn(|| {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        Some((port, !listens(port)))
    })
    .filter_map(|(port, is_free)| is_free.then_some(port));
    let mut next = || free.next().unwrap();
    Builder {
        ports: Some(Ports {
            codex: next(),
            proxy: next(),
            control: next(),
        }),
        ..builder(place)
    }
}

/// Whether somebody listens there. Asked without a listener of ours: of that a process that another
/// test begins could have a copy when the port is taken next.
fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Waits until nobody has the port. A process that another test begins has a copy of our sockets
/// until its program takes its place, for a moment on a busy machine.
async fn becomes_free(port: u16) {
    let free = async {
        while listens(port) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let freed = tokio::time::timeout(Duration::from_secs(30), free).await;
    assert!(freed.is_ok(), "port {port} is still taken");
}

pub(super) fn ledger(place: &Place) -> PathBuf {
    let current = session::read_current(&place.dirs).unwrap();
    place.dirs.ledger(&current.unwrap())
}

/// Continues the chain as anybody can who writes to the project.
fn forge(place: &Place) {
    let text = record(place);
    let last = parse(text.lines().last().unwrap().as_bytes()).unwrap();
    let link = last.link.unwrap();
    let forged = Entry {
        content: FORGED.to_owned(),
        ..last.entry
    };
    let sealed = seal(serialize(&forged), link.seq + 1, &link.hash).unwrap();
    std::fs::write(ledger(place), text + &sealed.line + "\n").unwrap();
}

const FORGED: &str = "a word of somebody else's";

fn socket(place: &Place) -> PathBuf {
    operator_socket::place(&place.user, &place.dirs.instance_id())
}

fn record(place: &Place) -> String {
    std::fs::read_to_string(ledger(place)).unwrap()
}

pub(super) async fn start(builder: &Builder, yields: bool) -> Result<Running, StartError> {
    start_behind(builder, ready(yields)).await
}

async fn start_behind(
    builder: &Builder,
    yielded: impl Future<Output = bool> + Send,
) -> Result<Running, StartError> {
    let mcp = |_| ready(Router::new().route("/mcp", get(|| ready("no tools"))));
    builder.clone().start(None, yielded, mcp).await
}

/// A daemon that runs and ends.
pub(super) async fn live_once(builder: &Builder) {
    let running = start(builder, true).await.unwrap();
    running.handle.shutdown(false).await;
    running.handle.ended().cancelled().await;
    become_free(builder).await;
}

async fn become_free(builder: &Builder) {
    let ports = builder.ports.unwrap();
    for port in [ports.control, ports.proxy] {
        becomes_free(port).await;
    }
}

fn shown(place: &Place) -> Vec<&'static str> {
    ["ports.json", "daemon.pid", "status.json", "sessions.json"]
        .into_iter()
        .filter(|name| place.dirs.state_file(name).is_file())
        .collect()
}

#[tokio::test]
async fn a_start_that_fails_at_any_stage_leaves_nothing_taken_and_nothing_said() {
    for fails in Fails::ALL {
        let place = Place::new();
        let builder = with_ports(&place);
        live_once(&builder).await;
        let _ = std::fs::remove_file(socket(&place));
        let before = record(&place);

        let error = fails.fail(&place, &builder).await;
        assert_eq!(error.code(), fails.code(), "{fails:?}: {error}");
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap();
        assert!(lock.is_some(), "{fails:?}: the lock is not free");
        drop(lock);
        assert_eq!(shown(&place), [""; 0], "{fails:?}");
        assert!(!socket(&place).exists(), "{fails:?}");
        become_free(&builder).await;
        assert_eq!(record(&place), before, "{fails:?}");

        live_once(&builder).await;
        let after = record(&place);
        let new: Vec<_> = after.strip_prefix(&before).unwrap().lines().collect();
        let is = |line: &str, event: &str| line.contains(&format!("\"event\":\"{event}\""));
        assert!(
            new.len() == 2 && is(new[0], "daemon_started") && is(new[1], "daemon_stopped"),
            "{fails:?}: {new:#?}"
        );
    }
}

#[tokio::test]
async fn a_start_that_fails_leaves_what_an_orderly_end_said() {
    for fails in Fails::ALL {
        let place = Place::new();
        let builder = with_ports(&place);
        live_once(&builder).await;
        let before = record(&place);
        fails.fail(&place, &builder).await;
        become_free(&builder).await;

        forge(&place);
        live_once(&builder).await;
        let after = record(&place);
        let new = after.strip_prefix(&before).unwrap();
        assert!(!new.contains(FORGED), "{fails:?}: {new}");
        assert!(new.contains("\"type\":\"error\""), "{fails:?}: {new}");
        let asides = std::fs::read_dir(place.dirs.sessions()).unwrap();
        let asides = asides.map(|file| file.unwrap().path());
        let aside: Vec<_> = asides
            .filter(|path| path.to_string_lossy().contains(".foreign-"))
            .collect();
        assert_eq!(aside.len(), 1, "{fails:?}: {aside:?}");
        let aside = std::fs::read_to_string(&aside[0]).unwrap();
        assert!(aside.contains(FORGED), "{fails:?}: {aside}");
    }
}

#[tokio::test]
async fn what_was_ended_on_purpose_stays_ended_until_a_start_succeeds() {
    for fails in Fails::ALL {
        let place = Place::new();
        let builder = with_ports(&place);
        live_once(&builder).await;
        sentinel::write(&place.dirs, 1).unwrap();

        fails.fail(&place, &builder).await;
        become_free(&builder).await;
        assert!(sentinel::is_killed(&place.dirs), "{fails:?}");

        live_once(&builder).await;
        assert!(!sentinel::is_killed(&place.dirs), "{fails:?}");
    }
}

#[tokio::test]
async fn a_copy_from_elsewhere_is_taken_for_one_until_a_start_succeeds() {
    // Whatever lies in the place of a copy's queue is moved away, and nothing outside has a mark.
    let cannot_fail = [Fails::OpeningTheOutbox, Fails::TakingTheMark];
    let all = Fails::ALL.into_iter();
    for fails in all.filter(|fails| !cannot_fail.contains(fails)) {
        let place = Place::new();
        let builder = with_ports(&place);
        live_once(&builder).await;
        // As on another machine: nothing outside of the project knows of it.
        std::fs::remove_dir_all(&place.user.registry).unwrap();

        fails.fail(&place, &builder).await;
        become_free(&builder).await;
        let known = registry::is_known(&place.user, &place.dirs).unwrap();
        assert!(!known, "{fails:?}: a copy that was not started is known");

        live_once(&builder).await;
        assert!(record(&place).contains("was not made here"), "{fails:?}");
        assert!(registry::is_known(&place.user, &place.dirs).unwrap());
    }
}

#[tokio::test]
async fn that_the_record_is_gone_is_said_also_behind_a_start_that_failed() {
    let place = Place::new();
    let builder = with_ports(&place);
    live_once(&builder).await;
    std::fs::remove_dir_all(&place.dirs.relay).unwrap();
    // By then the next session is the one that is known outside.
    let spoiled = Fails::BindingAPort.spoil(&place, &builder);
    start(&builder, true).await.unwrap_err();
    drop(spoiled);
    become_free(&builder).await;
    live_once(&builder).await;
    let told = record(&place);
    assert_eq!(told.matches("lay here and is gone").count(), 1, "{told}");
}

#[tokio::test]
async fn ports_that_are_named_for_one_run_are_not_those_of_the_next() {
    for fails in [false, true] {
        let place = Place::new();
        // Below those that the system gives, and above those that other tests name.
        let port_base = 20_000 + u16::try_from(std::process::id() % 1_000).unwrap() * 10;
        let named = Builder {
            port_base,
            ..with_ports(&place)
        };
        let unnamed = Builder {
            ports: None,
            port_base,
            ..builder(&place)
        };
        if fails {
            let running = start(&unnamed, true).await.unwrap();
            running.handle.shutdown(false).await;
            running.handle.ended().cancelled().await;
            let own = registry::list(&place.user).unwrap()[0].ports;
            for port in [own.control, own.proxy] {
                becomes_free(port).await;
            }
            let spoiled = Fails::BindingAPort.spoil(&place, &named);
            start(&named, true).await.unwrap_err();
            drop(spoiled);
            let left = &registry::list(&place.user).unwrap()[0];
            assert_eq!((left.ports, left.own_ports), (own, None));
        } else {
            live_once(&named).await;
        }
        let running = start(&unnamed, true).await.unwrap();
        let control = Published::read(&place.dirs).unwrap().control_port;
        running.handle.shutdown(false).await;
        running.handle.ended().cancelled().await;
        assert!(control >= unnamed.port_base, "{control}");
        let registered = &registry::list(&place.user).unwrap()[0];
        assert_eq!(registered.ports.control, control);
        assert_eq!(registered.group(), registered.ports);
    }
}
