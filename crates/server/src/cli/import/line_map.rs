//! From rows of the stream back to lines of the file, in bounded memory.

/// How many places are remembered: 1 MiB of them.
const LIMIT: usize = 64 * 1024;

/// Which line each row came from.
///
/// Rows follow each other line by line except where lines were skipped, so only those places are kept. Beyond [`LIMIT`]
/// places the answer is the least that the line can be. Servers name the first bad rows only, which lie before that in
/// all but odd files.
#[derive(Debug, Default)]
pub(super) struct LineMap {
    /// Row and line at each place where the next line is not the next row's, by row.
    places: Vec<(u64, u64)>,
    /// The line the next row has if nothing is skipped.
    next_line: u64,
    rows: u64,
    /// The first row after the last place that fits.
    inexact_from: Option<u64>,
}

impl LineMap {
    /// Adds the next row.
    pub(super) fn push(&mut self, line: u64) {
        self.rows += 1;
        if line != self.next_line {
            if self.places.len() < LIMIT {
                self.places.push((self.rows, line));
            } else {
                self.inexact_from.get_or_insert(self.rows);
            }
        }
        self.next_line = line + 1;
    }

    /// How many rows were added.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The line of a row, from 1, and whether it is exact.
    pub(super) fn line(&self, row: u64) -> (u64, bool) {
        let after = self.places.partition_point(|&(first, _)| first <= row);
        let (first, line) = after.checked_sub(1).map_or((0, 0), |place| self.places[place]);
        (line + (row - first), self.inexact_from.is_none_or(|from| row < from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_map_to_their_lines_across_skipped_ones() {
        let lines = [1, 2, 5, 6, 7, 9, 20];
        let mut map = LineMap::default();
        lines.iter().for_each(|&line| map.push(line));
        let mapped: Vec<_> = (1..=7).map(|row| map.line(row)).collect();
        assert_eq!(mapped, lines.map(|line| (line, true)));
        assert_eq!(map.places.len(), 4);
    }

    #[test]
    fn memory_is_bounded_and_what_is_beyond_is_called_inexact() {
        let mut map = LineMap::default();
        let rows = 2 * LIMIT as u64;
        (1..=rows).for_each(|row| map.push(2 * row));
        assert_eq!(map.places.len(), LIMIT);
        assert_eq!(map.line(LIMIT as u64), (2 * LIMIT as u64, true));
        let (line, exact) = map.line(rows);
        assert!(!exact && line <= 2 * rows);
    }
}
