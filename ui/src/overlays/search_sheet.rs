//! [`SearchSheet`]: a search of the whole record, as it is typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::capsules_sheet::standing;
use super::chip_bar::{chip_lines, is_at_cursor};
use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{FoundRow, SearchScope};
use crate::panes::direction;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, blank, draw_thumb, fit_line};

/// Columns of an entry's number.
const NUMBER: usize = 9;
/// Columns of the kind.
const KIND: usize = 9;
/// Columns of the time.
const TIME: usize = 8;
/// From this width on there are times and directions.
const ROOMY: usize = 72;
/// From this width on there are ids of tasks.
const WIDE: usize = 100;
/// Columns of a task's title.
const TITLE: usize = 24;
/// Fewest columns of what was found beside it.
const SNIPPET_MIN: usize = 20;
/// Columns between two places.
const PLACE_GAP: usize = 2;

/// A search being typed.
#[derive(Debug, Clone)]
pub(crate) struct SearchSheet {
    pub(crate) field: TextField,
    /// The chip under the cursor, while chips are chosen.
    pub(crate) chip: Option<usize>,
    /// Which of the earlier searches stands in the field, counted from the latest.
    pub(crate) earlier: Option<usize>,
    /// What was typed before earlier searches were walked.
    pub(crate) typed: String,
}

impl SearchSheet {
    pub(crate) fn new(words: &str) -> Self {
        Self {
            field: TextField::line("words, \"a phrase\", begin*").with_text(words),
            chip: None,
            earlier: None,
            typed: String::new(),
        }
    }

    pub(super) fn area(screen: Rect) -> Rect {
        let rows = usize::from(screen.height).saturating_sub(4).min(24);
        overlay_area(screen, screen.width.saturating_sub(2), rows)
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let area = Self::area(screen);
        let title = Line::styled("Search", theme.style(ThemeRole::TitleFocus));
        let inner = draw_box(deck, area, buf, title, self.mark(deck));
        if inner.height < 2 {
            return;
        }
        self.field
            .draw(Rect { height: 1, ..inner }, buf, theme, self.chip.is_none());
        for (scope, at) in Self::places(deck, screen) {
            let (mark, role) = match scope == deck.search.place() {
                true => (deck.glyphs.well(), ThemeRole::TextStrong),
                false => (" ", ThemeRole::TextMuted),
            };
            let name = Line::styled(format!("{mark}{}", scope.name()), theme.style(role));
            buf.set_line(at.x, at.y, &name, at.width);
        }
        let columns = usize::from(inner.width);
        let chips = self.chip_rows(deck, columns, usize::from((inner.height - 1) / 3).max(1));
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
        let foot_top = place.y.saturating_sub(chips.len() as u16);
        for (line, y) in chips.iter().zip(foot_top..place.y) {
            if y > inner.y + 1 {
                buf.set_line(inner.x, y, line, inner.width);
            }
        }
        let list = Rect {
            y: inner.y + 2,
            height: foot_top.saturating_sub(inner.y + 3),
            ..inner
        };
        self.draw_hits(deck, list, buf);
    }

