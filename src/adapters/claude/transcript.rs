//! A transcript of Claude Code's, from the disk: [`read_end`] tells of the context, [`SpokenWords`]
//! what Claude said.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

use crate::wire::claude::own_words::OwnWords;
use crate::wire::claude::transcript::TranscriptEnd;

/// How much of the end is read, in bytes: as a rule an answer's line is in the first of these.
/// What a tool returned may lie behind it, and takes more.
const TAILS: [u64; 2] = [256 << 10, 8 << 20];

/// What the end of this transcript says of the context. `None` where it says nothing, is no
/// transcript, or is not there. Blocks.
pub fn read_end(path: &Path) -> Option<TranscriptEnd> {
    let (mut file, len) = open_plain(path)?;
    for most in TAILS {
        let from = len.saturating_sub(most);
        let tail = read_from(&mut file, from, most).ok()?;
        if let Some(end) = TranscriptEnd::read(&tail) {
            return Some(end);
        }
        if from == 0 {
            break;
        }
    }
    None
}

/// What Claude says in one runtime session, from stop to stop.
#[derive(Debug, Default)]
pub struct SpokenWords {
    /// The transcript, and how far it was read.
    read: Option<(PathBuf, u64)>,
    /// The last words of the stop before, where the transcript did not hold them by then.
    ahead: Option<String>,
}

impl SpokenWords {
    /// A turn begins: what a transcript holds that was never read is of earlier ones. Blocks.
    pub fn turn_begins(&mut self, path: &Path) {
        if self.read.as_ref().is_none_or(|(known, _)| known != path) {
            let len = open_plain(path).map_or(0, |(_, len)| len);
            self.read = Some((path.to_owned(), len));
            self.ahead = None;
        }
    }

    /// What Claude said since it was read last, each text once, in a turn that goes on. Of what was
    /// added, at most the last 8 MiB are read. Blocks.
    pub fn so_far(&mut self, path: &Path) -> Vec<String> {
        // Of a transcript that was never read nobody knows what was told of it.
        self.turn_begins(path);
        self.since(path, None)
    }

    /// As [`Self::so_far`], at the end of a turn; of one that was not seen to begin, since its
    /// prompt. `last`: the words with which it ends, which the transcript may not hold yet. Blocks.
    pub fn at_stop(&mut self, path: &Path, last: Option<&str>) -> Vec<String> {
        self.since(path, last)
    }

    fn since(&mut self, path: &Path, last: Option<&str>) -> Vec<String> {
        let mut texts = self.added(path).unwrap_or_default();
        if let Some(ahead) = self.ahead.take() {
            match texts.iter().position(|text| is_same(text, &ahead)) {
                Some(at) => drop(texts.remove(at)),
                // Not even now: later.
                None => self.ahead = Some(ahead),
            }
        }
        if let Some(last) = last.filter(|last| !last.trim().is_empty())
            && !texts.last().is_some_and(|text| is_same(text, last))
        {
            self.ahead = Some(last.to_owned());
            texts.push(last.to_owned());
        }
        texts
    }

    fn added(&mut self, path: &Path) -> Option<Vec<String>> {
        let (mut file, len) = open_plain(path)?;
        let known = self.read.take().filter(|(known, _)| known == path);
        // One that is shorter than it was is another one.
        let known = known.map(|(_, read)| read).filter(|read| *read <= len);
        let most = TAILS[1];
        let from = known.unwrap_or(0).max(len.saturating_sub(most));
        let part = read_from(&mut file, from, most).ok()?;
        let words = OwnWords::read(&part, known.is_none());
        self.read = Some((path.to_owned(), from + words.end as u64));
        Some(words.texts)
    }
}

/// The hook has its words trimmed.
fn is_same(text: &str, said: &str) -> bool {
    text.trim() == said.trim()
}

