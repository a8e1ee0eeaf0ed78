use std::time::{Duration, Instant};

/// The time by which a call's answer is wanted; it travels from the caller down to every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// At a given time.
    pub const fn at(time: Instant) -> Self {
        Self(time)
    }

    /// A duration from now.
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// The time.
    pub const fn instant(self) -> Instant {
        self.0
    }

    /// How long from now; zero once it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }
}
