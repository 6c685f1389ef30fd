//! [`canonical`]: one value, one text.

use serde_json::Value;

/// The value with its keys sorted by code point, without spaces, with a newline at the end.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out.push('\n');
    out
}

fn push(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            // The order of bytes in UTF-8 is that of code points.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, member)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                push(out, member);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
