//! What the product does: the graph of follows, and the work behind it. Knows neither gRPC nor Redis' client.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]

mod batches;
mod blocks;
mod common;
mod convert;
mod counts;
mod deleter;
mod deletion;
mod edges;
mod error;
mod fan_out;
mod feed;
mod followers;
mod fresh;
mod graph;
mod import;
mod inspect;
mod lanes;
mod lease;
mod limits;
mod lists;
mod marks;
mod outlines;
mod posts;
mod purge;
mod recommend;
mod relations;
mod relay;
mod running;
mod search;
mod settle;
mod spread;
mod times;
mod versions;
mod waiting;
mod withdraw;

pub use batches::{Batch, FollowedRow, UnfollowedRow};
pub use common::{Common, CommonOrder, CommonPage, CommonQuery, FollowersQuery};
pub use deletion::{DeletionProgress, OperationName, UserDeletion};
pub use edges::{Followed, Unfollowed};
pub use error::ServiceError;
pub use feed::{FeedCursor, FeedItem, FeedPage, FeedQuery, FeedStart};
pub use fresh::{Freshness, Write};
pub use graph::{Graph, GraphSettings, OpenError};
pub use import::{ImportRow, ImportSummary, RowFault, RowProblem};
pub use inspect::{InspectedKey, InspectedUser};
pub use keyspace::List;
pub use limits::CompactLimits;
pub use lists::{ListPage, ListQuery};
pub use marks::{Mark, Marked, MarksPage, MarksQuery, MarkedNow, Unmarked};
pub use posts::{NewPost, Post, Published};
pub use recommend::{RecommendQuery, Recommendations, Recommended};
pub use relations::{Mutual, MutualsPage, MutualsQuery, Relationship};
pub use store::ops::Counts;