    /// What stands between the hits and the keys: the lines around the chip under the cursor, or as
    /// many of all as have room.
    fn chip_rows(&self, deck: &Deck, columns: usize, rows: usize) -> Vec<Line<'static>> {
        let muted = deck.theme.style(ThemeRole::TextMuted);
        let mut lines: Vec<Line<'static>> = Self::unread(deck, columns).into_iter().collect();
        if deck.search.place() != SearchScope::Record {
            let words = "searched as a whole: chips count in the record only";
            lines.push(Line::styled(words, muted));
            lines.truncate(rows);
            return lines;
        }
        let chips = |columns| chip_lines(deck, &deck.timeline.chips, self.chip, columns);
        let all = chips(columns);
        if lines.len() + all.len() <= rows {
            lines.extend(all);
            return lines;
        }
        // Room for the sign that there are more.
        let all = chips(columns.saturating_sub(2));
        let last = lines.len() + all.len() - 1;
        let cursor = all.iter().position(is_at_cursor);
        let end = cursor.map_or(0, |at| lines.len() + at + 1).max(rows);
        lines.extend(all);
        let mut shown: Vec<_> = lines.into_iter().take(end).skip(end - rows).collect();
        if let Some(line) = shown.last_mut().filter(|_| end <= last) {
            line.push_span(Span::styled(" …", muted));
        }
        shown
    }

    /// What is left out because the disk does not give it, and what says why.
    fn unread(deck: &Deck, columns: usize) -> Option<Line<'static>> {
        let lines = match deck.search.found()?.unread_lines {
            0 => return None,
            1 => "1 line".to_owned(),
            many => format!("{} lines", text::grouped(many)),
        };
        let said = format!("{lines} cannot be read: `ctxrelay ledger verify`");
        let style = deck.theme.style(ThemeRole::OutcomeAttention);
        Some(fit_line(Line::styled(said, style), columns))
    }

    /// The places that can be searched, and where their names stand.
    fn places(deck: &Deck, screen: Rect) -> Vec<(SearchScope, Rect)> {
        let inner = box_inner(Self::area(screen));
        let mut x = inner.x;
        let places = SearchScope::ALL.into_iter().map(|scope| {
            let width = text::width(deck.glyphs.well()) + text::width(scope.name());
            let width = u16::try_from(width).unwrap_or(u16::MAX);
            let at = Rect {
                x,
                y: inner.y + 1,
                width,
                height: 1,
            };
            x = x.saturating_add(width).saturating_add(PLACE_GAP as u16);
            (scope, at.intersection(inner))
        });
        places.collect()
    }

    /// The place whose name stands there.
    pub(crate) fn place_at(deck: &Deck, screen: Rect, at: Position) -> Option<SearchScope> {
        let mut places = Self::places(deck, screen).into_iter();
        places.find_map(|(scope, area)| area.contains(at).then_some(scope))
    }

    /// How many there are, and where.
    fn mark(&self, deck: &Deck) -> Line<'static> {
        let theme = &deck.theme;
        let search = &deck.search;
        let place_name = search.place().as_str();
        if self.field.is_blank() {
            return Line::styled(place_name, theme.style(ThemeRole::TextMuted));
        }
        let Some(found) = search.found() else {
            return Line::styled("searching …", theme.style(ThemeRole::TextMuted));
        };
        let place = search.place_in_words().unwrap_or_default();
        let behind = match found.behind {
            0 => String::new(),
            behind => format!(", {} not searched yet", text::grouped(behind)),
        };
        let unread = match found.unread_lines {
            0 => String::new(),
            unread => format!(", {} unread", text::grouped(unread)),
        };
        Line::styled(
            format!("{place} in {place_name}{behind}{unread}"),
            theme.style(ThemeRole::Match),
        )
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = self.footer(deck);
        let inner = box_inner(Self::area(screen));
        let rows = keys.rows(usize::from(inner.width));
        (foot(inner, rows.min(inner.height.saturating_sub(1))), keys)
    }

    fn footer(&self, deck: &Deck) -> KeyFooter {
        let keys: &[(Action, &str)] = if self.chip.is_some() {
            &[
                (Action::MoveDown, "next"),
                (Action::ToggleChip, "on or off"),
                (Action::ClearChips, "all off"),
                (Action::Back, "to the words"),
            ]
        } else {
            &[
                (Action::NextField, "chips"),
                (Action::OtherPlace, "place"),
                (Action::MoveDown, "hit"),
                (Action::MoveUp, "hit, earlier"),
                (Action::Open, "go there"),
                (Action::Back, "as it was"),
            ]
        };
        KeyFooter::new(deck, keys)
    }

    fn draw_hits(&self, deck: &Deck, area: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        let say = |words: String, buf: &mut Buffer| {
            if area.height > 0 {
                let line = fit_line(Line::styled(words, muted), usize::from(area.width));
                buf.set_line(area.x, area.y, &line, area.width);
            }
        };
        let Some(found) = deck.search.found() else {
            let history = deck.search.history();
            if self.field.is_blank() && !history.is_empty() {
                let words: Vec<String> = history
                    .iter()
                    .rev()
                    .take(8)
                    .map(|w| sanitize::line(w))
                    .collect();
                say(format!("earlier: {}", words.join(" · ")), buf);
            }
            return;
        };
        if let Some(fault) = &found.fault {
            return say(sanitize::line(fault), buf);
        }
        if found.rows.is_empty() && found.cursor.is_some() {
            let text = match deck.search.waits_for_more(deck.view.now_ms) {
                true => "nothing yet: the rest is being searched …",
                false => "nothing so far: not all of it is searched yet",
            };
            return say(text.to_owned(), buf);
        }
        if found.rows.is_empty() && !self.field.is_blank() {
            let where_to = deck.search.place();
            let chips = match where_to {
                SearchScope::Record if !deck.timeline.chips.is_empty() => " with these chips",
                _ => "",
            };
            let place = where_to.as_str();
            return say(format!("nothing in {place} has these words{chips}"), buf);
        }
        let rows = usize::from(area.height);
        let selected = deck.search.selected();
        let top = (selected + 1).saturating_sub(rows);
        for ((index, row), y) in
            (found.rows.iter().enumerate().skip(top)).zip(area.y..area.bottom())
        {
            let is_selected = index == selected;
            let line = self.hit(deck, row, is_selected, usize::from(area.width));
            buf.set_line(area.x, y, &line, area.width);
            if is_selected {
                let bar = Rect {
                    y,
                    height: 1,
                    ..area
                };
                buf.set_style(bar, theme.style(ThemeRole::SelectionFocus));
            }
        }
        draw_thumb(
            // On the frame, one column out from the inside.
            Rect {
                width: area.width + 2,
                ..area
            },
            buf,
            deck.glyphs,
            theme.style(ThemeRole::OverlayBorder),
            top,
            rows,
            found.rows.len(),
        );
    }

    fn hit(&self, deck: &Deck, row: &FoundRow, is_selected: bool, columns: usize) -> Line<'static> {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        // That of a task is of a record that may be elsewhere: its card tells.
        let number = match row.task {
            Some(_) => String::new(),
            None => text::grouped(row.seq),
        };
        let fill = NUMBER.saturating_sub(text::width(&number));
        let mut spans = vec![
            deck.row_cursor(is_selected),
            blank(fill),
            Span::styled(number, muted),
            blank(2),
        ];
        if columns >= ROOMY {
            let offset = deck.view.utc_offset_s(row.at_ms);
            let now = deck.view.now_ms;
            let today = text::day_number(now, deck.view.utc_offset_s(now));
            let is_today = text::day_number(row.at_ms, offset) == today;
            let time = if is_today {
                text::clock_seconds(row.at_ms, offset)
            } else {
                text::day_or_month(now, row.at_ms, offset)
            };
            spans.push(Span::styled(text::pad(&time, TIME), muted));
            spans.push(blank(1));
            spans.extend(direction(deck, &row.from, row.to.as_ref()));
            spans.push(blank(1));
        }
        spans.push(Span::styled(
            text::pad(&sanitize::line(&row.kind), KIND),
            muted,
        ));
        spans.push(blank(1));
        if let Some(task) = &row.task {
            if columns >= WIDE {
                spans.push(Span::styled(
                    format!("{}  ", sanitize::line(&task.id)),
                    muted,
                ));
            }
            if let Some(stands) = task.standing {
                spans.extend([standing(deck, stands), blank(2)]);
            }
        }
        if row.is_foreign {
            let mark = "from elsewhere  ";
            spans.push(Span::styled(mark, theme.style(ThemeRole::Wait)));
        }
        if let Some(task) = &row.task {
            let title = text::fit(&sanitize::line(&task.title), TITLE);
            let used = spans.iter().map(|span| text::width(&span.content));
            let used = used.sum::<usize>() + text::width(&title) + 2;
            // What was found comes first; where it is the title itself, that follows.
            let has_room = used + SNIPPET_MIN <= columns;
            if has_room && !title.is_empty() && task.title != row.snippet {
                let role = theme.style(ThemeRole::TextStrong);
                spans.extend([Span::styled(title, role), blank(2)]);
            }
        }
        if let Some(session) = &row.session {
            let session = sanitize::line(session_label(session));
            spans.push(Span::styled(format!("in {session}  "), muted));
        }
        let role = if is_selected {
            ThemeRole::TextStrong
        } else {
            ThemeRole::Text
        };
        for (piece, is_match) in pieces(&row.snippet, &row.marks) {
            let role = if is_match { ThemeRole::Match } else { role };
            spans.push(Span::styled(sanitize::line(piece), theme.style(role)));
        }
        fit_line(Line::from(spans), columns)
    }
}

