package flightplan;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.Executor;

/**
 * Ends a call that carries a token (metadata "authorization") with UNAUTHENTICATED where it would go to another machine in
 * plain text. gRPC asks call credentials on the connection that the call is about to use, so the token of a call's headers is
 * taken out and handed back as such: the guard then knows where it goes, however the channel was built.
 */
final class TokenGuard implements ClientInterceptor {
  static final String ALLOW_PLAINTEXT_TOKEN = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN";
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final boolean allowed;

  TokenGuard(boolean allowed) {
    this.allowed = allowed;
  }

  @Override
  public <Request, Answer> ClientCall<Request, Answer> interceptCall(
      MethodDescriptor<Request, Answer> method, CallOptions options, Channel next) {
    if (allowed) return next.newCall(method, options);
    var guarded = new Guarded(options.getCredentials());
    return new SimpleForwardingClientCall<>(next.newCall(method, options.withCallCredentials(guarded))) {
      @Override
      public void start(Listener<Answer> listener, Metadata headers) {
        Iterable<String> tokens = headers.removeAll(AUTHORIZATION);
        if (tokens != null) tokens.forEach(token -> guarded.headers.put(AUTHORIZATION, token));
        super.start(listener, headers);
      }
    };
  }

  /** The tokens of one call, and the credentials that it had already. */
  private static final class Guarded extends CallCredentials {
    final Metadata headers = new Metadata();
    private final CallCredentials inner;

    Guarded(CallCredentials inner) {
      this.inner = inner;
    }

    @Override
    public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
      var checked = new MetadataApplier() {
        @Override
        public void apply(Metadata more) {
          var all = new Metadata();
          all.merge(headers);
          all.merge(more);
          if (all.containsKey(AUTHORIZATION) && !maySend(info)) {
            fail(Status.UNAUTHENTICATED.withDescription("a token is not sent to " + info.getAuthority()
                + " in plain text: build the channel with TLS, or set " + ALLOW_PLAINTEXT_TOKEN + "=1"));
          } else {
            applier.apply(all);
          }
        }

        @Override
        public void fail(Status status) {
          applier.fail(status);
        }
      };
      if (inner == null) checked.apply(new Metadata());
      else inner.applyRequestMetadata(info, executor, checked);
    }

    private static boolean maySend(RequestInfo info) {
      SocketAddress peer = info.getTransportAttrs().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
      return info.getSecurityLevel() == SecurityLevel.PRIVACY_AND_INTEGRITY || isLocal(peer);
    }
  }

  /** What is no internet address is a unix socket, or this process. */
  static boolean isLocal(SocketAddress peer) {
    if (!(peer instanceof InetSocketAddress)) return peer != null;
    var address = ((InetSocketAddress) peer).getAddress();
    return address != null && address.isLoopbackAddress();
  }
}
