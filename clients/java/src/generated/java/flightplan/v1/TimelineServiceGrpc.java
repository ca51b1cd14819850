package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
 * Idempotent.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/timeline.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class TimelineServiceGrpc {

  private TimelineServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.TimelineService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.DescribeTimelineRequest,
      flightplan.v1.DescribeTimelineResponse> getDescribeTimelineMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DescribeTimeline",
      requestType = flightplan.v1.DescribeTimelineRequest.class,
      responseType = flightplan.v1.DescribeTimelineResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.DescribeTimelineRequest,
      flightplan.v1.DescribeTimelineResponse> getDescribeTimelineMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.DescribeTimelineRequest, flightplan.v1.DescribeTimelineResponse> getDescribeTimelineMethod;
    if ((getDescribeTimelineMethod = TimelineServiceGrpc.getDescribeTimelineMethod) == null) {
      synchronized (TimelineServiceGrpc.class) {
        if ((getDescribeTimelineMethod = TimelineServiceGrpc.getDescribeTimelineMethod) == null) {
          TimelineServiceGrpc.getDescribeTimelineMethod = getDescribeTimelineMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.DescribeTimelineRequest, flightplan.v1.DescribeTimelineResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DescribeTimeline"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.DescribeTimelineRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.DescribeTimelineResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TimelineServiceMethodDescriptorSupplier("DescribeTimeline"))
              .build();
        }
      }
    }
    return getDescribeTimelineMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static TimelineServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TimelineServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TimelineServiceStub>() {
        @java.lang.Override
        public TimelineServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TimelineServiceStub(channel, callOptions);
        }
      };
    return TimelineServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static TimelineServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TimelineServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TimelineServiceBlockingStub>() {
        @java.lang.Override
        public TimelineServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TimelineServiceBlockingStub(channel, callOptions);
        }
      };
    return TimelineServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static TimelineServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TimelineServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TimelineServiceFutureStub>() {
        @java.lang.Override
        public TimelineServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TimelineServiceFutureStub(channel, callOptions);
        }
      };
    return TimelineServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
   * Idempotent.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Replays the pipeline schedule of a resolved or a finished configuration, event by event.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * FAILED_PRECONDITION: the configuration has no step to draw; the message says what is missing. RESOURCE_EXHAUSTED
     * with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    default void describeTimeline(flightplan.v1.DescribeTimelineRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.DescribeTimelineResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDescribeTimelineMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service TimelineService.
   * <pre>
   * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
   * Idempotent.
   * </pre>
   */
  public static abstract class TimelineServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return TimelineServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service TimelineService.
   * <pre>
   * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
   * Idempotent.
   * </pre>
   */
  public static final class TimelineServiceStub
      extends io.grpc.stub.AbstractAsyncStub<TimelineServiceStub> {
    private TimelineServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TimelineServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TimelineServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Replays the pipeline schedule of a resolved or a finished configuration, event by event.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * FAILED_PRECONDITION: the configuration has no step to draw; the message says what is missing. RESOURCE_EXHAUSTED
     * with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public void describeTimeline(flightplan.v1.DescribeTimelineRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.DescribeTimelineResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDescribeTimelineMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service TimelineService.
   * <pre>
   * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
   * Idempotent.
   * </pre>
   */
  public static final class TimelineServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<TimelineServiceBlockingStub> {
    private TimelineServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TimelineServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TimelineServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Replays the pipeline schedule of a resolved or a finished configuration, event by event.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * FAILED_PRECONDITION: the configuration has no step to draw; the message says what is missing. RESOURCE_EXHAUSTED
     * with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public flightplan.v1.DescribeTimelineResponse describeTimeline(flightplan.v1.DescribeTimelineRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDescribeTimelineMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service TimelineService.
   * <pre>
   * Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
   * Idempotent.
   * </pre>
   */
  public static final class TimelineServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<TimelineServiceFutureStub> {
    private TimelineServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TimelineServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TimelineServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Replays the pipeline schedule of a resolved or a finished configuration, event by event.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * FAILED_PRECONDITION: the configuration has no step to draw; the message says what is missing. RESOURCE_EXHAUSTED
     * with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.DescribeTimelineResponse> describeTimeline(
        flightplan.v1.DescribeTimelineRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDescribeTimelineMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_DESCRIBE_TIMELINE = 0;

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
        case METHODID_DESCRIBE_TIMELINE:
          serviceImpl.describeTimeline((flightplan.v1.DescribeTimelineRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.DescribeTimelineResponse>) responseObserver);
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
          getDescribeTimelineMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.DescribeTimelineRequest,
              flightplan.v1.DescribeTimelineResponse>(
                service, METHODID_DESCRIBE_TIMELINE)))
        .build();
  }

  private static abstract class TimelineServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    TimelineServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.Timeline.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("TimelineService");
    }
  }

  private static final class TimelineServiceFileDescriptorSupplier
      extends TimelineServiceBaseDescriptorSupplier {
    TimelineServiceFileDescriptorSupplier() {}
  }

  private static final class TimelineServiceMethodDescriptorSupplier
      extends TimelineServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    TimelineServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (TimelineServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new TimelineServiceFileDescriptorSupplier())
              .addMethod(getDescribeTimelineMethod())
              .build();
        }
      }
    }
    return result;
  }
}
