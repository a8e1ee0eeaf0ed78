use std::{fmt, hash::Hasher};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use siphasher::sip::SipHasher24;
use thiserror::Error;

use crate::{Entry, FeedEntry, Micros, PostId, UserId, Version, WatchPlace};

/// Seals and opens the opaque tokens that callers carry: page tokens and consistency tokens.
///
/// A token is base64url of `format, kind, payload, checksum`. The checksum is SipHash-2-4 under a key of the keyspace, over
/// all that and over what the token is bound to, so that an altered token does not open, nor one of another call or of
/// other parameters, and so that every instance of the service opens what another sealed.
#[derive(Clone)]
pub struct TokenKey([u8; 16]);

/// What a token is for. A token of one kind never opens as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// A page of `ListFollowing`.
    ListFollowing = 1,
    /// A page of `ListFollowers`.
    ListFollowers = 2,
    /// A page of `CommonFollows`.
    CommonFollows = 3,
    /// A write that a read must see.
    Consistency = 4,
    /// A page of `ScrollFeed`.
    Feed = 5,
    /// A page of `ListUserPosts`.
    UserPosts = 6,
    /// A page of `ListMutuals`.
    ListMutuals = 20,
    /// A page of `KnownFollowers`.
    KnownFollowers = 21,
    /// A page of `CommonFollowers`.
    CommonFollowers = 22,
    /// A page of `ListBlocked`.
    ListBlocked = 23,
    /// A page of `ListMuted`.
    ListMuted = 24,
    /// A place in the changes of `WatchRelationships`.
    Watch = 30,
    /// A page of `VerifyUser` or `RepairUser`, amid whom the user follows.
    VerifyFollowing = 40,
    /// The same amid the user's followers.
    VerifyFollowers = 41,
    /// A place in `ExportEdges`.
    Export = 42,
}

/// What a consistency token tells of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteName {
    /// The partition in which it was committed.
    pub partition: u16,
    /// Its version there.
    pub version: Version,
    /// Whether it was known to be wholly applied when the token was made. If not, its second half may be pending.
    pub is_applied: bool,
}

/// How far a feed was scrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedPlace {
    /// The next page starts after this entry.
    pub last: FeedEntry,
    /// How many items of its millisecond were shown.
    pub shown: u32,
}

/// A token that was altered, or is of another kind, other parameters or another format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the token was altered or belongs to another request")]
pub struct InvalidToken;

const FORMAT: u8 = 1;
const CHECKSUM_BYTES: usize = 8;
const HEADER_BYTES: usize = 2;
/// In a consistency token, beside the partition.
const APPLIED: u64 = 1 << 16;

