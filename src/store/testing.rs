//! A temporary project and a temporary home, for the tests of this module.
#![allow(clippy::unwrap_used, reason = "tests")]

use tempfile::TempDir;

use super::dirs::{ProjectDirs, UserDirs};

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct Place {
    pub dirs: ProjectDirs,
    pub user: UserDirs,
    pub dir: TempDir,
}

impl Place {
    /// A project with its folders, and no registry yet.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        let dirs = ProjectDirs::new(project, None);
        dirs.create().unwrap();
        let user = UserDirs {
            registry: root.join("registry"),
            data: root.join("data"),
            runtime: None,
        };
        Self { dirs, user, dir }
    }
}

/// The permission bits of a file.
pub fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}
