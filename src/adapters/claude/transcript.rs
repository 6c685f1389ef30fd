//! Reads a Claude Code transcript from the disk: [`read_end`] for the context, [`SpokenWords`] for
//! what Claude said.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

use crate::core::between_words::cut_between_words;
use crate::core::id::EntryId;
use crate::wire::claude::own_words::OwnWords;
use crate::wire::claude::transcript::{CompactBoundary, TranscriptEnd};

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

/// What a compaction that began at `since_ms` took and left, once the end of this transcript says so.
/// Blocks.
pub fn read_boundary(path: &Path, since_ms: i64) -> Option<CompactBoundary> {
    let (mut file, len) = open_plain(path)?;
    let most = TAILS[0];
    let tail = read_from(&mut file, len.saturating_sub(most), most).ok()?;
    let boundary = CompactBoundary::last(&tail)?;
    let at: jiff::Timestamp = boundary.at.parse().ok()?;
    (at.as_millisecond() >= since_ms).then_some(boundary)
}

/// Commands of one turn whose end is waited for: the latest ones, of which the last is the one that
/// an interruption left without its end.
const COMMANDS_MAX: usize = 20;

/// Of a command, in characters.
const COMMAND_CHARS_MAX: usize = 500;

/// How many texts of turns that saw no stop are kept, the latest ones.
const EARLIER_MAX: usize = 200;

/// So many blocked prompts of a turn are told, the latest ones.
const BLOCKED_MAX: usize = 64;

/// So many messages that the model got from hooks are known, the latest ones: more than a turn has.
const GIVEN_MAX: usize = 512;

/// A prompt that somebody's hook blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedPrompt {
    /// When, ms since the epoch by the wall clock.
    pub at_ms: i64,
    /// It was told before.
    pub is_again: bool,
}

/// What Claude says in one runtime session, from stop to stop.
#[derive(Debug, Default)]
pub struct SpokenWords {
    /// The transcript, and how far it was read.
    read: Option<(PathBuf, u64)>,
    /// The last words of the stop before, where the transcript did not hold them by then.
    ahead: Option<String>,
    /// What was said before the turn began and was not given yet: in one that saw no stop.
    earlier: Vec<String>,
    /// Commands of the turn of which no end was seen, each with the id of its call.
    running: Vec<(String, String)>,
    /// The prompts that were blocked since a turn was over.
    blocked: Vec<BlockedPrompt>,
    /// The messages that the model got from hooks, the latest ones.
    given: VecDeque<EntryId>,
}

impl SpokenWords {
    /// A turn begins: what a transcript holds that was never read is of earlier ones. Returns the
    /// commands of the turn before of which no end was seen. Blocks.
    pub fn turn_begins(&mut self, path: &Path) -> Vec<String> {
        if self.is_new(path) {
            return self.unfinished();
        }
        let earlier = self.added(path);
        self.earlier.extend(earlier);
        self.earlier
            .drain(..self.earlier.len().saturating_sub(EARLIER_MAX));
        self.unfinished()
    }

    /// Prompts that were blocked, in what was read: of what hooks added to them the model has nothing.
    /// And which messages it got from hooks: none where no prompt was blocked.
    /// Told once more when the turn `is_over`: a hook may hand over after another one has blocked.
    pub fn blocked(&mut self, is_over: bool) -> (Vec<BlockedPrompt>, Vec<EntryId>) {
        let blocked = self.blocked.clone();
        self.blocked
            .iter_mut()
            .for_each(|prompt| prompt.is_again = true);
        if is_over {
            self.blocked.clear();
        }
        let given = self.given.iter().filter(|_| !blocked.is_empty());
        let given = given.cloned().collect();
        (blocked, given)
    }

    /// Claude is gone, or starts another conversation: what it said since it was read last, and its
    /// commands of which no end was seen. Blocks.
    pub fn left(&mut self) -> (Vec<String>, Vec<String>) {
        let path = self.read.as_ref().map(|(path, _)| path.clone());
        let said = path.map(|path| self.since(&path, None));
        (said.unwrap_or_default(), self.unfinished())
    }

