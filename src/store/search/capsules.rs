//! [`find_capsules`]: words in capsules; and [`follow_capsules`]: keeps the words of their files in
//! the index.
//!
//! The record knows few tasks, and their words are taken from its state. All others are files,
//! which the index knows by name, place and time on the disk; a file that is not indexed in its
//! current state is read. What is shown comes from the file; an index that says something else is
//! not believed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::error::SearchError;
use super::find::LIMIT_MAX;
use super::index::{CapsuleMark, CapsuleWords, SearchIndex};
use super::page::RequestError;
use super::passages::find_in;
use super::query::Query;
use super::text::Text;
use crate::capsules::{CapsuleOwner, Capsules, KeptCapsule};
use crate::dirs::ProjectDirs;
use ctxrelay_core::capsule::{Capsule, CapsulePassage, CapsuleSources};
use ctxrelay_core::id::{CapsuleId, EntryId, FindingId, Seq, SessionId};
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::snapshot::{Snapshot, TaskSnapshot};
use ctxrelay_core::wire::capsule;
use ctxrelay_core::wire::search::{FoundHit, FoundIn, FoundPage, SearchHit, SearchParams};
use ctxrelay_core::word::OpenWord;

/// The `type` of a hit in a capsule.
const TYPE: &str = "capsule";

/// How much text goes into the index at once, in bytes.
const BYTES_MAX: usize = 1024 * 1024;

/// What is searched for in tasks.
#[derive(Debug, Clone)]
pub struct CapsuleRequest {
    query: Query,
    /// Hits that were shown before.
    skip: usize,
    limit: usize,
    /// The state of the record.
    world: Arc<Snapshot>,
}

impl CapsuleRequest {
    /// Reads what is asked of the tasks beside this record.
    ///
    /// # Errors
    ///
    /// When there is no word in it, it is too long, or the cursor is none.
    pub fn of(params: &SearchParams, world: Arc<Snapshot>) -> Result<Self, RequestError> {
        let skip = match &params.after {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .map_err(|_| RequestError::Cursor(cursor.clone()))?,
        };
        let limit = params.limit.map_or(LIMIT_MAX, |limit| limit as usize);
        Ok(Self {
            query: Query::parse(&params.words)?,
            skip,
            limit: limit.clamp(1, LIMIT_MAX),
            world,
        })
    }
}

/// Searches where no daemon has the index open. It is used when `believed`: nobody else can have
/// put it there.
pub fn search_capsules(
    dirs: &ProjectDirs,
    believed: bool,
    redactor: &Redactor,
    request: &CapsuleRequest,
) -> FoundPage {
    let by_index = || {
        let Some(index) = SearchIndex::open_to_read(dirs)? else {
            return Ok(None);
        };
        find_capsules(Some(&index), redactor, dirs, request, None).map(Some)
    };
    let found = match believed.then(by_index) {
        Some(Err(error)) => {
            tracing::debug!(%error, "the index is of no use: reading the capsules");
            None
        }
        found => found.and_then(Result::ok).flatten(),
    };
    found.unwrap_or_else(|| {
        // Only an index can fail.
        find_capsules(None, redactor, dirs, request, None).unwrap_or_default()
    })
}

/// The tasks of the record, latest first, then the files of others, the project's own before those
/// from elsewhere; of an imported task the one that was imported. After `until` no file is read any more that is not in the index: those are
/// counted as left behind. How a capsule stands to the work tree is not looked at.
pub(super) fn find_capsules(
    index: Option<&SearchIndex>,
    redactor: &Redactor,
    dirs: &ProjectDirs,
    request: &CapsuleRequest,
    until: Option<Instant>,
) -> Result<FoundPage, SearchError> {
    let (marks, matching) = match index {
        Some(index) => index
            .at_one_moment(|index| Ok((index.capsules()?, index.find_capsules(&request.query)?)))?,
        None => (HashMap::new(), HashSet::new()),
    };
    let mut page = CapsulePage {
        request,
        found: FoundPage::default(),
    };
    let world = &request.world;
    let mut tasks: Vec<&TaskSnapshot> = world.tasks.values().collect();
    tasks.sort_by_key(|task| Reverse(task.head));
    let project = dirs.root.file_name().unwrap_or_default().to_string_lossy();
    for task in tasks {
        page.look_at(&of_task(world, task, &project), Whose::Record, redactor);
    }
    let kept = Capsules::of(dirs);
    let mut seen: HashSet<CapsuleId> = world.tasks.keys().cloned().collect();
    let files = kept.files();
    let is_foreign = |file: &&KeptCapsule| file.owner == CapsuleOwner::Foreign;
    let brought: HashSet<CapsuleId> = files
        .iter()
        .filter(is_foreign)
        .map(|it| it.id.clone())
        .collect();
    for file in files {
        // What an agent writes there does not take the place of what was imported.
        let is_hidden = |id| brought.contains(id) && world.imported.contains_key(id);
        if file.owner == CapsuleOwner::Project && is_hidden(&file.id) {
            continue;
        }
        if !seen.insert(file.id.clone()) {
            continue;
        }
        match marks.get(&(file.owner, file.id.clone())) {
            Some(mark) if mark.stamp == file.stamp => {
                if !mark.is_in(&matching) {
                    continue;
                }
                // One that was imported may have been exchanged since: only its file tells.
                if !page.shows_next() && !world.imported.contains_key(&file.id) {
                    page.count();
                    continue;
                }
            }
            _ if until.is_some_and(|until| until <= Instant::now()) => {
                page.found.behind += 1;
                continue;
            }
            _ => {}
        }
        if let Some(capsule) = read(&kept, &file) {
            let is_foreign = file.owner == CapsuleOwner::Foreign;
            let imported = world.imported.get(&file.id);
            if is_foreign && imported.is_some_and(|it| it.digest != capsule.digest) {
                continue;
            }
            let whose = match (is_foreign, imported) {
                (true, Some(_)) => Whose::Imported,
                (true, None) => Whose::KeptForeign,
                (false, _) => Whose::Kept,
            };
            page.look_at(&capsule, whose, redactor);
        }
    }
    let mut found = page.found;
    found.total_is_at_least = found.behind > 0;
    Ok(found)
}

