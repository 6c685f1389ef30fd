//! [`Capture`]: what a gate prints, however much that is.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

use crate::core::hex::hex;

/// How much of the beginning is kept, in bytes.
const HEAD_BYTES: usize = 128 * 1024;

/// How much of the end is kept, in bytes: what failed stands there.
const TAIL_BYTES: usize = 512 * 1024;

/// How much of the end is told while it runs, in bytes.
const TOLD_BYTES: usize = 4 * 1024;

/// The beginning and the end of an output, and the digest of all of it.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    digest: Sha256,
}

impl Capture {
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        let free = HEAD_BYTES - self.head.len();
        let (head, rest) = bytes.split_at(free.min(bytes.len()));
        self.head.extend_from_slice(head);
        bytes = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.tail.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.tail.extend(bytes);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The SHA-256 of all of it, in hex.
    pub(super) fn sha256(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// The last lines, whole ones where there is more: nobody is to see the rest of a line whose
    /// beginning would have said that it is a secret.
    pub(super) fn last_lines(&self) -> String {
        let kept = self.head.iter().chain(&self.tail);
        let skipped = (self.head.len() + self.tail.len()).saturating_sub(TOLD_BYTES);
        let end: Vec<u8> = kept.skip(skipped).copied().collect();
        let text = String::from_utf8_lossy(&end);
        match text.split_once('\n') {
            Some((_, whole)) if skipped > 0 => whole.to_owned(),
            None if skipped > 0 => String::new(),
            _ => text.into_owned(),
        }
    }

    /// What is kept, as text. What is not is counted where it was.
    pub(super) fn into_text(self) -> String {
        let (head, tail) = (self.head, Vec::from(self.tail));
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        if left_out == 0 {
            return String::from_utf8_lossy(&[head, tail].concat()).into_owned();
        }
        format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(&head),
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(parts: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        for part in parts {
            capture.take(part);
        }
        capture
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let capture = captured(&[b"one\n", b"two\n"]);
        assert_eq!(capture.bytes(), 8);
        assert_eq!(capture.last_lines(), "one\ntwo\n");
        assert_eq!(capture.sha256(), hex(&Sha256::digest(b"one\ntwo\n")));
        assert_eq!(capture.into_text(), "one\ntwo\n");
    }

    #[test]
    fn of_a_long_output_beginning_and_end_are_kept_and_the_rest_is_counted() {
        let line = b"0123456789abcde\n";
        let all = line.repeat(200_000);
        // In parts that fit nowhere.
        let mut capture = Capture::default();
        for part in all.chunks(77_777) {
            capture.take(part);
        }
        assert_eq!(capture.bytes(), 3_200_000);
        assert_eq!(capture.sha256(), hex(&Sha256::digest(&all)));
        let text = capture.into_text();
        let left_out = 3_200_000 - HEAD_BYTES - TAIL_BYTES;
        assert!(text.contains(&format!("[… {left_out} bytes left out …]")));
        assert!(text.ends_with("0123456789abcde\n"));
        assert!(text.len() < HEAD_BYTES + TAIL_BYTES + 100);
    }

    #[test]
    fn what_is_told_while_it_runs_begins_with_a_whole_line() {
        assert_eq!(captured(&[&[b'x'; 3_000_000]]).last_lines(), "");
        let long = [&[b'x'; 10_000][..], b"\nlast"].concat();
        assert_eq!(captured(&[&long]).last_lines(), "last");
    }
}
