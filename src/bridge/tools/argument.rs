//! Arguments of a call: parsed into a type, or refused with a sentence that names the argument.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::core::cut_text::cut_text;
use crate::core::id::EntryId;
use crate::wire::control::{Refusal, RefusalCode, TEXT_CHARS_MAX};

/// The longest wait that a call may ask for, in s. Codex gives a call 60 s by default.
pub(super) const WAIT_S_MAX: u64 = 50;

/// The most characters of an id, a kind or a cursor.
const WORD_CHARS_MAX: usize = 200;

/// The most characters of a one-line text.
const LINE_CHARS_MAX: usize = 1_000;

/// The most items of a list.
const ITEMS_MAX: usize = 200;

/// How much is said of what is wrong with an argument, in characters.
pub(in crate::bridge) const FAULT_CHARS: usize = 300;

/// How much of a name or an id that an agent made up is repeated to it, in characters.
pub(in crate::bridge) const NAME_CHARS: usize = 60;

/// How far a reading goes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ContextScope {
    /// To the pairs of the other Claudes too.
    All,
}

/// The arguments of a reading that takes no others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScopeArguments {
    pub(super) scope: Option<ContextScope>,
}

/// Reads the arguments.
///
/// # Errors
///
/// `invalid_arguments`, with what is wrong.
pub(super) fn parse<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, Refusal> {
    // Of a wrong type serde alone says what it is, and not where.
    serde_path_to_error::deserialize(Value::Object(arguments.clone())).map_err(|error| {
        let at = error.path().to_string();
        let what = error.into_inner().to_string();
        // Both repeat what was given, however long that is.
        let what = without_middle(&what);
        invalid(match cut_text(&at, NAME_CHARS) {
            at if at == "." => what.into_owned(),
            at => format!("`{at}`: {what}"),
        })
    })
}

/// What is wrong in [`FAULT_CHARS`]: behind what was given stands what was expected.
fn without_middle(fault: &str) -> Cow<'_, str> {
    let chars = fault.chars().count();
    if chars <= FAULT_CHARS {
        return fault.into();
    }
    let beginning = cut_text(fault, NAME_CHARS);
    let end = fault.chars().skip(chars - (FAULT_CHARS - NAME_CHARS));
    beginning.chars().chain(end).collect()
}

/// The refusal of a call whose arguments are wrong.
pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::invalid(
        message,
        "call again with arguments as in the tool's schema; nothing was recorded",
    )
}

fn too_large(name: &str, chars: usize, max: usize) -> Refusal {
    Refusal::new(
        RefusalCode::TooLarge,
        format!("`{name}` has {chars} characters, {max} is the most"),
        "write it to a file in the project and name the path; nothing was recorded",
    )
}

/// Free text that must say something.
pub(super) fn text(name: &str, value: &str) -> Result<(), Refusal> {
    if value.trim().is_empty() {
        return Err(invalid(format!("`{name}` is empty")));
    }
    at_most(name, value, TEXT_CHARS_MAX)
}

/// Free text that may be absent.
pub(super) fn optional_text(name: &str, value: Option<&str>) -> Result<(), Refusal> {
    value.map_or(Ok(()), |value| at_most(name, value, TEXT_CHARS_MAX))
}

/// One line that must say something.
pub(super) fn line(name: &str, value: &str) -> Result<(), Refusal> {
    if value.trim().is_empty() {
        return Err(invalid(format!("`{name}` is empty")));
    }
    at_most(name, value, LINE_CHARS_MAX)
}

/// An id, a kind or a cursor.
pub(super) fn word(name: &str, value: &str) -> Result<(), Refusal> {
    if value.is_empty() {
        return Err(invalid(format!("`{name}` is empty")));
    }
    if value.chars().count() > WORD_CHARS_MAX {
        return Err(invalid(format!(
            "`{name}` is longer than {WORD_CHARS_MAX} characters"
        )));
    }
    Ok(())
}

/// An optional id of an entry, as the list that commands take.
pub(super) fn ids(name: &str, value: Option<String>) -> Result<Vec<EntryId>, Refusal> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    word(name, &value)?;
    Ok(vec![EntryId::new(value)])
}

/// Ids of entries.
pub(super) fn id_list(name: &str, values: Vec<String>) -> Result<Vec<EntryId>, Refusal> {
    count(name, values.len())?;
    values
        .into_iter()
        .map(|value| {
            word(name, &value)?;
            Ok(EntryId::new(value))
        })
        .collect()
}

/// Free texts, together not above what one text may have.
pub(super) fn texts(name: &str, values: &[String]) -> Result<(), Refusal> {
    count(name, values.len())?;
    let chars = values.iter().map(|value| value.chars().count()).sum();
    if chars > TEXT_CHARS_MAX {
        return Err(too_large(name, chars, TEXT_CHARS_MAX));
    }
    Ok(())
}

/// A waiting time in s, as ms.
pub(super) fn wait_ms(seconds: u64) -> Result<u64, Refusal> {
    if seconds > WAIT_S_MAX {
        return Err(invalid(format!(
            "`timeout_s` is {seconds}, {WAIT_S_MAX} is the most; wait again for longer"
        )));
    }
    Ok(seconds * 1000)
}

fn count(name: &str, items: usize) -> Result<(), Refusal> {
    if items > ITEMS_MAX {
        return Err(invalid(format!(
            "`{name}` has {items} items, {ITEMS_MAX} is the most"
        )));
    }
    Ok(())
}

fn at_most(name: &str, value: &str, max: usize) -> Result<(), Refusal> {
    // A character has at most four bytes: most texts need not be counted.
    if value.len() <= max {
        return Ok(());
    }
    let chars = value.chars().count();
    if chars > max {
        return Err(too_large(name, chars, max));
    }
    Ok(())
}
