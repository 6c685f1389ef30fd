//! Colours as roles: [`ThemeRole`] is what a pane asks for, [`ThemeFile`] the text of a theme,
//! [`Depth`] what the terminal can show, [`Theme`] the three resolved once.
//!
//! Only this folder (and the SVG writer) names colours.

mod builtin;
mod depth;
mod file;
mod layers;
mod resolved;
mod role;

pub use builtin::{BUILTIN, builtin};
pub use depth::Depth;
pub use file::ThemeFile;
pub use resolved::Theme;
pub use role::ThemeRole;
