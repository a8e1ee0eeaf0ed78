/// Whether a user is active. Of who is not, nobody sees a follow or a post, and they follow nobody and publish nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserState {
    /// As everybody is at first.
    Active,
    /// Not active by the will of others. May become active again.
    Suspended,
    /// Not active by their own will. May become active again.
    Deactivated,
    /// Gone for good.
    Deleted,
}

impl UserState {
    /// The name, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deactivated => "deactivated",
            Self::Deleted => "deleted",
        }
    }

    /// Reads a [name](Self::name).
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Active, Self::Suspended, Self::Deactivated, Self::Deleted].into_iter().find(|state| state.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for state in [UserState::Active, UserState::Suspended, UserState::Deactivated, UserState::Deleted] {
            assert_eq!(UserState::parse(state.name()), Some(state));
        }
        assert_eq!(UserState::parse("Active"), None);
    }
}
