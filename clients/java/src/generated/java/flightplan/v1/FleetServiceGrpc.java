package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Shows operators what this server decided of late, read from the end of its decision log.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/fleet_service.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class FleetServiceGrpc {

  private FleetServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.FleetService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.SummarizeDecisionsRequest,
      flightplan.v1.SummarizeDecisionsResponse> getSummarizeDecisionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SummarizeDecisions",
      requestType = flightplan.v1.SummarizeDecisionsRequest.class,
      responseType = flightplan.v1.SummarizeDecisionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.SummarizeDecisionsRequest,
      flightplan.v1.SummarizeDecisionsResponse> getSummarizeDecisionsMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.SummarizeDecisionsRequest, flightplan.v1.SummarizeDecisionsResponse> getSummarizeDecisionsMethod;
    if ((getSummarizeDecisionsMethod = FleetServiceGrpc.getSummarizeDecisionsMethod) == null) {
      synchronized (FleetServiceGrpc.class) {
        if ((getSummarizeDecisionsMethod = FleetServiceGrpc.getSummarizeDecisionsMethod) == null) {
          FleetServiceGrpc.getSummarizeDecisionsMethod = getSummarizeDecisionsMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.SummarizeDecisionsRequest, flightplan.v1.SummarizeDecisionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SummarizeDecisions"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.SummarizeDecisionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.SummarizeDecisionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new FleetServiceMethodDescriptorSupplier("SummarizeDecisions"))
              .build();
        }
      }
    }
    return getSummarizeDecisionsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static FleetServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<FleetServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<FleetServiceStub>() {
        @java.lang.Override
        public FleetServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new FleetServiceStub(channel, callOptions);
        }
      };
    return FleetServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static FleetServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<FleetServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<FleetServiceBlockingStub>() {
        @java.lang.Override
        public FleetServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new FleetServiceBlockingStub(channel, callOptions);
        }
      };
    return FleetServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static FleetServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<FleetServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<FleetServiceFutureStub>() {
        @java.lang.Override
        public FleetServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new FleetServiceFutureStub(channel, callOptions);
        }
      };
    return FleetServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Shows operators what this server decided of late, read from the end of its decision log.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Recent decisions, with sums by tenant and by rule. Idempotent. Asks for the role `admin`, and for a server that asks
     * callers who they are: FAILED_PRECONDITION where it has no token file, or where no file holds its decision log
     * (`--decision_log file:PATH`). RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay.
     * </pre>
     */
    default void summarizeDecisions(flightplan.v1.SummarizeDecisionsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.SummarizeDecisionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSummarizeDecisionsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service FleetService.
   * <pre>
   * Shows operators what this server decided of late, read from the end of its decision log.
   * </pre>
   */
  public static abstract class FleetServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return FleetServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service FleetService.
   * <pre>
   * Shows operators what this server decided of late, read from the end of its decision log.
   * </pre>
   */
  public static final class FleetServiceStub
      extends io.grpc.stub.AbstractAsyncStub<FleetServiceStub> {
    private FleetServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected FleetServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new FleetServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Recent decisions, with sums by tenant and by rule. Idempotent. Asks for the role `admin`, and for a server that asks
     * callers who they are: FAILED_PRECONDITION where it has no token file, or where no file holds its decision log
     * (`--decision_log file:PATH`). RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay.
     * </pre>
     */
    public void summarizeDecisions(flightplan.v1.SummarizeDecisionsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.SummarizeDecisionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSummarizeDecisionsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service FleetService.
   * <pre>
   * Shows operators what this server decided of late, read from the end of its decision log.
   * </pre>
   */
  public static final class FleetServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<FleetServiceBlockingStub> {
    private FleetServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected FleetServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new FleetServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Recent decisions, with sums by tenant and by rule. Idempotent. Asks for the role `admin`, and for a server that asks
     * callers who they are: FAILED_PRECONDITION where it has no token file, or where no file holds its decision log
     * (`--decision_log file:PATH`). RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay.
     * </pre>
     */
    public flightplan.v1.SummarizeDecisionsResponse summarizeDecisions(flightplan.v1.SummarizeDecisionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSummarizeDecisionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service FleetService.
   * <pre>
   * Shows operators what this server decided of late, read from the end of its decision log.
   * </pre>
   */
  public static final class FleetServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<FleetServiceFutureStub> {
    private FleetServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected FleetServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new FleetServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Recent decisions, with sums by tenant and by rule. Idempotent. Asks for the role `admin`, and for a server that asks
     * callers who they are: FAILED_PRECONDITION where it has no token file, or where no file holds its decision log
     * (`--decision_log file:PATH`). RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.SummarizeDecisionsResponse> summarizeDecisions(
        flightplan.v1.SummarizeDecisionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSummarizeDecisionsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_SUMMARIZE_DECISIONS = 0;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_SUMMARIZE_DECISIONS:
          serviceImpl.summarizeDecisions((flightplan.v1.SummarizeDecisionsRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.SummarizeDecisionsResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getSummarizeDecisionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.SummarizeDecisionsRequest,
              flightplan.v1.SummarizeDecisionsResponse>(
                service, METHODID_SUMMARIZE_DECISIONS)))
        .build();
  }

  private static abstract class FleetServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    FleetServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.FleetServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("FleetService");
    }
  }

  private static final class FleetServiceFileDescriptorSupplier
      extends FleetServiceBaseDescriptorSupplier {
    FleetServiceFileDescriptorSupplier() {}
  }

  private static final class FleetServiceMethodDescriptorSupplier
      extends FleetServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    FleetServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (FleetServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new FleetServiceFileDescriptorSupplier())
              .addMethod(getSummarizeDecisionsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
