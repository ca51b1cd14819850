//! Client of Flightplan: the generated stubs on a connection, the retries and time-outs that all clients share, and errors
//! as values. tonic knows no gRPC service config, so `call` does what clients/service_config.json says.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use prost::Message;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};

/// The contract: messages, and a client module for each service.
#[allow(clippy::all)]
pub mod v1 {
    include!("generated/flightplan.v1.rs");
}

/// Details of errors.
#[allow(clippy::all)]
pub mod rpc {
    include!("generated/google.rpc.rs");
}

use v1::catalog_service_client::CatalogServiceClient;
use v1::evidence_service_client::EvidenceServiceClient;
use v1::probe_service_client::ProbeServiceClient;
use v1::resolver_service_client::ResolverServiceClient;

/// Time a unary call has, all tries together.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Time a search, a batch or a probe has.
pub const STREAM_TIMEOUT: Duration = Duration::from_secs(120);
/// Tries of a call that ends with UNAVAILABLE.
pub const MAX_ATTEMPTS: u32 = 2;
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// A stub for each service on one connection. Clones share it; a call needs a clone, as tonic's stubs are `&mut`.
#[derive(Clone, Debug)]
pub struct Client {
    pub resolver: ResolverServiceClient<Channel>,
    pub catalog: CatalogServiceClient<Channel>,
    pub evidence: EvidenceServiceClient<Channel>,
    pub probe: ProbeServiceClient<Channel>,
}

impl Client {
    /// A client of the server at `address`, HOST:PORT or unix:PATH, in plain text; it connects with the first call. Needs a
    /// tokio runtime.
    pub fn new(address: &str) -> Result<Self, tonic::transport::Error> {
        let Some(path) = address.strip_prefix("unix:").map(PathBuf::from) else {
            return Ok(Self::on(Endpoint::from_shared(format!("http://{address}"))?.connect_lazy()));
        };
        let connector = tower::service_fn(move |_: Uri| tokio::net::UnixStream::connect(path.clone()));
        Ok(Self::on(Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector)))
    }

    /// A client on a channel of your own, such as one with TLS.
    pub fn on(channel: Channel) -> Self {
        Self {
            resolver: ResolverServiceClient::new(channel.clone()),
            catalog: CatalogServiceClient::new(channel.clone()),
            evidence: EvidenceServiceClient::new(channel.clone()),
            probe: ProbeServiceClient::new(channel),
        }
    }
}

/// Makes a call, again where it ends with UNAVAILABLE, within `timeout` in all:
/// `call(TIMEOUT, || { let mut stub = client.resolver.clone(); let ask = ask.clone(); async move { stub.resolve_config(ask).await } })`.
pub async fn call<Answer, Attempt, Pending>(timeout: Duration, mut attempt: Attempt) -> Result<Answer, Status>
where
    Attempt: FnMut() -> Pending,
    Pending: Future<Output = Result<Answer, Status>>,
{
    let tries = async {
        let mut backoff = INITIAL_BACKOFF;
        for _ in 1..MAX_ATTEMPTS {
            match attempt().await {
                Err(status) if status.code() == Code::Unavailable => tokio::time::sleep(backoff).await,
                end => return end,
            }
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
        attempt().await
    };
    match tokio::time::timeout(timeout, tries).await {
        Ok(end) => end,
        Err(_) => Err(Status::deadline_exceeded(format!("no answer within {timeout:?}"))),
    }
}

/// What a program may turn on when a call failed. Empty where the answer is not the server's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    pub info: Option<rpc::ErrorInfo>,
    /// Every field of the request that is wrong.
    pub violations: Vec<rpc::bad_request::FieldViolation>,
    /// What would have to hold.
    pub preconditions: Vec<rpc::precondition_failure::Violation>,
    /// After which delay it is worth trying again.
    pub retry: Option<rpc::RetryInfo>,
}

