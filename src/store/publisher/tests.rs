use std::os::unix::fs::symlink;
use std::thread;

use super::*;
use crate::owner::OwnerLock;
use crate::secrets::{self, Secret};
use crate::testing::{self, mode};

const SESSION: &str = "session_1795000000000_00000007";

fn imprint(pid: u32) -> Imprint {
    Imprint {
        published: Published {
            pid,
            version: "1".to_owned(),
            protocol: 1,
            control_port: 4502,
            proxy_port: 4501,
            started_at: 0,
            detached: false,
        },
        fingerprint: "0123456789ab".to_owned(),
        program: std::env::current_exe().unwrap(),
        session: SessionId::new(SESSION),
    }
}

fn paths(dirs: &ProjectDirs) -> [PathBuf; 5] {
    let Places {
        ports,
        pid,
        status,
        sessions: [documented, used],
    } = Places::of(dirs);
    [ports, pid, status, documented, used]
}

fn start(place: &testing::Place, lock: &OwnerLock, is_heir: bool) -> (Publisher, Board) {
    let at = lock.place().unwrap();
    Publisher::start(&place.dirs, at, imprint(4711), is_heir, |work| work()).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn present(place: &testing::Place) -> usize {
    paths(&place.dirs)
        .iter()
        .filter(|path| path.exists())
        .count()
}

#[test]
fn who_goes_on_in_its_own_process_needs_no_room_to_be_found() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    start(&place, &lock, false).0.leave();
    let _full = testing::Full::after(0, &Places::of(&place.dirs).ports);
    let again = |pid| {
        let at = lock.place().unwrap();
        Publisher::start(&place.dirs, at, imprint(pid), true, |work| work())
    };
    again(4711).unwrap().0.leave();
    let error = again(4712).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn what_is_shown_has_the_known_shape_and_no_secret_and_goes_with_its_owner() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    secrets::ensure(&place.dirs, false).unwrap();
    let (publisher, _board) = start(&place, &lock, false);
    let secrets = Secret::ALL.map(|secret| secrets::read_token(&place.dirs, secret).unwrap());
    for path in paths(&place.dirs) {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert!(!secrets.iter().any(|secret| text.contains(secret)));
    }
    let [_, pid, status, documented, used] = paths(&place.dirs);
    assert_eq!(fs::read_to_string(pid).unwrap(), "4711\n");
    let status = json(&status);
    let keys: Vec<_> = status.as_object().unwrap().keys().collect();
    let mut known = vec![
        "instanceId",
        "projectRoot",
        "stateDir",
        "proxyUrl",
        "appServerUrl",
        "controlPort",
        "pid",
        "daemonIdentity",
        "daemonEntry",
    ];
    known.sort_unstable();
    let mut found = keys.clone();
    found.sort_unstable();
    assert_eq!(found, known);
    assert_eq!(status["proxyUrl"], "ws://127.0.0.1:4501");
    assert_eq!(status["appServerUrl"], Value::Null);
    assert!(status["daemonEntry"]["size"].as_u64().unwrap() > 0);
    assert!(status["daemonEntry"]["mtimeMs"].as_u64().unwrap() > 0);
    let sessions = json(&documented);
    assert_eq!(sessions, json(&used));
    assert_eq!(sessions["version"], 1);
    let first = &sessions["sessions"]["default"];
    assert_eq!(first["createdAt"], iso(1_795_000_000_000));
    assert_eq!(first["participants"], json!([]));
    drop(publisher);
    assert_eq!(present(&place), 0);
}

