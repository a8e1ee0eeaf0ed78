//! Single posts, and the posts of one author.

use model::{PostId, UserId, limits::MAX_BATCH_POSTS};
use service::{DeletedPost, DeliveryProgress, LikeChange, UserPostsQuery};
use socialgraph::v1::{
    BatchGetPostsRequest, BatchGetPostsResponse, DeletePostRequest, DeletePostResponse, GetDeliveryRequest,
    GetDeliveryResponse, LikePostRequest, LikePostResponse, ListUserPostsRequest, ListUserPostsResponse, PostName,
    PostResult, UnlikePostRequest, UnlikePostResponse,
};
use tonic::{Request, Response, Status};

use super::{Api, consistency::freshness, deadline, feed, fields::Fields, status::status};

pub(super) async fn delete_post(
    Api { graph, .. }: &Api,
    request: Request<DeletePostRequest>,
) -> Result<Response<DeletePostResponse>, Status> {
    let deadline = deadline(&request);
    let DeletePostRequest { author_id, post_id } = request.into_inner();
    let mut fields = Fields::default();
    let (author, post) = (fields.user("author_id", author_id), fields.post("post_id", post_id));
    fields.finish()?;
    let DeletedPost { deleted, consistency_token } = graph.delete_post(author, post, deadline).await.map_err(status)?;
    Ok(Response::new(DeletePostResponse { deleted, consistency_token }))
}

pub(super) async fn like_post(
    Api { graph, .. }: &Api,
    request: Request<LikePostRequest>,
) -> Result<Response<LikePostResponse>, Status> {
    let deadline = deadline(&request);
    let LikePostRequest { user_id, author_id, post_id } = request.into_inner();
    let (user, author, post) = liked(user_id, author_id, post_id)?;
    let LikeChange { changed, likes, consistency_token } =
        graph.like(user, author, post, deadline).await.map_err(status)?;
    let like_count = likes.cast_signed();
    Ok(Response::new(LikePostResponse { created: changed, like_count, consistency_token }))
}

pub(super) async fn unlike_post(
    Api { graph, .. }: &Api,
    request: Request<UnlikePostRequest>,
) -> Result<Response<UnlikePostResponse>, Status> {
    let deadline = deadline(&request);
    let UnlikePostRequest { user_id, author_id, post_id } = request.into_inner();
    let (user, author, post) = liked(user_id, author_id, post_id)?;
    let LikeChange { changed, likes, consistency_token } =
        graph.unlike(user, author, post, deadline).await.map_err(status)?;
    let like_count = likes.cast_signed();
    Ok(Response::new(UnlikePostResponse { removed: changed, like_count, consistency_token }))
}

fn liked(user: i64, author: i64, post: i64) -> Result<(UserId, UserId, PostId), Status> {
    let mut fields = Fields::default();
    let liked = (fields.user("user_id", user), fields.user("author_id", author), fields.post("post_id", post));
    fields.finish()?;
    Ok(liked)
}

pub(super) async fn get_delivery(
    Api { graph, .. }: &Api,
    request: Request<GetDeliveryRequest>,
) -> Result<Response<GetDeliveryResponse>, Status> {
    let deadline = deadline(&request);
    let GetDeliveryRequest { author_id, post_id, consistency } = request.into_inner();
    let mut fields = Fields::default();
    let (author, post) = (fields.user("author_id", author_id), fields.post("post_id", post_id));
    let freshness = freshness(graph, &mut fields, consistency);
    fields.finish()?;
    let read = || graph.delivery(author, post, deadline);
    let DeliveryProgress { is_pulled, total, done, complete, lag } =
        graph.fresh(freshness, deadline, read).await.map_err(status)?;
    Ok(Response::new(GetDeliveryResponse {
        delivery: feed::delivery(is_pulled).into(),
        total: total.cast_signed(),
        done: done.cast_signed(),
        complete,
        lag: prost_types::Duration::try_from(lag).ok(),
    }))
}

pub(super) async fn batch_get_posts(
    Api { graph, .. }: &Api,
    request: Request<BatchGetPostsRequest>,
) -> Result<Response<BatchGetPostsResponse>, Status> {
    let deadline = deadline(&request);
    let BatchGetPostsRequest { names: given, viewer_id, consistency } = request.into_inner();
    let mut fields = Fields::default();
    let names = names(&mut fields, &given);
    let viewer = fields.viewer(viewer_id);
    let freshness = freshness(graph, &mut fields, consistency);
    fields.finish()?;
    let read = || graph.posts_by_name(&names, viewer, deadline);
    let posts = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let results = given.into_iter().zip(posts).map(|(PostName { author_id, post_id }, post)| PostResult {
        author_id,
        post_id,
        post: post.map(feed::post),
    });
    Ok(Response::new(BatchGetPostsResponse { results: results.collect() }))
}

fn names(fields: &mut Fields, names: &[PostName]) -> Vec<(UserId, PostId)> {
    let most = MAX_BATCH_POSTS;
    if !(1..=most).contains(&names.len()) {
        fields.refuse("names", format!("must have 1 to {most} posts, not {}", names.len()));
        return Vec::new();
    }
    let names = names.iter().enumerate().map(|(index, &PostName { author_id, post_id })| {
        let author = fields.user(&format!("names[{index}].author_id"), author_id);
        (author, fields.post(&format!("names[{index}].post_id"), post_id))
    });
    names.collect()
}

pub(super) async fn list_user_posts(
    Api { graph, .. }: &Api,
    request: Request<ListUserPostsRequest>,
) -> Result<Response<ListUserPostsResponse>, Status> {
    let deadline = deadline(&request);
    let request = request.into_inner();
    let mut fields = Fields::default();
    let query = UserPostsQuery {
        author: fields.user("author_id", request.author_id),
        viewer: fields.viewer(request.viewer_id),
        page_size: fields.page_size(request.page_size),
        page_token: request.page_token,
        full: feed::is_full(&mut fields, request.view),
    };
    let freshness = freshness(graph, &mut fields, request.consistency);
    fields.finish()?;
    let read = || graph.user_posts(query.clone(), deadline);
    let page = graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let items = page.items.into_iter().map(feed::item).collect();
    Ok(Response::new(ListUserPostsResponse { items, next_page_token: page.next_page_token }))
}
