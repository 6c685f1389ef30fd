//! [`read_end`]: the end of a transcript of Claude Code's, from the disk.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use crate::wire::claude::transcript::TranscriptEnd;

/// How much of the end is read, in bytes: as a rule an answer's line is in the first of these.
/// What a tool returned may lie behind it, and takes more.
const TAILS: [u64; 2] = [256 << 10, 8 << 20];

/// What the end of this transcript says of the context. `None` where it says nothing, is no
/// transcript, or is not there. Blocks.
pub fn read_end(path: &Path) -> Option<TranscriptEnd> {
    if path.extension()? != "jsonl" {
        return None;
    }
    // A pipe of this name must hold nobody up.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mut file = File::from(open(path, flags, Mode::empty()).ok()?);
    let data = file.metadata().ok()?;
    if !data.is_file() {
        return None;
    }
    for most in TAILS {
        let mut tail = Vec::new();
        let from = data.len().saturating_sub(most);
        file.seek(SeekFrom::Start(from)).ok()?;
        (&mut file).take(most).read_to_end(&mut tail).ok()?;
        if let Some(end) = TranscriptEnd::read(&tail) {
            return Some(end);
        }
        if from == 0 {
            break;
        }
    }
    None
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
}
