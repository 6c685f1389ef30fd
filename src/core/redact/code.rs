//! [`is_expression`]: recognises code where a value is expected.
//!
//! A random password contains the same characters. So an expression must keep its shape to the end
//! of the value, or be cut where more of it follows.

use super::drawn::is_drawn;

/// What is known of where a value stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// More of the line follows the value, as where a blank or a quote cuts an expression.
    pub goes_on: bool,
    /// Code is not expected here, as in quotes and in `NAME=value`: only a simple one is taken for it.
    pub plain: bool,
}

/// `parse(input)`, `os.environ[`, `Option<String>`, `self.token2`.
pub(super) fn is_expression(value: &str, around: Around) -> bool {
    let value = value.strip_prefix('&').unwrap_or(value);
    let begins_with_name = value
        .starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_' || letter == '&');
    begins_with_name && (is_call(value, around) || is_type(value, around.goes_on))
        || is_member(value)
}

/// `f(x)`, `f(x)[7:]`, `f().min(8)?`, `x[0]`, and of each the beginning.
fn is_call(value: &str, around: Around) -> bool {
    let Some(open) = value.find(['(', '[']) else {
        return false;
    };
    let (name, rest) = value.split_at(open);
    let (signs, inner) = match around.plain {
        true => ("_.", "_.,:()[]'\""),
        false => ("_.:&!>-", ""),
    };
    let is_made_of = |text: &str, signs: &str| {
        text.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || signs.contains(letter))
    };
    if !is_made_of(name, signs) || around.plain && !is_made_of(rest, inner) {
        return false;
    }
    match tail(rest) {
        Some(tail) => tail.is_empty() || tail.starts_with(['.', '?', '!']) && !around.plain,
        None => around.goes_on,
    }
}

/// What follows the last bracket that closes; `None` when one is open still, or closes what it
/// did not open.
fn tail(text: &str) -> Option<&str> {
    let mut open = Vec::new();
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(letter) => return None,
            ')' | ']' | '}' => end = at + 1,
            _ => {}
        }
    }
    open.is_empty().then(|| &text[end..])
}

/// `Option<String>`, `Arc<RwLock<T>>`, and where the line goes on their beginning: `Ref<string`.
fn is_type(value: &str, goes_on: bool) -> bool {
    let Some(open) = value.find('<') else {
        return false;
    };
    let (name, rest) = value.split_at(open);
    let closed = rest.ends_with('>') && rest.matches('<').count() == rest.matches('>').count();
    (closed || goes_on)
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || b"_:.".contains(&byte))
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_:,.<>&'()[]; ".contains(&byte))
}

/// `self.token2`, `process.env.TOKEN`: names joined by dots, each without a digit before its end.
pub(super) fn is_member(value: &str) -> bool {
    let parts: Vec<_> = value.split('.').collect();
    parts.len() > 1
        && parts.iter().all(|part| {
            let name = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
            part.len() - name.len() <= 3
                && !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphabetic() || letter == '_')
        })
        && !is_drawn(value)
}
