//! `SmallDisk`: a separate file system over one folder, visible only to what is started on it.

use std::path::{Path, PathBuf};

use super::child::{Child, run};
use super::launch::Launch;
use super::project::Project;

/// A tmpfs over a folder, in a mount namespace that a waiting shell keeps open. It goes with the
/// shell, whatever becomes of the test: no mount is left on the machine.
#[derive(Debug)]
pub struct SmallDisk {
    keeper: Child,
    root: PathBuf,
    nsenter: PathBuf,
}

impl SmallDisk {
    /// Mounts `kib` KiB over `folder`, with a copy of what lies in it now.
    #[track_caller]
    pub fn over(project: &Project, folder: &Path, kib: u32) -> Self {
        const MOUNT: &str = r#"
            set -e
            mount -t tmpfs -o "size=$2k,mode=0700" tmpfs /mnt
            cp -a "$1/." /mnt
            mount --move /mnt "$1"
            echo ready
            cat
        "#;
        let kib = kib.to_string();
        let launch = project
            .program("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", MOUNT, "sh"])
            .arg(folder)
            .arg(kib);
        let mut keeper = Child::spawn(&launch);
        keeper.wait_for_line("its mount", |line| (line == "ready").then_some(()));
        // `unshare` has become the shell: their process is the same.
        let root = PathBuf::from(format!("/proc/{}/root", keeper.pid()));
        Self {
            keeper,
            root,
            nsenter: project.program("nsenter").program,
        }
    }

    /// Where a path of the disk can be reached from outside.
    pub fn outside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap())
    }

    /// The same program, on the disk.
    pub fn launch(&self, launch: &Launch) -> Launch {
        let mut within = launch.clone();
        within.program = self.nsenter.clone();
        within.args = ["-m", "-t", &self.keeper.pid().to_string(), "sh", "-c"]
            .into_iter()
            // The folder is looked up within: the one outside lies below the mount.
            .chain([r#"cd "$0" && exec "$@""#])
            .map(Into::into)
            .collect();
        within.args.push(launch.cwd.clone().into());
        within.args.push(launch.program.clone().into());
        within.args.extend(launch.args.iter().cloned());
        within.cwd = PathBuf::from("/");
        within
    }

    /// Mounts anew with other options, for example `ro`.
    #[track_caller]
    pub fn remount(&self, project: &Project, folder: &Path, option: &str) {
        let launch = project
            .program("mount")
            .args(["-o", &format!("remount,{option}")])
            .arg(folder);
        run(&self.launch(&launch)).expect_success();
    }
}
