package flightplan.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
 * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
 * </pre>
 */
@javax.annotation.Generated(
    value = "by gRPC proto compiler (version 1.62.2)",
    comments = "Source: flightplan/v1/catalog_service.proto")
@io.grpc.stub.annotations.GrpcGenerated
public final class CatalogServiceGrpc {

  private CatalogServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "flightplan.v1.CatalogService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetModelRequest,
      flightplan.v1.ModelSpec> getGetModelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetModel",
      requestType = flightplan.v1.GetModelRequest.class,
      responseType = flightplan.v1.ModelSpec.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetModelRequest,
      flightplan.v1.ModelSpec> getGetModelMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetModelRequest, flightplan.v1.ModelSpec> getGetModelMethod;
    if ((getGetModelMethod = CatalogServiceGrpc.getGetModelMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetModelMethod = CatalogServiceGrpc.getGetModelMethod) == null) {
          CatalogServiceGrpc.getGetModelMethod = getGetModelMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetModelRequest, flightplan.v1.ModelSpec>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetModel"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetModelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ModelSpec.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetModel"))
              .build();
        }
      }
    }
    return getGetModelMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListModelsRequest,
      flightplan.v1.ListModelsResponse> getListModelsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListModels",
      requestType = flightplan.v1.ListModelsRequest.class,
      responseType = flightplan.v1.ListModelsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListModelsRequest,
      flightplan.v1.ListModelsResponse> getListModelsMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListModelsRequest, flightplan.v1.ListModelsResponse> getListModelsMethod;
    if ((getListModelsMethod = CatalogServiceGrpc.getListModelsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListModelsMethod = CatalogServiceGrpc.getListModelsMethod) == null) {
          CatalogServiceGrpc.getListModelsMethod = getListModelsMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListModelsRequest, flightplan.v1.ListModelsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListModels"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListModelsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListModelsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListModels"))
              .build();
        }
      }
    }
    return getListModelsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetGpuRequest,
      flightplan.v1.GpuSystem> getGetGpuMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetGpu",
      requestType = flightplan.v1.GetGpuRequest.class,
      responseType = flightplan.v1.GpuSystem.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetGpuRequest,
      flightplan.v1.GpuSystem> getGetGpuMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetGpuRequest, flightplan.v1.GpuSystem> getGetGpuMethod;
    if ((getGetGpuMethod = CatalogServiceGrpc.getGetGpuMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetGpuMethod = CatalogServiceGrpc.getGetGpuMethod) == null) {
          CatalogServiceGrpc.getGetGpuMethod = getGetGpuMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetGpuRequest, flightplan.v1.GpuSystem>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetGpu"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetGpuRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GpuSystem.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetGpu"))
              .build();
        }
      }
    }
    return getGetGpuMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListGpusRequest,
      flightplan.v1.ListGpusResponse> getListGpusMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListGpus",
      requestType = flightplan.v1.ListGpusRequest.class,
      responseType = flightplan.v1.ListGpusResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListGpusRequest,
      flightplan.v1.ListGpusResponse> getListGpusMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListGpusRequest, flightplan.v1.ListGpusResponse> getListGpusMethod;
    if ((getListGpusMethod = CatalogServiceGrpc.getListGpusMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListGpusMethod = CatalogServiceGrpc.getListGpusMethod) == null) {
          CatalogServiceGrpc.getListGpusMethod = getListGpusMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListGpusRequest, flightplan.v1.ListGpusResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListGpus"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListGpusRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListGpusResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListGpus"))
              .build();
        }
      }
    }
    return getListGpusMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetKnobRequest,
      flightplan.v1.KnobInfo> getGetKnobMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetKnob",
      requestType = flightplan.v1.GetKnobRequest.class,
      responseType = flightplan.v1.KnobInfo.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetKnobRequest,
      flightplan.v1.KnobInfo> getGetKnobMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetKnobRequest, flightplan.v1.KnobInfo> getGetKnobMethod;
    if ((getGetKnobMethod = CatalogServiceGrpc.getGetKnobMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetKnobMethod = CatalogServiceGrpc.getGetKnobMethod) == null) {
          CatalogServiceGrpc.getGetKnobMethod = getGetKnobMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetKnobRequest, flightplan.v1.KnobInfo>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetKnob"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetKnobRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.KnobInfo.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetKnob"))
              .build();
        }
      }
    }
    return getGetKnobMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListKnobsRequest,
      flightplan.v1.ListKnobsResponse> getListKnobsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListKnobs",
      requestType = flightplan.v1.ListKnobsRequest.class,
      responseType = flightplan.v1.ListKnobsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListKnobsRequest,
      flightplan.v1.ListKnobsResponse> getListKnobsMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListKnobsRequest, flightplan.v1.ListKnobsResponse> getListKnobsMethod;
    if ((getListKnobsMethod = CatalogServiceGrpc.getListKnobsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListKnobsMethod = CatalogServiceGrpc.getListKnobsMethod) == null) {
          CatalogServiceGrpc.getListKnobsMethod = getListKnobsMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListKnobsRequest, flightplan.v1.ListKnobsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListKnobs"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListKnobsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListKnobsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListKnobs"))
              .build();
        }
      }
    }
    return getListKnobsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.GetRuleRequest,
      flightplan.v1.RuleInfo> getGetRuleMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetRule",
      requestType = flightplan.v1.GetRuleRequest.class,
      responseType = flightplan.v1.RuleInfo.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.GetRuleRequest,
      flightplan.v1.RuleInfo> getGetRuleMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.GetRuleRequest, flightplan.v1.RuleInfo> getGetRuleMethod;
    if ((getGetRuleMethod = CatalogServiceGrpc.getGetRuleMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetRuleMethod = CatalogServiceGrpc.getGetRuleMethod) == null) {
          CatalogServiceGrpc.getGetRuleMethod = getGetRuleMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.GetRuleRequest, flightplan.v1.RuleInfo>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetRule"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.GetRuleRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.RuleInfo.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetRule"))
              .build();
        }
      }
    }
    return getGetRuleMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ListRulesRequest,
      flightplan.v1.ListRulesResponse> getListRulesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListRules",
      requestType = flightplan.v1.ListRulesRequest.class,
      responseType = flightplan.v1.ListRulesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ListRulesRequest,
      flightplan.v1.ListRulesResponse> getListRulesMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ListRulesRequest, flightplan.v1.ListRulesResponse> getListRulesMethod;
    if ((getListRulesMethod = CatalogServiceGrpc.getListRulesMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListRulesMethod = CatalogServiceGrpc.getListRulesMethod) == null) {
          CatalogServiceGrpc.getListRulesMethod = getListRulesMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ListRulesRequest, flightplan.v1.ListRulesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListRules"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListRulesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ListRulesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListRules"))
              .build();
        }
      }
    }
    return getListRulesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<flightplan.v1.ImportModelRequest,
      flightplan.v1.ModelSpec> getImportModelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportModel",
      requestType = flightplan.v1.ImportModelRequest.class,
      responseType = flightplan.v1.ModelSpec.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<flightplan.v1.ImportModelRequest,
      flightplan.v1.ModelSpec> getImportModelMethod() {
    io.grpc.MethodDescriptor<flightplan.v1.ImportModelRequest, flightplan.v1.ModelSpec> getImportModelMethod;
    if ((getImportModelMethod = CatalogServiceGrpc.getImportModelMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getImportModelMethod = CatalogServiceGrpc.getImportModelMethod) == null) {
          CatalogServiceGrpc.getImportModelMethod = getImportModelMethod =
              io.grpc.MethodDescriptor.<flightplan.v1.ImportModelRequest, flightplan.v1.ModelSpec>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportModel"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ImportModelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  flightplan.v1.ModelSpec.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ImportModel"))
              .build();
        }
      }
    }
    return getImportModelMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CatalogServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub>() {
        @java.lang.Override
        public CatalogServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceStub(channel, callOptions);
        }
      };
    return CatalogServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CatalogServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub>() {
        @java.lang.Override
        public CatalogServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingStub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CatalogServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub>() {
        @java.lang.Override
        public CatalogServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceFutureStub(channel, callOptions);
        }
      };
    return CatalogServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
   * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * One model, by name or alias.
     * </pre>
     */
    default void getModel(flightplan.v1.GetModelRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetModelMethod(), responseObserver);
    }

    /**
     * <pre>
     * All models, by name.
     * </pre>
     */
    default void listModels(flightplan.v1.ListModelsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListModelsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListModelsMethod(), responseObserver);
    }

    /**
     * <pre>
     * One GPU system, by name or alias.
     * </pre>
     */
    default void getGpu(flightplan.v1.GetGpuRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.GpuSystem> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetGpuMethod(), responseObserver);
    }

    /**
     * <pre>
     * All GPU systems, by name.
     * </pre>
     */
    default void listGpus(flightplan.v1.ListGpusRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListGpusResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListGpusMethod(), responseObserver);
    }

    /**
     * <pre>
     * One knob, by name or alias.
     * </pre>
     */
    default void getKnob(flightplan.v1.GetKnobRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.KnobInfo> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetKnobMethod(), responseObserver);
    }

    /**
     * <pre>
     * All knobs, in table order.
     * </pre>
     */
    default void listKnobs(flightplan.v1.ListKnobsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListKnobsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListKnobsMethod(), responseObserver);
    }

    /**
     * <pre>
     * One rule: what, why, source, fix, since which version.
     * </pre>
     */
    default void getRule(flightplan.v1.GetRuleRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.RuleInfo> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetRuleMethod(), responseObserver);
    }

    /**
     * <pre>
     * All rules, by id.
     * </pre>
     */
    default void listRules(flightplan.v1.ListRulesRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListRulesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListRulesMethod(), responseObserver);
    }

    /**
     * <pre>
     * A Hugging Face config.json as a model. INVALID_ARGUMENT names the field that cannot be read.
     * </pre>
     */
    default void importModel(flightplan.v1.ImportModelRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getImportModelMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CatalogService.
   * <pre>
   * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
   * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
   * </pre>
   */
  public static abstract class CatalogServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CatalogServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CatalogService.
   * <pre>
   * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
   * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
   * </pre>
   */
  public static final class CatalogServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CatalogServiceStub> {
    private CatalogServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * One model, by name or alias.
     * </pre>
     */
    public void getModel(flightplan.v1.GetModelRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetModelMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * All models, by name.
     * </pre>
     */
    public void listModels(flightplan.v1.ListModelsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListModelsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListModelsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One GPU system, by name or alias.
     * </pre>
     */
    public void getGpu(flightplan.v1.GetGpuRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.GpuSystem> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetGpuMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * All GPU systems, by name.
     * </pre>
     */
    public void listGpus(flightplan.v1.ListGpusRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListGpusResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListGpusMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One knob, by name or alias.
     * </pre>
     */
    public void getKnob(flightplan.v1.GetKnobRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.KnobInfo> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetKnobMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * All knobs, in table order.
     * </pre>
     */
    public void listKnobs(flightplan.v1.ListKnobsRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListKnobsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListKnobsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One rule: what, why, source, fix, since which version.
     * </pre>
     */
    public void getRule(flightplan.v1.GetRuleRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.RuleInfo> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetRuleMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * All rules, by id.
     * </pre>
     */
    public void listRules(flightplan.v1.ListRulesRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ListRulesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListRulesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A Hugging Face config.json as a model. INVALID_ARGUMENT names the field that cannot be read.
     * </pre>
     */
    public void importModel(flightplan.v1.ImportModelRequest request,
        io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getImportModelMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CatalogService.
   * <pre>
   * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
   * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
   * </pre>
   */
  public static final class CatalogServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingStub> {
    private CatalogServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * One model, by name or alias.
     * </pre>
     */
    public flightplan.v1.ModelSpec getModel(flightplan.v1.GetModelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetModelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All models, by name.
     * </pre>
     */
    public flightplan.v1.ListModelsResponse listModels(flightplan.v1.ListModelsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListModelsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One GPU system, by name or alias.
     * </pre>
     */
    public flightplan.v1.GpuSystem getGpu(flightplan.v1.GetGpuRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetGpuMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All GPU systems, by name.
     * </pre>
     */
    public flightplan.v1.ListGpusResponse listGpus(flightplan.v1.ListGpusRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListGpusMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One knob, by name or alias.
     * </pre>
     */
    public flightplan.v1.KnobInfo getKnob(flightplan.v1.GetKnobRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetKnobMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All knobs, in table order.
     * </pre>
     */
    public flightplan.v1.ListKnobsResponse listKnobs(flightplan.v1.ListKnobsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListKnobsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One rule: what, why, source, fix, since which version.
     * </pre>
     */
    public flightplan.v1.RuleInfo getRule(flightplan.v1.GetRuleRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetRuleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All rules, by id.
     * </pre>
     */
    public flightplan.v1.ListRulesResponse listRules(flightplan.v1.ListRulesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListRulesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A Hugging Face config.json as a model. INVALID_ARGUMENT names the field that cannot be read.
     * </pre>
     */
    public flightplan.v1.ModelSpec importModel(flightplan.v1.ImportModelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getImportModelMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CatalogService.
   * <pre>
   * What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
   * 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
   * </pre>
   */
  public static final class CatalogServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CatalogServiceFutureStub> {
    private CatalogServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * One model, by name or alias.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ModelSpec> getModel(
        flightplan.v1.GetModelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetModelMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * All models, by name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListModelsResponse> listModels(
        flightplan.v1.ListModelsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListModelsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One GPU system, by name or alias.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.GpuSystem> getGpu(
        flightplan.v1.GetGpuRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetGpuMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * All GPU systems, by name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListGpusResponse> listGpus(
        flightplan.v1.ListGpusRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListGpusMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One knob, by name or alias.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.KnobInfo> getKnob(
        flightplan.v1.GetKnobRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetKnobMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * All knobs, in table order.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListKnobsResponse> listKnobs(
        flightplan.v1.ListKnobsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListKnobsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One rule: what, why, source, fix, since which version.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.RuleInfo> getRule(
        flightplan.v1.GetRuleRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetRuleMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * All rules, by id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ListRulesResponse> listRules(
        flightplan.v1.ListRulesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListRulesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A Hugging Face config.json as a model. INVALID_ARGUMENT names the field that cannot be read.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<flightplan.v1.ModelSpec> importModel(
        flightplan.v1.ImportModelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getImportModelMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_MODEL = 0;
  private static final int METHODID_LIST_MODELS = 1;
  private static final int METHODID_GET_GPU = 2;
  private static final int METHODID_LIST_GPUS = 3;
  private static final int METHODID_GET_KNOB = 4;
  private static final int METHODID_LIST_KNOBS = 5;
  private static final int METHODID_GET_RULE = 6;
  private static final int METHODID_LIST_RULES = 7;
  private static final int METHODID_IMPORT_MODEL = 8;

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
        case METHODID_GET_MODEL:
          serviceImpl.getModel((flightplan.v1.GetModelRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec>) responseObserver);
          break;
        case METHODID_LIST_MODELS:
          serviceImpl.listModels((flightplan.v1.ListModelsRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListModelsResponse>) responseObserver);
          break;
        case METHODID_GET_GPU:
          serviceImpl.getGpu((flightplan.v1.GetGpuRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.GpuSystem>) responseObserver);
          break;
        case METHODID_LIST_GPUS:
          serviceImpl.listGpus((flightplan.v1.ListGpusRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListGpusResponse>) responseObserver);
          break;
        case METHODID_GET_KNOB:
          serviceImpl.getKnob((flightplan.v1.GetKnobRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.KnobInfo>) responseObserver);
          break;
        case METHODID_LIST_KNOBS:
          serviceImpl.listKnobs((flightplan.v1.ListKnobsRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListKnobsResponse>) responseObserver);
          break;
        case METHODID_GET_RULE:
          serviceImpl.getRule((flightplan.v1.GetRuleRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.RuleInfo>) responseObserver);
          break;
        case METHODID_LIST_RULES:
          serviceImpl.listRules((flightplan.v1.ListRulesRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ListRulesResponse>) responseObserver);
          break;
        case METHODID_IMPORT_MODEL:
          serviceImpl.importModel((flightplan.v1.ImportModelRequest) request,
              (io.grpc.stub.StreamObserver<flightplan.v1.ModelSpec>) responseObserver);
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
          getGetModelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetModelRequest,
              flightplan.v1.ModelSpec>(
                service, METHODID_GET_MODEL)))
        .addMethod(
          getListModelsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListModelsRequest,
              flightplan.v1.ListModelsResponse>(
                service, METHODID_LIST_MODELS)))
        .addMethod(
          getGetGpuMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetGpuRequest,
              flightplan.v1.GpuSystem>(
                service, METHODID_GET_GPU)))
        .addMethod(
          getListGpusMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListGpusRequest,
              flightplan.v1.ListGpusResponse>(
                service, METHODID_LIST_GPUS)))
        .addMethod(
          getGetKnobMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetKnobRequest,
              flightplan.v1.KnobInfo>(
                service, METHODID_GET_KNOB)))
        .addMethod(
          getListKnobsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListKnobsRequest,
              flightplan.v1.ListKnobsResponse>(
                service, METHODID_LIST_KNOBS)))
        .addMethod(
          getGetRuleMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.GetRuleRequest,
              flightplan.v1.RuleInfo>(
                service, METHODID_GET_RULE)))
        .addMethod(
          getListRulesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ListRulesRequest,
              flightplan.v1.ListRulesResponse>(
                service, METHODID_LIST_RULES)))
        .addMethod(
          getImportModelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              flightplan.v1.ImportModelRequest,
              flightplan.v1.ModelSpec>(
                service, METHODID_IMPORT_MODEL)))
        .build();
  }

  private static abstract class CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CatalogServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return flightplan.v1.CatalogServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CatalogService");
    }
  }

  private static final class CatalogServiceFileDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier {
    CatalogServiceFileDescriptorSupplier() {}
  }

  private static final class CatalogServiceMethodDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CatalogServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CatalogServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CatalogServiceFileDescriptorSupplier())
              .addMethod(getGetModelMethod())
              .addMethod(getListModelsMethod())
              .addMethod(getGetGpuMethod())
              .addMethod(getListGpusMethod())
              .addMethod(getGetKnobMethod())
              .addMethod(getListKnobsMethod())
              .addMethod(getGetRuleMethod())
              .addMethod(getListRulesMethod())
              .addMethod(getImportModelMethod())
              .build();
        }
      }
    }
    return result;
  }
}
