//! [`Choice`]: a question with a few answers, one of them always "do nothing".

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, first_lines, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Agent;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, draw_thumb, fit_line};

/// Most columns of the answers beside which stands what they come to: none of ours has more.
const LABEL_MAX: usize = 40;

/// Columns before an answer: the cursor, and a blank.
const INDENT: usize = 2;

/// Fewest columns in which what an answer comes to is wrapped.
const DESC_MIN: usize = 12;

/// Where everything stands.
struct Places {
    area: Rect,
    body: Vec<String>,
    /// What each answer comes to, in as many lines as it has; of one that comes to nothing else the
    /// answer itself, over the full width.
    descs: Vec<Vec<String>>,
    options: Rect,
}

/// What an answer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Closes the question.
    Nothing,
    /// Asks the caller for this.
    Effect(Effect),
    /// Asks for a typed word before the session's record is archived, or deleted for good.
    Clear {
        /// Deleted.
        discard: bool,
    },
    /// Uses this theme.
    Theme(String),
    /// Has what was said before ticked, before a task is handed over with it.
    Ticks {
        /// The task.
        id: String,
        /// To whom.
        to: Agent,
    },
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChoiceOption {
    pub(crate) label: String,
    pub(crate) desc: String,
    pub(crate) pick: Pick,
}

impl ChoiceOption {
    pub(crate) fn new(label: impl Into<String>, desc: impl Into<String>, pick: Pick) -> Self {
        Self {
            label: label.into(),
            desc: desc.into(),
            pick,
        }
    }
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) title: String,
    /// What the operator should know before answering.
    pub(crate) lines: Vec<String>,
    pub(crate) options: Vec<ChoiceOption>,
    pub(crate) list: ListState,
    /// The theme to go back to when a choice of themes is left without an answer.
    pub(crate) theme_before: Option<String>,
}

impl Choice {
    pub(crate) fn new(
        title: impl Into<String>,
        lines: Vec<String>,
        options: Vec<ChoiceOption>,
    ) -> Self {
        Self {
            title: title.into(),
            lines,
            options,
            list: ListState::default(),
            theme_before: None,
        }
    }

    /// The answer under the cursor.
    pub(crate) fn picked(&self) -> Option<&Pick> {
        self.options
            .get(self.list.selected)
            .map(|option| &option.pick)
    }

    fn label_columns(&self) -> usize {
        // One that comes to nothing else has the full width.
        let labels = self.options.iter().filter(|it| !it.desc.is_empty());
        let labels = labels.map(|option| text::width(&option.label));
        labels.max().unwrap_or(0).min(LABEL_MAX)
    }

    /// Where it stands, and its words.
    fn places(&self, screen: Rect) -> Places {
        let label = self.label_columns();
        let widest = self
            .options
            .iter()
            .map(|option| match option.desc.is_empty() {
                true => text::width(&option.label).max(label) + 5,
                false => label + 5 + text::width(&option.desc),
            })
            .chain(self.lines.iter().map(|line| text::width(line).min(72)))
            .chain([text::width(&self.title) + 2, 36])
            .max()
            .unwrap_or(0);
        let columns = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(92);
        let width = columns.min(screen.width.saturating_sub(2));
        let room = usize::from(width.saturating_sub(4));
        let lines = self.lines.iter();
        let body: Vec<String> = lines.flat_map(|line| text::wrap(line, room)).collect();
        let mut gap = usize::from(!body.is_empty());
        let beside = room.saturating_sub(label + 4);
        let whole =
            |option: &ChoiceOption| text::wrap(&option.label, room.saturating_sub(INDENT).max(1));
        let wrapped = |option: &ChoiceOption| match option.desc.is_empty() {
            true => whole(option),
            false => text::wrap(&option.desc, beside.max(1)),
        };
        let mut descs: Vec<Vec<String>> = self.options.iter().map(wrapped).collect();
        let rows_of = |descs: &[Vec<String>]| descs.iter().map(Vec::len).sum::<usize>();
        let rows = |descs: &[Vec<String>], gap| body.len() + gap + rows_of(descs) + 4;
        let is_whole = |gap| {
            let room = usize::from(screen.height.saturating_sub(2));
            beside >= DESC_MIN && rows(&descs, gap) <= room
        };
        if !is_whole(gap) && is_whole(0) {
            gap = 0;
        } else if !is_whole(gap) {
            // Each answer has its line, so that as few as possible are out of sight. Those that are
            // told apart by nothing else stay whole.
            let cut = |option: &ChoiceOption| match option.desc.is_empty() {
                true => whole(option),
                false => vec![option.desc.clone()],
            };
            descs = self.options.iter().map(cut).collect();
        }
        let area = overlay_area(screen, columns, rows(&descs, gap));
        let inner_height = area.height.saturating_sub(2);
        let footer = if inner_height > 3 { 2 } else { 0 };
        let wanted = rows_of(&descs) as u16;
        let above = (body.len() as u16 + gap as u16)
            .min(inner_height.saturating_sub(footer + wanted.min(3)));
        let options = Rect {
            x: area.x + 1,
            y: area.y + 1 + above,
            width: area.width.saturating_sub(2),
            height: inner_height.saturating_sub(above + footer).min(wanted),
        };
        Places {
            area,
            body,
            descs,
            options,
        }
    }

