//! Tasks that can travel: found by the index and without it, and never more than what is kept.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;

use super::same::{text, typed};
use super::support::{Bench, DEADLINE, REDACTOR};
use crate::capsules::{CapsuleOwner, Capsules};
use crate::search::{CapsuleRequest, Search, rebuild_file, search_capsules};
use ctxrelay_core::capsule::{Capsule, CapsuleStatement, StatementAuthor};
use ctxrelay_core::id::{CapsuleId, Seq};
use ctxrelay_core::redact::secret_samples::{SecretSample, leaks, one_of_each};
use ctxrelay_core::snapshot::{ImportedCapsule, Snapshot};
use ctxrelay_core::wire::capsule::write;
use ctxrelay_core::wire::search::{FoundPage, SearchParams};

/// Title and decision.
type Said = (String, String);

fn id(number: usize) -> CapsuleId {
    CapsuleId::new(format!("cap_{number:012x}"))
}

/// Puts a file where one is kept; the odd ones are from elsewhere.
fn keep(bench: &Bench, number: usize, said: &Said) {
    let mut capsule = Capsule::new(id(number), said.0.clone(), 1);
    capsule.decisions.push(CapsuleStatement {
        text: said.1.clone(),
        by: StatementAuthor::Human,
        at: 1,
        cut: None,
        line: None,
        more: serde_json::Map::new(),
    });
    let (bytes, _) = write(&capsule).unwrap();
    let kept = Capsules::of(&bench.place.dirs);
    kept.write(owner(number), &id(number), &bytes).unwrap();
}

fn owner(number: usize) -> CapsuleOwner {
    match number % 2 {
        0 => CapsuleOwner::Project,
        _ => CapsuleOwner::Foreign,
    }
}

fn params(words: &str, limit: u32, after: usize) -> SearchParams {
    SearchParams {
        words: words.to_owned(),
        limit: Some(limit),
        after: (after > 0).then(|| after.to_string()),
        ..SearchParams::default()
    }
}

/// Asks the searching thread.
fn ask(search: &Search, params: &SearchParams) -> FoundPage {
    let request = CapsuleRequest::of(params, Arc::new(Snapshot::default())).unwrap();
    let (sender, answer) = channel();
    search.find_capsules(request, move |found| drop(sender.send(found)));
    answer.recv_timeout(DEADLINE).unwrap().unwrap()
}

/// By the file of the index, if `believed`, else by reading the capsules.
fn look(bench: &Bench, params: &SearchParams, believed: bool) -> FoundPage {
    let request = CapsuleRequest::of(params, Arc::new(Snapshot::default())).unwrap();
    search_capsules(&bench.place.dirs, believed, &REDACTOR, &request)
}

/// Whether a file of the state folder holds these bytes.
fn holds(bench: &Bench, word: &str) -> bool {
    let files = fs::read_dir(&bench.place.dirs.state).unwrap();
    let mut files = files.map(|file| fs::read(file.unwrap().path()).unwrap_or_default());
    files.any(|bytes| {
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    })
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.note("an entry");
    bench
}

fn rebuild(bench: &Bench) {
    let path = bench.ledger.path();
    rebuild_file(
        &bench.place.dirs,
        &bench.session,
        path,
        u64::MAX,
        &REDACTOR,
        |_| (),
    )
    .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_index_finds_in_tasks_what_reading_finds(
        told in proptest::collection::vec((text(), text()), 1..12),
        later in proptest::collection::vec((0_usize..14, text(), text()), 0..4),
        gone in proptest::option::of(0_usize..12),
        queries in proptest::collection::vec(typed(), 1..12),
        limit in 1_u32..5,
        after in 0_usize..5,
    ) {
        let bench = bench();
        for (number, said) in told.iter().enumerate() {
            keep(&bench, number, said);
        }
        rebuild(&bench);
        let same = |bench: &Bench| {
            for words in &queries {
                let params = params(words, limit, after);
                if CapsuleRequest::of(&params, Arc::default()).is_err() {
                    continue;
                }
                let (found, read) = (look(bench, &params, true), look(bench, &params, false));
                prop_assert_eq!(&found, &read);
                prop_assert!(found.hits.len() <= limit as usize);
                let end = after as u64 + found.hits.len() as u64;
                prop_assert_eq!(found.cursor.is_some(), end > after as u64 && end < found.total);
            }
            Ok(())
        };
        same(&bench)?;
        // What changed since is found as it is now.
        for (number, title, decision) in later {
            keep(&bench, number, &(title, decision));
        }
        if let Some(number) = gone {
            Capsules::of(&bench.place.dirs).remove(owner(number), &id(number)).unwrap();
        }
        same(&bench)?;
        // And the index takes it over by itself.
        let search = bench.search();
        prop_assert!(search.wait_for(bench.len(), DEADLINE));
        same(&bench)?;
        search.close();
    }
}

