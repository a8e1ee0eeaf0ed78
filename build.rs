//! Generates the contract's code and descriptor set from `proto/`.

use std::{env, error::Error, fs, path::PathBuf};

const FILES: [&str; 15] = [
    "socialgraph/v1/batches.proto",
    "socialgraph/v1/blocks.proto",
    "socialgraph/v1/bulk.proto",
    "socialgraph/v1/consistency.proto",
    "socialgraph/v1/errors.proto",
    "socialgraph/v1/feed.proto",
    "socialgraph/v1/lifecycle.proto",
    "socialgraph/v1/lists.proto",
    "socialgraph/v1/posts.proto",
    "socialgraph/v1/recommendations.proto",
    "socialgraph/v1/relations.proto",
    "socialgraph/v1/social_graph.proto",
    "socialgraph/v1/watch.proto",
    "socialgraph/admin/v1/admin.proto",
    "socialgraph/admin/v1/verify.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=proto");

    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).include_source_info(true).open_files(FILES)?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptor.bin"), compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure().bytes(".").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
