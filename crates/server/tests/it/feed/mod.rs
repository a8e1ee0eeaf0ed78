//! PublishPost, ScrollFeed, and what lies between them.

mod changes;
mod deletions;
mod follows;
mod inboxes;
mod kept;
mod likes;
mod pages;
mod publish;
mod pull;
mod random;
mod support;
mod times;

pub(crate) const CASES: usize = changes::CASES
    + deletions::CASES
    + follows::CASES
    + inboxes::CASES
    + kept::CASES
    + likes::CASES
    + pages::CASES
    + publish::CASES
    + pull::CASES
    + random::CASES
    + times::CASES;
