//! Client of Flightplan: the generated stubs on a connection, the retries and time-outs that all clients share, and errors
//! as values. tonic knows no gRPC service config, so `call` does what clients/service_config.json says.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use prost::Message;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};

mod plaintext_token;
pub use plaintext_token::{TokenGuard, ALLOW_PLAINTEXT_TOKEN};

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
use v1::fleet_service_client::FleetServiceClient;
use v1::probe_service_client::ProbeServiceClient;
use v1::resolver_service_client::ResolverServiceClient;
use v1::timeline_service_client::TimelineServiceClient;

/// Time a unary call has, all tries together.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Time a search, a batch or a probe has.
pub const STREAM_TIMEOUT: Duration = Duration::from_secs(120);
/// Tries of a call that ends with UNAVAILABLE.
pub const MAX_ATTEMPTS: u32 = 2;
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// A channel that keeps tokens to itself: see `Client::new`.
pub type Connection = InterceptedService<Channel, TokenGuard>;

/// A stub for each service on one connection. Clones share it; a call needs a clone, as tonic's stubs are `&mut`.
#[derive(Clone, Debug)]
pub struct Client {
    pub resolver: ResolverServiceClient<Connection>,
    pub catalog: CatalogServiceClient<Connection>,
    pub evidence: EvidenceServiceClient<Connection>,
    pub probe: ProbeServiceClient<Connection>,
    pub timeline: TimelineServiceClient<Connection>,
    pub fleet: FleetServiceClient<Connection>,
}

impl Client {
    /// A client of the server at `address`, HOST:PORT or unix:PATH, in plain text; it connects with the first call. A call
    /// with a token (metadata `authorization`) to another machine ends with UNAUTHENTICATED before anything is sent, unless
    /// FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1. Needs a tokio runtime.
    pub fn new(address: &str) -> Result<Self, tonic::transport::Error> {
        let Some(path) = address.strip_prefix("unix:").map(PathBuf::from) else {
            let channel = Endpoint::from_shared(format!("http://{address}"))?.connect_lazy();
            let elsewhere = (!plaintext_token::is_local_address(address)).then(|| address.to_string());
            return Ok(Self::guarded(channel, TokenGuard { elsewhere }));
        };
        let connector = tower::service_fn(move |_: Uri| tokio::net::UnixStream::connect(path.clone()));
        Ok(Self::on(Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector)))
    }

    /// A client on a channel of your own, such as one with TLS. It sends what it is given, tokens too.
    pub fn on(channel: Channel) -> Self {
        Self::guarded(channel, TokenGuard { elsewhere: None })
    }

    fn guarded(channel: Channel, guard: TokenGuard) -> Self {
        let connection = InterceptedService::new(channel, guard);
        Self {
            resolver: ResolverServiceClient::new(connection.clone()),
            catalog: CatalogServiceClient::new(connection.clone()),
            evidence: EvidenceServiceClient::new(connection.clone()),
            probe: ProbeServiceClient::new(connection.clone()),
            timeline: TimelineServiceClient::new(connection.clone()),
            fleet: FleetServiceClient::new(connection),
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
    fn local_addresses() {
        let Ok(table) = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../local_addresses.tsv")) else {
            return; // not in the source tree
        };
        let rows: Vec<_> = table.lines().filter_map(|line| line.split_once('\t')).collect();
        assert!(rows.len() > 30);
        for (expected, address) in rows {
            assert_eq!(plaintext_token::is_local_address(address), expected == "yes", "{address}");
        }
    }

    /// How a call to `address` ends, or that it did not within a moment.
    async fn end_of(address: &str, token: bool) -> Option<Status> {
        let client = Client::new(address).unwrap();
        let mut ask = tonic::Request::new(v1::ResolveConfigRequest::default());
        if token {
            ask.metadata_mut().insert("authorization", "Bearer s3cret".parse().unwrap());
        }
        let mut stub = client.resolver.clone();
        let call = stub.resolve_config(ask);
        tokio::time::timeout(Duration::from_millis(200), call).await.ok().and_then(Result::err)
    }

    #[tokio::test]
    async fn a_token_is_not_sent_to_another_machine_in_plain_text() {
        let elsewhere = "192.0.2.1:1"; // of TEST-NET-1: nobody
        let refused = |end: Option<Status>| end.map_or(false, |status| status.code() == Code::Unauthenticated);
        assert!(end_of(elsewhere, true).await.unwrap().message().contains(ALLOW_PLAINTEXT_TOKEN));
        assert!(refused(end_of(elsewhere, true).await));
        assert!(!refused(end_of(elsewhere, false).await));
        assert!(!refused(end_of("127.0.0.1:1", true).await));
        std::env::set_var(ALLOW_PLAINTEXT_TOKEN, "1");
        assert!(!refused(end_of(elsewhere, true).await));
        std::env::remove_var(ALLOW_PLAINTEXT_TOKEN);
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
