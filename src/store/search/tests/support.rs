//! A ledger in a temporary project, with search.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::ledger::{self, Ledger, OpenOptions, Reading, WriterEvent};
use crate::search::{Query, Search, SearchRequest, search_file};
use crate::testing::Place;
use ctxrelay_core::agent::Party;
use ctxrelay_core::entry::{Artifact, ArtifactStatus, Entry, EntryKind, NoteKind};
use ctxrelay_core::id::{EntryId, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::SearchPage;

/// Only something broken takes so long.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub static REDACTOR: LazyLock<Arc<Redactor>> = LazyLock::new(|| Arc::new(Redactor::new()));

/// An open ledger.
pub struct Bench {
    pub place: Place,
    pub session: SessionId,
    pub ledger: Ledger,
    events: Receiver<WriterEvent>,
    next: u64,
}

impl Bench {
    pub fn new() -> Self {
        let session = SessionId::new("session_1795000000000_a1b2c3d4");
        Self::open(Place::new(), session, 0)
    }

    fn open(place: Place, session: SessionId, next: u64) -> Self {
        let (sender, events) = channel();
        let opened = ledger::open(
            OpenOptions {
                dirs: place.dirs.clone(),
                session: session.clone(),
                prev_head: None,
                redactor: Arc::clone(&REDACTOR),
                checkpoint: None,
                outside: None,
                space: None,
            },
            Box::new(move |event| drop(sender.send(event))),
        )
        .unwrap();
        Self {
            place,
            session,
            ledger: opened.ledger,
            events,
            next,
        }
    }

    /// Seals the session, and begins the next one.
    pub fn next_session(self) -> Self {
        self.ledger.close();
        let began: u64 = self.session.as_str()[8..21].parse().unwrap();
        let session = SessionId::new(format!("session_{}_a1b2c3d4", began + 1));
        Self::open(self.place, session, self.next)
    }

    /// Closes the ledger and opens it again.
    pub fn reopened(self) -> Self {
        self.ledger.close();
        Self::open(self.place, self.session, self.next)
    }

    pub fn search(&self) -> Search {
        Search::start(
            &self.place.dirs,
            Arc::clone(&REDACTOR),
            self.ledger.clone(),
            self.session.clone(),
            false,
        )
        .unwrap()
    }

    /// Appends and waits until it is durable.
    pub fn append(&mut self, entries: Vec<Entry>) {
        self.ledger.append(self.next, entries).unwrap();
        match self.events.recv_timeout(DEADLINE).unwrap() {
            WriterEvent::Durable { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    pub fn note(&mut self, text: &str) {
        let entry = self.entry(text);
        self.append(vec![entry]);
    }

    pub fn entry(&mut self, text: &str) -> Entry {
        self.next += 1;
        Entry {
            id: EntryId::new(format!("e{}", self.next)),
            timestamp_ms: 1_795_000_000_000,
            session_id: self.session.clone(),
            content: text.to_owned(),
            ..Entry::new(Party::Human, EntryKind::note(NoteKind::Note))
        }
    }

    pub fn artifact(&mut self, text: &str, title: &str, evidence: &str) -> Entry {
        let mut entry = self.entry(text);
        entry.kind = EntryKind::Artifact(Artifact {
            kind: "test".into(),
            title: title.to_owned(),
            status: ArtifactStatus::Passed,
            evidence: vec![evidence.to_owned()],
            ..Artifact::default()
        });
        entry
    }

    /// How many entries there are.
    pub fn len(&self) -> u64 {
        self.ledger.stats().entries
    }

    /// By the index, if `use_index`, else by reading the file.
    pub fn search_file(&self, request: &SearchRequest, use_index: bool) -> SearchPage {
        let path = self.ledger.path();
        let reading = Reading::open(path, &self.session, None, None).unwrap();
        search_file(
            &self.place.dirs,
            use_index.then_some((&self.session, &reading)),
            path,
            u64::MAX,
            &REDACTOR,
            request,
        )
        .unwrap()
    }
}

pub fn request(typed: &str) -> SearchRequest {
    SearchRequest::new(Query::parse(typed).unwrap(), 1_000)
}

/// Asks the searching thread.
pub fn ask(search: &Search, request: SearchRequest) -> SearchPage {
    let (sender, answer) = channel();
    search.find(request, move |found| drop(sender.send(found)));
    answer.recv_timeout(DEADLINE).unwrap().unwrap()
}

pub fn seqs(found: &SearchPage) -> Vec<u64> {
    found.hits.iter().map(|hit| hit.seq).collect()
}

/// Below which number it goes on.
pub fn next(found: &SearchPage) -> Option<u64> {
    found.cursor.as_ref().map(|cursor| cursor.parse().unwrap())
}
