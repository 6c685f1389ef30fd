//! [`read`]: splits a shell text into simple commands. Grammar of `bash` and `zsh` that this reader
//! does not know makes the text unclear.

use super::here_document::HereDocument;
use super::shell::{ShellRedirect, ShellText, ShellWord, SimpleCommand};

/// How deep substitutions may nest.
const DEPTH_MAX: usize = 16;

/// How often what looks like arithmetic is read once more as commands.
const REREAD_MAX: usize = 16;

pub(super) fn read(text: &str) -> ShellText {
    let mut out = ShellText::default();
    read_into(text, 0, &mut out);
    out
}

fn read_into(text: &str, depth: usize, out: &mut ShellText) {
    let mut lexer = Lexer {
        letters: text.chars().collect(),
        at: 0,
        reread: 0,
        out,
    };
    lexer.commands(depth, Until::End);
}

/// Where a list of commands ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Parenthesis,
}

struct Lexer<'a> {
    letters: Vec<char>,
    at: usize,
    /// How often a parenthesis was read a second time.
    reread: usize,
    out: &'a mut ShellText,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        Some(letter)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = text
            .chars()
            .enumerate()
            .all(|(ahead, letter)| self.peek(ahead) == Some(letter));
        if is_next {
            self.at += text.chars().count();
        }
        is_next
    }

    fn commands(&mut self, depth: usize, until: Until) {
        if depth > DEPTH_MAX {
            self.out.is_unclear("it nests too deeply");
            self.at = self.letters.len();
            return;
        }
        let mut command = SimpleCommand::default();
        let mut pending: Vec<HereDocument> = Vec::new();
        let mut open = 0_usize;
        loop {
            let Some(letter) = self.peek(0) else {
                if until == Until::Parenthesis || open > 0 {
                    self.out.is_unclear("a parenthesis is not closed");
                }
                if !pending.is_empty() {
                    self.out.is_unclear("a here-document does not end");
                }
                break;
            };
            match letter {
                ' ' | '\t' => self.at += 1,
                // Anywhere else it is a letter.
                '\r' if self.peek(1) == Some('\n') => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => self.comment(),
                '\n' => {
                    self.at += 1;
                    self.end(&mut command, &mut pending, depth);
                    for document in pending.drain(..) {
                        self.here_document(&document, depth);
                    }
                }
                ')' if open == 0 && until == Until::Parenthesis => {
                    self.at += 1;
                    if !pending.is_empty() {
                        self.out.is_unclear("a here-document does not end");
                    }
                    break;
                }
                ')' => {
                    self.at += 1;
                    open = open.saturating_sub(1);
                    self.end(&mut command, &mut pending, depth);
                }
                '(' => {
                    self.end(&mut command, &mut pending, depth);
                    let is_arithmetic = self.peek(1) == Some('(') && self.arithmetic("$");
                    if !is_arithmetic {
                        self.at += 1;
                        open += 1;
                    }
                }
                '&' if self.peek(1) == Some('>') => self.at += 1,
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.end(&mut command, &mut pending, depth);
                }
                '<' | '>' if self.peek(1) == Some('(') => {
                    let word = self.word(depth);
                    command.words.push(word);
                }
                '<' | '>' => self.redirect(&mut command, &mut pending, depth),
                _ => {
                    let word = self.word(depth);
                    let names_a_stream = matches!(self.peek(0), Some('<' | '>'))
                        && self.peek(1) != Some('(')
                        && !word.text.is_empty()
                        && word.text.bytes().all(|byte| byte.is_ascii_digit());
                    if !names_a_stream {
                        command.words.push(word);
                    }
                }
            }
        }
        self.end(&mut command, &mut pending, depth);
    }

    fn end(&mut self, command: &mut SimpleCommand, pending: &mut [HereDocument], depth: usize) {
        let mut command = std::mem::take(command);
        command.is_substituted = depth > 0;
        if !command.words.is_empty() || !command.redirects.is_empty() {
            for document in pending {
                document.command.get_or_insert(self.out.commands.len());
            }
            self.out.commands.push(command);
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn redirect(
        &mut self,
        command: &mut SimpleCommand,
        pending: &mut Vec<HereDocument>,
        depth: usize,
    ) {
        if self.takes("<<<") {
            self.blanks();
            let word = self.word(depth);
            command.inputs.push(word);
        } else if self.takes("<<") {
            let strips_tabs = self.takes("-");
            self.blanks();
            let start = self.at;
            let word = self.word(depth);
            let written = &self.letters[start..self.at];
            let expands = !written.iter().any(|it| matches!(it, '\'' | '"' | '\\'));
            if word.is_dynamic || word.text.is_empty() {
                self.out
                    .is_unclear("the end of a here-document is not known");
            }
            pending.push(HereDocument {
                end: word.text,
                strips_tabs,
                expands,
                command: None,
            });
        } else {
            let start = self.at;
            while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
                self.at += 1;
            }
            let is_input = !self.letters[start..self.at].contains(&'>');
            self.blanks();
            let word = self.word(depth);
            command.redirects.push(ShellRedirect { word, is_input });
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn here_document(&mut self, document: &HereDocument, depth: usize) {
        let rest = self.letters.get(self.at..).unwrap_or_default();
        let (length, lines, unclear) = document.lines(rest);
        self.at += length;
        if let Some(why) = unclear {
            self.out.is_unclear(why);
        }
        let text = match document.expands {
            false => ShellWord::literal(lines),
            true => {
                let mut inside = Lexer {
                    letters: lines.chars().collect(),
                    at: 0,
                    reread: self.reread,
                    out: self.out,
                };
                let mut text = ShellWord::default();
                inside.quoted(&mut text, depth, None);
                text
            }
        };
        let command = document
            .command
            .and_then(|at| self.out.commands.get_mut(at));
        if let Some(command) = command {
            command.inputs.push(text);
        }
    }

    /// Skips `((...))`, where `<<` is no here-document. `if_any`: what makes it unclear. Where the
    /// shell takes the parentheses for a list of commands, as in `((a); (b))`, nothing is skipped:
    /// whether something was.
    fn arithmetic(&mut self, if_any: &str) -> bool {
        const NOT_READ: &str = "what stands in (( )) is not read";
        let start = self.at;
        let mut open = 0_usize;
        let mut inside = String::new();
        while let Some(letter) = self.take() {
            inside.push(letter);
            match letter {
                '(' => open += 1,
                ')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                    if open == 1 && self.peek(0) != Some(')') && self.reread < REREAD_MAX {
                        self.reread += 1;
                        self.out.is_unclear(NOT_READ);
                        self.at = start;
                        return false;
                    }
                }
                _ => {}
            }
        }
        let runs = inside.contains(if_any) || inside.contains('`') || inside.contains("git");
        let is_whole = open == 0 && inside.ends_with("))");
        if !is_whole || runs || inside.contains(['\'', '"', '#', '\\']) {
            self.out.is_unclear(NOT_READ);
        }
        true
    }

    /// One word; never empty-handed, so that the reading goes on.
    fn word(&mut self, depth: usize) -> ShellWord {
        let mut word = ShellWord::default();
        let (mut in_braces, mut has_braces) = (false, false);
        while let Some(letter) = self.peek(0) {
            match letter {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '\r' if self.peek(1) == Some('\n') => break,
                '<' | '>' if self.peek(1) == Some('(') && word == ShellWord::default() => {
                    self.at += 2;
                    self.commands(depth + 1, Until::Parenthesis);
                    word.is_dynamic = true;
                }
                '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.take() {
                        None => self.out.is_unclear("it ends in a backslash"),
                        Some('\n') => {}
                        Some(letter) => word.text.push(letter),
                    }
                }
                '\'' => {
                    self.at += 1;
                    self.single_quoted(&mut word);
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut word, depth, Some('"'));
                }
                '$' | '`' => self.expansion(&mut word, depth, false),
                _ => {
                    self.at += 1;
                    match letter {
                        '*' | '?' | '[' | '^' => word.may_split = true,
                        '{' => in_braces = true,
                        ',' => has_braces |= in_braces,
                        '.' if word.text.ends_with('.') => has_braces |= in_braces,
                        _ => {}
                    }
                    word.text.push(letter);
                }
            }
        }
        if has_braces {
            word.is_dynamic = true;
            word.may_split = true;
        }
        word
    }

    fn single_quoted(&mut self, word: &mut ShellWord) {
        loop {
            match self.take() {
                None => return self.out.is_unclear("a quote is not closed"),
                Some('\'') => return,
                Some(letter) => word.text.push(letter),
            }
        }
    }

    /// A text in which only substitutions count, up to its last letter.
    fn quoted(&mut self, word: &mut ShellWord, depth: usize, last: Option<char>) {
        loop {
            match self.peek(0) {
                letter if letter == last => {
                    self.at += 1;
                    return;
                }
                None => return self.out.is_unclear("a quote is not closed"),
                Some('\\') => {
                    self.at += 1;
                    match self.take() {
                        None | Some('\n') => {}
                        Some(letter @ ('$' | '`' | '"' | '\\')) => word.text.push(letter),
                        Some(letter) => word.text.extend(['\\', letter]),
                    }
                }
                Some('$' | '`') => self.expansion(word, depth, true),
                Some(letter) => {
                    self.at += 1;
                    word.text.push(letter);
                }
            }
        }
    }

    /// What begins with `$` or a backtick.
    fn expansion(&mut self, word: &mut ShellWord, depth: usize, is_quoted: bool) {
        let is_backtick = self.take() == Some('`');
        match self.peek(0) {
            _ if is_backtick => self.backticks(depth),
            Some('(') => {
                let is_arithmetic = self.peek(1) == Some('(') && self.arithmetic("$(");
                if !is_arithmetic {
                    self.at += 1;
                    self.commands(depth + 1, Until::Parenthesis);
                }
            }
            Some('{') => self.parameter(depth),
            Some('\'') if !is_quoted => {
                self.at += 1;
                self.escaped_quoted();
            }
            Some('"') if !is_quoted => {}
            Some(letter) if letter.is_alphanumeric() || letter == '_' => {
                while self
                    .peek(0)
                    .is_some_and(|it| it.is_alphanumeric() || it == '_')
                {
                    self.at += 1;
                }
            }
            Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => self.at += 1,
            // A dollar that is one.
            _ => {
                word.text.push('$');
                return;
            }
        }
        word.is_dynamic = true;
        word.may_split |= !is_quoted;
    }

    fn backticks(&mut self, depth: usize) {
        let mut inside = String::new();
        loop {
            match self.take() {
                None => return self.out.is_unclear("a backtick is not closed"),
                Some('`') => break,
                Some('\\') if matches!(self.peek(0), Some('`' | '$' | '\\')) => {
                    inside.extend(self.take());
                }
                Some(letter) => inside.push(letter),
            }
        }
        read_into(&inside, depth + 1, self.out);
    }

    /// `${...}`, with what it substitutes.
    fn parameter(&mut self, depth: usize) {
        let mut open = 0_usize;
        while let Some(letter) = self.take() {
            match letter {
                '$' if self.peek(0) == Some('(') => {
                    self.at -= 1;
                    self.expansion(&mut ShellWord::default(), depth, true);
                }
                '{' => open += 1,
                '}' => {
                    open -= 1;
                    if open == 0 {
                        return;
                    }
                }
                '\'' | '"' | '`' | '(' | '\\' => {
                    self.out.is_unclear("what stands in ${ } is not read");
                }
                _ => {}
            }
        }
        self.out.is_unclear("a brace is not closed");
    }

    /// `$'...'`: its escapes are not read, only where it ends.
    fn escaped_quoted(&mut self) {
        while let Some(letter) = self.take() {
            match letter {
                '\'' => return,
                '\\' => {
                    self.take();
                }
                _ => {}
            }
        }
        self.out.is_unclear("a quote is not closed");
    }
}
