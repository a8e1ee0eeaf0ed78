//! All edges as a stream, follower by follower.

mod read;
mod survey;

use std::{collections::BTreeSet, time::Duration};

use futures::{Stream, stream::try_unfold};
use model::{Deadline, Entry, UserId, Version};
use store::StoreError;
use tokio::sync::OwnedSemaphorePermit;

use self::{read::read_some, survey::Survey};
use crate::{Graph, ServiceError};

/// Exports that an instance serves side by side: each remembers all followers.
pub(crate) const EXPORTS: usize = 4;
/// How long a step may take: longer than a failover.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Some followers of one partition, with all that they follow at one version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportChunk {
    /// The partition's number.
    pub partition: u16,
    /// The version.
    pub version: Version,
    /// Each follower, by id, and whom they follow, oldest first. Nobody who follows nobody.
    pub followers: Vec<(UserId, Vec<Entry>)>,
    /// An export with this token goes on after the chunk.
    pub resume_token: String,
    /// The last follower who was looked at.
    pub(crate) last: UserId,
}

impl Graph {
    /// All edges, by partition and follower, from the beginning or from where a token tells. They are read as fast as the stream is. It
    /// ends with the first error.
    pub fn export(
        &self,
        resume_token: &str,
        deadline: Option<Deadline>,
    ) -> Result<impl Stream<Item = Result<ExportChunk, ServiceError>> + Send + use<>, ServiceError> {
        let after = match resume_token {
            "" => None,
            token => Some(self.inner.tokens.open_export(token).map_err(|_| ServiceError::InvalidResumeToken)?),
        };
        self.export_after(after, None, deadline)
    }

    /// All edges after a follower, or those of some users.
    pub(crate) fn export_after(
        &self,
        after: Option<UserId>,
        of: Option<&BTreeSet<UserId>>,
        deadline: Option<Deadline>,
    ) -> Result<impl Stream<Item = Result<ExportChunk, ServiceError>> + Send + use<>, ServiceError> {
        let place = self.inner.exports.clone().try_acquire_owned().map_err(|_| ServiceError::Overloaded)?;
        let survey = of.map(|users| Survey::of(self.inner.store.keys(), users, after));
        let export = Export { graph: self.clone(), after, limit: Limit(deadline), survey, _place: place };
        Ok(try_unfold(export, Export::next))
    }
}

struct Export {
    graph: Graph,
    after: Option<UserId>,
    limit: Limit,
    /// Who is still to be exported; `None` before the first chunk.
    survey: Option<Survey>,
    _place: OwnedSemaphorePermit,
}

impl Export {
    async fn next(mut self) -> Result<Option<(ExportChunk, Self)>, ServiceError> {
        let store = &self.graph.inner.store;
        let mut survey = match self.survey.take() {
            Some(survey) => survey,
            None => Survey::make(store, self.after, self.limit).await?,
        };
        while let Some((partition, users)) = survey.first() {
            let (version, mut followers) = read_some(store, partition, users, self.limit).await?;
            survey.skip(followers.len());
            let Some(&(last, _)) = followers.last() else { break };
            followers.retain(|(_, followees)| !followees.is_empty());
            if followers.is_empty() {
                continue;
            }
            let edges: usize = followers.iter().map(|(_, followees)| followees.len()).sum();
            metrics::counter!("socialgraph_export_edges_total").increment(edges as u64);
            let resume_token = self.graph.inner.tokens.seal_export(last);
            let chunk = ExportChunk { partition: partition.get(), version, followers, resume_token, last };
            self.survey = Some(survey);
            return Ok(Some((chunk, self)));
        }
        Ok(None)
    }
}

/// By when a step must be done.
#[derive(Clone, Copy)]
struct Limit(Option<Deadline>);

impl Limit {
    /// Of a step that begins now.
    fn of_step(self) -> Deadline {
        let ours = Deadline::after(TIME_LIMIT);
        self.0.map_or(ours, |deadline| deadline.min(ours))
    }

    /// The error of a step.
    fn error(self, error: StoreError) -> ServiceError {
        if self.0.is_some_and(Deadline::has_passed) { error.into() } else { ServiceError::of_own_limit(error) }
    }
}
