/// What a worker knows of an edge of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) state: State,
    /// Whether the followee's side shows it for sure; else it follows in a moment.
    pub(crate) both_sides: bool,
    /// The latest time since when the edge was ever there.
    pub(crate) last: i64,
}

/// Whether an edge is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It never was.
    #[default]
    Never,
    /// Since when.
    Present(i64),
    /// Unfollowed, perhaps without having been followed.
    Left,
}

impl Known {
    /// An edge that is there since a time in microseconds.
    pub(crate) fn present(self, at: i64, both_sides: bool) -> Self {
        Self { state: State::Present(at), both_sides, last: self.last.max(at) }
    }

    /// An edge that was unfollowed.
    pub(crate) fn left(self, both_sides: bool) -> Self {
        Self { state: State::Left, both_sides, last: self.last }
    }

    pub(crate) fn since(self) -> Option<i64> {
        match self.state {
            State::Present(at) => Some(at),
            State::Never | State::Left => None,
        }
    }
}
