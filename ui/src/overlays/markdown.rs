//! [`markdown`]: styles headings, emphasis, code and diffs of a text in place. It removes no
//! character: the operator reads exactly what the agents wrote.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::sanitize;
use crate::text;
use crate::theme::{Theme, ThemeRole};

/// What opens and closes a block of code.
const FENCE: &str = "```";

/// What surrounds a word that stands out.
const MARKS: [&str; 2] = ["**", "`"];

/// Where in a text a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Prose,
    Code,
    Diff,
}

/// The lines of a hostile text, wrapped to `columns`.
pub(super) fn markdown(theme: &Theme, source: &str, columns: usize) -> Vec<Line<'static>> {
    let mut block = Block::Prose;
    let mut out = Vec::new();
    for line in sanitize::lines(source) {
        let (style, has_marks) = match (block, line.trim_start().strip_prefix(FENCE)) {
            (Block::Prose, Some(kind)) => {
                block = match kind.trim() {
                    "diff" | "patch" => Block::Diff,
                    _ => Block::Code,
                };
                (ThemeRole::TextFaint, false)
            }
            (_, Some(_)) => {
                block = Block::Prose;
                (ThemeRole::TextFaint, false)
            }
            (Block::Prose, None) if is_heading(&line) => (ThemeRole::TextStrong, false),
            (Block::Prose, None) => (ThemeRole::Text, true),
            (Block::Code, None) => (ThemeRole::TextMuted, false),
            (Block::Diff, None) => (diff_role(&line), false),
        };
        for wrapped in text::wrap(&line, columns.max(1)) {
            let spans = if has_marks {
                marked(
                    &wrapped,
                    theme.style(style),
                    theme.style(ThemeRole::TextStrong),
                )
            } else {
                vec![Span::styled(wrapped, theme.style(style))]
            };
            out.push(Line::from(spans));
        }
    }
    out
}

fn is_heading(line: &str) -> bool {
    let level = line.chars().take_while(|c| *c == '#').count();
    (1..=6).contains(&level) && line[level..].starts_with(' ')
}

fn diff_role(line: &str) -> ThemeRole {
    match line.as_bytes() {
        [b'+', ..] => ThemeRole::OutcomeDone,
        [b'-', ..] => ThemeRole::OutcomeFailed,
        [b'@', b'@', ..] => ThemeRole::Heading,
        _ => ThemeRole::TextMuted,
    }
}

/// The line with what stands between two marks in another style.
fn marked(line: &str, plain: Style, strong: Style) -> Vec<Span<'static>> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some((start, end)) = next_marked(rest) {
        out.push(Span::styled(rest[..start].to_owned(), plain));
        out.push(Span::styled(rest[start..end].to_owned(), strong));
        rest = &rest[end..];
    }
    out.push(Span::styled(rest.to_owned(), plain));
    out
}

/// The first piece between two marks, with them.
fn next_marked(line: &str) -> Option<(usize, usize)> {
    let between = MARKS.into_iter().filter_map(|mark| {
        let start = line.find(mark)?;
        let inside = start + mark.len();
        let length = line[inside..].find(mark).filter(|length| *length > 0)?;
        Some((start, inside + length + mark.len()))
    });
    between.min()
}

#[cfg(test)]
mod tests {
    use super::markdown;
    use crate::theme::{Depth, Theme, ThemeRole};

    fn styled(source: &str, wanted: ThemeRole) -> Vec<String> {
        let theme = Theme::builtin("default-dark", Depth::Rgb).unwrap();
        let lines = markdown(&theme, source, 60);
        let spans = lines.into_iter().flat_map(|line| line.spans);
        spans
            .filter(|span| span.style == theme.style(wanted))
            .map(|span| span.content.into_owned())
            .collect()
    }

    #[test]
    fn no_character_is_taken_away() {
        let theme = Theme::plain();
        let source = "# one\n**two** and `three` and ** four\n```diff\n+ five\n```\n####### six";
        let lines = markdown(&theme, source, 60);
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(text.join("\n"), source);
    }

    #[test]
    fn marks_headings_and_diffs_stand_out() {
        let strong = ThemeRole::TextStrong;
        assert_eq!(styled("## one\ntwo", strong), ["## one"]);
        assert_eq!(styled("a **b c** d `e` `f", strong), ["**b c**", "`e`"]);
        let diff = "```diff\n-old\n+new\n```\n+ prose";
        assert_eq!(styled(diff, ThemeRole::OutcomeFailed), ["-old"]);
        assert_eq!(styled(diff, ThemeRole::OutcomeDone), ["+new"]);
        assert_eq!(styled("```rust\n**no**\n```", strong), [""; 0]);
    }
}