#[test]
fn the_searching_thread_finds_tasks_and_where_the_next_page_begins() {
    let bench = bench();
    for number in 0..5 {
        keep(
            &bench,
            number,
            &(format!("plums {number}"), "of the lot".to_owned()),
        );
    }
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let first = ask(&search, &params("plums lot", 3, 0));
    let ids = |page: &FoundPage| {
        let hits = page.hits.iter();
        hits.map(|found| (found.hit.id.to_string(), found.foreign))
            .collect::<Vec<_>>()
    };
    let of = |number: usize| (id(number).to_string(), number % 2 == 1);
    assert_eq!(ids(&first), [of(0), of(2), of(4)]);
    assert_eq!((first.total, first.cursor.as_deref()), (5, Some("3")));
    let rest = ask(&search, &params("plums lot", 3, 3));
    assert_eq!(ids(&rest), [of(1), of(3)]);
    assert_eq!((rest.total, rest.cursor, rest.behind), (5, None, 0));
    search.close();
}

#[test]
fn a_capsule_that_was_exchanged_since_its_import_is_not_found() {
    let bench = bench();
    let keep = |decision: &str| keep(&bench, 1, &("plums".to_owned(), decision.to_owned()));
    keep("of the lot");
    let digest = || {
        let kept = Capsules::of(&bench.place.dirs);
        let bytes = kept.read(CapsuleOwner::Foreign, &id(1)).unwrap().unwrap();
        ctxrelay_core::wire::capsule::read(&bytes).unwrap().digest
    };
    let imported = ImportedCapsule {
        seq: Seq(1),
        digest: digest(),
    };
    let world = Snapshot {
        imported: [(id(1), imported)].into(),
        ..Snapshot::default()
    };
    let world = Arc::new(world);
    let total = || {
        let request = CapsuleRequest::of(&params("plums", 1, 0), Arc::clone(&world)).unwrap();
        search_capsules(&bench.place.dirs, false, &REDACTOR, &request).total
    };
    assert_eq!(total(), 1);
    keep("of another lot");
    assert_eq!(total(), 0);
}

#[test]
fn an_index_without_tasks_is_made_anew_and_nobody_is_asked() {
    let bench = bench();
    keep(&bench, 0, &("plums".to_owned(), "of the lot".to_owned()));
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    search.close();
    // As the version before made it.
    let path = bench.place.dirs.state_file("index.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE capsules; DROP TABLE capsule_words; PRAGMA user_version = 2;")
        .unwrap();
    drop(db);
    assert_eq!(look(&bench, &params("plums", 9, 0), true).total, 1);
    let search = bench.search();
    assert_eq!(
        ask(&search, &params("plums", 9, 0)).total,
        1,
        "meanwhile too"
    );
    assert!(search.wait_for(bench.len(), DEADLINE));
    assert_eq!((search.state().rebuilds, search.state().fault), (1, None));
    search.close();
    let db = rusqlite::Connection::open(&path).unwrap();
    let known: i64 = db
        .query_row("SELECT count(*) FROM capsules", [], |row| row.get(0))
        .unwrap();
    assert_eq!(known, 1);
}

#[test]
fn no_secret_of_a_task_is_in_the_index_or_in_a_hit() {
    let bench = bench();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let said = (format!("plums {secret}"), format!("the key is {secret}"));
    keep(&bench, 1, &said);
    for with_daemon in [true, false] {
        rebuild(&bench);
        let search = with_daemon.then(|| bench.search());
        if let Some(search) = &search {
            assert!(search.wait_for(bench.len(), DEADLINE));
        }
        let look = |words: &str| {
            let params = params(words, 9, 0);
            match &search {
                Some(search) => ask(search, &params),
                None => look(&bench, &params, true),
            }
        };
        for word in [&*secret, &secret.to_lowercase()] {
            assert_eq!(look(word).total, 0);
            assert!(!holds(&bench, word));
        }
        let found = look("plums key");
        assert_eq!(found.total, 1);
        assert!(!format!("{found:?}").contains(&secret), "{found:?}");
    }
}

