//! Cells to SVG: [`svg`] takes any iterator of [`Cell`]s, so that the deck's buffer and a real
//! terminal's screen (a `vt100` parser behind a PTY) give the same picture.
//!
//! Each run of cells of one style is one `<text>` with an `x` for every cell, so that columns
//! cannot drift in any font.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

/// Font size, px.
const FONT: f32 = 14.0;
/// Width of a cell: DejaVu Sans Mono is 0.602 of its size wide.
const CELL_WIDTH: f32 = 8.43;
/// Height of a cell: that font's own line height, else frames break into dashes.
const CELL_HEIGHT: f32 = 16.3;
/// From the top of a cell to its baseline.
const BASELINE: f32 = 12.8;
/// Room around the screen.
const MARGIN: f32 = 10.0;

/// A colour of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CellPaint {
    /// The terminal's own.
    #[default]
    Default,
    /// One of the terminal's 256.
    Indexed(u8),
    /// Exactly this.
    Rgb(u8, u8, u8),
}

/// One cell of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// Column, from 0.
    pub x: u16,
    /// Row, from 0.
    pub y: u16,
    /// What stands in it; empty for the second half of a wide one.
    pub text: String,
    /// Foreground.
    pub fg: CellPaint,
    /// Background.
    pub bg: CellPaint,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underlined: bool,
    /// Foreground and background swapped.
    pub reversed: bool,
}

/// What a terminal looks like where the screen says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalColors {
    /// Its foreground.
    pub fg: [u8; 3],
    /// Its background.
    pub bg: [u8; 3],
}

impl TerminalColors {
    /// A dark terminal.
    pub const DARK: Self = Self {
        fg: [204, 204, 204],
        bg: [18, 18, 18],
    };
    /// A light terminal.
    pub const LIGHT: Self = Self {
        fg: [40, 40, 40],
        bg: [255, 255, 255],
    };
}

pub fn cells(buf: &Buffer) -> Vec<Cell> {
    let mut out = Vec::with_capacity(buf.content.len());
    for y in 0..buf.area.height {
        for x in 0..buf.area.width {
            let own = &buf[(buf.area.x + x, buf.area.y + y)];
            // The second half of a wide cell is never drawn by a terminal; it looks like the first.
            let left = x
                .checked_sub(1)
                .map(|x| &buf[(buf.area.x + x, buf.area.y + y)]);
            let hidden = left.filter(|left| left.symbol().width() > 1);
            let cell = hidden.unwrap_or(own);
            let has = |modifier| cell.modifier.contains(modifier);
            out.push(Cell {
                x,
                y,
                text: if hidden.is_some() {
                    String::new()
                } else {
                    cell.symbol().to_owned()
                },
                fg: paint(cell.fg),
                bg: paint(cell.bg),
                bold: has(Modifier::BOLD),
                dim: has(Modifier::DIM),
                italic: has(Modifier::ITALIC),
                underlined: has(Modifier::UNDERLINED),
                reversed: has(Modifier::REVERSED),
            });
        }
    }
    out
}

fn paint(color: Color) -> CellPaint {
    let index = match color {
        Color::Reset => return CellPaint::Default,
        Color::Rgb(r, g, b) => return CellPaint::Rgb(r, g, b),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    CellPaint::Indexed(index)
}

/// The picture of a screen of `columns` by `rows`. Cells may come in any order; cells that are
/// missing are blank.
pub fn svg(
    columns: u16,
    rows: u16,
    cells: impl IntoIterator<Item = Cell>,
    terminal: TerminalColors,
) -> String {
    let width = f32::from(columns) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL_HEIGHT + 2.0 * MARGIN;
    let mut cells: Vec<Cell> = cells.into_iter().collect();
    cells.sort_by_key(|cell| (cell.y, cell.x));
    let screen = most_common_background(&cells, terminal);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"{FONT}\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        hex(screen)
    );
    let mut rest = cells.as_slice();
    while let Some(first) = rest.first() {
        let run = rest
            .iter()
            .enumerate()
            .take_while(|(index, cell)| {
                same_style(first, cell)
                    && cell.y == first.y
                    && usize::from(cell.x) == usize::from(first.x) + index
            })
            .count();
        draw_run(&mut out, &rest[..run], terminal, screen);
        rest = &rest[run..];
    }
    out.push_str("</svg>\n");
    out
}

fn same_style(a: &Cell, b: &Cell) -> bool {
    (
        a.fg,
        a.bg,
        a.bold,
        a.dim,
        a.italic,
        a.underlined,
        a.reversed,
    ) == (
        b.fg,
        b.bg,
        b.bold,
        b.dim,
        b.italic,
        b.underlined,
        b.reversed,
    )
}

