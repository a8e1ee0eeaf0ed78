//! Opens a file or standard input, compressed or not.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, stdin},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::bufread::MultiGzDecoder;

use crate::cli::Error;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Large enough that system calls do not show beside the parsing.
pub(super) const BUFFER: usize = 256 * 1024;

/// An open input.
pub(super) struct Input {
    /// The bytes, uncompressed.
    pub(super) reader: Box<dyn Read + Send>,
    /// Bytes of the file as it lies on disk, if known.
    pub(super) size: Option<u64>,
    /// How many of them were read.
    pub(super) read: Arc<AtomicU64>,
}

impl Input {
    /// Opens `path`, or standard input for `-`, and reads its first bytes to tell gzip from text.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let error = |source| Error::Open { path: path.to_owned(), source };
        if path == Path::new("-") {
            return Self::new(stdin(), None).map_err(error);
        }
        let file = File::open(path).map_err(error)?;
        let metadata = file.metadata().map_err(error)?;
        Self::new(file, metadata.is_file().then_some(metadata.len())).map_err(error)
    }

    pub(super) fn new(source: impl Read + Send + 'static, size: Option<u64>) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut source = Counted { source, read: Arc::clone(&read) };
        let mut head = Vec::with_capacity(GZIP_MAGIC.len());
        source.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
        let gzip = head == GZIP_MAGIC;
        let whole = Cursor::new(head).chain(source);
        let reader: Box<dyn Read + Send> =
            if gzip { Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole))) } else { Box::new(whole) };
        Ok(Self { reader, size, read })
    }
}

/// Counts what is read from the source, for the progress bar.
struct Counted<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