/// The end of a session's id, which tells sessions apart for people.
pub(super) fn session_label(id: &str) -> &str {
    id.rsplit_once('_').map_or(id, |(_, digits)| digits)
}

/// The pieces of a text, and which of them were found. Marks are in characters, in order; what of
/// them does not fit the text is left out.
fn pieces<'t>(text: &'t str, marks: &[(u32, u32)]) -> Vec<(&'t str, bool)> {
    let byte = |at: u32| {
        text.char_indices()
            .nth(at as usize)
            .map_or(text.len(), |(at, _)| at)
    };
    let mut out = Vec::new();
    let mut rest = 0;
    for (from, to) in marks {
        let (from, to) = (byte(*from), byte(*to));
        if from < rest || to <= from {
            continue;
        }
        out.push((&text[rest..from], false));
        out.push((&text[from..to], true));
        rest = to;
    }
    out.push((&text[rest..], false));
    out.retain(|(piece, _)| !piece.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn marks_that_do_not_fit_are_left_out() {
        let text = "a é数b";
        assert_eq!(
            pieces(text, &[(2, 4)]),
            [("a ", false), ("é数", true), ("b", false)]
        );
        assert_eq!(
            pieces(text, &[(4, 99), (0, 1), (99, 100)]),
            [("a é数", false), ("b", true)]
        );
        assert_eq!(pieces(text, &[(3, 3)]), [(text, false)]);
        assert_eq!(pieces("", &[(0, 1)]), []);
    }
}
