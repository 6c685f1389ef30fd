//! Lines of spans: cut to a width, spread to both edges.

use ratatui::text::{Line, Span};

use crate::text;

/// Columns of a line.
pub(crate) fn width_of(line: &Line<'_>) -> usize {
    line.spans
        .iter()
        .map(|span| text::width(&span.content))
        .sum()
}

/// The spans with the line's own style laid under theirs; lines that are put together would lose
/// it otherwise.
pub(crate) fn spans_of(line: Line<'static>) -> Vec<Span<'static>> {
    let style = line.style;
    line.spans
        .into_iter()
        .map(|span| Span {
            style: style.patch(span.style),
            content: span.content,
        })
        .collect()
}

/// The line in at most `columns`; what was cut ends in `…` in the style of the span it falls in.
pub(crate) fn fit_line(line: Line<'static>, columns: usize) -> Line<'static> {
    let mut room = Some(columns);
    for span in &line.spans {
        room = room.and_then(|room| room.checked_sub(text::width_to(&span.content, room)));
    }
    if room.is_some() {
        return line;
    }
    let mut left = columns;
    let mut out: Vec<Span<'static>> = Vec::new();
    for span in spans_of(line) {
        let w = text::width_to(&span.content, left);
        if w < left {
            left -= w;
            out.push(span);
            continue;
        }
        // It ends here: either this span is cut, or it fills the room and a later one is.
        out.push(Span::styled(
            text::fit(&format!("{}…", span.content), left),
            span.style,
        ));
        break;
    }
    Line::from(out)
}

/// `left` at the left edge, `right` at the right one, in exactly `columns`; `left` gives way.
pub(crate) fn spread(left: Line<'static>, right: Line<'static>, columns: usize) -> Line<'static> {
    let right_width = width_of(&right);
    if right_width == 0 || right_width + 2 > columns {
        return fit_line(left, columns);
    }
    let mut out = Line::from(spans_of(fit_line(left, columns - right_width - 1)));
    let gap = columns - right_width - width_of(&out);
    out.spans.push(blank(gap));
    out.spans.extend(spans_of(right));
    out
}

/// Spaces.
pub(crate) fn blank(columns: usize) -> Span<'static> {
    Span::raw(" ".repeat(columns))
}

/// Lines joined with spaces between them; empty ones are left out.
pub(crate) fn join(parts: Vec<Line<'static>>, gap: usize) -> Line<'static> {
    let mut out: Vec<Span<'static>> = Vec::new();
    for part in parts.into_iter().filter(|part| width_of(part) > 0) {
        if !out.is_empty() {
            out.push(blank(gap));
        }
        out.extend(spans_of(part));
    }
    Line::from(out)
}

#[cfg(test)]
mod tests {
    use ratatui::text::{Line, Span};

    use super::{fit_line, join, spread, width_of};

    fn line(parts: &[&str]) -> Line<'static> {
        Line::from(
            parts
                .iter()
                .map(|part| Span::raw((*part).to_owned()))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_line_is_cut_in_the_span_where_it_ends() {
        assert_eq!(fit_line(line(&["one ", "two"]), 7).to_string(), "one two");
        assert_eq!(fit_line(line(&["one ", "two"]), 6).to_string(), "one t…");
        assert_eq!(fit_line(line(&["one", "two"]), 3).to_string(), "on…");
        assert_eq!(fit_line(line(&["漢字", "x"]), 3).to_string(), "漢…");
        assert_eq!(fit_line(line(&["one"]), 0).to_string(), "");
    }

    #[test]
    fn the_right_side_keeps_its_place() {
        assert_eq!(
            spread(line(&["left"]), line(&["r"]), 8).to_string(),
            "left   r"
        );
        assert_eq!(
            spread(line(&["a long left"]), line(&["41s"]), 9).to_string(),
            "a lo… 41s"
        );
        assert_eq!(spread(line(&["left"]), line(&[]), 3).to_string(), "le…");
        assert_eq!(width_of(&spread(line(&["漢字漢字"]), line(&["3m"]), 8)), 8);
    }

    #[test]
    fn empty_parts_leave_no_gap() {
        assert_eq!(
            join(vec![line(&["a"]), line(&[]), line(&["b"])], 2).to_string(),
            "a  b"
        );
    }
}
