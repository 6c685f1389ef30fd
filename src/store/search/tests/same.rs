//! The index finds what reading finds, for whatever was written and whatever is typed.

use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::super::find::find;
use super::super::index::SearchIndex;
use super::support::{Bench, DEADLINE, REDACTOR, ask, next, request, seqs};
use crate::search::{Query, QueryError, SearchRequest};
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::entry::{EntryKind, EntryType, FindingFacts, FindingRecord, FindingStep};
use ctxrelay_core::id::FindingId;
use ctxrelay_core::review::quoted;
use ctxrelay_core::wire::search::SearchPage;
use ctxrelay_core::wire::window::RowQuery;

/// Few words, so that they meet; with everything that a tokenizer may take differently.
pub fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("lock".to_owned()),
        Just("Locks".to_owned()),
        Just("the".to_owned()),
        Just("snake_case".to_owned()),
        Just("修复数据库".to_owned()),
        Just("ÄÖ".to_owned()),
        Just("e\u{301}t".to_owned()),
        Just("İx".to_owned()),
        Just("a\0b".to_owned()),
        Just("\u{e000}".to_owned()),
        Just("\"quoted\"".to_owned()),
        "[a-c]{1,3}",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

pub fn typed() -> impl Strategy<Value = String> {
    prop_oneof![
        text(),
        "[a-c]{1,2}",
        "(\"?[a-cLl]{1,3}\\*?\"? ?){1,3}",
        Just("\"the lock\"".to_owned()),
        Just("lo".to_owned()),
        Just("数据".to_owned()),
        Just("snake".to_owned()),
    ]
}

