//! [`migrate`]: the `config.json` of ContextRelay 3 (3.13.4, observed), key by key.

use serde_json::{Map, Value};

/// What is not taken over: facts of the other product's daemon. Ports are the registry's, and the
/// state folder is where it is.
const PLUMBING: [&str; 3] = ["instanceId", "stateDir", "controlPort"];

/// As [`PLUMBING`], in the group `codex`.
const CODEX_PLUMBING: [&str; 2] = ["appPort", "proxyPort"];

/// A file that was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Migrated {
    /// The file as it is to be written.
    pub file: Map<String, Value>,
    /// Keys that mean here what they meant there, and keys that are kept for a later version.
    pub kept: Vec<String>,
    /// Keys that are left out.
    pub dropped: Vec<String>,
}

/// Whether a file is ContextRelay 3's: it says where that product's daemon lives, which ours never
/// writes.
pub fn is_contextrelay_3(file: &Map<String, Value>) -> bool {
    PLUMBING.iter().any(|key| file.contains_key(*key))
        || codex(file)
            .is_some_and(|codex| CODEX_PLUMBING.iter().any(|key| codex.contains_key(*key)))
}

fn codex(file: &Map<String, Value>) -> Option<&Map<String, Value>> {
    file.get("codex")?.as_object()
}

/// Takes a file of ContextRelay 3 over. What both know has the same name and unit, so that all but
/// its plumbing stays, unknown keys included.
pub fn migrate(file: &Map<String, Value>) -> Migrated {
    let mut migrated = Migrated {
        file: Map::new(),
        kept: Vec::new(),
        dropped: Vec::new(),
    };
    migrated.file.insert("version".to_owned(), 1.into());
    for (key, value) in file {
        match (key.as_str(), value) {
            ("version", _) => {}
            ("codex", Value::Object(codex)) => migrated.take_codex(codex),
            (name, _) if PLUMBING.contains(&name) => migrated.dropped.push(key.clone()),
            _ => {
                migrated.kept.push(key.clone());
                migrated.file.insert(key.clone(), value.clone());
            }
        }
    }
    migrated
}

impl Migrated {
    fn take_codex(&mut self, codex: &Map<String, Value>) {
        let mut group = Map::new();
        for (key, value) in codex {
            let name = format!("codex.{key}");
            if CODEX_PLUMBING.contains(&key.as_str()) {
                self.dropped.push(name);
            } else {
                self.kept.push(name);
                group.insert(key.clone(), value.clone());
            }
        }
        if !group.is_empty() {
            self.file.insert("codex".to_owned(), Value::Object(group));
        }
    }
}
