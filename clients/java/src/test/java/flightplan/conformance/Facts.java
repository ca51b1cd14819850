package flightplan.conformance;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Answers as facts, and what a case wants of them; tests/conformance/README.md has the vocabulary. */
final class Facts {
  private final Map<String, List<String>> values = new HashMap<>();

  void add(String name, Object value) {
    values.computeIfAbsent(name, unused -> new ArrayList<>()).add(value.toString());
  }

  void addReal(String name, double value) {
    add(name, (long) (value * 1e6));
  }

  void addEach(String name, Iterable<String> each) {
    each.forEach(value -> add(name, value));
  }

  List<String> of(String name) {
    return values.getOrDefault(name, List.of());
  }

  private static long fnv1a(byte[] bytes) {
    long hash = 0xcbf29ce484222325L;
    for (byte one : bytes) hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
    return hash;
  }

  String fingerprint() {
    long sum = 0;
    for (var entry : values.entrySet()) {
      if (entry.getKey().contains("~")) continue;
      for (int i = 0; i < entry.getValue().size(); ++i) {
        String text = entry.getKey() + "\0" + i + "\0" + entry.getValue().get(i);
        sum += fnv1a(text.getBytes(StandardCharsets.UTF_8));
      }
    }
    return String.format("%016x", sum);
  }

  boolean hold(Check check) {
    List<String> seen = of(check.getFact());
    switch (check.getConditionCase()) {
      case IS:
        return seen.equals(List.of(check.getIs()));
      case HAS:
        return seen.contains(check.getHas());
      case LACKS:
        return !seen.contains(check.getLacks());
      case CONTAINS:
        return seen.stream().anyMatch(value -> value.contains(check.getContains()));
      case RUN:
        return check.getRun().getValuesCount() > 0
            && Collections.indexOfSubList(seen, new ArrayList<>(check.getRun().getValuesList())) >= 0;
      case AT_LEAST:
        return isInteger(seen) && Long.parseLong(seen.get(0)) >= check.getAtLeast();
      case AT_MOST:
        return isInteger(seen) && Long.parseLong(seen.get(0)) <= check.getAtMost();
      case COUNT:
        return seen.size() == check.getCount();
      default:
        return false;
    }
  }

  private static boolean isInteger(List<String> seen) {
    return seen.size() == 1 && seen.get(0).matches("-?\\d{1,18}");
  }
}
