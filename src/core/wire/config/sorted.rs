//! [`sorted`]: a value whose text depends only on its content.

use serde_json::Value;

/// The same value with the keys of every object in order.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let pairs = keys
                .into_iter()
                .map(|key| (key.clone(), sorted(&object[key])));
            Value::Object(pairs.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
