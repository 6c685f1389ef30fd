//! [`write()`]: the lines of a record as they are on the disk.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;

use super::Fault;
use crate::cli::output::harmless_json;
use crate::store::dirs::open_private;
use crate::store::ledger::{self, Stats};

/// How much is copied at once.
const COPY_BYTES: usize = 256 * 1024;

/// Copies every line up to `end`, in bytes, that is written to its end, bad ones too, so that the copy
/// can be verified as the record itself. Returns what was found in it.
///
/// For a terminal the entries are printed with what it would obey escaped: the same values, and
/// not the same bytes.
pub(super) fn write(
    path: &Path,
    end: u64,
    for_terminal: bool,
    out: &mut impl Write,
) -> Result<Stats, Fault> {
    if for_terminal {
        return print(path, end, out);
    }
    let mut file = open_private(path).map_err(Fault::Reading)?;
    let end = last_line_end(&mut file).map_err(Fault::Reading)?.min(end);
    file.seek(SeekFrom::Start(0)).map_err(Fault::Reading)?;
    let mut rest = file.take(end);
    let mut piece = vec![0; COPY_BYTES];
    loop {
        let read = rest.read(&mut piece).map_err(Fault::Reading)?;
        if read == 0 {
            break;
        }
        out.write_all(&piece[..read]).map_err(Fault::Writing)?;
    }
    // Bytes are copied faster than lines are understood, and who reads them waits for no line.
    ledger::read_to(path, end, |_| ControlFlow::Continue(())).map_err(Fault::Reading)
}

/// Where the last whole line ends. What stands behind it is being written, or was torn.
fn last_line_end(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = vec![0; COPY_BYTES];
    while end > 0 {
        let start = end.saturating_sub(COPY_BYTES as u64);
        let len = usize::try_from(end - start).unwrap_or(COPY_BYTES);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece[..len])?;
        if let Some(at) = piece[..len].iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn print(path: &Path, end: u64, out: &mut impl Write) -> Result<Stats, Fault> {
    let mut failed = Ok(());
    let stats = ledger::read_to(path, end, |stored| {
        failed = writeln!(out, "{}", harmless_json(&stored.line));
        if failed.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })
    .map_err(Fault::Reading)?;
    failed.map_err(Fault::Writing)?;
    Ok(stats)
}
