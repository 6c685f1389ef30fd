//! `instances.json`: the projects of this user and their port groups.
//!
//! It lies outside all projects, so that no agent of one project can take the ports of another. The
//! file is ContextRelay's; entries that are not ours, or have another shape, are kept.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ctxrelay_core::plain_value::PlainValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::dirs::{
    ProjectDirs, RELAY_DIR, UserDirs, exists, make_private_dir, read_private, write_private,
};
use super::file_lock::wait_for_lock;
use super::operator_socket;
use super::owner::{is_held, is_owned};

/// How far apart the groups of two projects are.
const GROUP_STEP: u16 = 10;

/// How many groups of ports are near enough, so that those of projects that cannot be seen are left
/// to these.
const GROUPS_NEAR: usize = 20;

/// How many projects are remembered that cannot be seen: they may lie on a disk that is not there
/// now. Those that were registered longest ago go first.
const UNSEEN_MAX: usize = 500;

/// More than any registry of living projects is long.
const REGISTRY_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The three ports of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ports {
    /// `codex app-server`; a preference.
    #[serde(rename = "appPort")]
    pub codex: u16,
    /// The proxy for the Codex TUI.
    #[serde(rename = "proxyPort")]
    pub proxy: u16,
    /// The control port.
    #[serde(rename = "controlPort")]
    pub control: u16,
}

impl Ports {
    /// The group that begins at a port; `None` when it would leave the range of ports.
    pub fn group(base: u16) -> Option<Self> {
        Some(Self {
            codex: base,
            proxy: base.checked_add(1)?,
            control: base.checked_add(2)?,
        })
    }

    fn overlaps(self, other: Self) -> bool {
        let others = [other.codex, other.proxy, other.control];
        [self.codex, self.proxy, self.control]
            .iter()
            .any(|port| others.contains(port))
    }
}

/// One project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    pub instance_id: String,
    /// Where it is.
    pub project_root: PathBuf,
    /// Its state folder.
    #[serde(default)]
    pub state_dir: PathBuf,
    /// Those of its last start.
    #[serde(flatten)]
    pub ports: Ports,
    /// Its group, while `ports` are what the user named for that start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ports: Option<Ports>,
    /// Where its daemon takes the operator's commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_socket: Option<PathBuf>,
    /// When its daemon last started, as RFC 3339.
    #[serde(default)]
    pub last_seen_at: Value,
    /// The inode of its `.contextrelay`: a copy of the folder is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_inode: Option<u64>,
    /// The device that `.contextrelay` is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_device: Option<u64>,
    /// What other versions keep here.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Instance {
    /// The group that it has while the user names no other ports.
    pub fn group(&self) -> Ports {
        self.own_ports.unwrap_or(self.ports)
    }
}

/// What the file holds.
#[derive(Debug, Default)]
struct RegistryFile {
    instances: Vec<Instance>,
    /// Projects that are written in another shape than we know.
    unread: Vec<Value>,
    /// What other versions keep beside the projects.
    rest: Map<String, Value>,
}

impl RegistryFile {
    fn of(mut members: Map<String, Value>) -> Option<Self> {
        let Some(Value::Array(written)) = members.shift_remove("instances") else {
            return None;
        };
        let mut file = Self {
            rest: members,
            ..Self::default()
        };
        for one in written {
            match Instance::deserialize(&one) {
                Ok(instance) => file.instances.push(instance),
                Err(_) => file.unread.push(one),
            }
        }
        Some(file)
    }

