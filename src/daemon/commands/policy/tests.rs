use serde_json::json;

use super::*;
use crate::store::testing::Place;

const AUTO: PolicyChange = PolicyChange::SignOff {
    mode: SignOffMode::Auto,
};

fn trusted(place: &Place) -> Vec<u8> {
    std::fs::read(place.user.trust(&place.dirs.instance_id())).unwrap()
}

fn trust_a_gate(place: &Place) {
    let gates = json!({"gates": [{"name": "tests", "cmd": "true"}]});
    let id = place.dirs.instance_id();
    trust::write(&place.user, &id, gates.as_object().unwrap().clone(), 1).unwrap();
}

#[test]
fn a_rule_that_could_not_be_written_into_the_file_is_not_in_force() {
    let place = Place::new();
    trust_a_gate(&place);
    let before = trusted(&place);
    std::fs::remove_dir_all(&place.dirs.relay).unwrap();
    keep(&place.dirs, &place.user, AUTO).unwrap_err();
    assert_eq!(trusted(&place), before);
}

#[test]
fn what_is_trusted_and_cannot_be_read_is_not_written_over_by_one_rule() {
    let place = Place::new();
    trust_a_gate(&place);
    let path = place.user.trust(&place.dirs.instance_id());
    std::fs::write(&path, "{").unwrap();
    let why = keep(&place.dirs, &place.user, AUTO).unwrap_err();
    assert!(why.to_string().contains("cannot be read"), "{why}");
    assert_eq!(trusted(&place), b"{");
    assert!(!place.dirs.config().exists());
}