impl TokenKey {
    /// A key. All instances that serve a keyspace use the same.
    pub const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// A page token: the next page starts after `last`.
    pub fn seal_page(&self, kind: TokenKind, parameters: &[i64], last: Entry) -> String {
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&last.at.get().to_be_bytes());
        payload[8..].copy_from_slice(&last.user.get().to_be_bytes());
        self.seal(kind, parameters, payload)
    }

    /// The entry after which the page starts.
    pub fn open_page(&self, kind: TokenKind, parameters: &[i64], token: &str) -> Result<Entry, InvalidToken> {
        let (at, user) = split(self.open::<16>(kind, parameters, token)?);
        let at = Micros::new(at).map_err(|_| InvalidToken)?;
        let user = UserId::new(user.cast_signed()).map_err(|_| InvalidToken)?;
        Ok(Entry { at, user })
    }

    /// A consistency token: names a write.
    pub fn seal_consistency(&self, write: WriteName) -> String {
        let WriteName { partition, version, is_applied } = write;
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&version.0.to_be_bytes());
        let place = u64::from(partition) | if is_applied { APPLIED } else { 0 };
        payload[8..].copy_from_slice(&place.to_be_bytes());
        self.seal(TokenKind::Consistency, &[], payload)
    }

    /// The write that a token names.
    pub fn open_consistency(&self, token: &str) -> Result<WriteName, InvalidToken> {
        let (version, place) = split(self.open::<16>(TokenKind::Consistency, &[], token)?);
        let partition = u16::try_from(place & !APPLIED).map_err(|_| InvalidToken)?;
        Ok(WriteName { partition, version: Version(version), is_applied: place & APPLIED != 0 })
    }

    /// A token that an export goes on with, after a follower.
    pub fn seal_export(&self, last: UserId) -> String {
        self.seal(TokenKind::Export, &[], last.get().to_be_bytes())
    }

    /// The follower after whom an export goes on.
    pub fn open_export(&self, token: &str) -> Result<UserId, InvalidToken> {
        let last = i64::from_be_bytes(self.open(TokenKind::Export, &[], token)?);
        UserId::new(last).map_err(|_| InvalidToken)
    }

    /// A page token of posts, such as those of a feed.
    pub fn seal_feed(&self, kind: TokenKind, bound_to: &[i64], place: FeedPlace) -> String {
        let mut payload = [0; 28];
        payload[..8].copy_from_slice(&place.last.at.get().to_be_bytes());
        payload[8..24].copy_from_slice(&place.last.member());
        payload[24..].copy_from_slice(&place.shown.to_be_bytes());
        self.seal(kind, bound_to, payload)
    }

    /// How far the posts were read whose page gave a token.
    pub fn open_feed(&self, kind: TokenKind, bound_to: &[i64], token: &str) -> Result<FeedPlace, InvalidToken> {
        let payload = self.open::<28>(kind, bound_to, token)?;
        let ([at, post, author], shown) = numbers(payload);
        let post = PostId::new(post.cast_signed()).map_err(|_| InvalidToken)?;
        let author = UserId::new(author.cast_signed()).map_err(|_| InvalidToken)?;
        Ok(FeedPlace { last: FeedEntry { at: Micros::new(at).map_err(|_| InvalidToken)?, post, author }, shown })
    }

    /// A token of a place in what a watch tells, bound to the users who are watched.
    pub fn seal_watch(&self, users: &[i64], place: &WatchPlace) -> String {
        self.seal(TokenKind::Watch, users, place.encode())
    }

    /// The place in a watch of `partitions` partitions.
    pub fn open_watch(&self, users: &[i64], partitions: usize, token: &str) -> Result<WatchPlace, InvalidToken> {
        let payload = self.open_bytes(TokenKind::Watch, users, token, WatchPlace::most_bytes(partitions))?;
        WatchPlace::decode(&payload, partitions).ok_or(InvalidToken)
    }

    fn seal(&self, kind: TokenKind, bound_to: &[i64], payload: impl AsRef<[u8]>) -> String {
        let payload = payload.as_ref();
        let mut token = Vec::with_capacity(HEADER_BYTES + payload.len() + CHECKSUM_BYTES);
        token.extend([FORMAT, kind as u8]);
        token.extend(payload);
        token.extend(self.checksum(bound_to, &token));
        URL_SAFE_NO_PAD.encode(token)
    }

    fn open<const N: usize>(&self, kind: TokenKind, bound_to: &[i64], token: &str) -> Result<[u8; N], InvalidToken> {
        self.open_bytes(kind, bound_to, token, N)?.try_into().map_err(|_| InvalidToken)
    }

    /// The payload, of at most so many bytes.
    fn open_bytes(&self, kind: TokenKind, bound_to: &[i64], token: &str, most: usize) -> Result<Vec<u8>, InvalidToken> {
        if token.len() > 2 * (HEADER_BYTES + most + CHECKSUM_BYTES) {
            return Err(InvalidToken);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| InvalidToken)?;
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(InvalidToken)?;
        if *checksum != self.checksum(bound_to, content) {
            return Err(InvalidToken);
        }
        content.strip_prefix(&[FORMAT, kind as u8]).map(<[u8]>::to_vec).ok_or(InvalidToken)
    }

    fn checksum(&self, bound_to: &[i64], content: &[u8]) -> [u8; CHECKSUM_BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(content);
        for number in bound_to {
            hasher.write(&number.to_be_bytes());
        }
        hasher.finish().to_be_bytes()
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

fn numbers(payload: [u8; 28]) -> ([u64; 3], u32) {
    let (numbers, rest) = payload.as_chunks::<8>();
    let shown = rest.iter().fold(0, |shown, &byte| shown << 8 | u32::from(byte));
    ([u64::from_be_bytes(numbers[0]), u64::from_be_bytes(numbers[1]), u64::from_be_bytes(numbers[2])], shown)
}

fn split(payload: [u8; 16]) -> (u64, u64) {
    let number = u128::from_be_bytes(payload);
    ((number >> 64) as u64, number as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SnapshotPlace;

    const KEY: TokenKey = TokenKey::new([7; 16]);

    fn entry(at: u64, user: i64) -> Entry {
        Entry { at: Micros::new(at).unwrap(), user: UserId::new(user).unwrap() }
    }

    #[test]
    fn golden_tokens() {
        let page = KEY.seal_page(TokenKind::ListFollowers, &[42, 1], entry(1_700_000_000_000_000, 7));
        let write = KEY.seal_consistency(WriteName {
            partition: 513,
            version: Version(1_700_000_000_000_001),
            is_applied: false,
        });
        let last = FeedEntry { at: Micros::new(5).unwrap(), post: PostId::new(6).unwrap(), author: UserId::MIN };
        let feed = KEY.seal_feed(TokenKind::Feed, &[1], FeedPlace { last, shown: 2 });
        assert_eq!(KEY.seal_export(UserId::MIN), "ASoAAAAAAAAAAb9mxpXMciJY");
        assert_eq!(KEY.open_export(&KEY.seal_export(UserId::MAX)), Ok(UserId::MAX));
        assert_eq!(feed, "AQUAAAAAAAAABQAAAAAAAAAGAAAAAAAAAAEAAAACdBbjGqNTpgs");
        assert_eq!(
            (page.as_str(), write.as_str()),
            ("AQIABgokGB5AAAAAAAAAAAAH7cQnkrO9Yw4", "AQQABgokGB5AAQAAAAAAAAIBv4Fv9a6MnKA")
        );
    }

    proptest! {
        #[test]
        fn a_page_token_opens_only_as_it_was_sealed(
            at in 1..=(1_u64 << 53), user in 1..=i64::MAX, byte in 0..26_usize, flip in 1..=255_u8
        ) {
            let last = entry(at, user);
            let token = KEY.seal_page(TokenKind::ListFollowers, &[42, 1], last);
            prop_assert_eq!(KEY.open_page(TokenKind::ListFollowers, &[42, 1], &token), Ok(last));
            prop_assert_eq!(KEY.open_page(TokenKind::ListFollowing, &[42, 1], &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_page(TokenKind::ListFollowers, &[43, 1], &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_consistency(&token), Err(InvalidToken));
            let other_key = TokenKey::new([8; 16]);
            prop_assert_eq!(other_key.open_page(TokenKind::ListFollowers, &[42, 1], &token), Err(InvalidToken));

            let mut altered = URL_SAFE_NO_PAD.decode(&token).unwrap();
            altered[byte] ^= flip;
            let altered = URL_SAFE_NO_PAD.encode(altered);
            prop_assert_eq!(KEY.open_page(TokenKind::ListFollowers, &[42, 1], &altered), Err(InvalidToken));
        }

        #[test]
        fn a_consistency_token_comes_back(
            partition in 0..4096_u16, version in 0..=(1_u64 << 53), is_applied: bool
        ) {
            let write = WriteName { partition, version: Version(version), is_applied };
            prop_assert_eq!(KEY.open_consistency(&KEY.seal_consistency(write)), Ok(write));
        }

        #[test]
        fn a_feed_token_opens_only_for_its_user(
            at in 1..=(1_u64 << 53), post in 1..=i64::MAX, author in 1..=i64::MAX, shown in 0..=u32::MAX
        ) {
            let last = FeedEntry {
                at: Micros::new(at).unwrap(),
                post: PostId::new(post).unwrap(),
                author: UserId::new(author).unwrap(),
            };
            let token = KEY.seal_feed(TokenKind::Feed, &[1], FeedPlace { last, shown });
            prop_assert_eq!(KEY.open_feed(TokenKind::Feed, &[1], &token), Ok(FeedPlace { last, shown }));
            prop_assert_eq!(KEY.open_feed(TokenKind::Feed, &[2], &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_feed(TokenKind::UserPosts, &[1], &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_page(TokenKind::Feed, &[1], &token), Err(InvalidToken));
        }

        #[test]
        fn a_token_of_a_watch_opens_only_for_its_users(
            versions in proptest::collection::vec(0..=(1_u64 << 53), 0..80), last in 1..=i64::MAX, stage in 0..3_usize
        ) {
            let last = UserId::new(last).unwrap();
            let snapshot = [SnapshotPlace::Begin, SnapshotPlace::After(last), SnapshotPlace::Done][stage];
            let positions: Vec<Version> = versions.into_iter().map(Version).collect();
            let number = positions.len();
            let place = WatchPlace { positions, snapshot };
            let token = KEY.seal_watch(&[7, 9], &place);
            prop_assert_eq!(KEY.open_watch(&[7, 9], number, &token), Ok(place));
            prop_assert_eq!(KEY.open_watch(&[7], number, &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_watch(&[7, 9], number + 1, &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_consistency(&token), Err(InvalidToken));
        }

        #[test]
        fn garbage_never_opens(token in ".{0,80}") {
            prop_assert_eq!(KEY.open_page(TokenKind::CommonFollows, &[], &token), Err(InvalidToken));
            prop_assert_eq!(KEY.open_consistency(&token), Err(InvalidToken));
        }
    }
}