    /// Whether the transcript was never read: it counts as read from here on, but for prompts that
    /// were blocked, of which the first may be one.
    fn is_new(&mut self, path: &Path) -> bool {
        let is_new = self.read.as_ref().is_none_or(|(known, _)| known != path);
        if is_new {
            self.ahead = None;
            let mut file = open_plain(path);
            let len = file.as_ref().map_or(0, |(_, len)| *len);
            self.read = Some((path.to_owned(), len));
            let (from, most) = (len.saturating_sub(TAILS[0]), TAILS[0].min(len));
            let tail = file.as_mut().map(|(file, _)| read_from(file, from, most));
            if let Some(Ok(tail)) = tail {
                let words = OwnWords::read(&tail, false);
                // A line that is still being written may tell of one.
                self.read = Some((path.to_owned(), from + words.end as u64));
                self.takes_given(&words);
            }
        }
        is_new
    }

    fn takes_given(&mut self, words: &OwnWords) {
        let times = words.blocked_at.iter();
        let times = times.filter_map(|at| at.parse::<jiff::Timestamp>().ok());
        self.blocked.extend(times.map(|at| BlockedPrompt {
            at_ms: at.as_millisecond(),
            is_again: false,
        }));
        let too_many = self.blocked.len().saturating_sub(BLOCKED_MAX);
        self.blocked.drain(..too_many);
        self.given.extend(words.given.iter().cloned());
        let too_many = self.given.len().saturating_sub(GIVEN_MAX);
        self.given.drain(..too_many);
    }

    fn unfinished(&mut self) -> Vec<String> {
        let running = std::mem::take(&mut self.running).into_iter();
        running.map(|(_, command)| command).collect()
    }

    /// What Claude said since it was read last, each text once, in a turn that goes on. Of what was
    /// added, at most the last 8 MiB are read. Blocks.
    pub fn so_far(&mut self, path: &Path) -> Vec<String> {
        // Of a transcript that was never read nobody knows what was told of it.
        self.is_new(path);
        self.since(path, None)
    }

    /// As [`Self::so_far`], at the end of a turn; of one that was not seen to begin, since its
    /// prompt. `last`: the words with which it ends, which the transcript may not hold yet. Blocks.
    pub fn at_stop(&mut self, path: &Path, last: Option<&str>) -> Vec<String> {
        self.since(path, last)
    }

    fn since(&mut self, path: &Path, last: Option<&str>) -> Vec<String> {
        let mut texts = std::mem::take(&mut self.earlier);
        texts.extend(self.added(path));
        if let Some(last) = last.filter(|last| !last.trim().is_empty())
            && !texts.last().is_some_and(|text| is_same(text, last))
        {
            self.ahead = Some(last.to_owned());
            texts.push(last.to_owned());
        }
        texts
    }

    /// What was said in what was added, but for what was told ahead of it.
    fn added(&mut self, path: &Path) -> Vec<String> {
        let Some(words) = self.read_on(path) else {
            return Vec::new();
        };
        self.takes_given(&words);
        let mut texts = words.texts;
        if let Some(ahead) = self.ahead.take() {
            match texts.iter().position(|text| is_same(text, &ahead)) {
                Some(at) => drop(texts.remove(at)),
                // Not even now: later.
                None => self.ahead = Some(ahead),
            }
        }
        let ended: BTreeSet<&String> = words.ended.iter().collect();
        self.running.retain(|(id, _)| !ended.contains(id));
        // Only those without an end are counted: of the others one turn may have any number.
        for (id, command) in words.commands {
            if ended.contains(&id) {
                continue;
            }
            if self.running.len() == COMMANDS_MAX {
                self.running.remove(0);
            }
            let command = cut_between_words(&command, COMMAND_CHARS_MAX).to_owned();
            self.running.push((id, command));
        }
        texts
    }

