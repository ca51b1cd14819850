package flightplan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import flightplan.v1.Launch;
import flightplan.v1.ResolveConfigRequest;
import flightplan.v1.ResolveConfigResponse;
import flightplan.v1.ResolverServiceGrpc;
import io.grpc.CallCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Retries by the shared service config, against a server that fails on purpose. */
class ClientTest {
  /** Fails a number of times, then answers. */
  private static final class Failing extends ResolverServiceGrpc.ResolverServiceImplBase {
    final AtomicInteger calls = new AtomicInteger();
    final int failures;
    final StatusRuntimeException failure;

    Failing(int failures, StatusRuntimeException failure) {
      this.failures = failures;
      this.failure = failure;
    }

    @Override
    public void resolveConfig(ResolveConfigRequest request, StreamObserver<ResolveConfigResponse> answer) {
      if (calls.incrementAndGet() <= failures) {
        answer.onError(failure);
        return;
      }
      answer.onNext(ResolveConfigResponse.newBuilder().setDigest("fp1-here").build());
      answer.onCompleted();
    }
  }

  private static String ask(Failing service) throws Exception {
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(service).build().start();
    try (var client = new Client("127.0.0.1:" + server.getPort())) {
      return client.resolver().resolveConfig(ResolveConfigRequest.getDefaultInstance()).getDigest();
    } finally {
      server.shutdownNow();
    }
  }

  /** The first call of a JVM loads its classes, which on a busy machine takes most of the service config's time-out. */
  @BeforeAll
  static void loadClasses() throws Exception {
    try {
      ask(new Failing(0, null));
    } catch (StatusRuntimeException tooSlow) {
      // What it loaded stays loaded.
    }
  }

  @Test
  void unavailableIsTriedOnceMore() throws Exception {
    var service = new Failing(1, Status.UNAVAILABLE.asRuntimeException());
    assertEquals("fp1-here", ask(service));
    assertEquals(2, service.calls.get());
  }

  @Test
  void otherCodesAreNotTriedAgainAndTheirDetailsCanBeRead() {
    var info = ErrorInfo.newBuilder().setReason("OVERLOADED").setDomain("flightplan").build();
    var refused = com.google.rpc.Status.newBuilder().setCode(8).addDetails(Any.pack(info)).build();
    var service = new Failing(99, StatusProto.toStatusRuntimeException(refused));
    var error = assertThrows(StatusRuntimeException.class, () -> ask(service));
    assertEquals(1, service.calls.get());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, Failure.of(error).code());
    assertEquals("OVERLOADED", Failure.of(error).info().orElseThrow().getReason());
  }

  @Test
  void launchOf() {
    var plan = ResolveConfigResponse.newBuilder().addLaunches(Launch.newBuilder().setDialect("yaml")).build();
    assertEquals("yaml", Client.launchOf(plan, "").orElseThrow().getDialect());
    assertTrue(Client.launchOf(plan, "loongforge").isEmpty());
  }

  /** This machine's address on a network, where it has one: to gRPC as good as another machine. */
  private static Optional<InetAddress> ownAddress() throws Exception {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
        .findFirst();
  }

  private static Status.Code askWithToken(InetAddress host, boolean allowed, boolean asCredentials) throws Exception {
    var key = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    var token = new Metadata();
    token.put(key, "Bearer s3cret");
    var seen = new AtomicReference<String>();
    var sees = new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        seen.set(headers.get(key));
        return next.startCall(call, headers);
      }
    };
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress(host, 0)).addService(new Failing(0, null)).intercept(sees)
        .build().start();
    var builder = ManagedChannelBuilder.forTarget(host.getHostAddress() + ":" + server.getPort()).usePlaintext();
    try (var client = new Client(builder, allowed)) {
      var stub = asCredentials
          ? client.resolver().withCallCredentials(new CallCredentials() {
            @Override
            public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
              applier.apply(token);
            }
          })
          : client.resolver().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(token));
      stub.resolveConfig(ResolveConfigRequest.getDefaultInstance());
      assertEquals("Bearer s3cret", seen.get());
      return Status.Code.OK;
    } catch (StatusRuntimeException error) {
      assertNull(seen.get());
      return error.getStatus().getCode();
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void aTokenIsNotSentToAnotherMachineInPlainText() throws Exception {
    var own = ownAddress();
    assumeTrue(own.isPresent(), "this machine has no address but loopback");
    for (boolean asCredentials : new boolean[] {false, true}) {
      assertEquals(Status.Code.UNAUTHENTICATED, askWithToken(own.get(), false, asCredentials));
      assertEquals(Status.Code.OK, askWithToken(own.get(), true, asCredentials));
      assertEquals(Status.Code.OK, askWithToken(InetAddress.getLoopbackAddress(), false, asCredentials));
    }
  }

  @Test
  void localAddresses() throws Exception {
    assertTrue(TokenGuard.isLocal(new InetSocketAddress("127.8.9.1", 1)));
    assertTrue(TokenGuard.isLocal(new InetSocketAddress("::1", 1)));
    assertTrue(TokenGuard.isLocal(new SocketAddress() {}));
    assertFalse(TokenGuard.isLocal(new InetSocketAddress("192.0.2.1", 1)));
    assertFalse(TokenGuard.isLocal(InetSocketAddress.createUnresolved("localhost", 1)));
    assertFalse(TokenGuard.isLocal(null));
  }
}
