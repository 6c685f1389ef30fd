//! [`HereDocument`]: lines of a shell text that are no commands.

use super::programs::mentions_git;

/// A here-document whose lines come after the line that names it.
#[derive(Debug)]
pub(super) struct HereDocument {
    /// The line that ends it.
    pub(super) end: String,
    /// Tabs before a line are none of it.
    pub(super) strips_tabs: bool,
    /// The shell runs the substitutions in it.
    pub(super) expands: bool,
}

impl HereDocument {
    /// How many characters its lines are, its end included, and why it may hide a command.
    pub(super) fn skip(&self, rest: &[char]) -> (usize, Option<&'static str>) {
        let mut at = 0;
        let mut body = String::new();
        loop {
            if at >= rest.len() {
                return (at, Some("a here-document does not end"));
            }
            let rest = &rest[at..];
            let length = rest.iter().position(|it| *it == '\n');
            let line: String = rest[..length.unwrap_or(rest.len())].iter().collect();
            at += length.map_or(rest.len(), |length| length + 1);
            let shown = match self.strips_tabs {
                true => line.trim_start_matches('\t'),
                false => &line,
            };
            if shown == self.end {
                break;
            }
            body.push_str(&line);
            body.push('\n');
        }
        let runs_something = body.contains("$(") || body.contains('`');
        let hides = self.expands && runs_something && mentions_git(&body);
        (
            at,
            hides.then_some("a here-document runs something of git's"),
        )
    }
}
