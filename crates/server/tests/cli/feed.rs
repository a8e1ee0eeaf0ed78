use std::io::Write;

use prost_types::Timestamp;
use serde_json::{Value, json};
use socialgraph::v1::*;

use crate::{
    answers::{ENTRIES, FAILING},
    run, run_words,
    server::{Call, Fake},
};

#[tokio::test]
async fn every_option_of_a_post_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let options = "--content text --attribute lang=en --attribute formula=a=b --attribute lang=de --attribute empty= \
                   --published-at 1700000000123 --request-id r-1 --post-id -5";
    let attributes = [("lang", "de"), ("formula", "a=b"), ("empty", "")];
    let full = PublishPostRequest {
        author_id: -1,
        content: "text".into(),
        attributes: attributes.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        published_at: Some(Timestamp { seconds: 1_700_000_000, nanos: 123_000_000 }),
        request_id: "r-1".to_owned(),
        post_id: -5,
    };
    let empty = PublishPostRequest { author_id: 1, ..PublishPostRequest::default() };
    for (line, expected) in [(format!("publish -1 {options}"), full), ("publish 1".to_owned(), empty)] {
        let outcome = run(&endpoint, &line).await;
        assert!(outcome.ok, "{line}: {}", outcome.err);
        assert_eq!(fake.calls().last(), Some(&Call::Publish(expected)), "{line}");
    }
}

#[tokio::test]
async fn the_content_may_be_the_bytes_of_a_file() {
    let (fake, endpoint) = Fake::start().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"\xff\0\r\n").unwrap();
    let path = file.path().to_str().unwrap();
    assert!(run_words(&endpoint, &["publish", "1", "--content-file", path]).await.ok);
    let expected =
        PublishPostRequest { author_id: 1, content: b"\xff\0\r\n".as_slice().into(), ..PublishPostRequest::default() };
    assert_eq!(fake.calls(), [Call::Publish(expected)]);

    let outcome = run(&endpoint, "publish 1 --content-file /no/such/file").await;
    assert!(!outcome.ok && outcome.err.starts_with("error: cannot open /no/such/file: "), "{}", outcome.err);
    assert_eq!(fake.calls().len(), 1, "nothing is published");
}

#[tokio::test]
async fn every_option_of_a_scroll_reaches_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let request = |cursor, page_token: &str, view: FeedView| ScrollFeedRequest {
        user_id: -1,
        page_size: 7,
        page_token: page_token.to_owned(),
        cursor,
        view: view.into(),
        consistency: None,
    };
    let cursor = |max_time_ms, offset| Some(FeedCursor { max_time_ms, offset });
    let cases = [
        ("", request(None, "", FeedView::Unspecified)),
        (" --view ids --page-token 9", request(None, "9", FeedView::Ids)),
        (
            " --view full --max-time-ms 1700000000000 --offset 3",
            request(cursor(1_700_000_000_000, 3), "", FeedView::Full),
        ),
        (" --max-time-ms 5", request(cursor(5, 0), "", FeedView::Unspecified)),
        (" --max-time-ms -5 --offset -3", request(cursor(-5, -3), "", FeedView::Unspecified)),
    ];
    for (options, expected) in cases {
        let outcome = run(&endpoint, &format!("scroll -1 --page-size 7{options}")).await;
        assert!(outcome.ok, "{options}: {}", outcome.err);
        assert_eq!(fake.calls().last(), Some(&Call::Scroll(expected)), "{options}");
    }
}

#[tokio::test]
async fn a_post_is_printed_with_its_content() {
    let (_fake, endpoint) = Fake::start().await;
    let words = ["publish", "1", "--content", "hello, wörld\n", "--attribute", "b=2", "--attribute", "a=1"];
    assert_eq!(
        run_words(&endpoint, &words).await.out,
        "post_id            5\n\
         author_id          1\n\
         content            hello, wörld\\n\n\
         attributes         a=1 b=2\n\
         published_at       2023-11-14T22:13:20.000007Z\n\
         like_count         0\n\
         liked_by_viewer    false\n\
         delivery           DELIVERY_PUSH\n\
         audience           2\n\
         consistency_token  token-1\n\
         created            true\n"
    );
    assert_eq!(
        run_words(&endpoint, &[&words[..], &["--json"]].concat()).await.json(),
        json!({
            "post": {
                "postId": "5",
                "authorId": "1",
                "content": "aGVsbG8sIHfDtnJsZAo=",
                "attributes": {"a": "1", "b": "2"},
                "publishedAt": "2023-11-14T22:13:20.000007Z",
                "likeCount": "0",
                "likedByViewer": false,
            },
            "delivery": "DELIVERY_PUSH",
            "audience": "2",
            "consistencyToken": "token-1",
            "created": true,
        })
    );
}

