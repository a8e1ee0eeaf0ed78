//! Feeds, while servers die, scripts are forgotten, connections are cut and inboxes expire.

mod books;
mod fan_out;
mod fleet;
mod inboxes;
mod pending;
mod random_feeds;
mod worker;
