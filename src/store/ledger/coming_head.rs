//! [`Kept::met_in`]: the head that is kept outside, moved on to the operator's word in this ledger
//! if a crash came between the two.

use std::io;
use std::path::Path;

use super::lines::Lines;
use crate::dirs::open_private;
use crate::head::{Head, Kept};
use ctxrelay_core::wire::line::{hash_line, parse_link};

impl Kept {
    /// What is kept, with the head where the operator's word came to stand in this ledger, if a crash
    /// came between that and its head: whose word it is was known before it was written.
    pub(super) fn met_in(mut self, ledger: &Path) -> Self {
        let is_news = |coming: &Head| {
            coming.session_id == self.head.session_id && coming.seq > self.head.seq && !self.clean
        };
        if let Some(coming) = self.coming.take().filter(is_news)
            && has_line(ledger, &coming.hash).unwrap_or(false)
        {
            if self.head.seq > 0 {
                self.anchors.push((self.head.seq, self.head.hash));
            }
            self.anchors.push((coming.seq, coming.hash.clone()));
            self.head = coming;
        }
        self
    }
}

/// Whether a ledger has the line that this hash was made of, chained to the ones before it or not.
///
/// # Errors
///
/// When the file cannot be read, or is a link.
fn has_line(path: &Path, hash: &str) -> io::Result<bool> {
    let mut lines = Lines::new(open_private(path)?, 0);
    let tail = format!("{hash}\"}}");
    while let Some(line) = lines.next(|_| {})? {
        let Some(text) = line.text.filter(|_| line.complete) else {
            continue;
        };
        if !text.ends_with(tail.as_bytes()) {
            continue;
        }
        let link = parse_link(text).ok().flatten();
        if link.is_some_and(|link| hash_line(text, &link.prev).as_deref() == Some(hash)) {
            return Ok(true);
        }
    }
    Ok(false)
}
