//! The behaviour of the service: every call, on a Redis Cluster, on a single Redis and on a Valkey cluster.
//!
//! A case is an `async fn` that takes a [`support::Place`]; [`on_each_backend!`] makes three tests of it, such as
//! `follow::again_changes_nothing::cluster`, `…::single` and `…::valkey`.

// Layouts of nested futures are deep, and how deep rustc asks for them depends on the path of the checkout.
#![recursion_limit = "512"]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of tests are tests")]

/// Runs cases on each backend. Stands once in a module, and names all of its cases.
macro_rules! on_each_backend {
    ($($case:ident),+ $(,)?) => {
        $(mod $case {
            #[test]
            fn cluster() {
                crate::support::run(crate::support::Backend::Cluster, super::$case);
            }

            #[test]
            fn single() {
                crate::support::run(crate::support::Backend::Single, super::$case);
            }

            #[test]
            fn valkey() {
                crate::support::run(crate::support::Backend::Valkey, super::$case);
            }
        })+

        pub(crate) const CASES: usize = [$(stringify!($case)),+].len();
    };
}

mod admin;
mod bad_input;
mod batches;
mod blocks;
mod changing_lists;
mod common;
mod export;
mod feed;
#[path = "../feeds/mod.rs"]
mod feeds;
mod field;
mod follow;
mod import;
mod import_ids;
mod inspect;
mod instances;
mod keys;
mod lifecycle;
mod lists;
mod metrics;
mod reads;
mod recommend;
mod relations;
mod states;
mod support;
#[path = "../traces/mod.rs"]
mod traces;
mod watch;

/// Written past the capture of the test harness, so that every run shows it.
#[test]
fn cases_times_backends() {
    use std::io::Write;

    let cases: usize = [
        admin::CASES,
        bad_input::CASES,
        batches::CASES,
        blocks::CASES,
        changing_lists::CASES,
        common::CASES,
        export::CASES,
        feed::CASES,
        field::CASES,
        follow::CASES,
        import::CASES,
        import_ids::CASES,
        inspect::CASES,
        instances::CASES,
        keys::CASES,
        lifecycle::CASES,
        lists::CASES,
        metrics::CASES,
        reads::CASES,
        recommend::CASES,
        relations::CASES,
        states::CASES,
        watch::CASES,
    ]
    .iter()
    .sum();
    let line = format!("behaviour suite: {cases} cases x 3 backends (cluster, single, valkey)\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
}
