package main

import (
	"hash/fnv"
	"sort"
	"strconv"
	"strings"

	"flightplan/internal/conformancepb"
)

// facts are names with lists of values, all text; tests/conformance/README.md has the vocabulary.
type facts map[string][]string

func (f facts) add(name, value string)             { f[name] = append(f[name], value) }
func (f facts) addBool(name string, value bool)    { f.add(name, strconv.FormatBool(value)) }
func (f facts) addInt(name string, value int64)    { f.add(name, strconv.FormatInt(value, 10)) }
func (f facts) addReal(name string, value float64) { f.addInt(name, int64(value*1e6)) }
func (f facts) addEach(name string, values []string) {
	for _, value := range values {
		f.add(name, value)
	}
}

func (f facts) fingerprint() uint64 {
	var sum uint64
	for name, values := range f {
		if strings.Contains(name, "~") {
			continue
		}
		for index, value := range values {
			hash := fnv.New64a()
			hash.Write([]byte(name + "\x00" + strconv.Itoa(index) + "\x00" + value))
			sum += hash.Sum64()
		}
	}
	return sum
}

func holds(check *conformancepb.Check, values []string) bool {
	one := len(values) == 1
	number := func() (int64, bool) {
		if !one {
			return 0, false
		}
		value, err := strconv.ParseInt(values[0], 10, 64)
		return value, err == nil
	}
	switch want := check.Condition.(type) {
	case *conformancepb.Check_Is:
		return one && values[0] == want.Is
	case *conformancepb.Check_Has:
		return some(values, func(value string) bool { return value == want.Has })
	case *conformancepb.Check_Lacks:
		return !some(values, func(value string) bool { return value == want.Lacks })
	case *conformancepb.Check_Contains:
		return some(values, func(value string) bool { return strings.Contains(value, want.Contains) })
	case *conformancepb.Check_Run:
		return hasRun(values, want.Run.Values)
	case *conformancepb.Check_AtLeast:
		value, ok := number()
		return ok && value >= want.AtLeast
	case *conformancepb.Check_AtMost:
		value, ok := number()
		return ok && value <= want.AtMost
	case *conformancepb.Check_Count:
		return len(values) == int(want.Count)
	}
	return false
}

func some(values []string, is func(string) bool) bool {
	for _, value := range values {
		if is(value) {
			return true
		}
	}
	return false
}

func hasRun(values, run []string) bool {
	for start := 0; len(run) > 0 && start+len(run) <= len(values); start++ {
		same := 0
		for same < len(run) && values[start+same] == run[same] {
			same++
		}
		if same == len(run) {
			return true
		}
	}
	return false
}

func sortedKeys(values map[string]string) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
