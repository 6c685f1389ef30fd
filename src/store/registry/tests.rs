use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::json;

use super::*;
use crate::dirs::remove_if_there;
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
    // For one run: its own group was nobody else's meanwhile.
    let own = Ports::group(4500).unwrap();
    assert_eq!(list(&place.user).unwrap()[0].group(), own);
    assert_eq!(allocate(&place.user, &place.dirs, 4500, None).unwrap(), own);
    allocate(&place.user, &place.dirs, 4500, Some(odd)).unwrap();
    give_back(&place.user, &place.dirs).unwrap();
    let left = list(&place.user).unwrap();
    let left = left.iter().find(|it| it.project_root == place.dirs.root);
    let left = left.map(|it| (it.ports, it.own_ports));
    assert_eq!(left, Some((own, None)));
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
    assert_eq!(list(&place.user).unwrap(), []);
    let ports = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert_eq!(ports, Ports::group(4500).unwrap());
    assert_eq!(list(&place.user).unwrap().len(), 1);
}

#[test]
fn a_project_that_is_not_seen_for_a_moment_is_not_forgotten() {
    let place = Place::new();
    let disk = project(&place, "disk");
    let away = project(&place, "disk/away");
    let ports = allocate(&place.user, &away, 4500, None).unwrap();
    // As a disk that is not mounted: its folder is there, and empty.
    let unmounted = disk.root.with_file_name("unmounted");
    fs::rename(&disk.root, &unmounted).unwrap();
    fs::create_dir(&disk.root).unwrap();
    let others = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert_ne!(others, ports);
    assert_eq!(list(&place.user).unwrap().len(), 1);
    fs::remove_dir(&disk.root).unwrap();
    fs::rename(&unmounted, &disk.root).unwrap();
    assert!(is_known(&place.user, &away).unwrap());
    let again = allocate(&place.user, &away, 4500, None).unwrap();
    assert_eq!(again, ports);
}

#[test]
fn of_those_that_are_never_seen_again_the_oldest_are_forgotten() {
    let place = Place::new();
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    let text = fs::read(place.user.instances()).unwrap();
    let mut found: Value = serde_json::from_slice(&text).unwrap();
    let instances = found["instances"].as_array_mut().unwrap();
    let seen = instances[0].clone();
    for number in 0..=UNSEEN_MAX {
        let mut unseen = seen.clone();
        unseen["projectRoot"] = json!(format!("/nowhere/{number}"));
        instances.push(unseen);
    }
    fs::write(place.user.instances(), found.to_string()).unwrap();
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    let left = read(&place.user).unwrap().unwrap().instances;
    assert_eq!(left.len(), UNSEEN_MAX + 1);
    let is_there = |root: &str| left.iter().any(|it| it.project_root == Path::new(root));
    assert!(!is_there("/nowhere/0") && is_there("/nowhere/1"));
    assert!(is_known(&place.user, &place.dirs).unwrap());
}

#[test]
fn a_registry_that_was_set_aside_and_not_written_is_read_from_its_copy() {
    let place = Place::new();
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    fs::remove_file(place.user.instances()).unwrap();
    assert!(is_known(&place.user, &place.dirs).unwrap());
}

#[test]
fn projects_that_cannot_be_seen_push_no_other_far_up() {
    let place = Place::new();
    let found = allocate(&place.user, &place.dirs, 4500, None).unwrap();
    let text = fs::read(place.user.instances()).unwrap();
    let mut registry: Value = serde_json::from_slice(&text).unwrap();
    let instances = registry["instances"].as_array_mut().unwrap();
    let (seen, step) = (instances[0].clone(), usize::from(GROUP_STEP));
    for number in 1..=2 * GROUPS_NEAR {
        let mut unseen = seen.clone();
        unseen["projectRoot"] = json!(format!("/nowhere/{number}"));
        for name in ["appPort", "proxyPort", "controlPort"] {
            let port = seen[name].as_u64().unwrap();
            unseen[name] = json!(port + (number * step) as u64);
        }
        instances.push(unseen);
    }
    fs::write(place.user.instances(), registry.to_string()).unwrap();
    let other = allocate(&place.user, &project(&place, "other"), 4500, None).unwrap();
    assert_eq!(found, Ports::group(4500).unwrap());
    assert_eq!(other, Ports::group(4500 + GROUP_STEP).unwrap());
}

