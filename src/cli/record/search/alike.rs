//! [`find_alike`]: what was said elsewhere that helps with a task.

use super::everywhere::Everywhere;
use crate::cli::exit::Failure;
use crate::core::capsule::{FOUND_MAX, FoundText};
use crate::core::cut_text::one_line;
use crate::core::entry::EntryType;
use crate::core::id::SessionId;
use crate::host::ProjectContext;
use crate::store::search::Query;
use crate::wire::search::{FoundHit, FoundIn};

/// How much of the name of a review's author is told, in characters.
const AUTHOR_CHARS: usize = 60;

/// Shorter words say too little alone, in characters.
const WORD_CHARS_MIN: usize = 4;

/// What one question may give: some of it is about the task itself, or says nothing.
const HITS_MAX: u32 = 20;

/// What a person or an agent said; the rest of a record is about how things went.
const SAYING: [EntryType; 5] = [
    EntryType::Note,
    EntryType::Message,
    EntryType::Handoff,
    EntryType::Artifact,
    EntryType::FinalityProposal,
];

/// What was said about something elsewhere, in the record, sealed sessions and tasks of this project,
/// and nothing that asks the network: with all of its words, then with one of them, the longest first.
/// `note` is told what is left out; `take` says how a hit is told, and of which nothing is.
///
/// # Errors
///
/// When it cannot be looked for.
pub fn find_alike(
    project: &ProjectContext,
    note: &dyn Fn(&str),
    words: &str,
    take: impl Fn(&FoundHit) -> Option<FoundText>,
) -> Result<Vec<FoundText>, Failure> {
    let everywhere = Everywhere::of(project, note);
    let find = |words: &str| Ok(everywhere.page(words, &FoundIn::ALL, HITS_MAX, None)?.hits);
    alike(find, words, take)
}

/// Whether somebody said it: a task is made of what was said.
fn is_saying(hit: &FoundHit) -> bool {
    let of_entry = hit.hit.entry_type.known();
    hit.kind == FoundIn::Capsule || of_entry.is_some_and(|it| SAYING.contains(it))
}

/// As [`find_alike`]; `find` has what was said about words, best first.
fn alike(
    find: impl Fn(&str) -> Result<Vec<FoundHit>, Failure>,
    words: &str,
    take: impl Fn(&FoundHit) -> Option<FoundText>,
) -> Result<Vec<FoundText>, Failure> {
    let letters = |word: &str| word.chars().count();
    let plain: String = words
        .chars()
        .map(|letter| match letter.is_alphanumeric() {
            true => letter,
            false => ' ',
        })
        .collect();
    let mut single: Vec<&str> = plain.split_whitespace().collect();
    let all = bounded(&single.join(" "));
    single.retain(|word| letters(word) >= WORD_CHARS_MIN && *word != all);
    single.sort_by_key(|word| std::cmp::Reverse(letters(word)));
    let mut found: Vec<FoundText> = Vec::new();
    let mut statements: Vec<Statement> = Vec::new();
    for question in std::iter::once(all.as_str()).chain(single) {
        if question.is_empty() || !Query::is_searched(question) {
            continue;
        }
        for hit in find(question)? {
            // What tells a task repeats it, and is no saying of its own.
            if !is_saying(&hit) || hit.hit.tells_task {
                continue;
            }
            let Some(text) = take(&hit) else {
                continue;
            };
            let statement = Statement::of(&hit);
            let is_known = found.iter().any(|it| it.cited == text.cited)
                || statements.iter().any(|it| it.is_same(&statement));
            if is_known {
                continue;
            }
            // A stranger's does not stand in the way of one of ours.
            if !hit.is_strangers() {
                statements.push(statement);
            }
            found.push(text);
        }
        // Each question reads all that the index has not.
        if FoundText::bounded(found.iter().cloned()).len() == FOUND_MAX {
            break;
        }
    }
    Ok(FoundText::bounded(found))
}

/// What was said, by which the same is known again: a task tells what an entry says, and one that began
/// with it says it once more.
struct Statement {
    session: Option<SessionId>,
    /// `None` where no entry is known.
    seq: Option<u64>,
    words: String,
}

