//! Lines of a file, whatever it holds, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

use super::input::BUFFER;

/// The longest line that is looked at. Two ids and a time take less than 100 bytes.
pub(super) const LONGEST: usize = 64 * 1024;

/// Reads line by line into one buffer.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

/// A line, without its end.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// As it stands.
    Whole(&'a [u8]),
    /// Of more than [`LONGEST`] bytes, which were skipped.
    Overlong,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(BUFFER, reader), line: Vec::new(), number: 0 }
    }

    /// The next line and its number, from 1. When reading fails, the piece of a line before the failure is dropped:
    /// the number at its end may be cut.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.line.clear();
        if self.reader.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > LONGEST {
            self.reader.skip_until(b'\n')?;
            self.number += 1;
            return Ok(Some((self.number, Line::Overlong)));
        }
        self.number += 1;
        Ok(Some((self.number, Line::Whole(&self.line))))
    }

    /// The number of the last line, from 1; 0 before the first.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line may have to be waited for.
    pub(super) fn is_drained(&self) -> bool {
        self.reader.buffer().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(input: &[u8]) -> Vec<Option<usize>> {
        let mut lines = Lines::new(input);
        let mut lengths = Vec::new();
        while let Some((_, line)) = lines.next().unwrap() {
            lengths.push(match line {
                Line::Whole(line) => Some(line.len()),
                Line::Overlong => None,
            });
        }
        assert_eq!(lines.number(), lengths.len() as u64);
        lengths
    }

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        assert_eq!(lengths(b""), []);
        assert_eq!(lengths(b"\n"), [Some(0)]);
        assert_eq!(lengths(b"ab\n\nc"), [Some(2), Some(0), Some(1)]);
        assert_eq!(lengths(b"ab\r\n"), [Some(3)]);
    }

    #[test]
    fn an_overlong_line_is_one_line_and_takes_no_memory() {
        let longest = "1".repeat(LONGEST);
        let input = format!("{longest}\n{longest}1\n1 2\n{}\n3 4\n{longest}{longest}", longest.repeat(20));
        assert_eq!(lengths(input.as_bytes()), [Some(LONGEST), None, Some(3), None, Some(3), None]);

        let mut lines = Lines::new(input.as_bytes());
        while lines.next().unwrap().is_some() {}
        assert!(lines.line.capacity() < 4 * LONGEST);
    }
}
