//! [`place`] and [`find`]: where the operator's socket is.
//!
//! `run/<instanceId>/operator.sock` beside the registry. The system limits a socket's path to about
//! a hundred bytes, so in a longer home the socket is in the runtime folder, or else in a private
//! folder whose name identifies the registry. The registry names the one in use, because clients
//! may have another environment than the daemon.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::dirs::{ProjectDirs, UserDirs, make_private_dir};
use super::registry;

/// The longest path of a socket, in bytes: the system's own field, less its closing zero.
const PATH_BYTES_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Where the private folder lies. Not `/tmp`, which sandboxed agents can write.
const SHORT_BASE: &str = "/var/tmp";

/// Where a daemon of this user puts the socket of a project.
pub fn place(user: &UserDirs, instance_id: &str) -> PathBuf {
    let beside = user.registry.join("run").join(instance_id);
    let runtime = user.runtime.iter().filter(|dir| dir.is_dir());
    let name = format!("{instance_id}.sock");
    [beside.join("operator.sock")]
        .into_iter()
        .chain(runtime.map(|dir| dir.join("contextrelay").join(&name)))
        .find(|path| path.as_os_str().len() <= PATH_BYTES_MAX)
        .unwrap_or_else(|| private_folder(&user.registry).join(&name))
}

/// Where the socket of a project is now: as its daemon registered it.
pub fn find(user: &UserDirs, dirs: &ProjectDirs) -> PathBuf {
    let registered = registry::list(user)
        .unwrap_or_default()
        .into_iter()
        .find(|instance| instance.project_root == dirs.root)
        .and_then(|instance| instance.operator_socket);
    registered.unwrap_or_else(|| place(user, &dirs.instance_id()))
}

/// Makes the socket's folder. One that others can enter, or that is somebody else's, is refused: who
/// can put a socket there could take the operator's word.
///
/// # Errors
///
/// See above, and when it cannot be made.
pub fn make_folder(socket: &Path) -> io::Result<()> {
    let Some(folder) = socket.parent() else {
        return Ok(());
    };
    make_private_dir(folder)?;
    let found = folder.symlink_metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("{} is not yours alone", folder.display()),
    ))
}

/// Removes a project's socket, and its folder when nothing else is in it.
pub fn remove(user: &UserDirs, dirs: &ProjectDirs) {
    let path = find(user, dirs);
    // What is gone or in use stays so.
    let _ = fs::remove_file(&path);
    let _ = path.parent().map(fs::remove_dir);
}

fn private_folder(registry: &Path) -> PathBuf {
    let digest = Sha256::digest(registry.as_os_str().as_encoded_bytes());
    let hash: String = digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let uid = rustix::process::geteuid().as_raw();
    Path::new(SHORT_BASE).join(format!("contextrelay-{uid}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Place, mode};

    const ID: &str = "ctx_0123456789ab";

    fn user(home: &str, runtime: Option<&Path>) -> UserDirs {
        let runtime = runtime.map(Path::to_path_buf);
        UserDirs::from_env(|name| match name {
            "HOME" => Some(home.into()),
            "XDG_RUNTIME_DIR" => runtime.clone(),
            _ => None,
        })
        .unwrap()
    }

    #[test]
    fn every_home_has_a_place_that_the_system_takes() {
        let dir = tempfile::tempdir().unwrap();
        for chars in 2..200 {
            let home = format!("/{}", "h".repeat(chars - 1));
            for runtime in [None, Some(dir.path()), Some(Path::new("/nowhere"))] {
                let user = user(&home, runtime);
                let path = place(&user, ID);
                assert!(path.as_os_str().len() <= PATH_BYTES_MAX, "{path:?}");
                assert_eq!(path, place(&user, ID));
            }
        }
        let short = user("/home/me", Some(dir.path()));
        assert!(place(&short, ID).starts_with(&short.registry));
        let long = "/".to_owned() + &"h".repeat(99);
        assert!(place(&user(&long, Some(dir.path())), ID).starts_with(dir.path()));
        let hashed = place(&user(&long, None), ID);
        assert!(hashed.starts_with(SHORT_BASE));
        // Another registry of the same user has another folder.
        assert_ne!(hashed, place(&user(&format!("{long}x"), None), ID));
    }

    #[test]
    fn the_registered_one_is_found_from_another_environment() {
        let place_ = Place::new();
        let mut user = place_.user.clone();
        user.registry = place_.dir.path().join("r".repeat(90));
        user.runtime = Some(place_.dir.path().to_path_buf());
        registry::allocate(&user, &place_.dirs, 4500, None).unwrap();
        let path = place(&user, &place_.dirs.instance_id());
        assert!(path.starts_with(place_.dir.path().join("contextrelay")));
        user.runtime = None;
        assert_eq!(find(&user, &place_.dirs), path);
        assert_ne!(place(&user, &place_.dirs.instance_id()), path);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("contextrelay");
        let socket = folder.join("x.sock");
        make_folder(&socket).unwrap();
        assert_eq!(mode(&folder), 0o700);
        make_folder(&socket).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_folder(&socket).is_err());
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(dir.path(), &folder).unwrap();
        assert!(make_folder(&socket).is_err());
    }
}
