// What a first look shows: the verdicts and the figures that people compare.
import type { ComponentChildren } from "preact";
import { Outcome } from "../../generated/flightplan/v1/resolver_service_pb";
import type { Answer } from "../../state/answer";
import { withThousands, gibNumber, percentText } from "../../words/text";
import { fitWord, fullestStage, timeText } from "../../words/forecast";

export function Headline({ answer }: { answer: Answer }) {
  const { request, response, gpu } = answer;
  const resolved = response.outcome === Outcome.RESOLVED;
  const count = withThousands(request.hardware?.gpuCount ?? 0);
  return (
    <header class="headline">
      <p class="subject">
        {response.model?.name || "model"}, on {count} × {gpu?.name || request.hardware?.gpu}, {response.target}
      </p>
      <p class={`outcome ${resolved ? "good" : "bad"}`}>{resolved ? "RESOLVED" : "INFEASIBLE"}</p>
      <Verdicts answer={answer} />
      <Tiles answer={answer} />
    </header>
  );
}

function Verdicts({ answer: { response } }: { answer: Answer }) {
  const fit = fitWord(response.estimate?.fit ?? 0);
  const mood = fit === "yes" ? "good" : fit === "no" ? "bad" : "warn";
  return (
    <dl class="verdicts">
      <YesNo name="accepted by the stack" yes={response.acceptedByStack} />
      <YesNo name="will run" yes={response.willRun} />
      <div><dt>fits</dt><dd class={mood}>{fit}</dd></div>
    </dl>
  );
}

function YesNo({ name, yes }: { name: string; yes: boolean }) {
  return <div><dt>{name}</dt><dd class={yes ? "good" : "bad"}>{yes ? "yes" : "no"}</dd></div>;
}

function Tiles({ answer: { response: { estimate } } }: { answer: Answer }) {
  if (!estimate) return null;
  const step = estimate.stepTimeUs;
  const total = fullestStage(estimate)?.totalBytes;
  return (
    <dl class="tiles">
      {step && <Tile name="step">{timeText(step.value)}</Tile>}
      {estimate.tokensPerSecondPerGpu > 0 && <Tile name="tokens/s per GPU">{withThousands(Math.round(estimate.tokensPerSecondPerGpu))}</Tile>}
      {estimate.flopsPerSecondPerGpu > 0 && <Tile name="TFLOP/s per GPU">{(estimate.flopsPerSecondPerGpu / 1e12).toFixed(0)}</Tile>}
      {estimate.mfuRatio > 0 && <Tile name="MFU">{percentText(estimate.mfuRatio)}</Tile>}
      {total && <Tile name="memory">{gibNumber(total.value)} GiB of {gibNumber(estimate.usableBytes)}</Tile>}
    </dl>
  );
}

function Tile({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}
