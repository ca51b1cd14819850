// The rest of the question: the work, the stack, the person's word on knobs.
import { create } from "@bufbuild/protobuf";
import type { Signal } from "@preact/signals";
import { DispatcherSupportSchema } from "../generated/flightplan/v1/hardware_pb";
import { Objective, Stage } from "../generated/flightplan/v1/parallelism_pb";
import { clearKnob, setKnob } from "../state/pins";
import { FRAMEWORK } from "../state/question";
import type { Question } from "../state/question";
import { ChoiceField, NumberField, TextField } from "./fields";
import type { Option } from "./fields";
import { PinsField } from "./pins_field";
import { editor } from "./question_form";
import { TARGETS } from "./targets";

interface Props {
  of: Signal<Question>;
}

const PRECISIONS: readonly Option<string>[] = [
  ["", "bf16"], ["fp16", "fp16"], ["fp8_cs", "fp8_cs"], ["fp8_block", "fp8_block"], ["fp8_ds", "fp8_ds"], ["mxfp8", "mxfp8"], ["nvfp4", "nvfp4"],
];
const STAGES: readonly Option<Stage>[] = [[Stage.UNSPECIFIED, "production"], [Stage.BRING_UP, "bring-up"], [Stage.TUNE, "tune"]];
const OBJECTIVES: readonly Option<Objective>[] = [[Objective.UNSPECIFIED, "training"], [Objective.BENCHMARK, "benchmark"]];
// What is not said is taken from there (decide.software-from-image); not every stack has an image.
const OF_IMAGE = "the stack's image, if known";
const INSTALLED: readonly Option<string>[] = [
  ["unknown", OF_IMAGE], ["", "none"], ["deepep", "deepep"], ["hybridep", "hybridep"], ["deepep,hybridep", "deepep and hybridep"],
];

export function MoreFields({ of }: Props) {
  return <><Work of={of} /><Stack of={of} /><Pins of={of} /></>;
}

function Pins({ of }: Props) {
  const edit = editor(of);
  return (
    <PinsField label="your word on a knob" pins={of.value.pinnedKnobs} set={(name, value) => edit((draft) => setKnob(draft, name, value))}
      clear={(name) => edit((draft) => clearKnob(draft, name))} />
  );
}

function Work({ of }: Props) {
  const edit = editor(of);
  const { workload, stage, hardware } = of.value;
  const samples = 8 * (hardware?.gpuCount ?? 0);
  return (
    <div class="pair">
      <NumberField label="sequence" empty="4096 assumed" value={workload?.seqLength || undefined} most={16777216}
        set={(length) => edit((draft) => (draft.workload.seqLength = BigInt(length ?? 0)))} />
      <NumberField label="global batch" empty={`${samples} assumed`} value={workload?.globalBatchSize || undefined}
        set={(size) => edit((draft) => (draft.workload.globalBatchSize = BigInt(size ?? 0)))} />
      <ChoiceField label="precision" value={workload?.precision ?? ""} options={PRECISIONS}
        set={(precision) => edit((draft) => (draft.workload.precision = precision))} />
      <ChoiceField label="stage" value={stage} options={STAGES} set={(value) => edit((draft) => (draft.stage = value))} />
      <ChoiceField label="objective" value={workload?.objective ?? Objective.UNSPECIFIED} options={OBJECTIVES}
        set={(value) => edit((draft) => (draft.workload.objective = value))} />
    </div>
  );
}

function Stack({ of }: Props) {
  const edit = editor(of);
  const { target, software } = of.value;
  const named = `${target?.framework || FRAMEWORK}${target?.version ? `@${target.version}` : ""}`;
  const backends = software?.dispatchers?.backends;
  const setTarget = (text: string): void => edit((draft) => {
    const [framework = "", version = ""] = text.split("@");
    draft.target.framework = framework;
    draft.target.version = version;
  });
  const setInstalled = (text: string): void => edit((draft) => {
    draft.software.dispatchers = text === "unknown" ? undefined : create(DispatcherSupportSchema, { backends: text.split(",").filter(Boolean) });
  });
  return (
    <div class="pair">
      <ChoiceField label="framework" value={named} options={TARGETS} set={setTarget} />
      <ChoiceField label="dispatcher backends installed" value={backends ? backends.join(",") : "unknown"} options={INSTALLED} set={setInstalled} />
      <TextField label="Transformer Engine" empty={OF_IMAGE} value={software?.teVersion ?? ""}
        set={(version) => edit((draft) => (draft.software.teVersion = version || undefined))} />
      <TextField label="PyTorch" empty={OF_IMAGE} value={software?.torchVersion ?? ""}
        set={(version) => edit((draft) => (draft.software.torchVersion = version || undefined))} />
    </div>
  );
}
