package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
 * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/resolver_service.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class ResolverServiceGrpc {

  private ResolverServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.ResolverService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ResolveConfigRequest,
      flightplan.v1.ResolveConfigResponse> getResolveConfigMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResolveConfig",
      requestType = flightplan.v1.ResolveConfigRequest.class,
      responseType = flightplan.v1.ResolveConfigResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ResolveConfigRequest,
      flightplan.v1.ResolveConfigResponse> getResolveConfigMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ResolveConfigRequest, flightplan.v1.ResolveConfigResponse> getResolveConfigMethod;
    if ((getResolveConfigMethod = ResolverServiceGrpc.getResolveConfigMethod) == null) {
      synchronized (ResolverServiceGrpc.class) {
        if ((getResolveConfigMethod = ResolverServiceGrpc.getResolveConfigMethod) == null) {
          ResolverServiceGrpc.getResolveConfigMethod = getResolveConfigMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ResolveConfigRequest, flightplan.v1.ResolveConfigResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResolveConfig"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ResolveConfigRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ResolveConfigResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ResolverServiceMethodDescriptorSupplier("ResolveConfig"))
              .build();
        }
      }
    }
    return getResolveConfigMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ValidateConfigRequest,
      flightplan.v1.ValidateConfigResponse> getValidateConfigMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ValidateConfig",
      requestType = flightplan.v1.ValidateConfigRequest.class,
      responseType = flightplan.v1.ValidateConfigResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ValidateConfigRequest,
      flightplan.v1.ValidateConfigResponse> getValidateConfigMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ValidateConfigRequest, flightplan.v1.ValidateConfigResponse> getValidateConfigMethod;
    if ((getValidateConfigMethod = ResolverServiceGrpc.getValidateConfigMethod) == null) {
      synchronized (ResolverServiceGrpc.class) {
        if ((getValidateConfigMethod = ResolverServiceGrpc.getValidateConfigMethod) == null) {
          ResolverServiceGrpc.getValidateConfigMethod = getValidateConfigMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ValidateConfigRequest, flightplan.v1.ValidateConfigResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ValidateConfig"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ValidateConfigRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ValidateConfigResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ResolverServiceMethodDescriptorSupplier("ValidateConfig"))
              .build();
        }
      }
    }
    return getValidateConfigMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.PlanLayoutsRequest,
      flightplan.v1.PlanLayoutsResponse> getPlanLayoutsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PlanLayouts",
      requestType = flightplan.v1.PlanLayoutsRequest.class,
      responseType = flightplan.v1.PlanLayoutsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<flightplan.v1.PlanLayoutsRequest,
      flightplan.v1.PlanLayoutsResponse> getPlanLayoutsMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.PlanLayoutsRequest, flightplan.v1.PlanLayoutsResponse> getPlanLayoutsMethod;
    if ((getPlanLayoutsMethod = ResolverServiceGrpc.getPlanLayoutsMethod) == null) {
      synchronized (ResolverServiceGrpc.class) {
        if ((getPlanLayoutsMethod = ResolverServiceGrpc.getPlanLayoutsMethod) == null) {
          ResolverServiceGrpc.getPlanLayoutsMethod = getPlanLayoutsMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.PlanLayoutsRequest, flightplan.v1.PlanLayoutsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PlanLayouts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.PlanLayoutsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.PlanLayoutsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ResolverServiceMethodDescriptorSupplier("PlanLayouts"))
              .build();
        }
      }
    }
    return getPlanLayoutsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.BatchResolveRequest,
      flightplan.v1.BatchResolveResponse> getBatchResolveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BatchResolve",
      requestType = flightplan.v1.BatchResolveRequest.class,
      responseType = flightplan.v1.BatchResolveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<flightplan.v1.BatchResolveRequest,
      flightplan.v1.BatchResolveResponse> getBatchResolveMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.BatchResolveRequest, flightplan.v1.BatchResolveResponse> getBatchResolveMethod;
    if ((getBatchResolveMethod = ResolverServiceGrpc.getBatchResolveMethod) == null) {
      synchronized (ResolverServiceGrpc.class) {
        if ((getBatchResolveMethod = ResolverServiceGrpc.getBatchResolveMethod) == null) {
          ResolverServiceGrpc.getBatchResolveMethod = getBatchResolveMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.BatchResolveRequest, flightplan.v1.BatchResolveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BatchResolve"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.BatchResolveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.BatchResolveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ResolverServiceMethodDescriptorSupplier("BatchResolve"))
              .build();
        }
      }
    }
    return getBatchResolveMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ConvertConfigRequest,
      flightplan.v1.ConvertConfigResponse> getConvertConfigMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ConvertConfig",
      requestType = flightplan.v1.ConvertConfigRequest.class,
      responseType = flightplan.v1.ConvertConfigResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ConvertConfigRequest,
      flightplan.v1.ConvertConfigResponse> getConvertConfigMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ConvertConfigRequest, flightplan.v1.ConvertConfigResponse> getConvertConfigMethod;
    if ((getConvertConfigMethod = ResolverServiceGrpc.getConvertConfigMethod) == null) {
      synchronized (ResolverServiceGrpc.class) {
        if ((getConvertConfigMethod = ResolverServiceGrpc.getConvertConfigMethod) == null) {
          ResolverServiceGrpc.getConvertConfigMethod = getConvertConfigMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ConvertConfigRequest, flightplan.v1.ConvertConfigResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ConvertConfig"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ConvertConfigRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ConvertConfigResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ResolverServiceMethodDescriptorSupplier("ConvertConfig"))
              .build();
        }
      }
    }
    return getConvertConfigMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ResolverServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ResolverServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ResolverServiceStub>() {
        @java.lang.Override
        public ResolverServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ResolverServiceStub(channel, callOptions);
        }
      };
    return ResolverServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ResolverServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ResolverServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ResolverServiceBlockingStub>() {
        @java.lang.Override
        public ResolverServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ResolverServiceBlockingStub(channel, callOptions);
        }
      };
    return ResolverServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ResolverServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ResolverServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ResolverServiceFutureStub>() {
        @java.lang.Override
        public ResolverServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ResolverServiceFutureStub(channel, callOptions);
        }
      };
    return ResolverServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
   * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Fills in a complete, validated configuration for a given layout.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    default void resolveConfig(flightplan.v1.ResolveConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ResolveConfigResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResolveConfigMethod(), responseObserver);
    }

    /**
     * <pre>
     * Judges a finished configuration in any spelling. Decides nothing. Errors as ResolveConfig.
     * </pre>
     */
    default void validateConfig(flightplan.v1.ValidateConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ValidateConfigResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getValidateConfigMethod(), responseObserver);
    }

    /**
     * <pre>
     * Searches all layouts that the constraints allow; streams progress, then the ranked result. Errors as ResolveConfig.
     * </pre>
     */
    default void planLayouts(flightplan.v1.PlanLayoutsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.PlanLayoutsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPlanLayoutsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Many requests on one call; answers come as they are ready, with the request's id. At most 1,000 in flight per stream.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<flightplan.v1.BatchResolveRequest> batchResolve(
        io.grpc.stub.StreamObserver<flightplan.v1.BatchResolveResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getBatchResolveMethod(), responseObserver);
    }

    /**
     * <pre>
     * Writes a finished configuration for another framework or version, and says what has no counterpart there. Errors as
     * ResolveConfig.
     * </pre>
     */
    default void convertConfig(flightplan.v1.ConvertConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ConvertConfigResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getConvertConfigMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ResolverService.
   * <pre>
   * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
   * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
   * </pre>
   */
  public static abstract class ResolverServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ResolverServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ResolverService.
   * <pre>
   * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
   * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
   * </pre>
   */
  public static final class ResolverServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ResolverServiceStub> {
    private ResolverServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ResolverServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ResolverServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Fills in a complete, validated configuration for a given layout.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public void resolveConfig(flightplan.v1.ResolveConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ResolveConfigResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResolveConfigMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Judges a finished configuration in any spelling. Decides nothing. Errors as ResolveConfig.
     * </pre>
     */
    public void validateConfig(flightplan.v1.ValidateConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ValidateConfigResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getValidateConfigMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Searches all layouts that the constraints allow; streams progress, then the ranked result. Errors as ResolveConfig.
     * </pre>
     */
    public void planLayouts(flightplan.v1.PlanLayoutsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.PlanLayoutsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getPlanLayoutsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Many requests on one call; answers come as they are ready, with the request's id. At most 1,000 in flight per stream.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<flightplan.v1.BatchResolveRequest> batchResolve(
        io.grpc.stub.StreamObserver<flightplan.v1.BatchResolveResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getBatchResolveMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Writes a finished configuration for another framework or version, and says what has no counterpart there. Errors as
     * ResolveConfig.
     * </pre>
     */
    public void convertConfig(flightplan.v1.ConvertConfigRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ConvertConfigResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getConvertConfigMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ResolverService.
   * <pre>
   * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
   * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
   * </pre>
   */
  public static final class ResolverServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ResolverServiceBlockingStub> {
    private ResolverServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ResolverServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ResolverServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Fills in a complete, validated configuration for a given layout.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public flightplan.v1.ResolveConfigResponse resolveConfig(flightplan.v1.ResolveConfigRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResolveConfigMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Judges a finished configuration in any spelling. Decides nothing. Errors as ResolveConfig.
     * </pre>
     */
    public flightplan.v1.ValidateConfigResponse validateConfig(flightplan.v1.ValidateConfigRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getValidateConfigMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Searches all layouts that the constraints allow; streams progress, then the ranked result. Errors as ResolveConfig.
     * </pre>
     */
    public java.util.Iterator<flightplan.v1.PlanLayoutsResponse> planLayouts(
        flightplan.v1.PlanLayoutsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getPlanLayoutsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes a finished configuration for another framework or version, and says what has no counterpart there. Errors as
     * ResolveConfig.
     * </pre>
     */
    public flightplan.v1.ConvertConfigResponse convertConfig(flightplan.v1.ConvertConfigRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getConvertConfigMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ResolverService.
   * <pre>
   * Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
   * errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
   * </pre>
   */
  public static final class ResolverServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ResolverServiceFutureStub> {
    private ResolverServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ResolverServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ResolverServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Fills in a complete, validated configuration for a given layout.
     * INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
     * RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ResolveConfigResponse> resolveConfig(
        flightplan.v1.ResolveConfigRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResolveConfigMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Judges a finished configuration in any spelling. Decides nothing. Errors as ResolveConfig.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ValidateConfigResponse> validateConfig(
        flightplan.v1.ValidateConfigRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getValidateConfigMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Writes a finished configuration for another framework or version, and says what has no counterpart there. Errors as
     * ResolveConfig.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ConvertConfigResponse> convertConfig(
        flightplan.v1.ConvertConfigRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getConvertConfigMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_RESOLVE_CONFIG = 0;
  private static final int METHODID_VALIDATE_CONFIG = 1;
  private static final int METHODID_PLAN_LAYOUTS = 2;
  private static final int METHODID_CONVERT_CONFIG = 3;
  private static final int METHODID_BATCH_RESOLVE = 4;

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
        case METHODID_RESOLVE_CONFIG:
          serviceImpl.resolveConfig((flightplan.v1.ResolveConfigRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ResolveConfigResponse>) responseObserver);
          break;
        case METHODID_VALIDATE_CONFIG:
          serviceImpl.validateConfig((flightplan.v1.ValidateConfigRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ValidateConfigResponse>) responseObserver);
          break;
        case METHODID_PLAN_LAYOUTS:
          serviceImpl.planLayouts((flightplan.v1.PlanLayoutsRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.PlanLayoutsResponse>) responseObserver);
          break;
        case METHODID_CONVERT_CONFIG:
          serviceImpl.convertConfig((flightplan.v1.ConvertConfigRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ConvertConfigResponse>) responseObserver);
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
        case METHODID_BATCH_RESOLVE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.batchResolve(
              (io.grpc.stub.StreamObserver<flightplan.v1.BatchResolveResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getResolveConfigMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ResolveConfigRequest,
              flightplan.v1.ResolveConfigResponse>(
                service, METHODID_RESOLVE_CONFIG)))
        .addMethod(
          getValidateConfigMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ValidateConfigRequest,
              flightplan.v1.ValidateConfigResponse>(
                service, METHODID_VALIDATE_CONFIG)))
        .addMethod(
          getPlanLayoutsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              flightplan.v1.PlanLayoutsRequest,
              flightplan.v1.PlanLayoutsResponse>(
                service, METHODID_PLAN_LAYOUTS)))
        .addMethod(
          getBatchResolveMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              flightplan.v1.BatchResolveRequest,
              flightplan.v1.BatchResolveResponse>(
                service, METHODID_BATCH_RESOLVE)))
        .addMethod(
          getConvertConfigMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ConvertConfigRequest,
              flightplan.v1.ConvertConfigResponse>(
                service, METHODID_CONVERT_CONFIG)))
        .build();
  }

  private static abstract class ResolverServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ResolverServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.ResolverServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ResolverService");
    }
  }

  private static final class ResolverServiceFileDescriptorSupplier
      extends ResolverServiceBaseDescriptorSupplier {
    ResolverServiceFileDescriptorSupplier() {}
  }

  private static final class ResolverServiceMethodDescriptorSupplier
      extends ResolverServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ResolverServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ResolverServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ResolverServiceFileDescriptorSupplier())
              .addMethod(getResolveConfigMethod())
              .addMethod(getValidateConfigMethod())
              .addMethod(getPlanLayoutsMethod())
              .addMethod(getBatchResolveMethod())
              .addMethod(getConvertConfigMethod())
              .build();
        }
      }
    }
    return result;
  }
}
