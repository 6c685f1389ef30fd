use super::*;
use crate::published::{PORTS_FILE, Published};
use crate::testing::{Place, mode};

#[test]
fn one_holds_it_until_it_is_dropped() {
    let place = Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    let path = place.dirs.state_file("daemon.lock");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
    assert_eq!(mode(&path), 0o600);
    drop(lock);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

/// The project with its state in another folder.
fn moved(place: &Place) -> ProjectDirs {
    let state = place.dir.path().join("moved");
    let dirs = ProjectDirs::new(place.dirs.root.clone(), Some(state));
    dirs.create().unwrap();
    dirs
}

fn copies(lock: &OwnerLock) -> [OwnedFd; 2] {
    lock.descriptors()
        .map(|descriptor| descriptor.try_clone_to_owned().unwrap())
}

#[test]
fn a_project_has_one_owner_wherever_its_state_lies() {
    let place = Place::new();
    let moved = moved(&place);
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    drop(lock);
    let lock = OwnerLock::try_acquire(&moved).unwrap().unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    // Who failed at the second lock has not kept the first one.
    drop(lock);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

#[test]
fn a_state_folder_that_is_made_anew_frees_nothing() {
    let place = Place::new();
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    assert!(lock.is_named(&place.dirs).unwrap());
    fs::remove_dir_all(&place.dirs.state).unwrap();
    assert!(!lock.is_named(&place.dirs).unwrap());
    place.dirs.create().unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(!lock.is_named(&place.dirs).unwrap());
    drop(lock);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

#[test]
fn an_heir_has_it_without_a_gap() {
    let place = Place::new();
    let moved = moved(&place);
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let [file, folder] = copies(&lock);
    let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
    // One that fails takes nothing from the owner.
    drop(heir.unwrap());
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    let [file, folder] = copies(&lock);
    let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
    lock.leave();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
    let path = place.dirs.state_file("daemon.lock");
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
    drop(heir);
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

#[test]
fn a_lock_of_another_file_or_owner_is_not_inherited() {
    let place = Place::new();
    let other = File::create(place.dir.path().join("other")).unwrap();
    let folder = || open_folder(&place.dirs.relay).unwrap();
    let heir = OwnerLock::take_over(&place.dirs, other.into(), folder().into());
    // There is no lock file yet: the other one is no lock of this project.
    assert!(heir.unwrap().is_none());
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    let opened = open_file(&place.dirs).unwrap();
    let heir = OwnerLock::take_over(&place.dirs, opened.into(), folder().into());
    assert!(heir.unwrap().is_none());
    // Neither is the right file enough, with a folder that another one has or with another
    // folder.
    let [file, _] = copies(&lock);
    let heir = OwnerLock::take_over(&place.dirs, file, folder().into());
    assert!(heir.unwrap().is_none());
    let [file, _] = copies(&lock);
    let elsewhere = open_folder(place.dir.path()).unwrap();
    let heir = OwnerLock::take_over(&place.dirs, file, elsewhere.into());
    assert!(heir.unwrap().is_none());
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
}

#[test]
fn who_looks_sees_an_owner_and_is_none() {
    let place = Place::new();
    assert!(!is_owned(&place.dirs));
    assert!(!is_free(&place.dirs), "no lock file says nothing");
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    assert!(is_owned(&place.dirs) && !is_free(&place.dirs));
    drop(lock);
    // The file is there still.
    assert!(!is_owned(&place.dirs) && is_free(&place.dirs));
    let path = lock_path(&place.dirs);
    fs::rename(&path, path.with_extension("away")).unwrap();
    std::os::unix::fs::symlink(path.with_extension("away"), &path).unwrap();
    assert!(!is_free(&place.dirs), "neither does a link");
    fs::remove_file(&path).unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
}

#[test]
fn what_a_dead_owner_published_is_void_and_what_the_owner_publishes_is_not() {
    let place = Place::new();
    let published = Published {
        pid: std::process::id(),
        version: "1".to_owned(),
        protocol: 1,
        control_port: 4502,
        proxy_port: 4501,
        started_at: 0,
        detached: false,
    };
    let publish = || {
        let text = serde_json::to_vec(&published).unwrap();
        fs::write(place.dirs.state_file(PORTS_FILE), text).unwrap();
    };
    publish();
    assert_eq!(Published::read(&place.dirs), None);
    let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
    // The next one does not pass it off as its own.
    assert_eq!(Published::read(&place.dirs), None);
    publish();
    assert_eq!(Published::read(&place.dirs), Some(published.clone()));
    let [file, folder] = copies(&lock);
    let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
    lock.leave();
    assert_eq!(Published::read(&place.dirs), Some(published.clone()));
    drop(heir);
}

#[test]
fn a_number_left_in_the_file_means_nothing() {
    let place = Place::new();
    fs::write(place.dirs.state_file("daemon.lock"), "1\n12345678").unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    let text = fs::read_to_string(place.dirs.state_file("daemon.lock")).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
}

#[test]
fn a_link_is_not_followed() {
    let place = Place::new();
    let elsewhere = place.dir.path().join("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.dirs.state_file("daemon.lock")).unwrap();
    assert!(OwnerLock::try_acquire(&place.dirs).is_err());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
}

#[test]
fn a_file_system_that_cannot_lock_is_told_from_an_owner() {
    let answer = |errno: Errno| Hold::of(Err(TryLockError::Error(errno.into())));
    for errno in [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS] {
        assert_eq!(answer(errno), Hold::NoLocks, "{errno:?}");
        assert!(cannot_lock(&errno.into()));
    }
    // What cannot be told is an owner's: nobody takes the project from it.
    assert_eq!(answer(Errno::IO), Hold::Held);
    assert!(!cannot_lock(&Errno::IO.into()));
    assert_eq!(Hold::of(Err(TryLockError::WouldBlock)), Hold::Held);
    assert_eq!(Hold::of(Ok(())), Hold::Free);
}

#[test]
fn who_has_the_project_by_its_folder_alone_holds_it() {
    let place = Place::new();
    assert_eq!(hold(&place.dirs), Hold::Free);
    let lock = OwnerLock::try_acquire(&moved(&place)).unwrap().unwrap();
    assert!(!is_owned(&place.dirs));
    assert_eq!(hold(&place.dirs), Hold::Held);
    drop(lock);
    assert_eq!(hold(&place.dirs), Hold::Free);
}
