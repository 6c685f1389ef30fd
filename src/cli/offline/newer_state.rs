//! [`newer_state`]: files of a later version of this program, which keep this one's daemon from
//! starting.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::cli::offline::disk;
use crate::host::{ProjectContext, StartError};
use crate::store::dirs::open_private;
use crate::store::ledger::LedgerError;
use crate::store::queue::Queue;
use crate::wire::line::{self, ParsedLine};

/// How much of a ledger's end is read.
const TAIL_BYTES: u64 = 256 * 1024;

/// Why a daemon of this version would not start, if a later one was here. What cannot be read is told
/// elsewhere.
pub(in crate::cli) fn newer_state(project: &ProjectContext) -> Option<StartError> {
    if let Some(newer) = Queue::newer(&project.dirs) {
        return Some(newer.into());
    }
    let (session, path) = disk::current(project).ok()??;
    let (_, last) = last_line(&path).ok()?;
    let last = last.filter(|line| line.is_newer)?;
    // Nothing is written behind a line of a later version. One behind the head is somebody else's, and
    // a start sets it aside.
    let kept = disk::outside_head(project).ok()?;
    let kept = kept.filter(|kept| kept.clean && kept.head.session_id == session);
    let is_record = kept.is_none_or(|kept| {
        let link = last.link.as_ref();
        link.is_some_and(|link| link.hash == kept.head.hash)
    });
    is_record.then(|| LedgerError::NewerSchema(path).into())
}

/// The last line of a ledger that is an entry, as far as it stands near the end, and how long the file
/// is.
pub(in crate::cli) fn last_line(path: &Path) -> io::Result<(u64, Option<ParsedLine>)> {
    let mut file = open_private(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
    let mut end = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let mut lines = end[..whole].rsplit(|byte| *byte == b'\n');
    Ok((bytes, lines.find_map(|text| line::parse(text).ok())))
}
