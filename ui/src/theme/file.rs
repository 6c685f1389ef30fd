//! [`ThemeFile`]: a theme's text, read and checked.
//!
//! ```toml
//! inherits = "default-dark"          # optional
//! [palette]
//! clay = "#e28d6d"
//! [ansi]                             # optional: what a palette name is in 16 colours
//! clay = "bright-red"                # `none` is the terminal's own colour
//! [roles]
//! "agent.claude" = { fg = "clay", mods = ["bold"] }
//! ```

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier};
use serde::Deserialize;
use toml::Spanned;

use super::depth::ANSI;
use super::role::ThemeRole;
use crate::source_error::SourceError;

/// A style as written: names of the palette, not colours yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RoleStyle {
    pub(super) fg: Option<Paint>,
    pub(super) bg: Option<Paint>,
    pub(super) mods: Modifier,
}

/// A colour of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// The terminal's own.
    Own,
    /// This one; `ansi` is the theme's choice in 16 colours (`Color::Reset` for its own).
    Rgb { rgb: [u8; 3], ansi: Option<Color> },
}

/// One theme, checked: every role exists, every colour is in the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeFile {
    /// The theme whose roles it starts from.
    pub inherits: Option<String>,
    pub(super) roles: BTreeMap<String, RoleStyle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    inherits: Option<String>,
    #[serde(default)]
    palette: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    ansi: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    roles: BTreeMap<Spanned<String>, Spanned<RawStyle>>,
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
    /// The first mistake with its line: TOML that does not parse, a role or modifier that does
    /// not exist, a colour that is not in the palette or not `#rrggbb`.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let raw: Raw =
            toml::from_str(text).map_err(|error| SourceError::from_toml(text, &error))?;
        let mut palette = BTreeMap::new();
        for (name, value) in &raw.palette {
            let rgb = hex(value.get_ref()).ok_or_else(|| {
                SourceError::at(
                    text,
                    &value.span(),
                    format!("'{}' is no colour of the form #rrggbb", value.get_ref()),
                )
            })?;
            palette.insert(name.clone(), Paint::Rgb { rgb, ansi: None });
        }
        for (name, value) in &raw.ansi {
            let Some(Paint::Rgb { ansi, .. }) = palette.get_mut(name.get_ref()) else {
                return Err(SourceError::at(
                    text,
                    &name.span(),
                    format!("'{}' is not in [palette]", name.get_ref()),
                ));
            };
            *ansi = Some(ansi16(value.get_ref()).ok_or_else(|| {
                SourceError::at(
                    text,
                    &value.span(),
                    format!("'{}' is none of the 16 colours", value.get_ref()),
                )
            })?);
        }
        let mut roles = BTreeMap::new();
        for (name, style) in &raw.roles {
            if !ThemeRole::is_known(name.get_ref()) {
                return Err(SourceError::at(
                    text,
                    &name.span(),
                    format!(
                        "no role '{}'; did you mean '{}'?",
                        name.get_ref(),
                        ThemeRole::closest(name.get_ref())
                    ),
                ));
            }
            let paint = |value: &Option<Spanned<String>>| match value {
                None => Ok(None),
                Some(value) if value.get_ref() == "none" => Ok(Some(Paint::Own)),
                Some(value) => match palette.get(value.get_ref()) {
                    Some(paint) => Ok(Some(*paint)),
                    None => Err(SourceError::at(
                        text,
                        &value.span(),
                        format!("'{}' is not in [palette]", value.get_ref()),
                    )),
                },
            };
            let raw_style = style.get_ref();
            let mut mods = Modifier::empty();
            for word in &raw_style.mods {
                mods |= modifier(word.get_ref()).ok_or_else(|| {
                    SourceError::at(
                        text,
                        &word.span(),
                        format!(
                            "no modifier '{}'; there are bold, dim, italic, underlined, reversed",
                            word.get_ref()
                        ),
                    )
                })?;
            }
            roles.insert(
                name.get_ref().clone(),
                RoleStyle {
                    fg: paint(&raw_style.fg)?,
                    bg: paint(&raw_style.bg)?,
                    mods,
                },
            );
        }
        Ok(Self {
            inherits: raw.inherits,
            roles,
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
