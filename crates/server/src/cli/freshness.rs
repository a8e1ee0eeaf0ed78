//! The options of reads that tell how fresh the answer must be.

use clap::{Args, ValueEnum};
use socialgraph::v1::{self, consistency::Requirement};

/// How fresh the answer must be.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct Freshness {
    /// How fresh the answer must be
    #[arg(long)]
    consistency: Option<Consistency>,
    /// At least as fresh as the write that printed this consistency token
    #[arg(long, value_name = "TOKEN")]
    at_least_as_fresh: Option<String>,
}

/// How fresh a read must be.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Consistency {
    /// The fastest answer
    MinimizeLatency,
    /// As fresh as the last acknowledged write
    FullyConsistent,
}

impl From<Consistency> for Requirement {
    fn from(consistency: Consistency) -> Self {
        match consistency {
            Consistency::MinimizeLatency => Self::MinimizeLatency(true),
            Consistency::FullyConsistent => Self::FullyConsistent(true),
        }
    }
}

impl Freshness {
    pub(super) fn consistency(&self) -> Option<v1::Consistency> {
        let token = self.at_least_as_fresh.clone().map(Requirement::AtLeastAsFresh);
        let requirement = token.or(self.consistency.map(Requirement::from));
        requirement.map(|requirement| v1::Consistency { requirement: Some(requirement) })
    }
}
