package flightplan;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.PreconditionFailure;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a program may turn on when a call failed. */
public final class Failure {
  private final Status.Code code;
  private ErrorInfo info;
  private RetryInfo retry;
  private final List<BadRequest.FieldViolation> violations = new ArrayList<>();
  private final List<PreconditionFailure.Violation> preconditions = new ArrayList<>();

  /** Of the error of a call. */
  public static Failure of(StatusRuntimeException error) {
    var status = StatusProto.fromThrowable(error);
    return status == null
        ? new Failure(com.google.rpc.Status.newBuilder().setCode(error.getStatus().getCode().value()).build())
        : new Failure(status);
  }

  /** Of an item of a batch. */
  public static Failure of(com.google.rpc.Status status) {
    return new Failure(status);
  }

  private Failure(com.google.rpc.Status status) {
    code = Status.fromCodeValue(status.getCode()).getCode();
    for (Any detail : status.getDetailsList()) {
      try {
        if (detail.is(ErrorInfo.class)) info = detail.unpack(ErrorInfo.class);
        if (detail.is(RetryInfo.class)) retry = detail.unpack(RetryInfo.class);
        if (detail.is(BadRequest.class)) violations.addAll(detail.unpack(BadRequest.class).getFieldViolationsList());
        if (detail.is(PreconditionFailure.class)) {
          preconditions.addAll(detail.unpack(PreconditionFailure.class).getViolationsList());
        }
      } catch (InvalidProtocolBufferException malformed) {
        // A detail that cannot be read says nothing; the code stands.
      }
    }
  }

  public Status.Code code() {
    return code;
  }

  /** Empty where the answer is not the server's own. */
  public Optional<ErrorInfo> info() {
    return Optional.ofNullable(info);
  }

  /** After which delay it is worth trying again. */
  public Optional<RetryInfo> retry() {
    return Optional.ofNullable(retry);
  }

  /** Every field of the request that is wrong. */
  public List<BadRequest.FieldViolation> violations() {
    return violations;
  }

  /** What would have to hold. */
  public List<PreconditionFailure.Violation> preconditions() {
    return preconditions;
  }
}
