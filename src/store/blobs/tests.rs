use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::{Place, mode};
use ctxrelay_core::id::SessionId;

fn blobs(place: &Place) -> Blobs {
    let session = SessionId::new("session_1795000000000_a1b2c3d4");
    Blobs::of_ledger(&place.dirs.ledger(&session))
}

fn names(blobs: &Blobs) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(blobs.dir())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_text_is_read_back_under_its_hash_and_nobody_else_may_read_it() {
    let place = Place::new();
    let blobs = blobs(&place);
    let name = blobs.put("a long text").unwrap();
    // As `sha256sum` says.
    assert_eq!(
        name,
        "3593f87b3ed8cc5d227bf3cb02dda0eca4d5b0f155e60601daed26f9acb14081"
    );
    assert_eq!(blobs.get(&name).unwrap(), "a long text");
    blobs.check(&name).unwrap();
    assert_eq!(mode(&blobs.dir().join(&name)), 0o600);
    assert_eq!(blobs.put("a long text").unwrap(), name);
    assert_eq!(names(&blobs), [name]);
}

#[test]
fn a_missing_or_altered_text_is_never_taken_for_it() {
    let place = Place::new();
    let blobs = blobs(&place);
    let name = blobs.put("a long text").unwrap();
    let path = blobs.dir().join(&name);
    let elsewhere = place.dir.path().join("elsewhere");
    fs::write(&elsewhere, "a long text").unwrap();
    let is_altered = || {
        assert!(matches!(blobs.get(&name), Err(BlobError::Altered)));
        assert!(matches!(blobs.check(&name), Err(BlobError::Altered)));
    };

    fs::write(&path, "another text").unwrap();
    is_altered();
    fs::write(&path, b"\xff\xfe").unwrap();
    is_altered();
    fs::remove_file(&path).unwrap();
    symlink(&elsewhere, &path).unwrap();
    is_altered();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    is_altered();
    fs::remove_dir(&path).unwrap();
    assert!(matches!(blobs.get(&name), Err(BlobError::Missing)));
    assert!(matches!(blobs.check(&name), Err(BlobError::Missing)));
    // What a line says is no path.
    assert!(matches!(
        blobs.get("../../elsewhere"),
        Err(BlobError::Missing)
    ));
}

#[test]
fn what_lies_under_the_name_already_is_compared_and_mended() {
    let place = Place::new();
    let blobs = blobs(&place);
    let name = blobs.put("a long text").unwrap();
    let path = blobs.dir().join(&name);
    fs::write(&path, "another text").unwrap();
    assert_eq!(blobs.put("a long text").unwrap(), name);
    assert_eq!(blobs.get(&name).unwrap(), "a long text");
    // A link is replaced, and what it points to is left as it is.
    let elsewhere = place.dir.path().join("elsewhere");
    fs::write(&elsewhere, "somebody's file").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&elsewhere, &path).unwrap();
    blobs.put("a long text").unwrap();
    assert_eq!(blobs.get(&name).unwrap(), "a long text");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "somebody's file");
}

#[test]
fn a_folder_that_is_a_link_or_a_file_takes_nothing() {
    let place = Place::new();
    let blobs = blobs(&place);
    fs::remove_dir(blobs.dir()).unwrap();
    let elsewhere = place.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, blobs.dir()).unwrap();
    assert!(blobs.put("a long text").is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(blobs.dir()).unwrap();
    fs::write(blobs.dir(), "in the way").unwrap();
    assert!(blobs.put("a long text").is_err());
    // Without one it is made.
    fs::remove_file(blobs.dir()).unwrap();
    blobs.put("a long text").unwrap();
    assert_eq!(mode(blobs.dir()), 0o700);
}

#[test]
fn what_is_not_named_any_more_goes_and_so_does_what_was_left_half_written() {
    let place = Place::new();
    let blobs = blobs(&place);
    let kept = blobs.put("kept").unwrap();
    blobs.put("gone").unwrap();
    fs::write(blobs.dir().join(".new-1"), "half").unwrap();
    fs::write(blobs.dir().join("notes.txt"), "not ours").unwrap();
    assert_eq!(blobs.retain(|name| name == kept).unwrap(), 1);
    let mut left = vec![kept, "notes.txt".to_owned()];
    left.sort();
    assert_eq!(names(&blobs), left);
}
