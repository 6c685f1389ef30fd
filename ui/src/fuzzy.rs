//! [`score`]: how well a few letters match a longer text.

/// A letter at the beginning of a word.
const WORD_START: i32 = 8;
/// A letter right behind the one before.
const IN_A_ROW: i32 = 9;
/// Each letter that is passed over, of the first few.
const PASSED_OVER: i32 = 3;

/// How well the typed words stand for the text, each by itself; `None` when a letter of one is
/// missing, in their order. More is better.
pub(crate) fn score(text: &str, typed: &str) -> Option<i32> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let typed = typed.to_lowercase();
    let words = typed.split_whitespace();
    words.map(|word| score_word(&text, word)).sum()
}

/// The best of all ways to find the letters; a table, because texts and words are short.
fn score_word(text: &[char], word: &str) -> Option<i32> {
    let bonus = |at: usize| {
        let begins_word = at == 0 || !text[at - 1].is_alphanumeric();
        i32::from(begins_word) * WORD_START
    };
    let far = |columns: usize| i32::try_from(columns).unwrap_or(i32::MAX);
    // The best score with the last letter at each place.
    let mut best: Vec<Option<i32>> = Vec::new();
    for (index, letter) in word.chars().enumerate() {
        let at_place = |at: usize| {
            if text[at] != letter {
                return None;
            }
            if index == 0 {
                return Some(bonus(at) - far(at / 8));
            }
            let from = |before: usize| {
                let step = match at - before {
                    1 => IN_A_ROW,
                    passed => -PASSED_OVER * far((passed - 1).min(4)),
                };
                Some(best[before]? + step + bonus(at))
            };
            (0..at).filter_map(from).max()
        };
        best = (0..text.len()).map(at_place).collect();
    }
    best.into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn letters_in_their_order_are_enough() {
        assert!(score("choose a theme", "thm").is_some());
        assert!(score("choose a theme", "th ch").is_some());
        assert!(score("choose a theme", "tch").is_none());
        assert_eq!(score("choose a theme", " "), Some(0));
        assert!(score("漢字 x", "字").is_some());
    }

    #[test]
    fn words_and_beginnings_are_better_than_letters_here_and_there() {
        let better = |typed: &str, good: &str, bad: &str| {
            assert!(score(good, typed) > score(bad, typed), "{typed}: {good}");
        };
        better("theme", "choose a theme", "to the message entry");
        better(
            "hand",
            "hand work to an agent",
            "choose what the handoffs need",
        );
        better("ca", "clear all", "back again");
    }
}
