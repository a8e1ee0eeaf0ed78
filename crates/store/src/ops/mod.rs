//! What the store can do, each as a value: its fields are what it takes, [`Operation::Output`] what it gives.

mod batches;
mod cluster;
mod commit;
mod deletion;
mod deliveries;
mod dismissals;
mod export;
mod followers;
mod imports;
mod inbox;
mod kept;
mod keyspace;
mod likes;
mod lists;
mod look_up;
mod marks;
mod moves;
mod newest;
mod pending;
mod posts;
mod shards;
mod states;
mod tally;
mod timelines;
mod turns;
mod watch;
mod whole_lists;
mod withdraw;

use ::keyspace::{CrossSlot, Keyspace};
use fred::types::Value;

pub use batches::{EndOutcome, UnfollowMany, UnfollowedMany};
pub use cluster::{ClusterNode, ClusterNodes, Instances, NodeState};
pub use commit::{Committed, Follow, FollowRow, FollowerRows, RowOutcome, Unfollow, Unfollowed};
pub use deletion::{
    ClaimOperation, CloseShard, CountShards, DeleteUser, Duty, EndDeletion, EndDuty, ErasePosts, Unfinished,
};
pub use deliveries::{Delivered, FindDelivery, SaveDelivery};
pub use dismissals::{Dismiss, Dismissed};
pub use export::{ListsRead, ShortLists};
pub use followers::{
    Applied, Apply, ApplyToShard, Cause, FollowerChange, Refusal, Refused, Routed, ShardGrowth, Shown,
};
pub use imports::{BeginImport, Checkpoint, SaveImport};
pub use inbox::{Forget, Inbox, Lack, Merge, Merging, Purge, Push, PushOne, Pushed, Scroll, inbox_segments};
pub use kept::{Kept, ReadKept};
pub use keyspace::{
    ClaimConversion, Compact, EndConversion, EndTrial, Format, Inspect, Inspected, Lease, OpenFormat, Resign, ScanKeys,
    TryCompact,
};
pub use likes::{
    CommitLike, DropNote, FindNote, ForgetLikers, IsLiker, Like, LikeOutcome, LikerSet, Likes, NoteLike, NoteOutcome,
    SomeLiked, SomeLikers, Unlike, WasLiked,
};
pub use lists::{
    Clock, Convert, Converted, Count, Counts, NewestParts, Part, Probe, ProbeFollowers, Probed, ProbedAll, Range,
    RangePart, Stretch,
};
pub use look_up::{LookUp, LookUpRow, LookedUp, Restate, Restated};
pub use marks::{Block, Blocked, BlockedSince, Held, HeldMarks, Mark, MarkOutcome, Marked, Marks, Mute, Muted, Unmark};
pub use moves::{Move, MoveEdges, ReadAside, ReadHidden};
pub use newest::Newest;
pub use pending::{Due, DueChange, LogChange, OldestPending, Settle, TrimLog, Written, WrittenSoFar};
pub use posts::{DeletePost, FetchPost, HasPost, Publish, PublishOutcome, Published, StoredPost};
pub use shards::{Adopt, HandOver, IsListed, Recount, Spread, SpreadStep, Spreading};
pub use states::{EndMove, FindOperation, FindState, SaveMove, Saved, SetState, UserOperation};
pub use tally::{CheckIds, IdState, ScanIds, Tallied, Tally};
pub use timelines::{Listed, Place, Timeline, TimelinePart};
pub use turns::{FindTurn, MarkPulled, Mode, SaveTurn, Turn};
pub use watch::{Change, ChangeKind, LogEntry, LogPart, ReadLog};
pub use whole_lists::{MOST_SEGMENTS, Outline, Outlined, Segment, Span, SpanUsers};
pub use withdraw::{Withdraw, Withdrawn, WithdrawnRow};

use crate::{StoreError, call::Call};

/// Most rows of one script that writes.
pub const MOST_ROWS: usize = 64;

/// One script or command on the keys of one slot.
pub trait Operation: Send + Sync {
    /// What it gives.
    type Output: Send;

    #[doc(hidden)]
    fn call(&self, keys: &Keyspace) -> Result<Call, StoreError>;

    #[doc(hidden)]
    fn answer(&self, value: Value) -> Result<Self::Output, StoreError>;
}

impl From<CrossSlot> for StoreError {
    fn from(error: CrossSlot) -> Self {
        Self::Refused(error.to_string())
    }
}
