package flightplan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import flightplan.v1.Launch;
import flightplan.v1.ResolveConfigRequest;
import flightplan.v1.ResolveConfigResponse;
import flightplan.v1.ResolverServiceGrpc;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
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
}