/// Brings the words of all files into the index, for as long as `goes_on` says so.
pub(super) fn follow_capsules(
    index: &mut SearchIndex,
    dirs: &ProjectDirs,
    redactor: &Redactor,
    goes_on: impl Fn() -> bool,
) -> Result<(), SearchError> {
    let kept = Capsules::of(dirs);
    let mut marks = index.capsules()?;
    let (mut put, mut bytes) = (Vec::new(), 0);
    for file in kept.files() {
        let mark = marks.remove(&(file.owner, file.id.clone()));
        if mark.is_some_and(|mark| mark.stamp == file.stamp) {
            continue;
        }
        if !goes_on() {
            return Ok(());
        }
        // One that cannot be believed is in it without a word, so as not to be read each time.
        let folded = read(&kept, &file).map_or_else(String::new, |capsule| {
            let passages = capsule.passages();
            let texts = passages.iter().map(|passage| passage.text);
            Text::of_pieces(texts, redactor).folded()
        });
        bytes += folded.len();
        put.push(CapsuleWords { file, folded });
        if bytes >= BYTES_MAX {
            index.change_capsules(&put, &[])?;
            put.clear();
            bytes = 0;
        }
    }
    let gone: Vec<CapsuleMark> = marks.into_values().collect();
    if put.is_empty() && gone.is_empty() {
        return Ok(());
    }
    index.change_capsules(&put, &gone)
}

/// On whose word a task is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The record's.
    Record,
    /// Nobody's, as far as is looked here: a sealed session may have it.
    Kept,
    /// Somebody's elsewhere, as it was imported.
    Imported,
    /// Somebody's elsewhere, and no import is known.
    KeptForeign,
}

/// A page being filled.
struct CapsulePage<'a> {
    request: &'a CapsuleRequest,
    found: FoundPage,
}

impl CapsulePage<'_> {
    /// Whether the next hit would be on it.
    fn shows_next(&self) -> bool {
        self.found.total >= self.request.skip as u64 && self.found.hits.len() < self.request.limit
    }

    /// One that is on another page.
    fn count(&mut self) {
        self.found.total += 1;
        if self.found.hits.len() == self.request.limit && self.found.cursor.is_none() {
            let shown = self.request.skip + self.found.hits.len();
            self.found.cursor = Some(shown.to_string());
        }
    }

    fn look_at(&mut self, capsule: &Capsule, whose: Whose, redactor: &Redactor) {
        let Some((hit, uncited)) = hit(capsule, &self.request.query, redactor) else {
            return;
        };
        if !self.shows_next() {
            return self.count();
        }
        self.found.total += 1;
        self.found.hits.push(FoundHit {
            kind: FoundIn::Capsule,
            hit,
            freshness: None,
            foreign: matches!(whose, Whose::Imported | Whose::KeptForeign),
            unvouched: matches!(whose, Whose::Kept | Whose::KeptForeign),
            title: Some(redactor.redact_text(&capsule.title).0.into_owned()),
            uncited,
        });
    }
}

/// What the record says of a task; nothing of the work tree.
fn of_task(world: &Snapshot, task: &TaskSnapshot, project: &str) -> Capsule {
    let sources = CapsuleSources {
        world,
        task,
        git: None,
        files: &BTreeMap::new(),
        gates: &[],
        project,
        version: "",
    };
    sources.capsule()
}

/// What cannot be believed is not looked at; `capsule list` says which that is.
fn read(kept: &Capsules, file: &KeptCapsule) -> Option<Capsule> {
    let bytes = kept.read(file.owner, &file.id).ok().flatten()?;
    match capsule::read(&bytes) {
        Ok(capsule) => (capsule.id == file.id).then_some(capsule),
        Err(error) => {
            tracing::debug!(id = %file.id, %error, "a capsule is not searched");
            None
        }
    }
}

/// The hit, and whether no entry is known that says so.
fn hit(capsule: &Capsule, query: &Query, redactor: &Redactor) -> Option<(SearchHit, bool)> {
    let passages = capsule.passages();
    let texts = passages.iter().map(|passage| passage.text);
    let (snippet, at) = find_in(texts, query, redactor)?;
    let (session, seq) = place(capsule, &passages[at]);
    let hit = SearchHit {
        seq: seq.0,
        id: EntryId::new(capsule.id.as_str()),
        session: Some(session),
        entry_type: OpenWord::of(TYPE),
        source: match passages[at].by {
            Some(author) => author.to_string(),
            None => capsule.origin.project.clone(),
        },
        target: None,
        review: passages[at].finding.map(str::to_owned),
        finding: passages[at].finding.map(FindingId::new),
        at: passages[at].at_ms.unwrap_or(capsule.updated_at),
        snippet: snippet.text,
        marks: snippet.marks,
        apart: false,
        tells_task: false,
    };
    Some((hit, passages[at].line.is_none()))
}

/// Where the text stands in a record: the entry that says so, or the last one that the capsule was
/// made from.
fn place(capsule: &Capsule, passage: &CapsulePassage<'_>) -> (SessionId, Seq) {
    match passage.line {
        Some(line) => (line.session.clone(), line.seq),
        None => (capsule.origin.session.clone(), capsule.origin.head.seq),
    }
}
