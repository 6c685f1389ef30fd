//! [`is_as_kept`]: compares what a real terminal shows with its picture in `screenshots/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctxrelay_ui::svg::{Cell, CellPaint, TerminalColors, svg};

use super::pty::Pty;
use super::wait::{poll_until, timeout};

/// A screen on which nothing but times has changed for so long is at rest.
const REST: Duration = Duration::from_secs(1);

/// Waits until the screen of a program is as the picture of this name has it, but for what differs
/// each time: times of day, ages, ids and counts. `CTXRELAY_SHOTS=write` draws that picture anew
/// once the screen is at rest.
#[track_caller]
pub fn is_as_kept(pty: &Pty, name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("screenshots/{name}.svg"));
    if std::env::var("CTXRELAY_SHOTS").is_ok_and(|wish| wish == "write" || wish == "all") {
        write_at_rest(pty, &path);
    }
    let kept = words(&std::fs::read_to_string(&path).unwrap());
    let same = poll_until(timeout() / 3, || {
        (words(&picture(pty)) == kept).then_some(())
    });
    if same.is_none() {
        let shown = words(&picture(pty));
        let other = shown
            .iter()
            .zip(&kept)
            .filter(|(shown, kept)| shown != kept);
        let other = other.map(|(shown, kept)| format!("shown {shown:?}\n kept {kept:?}\n"));
        panic!(
            "screenshots/{name}.svg is of another screen, of {} lines and not {}; \
             CTXRELAY_SHOTS=write draws it anew:\n{}",
            kept.len(),
            shown.len(),
            other.collect::<String>()
        );
    }
}

fn write_at_rest(pty: &Pty, path: &Path) {
    poll_until(timeout(), || {
        let before = words(&picture(pty));
        let other = poll_until(REST, || (words(&picture(pty)) != before).then_some(()));
        other.is_none().then_some(())
    });
    std::fs::write(path, picture(pty)).unwrap();
}

/// The screen of a program as SVG.
fn picture(pty: &Pty) -> String {
    pty.with_screen(|screen| {
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let places = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
        let cells = places.filter_map(|(x, y)| Some(cell(x, y, screen.cell(y, x)?)));
        svg(columns, rows, cells, TerminalColors::DARK)
    })
}

/// The lines of a picture, without what is another one each time.
fn words(picture: &str) -> Vec<String> {
    // A place is told in hundredths, and columns are 8.43 wide.
    let mut lines: BTreeMap<u32, BTreeMap<u32, char>> = BTreeMap::new();
    for text in picture.split("<text y=\"").skip(1) {
        let (y, rest) = text.split_once("\" x=\"").unwrap();
        let (places, rest) = rest.split_once('"').unwrap();
        let (_, rest) = rest.split_once('>').unwrap();
        let (text, _) = rest.split_once("</text>").unwrap();
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        let text = text.replace("&amp;", "&");
        let line = lines.entry((y.parse::<f32>().unwrap() * 100.0) as u32);
        let columns = places.split(' ').map(|x| x.parse::<f32>().unwrap() / 8.43);
        let cells = columns.map(|column| column as u32).zip(text.chars());
        line.or_default().extend(cells);
    }
    lines.into_values().map(|line| masked(&line)).collect()
}

/// A date names one.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn masked(line: &BTreeMap<u32, char>) -> String {
    let end = line.keys().next_back().map_or(0, |last| last + 1);
    let text: String = (0..end)
        .map(|column| line.get(&column).copied().unwrap_or(' '))
        // A scroll bar stands on the frame.
        .map(|c| if c == '┃' { '│' } else { c })
        .collect();
    // What is said of a note that was written a minute ago, too.
    let text = text.replace("wrote a note just now", "last note now");
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let word = match word {
            // An age in words, or the unit of a time.
            "now" => "#",
            "ago" if words.last() == Some(&"#") => continue,
            word if MONTHS.contains(&word) => "#",
            "ms" | "s" if words.last() == Some(&"#") => continue,
            word if word.contains(|c: char| c.is_ascii_digit()) => "#",
            // Of hexadecimal digits, which may all be letters.
            word if word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit()) => "#",
            word if word.chars().all(|c| "·▁▂▃▄▅▆▇█".contains(c)) => "~",
            // Where it is cut depends on the age behind it.
            word if word.ends_with('…') => "…",
            word => word,
        };
        if !(word == "#" && words.last() == Some(&"#")) {
            words.push(word);
        }
    }
    words.join(" ")
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
