use std::fs;
use std::sync::mpsc::channel;

use super::*;
use crate::testing::Place;
use ctxrelay_core::wire::config::read;

fn keys(blobs: u64, low_water: u64) -> StorageKeys {
    let file = serde_json::json!({
        "storage": {"blobsMegabytes": blobs, "lowWaterMegabytes": low_water}
    });
    let (config, problems) = read(file.as_object().unwrap());
    assert_eq!(problems, []);
    config.storage
}

fn put(place: &Place, name: &str, bytes: u64) {
    let folder = place.dirs.relay.join("blobs");
    fs::create_dir_all(&folder).unwrap();
    let file = fs::File::create(folder.join(name)).unwrap();
    file.set_len(bytes).unwrap();
}

/// As if the last count were long ago.
fn later(space: &DiskSpace) {
    let mut count = lock(&space.count);
    let count = count.as_mut().unwrap();
    count.at = count.at.checked_sub(COUNT_GAP).unwrap();
}

#[test]
fn what_lies_there_counts_and_what_is_gone_counts_no_more() {
    let place = Place::new();
    let space = DiskSpace::new(&place.dirs, keys(1, 0));
    assert!(!space.measure(), "nothing lies there");
    assert_eq!((space.blobs_notice(), space.refuses()), (None, false));
    space.admit_blob(1_000_000).unwrap();

    space.blobs_removed();
    put(&place, "a", 500_000);
    put(&place, ".new-b", 300_000);
    assert!(space.measure());
    assert!(space.blobs_notice().unwrap().contains("80 %"));
    assert!(!space.refuses());
    space.admit_blob(200_000).unwrap();
    let refused = space.admit_blob(200_001).unwrap_err();
    assert_eq!(refused.code(), RefusalCode::LongTextsFull);

    space.blob_kept(190_000);
    put(&place, "c", 190_000);
    assert!(space.measure());
    assert!(space.blobs_notice().unwrap().contains("used up their 1 MB"));
    assert!(space.refuses());

    // Somebody removes one by hand.
    fs::remove_file(place.dirs.relay.join("blobs/a")).unwrap();
    assert!(space.admit_blob(400_000).is_err(), "counted a moment ago");
    later(&space);
    space.admit_blob(400_000).unwrap();
    assert!(space.measure());
    assert_eq!((space.blobs_notice(), space.refuses()), (None, false));
}

#[test]
fn a_warning_ends_by_itself_once_files_are_gone() {
    let place = Place::new();
    put(&place, "a", 990_000);
    let space = DiskSpace::new(&place.dirs, keys(1, 0));
    assert!(space.measure());
    fs::remove_file(place.dirs.relay.join("blobs/a")).unwrap();
    later(&space);
    assert!(space.measure());
    assert_eq!(space.blobs_notice(), None);
}

#[test]
fn large_things_are_refused_first_and_messages_later() {
    let place = Place::new();
    let space = DiskSpace::new(&place.dirs, keys(512, 0));
    space.measure();
    let free = space.figures().free.unwrap() / MEGABYTE;
    assert!(free > 2, "the disk of the tests is full");
    space.admit_message().unwrap();
    assert!(space.has_room_to_grow());

    space.set_limits(keys(512, free * 2));
    assert!(space.measure());
    assert_eq!(
        space.admit_blob(1).unwrap_err().code(),
        RefusalCode::DiskLow
    );
    assert!(!space.has_room_to_grow());
    space.admit_message().unwrap();

    space.set_limits(keys(512, free * 8));
    assert!(space.measure());
    assert_eq!(
        space.admit_message().unwrap_err().code(),
        RefusalCode::DiskLow
    );
    assert!(space.disk_notice().unwrap().contains("new messages"));

    space.set_limits(keys(512, 0));
    assert!(space.measure());
    space.admit_message().unwrap();
    space.admit_blob(1).unwrap();
    assert_eq!(space.disk_notice(), None);
}

#[test]
fn a_folder_that_is_a_link_is_not_followed() {
    let place = Place::new();
    let elsewhere = place.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("large"), vec![0; 990_000]).unwrap();
    let blobs = place.dirs.relay.join("blobs");
    fs::remove_dir(&blobs).unwrap();
    std::os::unix::fs::symlink(&elsewhere, blobs).unwrap();
    let space = DiskSpace::new(&place.dirs, keys(1, 0));
    assert!(!space.measure());
}

#[test]
fn megabytes_have_a_fraction_only_where_there_is_one() {
    let said: Vec<String> = [64_000_000, 250_000, 2_500_000].map(mb).into();
    assert_eq!(said, ["64", "0.2", "2.5"]);
}

#[test]
fn what_was_removed_is_noted_while_the_long_texts_are_being_counted() {
    let place = Place::new();
    let space = DiskSpace::new(&place.dirs, keys(1, 0));
    put(&place, "a", 900_000);
    assert!(space.measure());
    fs::remove_file(place.dirs.relay.join("blobs/a")).unwrap();
    std::thread::scope(|scope| {
        let counting = lock(&space.count);
        let (done, noted) = channel();
        let space = &space;
        scope.spawn(move || {
            space.blobs_removed();
            done.send(()).unwrap();
        });
        let noted = noted.recv_timeout(Duration::from_secs(30));
        drop(counting);
        noted.unwrap();
    });
    space.admit_blob(900_000).unwrap();
}
