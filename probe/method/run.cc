#include "probe/method/run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "probe/limits.h"
#include "probe/method/recording.h"
#include "probe/method/row_table.h"
#include "probe/method/statistics.h"

namespace flightplan::probe {
namespace {

constexpr int kMostTries = 3;  // rounds of samples for rows that were disturbed

struct Planned {
  std::string group;
  std::unique_ptr<Experiment> experiment;
};

std::vector<Planned> Plan(Device& device, const std::vector<std::string>& groups) {
  std::vector<Planned> plan;
  for (const char* group : kGroups) {
    if (!groups.empty() && std::find(groups.begin(), groups.end(), group) == groups.end()) continue;
    for (auto& experiment : device.Experiments(group)) plan.push_back({group, std::move(experiment)});
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Planned& a, const Planned& b) { return a.experiment->stage() < b.experiment->stage(); });
  return plan;
}

class Runner {
 public:
  Runner(Device& device, const RunRequest& request, const Seconds& seconds, const std::atomic<bool>& stop,
         LineWriter* out, Progress* progress)
      : device_(device),
        seconds_(seconds),
        stop_(stop),
        out_(out),
        progress_(progress),
        recording_(request.record_file) {
    deadline_ = seconds_() + request.budget_seconds;
  }

  Status Measure(std::vector<Planned> plan) {
    states_.push_back(device_.State());
    size_t done = 0;
    for (Planned& planned : plan) {
      if (stop_ || seconds_() >= deadline_) break;
      out_->Write(ProgressLine(static_cast<double>(done) / static_cast<double>(plan.size()),
                               planned.experiment->rows().front().id));
      if (Status status = One(planned); !status.ok()) {
        if (done + 1 < plan.size()) NoteMissing(plan, done + 1, "the device failed; not measured:");
        return status;
      }
      planned.experiment.reset();  // its memory is free for the next
      ++done;
    }
    if (done < plan.size()) {
      NoteMissing(plan, done, stop_ ? "stopped; not measured:" : "the budget ended; not measured:");
    }
    if (device_.CheckOnly() && withheld_) return Fail(Code::kWithheld, "an output was wrong; the notes say which");
    return Ok();
  }

  void Close() {
    for (std::string& note : device_.Notes()) Note(std::move(note), /*partial=*/false);
    progress_->Update([&](Profile* profile) { profile->conditions = Summarise(states_, dropped_); });
    if (Status status = recording_.Write(progress_->Snapshot().device); !status.ok()) Note(status.message, false);
  }

 private:
  Status One(Planned& planned) {
    Experiment& experiment = *planned.experiment;
    for (const RowSpec& spec : experiment.rows()) {
      if (FindRow(spec.id) == nullptr) return Fail(Code::kFailed, "row " + spec.id + " is not in the table of rows");
    }
    const std::string& id = experiment.rows().front().id;
    if (Status status = experiment.Prepare(); !status.ok()) return LeaveOut(id, status);
    if (device_.CheckOnly()) return Ok();
    std::vector<std::vector<double>> samples;
    if (Status status = Sample(experiment, &samples); !status.ok()) return LeaveOut(id, status);
    if (samples.empty() || samples.front().empty()) return Ok();  // stopped before the first sample
    recording_.Add(planned.group, experiment, samples);
    for (size_t i = 0; i < samples.size(); ++i) {
      const Row row = MakeRow(experiment.rows()[i], samples[i], experiment.checked());
      if (row.sample_count > 0) Report(row);
      if (row.sample_count == 0) Note(row.spec.id + " is withheld: a sample was not positive", /*partial=*/true);
    }
    return Ok();
  }

  // What cannot be had here is absent; else it is withheld: one row's failure costs the others nothing while the device
  // answers.
  Status LeaveOut(const std::string& id, const Status& why) {
    if (why.code == Code::kUnsupported) return Note(id + " is absent: " + why.message, /*partial=*/false), Ok();
    withheld_ = true;
    Note(id + " is withheld: " + why.message, /*partial=*/true);
    if (why.code != Code::kFailed) return Ok();
    const Status alive = device_.Recover();
    return alive.ok() ? Ok() : Fail(Code::kFailed, why.message + "; then " + alive.message);
  }

  // One list per row. Rounds between two states that show a disturbance are dropped, and tried again.
  Status Sample(Experiment& experiment, std::vector<std::vector<double>>* samples) {
    for (int tries = 0; tries < kMostTries && !stop_; ++tries) {
      samples->assign(experiment.rows().size(), {});
      int taken = 0;
      for (; taken < experiment.sample_count() && !stop_ && (taken < 3 || seconds_() < deadline_); ++taken) {
        std::vector<double> values;
        if (Status status = experiment.Take(&values); !status.ok()) return status;
        if (values.size() != samples->size()) return Fail(Code::kFailed, "an experiment gave too few values");
        for (size_t i = 0; i < values.size(); ++i) (*samples)[i].push_back(values[i]);
      }
      states_.push_back(device_.State());
      if (!Disturbed(states_[states_.size() - 2], states_.back())) return Ok();
      dropped_ += taken * static_cast<int>(samples->size());
      samples->clear();
    }
    return stop_ ? Ok() : Fail(Code::kBusy, "the device was throttled or used by others in every try");
  }

  void Report(const Row& row) {
    out_->Write(RowLine(row));
    progress_->Update([&](Profile* profile) { profile->rows.push_back(row); });
  }

  void Note(std::string note, bool partial) {
    progress_->Update([&](Profile* profile) {
      if (std::find(profile->notes.begin(), profile->notes.end(), note) == profile->notes.end()) {
        profile->notes.push_back(std::move(note));
      }
      profile->partial |= partial;
    });
  }

  void NoteMissing(const std::vector<Planned>& plan, size_t done, std::string note) {
    std::map<std::string, int> missing;
    for (size_t i = done; i < plan.size(); ++i) ++missing[plan[i].experiment->rows().front().id];
    for (const auto& [id, count] : missing) note += " " + id + (count > 1 ? " (" + std::to_string(count) + ")" : "");
    Note(std::move(note), /*partial=*/true);
  }

  Device& device_;
  const Seconds& seconds_;
  const std::atomic<bool>& stop_;
  LineWriter* out_;
  Progress* progress_;
  Recording recording_;
  double deadline_ = 0;
  std::vector<DeviceState> states_;
  int dropped_ = 0;
  bool withheld_ = false;
};

}  // namespace

Profile Progress::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return profile_;
}

void Progress::Update(const std::function<void(Profile*)>& change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  change(&profile_);
}

Status Run(Device& device, const RunRequest& request, const Seconds& seconds, const std::atomic<bool>& stop,
           LineWriter* out, Progress* progress) {
  progress->Update([&](Profile* profile) {
    profile->device = device.Info();
    profile->cuda_version = device.CudaVersion();
  });
  out->Write(DeviceLine(device.Info(), device.CudaVersion()));
  Runner runner(device, request, seconds, stop, out, progress);
  Status status = runner.Measure(Plan(device, request.groups));
  if (!status.ok()) progress->Update([](Profile* profile) { profile->partial = true; });
  runner.Close();
  return status;
}

}  // namespace flightplan::probe
