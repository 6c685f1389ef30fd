//! [`HereDocument`]: lines of a shell text that are not commands.

/// A here-document whose lines come after the line that names it.
#[derive(Debug)]
pub(super) struct HereDocument {
    /// The line that ends it.
    pub(super) end: String,
    /// Tabs before a line are none of it.
    pub(super) strips_tabs: bool,
    /// The shell runs the substitutions in it.
    pub(super) expands: bool,
    /// Which of the text's commands reads it, once that one is known.
    pub(super) command: Option<usize>,
}

impl HereDocument {
    /// How many characters its lines are, its end included; the lines without that; why they may not
    /// be all of it.
    pub(super) fn lines(&self, rest: &[char]) -> (usize, String, Option<&'static str>) {
        let mut at = 0;
        let mut body = String::new();
        let (mut is_joined, mut unclear) = (false, None);
        loop {
            if at >= rest.len() {
                return (at, body, Some("a here-document does not end"));
            }
            let rest = &rest[at..];
            let length = rest.iter().position(|it| *it == '\n');
            let line: String = rest[..length.unwrap_or(rest.len())].iter().collect();
            at += length.map_or(rest.len(), |length| length + 1);
            let shown = match self.strips_tabs {
                true => line.trim_start_matches('\t'),
                false => &line,
            };
            let is_end = shown == self.end;
            let joins = self.expands && ends_in_a_backslash(shown);
            // The shell joins such a line with the next one, and looks for the end behind that.
            if is_joined && is_end || joins && self.end.starts_with(shown.trim_end_matches('\\')) {
                unclear = Some("where a here-document ends is not clear");
            }
            if is_end {
                return (at, body, unclear);
            }
            is_joined = joins;
            body.push_str(&line);
            body.push('\n');
        }
    }
}

/// One that counts: of two the first makes a letter of the second.
fn ends_in_a_backslash(line: &str) -> bool {
    line.bytes().rev().take_while(|it| *it == b'\\').count() % 2 == 1
}
