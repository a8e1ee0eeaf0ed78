//! The commands of posts and feeds.

use std::{
    collections::HashMap,
    fs,
    io::{self, Read, stdin},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use prost_types::Timestamp;
use socialgraph::v1::{self, FeedCursor, PublishPostRequest, ScrollFeedRequest};

use super::{CallOptions, Error, freshness::Freshness, lists::Paging, print::Printer, time};

/// `publish`.
#[derive(Debug, Args)]
pub struct Publish {
    /// Who publishes
    #[arg(allow_negative_numbers = true)]
    author: i64,
    /// What is published, as text
    #[arg(long, value_name = "TEXT", conflicts_with = "content_file")]
    content: Option<String>,
    /// What is published: the bytes of a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    content_file: Option<PathBuf>,
    /// What goes with the content; may be repeated. Of a key that is given twice, the last value counts
    #[arg(long = "attribute", value_name = "KEY=VALUE", value_parser = attribute)]
    attributes: Vec<(String, String)>,
    /// When it was published: RFC 3339, or Unix time of 10 (s), 13 (ms) or 16 (µs) digits; now if not given
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    published_at: Option<Timestamp>,
    /// Names this request, so that it may be repeated
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    request_id: String,
    /// The id that the post is to have; 0: the service makes one
    #[arg(long, value_name = "ID", default_value_t = 0, allow_negative_numbers = true)]
    post_id: i64,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

fn attribute(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Publish {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let content = match &self.content_file {
            Some(path) => read(path).map_err(|source| Error::Open { path: path.clone(), source })?,
            None => self.content.unwrap_or_default().into_bytes(),
        };
        let request = PublishPostRequest {
            author_id: self.author,
            content: content.into(),
            attributes: HashMap::from_iter(self.attributes),
            published_at: self.published_at,
            request_id: self.request_id,
            post_id: self.post_id,
        };
        let answer = self.call.graph().await?.publish_post(self.call.request(request)).await?;
        printer.message("socialgraph.v1.PublishPostResponse", answer.get_ref())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return fs::read(path);
    }
    let mut content = Vec::new();
    stdin().read_to_end(&mut content)?;
    Ok(content)
}

/// `scroll`.
#[derive(Debug, Args)]
pub struct Scroll {
    /// Whose feed to read
    #[arg(allow_negative_numbers = true)]
    user: i64,
    #[command(flatten)]
    paging: Paging,
    /// Where to go on: the max_time_ms of the page before, instead of a page token
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "page_token")]
    max_time_ms: Option<i64>,
    /// How many items of this millisecond to pass over: the offset of the page before
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, requires = "max_time_ms")]
    offset: i32,
    /// How much of each post to print
    #[arg(long)]
    view: Option<View>,
    #[command(flatten)]
    freshness: Freshness,
    #[command(flatten)]
    pub(super) call: CallOptions,
}

/// How much of each post to give.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum View {
    /// Ids and times
    Ids,
    /// The whole post, of which a table has the beginning
    Full,
}

impl From<View> for v1::FeedView {
    fn from(view: View) -> Self {
        match view {
            View::Ids => Self::Ids,
            View::Full => Self::Full,
        }
    }
}

/// The field `view` of a request.
pub(super) fn view(view: Option<View>) -> i32 {
    view.map(v1::FeedView::from).unwrap_or_default().into()
}

impl Scroll {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let client = self.call.graph().await?;
        let fetch = async |page_token: String| {
            let request = ScrollFeedRequest {
                user_id: self.user,
                page_size: self.paging.page_size(),
                // Later pages go on by token.
                cursor: self.cursor().filter(|_| page_token.is_empty()),
                page_token,
                view: view(self.view),
                consistency: self.freshness.consistency(),
            };
            client.clone().scroll_feed(self.call.request(request)).await
        };
        self.paging.print(printer, "socialgraph.v1.ScrollFeedResponse", fetch).await
    }

    fn cursor(&self) -> Option<FeedCursor> {
        self.max_time_ms.map(|max_time_ms| FeedCursor { max_time_ms, offset: self.offset })
    }
}
