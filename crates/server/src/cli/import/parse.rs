//! The thread that reads the file, so that parsing and sending go on at the same time.

use std::{
    io,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
};

use socialgraph::v1::ImportEdgesRequest;
use tokio::sync::mpsc;

use super::{
    Problem, SHOWN_PROBLEMS,
    input::Input,
    line_map::LineMap,
    lines::{Line, Lines},
    row::{self, RowError},
};

/// Rows a batch: enough that handing over a batch costs nothing beside its rows.
const BATCH: usize = 1024;
/// Spreadsheets put it before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Rows on their way to the server.
pub(super) struct Batch {
    pub(super) rows: Vec<ImportEdgesRequest>,
    /// The line of the last row.
    pub(super) line: u64,
    /// How much of the file was read.
    pub(super) bytes: u64,
}

/// What is known of a file that was read.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// From the rows of the stream to lines.
    pub(super) lines: LineMap,
    /// Lines that are no row.
    pub(super) bad: u64,
    /// The first of them.
    pub(super) problems: Vec<Problem>,
    /// Why and after which line reading ended early.
    pub(super) failure: Option<(u64, io::Error)>,
}

/// Reads the input to its end, or until nobody takes the batches.
pub(super) fn parse(input: Input, offset: i64, batches: &mpsc::Sender<Batch>) -> Parsed {
    let mut parser = Parser { batches, read: input.read, rows: Vec::with_capacity(BATCH), parsed: Parsed::default() };
    let mut lines = Lines::new(input.reader);
    loop {
        let (number, line) = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                parser.parsed.failure = Some((lines.number(), error));
                break;
            }
        };
        let row = match line {
            Line::Whole(line) if number == 1 => row::parse(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line), offset),
            Line::Whole(line) => row::parse(line, offset),
            Line::Overlong => Err(RowError::Overlong),
        };
        parser.take(number, row);
        // A slow pipe's rows are sent as they come; a file's buffer is drained rarely.
        if (parser.rows.len() == BATCH || lines.is_drained()) && !parser.send(number) {
            break;
        }
    }
    parser.send(lines.number());
    parser.parsed
}

struct Parser<'a> {
    batches: &'a mpsc::Sender<Batch>,
    read: Arc<AtomicU64>,
    rows: Vec<ImportEdgesRequest>,
    parsed: Parsed,
}

