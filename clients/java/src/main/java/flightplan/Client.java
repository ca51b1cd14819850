package flightplan;

import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import flightplan.v1.CatalogServiceGrpc;
import flightplan.v1.EvidenceServiceGrpc;
import flightplan.v1.FleetServiceGrpc;
import flightplan.v1.Launch;
import flightplan.v1.ProbeServiceGrpc;
import flightplan.v1.ResolveConfigResponse;
import flightplan.v1.ResolverServiceGrpc;
import flightplan.v1.TimelineServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/**
 * A stub for each service on one channel, with the retries and time-outs that all Flightplan clients share. Safe for use by
 * many threads. Stubs for other styles (async, future) can be made on {@link #channel()}.
 */
public final class Client implements AutoCloseable {
  private final ManagedChannel channel;

  /**
   * A client of the server at HOST:PORT in plain text, which a server takes on loopback. A call with a token (metadata
   * "authorization") to another machine in plain text, by whichever constructor, ends with UNAUTHENTICATED before it is sent,
   * unless FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1.
   */
  public Client(String address) {
    this(ManagedChannelBuilder.forTarget(address).usePlaintext());
  }

  /** A client on a channel of your own making, such as one with TLS; the service config is put on it. */
  public Client(ManagedChannelBuilder<?> builder) {
    this(builder, "1".equals(System.getenv(TokenGuard.ALLOW_PLAINTEXT_TOKEN)));
  }

  Client(ManagedChannelBuilder<?> builder, boolean allowPlaintextToken) {
    channel = builder
        .enableRetry()
        .defaultServiceConfig(serviceConfig())
        .intercept(new TokenGuard(allowPlaintextToken))
        .build();
  }

  /** The shared service config, as grpc-java takes it: every number a Double. */
  static Map<String, ?> serviceConfig() {
    var resource = Client.class.getResourceAsStream("/flightplan/service_config.json");
    if (resource == null) throw new IllegalStateException("service_config.json is not in the jar");
    var reader = new InputStreamReader(resource, StandardCharsets.UTF_8);
    return new Gson().fromJson(reader, new TypeToken<Map<String, ?>>() {}.getType());
  }

  public ManagedChannel channel() {
    return channel;
  }

  public ResolverServiceGrpc.ResolverServiceBlockingStub resolver() {
    return ResolverServiceGrpc.newBlockingStub(channel);
  }

  public CatalogServiceGrpc.CatalogServiceBlockingStub catalog() {
    return CatalogServiceGrpc.newBlockingStub(channel);
  }

  public EvidenceServiceGrpc.EvidenceServiceBlockingStub evidence() {
    return EvidenceServiceGrpc.newBlockingStub(channel);
  }

  public ProbeServiceGrpc.ProbeServiceBlockingStub probe() {
    return ProbeServiceGrpc.newBlockingStub(channel);
  }

  public TimelineServiceGrpc.TimelineServiceBlockingStub timeline() {
    return TimelineServiceGrpc.newBlockingStub(channel);
  }

  public FleetServiceGrpc.FleetServiceBlockingStub fleet() {
    return FleetServiceGrpc.newBlockingStub(channel);
  }

  /** The launch of a plan in a dialect; with "" the target's own. Empty: the plan was not asked for with it. */
  public static Optional<Launch> launchOf(ResolveConfigResponse plan, String dialect) {
    return plan.getLaunchesList().stream()
        .filter(launch -> dialect.isEmpty() || launch.getDialect().equals(dialect))
        .findFirst();
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
