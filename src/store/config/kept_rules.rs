//! [`keep_rules`]: the redaction rules of the last readable `config.json`, for a program that
//! starts while the file cannot be read.
//!
//! Anybody who can write them can write `config.json` too, where rules need no trust either. The
//! allow-list does need it, and is therefore not kept here.

use std::io;

use serde_json::json;

use super::{CONFIG_BYTES_MAX, Loaded};
use crate::dirs::{ProjectDirs, read_private, remove_if_there, write_private};
use ctxrelay_core::plain_value::PlainValue;
use ctxrelay_core::redact::OwnRules;
use ctxrelay_core::wire::config::{own_rules, read};

/// In the state folder.
const NAME: &str = "redaction-rules.json";

/// Keeps the rules of a configuration, 0600, unless something is wrong with them. None are no file.
///
/// # Errors
///
/// When the state folder cannot be written; what was kept before is then still there.
pub fn keep_rules(dirs: &ProjectDirs, loaded: &Loaded) -> io::Result<()> {
    if loaded.masking_doubt().is_some() {
        return Ok(());
    }
    let path = dirs.state_file(NAME);
    let rules = &loaded.config.redaction.rules;
    if rules.is_empty() {
        return remove_if_there(&path);
    }
    let bytes = serde_json::to_vec(rules)?;
    if read_private(&path, CONFIG_BYTES_MAX).is_ok_and(|kept| kept == bytes) {
        return Ok(());
    }
    write_private(&path, &bytes)
}

/// The rules that were kept; `None` where none are.
pub(super) fn rules_of_before(dirs: &ProjectDirs) -> Option<OwnRules> {
    let bytes = read_private(&dirs.state_file(NAME), CONFIG_BYTES_MAX).ok()?;
    let PlainValue(rules) = serde_json::from_slice(&bytes).ok()?;
    // Judged as those of the file itself.
    let file = json!({"redaction": {"rules": rules}});
    let config = read(file.as_object()?).0;
    let is_any = !config.redaction.rules.is_empty();
    is_any.then(|| own_rules(&config).0)
}
