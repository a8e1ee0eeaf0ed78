//! Posts and feeds: requests as the service takes them, and its answers as the contract has them.

use std::collections::HashMap;

use model::{FeedEntry, Micros, PostId, limits};
use prost_types::Timestamp;
use service::{FeedCursor, FeedItem, FeedPage, FeedQuery, FeedStart, Freshness, Graph, NewPost, Post, Published};
use socialgraph::v1::{
    self, Delivery, FeedPolicy, FeedView, PublishPostRequest, PublishPostResponse, ScrollFeedRequest,
    ScrollFeedResponse,
};
use tonic::Status;

use super::{consistency::freshness, convert::timestamp, fields::Fields};

/// The post that a request is to publish.
pub(super) fn new_post(request: PublishPostRequest) -> Result<NewPost, Status> {
    let mut fields = Fields::default();
    let author = fields.user("author_id", request.author_id);
    check_size(&mut fields, &request);
    check_attributes(&mut fields, &request.attributes);
    let published_at = request.published_at.map(|at| published_at(&mut fields, at));
    check_request_id(&mut fields, &request.request_id);
    let post = NewPost {
        author,
        content: request.content,
        attributes: request.attributes.into_iter().collect(),
        published_at,
        request_id: request.request_id,
        post_id: post_id(&mut fields, request.post_id),
    };
    fields.finish()?;
    Ok(post)
}

/// At least a millisecond after 1970: cursors count whole ones, from 1.
fn published_at(fields: &mut Fields, at: Timestamp) -> Micros {
    let at = fields.time("published_at", at, Micros::MAX);
    if at.get() < 1_000 {
        fields.refuse("published_at", "must be 1970-01-01T00:00:00.001Z or later");
    }
    at
}

fn check_size(fields: &mut Fields, request: &PublishPostRequest) {
    let attributes = request.attributes.iter().map(|(key, value)| key.len() + value.len());
    let size = request.content.len() + attributes.sum::<usize>();
    let most = limits::MAX_POST_BYTES;
    if size > most {
        fields.refuse("content", format!("must have at most {most} bytes together with the attributes, not {size}"));
    }
}

fn check_attributes(fields: &mut Fields, attributes: &HashMap<String, String>) {
    let (most, longest) = (limits::MAX_ATTRIBUTES, limits::MAX_ATTRIBUTE_KEY_BYTES);
    if attributes.len() > most {
        fields.refuse("attributes", format!("must have at most {most} entries, not {}", attributes.len()));
    } else if !attributes.keys().all(|key| (1..=longest).contains(&key.len())) {
        fields.refuse("attributes", format!("must have keys of 1 to {longest} bytes"));
    }
}

fn check_request_id(fields: &mut Fields, id: &str) {
    let most = limits::MAX_REQUEST_ID_CHARS;
    if !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        fields.refuse("request_id", "must be printable ASCII without blanks");
    } else if id.len() > most {
        fields.refuse("request_id", format!("must have at most {most} characters, not {}", id.len()));
    }
}

fn post_id(fields: &mut Fields, id: i64) -> Option<PostId> {
    match id {
        0 => None,
        ..0 => {
            fields.refuse("post_id", format!("must be 0 or greater, not {id}"));
            None
        }
        1.. => PostId::new(id).ok(),
    }
}

/// The page that a request asks for, and how fresh it must be.
pub(super) fn feed_query(graph: &Graph, request: ScrollFeedRequest) -> Result<(FeedQuery, Freshness), Status> {
    let mut fields = Fields::default();
    let query = FeedQuery {
        user: fields.user("user_id", request.user_id),
        page_size: fields.page_size(request.page_size),
        start: start(&mut fields, request.page_token, request.cursor),
        full: is_full(&mut fields, request.view),
    };
    let freshness = freshness(graph, &mut fields, request.consistency);
    fields.finish()?;
    Ok((query, freshness))
}

pub(super) fn is_full(fields: &mut Fields, view: i32) -> bool {
    match fields.one_of("view", view) {
        FeedView::Unspecified | FeedView::Ids => false,
        FeedView::Full => true,
    }
}

fn start(fields: &mut Fields, page_token: String, cursor: Option<v1::FeedCursor>) -> FeedStart {
    match cursor.map(|given| cursor_of(fields, given)) {
        Some(_) if !page_token.is_empty() => {
            fields.refuse("cursor", "must be absent if page_token is given");
            FeedStart::Newest
        }
        Some(cursor) => FeedStart::Cursor(cursor),
        None if page_token.is_empty() => FeedStart::Newest,
        None => FeedStart::Token(page_token),
    }
}

fn cursor_of(fields: &mut Fields, cursor: v1::FeedCursor) -> FeedCursor {
    let v1::FeedCursor { max_time_ms, offset } = cursor;
    FeedCursor { max_time_ms: millis(fields, max_time_ms), offset: passed_over(fields, offset) }
}

/// A millisecond whose every microsecond is a time of ours.
fn millis(fields: &mut Fields, millis: i64) -> u64 {
    const MOST: u64 = (Micros::MAX.get() - 999) / 1_000;
    match u64::try_from(millis) {
        Ok(millis @ 1..=MOST) => millis,
        _ => {
            fields.refuse("cursor.max_time_ms", format!("must be 1 to {MOST}, not {millis}"));
            0
        }
    }
}

fn passed_over(fields: &mut Fields, offset: i32) -> u32 {
    u32::try_from(offset).unwrap_or_else(|_| {
        fields.refuse("cursor.offset", format!("must be 0 or greater, not {offset}"));
        0
    })
}

pub(super) fn policy(fields: &mut Fields, policy: i32) -> service::FeedPolicy {
    match fields.one_of("feed_policy", policy) {
        FeedPolicy::Unspecified | FeedPolicy::Hide => service::FeedPolicy::Hide,
        FeedPolicy::Purge => service::FeedPolicy::Purge,
        FeedPolicy::KeepDelivered => service::FeedPolicy::Keep,
    }
}

pub(super) fn published(published: Published) -> PublishPostResponse {
    PublishPostResponse {
        post: Some(post(published.post)),
        delivery: delivery(published.is_pulled).into(),
        audience: published.audience.cast_signed(),
        consistency_token: published.consistency_token,
        created: published.created,
    }
}

pub(super) fn delivery(is_pulled: bool) -> Delivery {
    if is_pulled { Delivery::Pull } else { Delivery::Push }
}

pub(super) fn feed_page(page: FeedPage) -> ScrollFeedResponse {
    ScrollFeedResponse {
        items: page.items.into_iter().map(item).collect(),
        next_page_token: page.next_page_token,
        next_cursor: page.next_cursor.map(cursor),
        end_of_feed: page.end_of_feed,
        partial: page.partial,
    }
}

fn cursor(FeedCursor { max_time_ms, offset }: FeedCursor) -> v1::FeedCursor {
    v1::FeedCursor { max_time_ms: max_time_ms.cast_signed(), offset: offset.cast_signed() }
}

pub(super) fn item(item: FeedItem) -> v1::FeedItem {
    let FeedEntry { at, post: id, author } = item.entry;
    v1::FeedItem {
        post_id: id.get(),
        author_id: author.get(),
        published_at: Some(timestamp(at)),
        post: item.post.map(post),
    }
}

pub(super) fn post(post: Post) -> v1::Post {
    v1::Post {
        post_id: post.id.get(),
        author_id: post.author.get(),
        content: post.content,
        attributes: post.attributes.into_iter().collect(),
        published_at: Some(timestamp(post.published_at)),
        like_count: post.likes.cast_signed(),
        liked_by_viewer: post.is_liked,
    }
}