    /// The box.
    pub(super) fn area(&self, screen: Rect) -> Rect {
        self.places(screen).area
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let places = self.places(screen);
        let inner = box_inner(places.area);
        let rows = u16::from(places.options.bottom() < inner.bottom());
        let keys = [(Action::Open, "choose"), (Action::Back, "close")];
        (foot(inner, rows), KeyFooter::new(deck, &keys))
    }

    /// Which option a click on this cell means.
    pub(crate) fn option_at(&self, screen: Rect, x: u16, y: u16) -> Option<usize> {
        let places = self.places(screen);
        let area = places.options;
        let inside = (area.x..area.right()).contains(&x) && (area.y..area.bottom()).contains(&y);
        let row = inside.then(|| self.top(area, &places.descs) + usize::from(y - area.y))?;
        let mut end = 0;
        places.descs.iter().position(|desc| {
            end += desc.len();
            row < end
        })
    }

    /// The first row that is shown: the answer under the cursor is seen to its end.
    fn top(&self, area: Rect, descs: &[Vec<String>]) -> usize {
        let end: usize = descs
            .iter()
            .take(self.list.selected + 1)
            .map(Vec::len)
            .sum();
        end.saturating_sub(usize::from(area.height).max(1))
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let places = self.places(screen);
        let inner = draw_box(
            deck,
            places.area,
            buf,
            Line::styled(self.title.clone(), theme.style(ThemeRole::TitleFocus)),
            Line::default(),
        );
        let options = places.options;
        let width = usize::from(inner.width);
        let text = theme.style(ThemeRole::Text);
        let rows = usize::from(options.y.saturating_sub(inner.y));
        let shown = first_lines(&places.body, rows, width);
        for (line, y) in shown.iter().zip(inner.y..) {
            buf.set_stringn(inner.x, y, line, width, text);
        }
        let label = self.label_columns();
        let top = self.top(options, &places.descs);
        let all = places.descs.iter().enumerate().flat_map(|(index, desc)| {
            let lines = desc.iter().enumerate();
            lines.map(move |(part, words)| (index, part, words))
        });
        for ((index, part, words), y) in all.skip(top).zip(options.y..options.bottom()) {
            let is_selected = index == self.list.selected;
            let option = self.options.get(index);
            let cursor = match part {
                0 if is_selected => deck.glyphs.cursor(),
                _ => " ",
            };
            let name = option.map_or("", |option| option.label.as_str());
            let name = if part == 0 { name } else { "" };
            let strong = if is_selected {
                ThemeRole::TextStrong
            } else {
                ThemeRole::Text
            };
            let mut line = vec![Span::styled(cursor, theme.style(ThemeRole::Key)), blank(1)];
            if option.is_some_and(|option| option.desc.is_empty()) {
                line.push(Span::styled(words.clone(), theme.style(strong)));
            } else {
                line.extend([
                    Span::styled(text::pad(name, label), theme.style(strong)),
                    blank(2),
                    Span::styled(words.clone(), theme.style(ThemeRole::TextMuted)),
                ]);
            }
            let line = Line::from(line);
            buf.set_line(inner.x, y, &fit_line(line, width), inner.width);
            if is_selected {
                let bar = Rect {
                    y,
                    height: 1,
                    ..options
                };
                buf.set_style(bar, theme.style(ThemeRole::SelectionFocus));
            }
        }
        let lines: usize = places.descs.iter().map(Vec::len).sum();
        draw_thumb(
            // The last column of the box is its frame.
            Rect {
                x: options.x + 1,
                ..options
            },
            buf,
            deck.glyphs,
            theme.style(ThemeRole::OverlayBorder),
            top,
            usize::from(options.height),
            lines,
        );
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
    }
}
