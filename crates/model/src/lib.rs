//! What the product's words mean: users, edges, versions, times, positions, tokens, limits. No I/O.

mod deadline;
mod edge;
mod id;
mod import_id;
pub mod limits;
mod position;
mod post;
mod state;
mod time;
mod token;
mod version;
mod watch;

pub use deadline::Deadline;
pub use edge::{Edge, SelfReference};
pub use id::{InvalidUserId, UserId};
pub use import_id::{ImportId, InvalidImportId};
pub use position::{Entry, Order, Window};
pub use post::{FeedEntry, InvalidPostId, PostId};
pub use state::UserState;
pub use time::{InvalidTime, Micros};
pub use token::{FeedPlace, InvalidToken, TokenKey, TokenKind, WriteName};
pub use version::Version;
pub use watch::{SnapshotPlace, WatchPlace};
