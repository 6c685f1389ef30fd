//! The key that signs a project's decisions, as it announced itself. It is kept outside the
//! project, so that a record that no longer mentions it is noticed.
//!
//! ENFORCED against those that can write only the project; ADVISORY against another process of the
//! same user.

use std::io;

use super::dirs::{
    UserDirs, if_there, make_private_dir, read_private, remove_if_there, write_private,
};
use ctxrelay_core::signing::SigningNotice;

/// More than any announcement is long.
const BYTES_MAX: u64 = 4 * 1024;

/// The key that is known here; `None` where decisions are not signed.
///
/// # Errors
///
/// When the file cannot be read, or does not hold what a key said of itself.
pub fn read(user: &UserDirs, instance_id: &str) -> io::Result<Option<SigningNotice>> {
    let Some(text) = if_there(read_private(&user.signer(instance_id), BYTES_MAX))? else {
        return Ok(None);
    };
    let notice: SigningNotice = serde_json::from_slice(&text)?;
    match notice.is_right() {
        true => Ok(Some(notice)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not what a key said of itself",
        )),
    }
}

/// Keeps the key, or that there is none.
///
/// # Errors
///
/// When the file cannot be written or removed.
pub fn write(user: &UserDirs, instance_id: &str, notice: Option<&SigningNotice>) -> io::Result<()> {
    let path = user.signer(instance_id);
    let Some(notice) = notice else {
        return remove_if_there(&path);
    };
    if let Some(dir) = path.parent() {
        make_private_dir(dir)?;
    }
    write_private(&path, &serde_json::to_vec(notice)?)
}
