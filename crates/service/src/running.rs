use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Work of this instance whose changes are pending on purpose: pieces of imports, of which the second half comes after the
/// first half of all rows. The relay leaves alone what may be theirs, so that a slow Redis does not get the work twice.
#[derive(Clone, Default)]
pub(crate) struct Running {
    pieces: Arc<Mutex<Pieces>>,
}

#[derive(Default)]
struct Pieces {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

/// A piece of work, until it is dropped.
pub(crate) struct Piece {
    running: Running,
    number: u64,
}

/// A look at pending changes.
pub(crate) struct Look {
    running: Running,
    longest: Duration,
    since: Instant,
}

impl Look {
    /// For how long the oldest piece has been at work since the look began, or was until it ended.
    pub(crate) fn longest(&self) -> Duration {
        let of_before = if self.longest.is_zero() { Duration::ZERO } else { self.longest + self.since.elapsed() };
        of_before.max(self.running.longest())
    }
}

impl Running {
    /// A piece of work begins.
    pub(crate) fn begin(&self) -> Piece {
        let mut pieces = self.lock();
        let number = pieces.next;
        pieces.next += 1;
        pieces.since.insert(number, Instant::now());
        Piece { running: self.clone(), number }
    }

    /// For how long the oldest piece has been at work; zero if there is none.
    pub(crate) fn longest(&self) -> Duration {
        self.lock().since.first_key_value().map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    /// A look at pending changes begins, in which pieces may end that their changes were still pending for.
    pub(crate) fn look(&self) -> Look {
        Look { running: self.clone(), longest: self.longest(), since: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.running.lock().since.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_piece_counts_until_it_ends() {
        let running = Running::default();
        assert_eq!(running.longest(), Duration::ZERO);
        let first = running.begin();
        let begun = Instant::now();
        let second = running.begin();
        assert!(running.longest() >= begun.elapsed());
        drop(first);
        assert!(running.longest() <= begun.elapsed());
        drop(second);
        assert_eq!(running.longest(), Duration::ZERO);
    }
    #[test]
    fn a_look_knows_of_pieces_that_end_meanwhile() {
        let running = Running::default();
        assert_eq!(running.look().longest(), Duration::ZERO);
        let piece = running.begin();
        let begun = Instant::now();
        let look = running.look();
        drop(piece);
        assert_eq!(running.longest(), Duration::ZERO);
        let until_now = begun.elapsed();
        assert!(look.longest() >= until_now);
        assert_eq!(running.look().longest(), Duration::ZERO);
    }
}
