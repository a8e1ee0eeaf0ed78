//! DeletePost, BatchGetPosts, ListUserPosts, GetDelivery.

use socialgraph::v1::{
    BatchGetPostsRequest, DeletePostRequest, Delivery, FeedView, GetDeliveryRequest, GetDeliveryResponse,
    ListUserPostsRequest, PostName, PublishPostRequest, SetUserStateRequest, UserState,
};
use tonic::Code;

use super::support::{
    BEGIN, MILLISECOND, assert_reused, becomes, feed, inbox_len, lose, newest_first, post, post_at, publish,
    publish_all,
};
use crate::{
    feeds::Entry,
    support::{Api, Place, Refusal, eventually, refused},
};

const ME: i64 = 50;
/// An inbox of two parts.
const SMALL: [(&str, &str); 1] = [("feed.inbox-cap", "150")];

async fn delete(api: &Api, entry: Entry) -> bool {
    let request = DeletePostRequest { author_id: entry.author, post_id: entry.post };
    let answer = api.social().delete_post(request).await.unwrap().into_inner();
    assert!(!answer.consistency_token.is_empty());
    answer.deleted
}

/// How many posts a user's inbox has, in all of its parts.
async fn in_inbox(place: &Place, user: i64) -> usize {
    let mut entries = inbox_len(place, user).await - 1;
    for (node, part) in place.redis.scan(&format!("{}:*:inbox:{user}:*", place.name)).await {
        entries += place.redis.on_node(node, &["ZCARD", &part]).await.trim().parse::<usize>().unwrap();
    }
    entries
}

fn name(entry: Entry) -> PostName {
    PostName { author_id: entry.author, post_id: entry.post }
}

fn names(names: Vec<PostName>) -> BatchGetPostsRequest {
    BatchGetPostsRequest { names, ..Default::default() }
}

/// Which of some posts are given.
async fn given(api: &Api, request: BatchGetPostsRequest) -> Vec<bool> {
    let asked = request.names.clone();
    let results = api.social().batch_get_posts(request).await.unwrap().into_inner().results;
    let told: Vec<_> =
        results.iter().map(|result| PostName { author_id: result.author_id, post_id: result.post_id }).collect();
    assert_eq!(told, asked);
    for result in &results {
        if let Some(post) = &result.post {
            assert_eq!((post.author_id, post.post_id), (result.author_id, result.post_id));
        }
    }
    results.iter().map(|result| result.post.is_some()).collect()
}

fn list(author_id: i64) -> ListUserPostsRequest {
    ListUserPostsRequest { author_id, ..Default::default() }
}

/// All pages of a list of posts.
async fn listed(api: &Api, request: ListUserPostsRequest) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListUserPostsRequest { page_token, ..request.clone() };
        let page = api.social().list_user_posts(request.clone()).await.unwrap().into_inner();
        for item in &page.items {
            assert_eq!(item.post.is_some(), request.view() == FeedView::Full);
            entries.push(Entry::of_item(item));
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return entries;
        }
    }
}

async fn field_f23_a_deleted_post_is_gone_from_every_read_at_once(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, 1).await;
    assert_eq!(feed(&api, ME).await, []);
    let mut expected = publish_all(&api, (0..5).map(|_| post(1))).await;
    becomes(&api, ME, &expected).await;
    let deleted = expected.remove(2);
    assert!(delete(&api, deleted).await);
    // Not `becomes`: at once.
    for user in [1, ME] {
        assert_eq!(feed(&api, user).await, expected, "{user}");
    }
    assert_eq!(listed(&api, list(1)).await, expected);
    assert_eq!(api.posts(1).await, 4);
    assert_eq!(given(&api, names(vec![name(deleted), name(expected[0])])).await, [false, true]);

    assert!(!delete(&api, deleted).await, "again");
    assert!(!delete(&api, Entry { post: 123, ..deleted }).await, "never there");
    assert_eq!(feed(&api, ME).await, expected);
}

