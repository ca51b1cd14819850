//! Whether a bearer token may go to a server that is spoken to in plain text.

use tonic::service::Interceptor;
use tonic::{Request, Status};

/// The environment variable that, set to 1, lets a token go to another machine in plain text.
pub const ALLOW_PLAINTEXT_TOKEN: &str = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN";

fn is_loopback(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    let numbers = parts.iter().all(|part| part.len() <= 3 && is_digits(part) && part.parse::<u8>().is_ok());
    host.eq_ignore_ascii_case("localhost") || host == "::1" || (parts.len() == 4 && numbers && parts[0] == "127")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of HOST or HOST:PORT; None: it is neither.
fn host_of(part: &str) -> Option<&str> {
    let (host, rest) = if let Some(inner) = part.strip_prefix('[') {
        inner.split_once(']')?
    } else if part.matches(':').count() == 1 {
        part.split_at(part.find(':')?)
    } else {
        (part, "") // no port; with several colons it is IPv6
    };
    let port_fits = rest.is_empty() || rest.strip_prefix(':').map_or(false, is_digits);
    port_fits.then_some(host)
}

/// A unix socket, a loopback address or localhost, in the forms that gRPC takes.
pub(crate) fn is_local_address(address: &str) -> bool {
    if address.starts_with("unix:") || address.starts_with("unix-abstract:") {
        return true;
    }
    let schemes = ["dns:", "ipv4:", "ipv6:", "passthrough:"];
    let rest = schemes.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
    let rest = rest.strip_prefix("///").unwrap_or(rest);
    rest.split(',').all(|part| host_of(part).map_or(false, is_loopback))
}

/// Ends a call that carries a token (metadata `authorization`) with UNAUTHENTICATED before a byte of it is sent, where it
/// would go to another machine in plain text.
#[derive(Clone, Debug)]
pub struct TokenGuard {
    /// None: the channel is none in plain text to another machine.
    pub(crate) elsewhere: Option<String>,
}

impl Interceptor for TokenGuard {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        match &self.elsewhere {
            Some(address)
                if request.metadata().contains_key("authorization")
                    && std::env::var_os(ALLOW_PLAINTEXT_TOKEN).map_or(true, |value| value != "1") =>
            {
                Err(Status::unauthenticated(format!(
                    "a token is not sent to {address} in plain text: use Client::on with a TLS channel, or set \
                     {ALLOW_PLAINTEXT_TOKEN}=1"
                )))
            }
            _ => Ok(request),
        }
    }
}
