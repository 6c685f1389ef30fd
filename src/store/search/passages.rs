//! [`find_in`]: words in texts outside of any ledger.

use super::query::Query;
use super::snippet::Snippet;
use super::text::Text;
use ctxrelay_core::redact::Redactor;

/// Whether all the words stand in these texts, taken together; the piece around the first of them,
/// redacted, and in which of the texts that stands.
pub(super) fn find_in<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    query: &Query,
    redactor: &Redactor,
) -> Option<(Snippet, usize)> {
    let text = Text::of_pieces(texts, redactor);
    query
        .matches(&text.folded())
        .then(|| Snippet::placed(&text, query))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], typed: &str) -> Option<(String, usize)> {
        let query = Query::parse(typed).unwrap();
        let found = find_in(texts.iter().copied(), &query, &Redactor::new());
        found.map(|(snippet, at)| (snippet.text, at))
    }

    #[test]
    fn words_may_stand_in_several_texts_and_a_phrase_in_one() {
        let texts = ["Fix the login", "tokens live for one hour"];
        let hour = Some(("tokens live for one hour".to_owned(), 1));
        assert_eq!(found(&texts, "hour login"), hour);
        assert_eq!(found(&texts, "\"login tokens\""), None);
        assert_eq!(found(&texts, "logout"), None);
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let line = format!("the key is {secret}");
        assert_eq!(found(&[&line], &secret), None);
        let (snippet, _) = found(&[&line], "key").unwrap();
        assert!(!snippet.contains(&secret), "{snippet}");
    }
}