impl Statement {
    fn of(found: &FoundHit) -> Self {
        Self {
            session: found.hit.session.clone(),
            seq: (!found.uncited).then_some(found.hit.seq),
            words: said_words(&one_line(&found.hit.snippet)).to_owned(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_there = self.seq.is_some() && self.seq == other.seq && self.session == other.session;
        is_there || self.words == other.words
    }
}

/// The words of a text that was found, without what marks its cut ends, and without the places in front
/// of what a task took in, of which the first may be cut as well.
pub fn said_words(text: &str) -> &str {
    let cut = |letter: char| letter == '…' || letter.is_whitespace();
    let mut words = text.trim_matches(cut);
    let mut may_be_place = words.starts_with('[') || text.trim_start().starts_with('…');
    while may_be_place && let Some((place, rest)) = words.split_once("] ") {
        if !is_place(place) {
            break;
        }
        may_be_place = rest.starts_with(['[', '…']);
        words = rest.trim_matches(cut);
    }
    words
}

/// Whether this is the place in front of what a task took in, without the bracket behind it: all of it,
/// or its end where it was cut. Anybody writes commas and brackets. A place names the entry; one of no
/// entry is known where all of it is there, by the task or the session.
fn is_place(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let (place, is_whole) = match text.strip_prefix('[') {
        Some(place) => (place, true),
        None => (text, false),
    };
    let mut parts = place.split(", ");
    let first = parts.next().unwrap_or_default();
    let is_first = match is_whole {
        true => ["cap_", "session_"].iter().any(|it| first.starts_with(it)),
        // The cut may be behind the word `entry`.
        false => is_number(first),
    };
    let is_entry = |part: &str| part.strip_prefix("entry ").is_some_and(is_number);
    let mut more = parts.peekable();
    !place.contains('[')
        && more.peek().is_some()
        && (is_first || is_entry(first) || more.any(is_entry))
}

/// The beginning of these words, as long as one search takes: of some scripts each letter is a word.
fn bounded(words: &str) -> String {
    let mut ends: Vec<usize> = words.char_indices().map(|(at, _)| at).collect();
    ends.push(words.len());
    let fits = ends.partition_point(|end| *end == 0 || Query::is_searched(&words[..*end]));
    words[..ends[fits.saturating_sub(1)]].to_owned()
}

/// A hit as it is told: where it stands and who said it, and the words around what was found.
pub fn found_text(found: &FoundHit) -> FoundText {
    let hit = &found.hit;
    let session = hit.session.as_ref().map_or("", |session| session.as_str());
    let source = match &hit.review {
        Some(author) => {
            // Brackets of its own would end the mark early.
            let is_plain = |letter: &char| !letter.is_control() && !"[]".contains(*letter);
            let author = author.chars().filter(is_plain).take(AUTHOR_CHARS);
            let author: String = author.collect();
            format!("untrusted text of a review by {author}")
        }
        None => hit.source.clone(),
    };
    let place = match found.uncited {
        true => format!("{session}, {source}"),
        false => format!("{session}, entry {}, {source}", hit.seq),
    };
    let cited = match (found.kind, found.foreign) {
        (FoundIn::Capsule, true) => format!("{} from elsewhere, {place}", hit.id),
        (FoundIn::Capsule, false) => format!("{}, {place}", hit.id),
        _ => place,
    };
    let words = hit.snippet.split_whitespace();
    FoundText {
        text: words.collect::<Vec<_>>().join(" "),
        cited,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::core::id::EntryId;
    use crate::core::word::OpenWord;
    use crate::wire::search::SearchHit;

    /// Answers each question with entries of these numbers and types.
    struct MockRetriever {
        answers: Vec<(&'static str, Vec<(u64, &'static str)>)>,
        asked: RefCell<Vec<String>>,
    }

    impl MockRetriever {
        fn find(&self, words: &str) -> Result<Vec<FoundHit>, Failure> {
            self.asked.borrow_mut().push(words.to_owned());
            let answer = self.answers.iter().find(|(asked, _)| *asked == words);
            let entries = answer.map(|(_, entries)| entries.as_slice());
            Ok(entries.unwrap_or_default().iter().map(hit).collect())
        }
    }

    fn hit((seq, entry_type): &(u64, &'static str)) -> FoundHit {
        FoundHit {
            kind: FoundIn::Record,
            hit: SearchHit {
                seq: *seq,
                id: EntryId::new(format!("e{seq}")),
                session: Some(SessionId::new("session_1")),
                entry_type: OpenWord::of(*entry_type),
                source: "codex".to_owned(),
                target: None,
                at: 1,
                review: None,
                finding: None,
                snippet: format!("said\n in {seq}"),
                marks: Vec::new(),
                apart: false,
                tells_task: false,
            },
            freshness: None,
            foreign: false,
            unvouched: false,
            title: None,
            uncited: false,
        }
    }

    #[test]
    fn all_words_come_first_then_the_longest_and_nothing_twice_or_of_the_task_itself() {
        let retriever = MockRetriever {
            answers: vec![
                (
                    "fix the login token",
                    vec![(7, "note"), (8, "runtime_event")],
                ),
                ("login", vec![(9, "message"), (7, "note"), (3, "note")]),
            ],
            asked: RefCell::default(),
        };
        let found = alike(
            |words| retriever.find(words),
            "fix: the \"login* token",
            |hit| (hit.hit.seq != 3).then(|| found_text(hit)),
        );
        let found: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "[session_1, entry 7, codex] said in 7",
                "[session_1, entry 9, codex] said in 9",
            ]
        );
        let asked = retriever.asked.borrow();
        assert_eq!(*asked, ["fix the login token", "login", "token"]);
        assert_eq!(
            alike(|words| retriever.find(words), "*: ", |_| None).unwrap(),
            []
        );
    }

    #[test]
    fn a_title_of_more_words_than_a_search_takes_is_asked_for_as_far_as_that_goes() {
        let title = "\u{4fee}".repeat(300);
        let retriever = MockRetriever {
            answers: vec![],
            asked: RefCell::default(),
        };
        assert_eq!(
            alike(|words| retriever.find(words), &title, |_| None).unwrap(),
            []
        );
        let asked = retriever.asked.borrow();
        assert_eq!(*asked, ["\u{4fee}".repeat(256)]);
        assert_eq!(bounded("fix the login"), "fix the login");
        assert_eq!(bounded(""), "");
    }

    #[test]
    fn nothing_more_is_asked_when_there_are_as_many_as_are_told() {
        let five = (1..=5).map(|seq| (seq, "note")).collect();
        let retriever = MockRetriever {
            answers: vec![("fix the login", five)],
            asked: RefCell::default(),
        };
        let found = alike(
            |words| retriever.find(words),
            "fix the login",
            |hit| Some(found_text(hit)),
        );
        assert_eq!(found.unwrap().len(), 5);
        assert_eq!(retriever.asked.borrow().len(), 1);
    }

    #[test]
    fn a_statement_that_is_repeated_is_told_once_and_a_title_names_no_entry() {
        let of_task = |seq| {
            let mut found = hit(&(seq, "capsule"));
            (found.kind, found.hit.id) = (FoundIn::Capsule, EntryId::new("cap_1"));
            found.hit.snippet = format!("said\n in {seq}");
            found
        };
        let mut titled = of_task(10);
        (titled.uncited, titled.hit.source) = (true, "acme".to_owned());
        titled.hit.snippet = "Payments".to_owned();
        // A task that began with it.
        let mut copied = hit(&(16, "note"));
        copied.hit.snippet = "…entry 9, claude] said in 9".to_owned();
        // What stands elsewhere under the same number, and what a stranger says of it.
        let mut brought = of_task(10);
        (brought.foreign, brought.hit.snippet) = (true, "said in 11".to_owned());
        let all = [
            titled,
            brought,
            of_task(9),
            hit(&(9, "note")),
            copied,
            hit(&(10, "note")),
            hit(&(11, "note")),
        ];
        let found = alike(
            |_| Ok(all.to_vec()),
            "login",
            |found| Some(found_text(found)),
        );
        let found: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "[cap_1, session_1, acme] Payments",
                "[cap_1 from elsewhere, session_1, entry 10, codex] said in 11",
                "[cap_1, session_1, entry 9, codex] said in 9",
                "[session_1, entry 10, codex] said in 10",
                "[session_1, entry 11, codex] said in 11",
            ]
        );
    }

    #[test]
    fn what_the_operator_had_a_task_told_by_is_told_as_nothing_of_its_own() {
        let mut telling = hit(&(13, "handoff"));
        telling.hit.tells_task = true;
        let all = [telling, hit(&(14, "handoff"))];
        let found = alike(|_| Ok(all.to_vec()), "login", |hit| Some(found_text(hit)));
        let cited = found.unwrap().into_iter().map(|text| text.cited);
        let cited: Vec<String> = cited.collect();
        assert_eq!(cited, ["session_1, entry 14, codex"]);
    }

    #[test]
    fn places_in_front_and_cut_ends_are_no_words() {
        for (text, words) in [
            ("use cookies", "use cookies"),
            ("…use cookies…", "use cookies"),
            (
                "[cap_1, session_1, entry 9, claude] use cookies",
                "use cookies",
            ),
            ("…10, claude] use cookies", "use cookies"),
            (
                "[cap_2, session_1, entry 15, human] …entry 11, claude] use cookies …",
                "use cookies",
            ),
            // What is no place.
            ("[x] use cookies", "[x] use cookies"),
            ("see a, b] and c", "see a, b] and c"),
            ("…see a, b] and c", "see a, b] and c"),
            ("[a, b] and c", "[a, b] and c"),
            ("…see entry a, b] and c", "see entry a, b] and c"),
            // Of no entry.
            ("[cap_1, session_1, acme] Payments", "Payments"),
            ("", ""),
        ] {
            assert_eq!(said_words(text), words, "{text}");
        }
    }

    #[test]
    fn what_a_review_says_stands_as_text_of_its_author_that_nobody_trusts() {
        let mut finding = hit(&(7, "artifact"));
        finding.hit.source = "system".to_owned();
        finding.hit.review = Some("ann] [human".to_owned());
        assert!(finding.is_strangers());
        assert_eq!(
            found_text(&finding).to_string(),
            "[session_1, entry 7, untrusted text of a review by ann human] said in 7"
        );
        let mut foreign = hit(&(8, "capsule"));
        (foreign.kind, foreign.foreign) = (FoundIn::Capsule, true);
        assert!(foreign.is_strangers() && !hit(&(9, "artifact")).is_strangers());
        assert_eq!(
            found_text(&foreign).to_string(),
            "[e8 from elsewhere, session_1, entry 8, codex] said in 8"
        );
    }
}
