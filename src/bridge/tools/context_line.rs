//! [`line()`] and [`handoff_line`]: an entry and an open handoff as text, for `read_context`.

use serde_json::Value;

use crate::wire::control::ContextView;

/// What stands before each line of an entry but its first.
const INDENT: &str = "  ";

/// Said of what nobody vouches for, as `search_record` does.
fn whose(shown: &Value) -> &'static str {
    match shown["foreign"] == true {
        true => "from elsewhere, ",
        false => "",
    }
}

pub(super) fn handoff_line(handoff: &Value) -> String {
    let word = |name: &str| {
        handoff
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    format!(
        "{}open handoff {} from {}: {}",
        whose(handoff),
        word("id"),
        word("from"),
        word("ask")
    )
}

pub(super) fn line(view: ContextView, entry: &Value) -> String {
    if view == ContextView::Raw {
        return entry.to_string();
    }
    let word = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let seq = entry.get("seq").and_then(Value::as_u64).unwrap_or_default();
    let to = word("to");
    let arrow = if to.is_empty() { "" } else { "→" };
    let whose = whose(entry);
    let mut line = format!(
        "{whose}#{seq} {} {}{arrow}{to} [{}]: {}",
        word("type"),
        word("from"),
        word("id"),
        indented(word("text"))
    );
    // What a handoff says beside its ask, as its receiver is told it.
    let refs = entry.get("context_refs").and_then(Value::as_array);
    let refs: Vec<&str> = refs
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (what, said) in [("Reason", word("reason")), ("See", &refs.join(", "))] {
        if !said.is_empty() {
            line.push_str(&indented(&format!("\n{what}: {said}")));
        }
    }
    let whole = word("read_context_cursor");
    if !whole.is_empty() {
        line.push_str(&indented(&format!(
            "\nWhole: read_context with cursor {whole}."
        )));
    }
    line
}

/// Words of several lines, of which none can be taken for another entry's.
fn indented(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for character in text.chars() {
        lines.push(character);
        if matches!(character, '\n' | '\r') {
            lines.push_str(INDENT);
        }
    }
    lines
}
