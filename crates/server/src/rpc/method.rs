//! The methods that the server knows, and the metrics of each.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use metrics::{Counter, Histogram, SharedString, counter, histogram};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;

use crate::{
    errors::code_name,
    telemetry::metrics::{RPC_DURATION, RPC_PANICS, RPC_SHED},
};

/// What a path that names no method of ours is counted as. Callers choose paths; labels must not grow by them.
pub(super) const OTHER: &str = "_OTHER";

/// Services that must answer when the server is overloaded, and whose streams live as long as their callers want.
const INFRASTRUCTURE: [&str; 2] = ["grpc.health.", "grpc.reflection."];

/// Methods that take as long as their caller sends, or reads.
const LONG: [&str; 3] = [
    "socialgraph.v1.SocialGraph/ExportEdges",
    "socialgraph.v1.SocialGraph/ImportEdges",
    "socialgraph.v1.SocialGraph/WatchRelationships",
];

/// One more than the largest code of gRPC.
const CODES: usize = 17;

/// A method, or all unknown ones together.
pub(super) struct Method {
    name: SharedString,
    infrastructure: bool,
    long: bool,
    /// By code, made when a call first ends with it.
    durations: [OnceLock<Histogram>; CODES],
    shed: Counter,
    panics: Counter,
}

impl Method {
    fn new(name: String) -> Self {
        let infrastructure = INFRASTRUCTURE.iter().any(|prefix| name.starts_with(prefix));
        let long = infrastructure || LONG.contains(&name.as_str());
        let name = SharedString::from(name);
        Self {
            infrastructure,
            long,
            durations: [const { OnceLock::new() }; CODES],
            shed: counter!(RPC_SHED, "method" => name.clone()),
            panics: counter!(RPC_PANICS, "method" => name.clone()),
            name,
        }
    }

    /// `package.Service/Method`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is of health or reflection.
    pub(super) fn is_infrastructure(&self) -> bool {
        self.infrastructure
    }

    /// Whether a call without a deadline may take as long as it wants.
    pub(super) fn may_be_long(&self) -> bool {
        self.long
    }

    pub(super) fn shed(&self) {
        self.shed.increment(1);
    }

    pub(super) fn panicked(&self) {
        self.panics.increment(1);
    }

    pub(super) fn ended(&self, code: Code, after: Duration) {
        // Codes are 0 to 16 by the type's definition.
        let Some(slot) = self.durations.get(code as usize) else { return };
        slot.get_or_init(|| histogram!(RPC_DURATION, "method" => self.name.clone(), "code" => code_name(code)))
            .record(after);
    }
}

/// The methods by their paths.
pub(super) struct Methods {
    by_path: HashMap<String, Arc<Method>>,
    other: Arc<Method>,
}

impl Methods {
    /// Those of our contract, of health and of reflection.
    pub(super) fn known() -> Self {
        let sets = [
            socialgraph::FILE_DESCRIPTOR_SET,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let by_path = sets
            .iter()
            .filter_map(|set| FileDescriptorSet::decode(*set).ok())
            .flat_map(|set| set.file)
            .flat_map(|file| {
                let package = file.package().to_owned();
                file.service.into_iter().map(move |service| (package.clone(), service))
            })
            .flat_map(|(package, service)| {
                let service_name = format!("{package}.{}", service.name());
                service.method.into_iter().map(move |method| format!("{service_name}/{}", method.name()))
            })
            .map(|name| (format!("/{name}"), Arc::new(Method::new(name))))
            .collect();
        Self { by_path, other: Arc::new(Method::new(OTHER.to_owned())) }
    }

    pub(super) fn get(&self, path: &str) -> Arc<Method> {
        Arc::clone(self.by_path.get(path).unwrap_or(&self.other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_the_contract_are_known_and_others_are_counted_together() {
        let methods = Methods::known();
        let follow = methods.get("/socialgraph.v1.SocialGraph/Follow");
        assert_eq!(follow.name(), "socialgraph.v1.SocialGraph/Follow");
        assert!(!follow.is_infrastructure() && !follow.may_be_long());
        let import = methods.get("/socialgraph.v1.SocialGraph/ImportEdges");
        assert!(!import.is_infrastructure() && import.may_be_long());
        for path in [
            "/grpc.health.v1.Health/Watch",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        ] {
            assert!(methods.get(path).is_infrastructure(), "{path}");
        }
        assert_eq!(methods.get("/socialgraph.v1.SocialGraph/Nothing").name(), OTHER);
        assert!(!methods.get("/grpc.health.v1.Health/Nothing").is_infrastructure());
    }

    #[test]
    fn the_exempt_methods_exist() {
        let methods = Methods::known();
        for name in LONG {
            assert_eq!(methods.get(&format!("/{name}")).name(), name);
        }
    }
}