/// The picture's own ground: the background of the most cells.
fn most_common_background(cells: &[Cell], terminal: TerminalColors) -> [u8; 3] {
    let mut counts: Vec<([u8; 3], usize)> = Vec::new();
    for cell in cells {
        let bg = rgb(cell.bg, terminal.bg);
        match counts.iter_mut().find(|(known, _)| *known == bg) {
            Some((_, count)) => *count += 1,
            None => counts.push((bg, 1)),
        }
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map_or(terminal.bg, |(bg, _)| bg)
}

fn draw_run(out: &mut String, run: &[Cell], terminal: TerminalColors, screen: [u8; 3]) {
    let cell = &run[0];
    let (mut fg, mut bg) = (rgb(cell.fg, terminal.fg), rgb(cell.bg, terminal.bg));
    if cell.reversed {
        std::mem::swap(&mut fg, &mut bg);
    }
    if cell.dim {
        fg = [0, 1, 2].map(|i| ((u16::from(fg[i]) + u16::from(bg[i])) / 2) as u8);
    }
    let left = MARGIN + f32::from(cell.x) * CELL_WIDTH;
    let top = MARGIN + f32::from(cell.y) * CELL_HEIGHT;
    if bg != screen {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{CELL_HEIGHT:.2}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>",
            run.len() as f32 * CELL_WIDTH,
            hex(bg)
        );
    }
    let mut xs = String::new();
    let mut text = String::new();
    // Blanks between words are kept, as ones that no renderer folds.
    let is_blank = |cell: &Cell| cell.text.trim().is_empty();
    let first = run.iter().position(|cell| !is_blank(cell)).unwrap_or(0);
    let last = run.iter().rposition(|cell| !is_blank(cell));
    let words = last.map_or(&run[..0], |last| &run[first..=last]);
    for cell in words.iter().filter(|cell| !cell.text.is_empty()) {
        let left = MARGIN + f32::from(cell.x) * CELL_WIDTH;
        // One position for each character; the marks of a cluster stay on their base.
        for _ in cell.text.chars() {
            let _ = write!(xs, "{}{left:.2}", if xs.is_empty() { "" } else { " " });
        }
        debug_assert!(cell.text.width() <= 2);
        for c in cell.text.chars() {
            match c {
                '<' => text.push_str("&lt;"),
                '>' => text.push_str("&gt;"),
                '&' => text.push_str("&amp;"),
                ' ' => text.push('\u{a0}'),
                c if c.is_control() => text.push('\u{fffd}'),
                c => text.push(c),
            }
        }
    }
    if text.is_empty() {
        return;
    }
    let bold = if cell.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let italic = if cell.italic {
        " font-style=\"italic\""
    } else {
        ""
    };
    let underlined = if cell.underlined {
        " text-decoration=\"underline\""
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "<text y=\"{:.2}\" x=\"{xs}\" fill=\"{}\"{bold}{italic}{underlined}>{text}</text>",
        top + BASELINE,
        hex(fg)
    );
}

fn hex(rgb: [u8; 3]) -> String {
    format!("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2])
}

fn rgb(paint: CellPaint, own: [u8; 3]) -> [u8; 3] {
    const SIXTEEN: [[u8; 3]; 16] = [
        [46, 52, 64],
        [205, 80, 84],
        [110, 165, 90],
        [200, 160, 70],
        [90, 135, 200],
        [165, 115, 190],
        [80, 165, 175],
        [200, 204, 210],
        [110, 118, 130],
        [235, 130, 110],
        [150, 200, 125],
        [225, 195, 110],
        [130, 170, 230],
        [195, 155, 235],
        [125, 200, 215],
        [240, 243, 247],
    ];
    match paint {
        CellPaint::Default => own,
        CellPaint::Rgb(r, g, b) => [r, g, b],
        CellPaint::Indexed(index @ 0..16) => SIXTEEN[usize::from(index)],
        CellPaint::Indexed(index @ 16..232) => {
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6]
                .map(|step| if step == 0 { 0 } else { 55 + 40 * step })
        }
        CellPaint::Indexed(index) => [8 + 10 * (index - 232); 3],
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, CellPaint, TerminalColors, svg};

    #[test]
    fn markup_in_a_cell_stays_text() {
        let cell = |x, text: &str| Cell {
            x,
            text: text.to_owned(),
            ..Cell::default()
        };
        let picture = svg(
            4,
            1,
            [cell(0, "<"), cell(1, "&"), cell(2, "\u{1b}"), cell(3, "x")],
            TerminalColors::DARK,
        );
        assert!(picture.contains(">&lt;&amp;\u{fffd}x</text>"), "{picture}");
    }

    #[test]
    fn blanks_between_words_are_kept_and_those_around_them_left_out() {
        let cell = |x, text: &str| Cell {
            x,
            text: text.to_owned(),
            ..Cell::default()
        };
        let row = [" ", "a", " ", "漢", "", "b", " "];
        let cells = row.iter().enumerate();
        let cells = cells.map(|(x, text)| cell(x as u16, text));
        let picture = svg(7, 1, cells, TerminalColors::DARK);
        assert!(picture.contains(">a\u{a0}漢b</text>"), "{picture}");
        let places = picture
            .split(" x=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        assert_eq!(places.map(|xs| xs.split(' ').count()), Some(4));
    }

    #[test]
    fn reversed_swaps_and_the_ground_is_drawn_once() {
        let cell = |x, reversed| Cell {
            x,
            text: "a".to_owned(),
            fg: CellPaint::Rgb(1, 2, 3),
            reversed,
            ..Cell::default()
        };
        let picture = svg(
            3,
            1,
            [cell(0, false), cell(1, false), cell(2, true)],
            TerminalColors::DARK,
        );
        assert_eq!(picture.matches("<rect").count(), 2);
        assert!(picture.contains("fill=\"#010203\" shape-rendering"));
    }
}
