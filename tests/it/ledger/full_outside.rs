//! A full disk below the registry, on which the head outside of the project lies.

use crate::support::child::run;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::small_disk::SmallDisk;

const DISK_KIB: u32 = 512;

#[test]
fn a_start_on_a_full_registry_says_to_make_room_and_names_no_other_registry_for_a_record_of_this_one()
 {
    if !privileged::granted() {
        return;
    }
    let project = Project::without_git();
    project.daemon().stop().expect_success();
    let registry = project.registry();
    let disk = SmallDisk::over(&project, &registry, DISK_KIB);
    let ballast = disk.outside(&registry.join("ballast"));
    std::fs::write(&ballast, vec![0; 2 * DISK_KIB as usize * 1024]).unwrap_err();
    let refused = run(&disk.launch(&project.ctxrelay(["daemon", "--json"])));
    assert_eq!(refused.code(), 3, "{refused:?}");
    let error = refused.json()["error"].clone();
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("make room on the disk of"), "{error}");
    assert!(hint.contains(registry.to_str().unwrap()), "{error}");
    assert!(!hint.contains("another folder"), "{error}");
}
