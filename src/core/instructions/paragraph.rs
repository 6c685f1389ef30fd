//! [`Paragraph`]: the unit in which rules are compared and given, whole or not at all.

use crate::managed_block::without_block;

/// A block of lines between empty ones, with the headings that stand before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) text: String,
    /// What is compared: the block without its headings, all space as one blank. Empty for
    /// headings that nothing follows.
    pub(super) key: String,
}

/// The paragraphs of a file, without our own block and the front matter that some editors'
/// rule files begin with. A fenced block of code is never divided.
pub(super) fn paragraphs(text: &str) -> Vec<Paragraph> {
    // A block without its end is taken as text: it says nothing secret, only something twice.
    let ours = without_block(text).ok().flatten();
    let text = without_front_matter(ours.as_deref().unwrap_or(text));
    let mut found = Vec::new();
    let mut block = Block::default();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let start = at;
        at += whole.len();
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let line = line.strip_suffix('\r').unwrap_or(line);
        block.fence = match (block.fence, fence_of(line)) {
            (None, opened) => opened,
            (Some(open), Some(mark)) if closes(open, mark, line) => None,
            (open, _) => open,
        };
        let is_gap = line.trim().is_empty() && block.fence.is_none();
        if is_gap {
            found.extend(block.end(text));
        } else if block.fence.is_none() && is_heading(line) {
            found.extend(block.end(text));
            block.headings.push(line);
        } else {
            let begin = block.body.map_or(start, |(begin, _)| begin);
            block.body = Some((begin, start + line.len()));
        }
    }
    found.extend(block.end(text));
    if !block.headings.is_empty() {
        found.push(Paragraph {
            text: block.headings.join("\n"),
            key: String::new(),
        });
    }
    found
}

/// What stands between the last empty line and this one.
#[derive(Debug, Default)]
struct Block<'a> {
    headings: Vec<&'a str>,
    /// Where its lines begin and end in the file, in bytes.
    body: Option<(usize, usize)>,
    /// The fence that is open, by its character and length.
    fence: Option<(char, usize)>,
}

impl Block<'_> {
    fn end(&mut self, file: &str) -> Option<Paragraph> {
        let (begin, end) = self.body.take()?;
        let body = &file[begin..end];
        let mut key = String::with_capacity(body.len());
        for word in body.split_whitespace() {
            if !key.is_empty() {
                key.push(' ');
            }
            key.push_str(word);
        }
        let mut text = String::with_capacity(body.len());
        for heading in self.headings.drain(..) {
            text.push_str(heading);
            text.push('\n');
        }
        text.push_str(body);
        Some(Paragraph { text, key })
    }
}

/// The fence that this line is: at least three of one of two characters (CommonMark 4.5).
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then_some((mark, length))
}

fn closes(open: (char, usize), mark: (char, usize), line: &str) -> bool {
    let alone = line.trim().chars().all(|c| c == mark.0);
    open.0 == mark.0 && mark.1 >= open.1 && alone
}

fn is_heading(line: &str) -> bool {
    let marks = line.chars().take_while(|c| *c == '#').count();
    (1..=6).contains(&marks) && line[marks..].starts_with(' ')
}

fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.trim_start().strip_prefix("---\n") else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &rest[at..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        let paragraphs = paragraphs(text).into_iter();
        paragraphs.map(|paragraph| paragraph.text).collect()
    }

    #[test]
    fn a_heading_stays_with_what_follows_it() {
        let text = "# Rules\n\n## Tests\n\nRun them.\nAll.\n\nNever skip.\n";
        let found = texts(text);
        assert_eq!(found, ["# Rules\n## Tests\nRun them.\nAll.", "Never skip."]);
    }

    #[test]
    fn a_fence_is_one_paragraph_and_its_hashes_are_no_headings() {
        let text = "Do:\n```sh\n# not a heading\n\nmake\n```\n\nThen stop.";
        let found = texts(text);
        assert_eq!(
            found,
            ["Do:\n```sh\n# not a heading\n\nmake\n```", "Then stop."]
        );
    }

    #[test]
    fn our_own_block_and_front_matter_are_left_out() {
        let text = "---\nalwaysApply: true\n---\nMine.\n\n<!-- ctxrelay:begin x -->\nours\n<!-- ctxrelay:end -->\n";
        assert_eq!(texts(text), ["Mine."]);
    }

    #[test]
    fn the_same_words_in_other_lines_have_the_same_key() {
        let one = paragraphs("# A\nUse  tabs\nonly.");
        let two = paragraphs("# B\n\nUse tabs only.");
        assert_eq!(one[0].key, two[0].key);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "[a-z#`~ \n-]{0,200}") {
            prop_assume!(!text.trim_start().starts_with("---"));
            let words = |text: &str| -> Vec<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            prop_assert_eq!(words(&texts(&text).join("\n")), words(&text));
        }
    }
}
