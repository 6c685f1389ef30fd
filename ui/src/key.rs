//! [`Key`]: one key press, and its notation: `j`, `G`, `ctrl-d`, `shift-tab`, `enter`.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers, normalised: a capital carries no shift, `shift-tab` is one key, and
/// of all others only those carry shift with which terminals send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Names for keys that are no character.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
];

impl Key {
    /// The key of an event.
    pub fn from_event(event: &KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }

    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut kept = modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        if has_shift(code) {
            kept |= modifiers & KeyModifiers::SHIFT;
        }
        let (code, kept) = match code {
            KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => (KeyCode::BackTab, kept),
            KeyCode::Char(c) if kept.contains(KeyModifiers::CONTROL) => {
                (KeyCode::Char(same_byte(c.to_ascii_lowercase())), kept)
            }
            KeyCode::Char(c)
                if modifiers.contains(KeyModifiers::SHIFT) && c.is_ascii_lowercase() =>
            {
                (KeyCode::Char(c.to_ascii_uppercase()), kept)
            }
            code => (code, kept),
        };
        Self {
            code,
            modifiers: kept,
        }
    }

    /// Whether it types a letter where there is something to type in.
    pub fn is_typed(self) -> bool {
        let is_plain = !self
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        is_plain && matches!(self.code, KeyCode::Char(_))
    }

    /// The key of this name, where terminals send it.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence without its end.
    pub fn named(name: &str) -> Result<Self, String> {
        let (code, modifiers) = parts(name).ok_or_else(|| format!("'{name}' is no key"))?;
        let key = Self::new(code, modifiers);
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_told = match code {
            KeyCode::Char(c) => c.is_ascii_alphabetic() && !is_ctrl,
            code => has_shift(code) || code == KeyCode::Tab,
        };
        let loses_shift = modifiers.contains(KeyModifiers::SHIFT) && !is_told;
        match code {
            KeyCode::Char(c) if loses_shift && !is_ctrl && c != ' ' => Err(format!(
                "'{name}' is not what it types: bind that character"
            )),
            _ if loses_shift || key.sent_as() != key => {
                let sent = key.sent_as();
                Err(format!("terminals send {sent} for '{name}': bind that one"))
            }
            _ => Ok(key),
        }
    }

    /// The key that terminals send for it: of two with the same byte they send one, and where there is
    /// no byte they leave control out.
    fn sent_as(self) -> Self {
        let mut modifiers = self.modifiers;
        let is_ctrl = modifiers.contains(KeyModifiers::CONTROL);
        let code = match self.code {
            KeyCode::Char('i') if is_ctrl => KeyCode::Tab,
            KeyCode::Char('m') if is_ctrl => KeyCode::Enter,
            KeyCode::Char('[') if is_ctrl => KeyCode::Esc,
            KeyCode::Char('?') if is_ctrl => KeyCode::Backspace,
            code => code,
        };
        let has_ctrl = match code {
            KeyCode::Char(c) => matches!(c, 'a'..='z' | ' ' | '\\' | ']' | '^' | '_'),
            code => has_shift(code),
        };
        modifiers.set(KeyModifiers::CONTROL, is_ctrl && has_ctrl);
        Self { code, modifiers }
    }

    /// The event that a terminal would send.
    pub fn to_event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }

    /// The keys of a script such as `j<enter>?<ctrl-d>`; `<lt>` is `<`.
    ///
    /// # Errors
    /// The part that is no key.
    pub fn script(script: &str) -> Result<Vec<Self>, String> {
        let mut out = Vec::new();
        let mut rest = script;
        while let Some(c) = rest.chars().next() {
            if c == '<' {
                let end = rest.find('>').ok_or_else(|| rest.to_owned())?;
                let name = &rest[1..end];
                out.push(if name == "lt" {
                    Self::new(KeyCode::Char('<'), KeyModifiers::NONE)
                } else {
                    name.parse()?
                });
                rest = &rest[end + 1..];
            } else {
                out.push(Self::new(KeyCode::Char(c), KeyModifiers::NONE));
                rest = &rest[c.len_utf8()..];
            }
        }
        Ok(out)
    }
}

/// Of the characters that control makes the same byte of, the one that a key is written with. What
/// reads the terminal calls some of them by their digits.
fn same_byte(c: char) -> char {
    match c {
        '2' | '@' => ' ',
        '3' => '[',
        '4' => '\\',
        '5' => ']',
        '6' => '^',
        '7' | '/' => '_',
        '8' => '?',
        other => other,
    }
}

