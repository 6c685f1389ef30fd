//! [`FaultyFile`]: a ledger on a disk that fails as planned, or whose process dies.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::support::{DEADLINE, Project};
use crate::ledger::file::{DiskFile, LedgerFile};

/// What the writer can ask of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Append,
    Sync,
    Truncate,
    Len,
    Reopen,
}

/// What goes wrong next, by operation or by call. Nothing left means that all is well.
#[derive(Debug, Default)]
pub struct Plan {
    /// An error, and how many bytes get through before it.
    pub append: VecDeque<Option<(Errno, usize)>>,
    pub sync: VecDeque<Option<Errno>>,
    pub truncate: VecDeque<Option<Errno>>,
    pub reopen: VecDeque<Option<Errno>>,
    /// What somebody else appends just before the next appends.
    pub crowd: VecDeque<Vec<u8>>,
    /// Whether what reads next finds that it cannot.
    pub unreadable: VecDeque<bool>,
    /// The same by the number of the call, counted from 0 over all operations.
    pub at: BTreeMap<usize, (Errno, usize)>,
    /// The process dies in this call, with so many bytes through if it is an append: neither it
    /// nor any later call comes back with success, and nothing later happens.
    pub dies_at: Option<(usize, usize)>,
    /// What was asked, in order.
    pub calls: Vec<Operation>,
    /// The bytes that a loss of power cannot take any more.
    pub durable: Vec<u8>,
}

/// How a call ends.
enum Fate {
    Well,
    Fails(Errno, usize),
    Dies(usize),
    Dead,
}

/// A ledger on a disk that fails as planned. Syncs are believed, not done: what survives is in
/// the plan, and hundreds of cases do not wait for the disk.
#[derive(Debug)]
pub struct FaultyFile {
    disk: DiskFile,
    path: PathBuf,
    plan: Arc<Mutex<Plan>>,
    /// Each append waits for one of these, when given.
    pub gate: Option<Receiver<()>>,
}

impl FaultyFile {
    pub fn open(project: &Project) -> (Box<Self>, Arc<Mutex<Plan>>) {
        let plan = Plan {
            durable: fs::read(project.path()).unwrap_or_default(),
            ..Plan::default()
        };
        Self::open_with(project, plan)
    }

    pub fn open_with(project: &Project, plan: Plan) -> (Box<Self>, Arc<Mutex<Plan>>) {
        let plan = Arc::new(Mutex::new(plan));
        let file = Self {
            disk: DiskFile::open(&project.path()).unwrap(),
            path: project.path(),
            plan: Arc::clone(&plan),
            gate: None,
        };
        (Box::new(file), plan)
    }

    /// The fate of this call.
    fn call(&self, operation: Operation) -> Fate {
        let mut plan = self.plan.lock().unwrap();
        let number = plan.calls.len();
        plan.calls.push(operation);
        if let Some((last, written)) = plan.dies_at {
            match number.cmp(&last) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Fate::Dies(written),
                std::cmp::Ordering::Greater => return Fate::Dead,
            }
        }
        let without_bytes = |next: Option<Option<Errno>>| Some((next.flatten()?, 0));
        let by_operation = match operation {
            Operation::Append => plan.append.pop_front().flatten(),
            Operation::Sync => without_bytes(plan.sync.pop_front()),
            Operation::Truncate => without_bytes(plan.truncate.pop_front()),
            Operation::Reopen => without_bytes(plan.reopen.pop_front()),
            Operation::Len => None,
        };
        match plan.at.remove(&number).or(by_operation) {
            Some((errno, written)) => Fate::Fails(errno, written),
            None => Fate::Well,
        }
    }

    fn step(&self, operation: Operation) -> io::Result<()> {
        match self.call(operation) {
            Fate::Well => Ok(()),
            Fate::Fails(errno, _) => Err(errno.into()),
            Fate::Dies(_) | Fate::Dead => Err(dead()),
        }
    }
}

/// What a dead process hears; nobody is there to hear it.
fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl LedgerFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if let Some(gate) = &self.gate {
            gate.recv_timeout(DEADLINE).unwrap();
        }
        let crowd = self.plan.lock().unwrap().crowd.pop_front();
        if let Some(others) = crowd {
            let mut file = File::options().append(true).open(&self.path)?;
            file.write_all(&others)?;
        }
        let (written, error) = match self.call(Operation::Append) {
            Fate::Well => return self.disk.append(bytes),
            Fate::Fails(errno, written) => (written, errno.into()),
            Fate::Dies(written) => (written, dead()),
            Fate::Dead => (0, dead()),
        };
        self.disk.append(&bytes[..written.min(bytes.len())])?;
        Err(error)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step(Operation::Sync)?;
        let mut plan = self.plan.lock().unwrap();
        plan.durable = fs::read(&self.path)?;
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.step(Operation::Truncate)?;
        self.disk.truncate(len)
    }

    fn len(&mut self) -> io::Result<u64> {
        self.step(Operation::Len)?;
        self.disk.len()
    }

    fn reopen(&mut self, len: u64) -> io::Result<()> {
        self.step(Operation::Reopen)?;
        self.disk.reopen(len)
    }

    fn reader(&self) -> Arc<File> {
        let fails = self.plan.lock().unwrap().unreadable.pop_front();
        match fails {
            // A folder can be opened and not be read.
            Some(true) => Arc::new(File::open(self.path.parent().unwrap()).unwrap()),
            _ => self.disk.reader(),
        }
    }
}