impl Failure {
    /// The details of a call's error.
    pub fn of(status: &Status) -> Self {
        Self::of_message(&rpc::Status::decode(status.details()).unwrap_or_default())
    }

    /// Of an item's error in a batch.
    pub fn of_message(status: &rpc::Status) -> Self {
        let mut failure = Self::default();
        for detail in &status.details {
            let bytes = detail.value.as_slice();
            match detail.type_url.rsplit('/').next() {
                Some("google.rpc.ErrorInfo") => failure.info = rpc::ErrorInfo::decode(bytes).ok(),
                Some("google.rpc.RetryInfo") => failure.retry = rpc::RetryInfo::decode(bytes).ok(),
                Some("google.rpc.BadRequest") => {
                    failure.violations = rpc::BadRequest::decode(bytes).unwrap_or_default().field_violations;
                }
                Some("google.rpc.PreconditionFailure") => {
                    failure.preconditions = rpc::PreconditionFailure::decode(bytes).unwrap_or_default().violations;
                }
                _ => {}
            }
        }
        failure
    }
}

impl v1::ResolveConfigResponse {
    /// The launch in a dialect; empty: the target's own. None: the plan was not asked for with it.
    pub fn launch(&self, dialect: &str) -> Option<&v1::Launch> {
        self.launches.iter().find(|launch| dialect.is_empty() || launch.dialect == dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// An attempt that fails with `code` a number of times.
    async fn tried(failures: u32, code: Code) -> (Result<&'static str, Status>, u32) {
        let calls = Cell::new(0);
        let end = call(TIMEOUT, || {
            calls.set(calls.get() + 1);
            let fails = calls.get() <= failures;
            async move {
                if fails {
                    Err(Status::new(code, "not now"))
                } else {
                    Ok("here")
                }
            }
        })
        .await;
        (end, calls.get())
    }

    #[tokio::test]
    async fn unavailable_is_tried_once_more() {
        assert!(matches!(tried(1, Code::Unavailable).await, (Ok("here"), 2)));
        let (end, calls) = tried(99, Code::Unavailable).await;
        assert_eq!((end.unwrap_err().code(), calls), (Code::Unavailable, 2));
    }

    #[tokio::test]
    async fn other_codes_are_not_tried_again() {
        let (end, calls) = tried(99, Code::ResourceExhausted).await;
        assert_eq!((end.unwrap_err().code(), calls), (Code::ResourceExhausted, 1));
    }

    #[tokio::test]
    async fn a_call_ends_with_its_time() {
        let end: Result<(), Status> = call(Duration::ZERO, std::future::pending).await;
        assert_eq!(end.unwrap_err().code(), Code::DeadlineExceeded);
    }

    #[test]
    fn the_constants_are_those_of_the_shared_service_config() {
        let Ok(config) = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../service_config.json")) else {
            return; // not in the source tree
        };
        for text in [
            "\"timeout\": \"5s\"",
            "\"timeout\": \"120s\"",
            "\"maxAttempts\": 2",
            "\"initialBackoff\": \"0.1s\"",
            "\"maxBackoff\": \"1s\"",
            "\"backoffMultiplier\": 2",
            "\"retryableStatusCodes\": [\"UNAVAILABLE\"]",
        ] {
            assert!(config.contains(text), "service_config.json has no {text}: bring the constants here in line");
        }
    }

    #[test]
    fn details_of_an_error() {
        let info = rpc::ErrorInfo { reason: "OVERLOADED".into(), ..Default::default() };
        let details = rpc::Status {
            details: vec![prost_types::Any {
                type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(),
                value: info.encode_to_vec(),
            }],
            ..Default::default()
        };
        let status = Status::with_details(Code::ResourceExhausted, "", details.encode_to_vec().into());
        assert_eq!(Failure::of(&status).info.unwrap().reason, "OVERLOADED");
        assert_eq!(Failure::of(&Status::internal("")), Failure::default());
    }
}
