//! [`ThemeFile`]: a theme's text, read and checked.
//!
//! ```toml
//! about = "warm and low"             # optional: beside its name where it is chosen
//! inherits = "default-dark"          # optional: its colours and roles, as far as not named here
//! [palette]
//! claude = "#e28d6d"
//! [indexed]                          # optional: what a colour is among the fixed 256
//! claude = 173
//! [ansi]                             # optional: what it is in 16 colours
//! claude = "bright-red"              # `none` is the terminal's own colour
//! [roles]
//! "agent.claude" = { fg = "claude", mods = ["bold"] }
//! ```

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier};
use serde::Deserialize;
use toml::Spanned;

use super::depth::ANSI;
use super::role::ThemeRole;
use crate::source_error::{SourceError, SourcePlace};

/// Longest text beside a theme's name, characters.
const ABOUT_MAX: usize = 60;

/// A word of the file and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) place: SourcePlace,
}

impl Word {
    fn new(text: &str, word: &Spanned<String>) -> Self {
        Self {
            text: word.get_ref().clone(),
            place: SourcePlace::of(text, &word.span()),
        }
    }
}

/// A style as written: names of the palette, not colours yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoleStyle {
    pub(super) fg: Option<Word>,
    pub(super) bg: Option<Word>,
    pub(super) mods: Modifier,
}

/// One theme as it is written: every role exists, every colour is one. Whether the names of the
/// palette exist is known once the themes are there that it inherits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeFile {
    /// What it says of itself.
    pub about: Option<String>,
    pub(super) inherits: Option<Word>,
    pub(super) palette: BTreeMap<String, [u8; 3]>,
    pub(super) indexed: Vec<(Word, u8)>,
    pub(super) ansi: Vec<(Word, Color)>,
    pub(super) roles: BTreeMap<String, RoleStyle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    about: Option<String>,
    inherits: Option<Spanned<String>>,
    #[serde(default)]
    palette: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    indexed: BTreeMap<Spanned<String>, Spanned<u8>>,
    #[serde(default)]
    ansi: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    roles: BTreeMap<Spanned<String>, RawStyle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStyle {
    fg: Option<Spanned<String>>,
    bg: Option<Spanned<String>>,
    #[serde(default)]
    mods: Vec<Spanned<String>>,
}

impl ThemeFile {
    /// Reads and checks a theme.
    ///
    /// # Errors
    /// The first mistake with its place: TOML that does not parse, a role or modifier that does
    /// not exist, a colour that is not `#rrggbb`, an index below 16.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let raw: Raw =
            toml::from_str(text).map_err(|error| SourceError::from_toml(text, &error))?;
        let mut palette = BTreeMap::new();
        for (name, value) in &raw.palette {
            let what = format!("'{}' is no colour of the form #rrggbb", value.get_ref());
            let rgb =
                hex(value.get_ref()).ok_or_else(|| SourceError::at(text, &value.span(), what))?;
            palette.insert(name.clone(), rgb);
        }
        let mut indexed = Vec::new();
        for (name, value) in &raw.indexed {
            if *value.get_ref() < 16 {
                let what = "the first 16 are the terminal's own: 16 to 255, or [ansi]";
                return Err(SourceError::at(text, &value.span(), what));
            }
            indexed.push((Word::new(text, name), *value.get_ref()));
        }
        let mut ansi = Vec::new();
        for (name, value) in &raw.ansi {
            let what = format!("'{}' is none of the 16 colours", value.get_ref());
            let color = ansi16(value.get_ref())
                .ok_or_else(|| SourceError::at(text, &value.span(), what))?;
            ansi.push((Word::new(text, name), color));
        }
        let mut roles = BTreeMap::new();
        for (name, style) in &raw.roles {
            let known = name.get_ref();
            if !ThemeRole::is_known(known) {
                let closest = ThemeRole::closest(known);
                let what = format!("no role '{known}'; did you mean '{closest}'?");
                return Err(SourceError::at(text, &name.span(), what));
            }
            roles.insert(known.clone(), style.checked(text)?);
        }
        Ok(Self {
            about: raw.about.map(|about| {
                let about = crate::sanitize::line(&about);
                crate::text::fit(&about, ABOUT_MAX)
            }),
            inherits: raw.inherits.as_ref().map(|name| Word::new(text, name)),
            palette,
            indexed,
            ansi,
            roles,
        })
    }
}

impl RawStyle {
    fn checked(&self, text: &str) -> Result<RoleStyle, SourceError> {
        let mut mods = Modifier::empty();
        for word in &self.mods {
            mods |= modifier(word.get_ref()).ok_or_else(|| {
                let what = format!(
                    "no modifier '{}'; there are bold, dim, italic, underlined, reversed",
                    word.get_ref()
                );
                SourceError::at(text, &word.span(), what)
            })?;
        }
        Ok(RoleStyle {
            fg: self.fg.as_ref().map(|name| Word::new(text, name)),
            bg: self.bg.as_ref().map(|name| Word::new(text, name)),
            mods,
        })
    }
}

fn hex(text: &str) -> Option<[u8; 3]> {
    let digits = text
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([byte(0)?, byte(2)?, byte(4)?])
}

fn ansi16(name: &str) -> Option<Color> {
    if name == "none" {
        return Some(Color::Reset);
    }
    ANSI.iter()
        .find(|(known, _, _)| *known == name)
        .map(|(_, color, _)| *color)
}

fn modifier(name: &str) -> Option<Modifier> {
    Some(match name {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underlined" => Modifier::UNDERLINED,
        "reversed" => Modifier::REVERSED,
        _ => return None,
    })
}
