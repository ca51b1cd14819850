#include <gtest/gtest.h>

#include <cmath>

#include "resolver/estimate/layer_time.h"
#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// A search's short cuts give what the whole forecast gives, bit for bit.
TEST(LayerTimer, TimesWhatIsComputedAgainAsIfItWereTimedAlone) {
  for (const bool overlap : {false, true}) {
    Case c("deepseek-v3", "h100", 1024, 8, 4);
    c.plan.ep = 64;
    c.plan.ep_overlap = overlap;
    c.plan.precision = GemmPrecision::kFp8Blockwise;
    c.plan.bf16_layers = 2;
    c.plan.stages = &c.stages;
    const LayerTimer timer(c.work, c.plan, c.rates);
    for (unsigned modules = 0; modules < 1u << 14; modules += 37) {
      c.plan.recompute = modules == 0 ? RecomputeMode::kFullUniform : RecomputeMode::kSelective;
      c.plan.recompute_modules = static_cast<uint16_t>(modules);
      const StepForecast whole = c.Forecast();
      const LayerTimes times = timer.Time(c.plan);
      StepForecast timed;
      ASSERT_TRUE(ForecastStep(c.work, c.plan, c.rates, times, &timed));
      ASSERT_EQ(timed.us, whole.us) << modules;
      ASSERT_EQ(timed.high_us, whole.high_us) << modules;
      StepForecast below;
      ASSERT_EQ(StepUsBelow(whole.us * 1.001, c.work, c.plan, c.rates, times, &below), whole.us) << modules;
      ASSERT_EQ(below.us, whole.us) << modules;
      ASSERT_EQ(below.parts.host, whole.parts.host) << modules;
      ASSERT_EQ(StepUsBelow(whole.us, c.work, c.plan, c.rates, times, &below), HUGE_VAL) << modules;
    }
  }
}

TEST(LayerTimer, TimesAnExchangeWithOtherSmsAsIfItWereTimedAlone) {
  for (const bool overlap : {false, true}) {
    Case c("deepseek-v3", "h100", 1024, 8, 4);
    c.plan.ep = 64;
    c.plan.ep_overlap = overlap;
    c.plan.shared_expert_overlap = !overlap;
    c.plan.precision = GemmPrecision::kFp8Blockwise;
    c.plan.bf16_layers = 2;
    c.plan.stages = &c.stages;
    for (const Dispatcher dispatcher : {Dispatcher::kAllToAll, Dispatcher::kDeepEp, Dispatcher::kHybridEp}) {
      c.plan.dispatcher = dispatcher;
      c.plan.num_sms = 20;
      const GpuRates rates = c.rates;
      const LayerTimer timer(c.work, c.plan, rates);
      double before = c.Forecast().us;
      for (const uint16_t sms : {uint16_t{4}, uint16_t{8}, uint16_t{32}}) {
        c.plan.num_sms = sms;
        c.rates.deepep_sm_us = 0;
        c.rates.k.corun_compute *= 1.1;
        c.rates.k.corun_communication *= 1.2;
        for (double& us : c.rates.nvlink_us) us *= 1.3;
        for (double& us : c.rates.network_us) us *= 1.4;
        const StepForecast whole = c.Forecast();
        StepForecast timed;
        ASSERT_TRUE(ForecastStep(c.work, c.plan, c.rates, timer.TimeExchanging(c.plan, c.rates), &timed));
        ASSERT_EQ(timed.us, whole.us) << sms;
        ASSERT_EQ(timed.high_us, whole.high_us) << sms;
        ASSERT_NE(whole.us, before) << sms;
        before = whole.us;
      }
      c.rates = rates;
    }
  }
}

}  // namespace
}  // namespace flightplan
