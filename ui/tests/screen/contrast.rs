//! Every word can be read: the contrast of each role on each ground that it is drawn on, in every
//! theme, with 16, 256 and all colours. Reckoned as WCAG 2 does.

use ctxrelay_ui::scenes::{SCENES, Scene, keys, pair_at_work, scene, screen};
use ctxrelay_ui::theme::{BUILTIN, ThemeRole};
use ctxrelay_ui::{Depth, Settings, Theme};
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style};

use crate::kit::deck_with;

/// For words.
const READABLE: f64 = 4.5;
/// For frames, meters and what an overlay covers.
const VISIBLE: f64 = 1.5;
/// What the theme of that name promises.
const HIGH: f64 = 7.0;

const DEPTHS: [Depth; 3] = [Depth::Ansi16, Depth::Ansi256, Depth::Rgb];

/// Roles that are lines, not words.
const LINES: [ThemeRole; 5] = [
    ThemeRole::Border,
    ThemeRole::BorderFocus,
    ThemeRole::OverlayBorder,
    ThemeRole::MeterEmpty,
    ThemeRole::Covered,
];

/// Roles that are a ground for others, or change what stands there already.
const GROUNDS: [ThemeRole; 5] = [
    ThemeRole::Screen,
    ThemeRole::Header,
    ThemeRole::Overlay,
    ThemeRole::Selection,
    ThemeRole::SelectionFocus,
];

/// Roles that bring a ground of their own.
const BANNERS: [ThemeRole; 3] = [
    ThemeRole::BannerInfo,
    ThemeRole::BannerWarn,
    ThemeRole::BannerError,
];

/// Words that are not meant to catch the eye.
const MUTED: [ThemeRole; 9] = [
    ThemeRole::TextMuted,
    ThemeRole::TextFaint,
    ThemeRole::Heading,
    ThemeRole::Title,
    ThemeRole::AgentSystem,
    ThemeRole::StateIdle,
    ThemeRole::StateOffline,
    ThemeRole::OutcomeUnconfirmed,
    ThemeRole::KeyHint,
];

fn linear(value: u8) -> f64 {
    let value = f64::from(value) / 255.0;
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

fn luminance([r, g, b]: [u8; 3]) -> f64 {
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// xterm's own values.
fn rgb(color: Color) -> Option<[u8; 3]> {
    Some(match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => [r, g, b],
        Color::Indexed(index @ 16..232) => {
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6]
                .map(|step| if step == 0 { 0 } else { 55 + 40 * step })
        }
        Color::Indexed(index) => [8 + 10 * (index - 232); 3],
        Color::Black => [0, 0, 0],
        Color::Red => [205, 0, 0],
        Color::Green => [0, 205, 0],
        Color::Yellow => [205, 205, 0],
        Color::Blue => [0, 0, 238],
        Color::Magenta => [205, 0, 205],
        Color::Cyan => [0, 205, 205],
        Color::Gray => [229, 229, 229],
        Color::DarkGray => [127, 127, 127],
        Color::LightRed => [255, 0, 0],
        Color::LightGreen => [0, 255, 0],
        Color::LightYellow => [255, 255, 0],
        Color::LightBlue => [92, 92, 255],
        Color::LightMagenta => [255, 0, 255],
        Color::LightCyan => [0, 255, 255],
        Color::White => [255, 255, 255],
    })
}

/// A terminal of the kind that the theme is for: its own foreground and background.
#[derive(Clone, Copy)]
struct Terminal {
    fg: [u8; 3],
    bg: [u8; 3],
}

impl Terminal {
    fn of(theme: &str) -> Self {
        let all = Theme::builtin(theme, Depth::Rgb).expect("a theme");
        let ground = all.style(ThemeRole::Screen).bg.and_then(rgb);
        if ground.is_some_and(|ground| luminance(ground) > 0.5) {
            Self {
                fg: [0; 3],
                bg: [255; 3],
            }
        } else {
            Self {
                fg: [229; 3],
                bg: [0; 3],
            }
        }
    }

    /// How far what is drawn in this style stands out.
    fn contrast(self, style: Style) -> f64 {
        let fg = style.fg.and_then(rgb).unwrap_or(self.fg);
        let bg = style.bg.and_then(rgb).unwrap_or(self.bg);
        // Reversed or not, it is the same.
        contrast(fg, bg)
    }
}

fn each_theme(mut check: impl FnMut(&str, Depth, &Theme, Terminal)) {
    for (name, _) in BUILTIN {
        for depth in DEPTHS {
            let theme = Theme::builtin(name, depth).expect("a theme");
            check(name, depth, &theme, Terminal::of(name));
        }
    }
}