/// What a reader comes across goes from the inbox.
async fn field_f23_a_deleted_post_is_gone_from_storage_later(place: Place) {
    let api = place.serve(&SMALL).await;
    api.follow(ME, 1).await;
    assert_eq!(feed(&api, ME).await, []);
    let mut expected = publish_all(&api, (0..200).map(|n| post_at(1, BEGIN + n * MILLISECOND))).await;
    becomes(&api, ME, &expected).await;
    let reaches = in_inbox(&place, ME).await;
    assert!((130..=150).contains(&reaches), "{reaches}");
    // Most of the head, and some of what is older.
    let (gone, left): (Vec<_>, Vec<_>) =
        expected.iter().enumerate().partition(|&(number, _)| number < 100 || number % 3 == 0);
    for (_, &entry) in gone {
        assert!(delete(&api, entry).await);
    }
    let kept = left.iter().filter(|&&(number, _)| number < reaches).count();
    expected = left.into_iter().map(|(_, &entry)| entry).collect();
    assert_eq!(feed(&api, ME).await, expected);
    let only_kept = async || (in_inbox(&place, ME).await == kept).then_some(());
    eventually("the inbox has only what is there", only_kept).await;
    assert_eq!(feed(&api, ME).await, expected);
    let next = publish(&api, post(1)).await;
    expected.insert(0, next);
    becomes(&api, ME, &expected).await;
}

/// No push brings back what is deleted, and the relay does not begin again.
async fn a_deletion_wins_against_what_is_on_its_way(place: Place) {
    let writer = place.serve(&[]).await;
    let reader = place.serve(&[]).await;
    let readers = ME..ME + 300;
    for id in readers.clone() {
        writer.follow(id, 1).await;
    }
    for id in [ME, ME + 299] {
        assert_eq!(feed(&writer, id).await, []);
    }
    for round in 0..10 {
        let request = PublishPostRequest { post_id: 7_000 + round, ..post(1) };
        let name = DeletePostRequest { author_id: 1, post_id: request.post_id };
        let deleting = eventually("it is there to be deleted", async || {
            let answer = reader.social().delete_post(name).await.unwrap().into_inner();
            answer.deleted.then_some(())
        });
        let (published, ()) = tokio::join!(writer.publish_with(request), deleting);
        let deleted = Entry::of_post(published.post.as_ref().unwrap());
        for id in [ME, ME + 299] {
            assert!(!feed(&reader, id).await.contains(&deleted), "{round}");
        }
    }
    place.settled().await;
    for id in [1, ME, ME + 299] {
        assert_eq!(feed(&reader, id).await, []);
    }
}

async fn a_late_request_does_not_bring_a_post_back(place: Place) {
    let api = place.serve(&[]).await;
    let by_id = PublishPostRequest { post_id: 9, ..post(1) };
    let by_request = PublishPostRequest { request_id: "r".to_owned(), ..post(1) };
    for request in [&by_id, &by_request] {
        let entry = publish(&api, request.clone()).await;
        assert!(delete(&api, entry).await);
        assert_eq!(given(&api, names(vec![name(entry)])).await, [false]);
    }
    assert_reused(api.social().publish_post(by_id.clone()).await);
    assert!(!api.publish_with(by_request).await.created);
    assert_eq!(listed(&api, list(1)).await, []);
    assert_eq!(feed(&api, 1).await, []);
    // The id of another author's.
    publish(&api, PublishPostRequest { author_id: 2, ..by_id }).await;
}

/// Also in long timelines, of which the older posts lie in segments.
async fn posts_of_an_author_are_listed_to_the_first(place: Place) {
    let api = place.serve(&[]).await;
    // Ten a microsecond.
    let requests = (0..400).map(|n| PublishPostRequest { post_id: n + 1, ..post_at(1, BEGIN + n / 10) });
    let mut expected = publish_all(&api, requests).await;
    publish(&api, post(2)).await;
    for (page_size, view) in [(0, FeedView::Ids), (7, FeedView::Full), (500, FeedView::Unspecified)] {
        let request = ListUserPostsRequest { page_size, view: view.into(), ..list(1) };
        assert_eq!(listed(&api, request).await, expected, "{page_size}");
    }
    // Those at the ends of segments among them.
    for position in [399, 304, 303, 271, 270, 100, 0] {
        assert!(delete(&api, expected.remove(position)).await);
    }
    for page_size in [3, 100] {
        assert_eq!(listed(&api, ListUserPostsRequest { page_size, ..list(1) }).await, expected);
    }
    assert_eq!(api.posts(1).await, 393);
    assert_eq!(listed(&api, list(3)).await, []);
}

