//! A file that gets its name only when it is complete.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
};

use super::BUFFER;

/// A file under another name beside its own. It is removed unless it is completed.
pub(super) struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    writer: BufWriter<File>,
    is_complete: bool,
}

impl PartialFile {
    /// Begins a file that will have a path. What is there keeps it until then.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(format!(".{}.partial", process::id()));
        let partial = path.with_file_name(name);
        let writer = BufWriter::with_capacity(BUFFER, File::create_new(&partial)?);
        Ok(Self { path: path.to_owned(), partial, writer, is_complete: false })
    }

    pub(super) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.writer
    }

    /// Gives the file its name, when all of it is on the disk.
    pub(super) fn complete(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.partial, &self.path)?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_complete {
            // It is of no use, and if it cannot be removed its name tells what it is.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
