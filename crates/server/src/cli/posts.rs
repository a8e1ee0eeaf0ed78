//! The commands about single posts, and the posts of one author.

use clap::Args;
use socialgraph::v1::{
    BatchGetPostsRequest, DeletePostRequest, GetDeliveryRequest, LikePostRequest, ListUserPostsRequest, PostName,
    UnlikePostRequest,
};

use super::{
    CallOptions, Error,
    feed::{View, view},
    freshness::Freshness,
    lists::Paging,
    print::Printer,
};

/// `delete-post`.
#[derive(Debug, Args)]
pub struct DeletePost {
    /// Who published it
    #[arg(allow_negative_numbers = true)]
    author: i64,
    /// The post's id
    #[arg(allow_negative_numbers = true)]
    post: i64,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl DeletePost {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = DeletePostRequest { author_id: self.author, post_id: self.post };
        let answer = self.call.graph().await?.delete_post(self.call.request(request)).await?;
        printer.message("socialgraph.v1.DeletePostResponse", answer.get_ref())
    }
}

/// `like` and `unlike`.
#[derive(Debug, Args)]
pub struct Like {
    /// Who likes it
    #[arg(allow_negative_numbers = true)]
    user: i64,
    /// Who published it
    #[arg(allow_negative_numbers = true)]
    author: i64,
    /// The post's id
    #[arg(allow_negative_numbers = true)]
    post: i64,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl Like {
    pub(super) async fn like(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = LikePostRequest { user_id: self.user, author_id: self.author, post_id: self.post };
        let answer = self.call.graph().await?.like_post(self.call.request(request)).await?;
        printer.message("socialgraph.v1.LikePostResponse", answer.get_ref())
    }

    pub(super) async fn unlike(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = UnlikePostRequest { user_id: self.user, author_id: self.author, post_id: self.post };
        let answer = self.call.graph().await?.unlike_post(self.call.request(request)).await?;
        printer.message("socialgraph.v1.UnlikePostResponse", answer.get_ref())
    }
}

/// `delivery`.
#[derive(Debug, Args)]
pub struct GetDelivery {
    /// Who published it
    #[arg(allow_negative_numbers = true)]
    author: i64,
    /// The post's id
    #[arg(allow_negative_numbers = true)]
    post: i64,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl GetDelivery {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = GetDeliveryRequest {
            author_id: self.author,
            post_id: self.post,
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.get_delivery(self.call.request(request)).await?;
        printer.message("socialgraph.v1.GetDeliveryResponse", answer.get_ref())
    }
}

/// `get-posts`.
#[derive(Debug, Args)]
pub struct GetPosts {
    /// Posts, each as the id of its author and its own
    #[arg(required = true, value_name = "AUTHOR:POST", value_parser = name)]
    posts: Vec<PostName>,
    /// Leave out posts from across a block of this user
    #[arg(long, value_name = "USER", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    viewer: i64,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

fn name(text: &str) -> Result<PostName, &'static str> {
    let ids = text.split_once(':').and_then(|(author, post)| Some((author.parse().ok()?, post.parse().ok()?)));
    let (author_id, post_id) = ids.ok_or("expected AUTHOR:POST, two numbers")?;
    Ok(PostName { author_id, post_id })
}

impl GetPosts {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let request = BatchGetPostsRequest {
            names: self.posts,
            viewer_id: self.viewer,
            consistency: self.freshness.consistency(),
        };
        let answer = self.call.graph().await?.batch_get_posts(self.call.request(request)).await?;
        printer.message("socialgraph.v1.BatchGetPostsResponse", answer.get_ref())
    }
}

/// `list-posts`.
#[derive(Debug, Args)]
pub struct ListPosts {
    /// Whose posts to list
    #[arg(allow_negative_numbers = true)]
    author: i64,
    #[command(flatten)]
    paging: Paging,
    /// How much of each post to print
    #[arg(long)]
    view: Option<View>,
    /// Refuse if there is a block between the author and this user
    #[arg(long, value_name = "USER", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    viewer: i64,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

impl ListPosts {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token: String| {
            let request = ListUserPostsRequest {
                author_id: self.author,
                page_size: self.paging.page_size(),
                page_token,
                view: view(self.view),
                viewer_id: self.viewer,
                consistency: self.freshness.consistency(),
            };
            client.clone().list_user_posts(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ListUserPostsResponse", fetch).await
    }
}
