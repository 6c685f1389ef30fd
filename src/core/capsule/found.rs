//! [`FoundText`]: what the record already knew, shown beside a task.

/// The most of them.
pub const FOUND_MAX: usize = 5;

/// All of them together, in characters.
pub const FOUND_CHARS_MAX: usize = 1_500;

/// A text that was found by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundText {
    /// The text, one line.
    pub text: String,
    /// Where it stands: what a reader can look up.
    pub cited: String,
}

impl FoundText {
    /// The first of these that have room, each whole.
    pub fn bounded(found: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut room = FOUND_CHARS_MAX;
        let fits = |it: &Self| match room.checked_sub(it.chars()) {
            Some(rest) => {
                room = rest;
                true
            }
            None => false,
        };
        found.into_iter().filter(fits).take(FOUND_MAX).collect()
    }

    /// Without the end of a path whose beginning was cut off, which nothing tells from a word.
    pub fn whole_words(mut self) -> Self {
        if let Some(cut) = self.text.strip_prefix('…') {
            let first = cut.split_whitespace().next().unwrap_or_default();
            if first.contains(['/', '\\']) {
                self.text = format!("…{}", cut[first.len()..].trim_start());
            }
        }
        self
    }

    /// With both of its parts changed.
    pub fn each(self, change: impl Fn(&str) -> String) -> Self {
        Self {
            text: change(&self.text),
            cited: change(&self.cited),
        }
    }

    fn chars(&self) -> usize {
        self.text.chars().count() + self.cited.chars().count()
    }
}

/// As it is read.
impl std::fmt::Display for FoundText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {}", self.cited, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> FoundText {
        FoundText {
            text: text.to_owned(),
            cited: "12".to_owned(),
        }
    }

    #[test]
    fn the_rest_of_a_path_that_is_cut_is_left_out() {
        let whole = |text: &str| found(text).whole_words().text;
        assert_eq!(whole("…gan/secret/plans are there"), "…are there");
        assert_eq!(whole("…and/or"), "…");
        assert_eq!(whole("…words and /srv/x"), "…words and /srv/x");
        assert_eq!(whole("/srv/x"), "/srv/x");
    }

    #[test]
    fn five_at_most_go_along_each_whole_and_all_of_them_short() {
        let short = FoundText::bounded((0..9).map(|n| found(&n.to_string())));
        let texts: Vec<_> = short.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4"]);

        let long = "é".repeat(FOUND_CHARS_MAX - 2);
        let kept = FoundText::bounded([found("a"), found(&long), found("b")]);
        assert_eq!(kept, [found("a"), found("b")]);
        assert_eq!(FoundText::bounded([found(&long), found("b")]).len(), 1);
    }
}
