package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/evidence_service.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class EvidenceServiceGrpc {

  private EvidenceServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.EvidenceService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ReportMeasurementRequest,
      flightplan.v1.ReportMeasurementResponse> getReportMeasurementMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportMeasurement",
      requestType = flightplan.v1.ReportMeasurementRequest.class,
      responseType = flightplan.v1.ReportMeasurementResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ReportMeasurementRequest,
      flightplan.v1.ReportMeasurementResponse> getReportMeasurementMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ReportMeasurementRequest, flightplan.v1.ReportMeasurementResponse> getReportMeasurementMethod;
    if ((getReportMeasurementMethod = EvidenceServiceGrpc.getReportMeasurementMethod) == null) {
      synchronized (EvidenceServiceGrpc.class) {
        if ((getReportMeasurementMethod = EvidenceServiceGrpc.getReportMeasurementMethod) == null) {
          EvidenceServiceGrpc.getReportMeasurementMethod = getReportMeasurementMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ReportMeasurementRequest, flightplan.v1.ReportMeasurementResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportMeasurement"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ReportMeasurementRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ReportMeasurementResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EvidenceServiceMethodDescriptorSupplier("ReportMeasurement"))
              .build();
        }
      }
    }
    return getReportMeasurementMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetMeasurementRequest,
      flightplan.v1.Measurement> getGetMeasurementMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetMeasurement",
      requestType = flightplan.v1.GetMeasurementRequest.class,
      responseType = flightplan.v1.Measurement.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetMeasurementRequest,
      flightplan.v1.Measurement> getGetMeasurementMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetMeasurementRequest, flightplan.v1.Measurement> getGetMeasurementMethod;
    if ((getGetMeasurementMethod = EvidenceServiceGrpc.getGetMeasurementMethod) == null) {
      synchronized (EvidenceServiceGrpc.class) {
        if ((getGetMeasurementMethod = EvidenceServiceGrpc.getGetMeasurementMethod) == null) {
          EvidenceServiceGrpc.getGetMeasurementMethod = getGetMeasurementMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetMeasurementRequest, flightplan.v1.Measurement>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetMeasurement"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetMeasurementRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.Measurement.getDefaultInstance()))
              .setSchemaDescriptor(new EvidenceServiceMethodDescriptorSupplier("GetMeasurement"))
              .build();
        }
      }
    }
    return getGetMeasurementMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListMeasurementsRequest,
      flightplan.v1.ListMeasurementsResponse> getListMeasurementsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMeasurements",
      requestType = flightplan.v1.ListMeasurementsRequest.class,
      responseType = flightplan.v1.ListMeasurementsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListMeasurementsRequest,
      flightplan.v1.ListMeasurementsResponse> getListMeasurementsMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListMeasurementsRequest, flightplan.v1.ListMeasurementsResponse> getListMeasurementsMethod;
    if ((getListMeasurementsMethod = EvidenceServiceGrpc.getListMeasurementsMethod) == null) {
      synchronized (EvidenceServiceGrpc.class) {
        if ((getListMeasurementsMethod = EvidenceServiceGrpc.getListMeasurementsMethod) == null) {
          EvidenceServiceGrpc.getListMeasurementsMethod = getListMeasurementsMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListMeasurementsRequest, flightplan.v1.ListMeasurementsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMeasurements"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListMeasurementsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListMeasurementsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new EvidenceServiceMethodDescriptorSupplier("ListMeasurements"))
              .build();
        }
      }
    }
    return getListMeasurementsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static EvidenceServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceStub>() {
        @java.lang.Override
        public EvidenceServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EvidenceServiceStub(channel, callOptions);
        }
      };
    return EvidenceServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static EvidenceServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceBlockingStub>() {
        @java.lang.Override
        public EvidenceServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EvidenceServiceBlockingStub(channel, callOptions);
        }
      };
    return EvidenceServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static EvidenceServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<EvidenceServiceFutureStub>() {
        @java.lang.Override
        public EvidenceServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new EvidenceServiceFutureStub(channel, callOptions);
        }
      };
    return EvidenceServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Adds one measurement. ALREADY_EXISTS: the id is taken by another content; the same content again is OK.
     * </pre>
     */
    default void reportMeasurement(flightplan.v1.ReportMeasurementRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ReportMeasurementResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportMeasurementMethod(), responseObserver);
    }

    /**
     * <pre>
     * One measurement. NOT_FOUND: no such id.
     * </pre>
     */
    default void getMeasurement(flightplan.v1.GetMeasurementRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.Measurement> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMeasurementMethod(), responseObserver);
    }

    /**
     * <pre>
     * Measurements by revision.
     * </pre>
     */
    default void listMeasurements(flightplan.v1.ListMeasurementsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListMeasurementsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMeasurementsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service EvidenceService.
   * <pre>
   * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
   * </pre>
   */
  public static abstract class EvidenceServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return EvidenceServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service EvidenceService.
   * <pre>
   * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
   * </pre>
   */
  public static final class EvidenceServiceStub
      extends io.grpc.stub.AbstractAsyncStub<EvidenceServiceStub> {
    private EvidenceServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EvidenceServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EvidenceServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds one measurement. ALREADY_EXISTS: the id is taken by another content; the same content again is OK.
     * </pre>
     */
    public void reportMeasurement(flightplan.v1.ReportMeasurementRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ReportMeasurementResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportMeasurementMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One measurement. NOT_FOUND: no such id.
     * </pre>
     */
    public void getMeasurement(flightplan.v1.GetMeasurementRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.Measurement> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMeasurementMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Measurements by revision.
     * </pre>
     */
    public void listMeasurements(flightplan.v1.ListMeasurementsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListMeasurementsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMeasurementsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service EvidenceService.
   * <pre>
   * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
   * </pre>
   */
  public static final class EvidenceServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<EvidenceServiceBlockingStub> {
    private EvidenceServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EvidenceServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EvidenceServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds one measurement. ALREADY_EXISTS: the id is taken by another content; the same content again is OK.
     * </pre>
     */
    public flightplan.v1.ReportMeasurementResponse reportMeasurement(flightplan.v1.ReportMeasurementRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportMeasurementMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One measurement. NOT_FOUND: no such id.
     * </pre>
     */
    public flightplan.v1.Measurement getMeasurement(flightplan.v1.GetMeasurementRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMeasurementMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Measurements by revision.
     * </pre>
     */
    public flightplan.v1.ListMeasurementsResponse listMeasurements(flightplan.v1.ListMeasurementsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMeasurementsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service EvidenceService.
   * <pre>
   * Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
   * </pre>
   */
  public static final class EvidenceServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<EvidenceServiceFutureStub> {
    private EvidenceServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected EvidenceServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new EvidenceServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Adds one measurement. ALREADY_EXISTS: the id is taken by another content; the same content again is OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ReportMeasurementResponse> reportMeasurement(
        flightplan.v1.ReportMeasurementRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportMeasurementMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One measurement. NOT_FOUND: no such id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.Measurement> getMeasurement(
        flightplan.v1.GetMeasurementRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMeasurementMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Measurements by revision.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListMeasurementsResponse> listMeasurements(
        flightplan.v1.ListMeasurementsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMeasurementsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_REPORT_MEASUREMENT = 0;
  private static final int METHODID_GET_MEASUREMENT = 1;
  private static final int METHODID_LIST_MEASUREMENTS = 2;

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
        case METHODID_REPORT_MEASUREMENT:
          serviceImpl.reportMeasurement((flightplan.v1.ReportMeasurementRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ReportMeasurementResponse>) responseObserver);
          break;
        case METHODID_GET_MEASUREMENT:
          serviceImpl.getMeasurement((flightplan.v1.GetMeasurementRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.Measurement>) responseObserver);
          break;
        case METHODID_LIST_MEASUREMENTS:
          serviceImpl.listMeasurements((flightplan.v1.ListMeasurementsRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListMeasurementsResponse>) responseObserver);
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
          getReportMeasurementMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ReportMeasurementRequest,
              flightplan.v1.ReportMeasurementResponse>(
                service, METHODID_REPORT_MEASUREMENT)))
        .addMethod(
          getGetMeasurementMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetMeasurementRequest,
              flightplan.v1.Measurement>(
                service, METHODID_GET_MEASUREMENT)))
        .addMethod(
          getListMeasurementsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListMeasurementsRequest,
              flightplan.v1.ListMeasurementsResponse>(
                service, METHODID_LIST_MEASUREMENTS)))
        .build();
  }

  private static abstract class EvidenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    EvidenceServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.EvidenceServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("EvidenceService");
    }
  }

  private static final class EvidenceServiceFileDescriptorSupplier
      extends EvidenceServiceBaseDescriptorSupplier {
    EvidenceServiceFileDescriptorSupplier() {}
  }

  private static final class EvidenceServiceMethodDescriptorSupplier
      extends EvidenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    EvidenceServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (EvidenceServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new EvidenceServiceFileDescriptorSupplier())
              .addMethod(getReportMeasurementMethod())
              .addMethod(getGetMeasurementMethod())
              .addMethod(getListMeasurementsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
