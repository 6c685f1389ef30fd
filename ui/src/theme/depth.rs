//! [`Depth`]: what the terminal can show, and the one function that reduces a colour to it.

use ratatui::style::Color;

/// How many colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// None: bold, reverse and dim carry what they can.
    None,
    /// The sixteen of the terminal's own palette.
    Ansi16,
    /// The fixed 256.
    Ansi256,
    /// All.
    #[default]
    Rgb,
}

impl Depth {
    /// From the environment, read by the caller: `NO_COLOR` (not empty), `COLORTERM`, `TERM`.
    pub fn detect(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) {
            return Self::None;
        }
        let term = term.unwrap_or_default();
        match colorterm.unwrap_or_default() {
            "truecolor" | "24bit" => Self::Rgb,
            _ if term.is_empty() || term == "dumb" => Self::None,
            _ if term.contains("direct") => Self::Rgb,
            _ if term.contains("256color") => Self::Ansi256,
            _ => Self::Ansi16,
        }
    }

    /// The colour as this depth can show it; `None` is the terminal's own. `indexed` and `ansi`
    /// are the theme's choices for 256 and 16 colours, taken instead of the nearest one.
    pub fn reduce(self, rgb: [u8; 3], indexed: Option<u8>, ansi: Option<Color>) -> Option<Color> {
        match self {
            Self::None => None,
            Self::Ansi16 => Some(ansi.unwrap_or_else(|| nearest16(rgb))),
            Self::Ansi256 => Some(Color::Indexed(indexed.unwrap_or_else(|| nearest256(rgb)))),
            Self::Rgb => Some(Color::Rgb(rgb[0], rgb[1], rgb[2])),
        }
    }
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
        .sum()
}

/// The six steps of the 256-colour cube.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Less between the strongest and the weakest of the three is taken for a grey.
const CHROMA_MIN: u8 = 48;
/// Darker than this the cube has nothing but black and pure hues.
const CUBE_DARKEST: u8 = 75;

/// A muted or dark colour goes to the ramp of greys: the cube's steps are so far apart that the
/// nearest one has a hue which the colour has not.
fn nearest256(rgb: [u8; 3]) -> u8 {
    let [r, g, b] = rgb;
    let (strongest, weakest) = (r.max(g).max(b), r.min(g).min(b));
    if strongest - weakest < CHROMA_MIN || strongest < CUBE_DARKEST {
        let light = 2126 * u32::from(r) + 7152 * u32::from(g) + 722 * u32::from(b);
        let light = u8::try_from(light / 10_000).unwrap_or(u8::MAX);
        let ramp = (0..24).map(|index| (232 + index, 8 + 10 * index));
        return [(16, 0)]
            .into_iter()
            .chain(ramp)
            .chain([(231, 255)])
            .min_by_key(|(_, grey)| light.abs_diff(*grey))
            .map_or(16, |(index, _)| index);
    }
    let step = |v: u8| {
        let steps = STEPS.iter().enumerate();
        let nearest = steps.min_by_key(|(_, s)| s.abs_diff(v));
        nearest.map_or(0, |(index, _)| index as u8)
    };
    16 + 36 * step(r) + 6 * step(g) + step(b)
}

/// The sixteen names a theme's `[ansi]` table may use, with xterm's values for the nearest match.
pub(super) const ANSI: [(&str, Color, [u8; 3]); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 0, 0]),
    ("green", Color::Green, [0, 205, 0]),
    ("yellow", Color::Yellow, [205, 205, 0]),
    ("blue", Color::Blue, [0, 0, 238]),
    ("magenta", Color::Magenta, [205, 0, 205]),
    ("cyan", Color::Cyan, [0, 205, 205]),
    ("white", Color::Gray, [229, 229, 229]),
    ("bright-black", Color::DarkGray, [127, 127, 127]),
    ("bright-red", Color::LightRed, [255, 0, 0]),
    ("bright-green", Color::LightGreen, [0, 255, 0]),
    ("bright-yellow", Color::LightYellow, [255, 255, 0]),
    ("bright-blue", Color::LightBlue, [92, 92, 255]),
    ("bright-magenta", Color::LightMagenta, [255, 0, 255]),
    ("bright-cyan", Color::LightCyan, [0, 255, 255]),
    ("bright-white", Color::White, [255, 255, 255]),
];

fn nearest16(rgb: [u8; 3]) -> Color {
    ANSI.iter()
        .min_by_key(|(_, _, own)| distance(*own, rgb))
        .map_or(Color::Reset, |(_, color, _)| *color)
}

#[cfg(test)]
mod tests {
    use super::{Depth, nearest256};

    #[test]
    fn no_color_wins_over_everything() {
        assert_eq!(
            Depth::detect(Some("1"), Some("truecolor"), Some("xterm-256color")),
            Depth::None
        );
        assert_eq!(Depth::detect(Some(""), Some("truecolor"), None), Depth::Rgb);
        assert_eq!(Depth::detect(None, None, Some("dumb")), Depth::None);
        assert_eq!(
            Depth::detect(None, None, Some("screen-256color")),
            Depth::Ansi256
        );
        assert_eq!(Depth::detect(None, None, Some("linux")), Depth::Ansi16);
    }

    #[test]
    fn colours_come_down_to_the_nearest() {
        assert_eq!(nearest256([255, 0, 0]), 196);
        assert_eq!(nearest256([255, 255, 255]), 231);
        assert_eq!(nearest256([0, 0, 0]), 16);
        assert_eq!(nearest256([28, 28, 28]), 234);
        // A bluish grey stays a grey.
        assert_eq!(nearest256([0x87, 0x91, 0xa1]), 246);
        assert_eq!(Depth::None.reduce([1, 2, 3], None, None), None);
    }
}
