/** Whether a bearer token may go to a server that is spoken to in plain text. */
import * as grpc from "@grpc/grpc-js";

/** The environment variable that, set to 1, lets a token go to another machine in plain text. */
export const ALLOW_PLAINTEXT_TOKEN = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN";

function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost" || host === "::1") return true;
  const parts = host.split(".");
  return parts.length === 4 && parts[0] === "127" && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

// Of HOST or HOST:PORT; empty: it is neither.
function hostOf(part: string): string {
  if (part.startsWith("[")) return /^\[([^\]]*)\](:\d+)?$/.exec(part)?.[1] ?? "";
  if (part.split(":").length > 2) return part; // IPv6 without a port
  return /^([^:]*)(:\d+)?$/.exec(part)?.[1] ?? "";
}

/** A unix socket, a loopback address or localhost, in the forms that gRPC takes. */
export function isLocalAddress(address: string): boolean {
  if (/^unix(-abstract)?:/.test(address)) return true;
  const rest = address.replace(/^(dns|ipv4|ipv6|passthrough):/, "").replace(/^\/\/\//, "");
  return rest.split(",").every((part) => isLoopback(hostOf(part)));
}

/** Ends a call that carries a token (metadata "authorization") with UNAUTHENTICATED before a byte of it is sent. */
export function tokenGuard(address: string): grpc.Interceptor {
  const details = `a token is not sent to ${address} in plain text: use TLS, or set ${ALLOW_PLAINTEXT_TOKEN}=1`;
  return (options, nextCall) => {
    let refused = false;
    return new grpc.InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        refused = metadata.get("authorization").length > 0 && process.env[ALLOW_PLAINTEXT_TOKEN] !== "1";
        if (!refused) return next(metadata, listener);
        const status = { code: grpc.status.UNAUTHENTICATED, details, metadata: new grpc.Metadata() };
        process.nextTick(() => listener.onReceiveStatus(status));
      },
      sendMessage(message, next) {
        if (!refused) next(message);
      },
      halfClose(next) {
        if (!refused) next();
      },
    });
  };
}