    fn read_on(&mut self, path: &Path) -> Option<OwnWords> {
        let (mut file, len) = open_plain(path)?;
        let known = self.read.take().filter(|(known, _)| known == path);
        // One that is shorter than it was is another one.
        let known = known.map(|(_, read)| read).filter(|read| *read <= len);
        let most = TAILS[1];
        let from = known.unwrap_or(0).max(len.saturating_sub(most));
        let part = read_from(&mut file, from, most).ok()?;
        let words = OwnWords::read(&part, known.is_none());
        self.read = Some((path.to_owned(), from + words.end as u64));
        Some(words)
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

    fn blocked_ms(words: &mut SpokenWords, is_over: bool) -> Vec<(i64, bool)> {
        let (blocked, _) = words.blocked(is_over);
        let told = blocked.iter().map(|prompt| (prompt.at_ms, prompt.is_again));
        told.collect()
    }

    #[test]
    fn a_prompt_that_was_blocked_is_told_until_its_turn_is_over_also_the_first_of_a_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let blocked = |at: &str| {
            format!(
                "{{\"type\":\"system\",\"timestamp\":\"{at}\",\"promptSubmitEnding\":{{\"ending\":{{\"kind\":\"blocked_by_hook\"}}}}}}\n"
            )
        };
        add(&path, &said("One."));
        add(&path, &blocked("1970-01-01T00:00:07.010Z"));
        let mut words = SpokenWords::default();
        words.turn_begins(&path);
        assert_eq!(blocked_ms(&mut words, false), [(7_010, false)]);
        add(&path, &blocked("no time"));
        add(&path, &blocked("1970-01-01T00:00:08Z"));
        assert_eq!(words.so_far(&path), [""; 0]);
        let both = [(7_010, true), (8_000, false)];
        assert_eq!(blocked_ms(&mut words, true), both);
        assert_eq!(words.at_stop(&path, None), [""; 0]);
        assert_eq!(blocked_ms(&mut words, true), [(0, false); 0]);
    }

    fn runs(id: &str, command: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Bash\",\"input\":{{\"command\":\"{command}\"}}}}]}}}}\n"
        )
    }

    fn ended(id: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\"}}]}}}}\n"
        )
    }

    #[test]
    fn a_command_without_its_end_is_told_once_when_the_next_turn_begins_or_claude_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        add(&path, &runs("0", "of an earlier turn"));
        let mut words = SpokenWords::default();
        assert_eq!(words.turn_begins(&path), [""; 0]);
        add(
            &path,
            &(runs("1", "make") + &ended("1") + &runs("2", "sleep 9")),
        );
        add(&path, &said("One."));
        // Nothing tells of its end.
        assert_eq!(words.turn_begins(&path), ["sleep 9"]);
        add(&path, &ended("2"));
        assert_eq!(words.at_stop(&path, Some("Two.")), ["One.", "Two."]);
        assert_eq!(words.turn_begins(&path), [""; 0], "once");
        add(&path, &(runs("3", "cat") + &said("Three.")));
        assert_eq!(words.so_far(&path), ["Three."]);
        let gone = words.left();
        assert_eq!(gone, (Vec::new(), vec!["cat".to_owned()]));
        assert_eq!(words.left(), Default::default());
    }

    #[test]
    fn of_many_commands_those_without_an_end_are_told_and_the_latest_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let mut words = SpokenWords::default();
        words.turn_begins(&path);
        let done = |n: usize| runs(&n.to_string(), "make") + &ended(&n.to_string());
        let many: String = (0..COMMANDS_MAX + 5).map(done).collect();
        add(&path, &(many + &runs("last", "sleep 9")));
        assert_eq!(words.turn_begins(&path), ["sleep 9"]);
        // Told in two parts, and with an end of one that was seen to run before.
        add(&path, &runs("first", "cat"));
        assert_eq!(words.so_far(&path), [""; 0]);
        let open = |n: usize| runs(&format!("open {n}"), &n.to_string());
        let many: String = (0..COMMANDS_MAX + 2).map(open).collect();
        add(&path, &(ended("first") + &many));
        let told = words.turn_begins(&path);
        let latest = 2..COMMANDS_MAX + 2;
        assert_eq!(told, latest.map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_compaction_is_told_with_its_figures_once_its_own_boundary_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let boundary = |at: &str, before: u64| {
            format!(
                "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"timestamp\":\"{at}\",\"compactMetadata\":{{\"preTokens\":{before},\"postTokens\":5}}}}\n"
            )
        };
        let began = "2026-07-01T10:00:00.000Z"
            .parse::<jiff::Timestamp>()
            .unwrap();
        let read = || read_boundary(&path, began.as_millisecond());
        assert_eq!(read(), None);
        add(&path, &boundary("2026-07-01T09:59:59.000Z", 7));
        assert_eq!(read(), None, "of one before it");
        add(&path, &boundary("2026-07-01T10:00:09.000Z", 970));
        add(&path, &said("On it."));
        let told = read().unwrap();
        assert_eq!((told.before, told.after), (Some(970), Some(5)));
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
        // Claude wrote it again.
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
