use model::{Edge, Micros, UserId, limits::MAX_NAMED_DRIFTS};

use super::VerifiedPage;

/// In which way two things differ that should tell the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DriftKind {
    /// Somebody follows the followee, whose list lacks them.
    MissingFollower,
    /// The followee's list has somebody who does not follow them, or has them once too often.
    GhostFollower,
    /// The followee's list has the follower with another time.
    WrongTime,
    /// The set by which a long list of followees is probed lacks one of them.
    MissingId,
    /// The set has one whom the segments of the list do not have.
    StrayId,
    /// The count of a list is not its length.
    WrongCount,
}

impl DriftKind {
    const ALL: [Self; 6] =
        [Self::MissingFollower, Self::GhostFollower, Self::WrongTime, Self::MissingId, Self::StrayId, Self::WrongCount];

    fn label(self) -> &'static str {
        match self {
            Self::MissingFollower => "missing_follower",
            Self::GhostFollower => "ghost_follower",
            Self::WrongTime => "wrong_time",
            Self::MissingId => "missing_id",
            Self::StrayId => "stray_id",
            Self::WrongCount => "wrong_count",
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// In which way.
    pub kind: DriftKind,
    /// Who follows. Of a wrong count: whose list of followees it is.
    pub follower: Option<UserId>,
    /// Who is followed. Of a wrong count: whose list of followers it is.
    pub followee: Option<UserId>,
    /// Since when, as the follower's partition has it, which is the truth.
    pub followed_at: Option<Micros>,
    /// Since when, as the followee's list has it.
    pub listed_at: Option<Micros>,
    /// Of a wrong count: the count, and how many entries there are.
    pub count: Option<(i64, u64)>,
    /// Whether it was mended.
    pub is_repaired: bool,
}

impl Drift {
    pub(super) fn of_edge(kind: DriftKind, edge: Edge, truth: Option<Micros>, listed: Option<Micros>) -> Self {
        Self {
            kind,
            follower: Some(edge.follower()),
            followee: Some(edge.followee()),
            followed_at: truth,
            listed_at: listed,
            count: None,
            is_repaired: false,
        }
    }
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Found {
    named: Vec<Drift>,
    drifts: u64,
    pub(super) in_flight: u64,
    pub(super) unknown_lengths: u64,
}

impl Found {
    pub(super) fn add(&mut self, drift: Drift) {
        count_found(drift.kind, 1);
        count_repaired(drift.kind, drift.is_repaired.into());
        self.drifts += 1;
        if self.named.len() < MAX_NAMED_DRIFTS {
            self.named.push(drift);
        }
    }

    pub(super) fn into_page(self, edges: u64, next_page_token: String) -> VerifiedPage {
        VerifiedPage {
            edges,
            in_flight: self.in_flight,
            unknown_lengths: self.unknown_lengths,
            drifts: self.named,
            drift_count: self.drifts,
            next_page_token,
        }
    }
}

/// Metrics are shown from the start.
pub(crate) fn show_metrics() {
    for kind in DriftKind::ALL {
        count_found(kind, 0);
        count_repaired(kind, 0);
    }
}

fn count_found(kind: DriftKind, number: u64) {
    metrics::counter!("socialgraph_drifts_found_total", "kind" => kind.label()).increment(number);
}

fn count_repaired(kind: DriftKind, number: u64) {
    metrics::counter!("socialgraph_drifts_repaired_total", "kind" => kind.label()).increment(number);
}
