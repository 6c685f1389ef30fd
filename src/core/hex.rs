//! [`hex`] and [`unhex`]: bytes as lower-case hex digits, so that each value has one spelling.

use data_encoding::HEXLOWER;

/// The digits of these bytes.
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The bytes of these digits; `None` where one of them is none, or half a byte is missing.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    HEXLOWER.decode(text.as_bytes()).ok()
}
