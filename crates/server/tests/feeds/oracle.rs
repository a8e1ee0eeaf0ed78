use std::collections::{BTreeMap, BTreeSet};

use socialgraph::v1::{FeedItem, Post};

use super::Entry;

/// Everything that was published, and who follows whom. Gives feeds by brute force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    /// Of each author, by id.
    pub(crate) posts: BTreeMap<i64, BTreeMap<i64, Post>>,
    follows: BTreeSet<(i64, i64)>,
    /// Of each reader and author: since when posts are kept, and which.
    pub(crate) kept: BTreeMap<(i64, i64), (i64, BTreeSet<i64>)>,
}

impl Oracle {
    /// Takes a post in. The same post again changes nothing.
    pub(crate) fn publish(&mut self, post: Post) {
        let posts = self.posts.entry(post.author_id).or_default();
        let known = posts.entry(post.post_id).or_insert_with(|| post.clone());
        assert_eq!(*known, post, "two posts with one name");
    }

    pub(crate) fn follow(&mut self, follower: i64, followee: i64) {
        self.follows.insert((follower, followee));
    }

    pub(crate) fn unfollow(&mut self, follower: i64, followee: i64) {
        self.follows.remove(&(follower, followee));
        self.kept.remove(&(follower, followee));
    }

    /// The posts of an author, by id.
    pub(crate) fn posts(&self, author: i64) -> impl Iterator<Item = &Post> {
        self.posts.get(&author).into_iter().flat_map(BTreeMap::values)
    }

    /// The feed: the posts of oneself and of everyone followed now, and what is kept of others, newest first.
    pub(crate) fn feed(&self, reader: i64) -> Vec<Entry> {
        let followed = self.follows.range((reader, 0)..=(reader, i64::MAX)).map(|(_, followee)| *followee);
        let posts = followed.chain([reader]).flat_map(|author| self.posts(author));
        let kept = self.kept.range((reader, 0)..=(reader, i64::MAX));
        let kept = kept
            .filter(|(edge, _)| !self.follows.contains(edge))
            .flat_map(|((_, author), (_, posts))| self.posts(*author).filter(|post| posts.contains(&post.post_id)));
        let mut feed: Vec<_> = posts.chain(kept).map(Entry::of_post).collect();
        feed.sort_unstable_by(|a, b| b.cmp(a));
        feed
    }

    /// What is wrong with items that claim to be a whole feed; `None` if nothing is.
    pub(crate) fn fault(&self, reader: i64, shown: &[FeedItem]) -> Option<String> {
        let expected = self.feed(reader);
        let entries: Vec<_> = shown.iter().map(Entry::of_item).collect();
        if entries != expected {
            let [wanted, given] = [&expected, &entries].map(|list| list.iter().copied().collect::<BTreeSet<_>>());
            let missing: Vec<_> = wanted.difference(&given).collect();
            let extra: Vec<_> = given.difference(&wanted).collect();
            let counts = (expected.len(), entries.len());
            return Some(format!("feed of {reader}: {counts:?} wanted, shown; missing {missing:?}, extra {extra:?}"));
        }
        let altered = shown.iter().filter_map(|item| item.post.as_ref());
        let mut altered = altered.filter(|post| self.posts[&post.author_id].get(&post.post_id) != Some(*post));
        altered.next().map(|post| format!("altered: {post:?}"))
    }
}
