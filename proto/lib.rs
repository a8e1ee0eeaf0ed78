//! The gRPC contract of socialgraph: messages, servers and clients generated from `proto/`.

/// Messages, client and server of the relationship graph.
pub mod v1 {
    #![expect(clippy::allow_attributes, clippy::allow_attributes_without_reason, reason = "generated")]
    tonic::include_proto!("socialgraph.v1");
}

/// Messages, client and server for operators.
pub mod admin {
    /// Version 1.
    pub mod v1 {
        #![expect(clippy::allow_attributes, clippy::allow_attributes_without_reason, reason = "generated")]
        tonic::include_proto!("socialgraph.admin.v1");
    }
}

/// The encoded `google.protobuf.FileDescriptorSet` of every message and service here, comments included; for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));

/// The domain of every `google.rpc.ErrorInfo` that a socialgraph server sends.
pub const ERROR_DOMAIN: &str = "socialgraph";