/// Everything but how far the index is.
fn shown(found: &SearchPage) -> impl PartialEq + std::fmt::Debug + use<> {
    (found.hits.clone(), found.total, found.cursor.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_index_finds_what_reading_finds(
        texts in proptest::collection::vec((text(), text()), 1..25),
        late in proptest::collection::vec(text(), 0..4),
        queries in proptest::collection::vec(typed(), 1..12),
        limit in 1_usize..8,
    ) {
        let mut bench = Bench::new();
        let entries = texts
            .iter()
            .map(|(text, more)| bench.artifact(text, more, text))
            .collect();
        bench.append(entries);
        let search = bench.search();
        prop_assert!(search.wait_for(bench.len(), DEADLINE));
        for text in &late {
            bench.note(text);
        }
        for query in queries {
            let Ok(query) = Query::parse(&query) else { continue };
            let mut request = SearchRequest::new(query, limit);
            loop {
                let read = bench.search_file(&request, false);
                let live = ask(&search, request.clone());
                let indexed = bench.search_file(&request, true);
                prop_assert!(live.indexed_to > 0 && indexed.indexed_to > 0);
                prop_assert_eq!(live.behind, 0);
                prop_assert_eq!(shown(&live), shown(&read), "{:?}", &request);
                prop_assert_eq!(shown(&indexed), shown(&read), "{:?}", &request);
                prop_assert!(read.hits.len() <= limit);
                if read.cursor.is_none() {
                    break;
                }
                request.before = next(&read);
            }
        }
        search.close();
    }

    #[test]
    fn whatever_is_typed_is_no_error(typed in "\\PC{0,60}") {
        let bench = Bench::new();
        match Query::parse(&typed) {
            Ok(query) => {
                let search = bench.search();
                let found = ask(&search, SearchRequest::new(query, 5));
                prop_assert_eq!(found.total, 0);
                search.close();
            }
            Err(error) => prop_assert!(matches!(error, QueryError::Empty | QueryError::TooLong)),
        }
    }
}

#[test]
fn what_was_just_written_is_found_at_once() {
    let mut bench = Bench::new();
    let search = bench.search();
    for n in 0..50 {
        bench.note(&format!("needle number {n}"));
        search.grown();
        let found = ask(&search, request(&format!("\"number {n}\"")));
        assert_eq!(found.total, 1, "{n}: {found:?}");
        assert_eq!(found.hits[0].snippet, format!("needle number {n}"));
    }
    assert!(search.wait_for(bench.len(), DEADLINE));
    assert_eq!(ask(&search, request("needle")).total, 50);
}

#[test]
fn details_are_found_and_hits_say_what_they_are() {
    let mut bench = Bench::new();
    let entry = bench.artifact(
        "all green",
        "Test run of the parser",
        "cargo test --lib parser",
    );
    bench.append(vec![entry]);
    bench.note("nothing");
    for typed in ["parser", "\"cargo test\"", "all GREEN", "gre"] {
        let found = bench.search_file(&request(typed), false);
        assert_eq!(seqs(&found), [1], "{typed}");
        let hit = &found.hits[0];
        assert_eq!(hit.id.as_str(), "e1");
        assert_eq!(hit.entry_type, EntryType::Artifact.into());
        assert!(!hit.marks.is_empty(), "{typed}: {hit:?}");
    }
    assert_eq!(
        bench.search_file(&request("green cargo gone"), false).total,
        0
    );
}

#[test]
fn a_frequent_word_is_counted_up_to_a_bound_and_paged_beyond() {
    let mut bench = Bench::new();
    let wanted = super::super::TOTAL_MAX + 20;
    for _ in 0..wanted / 501 + 1 {
        let entries = (0..501).map(|_| bench.entry("same")).collect();
        bench.append(entries);
    }
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let found = ask(&search, request("same"));
    assert_eq!(found.total, super::super::TOTAL_MAX);
    assert!(found.total_is_at_least);
    assert_eq!(found.hits.len(), 1_000);
    assert_eq!(found.hits[0].seq, bench.len());
    let last = found.hits.last().unwrap().seq;
    let page = SearchRequest {
        before: next(&found),
        ..request("same")
    };
    assert_eq!(ask(&search, page).hits[0].seq, last - 1);
}

#[test]
fn what_is_narrowed_is_found_behind_any_number_of_other_matches() {
    let mut bench = Bench::new();
    let of_claude = |bench: &mut Bench| {
        let mut entry = bench.entry("same");
        entry.source = Party::Agent(Agent::Claude);
        entry
    };
    let early = (0..3).map(|_| of_claude(&mut bench)).collect();
    bench.append(early);
    for _ in 0..super::super::TOTAL_MAX / 501 + 1 {
        let entries = (0..501).map(|_| bench.entry("same")).collect();
        bench.append(entries);
    }
    let late_from = bench.len() + 1;
    let late = (0..5).map(|_| of_claude(&mut bench)).collect();
    bench.append(late);
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let narrowed = |limit, before| SearchRequest {
        limit,
        before,
        rows: RowQuery {
            parties: vec![Party::Agent(Agent::Claude)],
            ..RowQuery::default()
        },
        ..request("same")
    };
    let index = SearchIndex::open_to_read(&bench.place.dirs).unwrap();
    let find = |request: &SearchRequest, until| {
        let (ledger, session) = (&bench.ledger, &bench.session);
        find(index.as_ref(), &REDACTOR, ledger, session, request, until).unwrap()
    };
    // All of them are asked for, and so all matches are looked at while there is time.
    let in_time = Instant::now() + DEADLINE;
    let found = find(&narrowed(100, None), in_time);
    let mut all: Vec<u64> = (late_from..late_from + 5).rev().collect();
    all.extend([3, 2, 1]);
    assert_eq!(seqs(&found), all);
    assert_eq!((found.total, found.total_is_at_least), (8, false));
    assert_eq!(next(&found), None);
    // Where the time is over it ends behind a block of matches, and goes on there.
    let over = Instant::now();
    let block = super::super::TOTAL_MAX;
    let (late, early) = all.split_at(5);
    let found = find(&narrowed(100, None), over);
    assert_eq!(seqs(&found), late);
    assert_eq!(next(&found), Some(bench.len() - block + 1));
    assert!(found.total_is_at_least, "{found:?}");
    let found = find(&narrowed(100, Some(late_from)), over);
    assert_eq!(seqs(&found), [0_u64; 0]);
    assert_eq!(next(&found), Some(late_from - block));
    assert!(found.total_is_at_least, "{found:?}");
    let found = find(&narrowed(100, next(&found)), over);
    assert_eq!(seqs(&found), early);
    assert_eq!(next(&found), None);
    // A page that is full before that says that there may be more.
    let (mut shown, mut before) = (Vec::new(), None);
    loop {
        let found = ask(&search, narrowed(2, before));
        assert!(found.total_is_at_least, "{found:?}");
        shown.extend(seqs(&found));
        before = next(&found);
        if before.is_none() {
            break;
        }
    }
    assert_eq!(shown, all);
}

#[test]
fn a_finding_is_found_by_what_the_review_says_and_not_by_our_words_around_it() {
    let mut bench = Bench::new();
    let finding = FindingId::new("gh:rc:219");
    let facts: FindingFacts = serde_json::from_value(json!({"review": "r", "title": "A race",
        "severity": "low", "severityBy": "badge", "author": "bot", "digest": ""}))
    .unwrap();
    let said = quoted(&finding, &facts, "**A race** between\ntwo walnuts");
    let mut entry = bench.entry(&said);
    entry.kind = EntryKind::Finding(FindingRecord {
        finding: finding.clone(),
        step: FindingStep::Imported,
        facts: Some(facts),
        suggestions: Vec::new(),
        raw: None,
    });
    bench.append(vec![entry]);
    for use_index in [false, true] {
        let found = bench.search_file(&request("walnuts"), use_index);
        let [hit] = &found.hits[..] else {
            panic!("{found:?}");
        };
        assert_eq!(hit.snippet, "**A race** between two walnuts");
        assert_eq!(hit.finding.as_ref(), Some(&finding));
        assert_eq!(hit.review.as_deref(), Some("bot"));
        let is_found = |typed: &str| {
            !bench
                .search_file(&request(typed), use_index)
                .hits
                .is_empty()
        };
        assert!(is_found("rc 219") && is_found("bot low"));
        assert!(!is_found("untrusted"));
    }
}
