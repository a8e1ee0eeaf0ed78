use service::{Freshness, Graph};
use socialgraph::v1::{Consistency, consistency::Requirement};

use super::fields::Fields;

/// How fresh a read must be. Checks the field `consistency`.
pub(super) fn freshness(graph: &Graph, fields: &mut Fields, consistency: Option<Consistency>) -> Freshness {
    match consistency.and_then(|consistency| consistency.requirement) {
        None | Some(Requirement::MinimizeLatency(true) | Requirement::FullyConsistent(true)) => {}
        Some(Requirement::AtLeastAsFresh(token)) => match graph.write_of(&token) {
            Ok(write) => return Freshness::AtLeast(write),
            Err(error) => fields.refuse("consistency.at_least_as_fresh", error),
        },
        Some(Requirement::MinimizeLatency(false)) => {
            fields.refuse("consistency.minimize_latency", "must be true if set");
        }
        Some(Requirement::FullyConsistent(false)) => {
            fields.refuse("consistency.fully_consistent", "must be true if set");
        }
    }
    Freshness::Latest
}
