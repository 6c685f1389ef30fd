//! [`by_id`]: finds what a person means by its id, or by the end of its id.

use crate::cli::exit::Failure;
use crate::core::id::EntryId;
use crate::wire::control::{ProgramCode, RefusalCode};

/// Fewer digits than this are a number, and no end of an id.
const NUMBER_MAX: usize = 8;

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
    // The number of an entry is no end of another one's id.
    let is_number = name.len() < NUMBER_MAX && name.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(exact) = all.clone().find(|one| id(one).as_str() == name) {
        return Ok(exact);
    }
    let mut alike = all.filter(|one| id(one).as_str().ends_with(name));
    match (alike.next(), alike.next()) {
        (Some(one), None) if !is_number => Ok(one),
        (Some(_), Some(_)) if !is_number => Err(Failure::state(
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
