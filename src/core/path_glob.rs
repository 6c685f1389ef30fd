//! [`glob_matches`]: whether a glob matches a path; [`glob_reaches_into`]: whether it may match
//! something in a folder.
//!
//! As in the files of CI services: the whole path from the project's folder is compared; `*` and
//! `?` stay in one folder, `**` as a part of its own stands for any folders or none.

/// Whether a path with `/` between its parts is named by a glob. Takes time in proportion to the
/// two lengths' product.
pub fn glob_matches(glob: &str, path: &str) -> bool {
    let path: Vec<&str> = path.split('/').collect();
    // Whether the parts of the glob so far fit exactly the first n parts of the path.
    let mut fits = vec![false; path.len() + 1];
    fits[0] = true;
    let mut parts = glob.split('/').peekable();
    while let Some(part) = parts.next() {
        if part == "**" {
            let Some(first) = fits.iter().position(|fit| *fit) else {
                return false;
            };
            // At the end it is what lies in a folder, and not the folder.
            let from = if parts.peek().is_none() {
                first + 1
            } else {
                first
            };
            fits[first..].fill(true);
            fits[first..from].fill(false);
            continue;
        }
        let mut longer = vec![false; path.len() + 1];
        for (at, name) in path.iter().enumerate() {
            longer[at + 1] = fits[at] && part_matches(part, name);
        }
        fits = longer;
    }
    fits[path.len()]
}

/// Whether a glob may name something that lies in this folder, however deep.
pub fn glob_reaches_into(glob: &str, folder: &str) -> bool {
    let mut names = folder.split('/');
    for part in glob.split('/') {
        match names.next() {
            // It goes on below the folder.
            None => return true,
            Some(_) if part == "**" => return true,
            Some(name) if part_matches(part, name) => {}
            Some(_) => return false,
        }
    }
    false
}

/// One part, with `*` and `?`.
fn part_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where to go on when what follows the latest `*` does not fit: it takes one more.
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                again = Some((g + 1, n));
                g += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((star, taken)) = again else {
                    return false;
                };
                again = Some((star, taken + 1));
                g = star;
                n = taken + 1;
            }
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_in_their_folder_and_two_of_them_do_not() {
        for (glob, path) in [
            ("README.md", "README.md"),
            ("*.toml", "Cargo.toml"),
            ("web/**", "web/a.js"),
            ("web/**", "web/a/b/c.js"),
            ("**/*.js", "a.js"),
            ("**/*.js", "web/a/b.js"),
            ("**", "anything/at all"),
            ("src/**/tests/*.rs", "src/tests/a.rs"),
            ("src/**/tests/*.rs", "src/a/b/tests/a.rs"),
            ("a?c/*b*", "aäc/xbx"),
            ("*a*a*b", "aaaaaaaaaab"),
        ] {
            assert!(glob_matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in [
            ("*.toml", "web/Cargo.toml"),
            ("web/*", "web/a/b.js"),
            ("web/**", "website/a.js"),
            ("web/**", "web"),
            ("web", "web/a.js"),
            ("a?c", "ac"),
            ("README.md", "readme.md"),
            ("", "a"),
        ] {
            assert!(!glob_matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn a_glob_reaches_into_a_folder_in_which_something_may_be_named() {
        for (glob, folder) in [
            ("web/**", "web"),
            ("web/*.js", "web"),
            ("**", "web/a"),
            ("**/*.js", "web"),
            ("*/a/**/b", "web"),
            ("web/a/b.js", "web/a"),
            ("web/**/b.js", "web/a/c"),
        ] {
            assert!(glob_reaches_into(glob, folder), "{glob} {folder}");
        }
        for (glob, folder) in [
            ("web", "web"),
            ("*", "web"),
            ("*.toml", "web"),
            ("src/**", "web"),
            ("web/*", "web/a"),
            ("web/a/**", "web/b"),
        ] {
            assert!(!glob_reaches_into(glob, folder), "{glob} {folder}");
        }
    }

    #[test]
    fn a_hostile_glob_takes_no_time() {
        let glob = format!("{}b", "*a".repeat(90));
        assert!(!glob_matches(&glob, &"a".repeat(4_000)));
        let glob = format!("{}b", "**/a*/".repeat(30));
        assert!(!glob_matches(&glob, &"a/".repeat(2_000)));
    }
}
