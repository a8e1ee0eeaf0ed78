//! The id by which callers and operators name a call.

use std::{io::Write as _, mem};

use http::{HeaderMap, HeaderName, HeaderValue};

/// In requests and in responses.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Bytes. What mesh proxies send is a UUID of 36.
const LONGEST: usize = 128;

/// The caller's id, or a new one if there is none or it is not 1 to 128 printable ASCII characters. Handlers find the
/// id that counts in the header.
pub(super) fn ensure(headers: &mut HeaderMap) -> HeaderValue {
    if let Some(id) = headers.get(HEADER).filter(|id| is_valid(id)) {
        return id.clone();
    }
    let id = generate();
    headers.insert(HEADER, id.clone());
    id
}

fn is_valid(id: &HeaderValue) -> bool {
    (1..=LONGEST).contains(&id.len()) && id.as_bytes().iter().all(|byte| matches!(byte, b' '..=b'~'))
}

fn generate() -> HeaderValue {
    let mut text = [b'0'; 2 * mem::size_of::<u128>()];
    // A number of this width fits the array, and hexadecimal digits are valid in a header.
    let _ = write!(text.as_mut_slice(), "{:032x}", rand::random::<u128>());
    HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_id_is_kept_and_others_are_replaced() {
        let mut headers = HeaderMap::from_iter([(HEADER, HeaderValue::from_static("abc-1"))]);
        assert_eq!(ensure(&mut headers), "abc-1");
        for bad in ["", "tab\there", &"x".repeat(129), "smörgås"] {
            let mut headers = HeaderMap::from_iter([(HEADER, HeaderValue::from_bytes(bad.as_bytes()).unwrap())]);
            let id = ensure(&mut headers);
            assert_eq!((id.len(), headers.get(HEADER)), (32, Some(&id)), "{bad:?}");
        }
        let (mut first, mut second) = (HeaderMap::new(), HeaderMap::new());
        assert_ne!(ensure(&mut first), ensure(&mut second));
    }
}
