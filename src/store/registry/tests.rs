#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::json;

use super::*;
use crate::testing::{Place, mode};

fn project(place: &Place, name: &str) -> ProjectDirs {
    let root = place.dir.path().canonicalize().unwrap().join(name);
    fs::create_dir(&root).unwrap();
    let dirs = ProjectDirs::new(root, None);
    dirs.create().unwrap();
    dirs
}

#[test]
fn each_project_gets_the_next_group_and_keeps_it() {
    let place = Place::new();
    let second = project(&place, "second");
    let first_ports = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert_eq!(first_ports, Ports::group(4500).unwrap());
    let second_ports = allocate(&place.user, &second, 4500, None).unwrap();
    assert_eq!(second_ports, Ports::group(4510).unwrap());
    assert_eq!(
        allocate(&place.user, &second, 5000, None).unwrap(),
        second_ports
    );
    assert_eq!(list(&place.user).unwrap().len(), 2);
    assert_eq!(mode(&place.user.instances()), 0o600);
}

#[test]
fn overrides_win_and_are_avoided_by_others() {
    let place = Place::new();
    let second = project(&place, "second");
    let odd = Ports {
        codex: 9000,
        proxy: 4502,
        control: 9100,
    };
    assert_eq!(
        allocate(&place.user, &place.dirs, 4500, Some(odd)).unwrap(),
        odd
    );
    let ports = allocate(&place.user, &second, 4500, None).unwrap();
    assert_eq!(ports, Ports::group(4510).unwrap());
}

#[test]
fn a_project_moves_on_from_groups_that_strangers_hold() {
    let place = Place::new();
    let first = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    let second = move_on(&place.user, &place.dirs, 4500, &[first]).unwrap();
    assert_eq!(second, Ports::group(4510).unwrap());
    assert_eq!(
        allocate(&place.user, &place.dirs, 4500, None).unwrap(),
        second
    );
    assert!(allocate(&place.user, &project(&place, "x"), u16::MAX - 1, None).is_err());
}

#[test]
fn projects_that_are_gone_are_forgotten_and_their_ports_free() {
    let place = Place::new();
    let second = project(&place, "second");
    allocate(&place.user, &second, 4500, None).unwrap();
    fs::remove_dir_all(&second.relay).unwrap();
    assert!(!is_known(&place.user, &second).unwrap());
    let ports = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert_eq!(ports, Ports::group(4500).unwrap());
    assert_eq!(list(&place.user).unwrap().len(), 1);
}

#[test]
fn a_copied_folder_is_not_the_one_that_was_registered() {
    let place = Place::new();
    assert!(!is_known(&place.user, &place.dirs).unwrap());
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert!(is_known(&place.user, &place.dirs).unwrap());
    let moved = place.dirs.root.join("moved");
    fs::rename(&place.dirs.relay, &moved).unwrap();
    place.dirs.create().unwrap();
    assert!(!is_known(&place.user, &place.dirs).unwrap());
    forget(&place.user, &place.dirs).unwrap();
    assert_eq!(list(&place.user).unwrap(), []);
}

#[test]
fn what_others_keep_in_the_registry_stays() {
    let place = Place::new();
    make_private_dir(&place.user.registry).unwrap();
    let theirs = json!({"instances": [
        {"instanceId": "ctx_x", "projectRoot": place.dirs.root, "stateDir": "/s", "appPort": 4700,
         "proxyPort": 4701, "controlPort": 4702, "lastSeenAt": 5, "theirs": [1]},
        {"nonsense": true},
        7,
    ]});
    fs::write(place.user.instances(), theirs.to_string()).unwrap();
    assert!(is_known(&place.user, &place.dirs).unwrap());
    let ports = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert_eq!(ports, Ports::group(4700).unwrap());
    let text = fs::read_to_string(place.user.instances()).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["instances"].as_array().unwrap().len(), 1);
    assert_eq!(found["instances"][0]["theirs"], json!([1]));
    assert_eq!(
        found["instances"][0]["instanceId"],
        json!(place.dirs.instance_id())
    );
}

#[test]
fn a_registry_that_is_none_is_set_aside() {
    let place = Place::new();
    make_private_dir(&place.user.registry).unwrap();
    for text in ["", "null", "[]", "{\"instances\":3}", "{\"instances\":["] {
        fs::write(place.user.instances(), text).unwrap();
        assert_eq!(list(&place.user).unwrap(), []);
        allocate(&place.user, &place.dirs, 4500, None).unwrap();
        assert_eq!(list(&place.user).unwrap().len(), 1);
    }
    let kept = fs::read_dir(&place.user.registry)
        .unwrap()
        .filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_str().unwrap().contains(".bad-")
        })
        .count();
    assert!(kept >= 1);
}

#[test]
fn many_at_once_get_groups_of_their_own() {
    let place = Place::new();
    let projects: Vec<_> = (0..8).map(|n| project(&place, &format!("p{n}"))).collect();
    let ports: BTreeSet<u16> = thread::scope(|scope| {
        let running: Vec<_> = projects
            .iter()
            .map(|dirs| scope.spawn(|| allocate(&place.user, dirs, 4500, None).unwrap().codex))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ports, (0..8).map(|n| 4500 + 10 * n).collect());
}
