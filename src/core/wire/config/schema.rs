//! [`schema`]: the JSON schema of `config.json`, for editors.

use serde_json::{Value, json};

use super::keys::Config;

/// Keys that have a meaning elsewhere, in a later version or in ContextRelay 3, and none here: they
/// are kept as they are.
pub const KEPT_KEYS: [(&str, &str); 6] = [
    ("autonomy", "What may happen without a person."),
    ("notify", "A command that tells a person."),
    ("headless", "Agents without a terminal."),
    ("turnCoordination", "How messages meet turns."),
    ("usageControl", "What usage costs."),
    ("activation", "When agents attach."),
];

pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (key, about) in KEPT_KEYS {
            let description = format!("{about} No effect in this version; kept.");
            properties.insert(key.to_owned(), json!({"description": description}));
        }
    }
    schema
}
