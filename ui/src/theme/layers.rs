//! [`ThemeLayers`]: a theme with those that it inherits, nearest first, and their common palette.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier};

use super::builtin::builtin;
use super::file::{RoleStyle, ThemeFile, Word};
use crate::source_error::{SourceError, SourcePlace};

/// How many themes may inherit from one another. Ours are three deep.
const INHERIT_MAX: usize = 8;

/// A colour of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// The terminal's own.
    Own,
    Rgb {
        rgb: [u8; 3],
        /// The theme's choice among the fixed 256.
        indexed: Option<u8>,
        /// The theme's choice in 16 colours (`Color::Reset` for the terminal's own).
        ansi: Option<Color>,
    },
}

/// A style with its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PaintedStyle {
    pub(super) fg: Option<Paint>,
    pub(super) bg: Option<Paint>,
    pub(super) mods: Modifier,
}

/// A theme with all that it inherits.
#[derive(Debug)]
pub(super) struct ThemeLayers {
    /// Nearest first.
    files: Vec<ThemeFile>,
    roles: BTreeMap<String, PaintedStyle>,
}

impl ThemeLayers {
    /// Reads a theme and those that it inherits; `find` gives the text of one by its name.
    pub(super) fn read(
        name: &str,
        text: &str,
        find: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SourceError> {
        let mut files = vec![ThemeFile::parse(text)?];
        let mut names = vec![name.to_owned()];
        // Where the theme itself says from which other one it begins: mistakes in those are told
        // there, because that is the file that its author can change.
        let mut begun = SourcePlace::START;
        while let Some(parent) = files.last().and_then(|file| file.inherits.clone()) {
            if files.len() == 1 {
                begun = parent.place;
            }
            let parent = parent.text;
            if names.contains(&parent) || names.len() >= INHERIT_MAX {
                let what = format!("'{parent}' is inherited in a circle");
                return Err(begun.error(what));
            }
            let text = find(&parent).or_else(|| builtin(&parent).map(str::to_owned));
            let Some(text) = text else {
                return Err(begun.error(format!("inherits '{parent}', which does not exist")));
            };
            let file = ThemeFile::parse(&text).map_err(|error| behind(begun, &parent, &error))?;
            files.push(file);
            names.push(parent);
        }
        match palette(&files).and_then(|palette| roles(&files, &palette)) {
            Ok(roles) => Ok(Self { files, roles }),
            Err((0, error)) => Err(error),
            Err((layer, error)) => Err(behind(begun, &names[layer], &error)),
        }
    }

    /// What it says of itself.
    pub(super) fn about(&self) -> Option<&str> {
        self.files.first()?.about.as_deref()
    }

    /// The nearest style: the role itself, then the same one dot shorter, then `text`.
    pub(super) fn style(&self, role: &str) -> Option<PaintedStyle> {
        let mut name = role;
        loop {
            if let Some(style) = self.roles.get(name) {
                return Some(*style);
            }
            name = match name.rsplit_once('.') {
                Some((shorter, _)) => shorter,
                None if name == "text" || name == "screen" => return None,
                None => "text",
            };
        }
    }
}

fn behind(begun: SourcePlace, parent: &str, error: &SourceError) -> SourceError {
    begun.error(format!("inherits '{parent}', where {error}"))
}

/// The colours of all layers, the nearest wins; a mistake with the layer that it is in.
fn palette(files: &[ThemeFile]) -> Result<BTreeMap<String, Paint>, (usize, SourceError)> {
    let mut palette: BTreeMap<String, Paint> = BTreeMap::new();
    for (layer, file) in files.iter().enumerate().rev() {
        for (name, rgb) in &file.palette {
            // Its place among the 256 was chosen for another colour.
            let ansi = match palette.get(name) {
                Some(Paint::Rgb { ansi, .. }) => *ansi,
                _ => None,
            };
            let paint = Paint::Rgb {
                rgb: *rgb,
                indexed: None,
                ansi,
            };
            palette.insert(name.clone(), paint);
        }
        for (name, index) in &file.indexed {
            match palette.get_mut(&name.text) {
                Some(Paint::Rgb { indexed, .. }) => *indexed = Some(*index),
                _ => return Err((layer, unknown(name))),
            }
        }
        for (name, color) in &file.ansi {
            match palette.get_mut(&name.text) {
                Some(Paint::Rgb { ansi, .. }) => *ansi = Some(*color),
                _ => return Err((layer, unknown(name))),
            }
        }
    }
    Ok(palette)
}

fn unknown(name: &Word) -> SourceError {
    name.place
        .error(format!("'{}' is not in [palette]", name.text))
}

fn roles(
    files: &[ThemeFile],
    palette: &BTreeMap<String, Paint>,
) -> Result<BTreeMap<String, PaintedStyle>, (usize, SourceError)> {
    let paint = |layer: usize, word: &Option<Word>| match word {
        None => Ok(None),
        Some(word) if word.text == "none" => Ok(Some(Paint::Own)),
        Some(word) => match palette.get(&word.text) {
            Some(paint) => Ok(Some(*paint)),
            None => Err((layer, unknown(word))),
        },
    };
    let mut roles = BTreeMap::new();
    for (layer, file) in files.iter().enumerate().rev() {
        for (name, RoleStyle { fg, bg, mods }) in &file.roles {
            let style = PaintedStyle {
                fg: paint(layer, fg)?,
                bg: paint(layer, bg)?,
                mods: *mods,
            };
            roles.insert(name.clone(), style);
        }
    }
    Ok(roles)
}
