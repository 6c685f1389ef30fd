//! `current`: which session a project is in.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ctxrelay_core::id::SessionId;

use super::dirs::{ProjectDirs, listed, read_private, write_private};

/// More than any session id is long.
const CURRENT_BYTES_MAX: u64 = 256;

/// A fresh id: `session_<epoch-millis>_<8-hex>`.
pub fn new_id(now_ms: i64, random: u32) -> SessionId {
    // A clock outside of these years would give an id that no reader takes.
    let now_ms = now_ms.clamp(1_000_000_000, 9_999_999_999_999);
    SessionId::new(format!("session_{now_ms}_{random:08x}"))
}

/// The session that `current` names. `None` when there is no such file, or when what it says is
/// no session id: `current` lies where an agent can write it, and must neither name a path nor
/// keep anybody from starting. [`latest`] is the way on then.
///
/// # Errors
///
/// When the file is a link or cannot be read.
pub fn read_current(dirs: &ProjectDirs) -> io::Result<Option<SessionId>> {
    let text = match read_private(&dirs.current(), CURRENT_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Vec::new(),
        Err(error) => return Err(error),
    };
    let id = String::from_utf8_lossy(&text).trim().to_owned();
    if SessionId::is_well_formed(&id) {
        Ok(Some(SessionId::new(id)))
    } else {
        tracing::warn!(path = %dirs.current().display(), "names no session");
        Ok(None)
    }
}

/// Makes a session the current one. Writes nothing where it is that already: on a full disk a daemon
/// can go on with what is there.
///
/// # Errors
///
/// When the id is none, or the file cannot be written.
pub fn write_current(dirs: &ProjectDirs, session: &SessionId) -> io::Result<()> {
    if !SessionId::is_well_formed(session.as_str()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{:?} is not a session id", session.as_str()),
        ));
    }
    if read_current(dirs).is_ok_and(|named| named.as_ref() == Some(session)) {
        return Ok(());
    }
    write_private(&dirs.current(), format!("{session}\n").as_bytes())
}

/// Every session that has a record, current, earlier and archived, with its file, youngest first:
/// their names begin with their time. One that lies in both folders is the one that was not archived.
///
/// # Errors
///
/// When a folder is there and cannot be read; it is named.
pub fn all(dirs: &ProjectDirs) -> Result<Vec<(SessionId, PathBuf)>, (PathBuf, io::Error)> {
    let mut sessions = BTreeMap::new();
    for dir in [dirs.sessions(), dirs.archives()] {
        for file in listed(&dir) {
            let file = file.map_err(|error| (dir.clone(), error))?;
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            if let Some(id) = id.filter(|id| SessionId::is_well_formed(id)) {
                let path = || file.path();
                sessions.entry(id.to_owned()).or_insert_with(path);
            }
        }
    }
    let youngest_first = sessions.into_iter().rev();
    let named = youngest_first.map(|(id, path)| (SessionId::new(id), path));
    Ok(named.collect())
}

/// The youngest session that has a ledger, by the time in its id.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn latest(dirs: &ProjectDirs) -> io::Result<Option<SessionId>> {
    let mut sessions = Vec::new();
    for file in listed(&dirs.sessions()) {
        let name = file?.file_name();
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl"))
            && SessionId::is_well_formed(id)
        {
            sessions.push(SessionId::new(id));
        }
    }
    Ok(sessions.into_iter().max_by_key(began_ms))
}

/// When a session began, ms since the epoch, by its id; 0 for one that does not say.
pub fn began_ms(id: &SessionId) -> i64 {
    id.as_str()
        .split('_')
        .nth(1)
        .and_then(|millis| millis.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{Full, Place};

    #[test]
    fn new_ids_are_well_formed_whatever_the_clock_says() {
        for now in [i64::MIN, -1, 0, 1_795_000_000_000, i64::MAX] {
            for random in [0, u32::MAX] {
                let id = new_id(now, random);
                assert!(SessionId::is_well_formed(id.as_str()), "{id}");
            }
        }
        assert_eq!(
            new_id(1_717_603_200_000, 0xa1b2_c3d4).as_str(),
            "session_1717603200000_a1b2c3d4"
        );
    }

    #[test]
    fn current_is_written_and_read_back() {
        let place = Place::new();
        assert_eq!(read_current(&place.dirs).unwrap(), None);
        let id = new_id(1_795_000_000_000, 7);
        write_current(&place.dirs, &id).unwrap();
        assert_eq!(read_current(&place.dirs).unwrap(), Some(id));
        assert!(write_current(&place.dirs, &SessionId::new("../x")).is_err());
    }

    #[test]
    fn a_session_stays_the_current_one_without_room_to_say_so_again() {
        let place = Place::new();
        let [id, other] = [7, 8].map(|random| new_id(1_795_000_000_000, random));
        write_current(&place.dirs, &id).unwrap();
        let _full = Full::after(0, &place.dirs.current());
        write_current(&place.dirs, &id).unwrap();
        assert!(write_current(&place.dirs, &other).is_err());
        assert_eq!(read_current(&place.dirs).unwrap(), Some(id));
    }

    #[test]
    fn what_names_no_session_names_no_file_either() {
        let place = Place::new();
        let long = "x".repeat(100_000);
        for text in ["", "../../etc/passwd", "session_1_a", "\u{0}", &long] {
            fs::write(place.dirs.current(), text).unwrap();
            assert_eq!(read_current(&place.dirs).unwrap(), None);
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = Place::new();
        let elsewhere = place.dir.path().join("elsewhere");
        fs::write(&elsewhere, "session_1795000000000_00000007\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, place.dirs.current()).unwrap();
        assert!(read_current(&place.dirs).is_err());
    }

    #[test]
    fn a_folder_that_is_there_and_cannot_be_read_is_named_and_one_that_is_not_is_empty() {
        let place = Place::new();
        let dirs = &place.dirs;
        let id = new_id(1_795_000_000_000, 7);
        fs::write(dirs.ledger(&id), "").unwrap();
        fs::remove_dir_all(dirs.archives()).unwrap();
        assert_eq!(all(dirs).unwrap(), [(id.clone(), dirs.ledger(&id))]);
        fs::write(dirs.archives(), "in the way").unwrap();
        assert_eq!(all(dirs).unwrap_err().0, dirs.archives());
    }

    #[test]
    fn the_youngest_session_is_the_latest_one() {
        let place = Place::new();
        assert_eq!(latest(&place.dirs).unwrap(), None);
        for name in [
            "session_1795000000000_ffffffff.jsonl",
            "session_1795000000001_00000000.jsonl",
            "session_1795000000002_00000000.torn-1",
            "session_999_00000000.jsonl",
            "notes.jsonl",
        ] {
            fs::write(place.dirs.sessions().join(name), "").unwrap();
        }
        assert_eq!(
            latest(&place.dirs).unwrap().unwrap().as_str(),
            "session_1795000000001_00000000"
        );
    }
}