    fn to_text(&self) -> io::Result<Vec<u8>> {
        // No `json!`: it panics at a path that is no text.
        let read = self.instances.iter().map(serde_json::to_value);
        let mut all = read.collect::<Result<Vec<_>, _>>()?;
        all.extend(self.unread.iter().cloned());
        let mut members = self.rest.clone();
        members.insert("instances".to_owned(), Value::Array(all));
        let mut text = serde_json::to_vec_pretty(&members)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Whether what cannot be read is of this project, as far as it names a folder.
fn is_of_unread(written: &Value, dirs: &ProjectDirs) -> bool {
    let root = written.get("projectRoot").and_then(Value::as_str);
    root.is_some_and(|root| dirs.root == Path::new(root))
}

/// The ports of a project, which is registered with them: the overrides if there are any, else
/// the group that it had, else the first one from `base` on that no other project has. Overrides
/// are for one run: its group stays its own meanwhile.
///
/// Says nothing about who listens there.
///
/// # Errors
///
/// When the registry cannot be read or written, or no group is left.
pub fn allocate(
    user: &UserDirs,
    dirs: &ProjectDirs,
    base: u16,
    overrides: Option<Ports>,
) -> io::Result<Ports> {
    update(user, |file| {
        let remembered = file
            .instances
            .iter()
            .find(|instance| is_of(instance, dirs))
            .map(Instance::group);
        let group = match remembered {
            Some(group) => group,
            None => free_group(&file.instances, dirs, base, |_| true)?,
        };
        let ports = overrides.unwrap_or(group);
        register(file, user, dirs, ports, group)?;
        Ok(ports)
    })
}

/// Gives a project another group, because a stranger listens on the one it has.
///
/// # Errors
///
/// As [`allocate`].
pub fn move_on(
    user: &UserDirs,
    dirs: &ProjectDirs,
    base: u16,
    taken: &[Ports],
) -> io::Result<Ports> {
    update(user, |file| {
        let is_free = |ports: Ports| !taken.iter().any(|taken| taken.overlaps(ports));
        let ports = free_group(&file.instances, dirs, base, is_free)?;
        register(file, user, dirs, ports, ports)?;
        Ok(ports)
    })
}

/// Has a project its own group alone: the run failed for which the user named other ports.
///
/// # Errors
///
/// As [`allocate`].
pub fn give_back(user: &UserDirs, dirs: &ProjectDirs) -> io::Result<()> {
    update(user, |file| {
        let instances = file.instances.iter_mut();
        for instance in instances.filter(|instance| is_of(instance, dirs)) {
            instance.ports = instance.group();
            instance.own_ports = None;
        }
        Ok(())
    })
}

/// Whether this project was registered by this user as it lies there. A `.contextrelay` that is
/// not known came with a clone or a copy.
///
/// To be asked before [`allocate`], which registers it.
///
/// # Errors
///
/// When the registry cannot be read.
pub fn is_known(user: &UserDirs, dirs: &ProjectDirs) -> io::Result<bool> {
    let inode = relay_inode(dirs);
    let file = read(user)?.unwrap_or_default();
    let is_it = |known: Option<u64>| known.is_none_or(|known| Some(known) == inode);
    let mut read = file.instances.iter();
    let mut unread = file.unread.iter();
    Ok(
        read.any(|instance| is_of(instance, dirs) && is_it(instance.relay_inode))
            || unread.any(|written| {
                let inode = written.get("relayInode").and_then(Value::as_u64);
                is_of_unread(written, dirs) && is_it(inode)
            }),
    )
}

/// All registered projects that can be seen.
///
/// # Errors
///
/// When the registry cannot be read. One that is no registry counts as empty.
pub fn list(user: &UserDirs) -> io::Result<Vec<Instance>> {
    let mut instances = read(user)?.unwrap_or_default().instances;
    instances.retain(is_seen);
    Ok(instances)
}

/// Where the owner of this project has its state, when that is another folder than we look in: it has
/// the project, and nothing of it is found here. The word of the registry counts only with its lock
/// there.
pub fn state_of_owner(user: &UserDirs, dirs: &ProjectDirs) -> Option<PathBuf> {
    if is_owned(dirs) || !is_held(dirs) {
        return None;
    }
    let file = read(user).ok().flatten()?;
    let instance = file
        .instances
        .into_iter()
        .find(|known| is_of(known, dirs))?;
    let theirs = ProjectDirs::new(dirs.root.clone(), Some(instance.state_dir));
    (theirs.state != dirs.state && is_owned(&theirs)).then_some(theirs.state)
}

/// Forgets a project.
///
/// # Errors
///
/// As [`allocate`].
pub fn forget(user: &UserDirs, dirs: &ProjectDirs) -> io::Result<()> {
    update(user, |file| {
        file.instances.retain(|instance| !is_of(instance, dirs));
        file.unread.retain(|written| !is_of_unread(written, dirs));
        Ok(())
    })
}

/// Whether it lies there now.
fn is_seen(instance: &Instance) -> bool {
    let relay = instance.project_root.join(RELAY_DIR);
    relay.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Whether it was taken away from its folder, which is there. What only cannot be seen, because its
/// disk or its folder is not there or does not open, may be back at any time.
fn is_gone(instance: &Instance) -> bool {
    let root = instance.project_root.symlink_metadata();
    let is_same_disk = root.is_ok_and(|root| Some(root.dev()) == instance.relay_device);
    let relay = instance.project_root.join(RELAY_DIR).symlink_metadata();
    let is_away = relay.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_same_disk && is_away
}

fn is_of(instance: &Instance, dirs: &ProjectDirs) -> bool {
    instance.project_root == dirs.root
}

fn free_group(
    instances: &[Instance],
    dirs: &ProjectDirs,
    base: u16,
    is_free: impl Fn(Ports) -> bool,
) -> io::Result<Ports> {
    let others = instances.iter().filter(|instance| !is_of(instance, dirs));
    let (here, unseen): (Vec<_>, Vec<_>) = others.partition(|instance| is_seen(instance));
    let overlaps = |others: &[&Instance], ports: Ports| {
        let has = |instance: &Instance| {
            instance.ports.overlaps(ports) || instance.group().overlaps(ports)
        };
        others.iter().any(|instance| has(instance))
    };
    let groups = || {
        let groups = (base..=u16::MAX).step_by(GROUP_STEP.into());
        groups
            .filter_map(Ports::group)
            .filter(|ports| is_free(*ports) && !overlaps(&here, *ports))
    };
    // The ports of a project that may be back are left to it while there are others near: far up
    // lie those of other programs.
    let of_nobody = groups().take(GROUPS_NEAR);
    let mut of_nobody = of_nobody.filter(|ports| !overlaps(&unseen, *ports));
    of_nobody.next().or_else(|| groups().next()).ok_or_else(|| {
        io::Error::other(format!(
            "no port group is free from {base} on: set CONTEXTRELAY_PORT_BASE lower"
        ))
    })
}

fn register(
    file: &mut RegistryFile,
    user: &UserDirs,
    dirs: &ProjectDirs,
    ports: Ports,
    group: Ports,
) -> io::Result<()> {
    let RegistryFile {
        instances, unread, ..
    } = file;
    let rest = match instances.iter().position(|instance| is_of(instance, dirs)) {
        Some(at) => instances.remove(at).rest,
        None => Map::new(),
    };
    let now = Timestamp::now().to_string();
    let mut instance = Instance {
        instance_id: dirs.instance_id(),
        project_root: dirs.root.clone(),
        state_dir: dirs.state.clone(),
        ports,
        own_ports: (group != ports).then_some(group),
        operator_socket: Some(operator_socket::place(user, &dirs.instance_id())),
        last_seen_at: Value::String(now),
        relay_inode: relay_inode(dirs),
        relay_device: dirs.relay.symlink_metadata().ok().map(|found| found.dev()),
        rest,
    };
    let ours = serde_json::to_value(&instance)?;
    // It is written in our shape from now on.
    for written in unread.extract_if(.., |written| is_of_unread(written, dirs)) {
        let Value::Object(members) = written else {
            continue;
        };
        let theirs = members.into_iter();
        instance
            .rest
            .extend(theirs.filter(|(key, _)| ours.get(key).is_none()));
    }
    instances.push(instance);
    Ok(())
}

fn relay_inode(dirs: &ProjectDirs) -> Option<u64> {
    dirs.relay.symlink_metadata().ok().map(|found| found.ino())
}

/// Changes the registry under its lock, pruned of what no longer exists.
///
/// A copy lies beside it: without it, one damaged file would make every project a stranger.
fn update<T>(
    user: &UserDirs,
    change: impl FnOnce(&mut RegistryFile) -> io::Result<T>,
) -> io::Result<T> {
    make_private_dir(&user.registry)?;
    let _lock = wait_for_lock(&user.registry.join("instances.lock"))?;
    let mut file = read(user)?.unwrap_or_default();
    if read_at(&user.instances())?.is_none() {
        set_aside(user)?;
    }
    prune(&mut file.instances);
    let value = change(&mut file)?;
    let text = file.to_text()?;
    write_private(&user.instances(), &text)?;
    if let Err(error) = write_private(&copy_of(user), &text) {
        tracing::warn!(%error, "the registry has no copy");
    }
    Ok(value)
}

fn prune(instances: &mut Vec<Instance>) {
    instances.retain(|instance| !is_gone(instance));
    let unseen = instances.iter().filter(|it| !is_seen(it)).count();
    let mut too_many = unseen.saturating_sub(UNSEEN_MAX);
    instances.retain(|instance| {
        let is_too_many = too_many > 0 && !is_seen(instance);
        too_many -= usize::from(is_too_many);
        !is_too_many
    });
}

fn copy_of(user: &UserDirs) -> PathBuf {
    user.registry.join("instances.copy.json")
}

/// All projects that were registered, from the copy where the file is no registry; `None` when both
/// are none.
fn read(user: &UserDirs) -> io::Result<Option<RegistryFile>> {
    // One that was set aside a moment ago, or by a daemon that died over it, is not there.
    if !exists(&user.instances()) && exists(&copy_of(user)) {
        return read_at(&copy_of(user));
    }
    match read_at(&user.instances())? {
        Some(file) => Ok(Some(file)),
        None if exists(&copy_of(user)) => read_at(&copy_of(user)),
        None => Ok(None),
    }
}

fn read_at(path: &Path) -> io::Result<Option<RegistryFile>> {
    let text = match read_private(path, REGISTRY_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(RegistryFile::default()));
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        Err(error) => return Err(error),
    };
    match serde_json::from_slice(&text) {
        Ok(PlainValue(Value::Object(members))) => Ok(RegistryFile::of(members)),
        _ => Ok(None),
    }
}

fn set_aside(user: &UserDirs) -> io::Result<()> {
    let now = Timestamp::now().as_millisecond();
    let aside = user.registry.join(format!("instances.json.bad-{now}"));
    tracing::warn!(path = %aside.display(), "the registry could not be read and was set aside");
    std::fs::rename(user.instances(), aside)
}

#[cfg(test)]
mod tests;
