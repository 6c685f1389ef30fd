//! The pictures of the README: the same scenes as the snapshots, with their colours, as SVG.
//!
//! `CTXRELAY_SHOTS=write` rewrites them in `screenshots/`, with the feature `png` also a PNG of those
//! that are shown to people; `CTXRELAY_SHOTS=all` makes a PNG of each, to be looked at and not to be
//! committed. The test compares the SVG text, never PNG bytes: those differ with the fonts of a machine.

use std::fs;
use std::path::PathBuf;

use ctxrelay_ui::Settings;
use ctxrelay_ui::scenes::{SCENES, Scene, screen};
use ctxrelay_ui::svg::{TerminalColors, cells, svg};
use ctxrelay_ui::theme::BUILTIN;

/// The scene in every theme.
const IN_ALL_THEMES: &str = "pair_at_work";
/// Scenes in the main themes; the others only in the first.
const IN_MAIN_THEMES: [&str; 2] = ["finality_card", "narrow"];
/// Scenes that README or a release shows.
const AS_PNG: [&str; 7] = [
    "pair_at_work",
    "entry_beside",
    "finality_card",
    "task_board",
    "entry_open",
    "empty_first_run",
    "narrow",
];
/// Of these the snapshots say enough.
const WITHOUT: [&str; 19] = [
    "card_entry",
    "entry_names",
    "themes",
    "steps",
    "start",
    "not_installed",
    "message",
    "note",
    "compact",
    "retry",
    "acknowledge",
    "own_words",
    "gates_asked",
    "marks_asked",
    "agents_zoomed",
    "timeline_zoomed",
    "inbox_zoomed",
    "handoffs_zoomed",
    "compacted",
];
const MAIN_THEMES: [&str; 3] = ["default-dark", "default-light", "mono"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../screenshots")
}

fn picture(scene: &Scene, theme: &str) -> String {
    let settings = Settings {
        theme: theme.to_owned(),
        ..Settings::new().expect("keymap")
    };
    let deck = scene.deck_with(settings, scene.size);
    let buffer = screen(&deck, scene.size);
    let terminal = if theme == "default-light" {
        TerminalColors::LIGHT
    } else {
        TerminalColors::DARK
    };
    svg(scene.size.0, scene.size.1, cells(&buffer), terminal)
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str) -> Vec<u8> {
    panic!("the pictures are written; their PNG wants `--features ctxrelay-ui/png`");
}

#[cfg(feature = "png")]
fn png(svg: &str) -> Vec<u8> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    let tree = usvg::Tree::from_str(svg, &options).expect("our own SVG");
    let scale = 1.5;
    let size = tree.size().to_int_size().scale_by(scale).expect("a size");
    let mut map = tiny_skia::Pixmap::new(size.width(), size.height()).expect("a size");
    resvg::render(
        &tree,
        tiny_skia::Transform::from_scale(scale, scale),
        &mut map.as_mut(),
    );
    map.encode_png().expect("memory")
}

#[test]
fn the_pictures_show_the_deck_as_it_is() {
    let wish = std::env::var("CTXRELAY_SHOTS").unwrap_or_default();
    let write = matches!(wish.as_str(), "write" | "all");
    let (mut stale, mut shown) = (Vec::new(), Vec::new());
    for scene in SCENES.iter().filter(|scene| !WITHOUT.contains(&scene.name)) {
        let all: Vec<&str> = BUILTIN.iter().map(|(name, _)| *name).collect();
        let themes = match scene.name {
            IN_ALL_THEMES => &all[..],
            name if IN_MAIN_THEMES.contains(&name) => &MAIN_THEMES[..],
            _ => &MAIN_THEMES[..1],
        };
        for theme in themes {
            let name = format!("{}-{theme}", scene.name);
            let path = folder().join(format!("{name}.svg"));
            let now = picture(scene, theme);
            if write {
                fs::create_dir_all(folder()).expect("screenshots/");
                fs::write(&path, &now).expect("svg");
                let is_shown = AS_PNG.contains(&scene.name) && MAIN_THEMES.contains(theme);
                if wish == "all" || is_shown {
                    shown.push((path.with_extension("png"), now));
                }
            } else if fs::read_to_string(&path).ok().as_deref() != Some(now.as_str()) {
                stale.push(name);
            }
        }
    }
    for (path, picture) in shown {
        fs::write(path, png(&picture)).expect("png");
    }
    assert!(
        stale.is_empty(),
        "not as the deck is now (CTXRELAY_SHOTS=write rewrites them): {stale:?}"
    );
}