/// Keys whose shift a terminal tells.
fn has_shift(code: KeyCode) -> bool {
    use KeyCode::{Delete, Down, End, F, Home, Insert, Left, PageDown, PageUp, Right, Up};
    matches!(
        code,
        Up | Down | Left | Right | Home | End | PageUp | PageDown | Insert | Delete | F(_)
    )
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (code, modifiers) = parts(text).ok_or_else(|| text.to_owned())?;
        Ok(Self::new(code, modifiers))
    }
}

/// What a key's name says; `None` where it is none.
fn parts(name: &str) -> Option<(KeyCode, KeyModifiers)> {
    let mut rest = name;
    let mut modifiers = KeyModifiers::NONE;
    loop {
        if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == rest) {
            return Some((*code, modifiers));
        }
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Some((KeyCode::Char(c), modifiers));
        }
        if let Some(number) = rest.strip_prefix('f').and_then(|n| n.parse().ok())
            && (1..=12).contains(&number)
        {
            return Some((KeyCode::F(number), modifiers));
        }
        let known = [
            ("shift-", KeyModifiers::SHIFT),
            ("ctrl-", KeyModifiers::CONTROL),
            ("alt-", KeyModifiers::ALT),
        ];
        let mut found = known.iter();
        let (after, modifier) =
            found.find_map(|(prefix, modifier)| Some((rest.strip_prefix(prefix)?, *modifier)))?;
        modifiers |= modifier;
        rest = after;
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("alt-")?;
        }
        if self.modifiers.contains(KeyModifiers::SHIFT) {
            f.write_str("shift-")?;
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            code => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::Key;

    #[test]
    fn a_key_is_written_as_it_is_read() {
        for name in [
            "j",
            "G",
            "ctrl-d",
            "enter",
            "shift-tab",
            "space",
            "alt-enter",
            "?",
            "-",
            "pagedown",
            "f5",
            "ctrl-f12",
            "shift-up",
            "ctrl-shift-left",
            "alt-insert",
        ] {
            assert_eq!(name.parse::<Key>().unwrap().to_string(), name);
        }
        assert_eq!("contrl-d".parse::<Key>(), Err("contrl-d".to_owned()));
        assert!("".parse::<Key>().is_err());
        assert!("f13".parse::<Key>().is_err());
    }

    #[test]
    fn terminals_that_report_shift_give_the_same_key() {
        let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&shifted), "G".parse().unwrap());
        let kitty = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&kitty), "G".parse().unwrap());
        let tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Key::from_event(&tab), "shift-tab".parse().unwrap());
    }

    #[test]
    fn a_key_that_has_the_same_byte_as_another_is_the_same_key() {
        // As crossterm reads the bytes 1C to 1F.
        for (read, names) in [
            ('4', ["ctrl-\\", "ctrl-4"]),
            ('5', ["ctrl-]", "ctrl-5"]),
            ('6', ["ctrl-^", "ctrl-6"]),
            ('7', ["ctrl-_", "ctrl-/"]),
        ] {
            let event = KeyEvent::new(KeyCode::Char(read), KeyModifiers::CONTROL);
            for name in names {
                assert_eq!(Key::named(name), Ok(Key::from_event(&event)), "{name}");
            }
            assert_eq!(Key::from_event(&event).to_string(), names[0]);
        }
        assert_eq!(Key::named("ctrl-@"), Key::named("ctrl-space"));
    }

    #[test]
    fn a_key_that_no_terminal_sends_is_said_with_the_one_that_comes_in_its_place() {
        for (name, sent) in [
            ("ctrl-m", "enter"),
            ("ctrl-3", "esc"),
            ("ctrl-alt-i", "alt-tab"),
            ("shift-enter", "enter"),
            ("shift-esc", "esc"),
            ("ctrl-enter", "enter"),
            ("ctrl-shift-p", "ctrl-p"),
            ("ctrl-;", ";"),
        ] {
            let why = format!("terminals send {sent} for '{name}': bind that one");
            assert_eq!(Key::named(name), Err(why));
        }
        let why = "'shift-2' is not what it types: bind that character".to_owned();
        assert_eq!(Key::named("shift-2"), Err(why));
        for name in [
            "G",
            "shift-tab",
            "ctrl-shift-left",
            "alt-G",
            "ctrl-space",
            "alt-enter",
        ] {
            let key = Key::named(name).unwrap();
            assert_eq!(key.to_string(), name);
        }
        assert_eq!(Key::named("shift-g"), "G".parse());
        assert_eq!(Key::named("alt-shift-g"), "alt-G".parse());
    }

    #[test]
    fn a_script_is_a_row_of_keys() {
        let keys: Vec<String> = Key::script("j<enter>?<lt>")
            .unwrap()
            .iter()
            .map(Key::to_string)
            .collect();
        assert_eq!(keys, ["j", "enter", "?", "<"]);
        assert!(Key::script("<nokey>").is_err());
    }
}
