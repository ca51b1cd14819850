package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/probe_service.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class ProbeServiceGrpc {

  private ProbeServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.ProbeService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.RunProbeRequest,
      flightplan.v1.RunProbeResponse> getRunProbeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RunProbe",
      requestType = flightplan.v1.RunProbeRequest.class,
      responseType = flightplan.v1.RunProbeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<flightplan.v1.RunProbeRequest,
      flightplan.v1.RunProbeResponse> getRunProbeMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.RunProbeRequest, flightplan.v1.RunProbeResponse> getRunProbeMethod;
    if ((getRunProbeMethod = ProbeServiceGrpc.getRunProbeMethod) == null) {
      synchronized (ProbeServiceGrpc.class) {
        if ((getRunProbeMethod = ProbeServiceGrpc.getRunProbeMethod) == null) {
          ProbeServiceGrpc.getRunProbeMethod = getRunProbeMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.RunProbeRequest, flightplan.v1.RunProbeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RunProbe"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.RunProbeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.RunProbeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ProbeServiceMethodDescriptorSupplier("RunProbe"))
              .build();
        }
      }
    }
    return getRunProbeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetProfileRequest,
      flightplan.v1.HardwareProfile> getGetProfileMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetProfile",
      requestType = flightplan.v1.GetProfileRequest.class,
      responseType = flightplan.v1.HardwareProfile.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetProfileRequest,
      flightplan.v1.HardwareProfile> getGetProfileMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetProfileRequest, flightplan.v1.HardwareProfile> getGetProfileMethod;
    if ((getGetProfileMethod = ProbeServiceGrpc.getGetProfileMethod) == null) {
      synchronized (ProbeServiceGrpc.class) {
        if ((getGetProfileMethod = ProbeServiceGrpc.getGetProfileMethod) == null) {
          ProbeServiceGrpc.getGetProfileMethod = getGetProfileMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetProfileRequest, flightplan.v1.HardwareProfile>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetProfile"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetProfileRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.HardwareProfile.getDefaultInstance()))
              .setSchemaDescriptor(new ProbeServiceMethodDescriptorSupplier("GetProfile"))
              .build();
        }
      }
    }
    return getGetProfileMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListProfilesRequest,
      flightplan.v1.ListProfilesResponse> getListProfilesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListProfiles",
      requestType = flightplan.v1.ListProfilesRequest.class,
      responseType = flightplan.v1.ListProfilesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListProfilesRequest,
      flightplan.v1.ListProfilesResponse> getListProfilesMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListProfilesRequest, flightplan.v1.ListProfilesResponse> getListProfilesMethod;
    if ((getListProfilesMethod = ProbeServiceGrpc.getListProfilesMethod) == null) {
      synchronized (ProbeServiceGrpc.class) {
        if ((getListProfilesMethod = ProbeServiceGrpc.getListProfilesMethod) == null) {
          ProbeServiceGrpc.getListProfilesMethod = getListProfilesMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListProfilesRequest, flightplan.v1.ListProfilesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListProfiles"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListProfilesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListProfilesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ProbeServiceMethodDescriptorSupplier("ListProfiles"))
              .build();
        }
      }
    }
    return getListProfilesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ImportProfileRequest,
      flightplan.v1.HardwareProfile> getImportProfileMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportProfile",
      requestType = flightplan.v1.ImportProfileRequest.class,
      responseType = flightplan.v1.HardwareProfile.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ImportProfileRequest,
      flightplan.v1.HardwareProfile> getImportProfileMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ImportProfileRequest, flightplan.v1.HardwareProfile> getImportProfileMethod;
    if ((getImportProfileMethod = ProbeServiceGrpc.getImportProfileMethod) == null) {
      synchronized (ProbeServiceGrpc.class) {
        if ((getImportProfileMethod = ProbeServiceGrpc.getImportProfileMethod) == null) {
          ProbeServiceGrpc.getImportProfileMethod = getImportProfileMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ImportProfileRequest, flightplan.v1.HardwareProfile>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportProfile"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ImportProfileRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.HardwareProfile.getDefaultInstance()))
              .setSchemaDescriptor(new ProbeServiceMethodDescriptorSupplier("ImportProfile"))
              .build();
        }
      }
    }
    return getImportProfileMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ProbeServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ProbeServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ProbeServiceStub>() {
        @java.lang.Override
        public ProbeServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ProbeServiceStub(channel, callOptions);
        }
      };
    return ProbeServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ProbeServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ProbeServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ProbeServiceBlockingStub>() {
        @java.lang.Override
        public ProbeServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ProbeServiceBlockingStub(channel, callOptions);
        }
      };
    return ProbeServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ProbeServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ProbeServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ProbeServiceFutureStub>() {
        @java.lang.Override
        public ProbeServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ProbeServiceFutureStub(channel, callOptions);
        }
      };
    return ProbeServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Runs the probe; streams progress, then the profile. Cancelling stops it within a second.
     * </pre>
     */
    default void runProbe(flightplan.v1.RunProbeRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.RunProbeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRunProbeMethod(), responseObserver);
    }

    /**
     * <pre>
     * One stored profile. NOT_FOUND: no such name.
     * </pre>
     */
    default void getProfile(flightplan.v1.GetProfileRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetProfileMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stored profiles, newest first.
     * </pre>
     */
    default void listProfiles(flightplan.v1.ListProfilesRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListProfilesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListProfilesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stores a profile that another machine measured; the same profile again is fine. Answers with it as stored.
     * INVALID_ARGUMENT: not a whole profile, or a synthetic one. ALREADY_EXISTS: the name is taken by another content.
     * </pre>
     */
    default void importProfile(flightplan.v1.ImportProfileRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getImportProfileMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ProbeService.
   * <pre>
   * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
   * </pre>
   */
  public static abstract class ProbeServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ProbeServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ProbeService.
   * <pre>
   * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
   * </pre>
   */
  public static final class ProbeServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ProbeServiceStub> {
    private ProbeServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ProbeServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ProbeServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Runs the probe; streams progress, then the profile. Cancelling stops it within a second.
     * </pre>
     */
    public void runProbe(flightplan.v1.RunProbeRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.RunProbeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getRunProbeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One stored profile. NOT_FOUND: no such name.
     * </pre>
     */
    public void getProfile(flightplan.v1.GetProfileRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetProfileMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stored profiles, newest first.
     * </pre>
     */
    public void listProfiles(flightplan.v1.ListProfilesRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListProfilesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListProfilesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stores a profile that another machine measured; the same profile again is fine. Answers with it as stored.
     * INVALID_ARGUMENT: not a whole profile, or a synthetic one. ALREADY_EXISTS: the name is taken by another content.
     * </pre>
     */
    public void importProfile(flightplan.v1.ImportProfileRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getImportProfileMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ProbeService.
   * <pre>
   * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
   * </pre>
   */
  public static final class ProbeServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ProbeServiceBlockingStub> {
    private ProbeServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ProbeServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ProbeServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Runs the probe; streams progress, then the profile. Cancelling stops it within a second.
     * </pre>
     */
    public java.util.Iterator<flightplan.v1.RunProbeResponse> runProbe(
        flightplan.v1.RunProbeRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getRunProbeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One stored profile. NOT_FOUND: no such name.
     * </pre>
     */
    public flightplan.v1.HardwareProfile getProfile(flightplan.v1.GetProfileRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetProfileMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stored profiles, newest first.
     * </pre>
     */
    public flightplan.v1.ListProfilesResponse listProfiles(flightplan.v1.ListProfilesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListProfilesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores a profile that another machine measured; the same profile again is fine. Answers with it as stored.
     * INVALID_ARGUMENT: not a whole profile, or a synthetic one. ALREADY_EXISTS: the name is taken by another content.
     * </pre>
     */
    public flightplan.v1.HardwareProfile importProfile(flightplan.v1.ImportProfileRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getImportProfileMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ProbeService.
   * <pre>
   * Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
   * </pre>
   */
  public static final class ProbeServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ProbeServiceFutureStub> {
    private ProbeServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ProbeServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ProbeServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * One stored profile. NOT_FOUND: no such name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.HardwareProfile> getProfile(
        flightplan.v1.GetProfileRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetProfileMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stored profiles, newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListProfilesResponse> listProfiles(
        flightplan.v1.ListProfilesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListProfilesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stores a profile that another machine measured; the same profile again is fine. Answers with it as stored.
     * INVALID_ARGUMENT: not a whole profile, or a synthetic one. ALREADY_EXISTS: the name is taken by another content.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.HardwareProfile> importProfile(
        flightplan.v1.ImportProfileRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getImportProfileMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_RUN_PROBE = 0;
  private static final int METHODID_GET_PROFILE = 1;
  private static final int METHODID_LIST_PROFILES = 2;
  private static final int METHODID_IMPORT_PROFILE = 3;

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
        case METHODID_RUN_PROBE:
          serviceImpl.runProbe((flightplan.v1.RunProbeRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.RunProbeResponse>) responseObserver);
          break;
        case METHODID_GET_PROFILE:
          serviceImpl.getProfile((flightplan.v1.GetProfileRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile>) responseObserver);
          break;
        case METHODID_LIST_PROFILES:
          serviceImpl.listProfiles((flightplan.v1.ListProfilesRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListProfilesResponse>) responseObserver);
          break;
        case METHODID_IMPORT_PROFILE:
          serviceImpl.importProfile((flightplan.v1.ImportProfileRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.HardwareProfile>) responseObserver);
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
          getRunProbeMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              flightplan.v1.RunProbeRequest,
              flightplan.v1.RunProbeResponse>(
                service, METHODID_RUN_PROBE)))
        .addMethod(
          getGetProfileMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetProfileRequest,
              flightplan.v1.HardwareProfile>(
                service, METHODID_GET_PROFILE)))
        .addMethod(
          getListProfilesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListProfilesRequest,
              flightplan.v1.ListProfilesResponse>(
                service, METHODID_LIST_PROFILES)))
        .addMethod(
          getImportProfileMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ImportProfileRequest,
              flightplan.v1.HardwareProfile>(
                service, METHODID_IMPORT_PROFILE)))
        .build();
  }

  private static abstract class ProbeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ProbeServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.ProbeServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ProbeService");
    }
  }

  private static final class ProbeServiceFileDescriptorSupplier
      extends ProbeServiceBaseDescriptorSupplier {
    ProbeServiceFileDescriptorSupplier() {}
  }

  private static final class ProbeServiceMethodDescriptorSupplier
      extends ProbeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ProbeServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ProbeServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ProbeServiceFileDescriptorSupplier())
              .addMethod(getRunProbeMethod())
              .addMethod(getGetProfileMethod())
              .addMethod(getListProfilesMethod())
              .addMethod(getImportProfileMethod())
              .build();
        }
      }
    }
    return result;
  }
}
