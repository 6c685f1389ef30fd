//! [`picture`]: what a real terminal shows, as SVG.

use std::path::Path;

use ctxrelay_ui::svg::{Cell, CellPaint, TerminalColors, svg};

use super::pty::Pty;

/// The screen of a program as a picture. It is kept in `screenshots/` under this name when
/// `CTXRELAY_SHOTS` asks for pictures; times of day make every one different, so that none is
/// compared.
pub fn picture(pty: &Pty, name: &str) -> String {
    let picture = pty.with_screen(|screen| {
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let places = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
        let cells = places.filter_map(|(x, y)| Some(cell(x, y, screen.cell(y, x)?)));
        svg(columns, rows, cells, TerminalColors::DARK)
    });
    if std::env::var("CTXRELAY_SHOTS").is_ok_and(|wish| wish == "write" || wish == "all") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
        std::fs::write(folder.join(format!("{name}.svg")), &picture).unwrap();
    }
    picture
}

fn cell(x: u16, y: u16, cell: &vt100::Cell) -> Cell {
    Cell {
        x,
        y,
        text: cell.contents().to_owned(),
        fg: paint(cell.fgcolor()),
        bg: paint(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underlined: cell.underline(),
        reversed: cell.inverse(),
    }
}

fn paint(color: vt100::Color) -> CellPaint {
    match color {
        vt100::Color::Default => CellPaint::Default,
        vt100::Color::Idx(index) => CellPaint::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => CellPaint::Rgb(red, green, blue),
    }
}
