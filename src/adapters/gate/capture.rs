//! [`Capture`]: captures the output of a gate, however long it is.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

use crate::core::hex::hex;

/// How much of the beginning is kept, in bytes.
const HEAD_BYTES: usize = 128 * 1024;

/// How much of the end is kept, in bytes: what failed stands there.
const TAIL_BYTES: usize = 512 * 1024;

/// How far from a cut its line may go, in bytes: what has no lines is not told line by line.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// How much of the end is told while it runs, in bytes.
const TOLD_BYTES: usize = 4 * 1024;

/// The beginning and the end of an output, and the digest of all of it.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The byte before the tail, where some are left out between.
    before_tail: Option<u8>,
    bytes: u64,
    digest: Sha256,
}

impl Capture {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        let free = HEAD_BYTES - self.head.len();
        let (head, rest) = bytes.split_at(free.min(bytes.len()));
        self.head.extend_from_slice(head);
        let (left_out, rest) = rest.split_at(rest.len().saturating_sub(TAIL_BYTES));
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL_BYTES);
        let drained = self.tail.drain(..over).next_back();
        let before = left_out.last().copied().or(drained);
        self.before_tail = before.or(self.before_tail);
        self.tail.extend(rest);
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
        if skipped == 0 {
            return String::from_utf8_lossy(&end).into_owned();
        }
        let whole = end.iter().position(|byte| *byte == b'\n');
        let whole = whole.map_or(&[][..], |at| &end[at + 1..]);
        String::from_utf8_lossy(behind_cut_key(whole)).into_owned()
    }

    /// What is kept, as text. What is not is counted where it was: nothing that is cut there is told,
    /// for it may be the rest of a secret.
    pub(super) fn into_text(self) -> String {
        let (head, tail) = (self.head, Vec::from(self.tail));
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        if left_out == 0 {
            return String::from_utf8_lossy(&[head, tail].concat()).into_owned();
        }
        let mut end = head.iter().rev().take(LINE_BYTES_MAX);
        let cut = end.position(|byte| *byte == b'\n');
        let head = &head[..head.len() - cut.unwrap_or(0)];
        let mut end = tail.iter().take(LINE_BYTES_MAX);
        let cut = match self.before_tail {
            Some(b'\n') => None,
            _ => end.position(|byte| *byte == b'\n'),
        };
        let tail = behind_cut_key(&tail[cut.map_or(0, |at| at + 1)..]);
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        )
    }
}

/// An end without the private key that began before it: nothing says of the rest what it is.
fn behind_cut_key(end: &[u8]) -> &[u8] {
    let has = |line: &[u8], word: &[u8]| line.windows(word.len()).any(|seen| seen == word);
    // As OpenSSL, PuTTY and OpenVPN write them; a sentence may hold the words alone.
    let is_edge = |line: &[u8], edges: [&[u8]; 2]| edges.into_iter().any(|edge| has(line, edge));
    let mut at = 0;
    for line in end.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if !has(line, b"PRIVATE KEY") && !has(line, b"Static key") {
            continue;
        }
        // The first of them is the end of one, or a whole one begins.
        if is_edge(line, [b"-----BEGIN ", b"---- BEGIN "]) {
            return end;
        }
        if is_edge(line, [b"-----END ", b"---- END "]) {
            return &end[at..];
        }
    }
    end
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
    fn nothing_is_told_of_a_line_or_a_key_that_is_cut() {
        let key_line = format!("{}\n", "aB3d".repeat(16));
        let end = format!("-----END PRIVATE {}-----\n", "KEY");
        // A line is cut at the end of the head, and a key at the beginning of the tail.
        let mut all = "x".repeat(HEAD_BYTES - 10) + "\n" + "password one two\n";
        all += &key_line.repeat(40_000);
        let behind = format!("{end}{}last\n", "a line\n".repeat(70_000));
        assert!(behind.len() < TAIL_BYTES);
        all += &behind;
        let mut capture = Capture::default();
        for part in all.as_bytes().chunks(77_777) {
            capture.take(part);
        }
        let text = capture.into_text();
        assert!(
            !text.contains("aB3d") && !text.contains("passw"),
            "it is told"
        );
        let told = "a line\n".len() * 70_000 + "last\n".len() + HEAD_BYTES - 9;
        let left_out = format!("[… {} bytes left out …]", all.len() - told);
        assert!(text.contains(&left_out) && text.ends_with("a line\nlast\n"));

        let short = [key_line.repeat(100).as_bytes(), end.as_bytes(), b"done\n"].concat();
        assert_eq!(captured(&[&short]).last_lines(), "done\n");
        let told = [&b"a failure\n"[..], b"cannot SEND PRIVATE KEY\n", b"done\n"].concat();
        assert_eq!(captured(&[&told]).last_lines().as_bytes(), told);
        // A whole one is masked by who tells it.
        let whole = format!("-----BEGIN PRIVATE {}-----\n{key_line}{end}", "KEY");
        let long = "a line\n".repeat(2_000) + &whole;
        assert!(captured(&[long.as_bytes()]).last_lines().ends_with(&whole));
    }

    #[test]
    fn what_is_told_while_it_runs_begins_with_a_whole_line() {
        assert_eq!(captured(&[&[b'x'; 3_000_000]]).last_lines(), "");
        let long = [&[b'x'; 10_000][..], b"\nlast"].concat();
        assert_eq!(captured(&[&long]).last_lines(), "last");
    }
}