#[test]
fn every_role_can_be_read_on_every_ground() {
    let mut wrong = Vec::new();
    each_theme(|name, depth, theme, terminal| {
        let is_high = name == "high-contrast" && depth != Depth::Ansi16;
        let readable = if is_high { HIGH } else { READABLE };
        for ground in GROUNDS {
            let below = theme.style(ThemeRole::Screen).patch(theme.style(ground));
            for role in ThemeRole::ALL {
                if GROUNDS.contains(&role) && role != ground {
                    continue;
                }
                // A frame stands on the screen, or on the overlay that it goes round.
                let is_frame = matches!(role, ThemeRole::Border | ThemeRole::BorderFocus);
                if is_frame && ground != ThemeRole::Screen {
                    continue;
                }
                let least = if LINES.contains(&role) {
                    VISIBLE
                } else {
                    readable
                };
                let mut style = below.patch(theme.style(role));
                if !BANNERS.contains(&role) {
                    style.bg = below.bg;
                }
                let found = terminal.contrast(style);
                if found < least {
                    wrong.push(format!(
                        "{name} {depth:?}: {} on {} {found:.2}",
                        role.name(),
                        ground.name()
                    ));
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_selection_can_be_seen() {
    each_theme(|name, depth, theme, terminal| {
        let screen = theme.style(ThemeRole::Screen);
        let selected = theme.style(ThemeRole::SelectionFocus);
        let ground = |style: Style| style.bg.and_then(rgb).unwrap_or(terminal.bg);
        let stands_out = contrast(ground(screen), ground(screen.patch(selected))) > 1.1;
        let is_reversed = selected.add_modifier.contains(Modifier::REVERSED);
        assert!(stands_out || is_reversed, "{name} {depth:?}");
    });
}

#[test]
fn the_entry_that_a_card_is_about_is_a_block_of_its_own_under_the_cursor() {
    const SIZE: (u16, u16) = (120, 40);
    each_theme(|name, depth, _, terminal| {
        let settings = Settings {
            theme: name.to_owned(),
            depth,
            ..Settings::new().expect("keymap")
        };
        let mut deck = deck_with(settings, pair_at_work(), SIZE);
        keys(&mut deck, "3<enter><tab>");
        let buffer = screen(&deck, SIZE);
        let columns = usize::from(SIZE.0);
        let words: Vec<&str> = "▸ e n t r y".split(' ').collect();
        let place = (buffer.content.windows(words.len()))
            .position(|cells| cells.iter().map(Cell::symbol).eq(words.iter().copied()))
            .unwrap_or_else(|| panic!("{name}: no cursor"));
        assert!(place / columns < 10, "above what else the card names");
        for cell in &buffer.content[place..place + words.len()] {
            let style = cell.style();
            let is_block = style.add_modifier.contains(Modifier::REVERSED);
            let found = terminal.contrast(style);
            assert!(is_block && found >= READABLE, "{name} {depth:?}: {style:?}");
        }
    });
}

/// Degrees round the colour circle; `None` for what is all but grey.
fn hue([r, g, b]: [u8; 3]) -> Option<f64> {
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let chroma = f64::from(max - min);
    if max - min < 24 {
        return None;
    }
    let turn = |a: u8, b: u8| (f64::from(a) - f64::from(b)) / chroma;
    let sixth = if max == r {
        turn(g, b).rem_euclid(6.0)
    } else if max == g {
        turn(b, r) + 2.0
    } else {
        turn(r, g) + 4.0
    };
    Some(sixth * 60.0)
}

#[test]
fn muted_words_do_not_take_the_hue_of_what_waits() {
    for (name, _) in BUILTIN.iter().filter(|(name, _)| *name != "mono") {
        let theme = Theme::builtin(name, Depth::Ansi256).expect("a theme");
        let hue_of = |role| theme.style(role).fg.and_then(rgb).and_then(hue);
        let waits = hue_of(ThemeRole::Wait);
        let waits = waits.unwrap_or_else(|| panic!("{name}: what waits has no hue"));
        for role in MUTED {
            let Some(own) = hue_of(role) else { continue };
            let apart = (own - waits).abs();
            let apart = apart.min(360.0 - apart);
            assert!(
                apart > 40.0,
                "{name}: {} is {apart:.0} degrees away",
                role.name()
            );
        }
    }
}

/// Lines, blocks and bars: what they mean is also said in words.
fn is_line(symbol: &str) -> bool {
    symbol.chars().all(|c| matches!(c, '\u{2500}'..='\u{259f}'))
}

/// Looks at what is drawn, so that no role can be on a ground that nobody thought of.
fn assert_readable(scene: &Scene, name: &str, depth: Depth) {
    let settings = Settings {
        theme: name.to_owned(),
        depth,
        ..Settings::new().expect("keymap")
    };
    let deck = scene.deck_with(settings, scene.size);
    let theme = Theme::builtin(name, depth).expect("a theme");
    let covered = theme.style(ThemeRole::Covered).fg;
    let terminal = Terminal::of(name);
    let buffer = screen(&deck, scene.size);
    let is_wrong = |cell: &Cell| {
        let symbol = cell.symbol();
        let may_be_low = is_line(symbol) || Some(cell.fg) == covered;
        let least = if may_be_low { VISIBLE } else { READABLE };
        !symbol.trim().is_empty() && terminal.contrast(cell.style()) < least
    };
    let columns = usize::from(scene.size.0);
    let found = buffer.content.iter().position(is_wrong);
    if let Some(at) = found {
        let row: String = buffer.content[at / columns * columns..][..columns]
            .iter()
            .map(Cell::symbol)
            .collect();
        let cell = &buffer.content[at];
        panic!(
            "{}, {name} {depth:?}: {:?} at column {} has {:.2} of\n{row}",
            scene.name,
            cell.symbol(),
            at % columns,
            terminal.contrast(cell.style())
        );
    }
}

#[test]
fn every_word_of_every_scene_can_be_read() {
    for scene in SCENES {
        for depth in DEPTHS {
            assert_readable(scene, "default-dark", depth);
        }
    }
}

#[test]
fn the_main_scenes_can_be_read_in_every_theme() {
    for name in ["pair_at_work", "finality_card", "trouble"] {
        let scene = scene(name).expect("a scene");
        for (theme, _) in BUILTIN {
            for depth in DEPTHS {
                assert_readable(scene, theme, depth);
            }
        }
    }
}