/// What goes and comes between two pages.
async fn pages_of_posts_survive_changes(place: Place) {
    let api = place.serve(&[]).await;
    let all = publish_all(&api, (0..10).map(|n| post_at(1, BEGIN + n))).await;
    let request = ListUserPostsRequest { page_size: 4, ..list(1) };
    let first = api.social().list_user_posts(request.clone()).await.unwrap().into_inner();
    // The last that was shown, and the next one.
    for position in [3, 4] {
        assert!(delete(&api, all[position]).await);
    }
    publish(&api, post(1)).await;
    let rest = ListUserPostsRequest { page_token: first.next_page_token.clone(), page_size: 500, ..list(1) };
    let rest = api.social().list_user_posts(rest).await.unwrap().into_inner();
    assert_eq!(rest.items.iter().map(Entry::of_item).collect::<Vec<_>>(), all[5..]);
    // A token is of one author and one viewer.
    for other in [list(2), ListUserPostsRequest { viewer_id: 5, ..list(1) }] {
        let request = ListUserPostsRequest { page_token: first.next_page_token.clone(), ..other };
        refused(api.social().list_user_posts(request).await, &Refusal::page_token(), "a token of another list");
    }
}

async fn posts_are_given_as_they_were_published(place: Place) {
    let api = place.serve(&[]).await;
    let request = PublishPostRequest {
        content: vec![0xff; 60_000].into(),
        attributes: [("k".to_owned(), "v".to_owned())].into(),
        ..post_at(1, BEGIN)
    };
    let mut posts = Vec::new();
    for n in 0..50 {
        posts.push(api.publish_with(PublishPostRequest { post_id: n + 1, ..request.clone() }).await.post.unwrap());
    }
    let asked: Vec<_> = posts.iter().map(|post| name(Entry::of_post(post))).collect();
    let results = api.social().batch_get_posts(names(asked.clone())).await.unwrap().into_inner().results;
    assert_eq!(results.into_iter().map(|result| result.post.unwrap()).collect::<Vec<_>>(), posts);
    let repeated = vec![asked[3], PostName { author_id: 2, ..asked[3] }, asked[3]];
    assert_eq!(given(&api, names(repeated)).await, [true, false, true]);
}

async fn posts_of_who_is_not_active_or_across_a_block_are_not_shown(place: Place) {
    let api = place.serve(&[]).await;
    let entries = newest_first(publish_all(&api, (1..=3).map(post)).await);
    let asked: Vec<_> =
        (1..=3).map(|author| name(*entries.iter().find(|entry| entry.author == author).unwrap())).collect();
    let seen_by = |viewer_id| BatchGetPostsRequest { viewer_id, ..names(asked.clone()) };
    api.block(1, ME).await;
    api.block(ME, 2).await;
    assert_eq!(given(&api, seen_by(ME)).await, [false, false, true]);
    for viewer in [0, 9, 1] {
        assert_eq!(given(&api, seen_by(viewer)).await, [true, true, true], "{viewer}");
    }
    let blocked = Refusal::new(Code::PermissionDenied, "BLOCKED");
    for author in [1, 2] {
        let request = ListUserPostsRequest { viewer_id: ME, ..list(author) };
        refused(api.social().list_user_posts(request).await, &blocked, "across a block");
        assert_eq!(listed(&api, list(author)).await.len(), 1);
    }
    let suspend = SetUserStateRequest { user_id: 3, state: UserState::Suspended.into() };
    api.social().set_user_state(suspend).await.unwrap();
    assert_eq!(given(&api, seen_by(0)).await, [true, true, false]);
    let unavailable = Refusal::new(Code::FailedPrecondition, "USER_UNAVAILABLE");
    refused(api.social().list_user_posts(list(3)).await, &unavailable, "not active");
}