#[test]
fn no_secret_of_the_corpus_is_in_the_index_or_in_a_hit() {
    let bench = bench();
    let samples = one_of_each();
    // A statement of a task has no control characters.
    let said =
        |number: usize, text: &str| format!("plums {number}\n{}", text.replace('\u{1b}', ""));
    for (number, sample) in samples.iter().enumerate() {
        keep(
            &bench,
            number,
            &("of the lot".to_owned(), said(number, &sample.text)),
        );
    }
    rebuild(&bench);
    let mut unmasked = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let SecretSample {
            kind,
            text,
            secrets,
            around,
        } = sample;
        let said = said(number, text);
        let alone = REDACTOR.redact_text(&said).0;
        let is_masked = |secret: &&String| !leaks(&alone, around, secret);
        let (masked, left): (Vec<&String>, Vec<_>) = secrets.iter().partition(is_masked);
        if !left.is_empty() {
            unmasked.push(&**kind);
        }
        // Without the index all of them are read each time.
        let ways: &[bool] = match number % 50 {
            0 => &[true, false],
            _ => &[true],
        };
        for &believed in ways {
            let words = format!("plums {number}");
            let found = look(&bench, &params(&words, 1_000, 0), believed);
            let own = found.hits.iter();
            let own = own.filter(|found| found.hit.id.as_str() == id(number).as_str());
            let texts = own.map(|found| {
                let title = found.title.as_deref().unwrap_or_default();
                format!("{title}\u{1}{}", found.hit.snippet)
            });
            let texts = texts.collect::<Vec<_>>().join("\u{1}");
            assert!(texts.contains("plums"), "{kind}: {found:?}");
            for secret in &masked {
                assert!(!leaks(&texts, around, secret), "{kind}: {texts}");
                // A secret of more than one word would be found by each of its words.
                let is_word = secret.chars().all(|letter| letter.is_ascii_alphanumeric());
                if is_word && secret.len() > 20 {
                    let total = look(&bench, &params(secret, 9, 0), believed).total;
                    assert_eq!(total, 0, "{kind}: {secret}");
                }
            }
        }
    }
    assert_eq!(unmasked, [] as [&str; 0]);
}

#[test]
fn what_cannot_be_believed_is_not_found_and_a_lying_index_is_not_shown() {
    let bench = bench();
    keep(&bench, 0, &("plums".to_owned(), "of the lot".to_owned()));
    keep(&bench, 2, &("pears".to_owned(), "of the lot".to_owned()));
    let kept = Capsules::of(&bench.place.dirs);
    let bytes = kept.read(CapsuleOwner::Project, &id(0)).unwrap().unwrap();
    let forged = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("plums", "grape");
    kept.write(CapsuleOwner::Project, &id(4), forged.as_bytes())
        .unwrap();
    // Another one's file under this name.
    kept.write(CapsuleOwner::Project, &id(6), &bytes).unwrap();
    for _ in 0..2 {
        for believed in [true, false] {
            assert_eq!(look(&bench, &params("grape", 9, 0), believed).total, 0);
            let found = look(&bench, &params("plums", 9, 0), believed);
            assert_eq!((found.total, found.hits.len()), (1, 1));
        }
        rebuild(&bench);
    }
    let db = rusqlite::Connection::open(bench.place.dirs.state_file("index.db")).unwrap();
    db.execute_batch(
        "UPDATE capsules SET number = number + 100; \
         INSERT INTO capsule_words (rowid, text) SELECT number, ' plums ' FROM capsules;",
    )
    .unwrap();
    drop(db);
    let found = look(&bench, &params("plums", 9, 0), true);
    assert_eq!((found.total, found.hits.len()), (1, 1));
    assert_eq!(found.hits[0].hit.id.as_str(), id(0).as_str());
}

#[test]
fn of_an_index_that_was_only_begun_no_word_stays_when_what_was_in_it_is_deleted() {
    let bench = bench();
    keep(
        &bench,
        0,
        &("Quinces".to_owned(), "quinces are sold".to_owned()),
    );
    rebuild(&bench);
    assert!(holds(&bench, "quinces"));
    // As a daemon leaves it that was killed once the capsules were in.
    let index = bench.place.dirs.state_file("index.db");
    let db = rusqlite::Connection::open(index).unwrap();
    db.execute_batch("DELETE FROM bound; INSERT INTO words (words) VALUES ('delete-all');")
        .unwrap();
    drop(db);
    // As `ledger clear --discard` does it.
    let path = bench.ledger.path().to_path_buf();
    let mut next = bench.next_session();
    next.note("later");
    fs::remove_file(path).unwrap();
    let kept = Capsules::of(&next.place.dirs);
    kept.remove(CapsuleOwner::Project, &id(0)).unwrap();
    let search = next.search();
    assert!(search.wait_for(next.len(), DEADLINE));
    assert_eq!(search.state().rebuilds, 1);
    search.close();
    assert!(!holds(&next, "quinces"));
}
