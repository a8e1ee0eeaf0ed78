use model::UserId;

use crate::{Keyspace, List};

/// A list in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chain {
    /// One of a user's lists of follows.
    Follows(List, UserId),
    /// The posts of an author.
    Posts(UserId),
}

impl Keyspace {
    /// The list of which a key is the head, if it is one of this keyspace.
    pub fn chain_of(&self, key: &[u8]) -> Option<Chain> {
        let mut words = str::from_utf8(key).ok()?.split(':');
        let (name, tag, kind, user) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let user = UserId::new(user.parse().ok()?).ok()?;
        let tag_of_user = self.hash_tag(self.partition(user));
        let is_ours = name == self.name() && tag.strip_prefix('{')?.strip_suffix('}')? == tag_of_user;
        if !is_ours || words.next().is_some() {
            return None;
        }
        match kind {
            "following" => Some(Chain::Follows(List::Following, user)),
            "followers" => Some(Chain::Follows(List::Followers, user)),
            "posts" => Some(Chain::Posts(user)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartitionCount;

    #[test]
    fn heads_of_lists_are_known() {
        let keys = Keyspace::new("sg", PartitionCount::DEFAULT).unwrap();
        let user = UserId::new(42).unwrap();
        for (key, chain) in [
            (keys.following(user), Some(Chain::Follows(List::Following, user))),
            (keys.followers(user), Some(Chain::Follows(List::Followers, user))),
            (keys.posts(user), Some(Chain::Posts(user))),
            (keys.following_ids(user), None),
            (keys.list_parts(List::Followers, user), None),
            (keys.followers(user).segment("1z141z3"), None),
            (keys.inbox(user), None),
            (keys.format(), None),
        ] {
            assert_eq!(keys.chain_of(key.bytes()), chain, "{key}");
        }
        for foreign in
            ["tg:{0x1}:followers:42", "sg:{0x2}:followers:42", "sg:0x1:followers:42", "sg:{0x1}:followers:x", ""]
        {
            assert_eq!(keys.chain_of(foreign.as_bytes()), None, "{foreign}");
        }
    }
}
