//! [`MarkedWords`]: highlights the search words in a text.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The words of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MarkedWords(Vec<String>);

impl MarkedWords {
    /// As they were typed: quotes and stars are not looked for.
    pub(crate) fn new(typed: &str) -> Self {
        let words = typed.split(|c: char| !c.is_alphanumeric());
        let words = words.map(str::to_lowercase);
        Self(words.filter(|word| !word.is_empty()).collect())
    }

    /// The line with each of them in another style. A search finds words from their beginning.
    pub(crate) fn mark(&self, line: Line<'static>, style: Style) -> Line<'static> {
        if self.0.is_empty() {
            return line;
        }
        let mut out = Line::default().style(line.style);
        out.alignment = line.alignment;
        for span in line.spans {
            self.split(span, style, &mut out.spans);
        }
        out
    }

    fn split(&self, span: Span<'static>, style: Style, out: &mut Vec<Span<'static>>) {
        let text: &str = &span.content;
        let lower = text.to_lowercase();
        // Lower case can change the length of a text; then positions would not fit, and no mark is
        // better than a wrong one.
        if lower.len() != text.len() {
            return out.push(span);
        }
        let mut rest = 0;
        let mut before = None;
        for (at, c) in lower.char_indices() {
            let begins = at >= rest && !before.is_some_and(char::is_alphanumeric);
            before = Some(c);
            if !begins {
                continue;
            }
            let found = self
                .0
                .iter()
                .filter(|word| lower[at..].starts_with(word.as_str()));
            let Some(longest) = found.map(String::len).max() else {
                continue;
            };
            let (Some(plain), Some(hit)) = (text.get(rest..at), text.get(at..at + longest)) else {
                continue;
            };
            if !plain.is_empty() {
                out.push(Span::styled(plain.to_owned(), span.style));
            }
            out.push(Span::styled(hit.to_owned(), span.style.patch(style)));
            rest = at + longest;
        }
        if rest == 0 {
            out.push(span);
        } else if rest < text.len() {
            out.push(Span::styled(text[rest..].to_owned(), span.style));
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Style};
    use ratatui::text::Line;

    use super::MarkedWords;

    fn marked(typed: &str, text: &str) -> String {
        let style = Style::new().fg(Color::Red);
        let line = MarkedWords::new(typed).mark(Line::from(text.to_owned()), style);
        let spans = line.spans.iter();
        spans
            .map(|span| match span.style.fg {
                Some(_) => format!("[{}]", span.content),
                None => span.content.to_string(),
            })
            .collect()
    }

    #[test]
    fn words_are_marked_from_their_beginning() {
        assert_eq!(
            marked("single flight", "Single-flight, flights"),
            "[Single]-[flight], [flight]s"
        );
        assert_eq!(
            marked("\"a lock\"*", "a clock, a lock"),
            "[a] clock, [a] [lock]"
        );
        assert_eq!(marked("数", "数据 É数"), "[数]据 É数");
        assert_eq!(marked("", "x"), "x");
        assert_eq!(
            marked("i", "İi"),
            "İi",
            "no mark is better than a wrong one"
        );
    }
}
