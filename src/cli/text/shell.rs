//! [`quoted`]: a command line that a person can paste into a shell.

use std::ffi::{OsStr, OsString};

/// The words, each quoted for a POSIX shell where it has to be.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a OsString>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| quote(word)).collect();
    words.join(" ")
}

/// One word for a POSIX shell. A name that is no UTF-8 is shown with replacement characters.
pub fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_the_words_that_were_quoted() {
        let words = [
            "plain",
            "",
            "two words",
            "it's",
            "$HOME `x` \"y\"",
            "a\nb",
            "*",
        ];
        let line = quoted(&words.map(OsString::from));
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf '%s\\0' {line}")])
            .output()
            .unwrap();
        let read = String::from_utf8(output.stdout).unwrap();
        assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), words);
    }
}
