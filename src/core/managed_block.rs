//! [`with_block`] and [`without_block`]: our lines in a user's file, between two markers.
//! Everything outside the markers stays the same, byte for byte.

/// Stands alone in the line before ours.
pub const BEGIN: &str = "<!-- ctxrelay:begin (managed; `ctxrelay uninit` takes it out) -->";

/// Stands there instead where the text before had no end of its last line.
const BEGIN_UNENDED: &str = "<!-- ctxrelay:begin (managed; `ctxrelay uninit` takes it out, and the end of the line before) -->";

/// Stands alone in the line after ours.
pub const END: &str = "<!-- ctxrelay:end -->";

/// How a first marker is recognised, whatever its wording was in another version.
const BEGIN_MARK: &str = "<!-- ctxrelay:begin";

/// A marker without its other one: somebody edited it, and guessing would eat the user's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its ctxrelay markers do not pair up")]
pub struct Unpaired;

/// The text with `body` in our block: in the place of the one that is there, else at the end.
///
/// # Errors
///
/// When a marker has lost its other one.
pub fn with_block(text: &str, body: &str) -> Result<String, Unpaired> {
    let found = find(text)?;
    let is_unended = match found {
        Some((start, _)) => text[start..].starts_with(BEGIN_UNENDED),
        None => !text.is_empty() && !text.ends_with('\n'),
    };
    let begin = if is_unended { BEGIN_UNENDED } else { BEGIN };
    let mut block = format!("{begin}\n{}\n{END}\n", body.trim_end());
    let is_crlf = text
        .split_once('\n')
        .is_some_and(|(first, _)| first.ends_with('\r'));
    if is_crlf {
        block = block.replace('\n', "\r\n");
    }
    if let Some((start, end)) = found {
        return Ok(format!("{}{block}{}", &text[..start], &text[end..]));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with("\r\n") => "\r\n",
        text if text.ends_with('\n') => "\n",
        _ if is_crlf => "\r\n\r\n",
        _ => "\n\n",
    };
    Ok(format!("{text}{gap}{block}"))
}

/// The text without our block, and without the line ends that we put before it. `None` when there is
/// none.
///
/// # Errors
///
/// As [`with_block`].
pub fn without_block(text: &str) -> Result<Option<String>, Unpaired> {
    Ok(find(text)?.map(|(start, end)| {
        let (before, rest) = (&text[..start], &text[end..]);
        let gaps = match text[start..].starts_with(BEGIN_UNENDED) {
            true => ["\r\n\r\n", "\n\n"],
            false => ["\r\n", "\n"],
        };
        let mut without = gaps.iter().filter_map(|gap| before.strip_suffix(gap));
        // What somebody wrote behind it needs them.
        let kept = without.next().filter(|_| rest.is_empty());
        format!("{}{rest}", kept.unwrap_or(before))
    }))
}

/// Where our block begins and ends, in bytes, its last newline included.
fn find(text: &str) -> Result<Option<(usize, usize)>, Unpaired> {
    let mut at = 0;
    let mut found = None;
    let mut open = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if line.starts_with(BEGIN_MARK) {
            if open.replace(start).is_some() || found.is_some() {
                return Err(Unpaired);
            }
        } else if line == END {
            found = Some((open.take().ok_or(Unpaired)?, at));
        }
    }
    if open.is_some() {
        return Err(Unpaired);
    }
    Ok(found)
}

/// The lines that change, as a person reads a diff: removed with `-`, added with `+`.
pub fn diff(before: &str, after: &str) -> Vec<(bool, String)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(same)
        .count();
    let removed = old[head..old.len() - tail]
        .iter()
        .map(|line| (false, (*line).to_owned()));
    let added = new[head..new.len() - tail]
        .iter()
        .map(|line| (true, (*line).to_owned()));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_is_renewed_in_its_place() {
        let text = with_block("# Mine\n", "one").unwrap();
        let text = format!("{text}\n# More of mine\n");
        let renewed = with_block(&text, "two").unwrap();
        assert_eq!(renewed, text.replace("\none\n", "\ntwo\n"));
        assert_eq!(with_block(&renewed, "two").unwrap(), renewed);
    }

    #[test]
    fn a_file_with_the_line_ends_of_windows_keeps_them() {
        for text in ["# Mine\r\n", "# Mine\r\n\r\n", "a\r\nb\n", "a\nb\r\n"] {
            let with = with_block(text, "one\ntwo").unwrap();
            let first = with.find('\n').unwrap();
            let is_crlf = text[..=first].ends_with("\r\n");
            let block = &with[with.find(BEGIN).unwrap()..];
            let ends = block.matches("\r\n").count();
            assert_eq!(ends, if is_crlf { 4 } else { 0 }, "{with:?}");
            assert_eq!(with_block(&with, "one\ntwo").unwrap(), with);
            assert_eq!(without_block(&with).unwrap().unwrap(), text);
        }
    }

    #[test]
    fn a_lost_marker_is_refused() {
        for text in [
            BEGIN,
            END,
            &format!("{END}\n{BEGIN}\n"),
            &format!("{BEGIN}\n{BEGIN}\n{END}\n"),
        ] {
            assert_eq!(with_block(text, "x"), Err(Unpaired), "{text}");
            assert_eq!(without_block(text), Err(Unpaired));
        }
    }

    #[test]
    fn a_diff_shows_only_what_changes() {
        let after = with_block("a\nb\n", "c").unwrap();
        let diff: Vec<String> = diff("a\nb\n", &after)
            .into_iter()
            .map(|(added, line)| format!("{}{line}", if added { '+' } else { '-' }))
            .collect();
        assert_eq!(
            diff,
            [
                "+".to_owned(),
                format!("+{BEGIN}"),
                "+c".to_owned(),
                format!("+{END}")
            ]
        );
    }

    proptest! {
        #[test]
        fn what_is_put_in_can_be_taken_out_again(text in "([a-z#]|\n|\r\n){0,40}") {
            let with = with_block(&text, "ours").unwrap();
            prop_assert!(with.starts_with(&text));
            let renewed = with_block(&with, "new").unwrap();
            for with in [with, renewed] {
                prop_assert_eq!(without_block(&with).unwrap().unwrap(), text.clone());
            }
        }
    }
}