#[tokio::test]
async fn a_page_of_a_feed_is_printed_with_both_ways_to_go_on() {
    let (_fake, endpoint) = Fake::start().await;
    let outcome = run(&endpoint, "scroll 1 --page-size 3 --view full").await;
    assert_eq!(
        outcome.out,
        "post_id  author_id  published_at                 content  attributes               like_count  liked_by_viewer\n      \
         1          2  2023-11-14T22:13:20.000001Z  post\\n1  kind=note\\u{1b} lang=en           3  true\n      \
         2          3  2023-11-14T22:13:20.000002Z  post\\n2  kind=note\\u{1b} lang=en           3  true\n      \
         3          4  2023-11-14T22:13:20.000003Z  ////     kind=note\\u{1b} lang=en           3  true\n\
         next_page_token  3\n\
         max_time_ms      1700000000000\n\
         offset           2\n\
         end_of_feed      false\n\
         partial          false\n"
    );
    let outcome = run(&endpoint, "scroll 1 --page-size 1 --page-token 1200").await;
    assert_eq!(
        outcome.out,
        "post_id  author_id  published_at\n   \
         1201       1202  2023-11-14T22:13:20.001201Z\n\
         max_time_ms  -\n\
         offset       -\n\
         end_of_feed  true\n\
         partial      false\n"
    );
    let json = run(&endpoint, "scroll 1 --page-size 1 --json").await.json();
    assert_eq!(
        json,
        json!({
            "items": [{"postId": "1", "authorId": "2", "publishedAt": "2023-11-14T22:13:20.000001Z"}],
            "nextPageToken": "1",
            "nextCursor": {"maxTimeMs": "1700000000000", "offset": 2},
            "endOfFeed": false,
            "partial": false,
        })
    );
}

#[tokio::test]
async fn a_long_text_shows_its_beginning_in_a_table() {
    let (_fake, endpoint) = Fake::start().await;
    let text = "é".repeat(1_000);
    let published = run_words(&endpoint, &["publish", "1", "--content", &text]).await;
    assert!(published.out.contains(&text), "not in a table");
    let scrolled = run(&endpoint, "scroll 1 --page-size 1 --page-token 1200 --view full").await;
    assert!(scrolled.out.contains(&format!(" {}…  kind=", "é".repeat(80))), "{}", scrolled.out);
}

#[tokio::test]
async fn all_pages_of_a_feed_begin_at_the_cursor_and_go_on_by_token() {
    let (fake, endpoint) = Fake::start().await;
    let json = run(&endpoint, "scroll 1 --max-time-ms 5 --offset 1 --all --json").await.json();
    let ids = json["items"].as_array().unwrap().iter().map(|item| item["postId"].as_str().unwrap().parse().unwrap());
    assert_eq!(ids.collect::<Vec<i64>>(), (1..=ENTRIES).collect::<Vec<_>>());
    assert_eq!((&json["endOfFeed"], &json["nextPageToken"]), (&json!(true), &json!("")));
    let starts = fake.calls().into_iter().map(|call| {
        let Call::Scroll(request) = call else { panic!("{call:?}") };
        (request.page_token, request.cursor)
    });
    let first = (String::new(), Some(FeedCursor { max_time_ms: 5, offset: 1 }));
    assert_eq!(starts.collect::<Vec<_>>(), [first, ("500".to_owned(), None), ("1000".to_owned(), None)]);

    let outcome = run(&endpoint, &format!("scroll {FAILING} --all --json")).await;
    assert!(!outcome.ok);
    assert_eq!(outcome.json()["nextPageToken"], "500");
    let error: Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!(error["reason"], "STORE_UNAVAILABLE");
}
