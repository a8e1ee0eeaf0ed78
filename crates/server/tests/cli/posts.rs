use socialgraph::v1::*;

use crate::{
    run,
    server::{Call, Fake},
};

#[tokio::test]
async fn commands_about_posts_reach_the_server() {
    let (fake, endpoint) = Fake::start().await;
    let name = |author_id, post_id| PostName { author_id, post_id };
    let list = |viewer_id, view: FeedView| ListUserPostsRequest {
        author_id: -1,
        page_size: 7,
        view: view.into(),
        viewer_id,
        ..ListUserPostsRequest::default()
    };
    let cases = [
        ("delete-post -1 -2", Call::DeletePost(DeletePostRequest { author_id: -1, post_id: -2 })),
        ("like -1 -2 3", Call::Like(LikePostRequest { user_id: -1, author_id: -2, post_id: 3 })),
        ("unlike 1 -2 -3", Call::Unlike(UnlikePostRequest { user_id: 1, author_id: -2, post_id: -3 })),
        ("delivery -1 2", Call::Delivery(GetDeliveryRequest { author_id: -1, post_id: 2, consistency: None })),
        (
            "get-posts 1:2 3:-4 1:2 --viewer 5",
            Call::GetPosts(BatchGetPostsRequest {
                names: vec![name(1, 2), name(3, -4), name(1, 2)],
                viewer_id: 5,
                consistency: None,
            }),
        ),
        ("list-posts -1 --page-size 7", Call::ListPosts(list(0, FeedView::Unspecified))),
        ("list-posts -1 --page-size 7 --view full --viewer -3", Call::ListPosts(list(-3, FeedView::Full))),
    ];
    for (line, expected) in cases {
        let outcome = run(&endpoint, line).await;
        assert!(outcome.ok, "{line}: {}", outcome.err);
        assert_eq!(fake.calls().last(), Some(&expected), "{line}");
    }
}