/// Opens a transcript; its length in bytes.
fn open_plain(path: &Path) -> Option<(File, u64)> {
    if path.extension()? != "jsonl" {
        return None;
    }
    // A pipe of this name must hold nobody up.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let data = file.metadata().ok()?;
    data.is_file().then_some((file, data.len()))
}

fn read_from(file: &mut File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut part = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(most).read_to_end(&mut part)?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    const ANSWER: &str = r#"{"type":"assistant","message":{"model":"claude-opus-5-5","usage":{"input_tokens":700}}}"#;

    #[test]
    fn the_answer_is_found_behind_what_a_tool_returned_and_not_in_the_whole_of_a_huge_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let after = |bytes: usize| format!("{ANSWER}\n{}\n", "x".repeat(bytes));
        std::fs::write(&path, after(1 << 20)).unwrap();
        assert_eq!(read_end(&path).unwrap().used, 700);
        std::fs::write(&path, after(9 << 20)).unwrap();
        assert_eq!(read_end(&path), None);
    }

    #[test]
    fn what_is_no_transcript_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        assert_eq!(read_end(&path), None);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(read_end(&path), None);
        let pipe = folder.path().join("pipe.jsonl");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(read_end(&pipe), None);
        let other = folder.path().join("secret.txt");
        std::fs::write(&other, ANSWER).unwrap();
        assert_eq!(read_end(&other), None);
    }

    fn said(text: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
        )
    }

    fn add(path: &Path, text: &str) {
        let old = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, old + text).unwrap();
    }

    #[test]
    fn each_of_claudes_words_is_given_once_wherever_it_is_seen_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        add(&path, &said("of an earlier turn"));
        let mut words = SpokenWords::default();
        words.turn_begins(&path);
        add(&path, &said("One."));
        // In the middle of the turn.
        assert_eq!(words.so_far(&path), ["One."]);
        add(&path, &said("Two."));
        assert_eq!(words.at_stop(&path, Some("Done.")), ["Two.", "Done."]);
        words.turn_begins(&path);
        // Its last line came behind the stop.
        add(&path, &said("Done. "));
        add(&path, &said("Three."));
        assert_eq!(words.at_stop(&path, Some("Three.")), ["Three."]);
        assert_eq!(
            words.at_stop(&path, Some("Three.")),
            ["Three."],
            "said again"
        );
    }

    #[test]
    fn without_a_transcript_that_can_be_read_the_last_words_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let mut words = SpokenWords::default();
        words.turn_begins(&path);
        assert_eq!(words.at_stop(&path, Some("One.")), ["One."]);
        assert_eq!(words.so_far(&path), Vec::<String>::new());
        add(&path, "no transcript\n");
        assert_eq!(words.at_stop(&path, Some("Two.")), ["Two."]);
    }

    #[test]
    fn of_a_turn_whose_beginning_was_not_seen_the_words_behind_its_prompt_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        add(&path, &said("Before."));
        add(&path, "{\"type\":\"user\",\"promptSource\":\"typed\"}\n");
        add(&path, &said("One."));
        let mut words = SpokenWords::default();
        assert_eq!(words.at_stop(&path, Some("One.")), ["One."]);
        // Claude wrote it anew.
        std::fs::write(&path, said("Two.")).unwrap();
        assert_eq!(words.so_far(&path), ["Two."]);
        // What was said before a daemon began it was told before.
        let mut words = SpokenWords::default();
        assert_eq!(words.so_far(&path), Vec::<String>::new());
        add(&path, &said("Three."));
        assert_eq!(words.so_far(&path), ["Three."]);
    }

    #[test]
    fn of_a_huge_turn_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let mut words = SpokenWords::default();
        words.turn_begins(&path);
        add(&path, &said("Far away."));
        add(&path, &format!("{}\n", "x".repeat(9 << 20)));
        add(&path, &said("Near."));
        assert_eq!(words.so_far(&path), ["Near."]);
        add(&path, &said("After."));
        assert_eq!(words.so_far(&path), ["After."]);
    }
}
