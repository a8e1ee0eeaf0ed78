//! Exports, and what every one of them must be.

use socialgraph::v1::{ExportEdgesRequest, ExportEdgesResponse};

use super::{Api, Place, micros};

/// Follower, followee, and since when in microseconds.
pub(crate) type Row = (i64, i64, i64);

impl Api {
    /// All messages of an export, from a token on.
    pub(crate) async fn export(&self, resume_token: &str) -> Vec<ExportEdgesResponse> {
        let request = ExportEdgesRequest { resume_token: resume_token.to_owned() };
        let mut stream = self.social().export_edges(request).await.expect("export").into_inner();
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.message().await.expect("a message") {
            chunks.push(chunk);
        }
        chunks
    }
}

/// The rows of an export, in its order.
pub(crate) fn rows(chunks: &[ExportEdgesResponse]) -> Vec<Row> {
    let followers = chunks.iter().flat_map(|chunk| &chunk.followers);
    let of_follower = followers.flat_map(|follower| {
        follower.followees.iter().map(|followee| (follower.follower_id, followee.user_id, micros(followee.followed_at)))
    });
    of_follower.collect()
}

/// Puts rows in the order of an export: by partition, follower, time, and the text of the followee's id.
pub(crate) fn in_order(place: &Place, rows: &mut [Row]) {
    let keys = place.keys();
    rows.sort_by_key(|&(follower, followee, at)| {
        let user = model::UserId::new(follower).expect("an id");
        (keys.partition(user), follower, at, followee.to_string())
    });
}

/// Asserts what holds of the messages of every export: nobody comes twice, and each message is about some of one partition, and has a
/// token of its own.
pub(crate) fn assert_whole(place: &Place, chunks: &[ExportEdgesResponse]) {
    let keys = place.keys();
    let mut last = None;
    for chunk in chunks {
        assert!(!chunk.followers.is_empty() && !chunk.resume_token.is_empty());
        assert!(prost::Message::encoded_len(chunk) < 2 << 20);
        for follower in &chunk.followers {
            let partition = keys.partition(model::UserId::new(follower.follower_id).expect("an id")).get();
            assert_eq!(i32::from(partition), chunk.partition);
            let this = Some((partition, follower.follower_id));
            assert!(this > last, "{this:?} after {last:?}");
            last = this;
            assert!(!follower.followees.is_empty());
            assert!(follower.followees.iter().all(|followee| micros(followee.followed_at) <= chunk.version));
        }
    }
}
