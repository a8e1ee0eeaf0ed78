//! What the product does: the graph of follows, and the work behind it. Knows neither gRPC nor Redis' client.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]

mod batches;
mod common;
mod convert;
mod counts;
mod deleter;
mod deletion;
mod edges;
mod error;
mod export;
mod fan_out;
mod feed;
mod followers;
mod fresh;
mod graph;
mod import;
mod import_text;
mod inspect;
mod lanes;
mod lease;
mod limits;
mod lists;
mod outlines;
mod posts;
mod purge;
mod recommend;
mod relations;
mod relay;
mod resumable;
mod running;
mod search;
mod settle;
mod spread;
mod times;
mod topology;
mod verify;
mod versions;
mod waiting;
mod watch;
mod withdraw;

pub use batches::{Batch, FollowedRow, UnfollowedRow};
pub use common::{Common, CommonOrder, CommonPage, CommonQuery, FollowersQuery};
pub use deletion::{DeletionProgress, OperationName, UserDeletion};
pub use edges::{Followed, Unfollowed};
pub use error::ServiceError;
pub use export::ExportChunk;
pub use feed::{FeedCursor, FeedItem, FeedPage, FeedQuery, FeedStart};
pub use fresh::{Freshness, Write};
pub use graph::{Graph, GraphSettings, OpenError};
pub use import::{ImportRow, ImportSummary, RowFault, RowProblem};
pub use inspect::{InspectedKey, InspectedUser};
pub use keyspace::List;
pub use limits::CompactLimits;
pub use lists::{ListPage, ListQuery};
pub use posts::{NewPost, Post, Published};
pub use recommend::{RecommendQuery, Recommendations, Recommended};
pub use relations::{Mutual, MutualsPage, MutualsQuery, Relationship};
pub use resumable::{ResumedImport, SentRow};
pub use store::ops::{Change, ChangeKind, Counts};
pub use topology::{Instance, Node, NodeState, Topology};
pub use verify::{Drift, DriftKind, VerifiedPage, VerifyQuery};
pub use watch::{Watch, WatchBatch, WatchQuery};
