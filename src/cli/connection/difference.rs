//! [`Difference`]: how the running daemon's program differs from this one, as after an update.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::cli::connection::lock_owner::owner;
use crate::store::dirs::ProjectDirs;
use crate::store::published::Published;

/// The next step, once the agents are idle.
pub(in crate::cli) const REPLACE_HINT: &str =
    "have this one go on in its place: `ctxrelay daemon --replace`";

/// So much of two programs is compared at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How the daemon's program is not this one. Shown as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Difference {
    /// It is of this version.
    Version(String),
    /// It has another file, of the same version.
    Build,
}

impl Difference {
    /// Of the daemon that runs; `None` where it is the same program, or that cannot be told, which
    /// needs `/proc`.
    pub(in crate::cli) fn of(dirs: &ProjectDirs) -> Option<Self> {
        let published = Published::read(dirs)?;
        if published.version != env!("CARGO_PKG_VERSION") {
            return Some(Self::Version(published.version));
        }
        let program = format!("/proc/{}/exe", owner(dirs)?.as_raw_pid());
        let is_other = is_other_program(Path::new(&program), Path::new("/proc/self/exe"));
        is_other.unwrap_or(false).then_some(Self::Build)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = env!("CARGO_PKG_VERSION");
        match self {
            Self::Version(theirs) => write!(f, "the daemon is version {theirs}, this is {own}"),
            Self::Build => write!(
                f,
                "the daemon is another build of version {own} than this one"
            ),
        }
    }
}

/// By their bytes: a copy is the same program. Each path is a link to the file that runs, also where
/// its name is gone or another file has it by now.
fn is_other_program(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    let (of_one, of_other) = (one.metadata()?, other.metadata()?);
    if (of_one.dev(), of_one.ino()) == (of_other.dev(), of_other.ino()) {
        return Ok(false);
    }
    if of_one.len() != of_other.len() {
        return Ok(true);
    }
    let mut one = BufReader::with_capacity(CHUNK_BYTES, one);
    let mut other = BufReader::with_capacity(CHUNK_BYTES, other);
    loop {
        let (next, others) = (one.fill_buf()?, other.fill_buf()?);
        let both = next.len().min(others.len());
        if next[..both] != others[..both] {
            return Ok(true);
        }
        if both == 0 {
            return Ok(next.len() != others.len());
        }
        one.consume(both);
        other.consume(both);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_is_another_one_by_its_bytes_and_not_by_its_place_or_time() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let text = vec![7; 3 * CHUNK_BYTES + 1];
        let mut changed = text.clone();
        *changed.last_mut().unwrap() = 8;
        let one = put("one", &text);
        fs::hard_link(&one, dir.path().join("linked")).unwrap();
        let others = [
            (dir.path().join("linked"), false),
            (put("copied", &text), false),
            (put("longer", &[&text[..], &[7]].concat()), true),
            (put("changed", &changed), true),
        ];
        for (other, is_other) in others {
            assert_eq!(
                is_other_program(&one, &other).unwrap(),
                is_other,
                "{other:?}"
            );
        }
        assert!(is_other_program(&one, &dir.path().join("nothing")).is_err());
    }
}
