//! The same handoff asked for twice.

use crate::delivery::{Admission, Admissions};
use crate::id::EntryId;

#[test]
fn an_id_stands_for_a_request_only_once_it_is_recorded() {
    let mut admissions = Admissions::new(300_000);
    let (first, second) = (EntryId::new("m1"), EntryId::new("m2"));
    assert_eq!(admissions.ask("look", &first, 0), Admission::New);
    // Nobody knows yet whether the first will ever be recorded.
    assert_eq!(
        admissions.ask("look", &second, 1),
        Admission::Undecided(first.clone())
    );
    admissions.refused(&first);
    assert_eq!(admissions.ask("look", &second, 2), Admission::New);
    admissions.admitted(&second);
    let third = EntryId::new("m3");
    assert_eq!(
        admissions.ask("look", &third, 3),
        Admission::Same(second.clone())
    );
    assert_eq!(admissions.ask("look", &third, 300_002), Admission::New);
}

#[test]
fn what_was_recorded_before_a_restart_is_still_the_same() {
    let mut admissions = Admissions::new(300_000);
    let (first, second) = (EntryId::new("m1"), EntryId::new("m2"));
    admissions.restore("look", first.clone(), 1_000);
    assert_eq!(
        admissions.ask("look", &second, 2_000),
        Admission::Same(first.clone())
    );
    admissions.retain(|id| *id != first);
    assert_eq!(admissions.ask("look", &second, 2_000), Admission::New);
}