#[test]
fn a_damaged_registry_makes_no_project_a_stranger() {
    let place = Place::new();
    let other = project(&place, "other");
    allocate(&place.user, &other, 4500, None).unwrap();
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    fs::write(place.user.instances(), "{\"instances\":[").unwrap();
    assert!(is_known(&place.user, &other).unwrap());
    allocate(&place.user, &place.dirs, 4500, None).unwrap();
    assert!(is_known(&place.user, &other).unwrap());
    assert_eq!(list(&place.user).unwrap().len(), 2);
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
    // What is none of ours, too.
    let all = found["instances"].as_array().unwrap();
    assert_eq!(all[1..], [json!({"nonsense": true}), json!(7)]);
    assert_eq!(found["instances"][0]["theirs"], json!([1]));
    assert_eq!(
        found["instances"][0]["instanceId"],
        json!(place.dirs.instance_id())
    );
}

#[test]
fn projects_in_another_shape_stay_as_they_are_written_and_are_known() {
    let place = Place::new();
    let [later, ours] = ["later", "ours"].map(|name| project(&place, name));
    allocate(&place.user, &ours, 4500, None).unwrap();
    let text = fs::read(place.user.instances()).unwrap();
    let mut written: Value = serde_json::from_slice(&text).unwrap();
    let unread = |dirs: &ProjectDirs| {
        json!({"instanceId": "ctx_x", "projectRoot": dirs.root, "ports": {"from": 5000, "count": 4},
            "relayInode": relay_inode(dirs)})
    };
    let nowhere = json!({"instanceId": "ctx_y", "root": {"path": "/a"}});
    // The last is one of a project that begins to work with this version below.
    let theirs = [unread(&later), json!(7), nowhere, unread(&place.dirs)];
    let instances = written["instances"].as_array_mut().unwrap();
    instances.extend(theirs.clone());
    written["layout"] = json!({"of": "a later version"});
    fs::write(place.user.instances(), written.to_string()).unwrap();
    assert!(is_known(&place.user, &later).unwrap());
    assert!(is_known(&place.user, &place.dirs).unwrap());
    allocate(&place.user, &place.dirs, 4500, None).unwrap();

    let text = fs::read(place.user.instances()).unwrap();
    let found: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(found["layout"], written["layout"]);
    let instances = found["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 5, "{found}");
    assert!(
        theirs[..3].iter().all(|one| instances.contains(one)),
        "{found}"
    );
    let begun = list(&place.user).unwrap();
    let begun = begun.iter().find(|it| it.project_root == place.dirs.root);
    assert_eq!(begun.unwrap().rest["ports"], theirs[3]["ports"]);
    // A copy of the folder is another one here, too.
    fs::rename(&later.relay, later.root.join("moved")).unwrap();
    later.create().unwrap();
    assert!(!is_known(&place.user, &later).unwrap());
    forget(&place.user, &later).unwrap();
    let text = fs::read_to_string(place.user.instances()).unwrap();
    assert!(!text.contains("/later"), "{text}");
}

#[test]
fn a_registry_that_is_none_is_set_aside() {
    let place = Place::new();
    make_private_dir(&place.user.registry).unwrap();
    for text in ["", "null", "[]", "{\"instances\":3}", "{\"instances\":["] {
        fs::write(place.user.instances(), text).unwrap();
        remove_if_there(&copy_of(&place.user)).unwrap();
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
    // The last waits for the disk of all others, and no lock is waited for longer than 5 s.
    let place = Place::quick();
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
