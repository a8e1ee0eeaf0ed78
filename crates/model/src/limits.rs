//! Bounds on what a call may ask for, as the contract states them.

use std::{ops::RangeInclusive, time::Duration};

/// Of how many authors, whom they do not follow any more, a reader keeps posts at most.
pub const MAX_KEPT: u32 = 1_000;
/// Entries of a page when the caller names no number.
pub const DEFAULT_PAGE_SIZE: usize = 50;
/// Most entries of a page.
pub const MAX_PAGE_SIZE: usize = 500;
/// Most targets of one `BatchIsFollowing`.
pub const MAX_BATCH_TARGETS: usize = 1_000;
/// Most targets of one `GetRelationships`.
pub const MAX_BATCH_RELATIONSHIPS: usize = 200;
/// Most rows of one `BatchFollow` or `BatchUnfollow`.
pub const MAX_BATCH_ROWS: usize = 1_000;
/// Most users of one `BatchGetCounts`.
pub const MAX_BATCH_COUNTS: usize = 200;
/// Most posts of one `BatchGetPosts`: together they have less than 4 MiB.
pub const MAX_BATCH_POSTS: usize = 50;
/// Most users whose changes one `WatchRelationships` names.
pub const MAX_WATCHED_USERS: usize = 1_000;
/// After how long without a message `WatchRelationships` sends one without changes, when the caller does not say.
pub const DEFAULT_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);
/// What callers may choose for that.
pub const CHECKPOINT_INTERVAL_RANGE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(300);
/// Recommendations when the caller names no number.
pub const DEFAULT_RECOMMENDATIONS: usize = 20;
/// Most recommendations of a call.
pub const MAX_RECOMMENDATIONS: usize = 100;
/// Edges that `VerifyUser` and `RepairUser` look at when the caller names no number.
pub const DEFAULT_VERIFIED: usize = 10_000;
/// Most edges of a call of these.
pub const MAX_VERIFIED: usize = 50_000;
/// Most drifts that a call of these names.
pub const MAX_NAMED_DRIFTS: usize = 100;
/// Time budget of `CommonFollows`, `KnownFollowers` and `CommonFollowers` when the caller names none.
pub const DEFAULT_TIME_BUDGET: Duration = Duration::from_millis(100);
/// Largest time budget of these.
pub const MAX_TIME_BUDGET: Duration = Duration::from_secs(10);
/// How far in the future a given time may lie: clocks differ.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(10);
/// Most bytes of `FollowRequest.source`.
pub const MAX_SOURCE_BYTES: usize = 64;
/// Most bytes of a post's content and attributes together.
pub const MAX_POST_BYTES: usize = 64 * 1024;
/// Most attributes of a post.
pub const MAX_ATTRIBUTES: usize = 64;
/// Most bytes of an attribute's key.
pub const MAX_ATTRIBUTE_KEY_BYTES: usize = 64;
/// Most characters of a request id.
pub const MAX_REQUEST_ID_CHARS: usize = 64;
/// Most bytes of the posts of one page of a feed.
pub const MAX_PAGE_BYTES: usize = 3 << 20;
/// What `feed.inbox-cap` may be configured to. Below is of no use; above, a look at a whole inbox would take too long.
pub const INBOX_CAP_RANGE: RangeInclusive<u32> = 10..=1_000;
/// Most rows that an import names as faulty.
pub const MAX_IMPORT_ERRORS: usize = 100;
/// Most characters of an import's id.
pub const MAX_IMPORT_ID_CHARS: usize = 64;
/// What `max_following` may be configured to. Above, probing a list would take a Redis primary too long.
pub const MAX_FOLLOWING_RANGE: RangeInclusive<u32> = 1..=50_000;
/// How many users anyone may block, and how many they may mute. The sets are read as a whole.
pub const MAX_RELATIONS: u32 = 5_000;
/// What `limits.follows-per-hour` may be configured to.
pub const FOLLOWS_PER_HOUR_RANGE: RangeInclusive<u32> = 0..=1_000_000;
