//! [`by_id`]: the thing that a person means by its id, or by the end of it.

use super::exit::Failure;
use crate::core::id::EntryId;
use crate::wire::control::{ProgramCode, RefusalCode};

/// What is looked for, as it is called where it is not found.
#[derive(Debug)]
pub struct Wanted {
    /// `message`.
    pub what: &'static str,
    /// Where it would be, behind its name; empty when that says nothing.
    pub place: &'static str,
    /// The command that lists them.
    pub list: &'static str,
}

/// The one with this id, or the only one whose id ends like this.
///
/// # Errors
///
/// When there is none, or more than one.
pub fn by_id<T>(
    all: impl Iterator<Item = T> + Clone,
    id: impl Fn(&T) -> &EntryId,
    name: &str,
    wanted: &Wanted,
) -> Result<T, Failure> {
    let Wanted { what, place, list } = wanted;
    if let Some(exact) = all.clone().find(|one| id(one).as_str() == name) {
        return Ok(exact);
    }
    let mut alike = all.filter(|one| id(one).as_str().ends_with(name));
    match (alike.next(), alike.next()) {
        (Some(one), None) if !name.is_empty() => Ok(one),
        (Some(_), Some(_)) => Err(Failure::state(
            ProgramCode::AmbiguousId,
            format!("more than one {what} ends in `{name}`"),
            format!("give the whole id: `{list}`"),
        )),
        _ => Err(Failure::state(
            RefusalCode::NotFound,
            format!("there is no {what} `{name}`{place}"),
            format!("see `{list}`"),
        )),
    }
}