async fn it_is_told_how_far_a_post_is(place: Place) {
    let api = place.serve(&[]).await;
    let delivery = async |entry: Entry| {
        let request = GetDeliveryRequest { author_id: entry.author, post_id: entry.post, consistency: None };
        api.social().get_delivery(request).await
    };
    let to_nobody = delivery(publish(&api, post(1)).await).await.unwrap().into_inner();
    let nothing = Some(prost_types::Duration::default());
    let expected =
        GetDeliveryResponse { delivery: Delivery::Push.into(), complete: true, lag: nothing, ..Default::default() };
    assert_eq!(to_nobody, expected);
    for reader in ME..ME + 3 {
        api.follow(reader, 1).await;
    }
    assert_eq!(feed(&api, ME).await.len(), 1);
    let entry = publish(&api, post(1)).await;
    let complete = async || Some(delivery(entry).await.unwrap().into_inner()).filter(|known| known.complete);
    let ended = eventually("it is delivered", complete).await;
    // Those without an inbox count as well.
    assert_eq!((ended.total, ended.done), (3, 3));
    let lag = ended.lag.unwrap();
    assert!(lag.nanos > 0 || lag.seconds > 0);
    assert_eq!(delivery(entry).await.unwrap().into_inner(), ended);
    let not_found = Refusal::new(Code::NotFound, "POST_NOT_FOUND");
    refused(delivery(Entry { post: 12_345, ..entry }).await, &not_found, "never there");
    assert!(delete(&api, entry).await);
    refused(delivery(entry).await, &not_found, "deleted");
    refused(delivery(Entry { post: 0, author: -1, ..entry }).await, &Refusal::fields(&["author_id", "post_id"]), "bad");
}

async fn bad_names_of_posts_are_refused(place: Place) {
    let api = place.serve(&[]).await;
    let name = |author_id, post_id| PostName { author_id, post_id };
    for (fields, request) in [
        (&["names"][..], names(Vec::new())),
        (&["names"], names(vec![name(1, 1); 51])),
        (&["names[1].author_id", "names[2].post_id"], names(vec![name(1, 1), name(0, 1), name(1, -1)])),
        (&["viewer_id"], BatchGetPostsRequest { viewer_id: -1, ..names(vec![name(1, 1)]) }),
    ] {
        refused(api.social().batch_get_posts(request).await, &Refusal::fields(fields), "names");
    }
    let request = DeletePostRequest { author_id: -1, post_id: 0 };
    refused(api.social().delete_post(request).await, &Refusal::fields(&["author_id", "post_id"]), "delete");
    let request = ListUserPostsRequest {
        author_id: 0,
        page_size: 501,
        view: 9,
        viewer_id: -1,
        ..ListUserPostsRequest::default()
    };
    let fields = ["author_id", "viewer_id", "page_size", "view"];
    refused(api.social().list_user_posts(request).await, &Refusal::fields(&fields), "list");
}

/// The same as of a post that was lost past the service.
async fn field_f22_what_was_lost_is_passed_over_and_forgotten(place: Place) {
    let api = place.serve(&[]).await;
    api.follow(ME, 1).await;
    assert_eq!(feed(&api, ME).await, []);
    let mut expected = publish_all(&api, (0..10).map(|_| post(1))).await;
    becomes(&api, ME, &expected).await;
    for position in [9, 4, 0] {
        lose(&place, expected.remove(position)).await;
    }
    assert_eq!(feed(&api, ME).await, expected);
    eventually("they are forgotten", async || (in_inbox(&place, ME).await == 7).then_some(())).await;
    assert_eq!(feed(&api, ME).await, expected);
}

on_each_backend!(
    field_f23_a_deleted_post_is_gone_from_every_read_at_once,
    field_f23_a_deleted_post_is_gone_from_storage_later,
    a_deletion_wins_against_what_is_on_its_way,
    a_late_request_does_not_bring_a_post_back,
    posts_of_an_author_are_listed_to_the_first,
    pages_of_posts_survive_changes,
    posts_are_given_as_they_were_published,
    posts_of_who_is_not_active_or_across_a_block_are_not_shown,
    it_is_told_how_far_a_post_is,
    bad_names_of_posts_are_refused,
    field_f22_what_was_lost_is_passed_over_and_forgotten,
);