#[test]
fn what_is_put_on_the_board_is_shown_and_the_rest_is_left_alone() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let mut writer = Writer::new(
        Place {
            dirs: place.dirs.clone(),
            lock: lock.place().unwrap(),
        },
        imprint(1),
    );
    let second = RuntimeSession::new("second \"pair\"");
    let shown = |pairs: &[(&RuntimeSession, Agent)]| PublishedState {
        app_server_port: Some(4500),
        participants: pairs
            .iter()
            .map(|(pair, agent)| ((*pair).clone(), *agent))
            .collect(),
    };
    let first = RuntimeSession::default();
    let [_, _, status, sessions, _] = paths(&place.dirs);
    writer.write(&shown(&[
        (&first, Agent::Claude),
        (&first, Agent::Codex),
        (&second, Agent::Claude),
    ]));
    assert_eq!(json(&status)["appServerUrl"], "ws://127.0.0.1:4500");
    let said = json(&sessions);
    let agents = &said["sessions"]["default"]["participants"];
    assert_eq!(agents[0]["agentId"], "claude");
    assert_eq!(agents[1]["agentId"], "codex");
    assert_eq!(
        said["sessions"]["second \"pair\""]["label"],
        "second \"pair\""
    );
    writer.write(&shown(&[(&first, Agent::Codex)]));
    let said = json(&sessions);
    assert_eq!(said["sessions"].as_object().unwrap().len(), 1);
    assert_eq!(
        said["sessions"]["default"]["participants"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn the_thread_shows_the_newest_and_writes_nothing_without_news() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let (publisher, mut board) = start(&place, &lock, false);
    board.set(PublishedState::default());
    assert!(
        board.latest.is_empty(),
        "what is shown already is no news for the thread"
    );
    let status = Places::of(&place.dirs).status;
    for port in 1..=9 {
        board.set(PublishedState {
            app_server_port: Some(port),
            ..PublishedState::default()
        });
    }
    while json(&status)["appServerUrl"] != "ws://127.0.0.1:9" {
        thread::yield_now();
    }
    drop(publisher);
    assert_eq!(present(&place), 0);
    // A loop that ends later shows nothing any more.
    board.set(PublishedState::default());
    assert_eq!(present(&place), 0);
}

#[test]
fn an_heir_that_does_not_take_on_leaves_it_to_the_owner() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let (before, _board) = start(&place, &lock, false);
    let (heir, _its_board) = start(&place, &lock, true);
    drop(heir);
    assert_eq!(present(&place), 5);
    let (mut heir, _its_board) = start(&place, &lock, true);
    heir.take_on();
    before.leave();
    assert_eq!(present(&place), 5);
    drop(heir);
    assert_eq!(present(&place), 0);
}

#[test]
fn nothing_is_written_or_removed_in_a_folder_that_is_another_ones() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let (publisher, _board) = start(&place, &lock, false);
    let mut writer = Writer::new(publisher.place.clone(), imprint(1));
    fs::rename(&place.dirs.relay, place.dirs.root.join("away")).unwrap();
    place.dirs.create().unwrap();
    writer.write(&PublishedState::default());
    assert_eq!(present(&place), 0);
    for path in paths(&place.dirs) {
        fs::write(path, "the next owner's").unwrap();
    }
    drop(publisher);
    for path in paths(&place.dirs) {
        assert_eq!(fs::read_to_string(path).unwrap(), "the next owner's");
    }
}

#[test]
fn links_in_the_way_are_replaced_and_not_followed() {
    let place = testing::Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let precious = place.dir.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for (at, path) in paths(&place.dirs).iter().enumerate() {
        if at % 2 == 0 {
            symlink(&precious, path).unwrap();
        } else {
            fs::hard_link(&precious, path).unwrap();
        }
    }
    let (publisher, _board) = start(&place, &lock, false);
    for path in paths(&place.dirs) {
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(mode(&path), 0o600);
    }
    drop(publisher);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    // The same holds for what a dead owner is said to have left.
    drop(lock);
    for path in paths(&place.dirs) {
        symlink(&precious, path).unwrap();
    }
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    assert_eq!(present(&place), 0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    // What cannot be replaced keeps nobody from running, but for our own clients' file.
    let [ports, pid, ..] = paths(&place.dirs);
    fs::create_dir(&pid).unwrap();
    let (publisher, _board) = start(&place, &lock, false);
    assert!(ports.is_file() && pid.is_dir());
    drop(publisher);
    fs::create_dir(&ports).unwrap();
    let at = lock.place().unwrap();
    assert!(Publisher::start(&place.dirs, at, imprint(1), false, |work| work()).is_err());
}