impl Parser<'_> {
    fn take(&mut self, line: u64, row: Result<Option<ImportEdgesRequest>, RowError<'_>>) {
        match row {
            Ok(Some(row)) => {
                self.parsed.lines.push(line);
                self.rows.push(row);
            }
            Ok(None) => {}
            Err(error) => {
                self.parsed.bad += 1;
                if self.parsed.problems.len() < SHOWN_PROBLEMS {
                    self.parsed.problems.push(Problem::unreadable(line, &error));
                }
            }
        }
    }

    /// Hands over the rows. Waits for the server to take those before; false if the call is over.
    fn send(&mut self, line: u64) -> bool {
        if self.rows.is_empty() {
            return true;
        }
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(BATCH));
        let bytes = self.read.load(Ordering::Relaxed);
        self.batches.blocking_send(Batch { rows, line, bytes }).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read, Write};

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    /// Parses bytes and gives the rows as well, each with the line it maps to.
    fn parsed(bytes: impl Read + Send + 'static, offset: i64) -> (Vec<(u64, i64, i64)>, Parsed) {
        let (sender, mut batches) = mpsc::channel(4);
        let input = Input::new(bytes, None).unwrap();
        let parser = std::thread::spawn(move || parse(input, offset, &sender));
        let mut rows = Vec::new();
        while let Some(batch) = batches.blocking_recv() {
            assert!(batch.rows.len() <= BATCH);
            rows.extend(batch.rows.iter().map(|row| (row.follower_id, row.followee_id)));
        }
        let parsed = parser.join().unwrap();
        assert_eq!(parsed.lines.rows(), rows.len() as u64);
        let lines = (1..).map(|row| parsed.lines.line(row).0);
        (std::iter::zip(lines, rows).map(|(line, (from, to))| (line, from, to)).collect(), parsed)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn numbered(count: u64) -> String {
        (1..=count).map(|id| format!("{id}\t{}\r\n", id * 7919 % 10_007)).collect()
    }

    #[test]
    fn rows_keep_their_line_numbers_and_bad_ones_are_named() {
        let text = "\u{feff}# head\r\nfollower,followee\r\n\r\n1\t2\r\n3,4\n# more\n1\n5 6";
        let (rows, parsed) = parsed(Cursor::new(text), 10);
        assert_eq!(rows, [(4, 11, 12), (5, 13, 14), (8, 15, 16)]);
        assert_eq!(parsed.bad, 2);
        let lines: Vec<_> = parsed.problems.iter().map(Problem::line).collect();
        assert_eq!(lines, [2, 7]);
        assert!(parsed.failure.is_none());
    }

    #[test]
    fn an_empty_input_has_no_rows() {
        for bytes in [vec![], b"\n".to_vec(), b"1".to_vec(), gzip(b"")] {
            assert_eq!(parsed(Cursor::new(bytes), 0).0, []);
        }
    }

    #[test]
    fn bad_rows_are_counted_and_the_first_hundred_named() {
        let (rows, parsed) = parsed(Cursor::new("x y\n".repeat(5000) + "1 2\n"), 0);
        assert_eq!(rows, [(5001, 1, 2)]);
        assert_eq!((parsed.bad, parsed.problems.len()), (5000, 100));
    }

    #[test]
    fn gzip_of_one_member_or_more_reads_as_the_text() {
        let (one, two) = (numbered(3000), numbered(2000));
        let (plain, _) = parsed(Cursor::new(one.clone() + &two), 0);
        assert_eq!(plain.len(), 5000);
        let members = [gzip(one.as_bytes()), gzip(two.as_bytes())].concat();
        assert_eq!(parsed(Cursor::new(members), 0).0, plain);
    }

    #[test]
    fn truncated_gzip_gives_the_whole_lines_before_the_cut_and_the_line_reached() {
        let (all, _) = parsed(Cursor::new(numbered(20_000)), 0);
        let whole = gzip(numbered(20_000).as_bytes());
        for cut in [5, whole.len() / 2, whole.len() * 2 / 3, whole.len() - 1] {
            let (rows, parsed) = parsed(Cursor::new(whole[..cut].to_vec()), 0);
            assert_eq!(rows, all[..rows.len()], "cut at {cut}");
            assert_eq!(parsed.bad, 0, "cut at {cut}");
            let (line, error) = parsed.failure.unwrap();
            assert_eq!((line, error.kind()), (rows.len() as u64, io::ErrorKind::UnexpectedEof), "cut at {cut}");
        }
    }

    #[test]
    fn corrupt_gzip_and_what_follows_it_are_failures() {
        let mut corrupt = gzip(numbered(20_000).as_bytes());
        let middle = corrupt.len() / 2;
        corrupt[middle..middle + 64].fill(0xff);
        assert!(parsed(Cursor::new(corrupt), 0).1.failure.is_some());

        let trailing = [gzip(b"1 2\n"), b"3 4\n".to_vec()].concat();
        let (rows, parsed) = parsed(Cursor::new(trailing), 0);
        assert_eq!(rows, [(1, 1, 2)]);
        assert_eq!(parsed.failure.unwrap().0, 1);
    }

    #[test]
    fn rows_of_a_slow_pipe_are_handed_over_before_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (sender, mut batches) = mpsc::channel(1);
        writer.write_all(b"1 2\n").unwrap();
        let input = Input::new(reader, None).unwrap();
        let parser = std::thread::spawn(move || parse(input, 0, &sender));
        // The pipe is still open here.
        assert_eq!(batches.blocking_recv().unwrap().rows.len(), 1);
        drop(writer);
        assert!(parser.join().unwrap().failure.is_none());
    }

    #[test]
    fn parsing_ends_when_nobody_takes_the_rows() {
        let (sender, batches) = mpsc::channel(1);
        drop(batches);
        let parsed = parse(Input::new(Cursor::new("1 2\n").chain(io::repeat(b'\n')), None).unwrap(), 0, &sender);
        assert_eq!(parsed.lines.rows(), 1);
    }

    proptest! {
        #[test]
        fn written_rows_read_as_the_same_rows(
            edges in proptest::collection::vec(any::<(i64, i64)>(), 0..300),
            separator in prop_oneof![Just("\t"), Just(","), Just(" ")],
            end in prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("\n# a comment\n")],
            compressed in any::<bool>(),
        ) {
            let text: String = edges.iter().map(|(from, to)| format!("{from}{separator}{to}{end}")).collect();
            let bytes = if compressed { gzip(text.as_bytes()) } else { text.into_bytes() };
            let (rows, parsed) = parsed(Cursor::new(bytes), 0);
            let step = end.matches('\n').count() as u64;
            let expected: Vec<_> =
                std::iter::zip(0.., &edges).map(|(index, &(from, to))| (index * step + 1, from, to)).collect();
            prop_assert_eq!(rows, expected);
            prop_assert_eq!(parsed.bad, 0);
        }
    }
}
