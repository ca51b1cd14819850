package flightplan.conformance;

import flightplan.Client;
import flightplan.Failure;
import flightplan.v1.BatchResolveRequest;
import flightplan.v1.BatchResolveResponse;
import flightplan.v1.ResolverServiceGrpc;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** The conformance runner. Arguments: --cases FILE --server HOST:PORT. */
public final class Runner {
  private static final Metadata.Key<String> REQUEST_ID = key("x-request-id");
  private static final Metadata.Key<String> DECISION_ID = key("x-flightplan-decision-id");
  private static final int BATCH_SECONDS = 120;

  private final Client client;

  private Runner(Client client) {
    this.client = client;
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** One case, while it runs. */
  private static final class Call {
    final Case test;
    final Facts facts = new Facts();
    final AtomicReference<Metadata> headers = new AtomicReference<>();
    final AtomicReference<Metadata> trailers = new AtomicReference<>();

    Call(Case test) {
      this.test = test;
    }

    <S extends AbstractStub<S>> S on(S stub) {
      var sent = new Metadata();
      test.getOptions().getMetadataMap().forEach((name, value) -> sent.put(key(name), value));
      var prepared =
          stub.withInterceptors(
              MetadataUtils.newAttachHeadersInterceptor(sent),
              MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
      if (!test.getOptions().hasDeadlineMs()) return prepared;
      return prepared.withDeadlineAfter(test.getOptions().getDeadlineMs(), TimeUnit.MILLISECONDS);
    }

    <S extends AbstractStub<S>, A> void unary(S stub, Function<S, A> ask, BiConsumer<A, Facts> add) {
      ends(() -> add.accept(ask.apply(on(stub)), facts));
      if (test.getOptions().containsMetadata(REQUEST_ID.name()) && headers.get() != null) {
        var id = headers.get().get(REQUEST_ID);
        if (id != null) facts.add("~header.x-request-id", id);
      }
      var decision = trailers.get() == null ? null : trailers.get().get(DECISION_ID);
      if (decision != null) facts.add("~trailer.x-flightplan-decision-id", decision);
    }

    void ends(Runnable body) {
      try {
        body.run();
        facts.add("code", "OK");
      } catch (StatusRuntimeException error) {
        Answers.add("", Failure.of(error), facts);
      }
    }

    void page(List<String> names, String nextPageToken) {
      facts.addEach("names", names);
      facts.add("next_page_token", nextPageToken);
    }
  }

  private static <T> List<String> names(List<T> entries, Function<T, String> name) {
    List<String> names = new ArrayList<>();
    entries.forEach(entry -> names.add(name.apply(entry)));
    return names;
  }

  private void plan(Call call) {
    int[] progress = {0};
    var context = Context.current().withCancellation();
    context.run(
        () ->
            call.ends(
                () ->
                    call.on(client.resolver())
                        .planLayouts(call.test.getPlanLayouts())
                        .forEachRemaining(
                            event -> {
                              if (event.hasResult()) Answers.add("", event.getResult(), call.facts);
                              else ++progress[0];
                              if (call.test.getOptions().getCancelAfterFirst()) context.cancel(null);
                            })));
    context.cancel(null);
    call.facts.add("~progress", progress[0]);
  }

  private void batch(Call call) throws InterruptedException {
    var ended = new CountDownLatch(1);
    int[] answered = {0};
    var stub = call.on(ResolverServiceGrpc.newStub(client.channel()));
    StreamObserver<BatchResolveRequest> requests =
        stub.batchResolve(
            new StreamObserver<BatchResolveResponse>() {
              @Override
              public void onNext(BatchResolveResponse answer) {
                ++answered[0];
                Answers.add("", answer, call.facts);
              }

              @Override
              public void onError(Throwable error) {
                Answers.add("", Failure.of((StatusRuntimeException) error), call.facts);
                ended.countDown();
              }

              @Override
              public void onCompleted() {
                call.facts.add("code", "OK");
                ended.countDown();
              }
            });
    call.test.getBatchResolve().getRequestsList().forEach(requests::onNext);
    requests.onCompleted();
    if (!ended.await(BATCH_SECONDS, TimeUnit.SECONDS)) call.facts.add("code", "NO_END");
    call.facts.add("answered", answered[0]);
  }

  private void resolve(Call call) {
    var request = call.test.getResolveConfig().toBuilder();
    int padding = call.test.getOptions().getPaddingBytes();
    if (padding > 0) request.putEnv("PADDING", "x".repeat(padding));
    call.unary(client.resolver(), stub -> stub.resolveConfig(request.build()), (a, f) -> Answers.add("", a, f));
  }

  private Facts factsOf(Case test) throws InterruptedException {
    var call = new Call(test);
    switch (test.getCallCase()) {
      case RESOLVE_CONFIG:
        resolve(call);
        break;
      case PLAN_LAYOUTS:
        plan(call);
        break;
      case BATCH_RESOLVE:
        batch(call);
        break;
      case VALIDATE_CONFIG:
        call.unary(client.resolver(), s -> s.validateConfig(test.getValidateConfig()), (a, f) -> Answers.add("", a, f));
        break;
      case CONVERT_CONFIG:
        call.unary(client.resolver(), s -> s.convertConfig(test.getConvertConfig()), (a, f) -> Answers.add("", a, f));
        break;
      case GET_MODEL:
        call.unary(client.catalog(), s -> s.getModel(test.getGetModel()), (a, f) -> Answers.add("", a, f));
        break;
      case IMPORT_MODEL:
        call.unary(client.catalog(), s -> s.importModel(test.getImportModel()), (a, f) -> Answers.add("", a, f));
        break;
      case GET_GPU:
        call.unary(client.catalog(), s -> s.getGpu(test.getGetGpu()), (a, f) -> Answers.add("", a, f));
        break;
      case GET_KNOB:
        call.unary(client.catalog(), s -> s.getKnob(test.getGetKnob()), (a, f) -> Answers.add("", a, f));
        break;
      case GET_RULE:
        call.unary(client.catalog(), s -> s.getRule(test.getGetRule()), (a, f) -> Answers.add("", a, f));
        break;
      case LIST_MODELS:
        call.unary(client.catalog(), s -> s.listModels(test.getListModels()),
            (a, f) -> call.page(names(a.getModelsList(), m -> m.getName()), a.getNextPageToken()));
        break;
      case LIST_GPUS:
        call.unary(client.catalog(), s -> s.listGpus(test.getListGpus()),
            (a, f) -> call.page(names(a.getGpusList(), g -> g.getName()), a.getNextPageToken()));
        break;
      case LIST_KNOBS:
        call.unary(client.catalog(), s -> s.listKnobs(test.getListKnobs()),
            (a, f) -> call.page(names(a.getKnobsList(), k -> k.getName()), a.getNextPageToken()));
        break;
      case LIST_RULES:
        call.unary(client.catalog(), s -> s.listRules(test.getListRules()),
            (a, f) -> call.page(names(a.getRulesList(), r -> r.getId()), a.getNextPageToken()));
        break;
      case REPORT_MEASUREMENT:
        call.unary(client.evidence(), s -> s.reportMeasurement(test.getReportMeasurement()), (a, f) -> {
          Answers.add("", a.getMeasurement(), f);
          f.add("~revision", a.getRevision());
        });
        break;
      case GET_MEASUREMENT:
        call.unary(client.evidence(), s -> s.getMeasurement(test.getGetMeasurement()), (a, f) -> Answers.add("", a, f));
        break;
      case LIST_MEASUREMENTS:
        call.unary(client.evidence(), s -> s.listMeasurements(test.getListMeasurements()),
            (a, f) -> call.page(names(a.getMeasurementsList(), m -> m.getId()), a.getNextPageToken()));
        break;
      case GET_PROFILE:
        call.unary(client.probe(), s -> s.getProfile(test.getGetProfile()), (a, f) -> Answers.add("", a, f));
        break;
      case IMPORT_PROFILE:
        call.unary(client.probe(), s -> s.importProfile(test.getImportProfile()), (a, f) -> Answers.add("", a, f));
        break;
      case LIST_PROFILES:
        call.unary(client.probe(), s -> s.listProfiles(test.getListProfiles()),
            (a, f) -> call.page(names(a.getProfilesList(), p -> p.getName()), a.getNextPageToken()));
        break;
      default:
        break;
    }
    return call.facts;
  }

  private static String argument(String[] args, String name) {
    for (int i = 0; i + 1 < args.length; ++i) {
      if (args[i].equals(name)) return args[i + 1];
    }
    System.err.println("usage: Runner --cases FILE --server HOST:PORT");
    System.exit(2);
    return "";
  }

  public static void main(String[] args) throws Exception {
    var set = CaseSet.parseFrom(Files.readAllBytes(Path.of(argument(args, "--cases"))));
    int passed = 0;
    int failed = 0;
    try (var client = new Client(argument(args, "--server"))) {
      var runner = new Runner(client);
      for (Case test : set.getCasesList()) {
        Facts facts = runner.factsOf(test);
        List<String> faults = new ArrayList<>();
        for (Check check : test.getWantList()) {
          if (facts.hold(check)) continue;
          faults.add(check.toString().replace('\n', ' ') + ": got " + facts.of(check.getFact()));
        }
        if (faults.isEmpty()) {
          ++passed;
          System.out.println("ok " + test.getName() + " " + facts.fingerprint());
        } else {
          ++failed;
          System.out.println("FAILED " + test.getName() + ": " + String.join("; ", faults));
        }
      }
    }
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed > 0 || passed == 0 ? 1 : 0);
  }
}
