//! Whom two users both follow, and who follows two users.

use std::time::Duration;

use futures::join;
use keyspace::List;
use model::{Deadline, Micros, TokenKind, UserId};

use crate::{
    Graph, ServiceError,
    search::{Found, Search, Side},
};

/// A question for the users whom two users both follow.
#[derive(Clone, Debug)]
pub struct CommonQuery {
    /// One user.
    pub user: UserId,
    /// The other.
    pub other: UserId,
    /// The order of the answer.
    pub order: CommonOrder,
    /// Who looks: nobody whom they blocked, or who blocked them, is shown.
    pub viewer: Option<UserId>,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
    /// How long the search may take.
    pub time_budget: Duration,
}

/// By whose follow times an answer is ordered, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonOrder {
    /// By those of `user`.
    User,
    /// By those of `other`.
    Other,
}

/// A question for followers of a user: those whom somebody follows, or who follow another user as well.
#[derive(Clone, Debug)]
pub struct FollowersQuery {
    /// By whose follow times the answer is ordered, newest first: the viewer, or one user.
    pub by: UserId,
    /// Whose followers: the user, or the other one.
    pub of: UserId,
    /// Who looks: nobody whom they blocked, or who blocked them, is shown.
    pub viewer: Option<UserId>,
    /// Entries a page, 1 to 500.
    pub page_size: usize,
    /// From the page before; empty for the first.
    pub page_token: String,
    /// How long the search may take.
    pub time_budget: Duration,
}

/// Somebody who is on both lists of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// Who.
    pub user: UserId,
    /// Since when on the list of the user who is named first.
    pub followed_at: Micros,
    /// Since when on the list of the other.
    pub other_followed_at: Micros,
}

/// A page of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonPage {
    /// The entries.
    pub users: Vec<Common>,
    /// How many were found over all pages.
    pub total: u64,
    /// How many entries of the page are not shown to the viewer.
    pub filtered: u64,
    /// Whether the search came to its end within the time budget.
    pub complete: bool,
    /// For the next page; empty on the last.
    pub next_page_token: String,
}

impl Graph {
    /// Whom both users follow.
    pub async fn common_follows(&self, query: CommonQuery, deadline: Deadline) -> Result<CommonPage, ServiceError> {
        let CommonQuery { user, other, order, viewer, page_size, page_token, time_budget } = query;
        let order = match order {
            CommonOrder::User => 0,
            CommonOrder::Other => 1,
        };
        let sides = [user, other].map(|user| Side { list: List::Following, user });
        let kind = TokenKind::CommonFollows;
        let search = Search { kind, sides, order, viewer, page_size, page_token, time_budget };
        self.common_page(search, deadline).await
    }

    /// Whom the one user follows of those who follow the other.
    pub async fn known_followers(&self, query: FollowersQuery, deadline: Deadline) -> Result<CommonPage, ServiceError> {
        let (viewer, of) = (query.by, [query.of]);
        let (page, hidden) = join!(
            self.followers_on(List::Following, TokenKind::KnownFollowers, query, deadline),
            self.hidden_from(viewer, &of, deadline)
        );
        // Those whom the viewer follows are not hidden from them.
        if hidden?.is_empty() { page } else { Err(ServiceError::Blocked) }
    }

    /// Who follows both users.
    pub async fn common_followers(
        &self,
        query: FollowersQuery,
        deadline: Deadline,
    ) -> Result<CommonPage, ServiceError> {
        self.followers_on(List::Followers, TokenKind::CommonFollowers, query, deadline).await
    }

    async fn followers_on(
        &self,
        list: List,
        kind: TokenKind,
        query: FollowersQuery,
        deadline: Deadline,
    ) -> Result<CommonPage, ServiceError> {
        let FollowersQuery { by, of, viewer, page_size, page_token, time_budget } = query;
        let sides = [Side { list, user: by }, Side { list: List::Followers, user: of }];
        let search = Search { kind, sides, order: 0, viewer, page_size, page_token, time_budget };
        self.common_page(search, deadline).await
    }

    async fn common_page(&self, search: Search, deadline: Deadline) -> Result<CommonPage, ServiceError> {
        let (viewer, about) = (search.viewer, search.sides.map(|side| side.user));
        let Found { users, total, complete, next_page_token } = self.search(search, deadline).await?;
        let common = |(user, [followed_at, other_followed_at]): (UserId, [Micros; 2])| Common {
            user,
            followed_at,
            other_followed_at,
        };
        let mut users = users.into_iter().map(common).collect();
        let filtered = self.hide(viewer, &about, &mut users, |common| common.user, deadline).await?;
        Ok(CommonPage { users, total, filtered, complete, next_page_token })
    }
}
