//! The server and the command line of socialgraph.

pub mod cli;
