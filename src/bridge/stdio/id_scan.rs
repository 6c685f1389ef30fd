//! [`IdScan`]: finds the id of a request that is too long to be kept. Reads byte by byte, and keeps
//! no more bytes than an id may have.

use serde_json::Value;

/// The longest key or id that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 256;

/// What comes next in the outermost object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Next {
    #[default]
    Key,
    Colon,
    Value,
}

/// Looks for the member `id` of the outermost object.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: u32,
    next: Next,
    in_string: bool,
    is_escaped: bool,
    is_id: bool,
    token: Vec<u8>,
    id: Option<Value>,
}

impl IdScan {
    /// Takes the next bytes in.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.take(*byte);
        }
    }

    /// The id, a string or a number, if it has come.
    pub(super) fn into_id(self) -> Option<Value> {
        self.id
    }

    fn take(&mut self, byte: u8) {
        let is_outermost = self.depth == 1;
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    if is_outermost && self.next == Next::Key {
                        self.is_id = self.token == b"\"id\"";
                        self.next = Next::Colon;
                    }
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                if is_outermost && self.next == Next::Key {
                    self.token.clear();
                }
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if is_outermost {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if is_outermost => {
                self.end_value();
                self.next = Next::Key;
            }
            b':' if is_outermost && self.next == Next::Colon => {
                self.token.clear();
                self.next = Next::Value;
            }
            _ => self.keep(byte),
        }
    }

    /// Keys and the id itself stand in the outermost object; all else is passed over.
    fn keep(&mut self, byte: u8) {
        let wanted = match self.next {
            Next::Key => self.in_string,
            Next::Colon => false,
            Next::Value => self.is_id,
        };
        if self.depth == 1 && wanted && self.token.len() < TOKEN_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.is_id && self.next == Next::Value {
            let id = serde_json::from_slice(&self.token).ok();
            self.id = id.filter(|id: &Value| id.is_string() || id.is_number());
        }
        self.is_id = false;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id_of(text: &str) -> Option<Value> {
        // In pieces of every size: it must not matter where one ends.
        let mut found = None;
        for size in 1..=text.len() {
            let mut scan = IdScan::default();
            for piece in text.as_bytes().chunks(size) {
                scan.feed(piece);
            }
            let id = scan.into_id();
            assert!(size == 1 || id == found, "{text} in pieces of {size}");
            found = id;
        }
        found
    }

    #[test]
    fn the_id_of_the_request_itself_is_found_wherever_it_stands() {
        for (text, id) in [
            (r#"{"id":7,"method":"m"}"#, Some(json!(7))),
            (
                r#"{"method":"m","params":{"id":1,"a":[{"id":2}]},"jsonrpc":"2.0","id":7}"#,
                Some(json!(7)),
            ),
            (
                r#" { "params" : "\"id\":3,}{" , "id" : "a\"b" } "#,
                Some(json!("a\"b")),
            ),
            (r#"{"params":{"id":1}}"#, None),
            (r#"{"idx":1,"x":"id"}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":{"id":4}}"#, None),
            (r#"{"id":[5]}"#, None),
            (r#"[{"id":5}]"#, None),
            ("xxxx", None),
        ] {
            assert_eq!(id_of(text), id, "{text}");
        }
    }
}
