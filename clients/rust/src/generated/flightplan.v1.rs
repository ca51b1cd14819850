/// A value of a knob or of an environment fact.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KnobValue {
    /// Unset: None, which is not the same as a knob that was never given.
    #[prost(oneof = "knob_value::Kind", tags = "1, 2, 3, 4, 5")]
    pub kind: ::core::option::Option<knob_value::Kind>,
}
/// Nested message and enum types in `KnobValue`.
pub mod knob_value {
    /// Unset: None, which is not the same as a knob that was never given.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Kind {
        /// A switch.
        #[prost(bool, tag = "1")]
        BoolValue(bool),
        /// An integer.
        #[prost(int64, tag = "2")]
        IntValue(i64),
        /// A real number.
        #[prost(double, tag = "3")]
        DoubleValue(f64),
        /// Text, also a member of a fixed set.
        #[prost(string, tag = "4")]
        StringValue(::prost::alloc::string::String),
        /// A list.
        #[prost(message, tag = "5")]
        ListValue(super::KnobList),
    }
}
/// A list of values.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KnobList {
    /// In order.
    #[prost(message, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<KnobValue>,
}
/// One knob and its value.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KnobSetting {
    /// Knob name, Megatron's spelling; "section.name" where two config classes share a name
    /// ("comm_overlap.delay_wgrad_compute").
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// The value. An unset message means None.
    #[prost(message, optional, tag = "2")]
    pub value: ::core::option::Option<KnobValue>,
}
/// What a rule saw, what is needed, what to do.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Finding {
    /// Rule id, stable: "recompute.full-needs-method". GetRule explains it.
    #[prost(string, tag = "1")]
    pub rule_id: ::prost::alloc::string::String,
    /// Area: "recompute".
    #[prost(string, tag = "2")]
    pub area: ::prost::alloc::string::String,
    /// How bad.
    #[prost(enumeration = "Severity", tag = "3")]
    pub severity: i32,
    /// Which verdict it belongs to.
    #[prost(enumeration = "VerdictKind", tag = "4")]
    pub verdict: i32,
    /// Upstream's stage that says it: "parse", "validate", "post_init", "comm_overlap", "mesh", "schedule" ...
    #[prost(string, tag = "5")]
    pub stage: ::prost::alloc::string::String,
    /// The values the rule looked at, named as the caller wrote them.
    #[prost(message, repeated, tag = "6")]
    pub observed: ::prost::alloc::vec::Vec<KnobSetting>,
    /// What was seen, for people.
    #[prost(string, tag = "7")]
    pub seen: ::prost::alloc::string::String,
    /// What must hold instead, for people.
    #[prost(string, tag = "8")]
    pub needs: ::prost::alloc::string::String,
    /// Patches that remove it, best first. Each stands alone.
    #[prost(message, repeated, tag = "9")]
    pub fixes: ::prost::alloc::vec::Vec<Fix>,
    /// Where the rule comes from.
    #[prost(message, optional, tag = "10")]
    pub source: ::core::option::Option<Citation>,
    /// Where in the input the value was written; unset when it was not written.
    #[prost(message, optional, tag = "11")]
    pub location: ::core::option::Option<Location>,
}
/// A small patch.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Fix {
    /// Knobs to set together; a value of None unsets the knob.
    #[prost(message, repeated, tag = "1")]
    pub knobs: ::prost::alloc::vec::Vec<KnobSetting>,
    /// Environment variables to set together; empty text unsets.
    #[prost(map = "string, string", tag = "2")]
    pub env: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// It changes what the training computes (batch, precision, routing ...), not only how fast.
    #[prost(bool, tag = "3")]
    pub changes_convergence: bool,
}
/// A place in the caller's input.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Location {
    /// Name of the input: a file name, "argv", "knobs".
    #[prost(string, tag = "1")]
    pub input: ::prost::alloc::string::String,
    /// Argument index from 0; unset where there are no arguments.
    #[prost(int32, optional, tag = "2")]
    pub argument_index: ::core::option::Option<i32>,
    /// Line from 1.
    #[prost(int32, optional, tag = "3")]
    pub line: ::core::option::Option<i32>,
    /// Column from 1.
    #[prost(int32, optional, tag = "4")]
    pub column: ::core::option::Option<i32>,
}
/// Where a fact comes from.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Citation {
    /// "NVIDIA/Megatron-LM@d98e8a64dd megatron/core/transformer/transformer_config.py:1914", a paper, a measurement id.
    #[prost(string, tag = "1")]
    pub text: ::prost::alloc::string::String,
    /// True when the source is a user's report rather than the stack's own code.
    #[prost(bool, tag = "2")]
    pub field_report: bool,
}
/// One silent change the target stack makes.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct EffectiveChange {
    /// Rule that makes it.
    #[prost(string, tag = "1")]
    pub rule_id: ::prost::alloc::string::String,
    /// Knob, or "env.NAME" for an environment variable.
    #[prost(string, tag = "2")]
    pub name: ::prost::alloc::string::String,
    /// Before; unset: None.
    #[prost(message, optional, tag = "3")]
    pub from: ::core::option::Option<KnobValue>,
    /// After; unset: None.
    #[prost(message, optional, tag = "4")]
    pub to: ::core::option::Option<KnobValue>,
    /// The caller had written the earlier value.
    #[prost(bool, tag = "5")]
    pub overrides_caller: bool,
    /// Where upstream does it.
    #[prost(message, optional, tag = "6")]
    pub source: ::core::option::Option<Citation>,
}
/// Why one knob has its value.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Decision {
    /// Rule id of the decision: "decide.ep-overlap".
    #[prost(string, tag = "1")]
    pub rule_id: ::prost::alloc::string::String,
    /// Knob, or "env.NAME"; "launcher.numa-binding" is what the launch says to torchrun.
    #[prost(string, tag = "2")]
    pub name: ::prost::alloc::string::String,
    /// The value chosen; unset: None.
    #[prost(message, optional, tag = "3")]
    pub value: ::core::option::Option<KnobValue>,
    /// Why, for people: one sentence.
    #[prost(string, tag = "4")]
    pub reason: ::prost::alloc::string::String,
    /// What was not chosen, and why not.
    #[prost(message, repeated, tag = "5")]
    pub alternatives: ::prost::alloc::vec::Vec<Alternative>,
    /// What it rests on.
    #[prost(enumeration = "Basis", tag = "6")]
    pub basis: i32,
    /// The evidence rows or documents it cites.
    #[prost(message, repeated, tag = "7")]
    pub citations: ::prost::alloc::vec::Vec<Citation>,
    /// The evidence does not settle it: the conservative value was taken and an A/B is suggested.
    #[prost(bool, tag = "8")]
    pub needs_ab: bool,
    /// Expected relative change of the step time against the alternative; negative is faster. Unset: unknown.
    #[prost(double, optional, tag = "9")]
    pub expected_step_ratio: ::core::option::Option<f64>,
}
/// A value that was not chosen.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Alternative {
    /// The value; unset: None.
    #[prost(message, optional, tag = "1")]
    pub value: ::core::option::Option<KnobValue>,
    /// Why not, one sentence.
    #[prost(string, tag = "2")]
    pub reason: ::prost::alloc::string::String,
}
/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Severity {
    /// Never sent.
    Unspecified = 0,
    /// The launch is refused or will fail.
    Error = 1,
    /// It runs, but something is likely wrong.
    Warning = 2,
    /// Worth knowing.
    Info = 3,
}
impl Severity {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Severity::Unspecified => "SEVERITY_UNSPECIFIED",
            Severity::Error => "SEVERITY_ERROR",
            Severity::Warning => "SEVERITY_WARNING",
            Severity::Info => "SEVERITY_INFO",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "SEVERITY_UNSPECIFIED" => Some(Self::Unspecified),
            "SEVERITY_ERROR" => Some(Self::Error),
            "SEVERITY_WARNING" => Some(Self::Warning),
            "SEVERITY_INFO" => Some(Self::Info),
            _ => None,
        }
    }
}
/// Which question a finding answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum VerdictKind {
    /// Never sent.
    Unspecified = 0,
    /// The stack's own configuration code rejects, warns or changes.
    AcceptedByStack = 1,
    /// Accepted, but fails later: model build, process groups, schedule, hardware, memory.
    WillRun = 2,
    /// Legal and runs; something better or worth knowing.
    Advice = 3,
}
impl VerdictKind {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            VerdictKind::Unspecified => "VERDICT_KIND_UNSPECIFIED",
            VerdictKind::AcceptedByStack => "VERDICT_KIND_ACCEPTED_BY_STACK",
            VerdictKind::WillRun => "VERDICT_KIND_WILL_RUN",
            VerdictKind::Advice => "VERDICT_KIND_ADVICE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "VERDICT_KIND_UNSPECIFIED" => Some(Self::Unspecified),
            "VERDICT_KIND_ACCEPTED_BY_STACK" => Some(Self::AcceptedByStack),
            "VERDICT_KIND_WILL_RUN" => Some(Self::WillRun),
            "VERDICT_KIND_ADVICE" => Some(Self::Advice),
            _ => None,
        }
    }
}
/// How a decision is backed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Basis {
    /// Never sent.
    Unspecified = 0,
    /// The caller said so.
    Caller = 1,
    /// A rule of the stack leaves no other choice.
    Rule = 2,
    /// Measurements on this or matching hardware.
    Measured = 3,
    /// Published recipes agree.
    Recipes = 4,
    /// Guidance only.
    Guidance = 5,
    /// Our estimate.
    Estimate = 6,
}
impl Basis {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Basis::Unspecified => "BASIS_UNSPECIFIED",
            Basis::Caller => "BASIS_CALLER",
            Basis::Rule => "BASIS_RULE",
            Basis::Measured => "BASIS_MEASURED",
            Basis::Recipes => "BASIS_RECIPES",
            Basis::Guidance => "BASIS_GUIDANCE",
            Basis::Estimate => "BASIS_ESTIMATE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "BASIS_UNSPECIFIED" => Some(Self::Unspecified),
            "BASIS_CALLER" => Some(Self::Caller),
            "BASIS_RULE" => Some(Self::Rule),
            "BASIS_MEASURED" => Some(Self::Measured),
            "BASIS_RECIPES" => Some(Self::Recipes),
            "BASIS_GUIDANCE" => Some(Self::Guidance),
            "BASIS_ESTIMATE" => Some(Self::Estimate),
            _ => None,
        }
    }
}
/// What it runs on: GPUs, their fabric, the host.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Hardware {
    /// Catalogue name or alias of the GPU system: "h100-sxm", "gb200-nvl72". ListGpus has them all. Required.
    #[prost(string, tag = "1")]
    pub gpu: ::prost::alloc::string::String,
    /// GPUs of the job (the world size). Range 1..1048576. Required, but for ValidateConfig, where the launch may say it.
    #[prost(int32, tag = "2")]
    pub gpu_count: i32,
    /// What differs from the catalogue's system at this site; unset fields keep the catalogue's value.
    #[prost(message, optional, tag = "3")]
    pub fabric: ::core::option::Option<Fabric>,
    /// Host CPU; unset: unknown, and host-bound advice is cautious.
    #[prost(enumeration = "HostCpuClass", tag = "4")]
    pub host_cpu_class: i32,
    /// Memory of each GPU that others hold while a training step runs: an inference engine on the same GPUs that keeps its
    /// weights and cache, a reference or reward model. It is taken off what the step may use. Range 0..1e15, below the GPU's
    /// memory. Unset: what the launch says of it (a rollout engine's fraction), else nothing.
    #[prost(int64, optional, tag = "5")]
    pub reserved_bytes: ::core::option::Option<i64>,
    /// Main memory of one node (one OS image): what a plan keeps on the host is held against it. Range 1048576..1e15. Unset:
    /// not known, and the host's share is said and not judged.
    #[prost(int64, optional, tag = "6")]
    pub host_memory_bytes: ::core::option::Option<i64>,
}
/// The links between the GPUs. Every field overrides the catalogue's figure for the system.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Fabric {
    /// GPUs that share one NVLink domain: 8 on HGX, 72 (or what the site allots) on NVL72. Range 1..1048576.
    #[prost(int32, optional, tag = "1")]
    pub nvlink_domain_gpu_count: ::core::option::Option<i32>,
    /// GPUs per node (one OS image). Range 1..1024.
    #[prost(int32, optional, tag = "2")]
    pub gpus_per_node_count: ::core::option::Option<i32>,
    /// NVLink bandwidth of one GPU in one direction. Range 1e6..1e15.
    #[prost(double, optional, tag = "3")]
    pub nvlink_bytes_per_second: ::core::option::Option<f64>,
    /// Network bandwidth of one GPU in one direction. Range 1e6..1e15.
    #[prost(double, optional, tag = "4")]
    pub nic_bytes_per_second: ::core::option::Option<f64>,
    /// Transport between nodes: "infiniband", "roce", "efa", "slingshot", "tcp".
    #[prost(string, optional, tag = "5")]
    pub transport: ::core::option::Option<::prost::alloc::string::String>,
    /// Usable memory of one GPU. Range 2^20..1e15.
    #[prost(int64, optional, tag = "6")]
    pub hbm_bytes: ::core::option::Option<i64>,
}
/// A GPU system of the catalogue. Zero means "not known".
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GpuSystem {
    /// Catalogue key: "h100-sxm".
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Other names it answers to: "h100".
    #[prost(string, repeated, tag = "2")]
    pub aliases: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// As the driver reports it: "NVIDIA H100 80GB HBM3".
    #[prost(string, tag = "3")]
    pub device_name: ::prost::alloc::string::String,
    /// "9.0".
    #[prost(string, tag = "4")]
    pub compute_capability: ::prost::alloc::string::String,
    /// Memory of one GPU.
    #[prost(int64, tag = "5")]
    pub hbm_bytes: i64,
    /// Memory bandwidth.
    #[prost(double, tag = "6")]
    pub hbm_bytes_per_second: f64,
    /// Dense BF16 peak without sparsity.
    #[prost(double, tag = "7")]
    pub bf16_flops_per_second: f64,
    /// Dense FP8 peak, 0 when it has none.
    #[prost(double, tag = "8")]
    pub fp8_flops_per_second: f64,
    /// Dense FP4 peak, 0 when it has none.
    #[prost(double, tag = "9")]
    pub fp4_flops_per_second: f64,
    /// Streaming multiprocessors.
    #[prost(int32, tag = "10")]
    pub sm_count: i32,
    /// NVLink, one direction, one GPU.
    #[prost(double, tag = "11")]
    pub nvlink_bytes_per_second: f64,
    /// GPUs of one NVLink domain.
    #[prost(int32, tag = "12")]
    pub nvlink_domain_gpu_count: i32,
    /// Network, one direction, one GPU.
    #[prost(double, tag = "13")]
    pub nic_bytes_per_second: f64,
    /// GPU to host memory, one direction.
    #[prost(double, tag = "14")]
    pub host_link_bytes_per_second: f64,
    /// GPUs of one node.
    #[prost(int32, tag = "15")]
    pub gpus_per_node_count: i32,
    /// Flex dispatcher backends this system can use.
    #[prost(string, repeated, tag = "16")]
    pub flex_backends: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// FP8 and FP4 recipes that are usual on it.
    #[prost(string, repeated, tag = "17")]
    pub fp8_recipes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Where the figures come from.
    #[prost(string, tag = "18")]
    pub source: ::prost::alloc::string::String,
    /// Anything a user should know.
    #[prost(string, tag = "19")]
    pub notes: ::prost::alloc::string::String,
}
/// The software the job will run with. Unset: unknown; version rules then say what they assumed.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SoftwareStack {
    /// Transformer Engine: "2.12.0".
    #[prost(string, optional, tag = "1")]
    pub te_version: ::core::option::Option<::prost::alloc::string::String>,
    /// PyTorch: "2.9.0".
    #[prost(string, optional, tag = "2")]
    pub torch_version: ::core::option::Option<::prost::alloc::string::String>,
    /// CUDA toolkit of the image: "13.0".
    #[prost(string, optional, tag = "3")]
    pub cuda_version: ::core::option::Option<::prost::alloc::string::String>,
    /// NCCL: "2.28.3".
    #[prost(string, optional, tag = "4")]
    pub nccl_version: ::core::option::Option<::prost::alloc::string::String>,
    /// NVIDIA driver: "580.65.06".
    #[prost(string, optional, tag = "5")]
    pub driver_version: ::core::option::Option<::prost::alloc::string::String>,
    /// cuDNN: "9.13.0".
    #[prost(string, optional, tag = "6")]
    pub cudnn_version: ::core::option::Option<::prost::alloc::string::String>,
    /// Other packages by distribution name: "deep_ep" -> "1.2.1", "nvshmem" -> "3.5.19", "triton" -> "3.4.0".
    #[prost(map = "string, string", tag = "7")]
    pub packages: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// The dispatcher backends that are installed. Unset message: the caller does not know.
    #[prost(message, optional, tag = "8")]
    pub dispatchers: ::core::option::Option<DispatcherSupport>,
    /// The framework's build supports paged stashing of expert activations.
    #[prost(bool, optional, tag = "9")]
    pub paged_stash: ::core::option::Option<bool>,
}
/// Which token dispatcher backends the image carries.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DispatcherSupport {
    /// "deepep", "hybridep", "ncclep". An empty list: only alltoall and allgather.
    #[prost(string, repeated, tag = "1")]
    pub backends: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Transport the backend was built for: "nvlink", "ibgda", "ibrc", "efa". Unset: unknown.
    #[prost(string, optional, tag = "2")]
    pub transport: ::core::option::Option<::prost::alloc::string::String>,
}
/// How fast one host thread launches kernels; decides how soon a run becomes host-bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum HostCpuClass {
    /// Unknown.
    Unspecified = 0,
    /// Server x86 with high single-thread clock.
    X86Fast = 1,
    /// Older or slow-clocked x86.
    X86Slow = 2,
    /// Grace and other Arm hosts: slow single thread, host overhead matters early.
    Arm = 3,
}
impl HostCpuClass {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            HostCpuClass::Unspecified => "HOST_CPU_CLASS_UNSPECIFIED",
            HostCpuClass::X86Fast => "HOST_CPU_CLASS_X86_FAST",
            HostCpuClass::X86Slow => "HOST_CPU_CLASS_X86_SLOW",
            HostCpuClass::Arm => "HOST_CPU_CLASS_ARM",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "HOST_CPU_CLASS_UNSPECIFIED" => Some(Self::Unspecified),
            "HOST_CPU_CLASS_X86_FAST" => Some(Self::X86Fast),
            "HOST_CPU_CLASS_X86_SLOW" => Some(Self::X86Slow),
            "HOST_CPU_CLASS_ARM" => Some(Self::Arm),
            _ => None,
        }
    }
}
/// What is trained: the architecture, named or spelled out.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ModelRef {
    /// Exactly one way to say which model. Unset: INVALID_ARGUMENT.
    #[prost(oneof = "model_ref::Source", tags = "1, 2, 3")]
    pub source: ::core::option::Option<model_ref::Source>,
}
/// Nested message and enum types in `ModelRef`.
pub mod model_ref {
    /// Exactly one way to say which model. Unset: INVALID_ARGUMENT.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Source {
        /// Catalogue name or alias: "deepseek-v3". ListModels has them all.
        #[prost(string, tag = "1")]
        Name(::prost::alloc::string::String),
        /// Every dimension spelled out.
        #[prost(message, tag = "2")]
        Spec(super::ModelSpec),
        /// A Hugging Face config.json as downloaded, at most 256 KiB of text. Bare NaN and Infinity are tolerated.
        #[prost(string, tag = "3")]
        HfConfigJson(::prost::alloc::string::String),
    }
}
/// One decoder-only model. Field names are Megatron's; an unset optional means "the architecture has none of it".
/// What GetModel and ImportModel answer may be sent back as it is, or changed.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ModelSpec {
    /// Name to show; for a catalogue entry its key.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Family label: "deepseek", "qwen3_moe". Free text in a request.
    #[prost(string, tag = "2")]
    pub family: ::prost::alloc::string::String,
    /// Hugging Face repository, "deepseek-ai/DeepSeek-V3".
    #[prost(string, tag = "3")]
    pub hf_id: ::prost::alloc::string::String,
    /// Hugging Face architecture class, "DeepseekV3ForCausalLM".
    #[prost(string, tag = "4")]
    pub architecture: ::prost::alloc::string::String,
    /// Decoder layers without MTP layers. Range 1..10000. Mirrors --num-layers.
    #[prost(int32, tag = "10")]
    pub num_layers: i32,
    /// Width of the residual stream. Mirrors --hidden-size.
    #[prost(int32, tag = "11")]
    pub hidden_size: i32,
    /// Width of the dense MLP. Mirrors --ffn-hidden-size.
    #[prost(int32, tag = "12")]
    pub ffn_hidden_size: i32,
    /// Query heads. Mirrors --num-attention-heads.
    #[prost(int32, tag = "13")]
    pub num_attention_heads: i32,
    /// Key-value groups; unset: as many as query heads. Mirrors --num-query-groups.
    #[prost(int32, optional, tag = "14")]
    pub num_query_groups: ::core::option::Option<i32>,
    /// Head size; unset: hidden_size / num_attention_heads. Mirrors --kv-channels.
    #[prost(int32, optional, tag = "15")]
    pub kv_channels: ::core::option::Option<i32>,
    /// Vocabulary before padding. Mirrors --vocab-size.
    #[prost(int32, tag = "16")]
    pub vocab_size: i32,
    /// Input and output embedding share one matrix. Inverse of --untie-embeddings-and-output-weights.
    #[prost(bool, tag = "17")]
    pub tie_embeddings: bool,
    /// Attention kind: "gqa", "mha", "mla", or a hybrid's label as in the catalogue.
    #[prost(string, tag = "18")]
    pub attention: ::prost::alloc::string::String,
    /// MLA: rank of the query projection; unset: a full query matrix. Mirrors --q-lora-rank.
    #[prost(int32, optional, tag = "20")]
    pub q_lora_rank: ::core::option::Option<i32>,
    /// MLA: rank of the joint key-value projection. Mirrors --kv-lora-rank.
    #[prost(int32, optional, tag = "21")]
    pub kv_lora_rank: ::core::option::Option<i32>,
    /// MLA: head size without the rotary part. Mirrors --qk-head-dim.
    #[prost(int32, optional, tag = "22")]
    pub qk_head_dim: ::core::option::Option<i32>,
    /// MLA: rotary part of the head. Mirrors --qk-pos-emb-head-dim.
    #[prost(int32, optional, tag = "23")]
    pub qk_pos_emb_head_dim: ::core::option::Option<i32>,
    /// MLA: value head size. Mirrors --v-head-dim.
    #[prost(int32, optional, tag = "24")]
    pub v_head_dim: ::core::option::Option<i32>,
    /// Routed experts per MoE layer; unset: dense model. Mirrors --num-experts.
    #[prost(int32, optional, tag = "30")]
    pub num_moe_experts: ::core::option::Option<i32>,
    /// Experts each token is sent to. Mirrors --moe-router-topk.
    #[prost(int32, optional, tag = "31")]
    pub moe_router_topk: ::core::option::Option<i32>,
    /// Width of one expert. Mirrors --moe-ffn-hidden-size.
    #[prost(int32, optional, tag = "32")]
    pub moe_ffn_hidden_size: ::core::option::Option<i32>,
    /// Width of all shared experts together. Mirrors --moe-shared-expert-intermediate-size.
    #[prost(int32, optional, tag = "33")]
    pub moe_shared_expert_intermediate_size: ::core::option::Option<i32>,
    /// Shared experts have a gate. Mirrors --moe-shared-expert-gate.
    #[prost(bool, tag = "34")]
    pub moe_shared_expert_gate: bool,
    /// Width of a latent space between router and experts. Mirrors --moe-latent-size.
    #[prost(int32, optional, tag = "35")]
    pub moe_latent_size: ::core::option::Option<i32>,
    /// Which layers are MoE: "1", or a pattern such as "\[0]*3+[1\]*58". Mirrors --moe-layer-freq.
    #[prost(string, tag = "36")]
    pub moe_layer_freq: ::prost::alloc::string::String,
    /// Router score function: "softmax" or "sigmoid". Mirrors --moe-router-score-function.
    #[prost(string, optional, tag = "37")]
    pub moe_router_score_function: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Softmax before top-k. Mirrors --moe-router-pre-softmax.
    #[prost(bool, optional, tag = "38")]
    pub moe_router_pre_softmax: ::core::option::Option<bool>,
    /// Aux-loss-free balancing bias. Mirrors --moe-router-enable-expert-bias.
    #[prost(bool, tag = "39")]
    pub moe_router_enable_expert_bias: bool,
    /// Groups of node-limited routing. Mirrors --moe-router-num-groups.
    #[prost(int32, optional, tag = "40")]
    pub moe_router_num_groups: ::core::option::Option<i32>,
    /// Groups each token may use. Mirrors --moe-router-group-topk.
    #[prost(int32, optional, tag = "41")]
    pub moe_router_group_topk: ::core::option::Option<i32>,
    /// Factor on the routed output. Mirrors --moe-router-topk-scaling-factor.
    #[prost(double, optional, tag = "42")]
    pub moe_router_topk_scaling_factor: ::core::option::Option<f64>,
    /// Multi-token-prediction depth. Mirrors --mtp-num-layers.
    #[prost(int32, optional, tag = "50")]
    pub mtp_num_layers: ::core::option::Option<i32>,
    /// "swiglu", "gelu", "geglu", "squared_relu", ...
    #[prost(string, tag = "51")]
    pub activation: ::prost::alloc::string::String,
    /// "RMSNorm" or "LayerNorm". Mirrors --normalization.
    #[prost(string, tag = "52")]
    pub normalization: ::prost::alloc::string::String,
    /// Norms on query and key. Mirrors --qk-layernorm.
    #[prost(bool, tag = "53")]
    pub qk_layernorm: bool,
    /// Bias on the QKV projection. Mirrors --add-qkv-bias.
    #[prost(bool, tag = "54")]
    pub add_qkv_bias: bool,
    /// Bias on the linear layers. Inverse of --disable-bias-linear.
    #[prost(bool, tag = "55")]
    pub add_bias_linear: bool,
    /// Longest position the checkpoint was made for, tokens. Mirrors --max-position-embeddings.
    #[prost(int64, optional, tag = "56")]
    pub max_position_embeddings: ::core::option::Option<i64>,
    /// RoPE base. Mirrors --rotary-base.
    #[prost(double, optional, tag = "57")]
    pub rotary_base: ::core::option::Option<f64>,
    /// Share of the head that rotates. Mirrors --rotary-percent.
    #[prost(double, optional, tag = "58")]
    pub rotary_percent: ::core::option::Option<f64>,
    /// "yarn", "llama3", ...; unset: none.
    #[prost(string, optional, tag = "59")]
    pub rope_scaling_type: ::core::option::Option<::prost::alloc::string::String>,
    /// Sliding window in tokens; unset: full attention. Mirrors --window-size.
    #[prost(int32, optional, tag = "60")]
    pub window_size: ::core::option::Option<i32>,
    /// Dimensions of families that need more (linear attention, Mamba, indexers), by Megatron's or the family's own name.
    #[prost(map = "string, double", tag = "70")]
    pub extra_dimensions: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        f64,
    >,
    /// Words, switches and layer patterns of families that need them, by the same names: "hybrid_layer_pattern",
    /// "attention_output_gate", "linear_attention_freq" ("(\[1,1,1,0\])*12" or a list).
    #[prost(map = "string, message", tag = "71")]
    pub extra_fields: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        KnobValue,
    >,
    /// Settings of the checkpoint that no count depends on but that a launch must repeat: "layernorm_epsilon".
    #[prost(message, repeated, tag = "72")]
    pub knobs: ::prost::alloc::vec::Vec<KnobSetting>,
    /// Exact counts by our formulas; filled in answers, ignored in requests.
    #[prost(message, optional, tag = "80")]
    pub parameters: ::core::option::Option<ParameterCounts>,
    /// Where the figures come from; filled in answers.
    #[prost(string, repeated, tag = "81")]
    pub sources: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Anything a user should know about this entry; filled in answers.
    #[prost(string, tag = "82")]
    pub notes: ::prost::alloc::string::String,
}
/// Parameter counts, in scalars.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ParameterCounts {
    /// All parameters without MTP blocks.
    #[prost(int64, tag = "1")]
    pub total_count: i64,
    /// With MTP blocks.
    #[prost(int64, tag = "2")]
    pub total_with_mtp_count: i64,
    /// Used by one token, embeddings included.
    #[prost(int64, tag = "3")]
    pub active_count: i64,
    /// Used by one token, without the input embedding.
    #[prost(int64, tag = "4")]
    pub active_without_input_embedding_count: i64,
}
/// Which model.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetModelRequest {
    /// Name or alias.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
}
/// A page of models.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListModelsRequest {
    /// Entries per page.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
}
/// A page of models.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListModelsResponse {
    /// The models.
    #[prost(message, repeated, tag = "1")]
    pub models: ::prost::alloc::vec::Vec<ModelSpec>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
/// Which GPU system.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetGpuRequest {
    /// Name or alias.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
}
/// A page of GPU systems.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListGpusRequest {
    /// Entries per page.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
}
/// A page of GPU systems.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListGpusResponse {
    /// The systems.
    #[prost(message, repeated, tag = "1")]
    pub gpus: ::prost::alloc::vec::Vec<GpuSystem>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
/// Which knob.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetKnobRequest {
    /// Name or alias.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
}
/// A page of knobs.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListKnobsRequest {
    /// Entries per page.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
}
/// A page of knobs.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListKnobsResponse {
    /// The knobs.
    #[prost(message, repeated, tag = "1")]
    pub knobs: ::prost::alloc::vec::Vec<KnobInfo>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
/// One row of the knob table.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KnobInfo {
    /// Megatron's spelling.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Other names it answers to.
    #[prost(string, repeated, tag = "2")]
    pub aliases: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Config class that owns it: "model", "ddp", "comm_overlap", "args" ...
    #[prost(string, tag = "3")]
    pub section: ::prost::alloc::string::String,
    /// "convergence", "execution" or "benchmark_only".
    #[prost(string, tag = "4")]
    pub knob_class: ::prost::alloc::string::String,
    /// "bool", "int", "float", "string", "int_list", "float_list", "string_list", "freq", "any".
    #[prost(string, tag = "5")]
    pub r#type: ::prost::alloc::string::String,
    /// Legal values; empty: no fixed set.
    #[prost(string, repeated, tag = "6")]
    pub choices: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Default in the newest code read.
    #[prost(message, optional, tag = "7")]
    pub default_value: ::core::option::Option<KnobValue>,
    /// Megatron-LM flags that set it.
    #[prost(string, repeated, tag = "8")]
    pub megatron_lm_flags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Bridge override path.
    #[prost(string, tag = "9")]
    pub bridge_override: ::prost::alloc::string::String,
    /// Bridge performance-harness flag.
    #[prost(string, tag = "10")]
    pub bridge_perf: ::prost::alloc::string::String,
    /// LoongForge spelling.
    #[prost(string, tag = "11")]
    pub loongforge: ::prost::alloc::string::String,
    /// Anything a user should know.
    #[prost(string, tag = "12")]
    pub note: ::prost::alloc::string::String,
}
/// Which rule.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetRuleRequest {
    /// Rule id.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
/// A page of rules.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListRulesRequest {
    /// Entries per page.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
    /// Only this area; empty: all. One that no rule is of: INVALID_ARGUMENT.
    #[prost(string, tag = "3")]
    pub area: ::prost::alloc::string::String,
}
/// A page of rules.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListRulesResponse {
    /// The rules.
    #[prost(message, repeated, tag = "1")]
    pub rules: ::prost::alloc::vec::Vec<RuleInfo>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
/// One rule of the rule book.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RuleInfo {
    /// Stable id.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// Area.
    #[prost(string, tag = "2")]
    pub area: ::prost::alloc::string::String,
    /// "error", "warning", "info", "change" or "decision".
    #[prost(string, tag = "3")]
    pub kind: ::prost::alloc::string::String,
    /// Which verdict it belongs to.
    #[prost(enumeration = "VerdictKind", tag = "4")]
    pub verdict: i32,
    /// Upstream's stage.
    #[prost(string, tag = "5")]
    pub stage: ::prost::alloc::string::String,
    /// Knobs and environment facts it looks at.
    #[prost(string, repeated, tag = "6")]
    pub reads: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// What must hold, or what is changed or decided.
    #[prost(string, tag = "7")]
    pub text: ::prost::alloc::string::String,
    /// The fixes it proposes where they do not depend on values.
    #[prost(message, repeated, tag = "8")]
    pub fixes: ::prost::alloc::vec::Vec<Fix>,
    /// Where it comes from.
    #[prost(message, optional, tag = "9")]
    pub source: ::core::option::Option<Citation>,
    /// Megatron-Core releases it holds for: "0.16..main".
    #[prost(string, tag = "10")]
    pub core_releases: ::prost::alloc::string::String,
    /// Megatron-Bridge releases it holds for; empty where Bridge has no part in it.
    #[prost(string, tag = "11")]
    pub bridge_releases: ::prost::alloc::string::String,
}
/// A file to import.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ImportModelRequest {
    /// config.json as downloaded, at most 256 KiB.
    #[prost(string, tag = "1")]
    pub hf_config_json: ::prost::alloc::string::String,
}
/// Generated client implementations.
pub mod catalog_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// What Flightplan knows: models, GPU systems, knobs, rules. Lists are paged: page_size 0 means 100, more than
    /// 1,000 means 1,000; a bad page_token is INVALID_ARGUMENT. Gets answer NOT_FOUND with the nearest known name.
    #[derive(Debug, Clone)]
    pub struct CatalogServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl CatalogServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> CatalogServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> CatalogServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            CatalogServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// One model, by name or alias.
        pub async fn get_model(
            &mut self,
            request: impl tonic::IntoRequest<super::GetModelRequest>,
        ) -> std::result::Result<tonic::Response<super::ModelSpec>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/GetModel",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "GetModel"));
            self.inner.unary(req, path, codec).await
        }
        /// All models, by name.
        pub async fn list_models(
            &mut self,
            request: impl tonic::IntoRequest<super::ListModelsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListModelsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/ListModels",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "ListModels"));
            self.inner.unary(req, path, codec).await
        }
        /// One GPU system, by name or alias.
        pub async fn get_gpu(
            &mut self,
            request: impl tonic::IntoRequest<super::GetGpuRequest>,
        ) -> std::result::Result<tonic::Response<super::GpuSystem>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/GetGpu",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "GetGpu"));
            self.inner.unary(req, path, codec).await
        }
        /// All GPU systems, by name.
        pub async fn list_gpus(
            &mut self,
            request: impl tonic::IntoRequest<super::ListGpusRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListGpusResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/ListGpus",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "ListGpus"));
            self.inner.unary(req, path, codec).await
        }
        /// One knob, by name or alias.
        pub async fn get_knob(
            &mut self,
            request: impl tonic::IntoRequest<super::GetKnobRequest>,
        ) -> std::result::Result<tonic::Response<super::KnobInfo>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/GetKnob",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "GetKnob"));
            self.inner.unary(req, path, codec).await
        }
        /// All knobs, in table order.
        pub async fn list_knobs(
            &mut self,
            request: impl tonic::IntoRequest<super::ListKnobsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListKnobsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/ListKnobs",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "ListKnobs"));
            self.inner.unary(req, path, codec).await
        }
        /// One rule: what, why, source, fix, since which version.
        pub async fn get_rule(
            &mut self,
            request: impl tonic::IntoRequest<super::GetRuleRequest>,
        ) -> std::result::Result<tonic::Response<super::RuleInfo>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/GetRule",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "GetRule"));
            self.inner.unary(req, path, codec).await
        }
        /// All rules, by id.
        pub async fn list_rules(
            &mut self,
            request: impl tonic::IntoRequest<super::ListRulesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListRulesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/ListRules",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "ListRules"));
            self.inner.unary(req, path, codec).await
        }
        /// A Hugging Face config.json as a model. INVALID_ARGUMENT names the field that cannot be read.
        pub async fn import_model(
            &mut self,
            request: impl tonic::IntoRequest<super::ImportModelRequest>,
        ) -> std::result::Result<tonic::Response<super::ModelSpec>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.CatalogService/ImportModel",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.CatalogService", "ImportModel"));
            self.inner.unary(req, path, codec).await
        }
    }
}
/// A figure with its band; the band is one point where the figure is what the caller measured.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Range {
    /// Most likely value.
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Lower end.
    #[prost(double, tag = "2")]
    pub low: f64,
    /// Upper end.
    #[prost(double, tag = "3")]
    pub high: f64,
}
/// One part of the memory of a rank.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct MemoryPart {
    /// "parameters", "gradients", "optimizer_state", "activations", "logits", "dispatch_buffers", "cuda_graphs", ...
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Bytes.
    #[prost(int64, tag = "2")]
    pub part_bytes: i64,
    /// How it was made.
    #[prost(enumeration = "FigureKind", tag = "3")]
    pub kind: i32,
}
/// Memory of the worst rank of one pipeline stage.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StageMemory {
    /// Pipeline stage from 0; the first of those that this entry stands for.
    #[prost(int32, tag = "1")]
    pub stage: i32,
    /// Its parts.
    #[prost(message, repeated, tag = "2")]
    pub parts: ::prost::alloc::vec::Vec<MemoryPart>,
    /// Their sum with its band, in bytes: what the GPU must have for the run, judged against `usable_bytes`. Freed blocks
    /// that the allocator keeps are not in it: it gives them back before a run fails.
    #[prost(message, optional, tag = "3")]
    pub total_bytes: ::core::option::Option<Range>,
    /// The last stage with the same figures: stages stage..last_stage_index stand here once.
    #[prost(int32, tag = "4")]
    pub last_stage_index: i32,
    /// Of them what PyTorch counts (max_memory_allocated), with its band, in bytes.
    #[prost(message, optional, tag = "5")]
    pub allocated_bytes: ::core::option::Option<Range>,
    /// What nvidia-smi shows of the process while it trains, with its band, in bytes: `total_bytes` and the freed blocks
    /// that the allocator keeps, at most what the GPU has. Unset: more is allocated than that, or a server older than this
    /// field.
    #[prost(message, optional, tag = "6")]
    pub device_bytes: ::core::option::Option<Range>,
}
/// The collectives of one parallel path in a step.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CommunicationPath {
    /// "expert_parallel", "tensor_parallel", "context_parallel", "pipeline_parallel" or "data_parallel".
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Microseconds of a step that wait for them. Over all paths: the step time's share "communication".
    #[prost(double, tag = "2")]
    pub exposed_us: f64,
    /// Microseconds of them that run beside compute and cost the step nothing.
    #[prost(double, tag = "3")]
    pub hidden_us: f64,
}
/// How memory stands, whether there is a forecast or not.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct MemoryVerdict {
    /// The class.
    #[prost(enumeration = "FitVerdict", tag = "1")]
    pub fit: i32,
    /// The one input that keeps memory from being forecast: a knob's name such as "vocab_size", or "hardware.gpu",
    /// "hardware.gpu_count", "hardware.reserved_bytes". Empty: there is a forecast, or no single input would bring one (`not_judged` says why).
    #[prost(string, tag = "2")]
    pub missing_input: ::prost::alloc::string::String,
    /// Where there is no forecast: what parameters, gradients and optimizer state of one GPU take at least, in bytes. Where
    /// this alone is above `usable_bytes`, `fit` is DOES_NOT_FIT. 0: not known.
    #[prost(int64, tag = "3")]
    pub at_least_bytes: i64,
    /// Usable memory of one GPU in bytes; 0: not known.
    #[prost(int64, tag = "4")]
    pub usable_bytes: i64,
    /// Memory of one GPU in bytes that others hold while the step runs, as the question or the launch says; not in
    /// `usable_bytes`.
    #[prost(int64, tag = "5")]
    pub reserved_bytes: i64,
}
/// Memory and time forecast.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Estimate {
    /// Whether it fits.
    #[prost(enumeration = "FitVerdict", tag = "1")]
    pub fit: i32,
    /// Usable memory of one GPU.
    #[prost(int64, tag = "2")]
    pub usable_bytes: i64,
    /// By stage.
    #[prost(message, repeated, tag = "3")]
    pub stages: ::prost::alloc::vec::Vec<StageMemory>,
    /// What is counted and what is not, one line.
    #[prost(string, tag = "4")]
    pub scope: ::prost::alloc::string::String,
    /// Step time in microseconds; unset until a time model covers the case.
    #[prost(message, optional, tag = "5")]
    pub step_time_us: ::core::option::Option<Range>,
    /// Share of the step by wall, 0..1: "compute", "communication", "host", "bubble", "optimizer".
    #[prost(map = "string, double", tag = "6")]
    pub wall_ratios: ::std::collections::HashMap<::prost::alloc::string::String, f64>,
    /// Model FLOPs of one step, forward and backward without recomputation, as the target's own throughput log counts them
    /// (num_floating_point_operations): Megatron-LM charges full causal attention to layers with a window and to sparse
    /// ones, Megatron-Bridge counts the keys that a query meets.
    #[prost(double, tag = "7")]
    pub step_flops: f64,
    /// Tokens of the global batch per second of the step, all GPUs together. Unset where step_time_us is.
    #[prost(double, tag = "8")]
    pub tokens_per_second: f64,
    /// The same by one GPU.
    #[prost(double, tag = "9")]
    pub tokens_per_second_per_gpu: f64,
    /// step_flops per second and GPU: what the target logs as "throughput per GPU (TFLOP/s/GPU)", times 10^12.
    #[prost(double, tag = "10")]
    pub flops_per_second_per_gpu: f64,
    /// Dense peak of one GPU in the precision of most matrix products, which mfu_ratio divides by; unset: not published.
    #[prost(double, tag = "11")]
    pub peak_flops_per_second: f64,
    /// Model FLOPs utilization, 0..1, over peak_flops_per_second: of the FLOPs that the step computes, with the keys that a
    /// query meets. Where the target's log counts more (step_flops), lower than flops_per_second_per_gpu would give.
    #[prost(double, tag = "12")]
    pub mfu_ratio: f64,
    /// What communication costs, by parallel path; only those that the layout has.
    #[prost(message, repeated, tag = "13")]
    pub communication: ::prost::alloc::vec::Vec<CommunicationPath>,
    /// Terms of the step time that no published measurement covers, "Mamba scan": its band is wider for them.
    #[prost(string, repeated, tag = "14")]
    pub unmeasured_terms: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// As in MemoryVerdict.
    #[prost(int64, tag = "15")]
    pub reserved_bytes: i64,
    /// What the plan keeps in main memory; unset: nothing.
    #[prost(message, optional, tag = "16")]
    pub host: ::core::option::Option<HostMemory>,
}
/// Main memory of one node that an offloaded optimizer takes: parameters, gradients and moments in FP32. Processes, data
/// loaders and page cache are not counted.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct HostMemory {
    /// Of the fullest node, in bytes, with its band: pinned memory is handed out in powers of two.
    #[prost(message, optional, tag = "1")]
    pub node_bytes: ::core::option::Option<Range>,
    /// hardware.host_memory_bytes; 0: not known, and so is `fit`.
    #[prost(int64, tag = "2")]
    pub usable_bytes: i64,
    /// The class.
    #[prost(enumeration = "FitVerdict", tag = "3")]
    pub fit: i32,
}
/// How a figure was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum FigureKind {
    /// Never sent.
    Unspecified = 0,
    /// Closed formula, term by term as upstream.
    Exact = 1,
    /// Derived by a model; a few per cent.
    Model = 2,
    /// A margin with a range.
    Margin = 3,
}
impl FigureKind {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            FigureKind::Unspecified => "FIGURE_KIND_UNSPECIFIED",
            FigureKind::Exact => "FIGURE_KIND_EXACT",
            FigureKind::Model => "FIGURE_KIND_MODEL",
            FigureKind::Margin => "FIGURE_KIND_MARGIN",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "FIGURE_KIND_UNSPECIFIED" => Some(Self::Unspecified),
            "FIGURE_KIND_EXACT" => Some(Self::Exact),
            "FIGURE_KIND_MODEL" => Some(Self::Model),
            "FIGURE_KIND_MARGIN" => Some(Self::Margin),
            _ => None,
        }
    }
}
/// Whether it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum FitVerdict {
    /// Of a server older than FIT_VERDICT_UNKNOWN: not judged.
    Unspecified = 0,
    /// The upper end of the band is within the usable memory.
    Fits = 1,
    /// The most likely value is within it, the upper end of the band is not.
    Marginal = 2,
    /// The most likely value is above it: never launched by an answer that says "will run".
    DoesNotFit = 3,
    /// Not judged: an input is missing.
    Unknown = 4,
}
impl FitVerdict {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            FitVerdict::Unspecified => "FIT_VERDICT_UNSPECIFIED",
            FitVerdict::Fits => "FIT_VERDICT_FITS",
            FitVerdict::Marginal => "FIT_VERDICT_MARGINAL",
            FitVerdict::DoesNotFit => "FIT_VERDICT_DOES_NOT_FIT",
            FitVerdict::Unknown => "FIT_VERDICT_UNKNOWN",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "FIT_VERDICT_UNSPECIFIED" => Some(Self::Unspecified),
            "FIT_VERDICT_FITS" => Some(Self::Fits),
            "FIT_VERDICT_MARGINAL" => Some(Self::Marginal),
            "FIT_VERDICT_DOES_NOT_FIT" => Some(Self::DoesNotFit),
            "FIT_VERDICT_UNKNOWN" => Some(Self::Unknown),
            _ => None,
        }
    }
}
/// The parallel layout. An unset field is open: the planner searches it.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Layout {
    /// TP. Mirrors --tensor-model-parallel-size.
    #[prost(int32, optional, tag = "1")]
    pub tensor_model_parallel_size: ::core::option::Option<i32>,
    /// PP. Mirrors --pipeline-model-parallel-size.
    #[prost(int32, optional, tag = "2")]
    pub pipeline_model_parallel_size: ::core::option::Option<i32>,
    /// VPP: model chunks per pipeline rank; 1: no interleaving; unset: decided.
    #[prost(int32, optional, tag = "3")]
    pub virtual_pipeline_model_parallel_size: ::core::option::Option<i32>,
    /// CP. Mirrors --context-parallel-size.
    #[prost(int32, optional, tag = "4")]
    pub context_parallel_size: ::core::option::Option<i32>,
    /// EP. Mirrors --expert-model-parallel-size.
    #[prost(int32, optional, tag = "5")]
    pub expert_model_parallel_size: ::core::option::Option<i32>,
    /// ETP; unset: 1 for an MoE model, as all published recipes do. Mirrors --expert-tensor-parallel-size.
    #[prost(int32, optional, tag = "6")]
    pub expert_tensor_parallel_size: ::core::option::Option<i32>,
    /// Microbatch, samples per data-parallel rank; unset: 1, or the search's choice where sizes are open. Mirrors --micro-batch-size.
    #[prost(int32, optional, tag = "7")]
    pub micro_batch_size: ::core::option::Option<i32>,
    /// Pipeline layout string, "Et|(tt|)*30mL"; unset: decided. Mirrors --pipeline-model-parallel-layout.
    #[prost(string, optional, tag = "8")]
    pub pipeline_model_parallel_layout: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Sequence parallel; unset: on exactly when TP > 1. Mirrors --sequence-parallel.
    #[prost(bool, optional, tag = "9")]
    pub sequence_parallel: ::core::option::Option<bool>,
}
/// What one step trains on.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Workload {
    /// Tokens per sample. Range 1..16777216. Required.
    #[prost(int64, tag = "1")]
    pub seq_length: i64,
    /// Samples per step over all GPUs. Required.
    #[prost(int64, tag = "2")]
    pub global_batch_size: i64,
    /// "bf16" (the default), "fp16", "fp8_cs" (tensorwise), "fp8_block", "fp8_ds" (delayed), "mxfp8", "nvfp4".
    #[prost(string, tag = "3")]
    pub precision: ::prost::alloc::string::String,
    /// What the run is for; changes the routing mode only where it is a benchmark.
    #[prost(enumeration = "Objective", tag = "4")]
    pub objective: i32,
    /// Steps to train; unset: of a benchmark a short run that shows the steady state, of a training a `required_inputs` of
    /// its launch.
    #[prost(int64, optional, tag = "5")]
    pub train_iters: ::core::option::Option<i64>,
}
/// What a profile of the real run showed. Ratios are shares of the step time, 0..1; they need not add up to 1.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct MeasuredProfile {
    /// Step time. Range 1..6.048e11, a week.
    #[prost(double, optional, tag = "1")]
    pub step_time_us: ::core::option::Option<f64>,
    /// Share in communication that no compute hides.
    #[prost(double, optional, tag = "2")]
    pub exposed_communication_ratio: ::core::option::Option<f64>,
    /// Of that: expert all-to-all.
    #[prost(double, optional, tag = "3")]
    pub exposed_all_to_all_ratio: ::core::option::Option<f64>,
    /// Share in which the GPU waits for the host.
    #[prost(double, optional, tag = "4")]
    pub host_gap_ratio: ::core::option::Option<f64>,
    /// Share in the pipeline bubble.
    #[prost(double, optional, tag = "5")]
    pub pipeline_bubble_ratio: ::core::option::Option<f64>,
    /// Highest memory in use on any rank. Range 0..1e15.
    #[prost(int64, optional, tag = "6")]
    pub memory_high_water_bytes: ::core::option::Option<i64>,
    /// The wall the person reading the profile named.
    #[prost(enumeration = "Wall", optional, tag = "7")]
    pub wall: ::core::option::Option<i32>,
}
/// The framework that will be launched.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TargetStack {
    /// "megatron-lm", "megatron-bridge", "loongforge", "slime", "ms-swift", "verl" ...: what refuses an unknown name lists
    /// them all. Required, but for a file that is judged: see ValidateConfigRequest.target.
    #[prost(string, tag = "1")]
    pub framework: ::prost::alloc::string::String,
    /// "main", or a release such as "0.19" ("core_v0.19.0" is understood). Unset: main. An unknown release is answered for
    /// the nearest known one, with a warning.
    #[prost(string, tag = "2")]
    pub version: ::prost::alloc::string::String,
}
/// What the run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Objective {
    /// Treated as training.
    Unspecified = 0,
    /// Real training: routing as the model has it.
    Training = 1,
    /// Throughput benchmark: forced balanced routing, mock data.
    Benchmark = 2,
}
impl Objective {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Objective::Unspecified => "OBJECTIVE_UNSPECIFIED",
            Objective::Training => "OBJECTIVE_TRAINING",
            Objective::Benchmark => "OBJECTIVE_BENCHMARK",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "OBJECTIVE_UNSPECIFIED" => Some(Self::Unspecified),
            "OBJECTIVE_TRAINING" => Some(Self::Training),
            "OBJECTIVE_BENCHMARK" => Some(Self::Benchmark),
            _ => None,
        }
    }
}
/// How far the run has come; earlier stages choose the safer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Stage {
    /// Treated as PRODUCTION.
    Unspecified = 0,
    /// First correctness run: alltoall, no overlap that can be wrong, no graphs.
    BringUp = 1,
    /// Correct already; looking for throughput, A/B runs welcome.
    Tune = 2,
    /// Long run: what evidence supports, nothing that needs an A/B.
    Production = 3,
}
impl Stage {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Stage::Unspecified => "STAGE_UNSPECIFIED",
            Stage::BringUp => "STAGE_BRING_UP",
            Stage::Tune => "STAGE_TUNE",
            Stage::Production => "STAGE_PRODUCTION",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "STAGE_UNSPECIFIED" => Some(Self::Unspecified),
            "STAGE_BRING_UP" => Some(Self::BringUp),
            "STAGE_TUNE" => Some(Self::Tune),
            "STAGE_PRODUCTION" => Some(Self::Production),
            _ => None,
        }
    }
}
/// What limits the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Wall {
    /// Not known.
    Unspecified = 0,
    /// Memory capacity.
    Memory = 1,
    /// Communication.
    Communication = 2,
    /// Kernel launch and other host work.
    Host = 3,
    /// GPU compute.
    Compute = 4,
}
impl Wall {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Wall::Unspecified => "WALL_UNSPECIFIED",
            Wall::Memory => "WALL_MEMORY",
            Wall::Communication => "WALL_COMMUNICATION",
            Wall::Host => "WALL_HOST",
            Wall::Compute => "WALL_COMPUTE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "WALL_UNSPECIFIED" => Some(Self::Unspecified),
            "WALL_MEMORY" => Some(Self::Memory),
            "WALL_COMMUNICATION" => Some(Self::Communication),
            "WALL_HOST" => Some(Self::Host),
            "WALL_COMPUTE" => Some(Self::Compute),
            _ => None,
        }
    }
}
/// A measurement: what, on what, when, how sure.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Measurement {
    /// Caller-chosen id; the same id with the same content again is fine.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// What was measured: "step_time_us", "memory_high_water_bytes", "ab_relative_change".
    #[prost(string, tag = "2")]
    pub metric: ::prost::alloc::string::String,
    /// The value in the metric's unit.
    #[prost(double, tag = "3")]
    pub value: f64,
    /// Half-width of the 95 % interval, same unit; unset: not known.
    #[prost(double, optional, tag = "4")]
    pub error: ::core::option::Option<f64>,
    /// Model name.
    #[prost(string, tag = "5")]
    pub model: ::prost::alloc::string::String,
    /// GPU system name.
    #[prost(string, tag = "6")]
    pub gpu: ::prost::alloc::string::String,
    /// GPUs of the run.
    #[prost(int32, tag = "7")]
    pub gpu_count: i32,
    /// Its layout.
    #[prost(message, optional, tag = "8")]
    pub layout: ::core::option::Option<Layout>,
    /// Its workload.
    #[prost(message, optional, tag = "9")]
    pub workload: ::core::option::Option<Workload>,
    /// The stack it ran on.
    #[prost(message, optional, tag = "10")]
    pub target: ::core::option::Option<TargetStack>,
    /// The software it ran with.
    #[prost(message, optional, tag = "11")]
    pub software: ::core::option::Option<SoftwareStack>,
    /// Knobs that mattered.
    #[prost(message, repeated, tag = "12")]
    pub knobs: ::prost::alloc::vec::Vec<KnobSetting>,
    /// For an A/B: the knob that was varied.
    #[prost(string, tag = "13")]
    pub varied_knob: ::prost::alloc::string::String,
    /// For an A/B: its value in the run compared to.
    #[prost(message, optional, tag = "14")]
    pub from: ::core::option::Option<KnobValue>,
    /// For an A/B: its value in this run.
    #[prost(message, optional, tag = "15")]
    pub to: ::core::option::Option<KnobValue>,
    /// How good it is: "matched", "directional", "confounded", "synthetic".
    #[prost(string, tag = "16")]
    pub quality: ::prost::alloc::string::String,
    /// Where it comes from.
    #[prost(message, optional, tag = "17")]
    pub source: ::core::option::Option<Citation>,
    /// When it was measured.
    #[prost(message, optional, tag = "18")]
    pub measure_time: ::core::option::Option<::prost_types::Timestamp>,
    /// The cluster it ran on, as the reporter names it. At most 128 bytes of UTF-8; empty: not said.
    #[prost(string, tag = "19")]
    pub cluster: ::prost::alloc::string::String,
    /// Who reported it. Set by the server from the caller's credentials; ignored in a report.
    #[prost(string, tag = "20")]
    pub tenant: ::prost::alloc::string::String,
    /// How far it is trusted: "operator", "tenant", "quarantined" (an outlier kept out of every forecast). Set by the server.
    #[prost(string, tag = "21")]
    pub trust: ::prost::alloc::string::String,
    /// Why it is quarantined, one sentence. Set by the server.
    #[prost(string, tag = "22")]
    pub trust_reason: ::prost::alloc::string::String,
    /// Revision of the store that added it. Set by the server.
    #[prost(int64, tag = "23")]
    pub revision: i64,
    /// When the store took it. Set by the server.
    #[prost(message, optional, tag = "24")]
    pub receive_time: ::core::option::Option<::prost_types::Timestamp>,
}
/// A measurement to keep.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ReportMeasurementRequest {
    /// With a caller-chosen id.
    #[prost(message, optional, tag = "1")]
    pub measurement: ::core::option::Option<Measurement>,
}
/// What became of it.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ReportMeasurementResponse {
    /// Revision of the store that holds it.
    #[prost(int64, tag = "1")]
    pub revision: i64,
    /// As stored, with what the server added.
    #[prost(message, optional, tag = "2")]
    pub measurement: ::core::option::Option<Measurement>,
}
/// Which measurement.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetMeasurementRequest {
    /// Its id.
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
}
/// A page of measurements.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListMeasurementsRequest {
    /// Entries per page; 0 means 100, more than 1,000 means 1,000.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
    /// Only this GPU system, by name or alias; empty: all. One that neither catalogue nor evidence has: INVALID_ARGUMENT.
    #[prost(string, tag = "3")]
    pub gpu: ::prost::alloc::string::String,
    /// Only this model, likewise; empty: all.
    #[prost(string, tag = "4")]
    pub model: ::prost::alloc::string::String,
    /// Only after this revision; FAILED_PRECONDITION (REVISION_BEHIND) where the store has not reached it. Unset: all.
    #[prost(int64, optional, tag = "5")]
    pub after_revision: ::core::option::Option<i64>,
}
/// A page of measurements.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListMeasurementsResponse {
    /// The measurements.
    #[prost(message, repeated, tag = "1")]
    pub measurements: ::prost::alloc::vec::Vec<Measurement>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
    /// Revision of the snapshot.
    #[prost(int64, tag = "3")]
    pub revision: i64,
}
/// Generated client implementations.
pub mod evidence_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Measurements that back decisions. UNAVAILABLE with RetryInfo: the store is down; resolving goes on from the last snapshot.
    #[derive(Debug, Clone)]
    pub struct EvidenceServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl EvidenceServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> EvidenceServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> EvidenceServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            EvidenceServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Adds one measurement. ALREADY_EXISTS: the id is taken by another content; the same content again is OK.
        pub async fn report_measurement(
            &mut self,
            request: impl tonic::IntoRequest<super::ReportMeasurementRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReportMeasurementResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.EvidenceService/ReportMeasurement",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.EvidenceService", "ReportMeasurement"),
                );
            self.inner.unary(req, path, codec).await
        }
        /// One measurement. NOT_FOUND: no such id.
        pub async fn get_measurement(
            &mut self,
            request: impl tonic::IntoRequest<super::GetMeasurementRequest>,
        ) -> std::result::Result<tonic::Response<super::Measurement>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.EvidenceService/GetMeasurement",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.EvidenceService", "GetMeasurement"),
                );
            self.inner.unary(req, path, codec).await
        }
        /// Measurements by revision.
        pub async fn list_measurements(
            &mut self,
            request: impl tonic::IntoRequest<super::ListMeasurementsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListMeasurementsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.EvidenceService/ListMeasurements",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.EvidenceService", "ListMeasurements"),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// Which decisions.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SummarizeDecisionsRequest {
    /// Decisions to send one by one; sums count all that were read. Range 1..1,000; unset: 100.
    #[prost(int32, optional, tag = "1")]
    pub max_decision_count: ::core::option::Option<i32>,
    /// Of this tenant alone. Empty: of all.
    #[prost(string, tag = "2")]
    pub tenant: ::prost::alloc::string::String,
    /// Those that name this rule. Empty: all.
    #[prost(string, tag = "3")]
    pub rule_id: ::prost::alloc::string::String,
}
/// What the end of the log says.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SummarizeDecisionsResponse {
    /// Newest first.
    #[prost(message, repeated, tag = "1")]
    pub decisions: ::prost::alloc::vec::Vec<LoggedDecision>,
    /// Most decisions first, at most 200.
    #[prost(message, repeated, tag = "2")]
    pub tenants: ::prost::alloc::vec::Vec<DecisionTally>,
    /// Most decisions first, at most 500.
    #[prost(message, repeated, tag = "3")]
    pub rules: ::prost::alloc::vec::Vec<DecisionTally>,
    /// Decisions that were read and are as asked.
    #[prost(int64, tag = "4")]
    pub decision_count: i64,
    /// When the oldest decision that was read was taken, asked for or not; unset: none was read.
    #[prost(message, optional, tag = "5")]
    pub oldest_time: ::core::option::Option<::prost_types::Timestamp>,
    /// The log's file was read from its start; else from so far that it is `read_bytes` to its end.
    #[prost(bool, tag = "6")]
    pub whole: bool,
    /// Bytes that were read, at most 8 MiB.
    #[prost(int64, tag = "7")]
    pub read_bytes: i64,
    /// Lines that are no decision.
    #[prost(int64, tag = "8")]
    pub unreadable_count: i64,
}
/// One decision, as logged. Neither the request nor names of objects and users are in it.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LoggedDecision {
    /// When.
    #[prost(message, optional, tag = "1")]
    pub time: ::core::option::Option<::prost_types::Timestamp>,
    /// Who asked; empty: a line from before callers were told apart.
    #[prost(string, tag = "2")]
    pub tenant: ::prost::alloc::string::String,
    /// "ResolveConfig", "BatchResolve", or the path of a door.
    #[prost(string, tag = "3")]
    pub rpc: ::prost::alloc::string::String,
    /// The framework version: "megatron-lm main".
    #[prost(string, tag = "4")]
    pub target: ::prost::alloc::string::String,
    /// "resolved", "infeasible", "accepted", "rejected"; of a door: its verdict.
    #[prost(string, tag = "5")]
    pub outcome: ::prost::alloc::string::String,
    /// The rules that fired, at most 64.
    #[prost(string, repeated, tag = "6")]
    pub rule_ids: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Digest of request, catalogue and evidence revision, as the answer has it.
    #[prost(string, tag = "7")]
    pub digest: ::prost::alloc::string::String,
    /// From call to answer.
    #[prost(double, tag = "8")]
    pub duration_us: f64,
    /// The door that asked: "kubernetes"; empty: a caller of its own.
    #[prost(string, tag = "9")]
    pub door: ::prost::alloc::string::String,
}
/// How many decisions a tenant got, or a rule was named in.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DecisionTally {
    /// The tenant, or the rule's id.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// All of them.
    #[prost(int64, tag = "2")]
    pub decision_count: i64,
    /// Of these: infeasible, rejected, or refused by a door.
    #[prost(int64, tag = "3")]
    pub refused_count: i64,
    /// Of a rule: tenants that it was named to; of a tenant: rules that were named to it.
    #[prost(int64, tag = "4")]
    pub distinct_count: i64,
    /// When the newest was taken.
    #[prost(message, optional, tag = "5")]
    pub newest_time: ::core::option::Option<::prost_types::Timestamp>,
}
/// Generated client implementations.
pub mod fleet_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Shows operators what this server decided of late, read from the end of its decision log.
    #[derive(Debug, Clone)]
    pub struct FleetServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl FleetServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> FleetServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> FleetServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            FleetServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Recent decisions, with sums by tenant and by rule. Idempotent. Asks for the role `admin`, and for a server that asks
        /// callers who they are: FAILED_PRECONDITION where it has no token file, or where no file holds its decision log
        /// (`--decision_log file:PATH`). RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay.
        pub async fn summarize_decisions(
            &mut self,
            request: impl tonic::IntoRequest<super::SummarizeDecisionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::SummarizeDecisionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.FleetService/SummarizeDecisions",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.FleetService", "SummarizeDecisions"),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// The knobs a plan sets, each optional, by Megatron's own names. Unset: not given. Knobs outside this message travel as
/// KnobSetting.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Knobs {
    /// Execution knob; mirrors --tensor-model-parallel-size; default 1.
    #[prost(int64, optional, tag = "1")]
    pub tensor_model_parallel_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --pipeline-model-parallel-size; default 1.
    #[prost(int64, optional, tag = "2")]
    pub pipeline_model_parallel_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --context-parallel-size; default 1.
    #[prost(int64, optional, tag = "3")]
    pub context_parallel_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --expert-model-parallel-size; default 1.
    #[prost(int64, optional, tag = "4")]
    pub expert_model_parallel_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --expert-tensor-parallel-size.
    #[prost(int64, optional, tag = "5")]
    pub expert_tensor_parallel_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --sequence-parallel; default false.
    #[prost(bool, optional, tag = "6")]
    pub sequence_parallel: ::core::option::Option<bool>,
    /// Execution knob; mirrors --hierarchical-context-parallel-sizes.
    #[prost(message, optional, tag = "7")]
    pub hierarchical_context_parallel_sizes: ::core::option::Option<IntList>,
    /// Execution knob; mirrors --cp-comm-type.
    #[prost(message, optional, tag = "8")]
    pub cp_comm_type: ::core::option::Option<StringList>,
    /// Execution knob; mirrors --decoder-first-pipeline-num-layers.
    #[prost(int64, optional, tag = "9")]
    pub num_layers_in_first_pipeline_stage: ::core::option::Option<i64>,
    /// Execution knob; mirrors --decoder-last-pipeline-num-layers.
    #[prost(int64, optional, tag = "10")]
    pub num_layers_in_last_pipeline_stage: ::core::option::Option<i64>,
    /// Execution knob; mirrors --num-layers-per-virtual-pipeline-stage.
    #[prost(int64, optional, tag = "11")]
    pub num_layers_per_virtual_pipeline_stage: ::core::option::Option<i64>,
    /// Execution knob; mirrors --num-virtual-stages-per-pipeline-rank.
    #[prost(int64, optional, tag = "12")]
    pub num_virtual_stages_per_pipeline_rank: ::core::option::Option<i64>,
    /// Execution knob; mirrors --pipeline-model-parallel-layout.
    #[prost(string, optional, tag = "13")]
    pub pipeline_model_parallel_layout: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --account-for-embedding-in-pipeline-split; default false.
    #[prost(bool, optional, tag = "14")]
    pub account_for_embedding_in_pipeline_split: ::core::option::Option<bool>,
    /// Execution knob; mirrors --account-for-loss-in-pipeline-split; default false.
    #[prost(bool, optional, tag = "15")]
    pub account_for_loss_in_pipeline_split: ::core::option::Option<bool>,
    /// Execution knob; mirrors --microbatch-group-size-per-virtual-pipeline-stage.
    #[prost(int64, optional, tag = "16")]
    pub microbatch_group_size_per_vp_stage: ::core::option::Option<i64>,
    /// Execution knob; mirrors --tensor-parallel-num-weight-shards.
    #[prost(int64, optional, tag = "17")]
    pub tensor_parallel_num_weight_shards: ::core::option::Option<i64>,
    /// Execution knob; mirrors --expert-tensor-parallel-num-weight-shards.
    #[prost(int64, optional, tag = "18")]
    pub expert_tensor_parallel_num_weight_shards: ::core::option::Option<i64>,
    /// Execution knob; mirrors --use-tp-pp-dp-mapping; default false.
    #[prost(bool, optional, tag = "19")]
    pub use_tp_pp_dp_mapping: ::core::option::Option<bool>,
    /// Execution knob; mirrors --distributed-timeout-minutes; default 10.
    #[prost(int64, optional, tag = "20")]
    pub distributed_timeout_minutes: ::core::option::Option<i64>,
    /// Execution knob; mirrors --disable-gloo-process-groups; default true.
    #[prost(bool, optional, tag = "21")]
    pub use_gloo_process_groups: ::core::option::Option<bool>,
    /// Execution knob; mirrors --micro-batch-size.
    #[prost(int64, optional, tag = "22")]
    pub micro_batch_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --global-batch-size.
    #[prost(int64, optional, tag = "23")]
    pub global_batch_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --train-iters.
    #[prost(int64, optional, tag = "24")]
    pub train_iters: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --train-samples.
    #[prost(int64, optional, tag = "25")]
    pub train_samples: ::core::option::Option<i64>,
    /// Execution knob; mirrors --manual-gc; default false.
    #[prost(bool, optional, tag = "26")]
    pub manual_gc: ::core::option::Option<bool>,
    /// Execution knob; mirrors --manual-gc-interval; default 0.
    #[prost(int64, optional, tag = "27")]
    pub manual_gc_interval: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --rampup-batch-size.
    #[prost(message, optional, tag = "28")]
    pub rampup_batch_size: ::core::option::Option<IntList>,
    /// Convergence knob; mirrors --step-batch-size-schedule.
    #[prost(string, optional, tag = "29")]
    pub step_batch_size_schedule: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --decrease-batch-size-if-needed; default false.
    #[prost(bool, optional, tag = "30")]
    pub decrease_batch_size_if_needed: ::core::option::Option<bool>,
    /// Execution knob; mirrors --eval-micro-batch-size.
    #[prost(int64, optional, tag = "31")]
    pub eval_micro_batch_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --eval-global-batch-size.
    #[prost(int64, optional, tag = "32")]
    pub eval_global_batch_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --seq-length; default 1024.
    #[prost(int64, optional, tag = "33")]
    pub seq_length: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --max-position-embeddings.
    #[prost(int64, optional, tag = "34")]
    pub max_position_embeddings: ::core::option::Option<i64>,
    /// Convergence knob; default false.
    #[prost(bool, optional, tag = "35")]
    pub variable_seq_lengths: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --num-layers; default 0.
    #[prost(int64, optional, tag = "36")]
    pub num_layers: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --hidden-size; default 0.
    #[prost(int64, optional, tag = "37")]
    pub hidden_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --ffn-hidden-size.
    #[prost(int64, optional, tag = "38")]
    pub ffn_hidden_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --num-attention-heads; default 0.
    #[prost(int64, optional, tag = "39")]
    pub num_attention_heads: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --num-query-groups.
    #[prost(int64, optional, tag = "40")]
    pub num_query_groups: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --kv-channels.
    #[prost(int64, optional, tag = "41")]
    pub kv_channels: ::core::option::Option<i64>,
    /// Convergence knob; one of LayerNorm, RMSNorm; mirrors --normalization; default "LayerNorm".
    #[prost(string, optional, tag = "42")]
    pub normalization: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --norm-epsilon; default 1e-05.
    #[prost(double, optional, tag = "43")]
    pub layernorm_epsilon: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --disable-bias-linear; default true.
    #[prost(bool, optional, tag = "44")]
    pub add_bias_linear: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --add-qkv-bias; default false.
    #[prost(bool, optional, tag = "45")]
    pub add_qkv_bias: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --attention-dropout; default 0.1.
    #[prost(double, optional, tag = "46")]
    pub attention_dropout: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --hidden-dropout; default 0.1.
    #[prost(double, optional, tag = "47")]
    pub hidden_dropout: ::core::option::Option<f64>,
    /// Convergence knob; one of learned_absolute, rope, yarn, mrope, relative, none; mirrors --position-embedding-type; default "learned_absolute".
    #[prost(string, optional, tag = "48")]
    pub position_embedding_type: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --rotary-base; default 10000.
    #[prost(int64, optional, tag = "49")]
    pub rotary_base: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --rotary-percent; default 1.0.
    #[prost(double, optional, tag = "50")]
    pub rotary_percent: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --use-rope-scaling.
    #[prost(bool, optional, tag = "51")]
    pub use_rope_scaling: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --rope-scaling-factor; default 1.0.
    #[prost(double, optional, tag = "52")]
    pub rope_scaling_factor: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --untie-embeddings-and-output-weights.
    #[prost(bool, optional, tag = "53")]
    pub untie_embeddings_and_output_weights: ::core::option::Option<bool>,
    /// Execution knob; mirrors --make-vocab-size-divisible-by; default 128.
    #[prost(int64, optional, tag = "54")]
    pub make_vocab_size_divisible_by: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --vocab-size.
    #[prost(int64, optional, tag = "55")]
    pub vocab_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --padded-vocab-size.
    #[prost(int64, optional, tag = "56")]
    pub padded_vocab_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --init-method-std; default 0.02.
    #[prost(double, optional, tag = "57")]
    pub init_method_std: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --qk-layernorm; default false.
    #[prost(bool, optional, tag = "58")]
    pub qk_layernorm: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --qk-l2-norm; default false.
    #[prost(bool, optional, tag = "59")]
    pub qk_l2_norm: ::core::option::Option<bool>,
    /// Execution knob; one of flash, fused, unfused, local, auto; mirrors --attention-backend; default "auto".
    #[prost(string, optional, tag = "60")]
    pub attention_backend: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --attention-softmax-in-fp32; default true.
    #[prost(bool, optional, tag = "61")]
    pub attention_softmax_in_fp32: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --window-size.
    #[prost(message, optional, tag = "62")]
    pub window_size: ::core::option::Option<IntList>,
    /// Convergence knob; one of vanilla, off-by-one, learnable; mirrors --softmax-type; default "vanilla".
    #[prost(string, optional, tag = "63")]
    pub softmax_type: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; one of local, transformer_engine, inference_optimized; mirrors --transformer-impl; default "transformer_engine".
    #[prost(string, optional, tag = "64")]
    pub transformer_impl: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --calculate-per-token-loss; default false.
    #[prost(bool, optional, tag = "65")]
    pub calculate_per_token_loss: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --group-query-attention.
    #[prost(bool, optional, tag = "66")]
    pub group_query_attention: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --swiglu.
    #[prost(bool, optional, tag = "67")]
    pub swiglu: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --squared-relu.
    #[prost(bool, optional, tag = "68")]
    pub squared_relu: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --quick-geglu.
    #[prost(bool, optional, tag = "69")]
    pub quick_geglu: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --multi-latent-attention; default false.
    #[prost(bool, optional, tag = "70")]
    pub multi_latent_attention: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --q-lora-rank; default 512.
    #[prost(int64, optional, tag = "71")]
    pub q_lora_rank: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --kv-lora-rank; default 512.
    #[prost(int64, optional, tag = "72")]
    pub kv_lora_rank: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --qk-head-dim; default 128.
    #[prost(int64, optional, tag = "73")]
    pub qk_head_dim: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --qk-pos-emb-head-dim; default 64.
    #[prost(int64, optional, tag = "74")]
    pub qk_pos_emb_head_dim: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --v-head-dim; default 128.
    #[prost(int64, optional, tag = "75")]
    pub v_head_dim: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --rotary-scaling-factor.
    #[prost(double, optional, tag = "76")]
    pub rotary_scaling_factor: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --mscale; default 1.0.
    #[prost(double, optional, tag = "77")]
    pub mscale: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --mscale-all-dim; default 0.0.
    #[prost(double, optional, tag = "78")]
    pub mscale_all_dim: ::core::option::Option<f64>,
    /// Convergence knob; one of rope, yarn; mirrors --rope-type; default "yarn".
    #[prost(string, optional, tag = "79")]
    pub rope_type: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --mla-down-proj-fusion; default false.
    #[prost(bool, optional, tag = "80")]
    pub mla_down_proj_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --cache-mla-latents; default false.
    #[prost(bool, optional, tag = "81")]
    pub cache_mla_latents: ::core::option::Option<bool>,
    /// Convergence knob; one of gdn, gdn2, dsa, gated_delta_net; mirrors --experimental-attention-variant.
    #[prost(string, optional, tag = "82")]
    pub experimental_attention_variant: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Convergence knob; mirrors --dsa-indexer-n-heads.
    #[prost(int64, optional, tag = "83")]
    pub dsa_indexer_n_heads: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --dsa-indexer-head-dim.
    #[prost(int64, optional, tag = "84")]
    pub dsa_indexer_head_dim: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --dsa-indexer-topk.
    #[prost(int64, optional, tag = "85")]
    pub dsa_indexer_topk: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --mtp-num-layers.
    #[prost(int64, optional, tag = "86")]
    pub mtp_num_layers: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --mtp-loss-scaling-factor; default 0.1.
    #[prost(double, optional, tag = "87")]
    pub mtp_loss_scaling_factor: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --mtp-use-repeated-layer; default false.
    #[prost(bool, optional, tag = "88")]
    pub mtp_use_repeated_layer: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --num-experts.
    #[prost(int64, optional, tag = "89")]
    pub num_moe_experts: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-layer-freq; default 1.
    #[prost(string, optional, tag = "90")]
    pub moe_layer_freq: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --moe-ffn-hidden-size.
    #[prost(int64, optional, tag = "91")]
    pub moe_ffn_hidden_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-shared-expert-intermediate-size.
    #[prost(int64, optional, tag = "92")]
    pub moe_shared_expert_intermediate_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-shared-expert-gate; default false.
    #[prost(bool, optional, tag = "93")]
    pub moe_shared_expert_gate: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-grouped-gemm; default false.
    #[prost(bool, optional, tag = "94")]
    pub moe_grouped_gemm: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --moe-router-topk; default 2.
    #[prost(int64, optional, tag = "95")]
    pub moe_router_topk: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-router-num-groups.
    #[prost(int64, optional, tag = "96")]
    pub moe_router_num_groups: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-router-group-topk.
    #[prost(int64, optional, tag = "97")]
    pub moe_router_group_topk: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-router-topk-scaling-factor.
    #[prost(double, optional, tag = "98")]
    pub moe_router_topk_scaling_factor: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --moe-router-pre-softmax; default false.
    #[prost(bool, optional, tag = "99")]
    pub moe_router_pre_softmax: ::core::option::Option<bool>,
    /// Convergence knob; one of softmax, sigmoid, sqrtsoftplus; mirrors --moe-router-score-function; default "softmax".
    #[prost(string, optional, tag = "100")]
    pub moe_router_score_function: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Convergence knob; one of fp32, fp64; mirrors --moe-router-dtype.
    #[prost(string, optional, tag = "101")]
    pub moe_router_dtype: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of aux_loss, seq_aux_loss, global_aux_loss, sinkhorn, quantile_balancing, none; mirrors --moe-router-load-balancing-type; default "aux_loss".
    #[prost(message, optional, tag = "102")]
    pub moe_router_load_balancing_type: ::core::option::Option<StringList>,
    /// Convergence knob; mirrors --moe-aux-loss-coeff; default 0.0.
    #[prost(message, optional, tag = "103")]
    pub moe_aux_loss_coeff: ::core::option::Option<DoubleList>,
    /// Convergence knob; mirrors --moe-z-loss-coeff.
    #[prost(double, optional, tag = "104")]
    pub moe_z_loss_coeff: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --moe-router-enable-expert-bias; default false.
    #[prost(bool, optional, tag = "105")]
    pub moe_router_enable_expert_bias: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --moe-router-bias-update-rate; default 0.001.
    #[prost(double, optional, tag = "106")]
    pub moe_router_bias_update_rate: ::core::option::Option<f64>,
    /// Benchmark only knob; mirrors --moe-router-force-load-balancing; default false.
    #[prost(bool, optional, tag = "107")]
    pub moe_router_force_load_balancing: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-router-padding-for-quantization; default false.
    #[prost(bool, optional, tag = "108")]
    pub moe_router_padding_for_quantization: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-router-padding-for-fp8; default false.
    #[prost(bool, optional, tag = "109")]
    pub moe_router_padding_for_fp8: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --moe-expert-capacity-factor.
    #[prost(double, optional, tag = "110")]
    pub moe_expert_capacity_factor: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --moe-pad-expert-input-to-capacity; default false.
    #[prost(bool, optional, tag = "111")]
    pub moe_pad_expert_input_to_capacity: ::core::option::Option<bool>,
    /// Convergence knob; one of probs, position; mirrors --moe-token-drop-policy; default "probs".
    #[prost(string, optional, tag = "112")]
    pub moe_token_drop_policy: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --moe-permute-fusion; default false.
    #[prost(bool, optional, tag = "113")]
    pub moe_permute_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-router-fusion; default false.
    #[prost(bool, optional, tag = "114")]
    pub moe_router_fusion: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --moe-input-jitter-eps.
    #[prost(double, optional, tag = "115")]
    pub moe_input_jitter_eps: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --moe-latent-size.
    #[prost(int64, optional, tag = "116")]
    pub moe_latent_size: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --moe-paged-stash; default false.
    #[prost(bool, optional, tag = "117")]
    pub moe_paged_stash: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --moe-use-upcycling.
    #[prost(bool, optional, tag = "118")]
    pub moe_use_upcycling: ::core::option::Option<bool>,
    /// Execution knob; one of allgather, alltoall, flex; mirrors --moe-token-dispatcher-type; default "allgather".
    #[prost(string, optional, tag = "119")]
    pub moe_token_dispatcher_type: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; one of deepep, hybridep, ncclep; mirrors --moe-flex-dispatcher-backend; default "deepep".
    #[prost(string, optional, tag = "120")]
    pub moe_flex_dispatcher_backend: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --moe-enable-deepep; default false.
    #[prost(bool, optional, tag = "121")]
    pub moe_enable_deepep: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-deepep-num-sms.
    #[prost(int64, optional, tag = "122")]
    pub moe_deepep_num_sms: ::core::option::Option<i64>,
    /// Execution knob; mirrors --moe-hybridep-num-sms.
    #[prost(int64, optional, tag = "123")]
    pub moe_hybridep_num_sms: ::core::option::Option<i64>,
    /// Execution knob; mirrors --moe-flex-dispatcher-num-sms.
    #[prost(int64, optional, tag = "124")]
    pub moe_flex_dispatcher_num_sms: ::core::option::Option<i64>,
    /// Execution knob; mirrors --moe-hybridep-num-sms-preprocessing; default 108.
    #[prost(int64, optional, tag = "125")]
    pub moe_hybridep_num_sms_preprocessing: ::core::option::Option<i64>,
    /// Execution knob; mirrors --moe-permute-fusion-into-hybridep; default false.
    #[prost(bool, optional, tag = "126")]
    pub moe_permute_fusion_into_hybridep: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-hybridep-pad-uneven-dispatch-inputs; default false.
    #[prost(bool, optional, tag = "127")]
    pub moe_hybridep_pad_uneven_dispatch_inputs: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-ncclep-zero-copy; default false.
    #[prost(bool, optional, tag = "128")]
    pub moe_ncclep_zero_copy: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-moe-expert-parallel-comm; default false.
    #[prost(bool, optional, tag = "129")]
    pub overlap_moe_expert_parallel_comm: ::core::option::Option<bool>,
    /// Execution knob; mirrors --delay-wgrad-compute; default false.
    #[prost(bool, optional, tag = "130")]
    pub delay_wgrad_compute: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-shared-expert-overlap; default false.
    #[prost(bool, optional, tag = "131")]
    pub moe_shared_expert_overlap: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-dispatch-backward-with-experts-wgrad; default false.
    #[prost(bool, optional, tag = "132")]
    pub overlap_dispatch_backward_with_experts_wgrad: ::core::option::Option<bool>,
    /// Execution knob; mirrors --ep-overlap-early-attn-memory-release; default false.
    #[prost(bool, optional, tag = "133")]
    pub ep_overlap_early_attn_memory_release: ::core::option::Option<bool>,
    /// Execution knob; mirrors --tp-comm-overlap; default false.
    #[prost(bool, optional, tag = "134")]
    pub tp_comm_overlap: ::core::option::Option<bool>,
    /// Execution knob; mirrors --tp-comm-overlap-cfg.
    #[prost(string, optional, tag = "135")]
    pub tp_comm_overlap_cfg: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; one of nccl, mpi, gloo; mirrors --tp-comm-bootstrap-backend; default "nccl".
    #[prost(string, optional, tag = "136")]
    pub tp_comm_bootstrap_backend: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --disable-tp-comm-bulk-dgrad; default true.
    #[prost(bool, optional, tag = "137")]
    pub tp_comm_bulk_dgrad: ::core::option::Option<bool>,
    /// Execution knob; mirrors --disable-tp-comm-bulk-wgrad; default true.
    #[prost(bool, optional, tag = "138")]
    pub tp_comm_bulk_wgrad: ::core::option::Option<bool>,
    /// Execution knob; mirrors --disable-tp-comm-overlap-ag; default true.
    #[prost(bool, optional, tag = "139")]
    pub tp_comm_overlap_ag: ::core::option::Option<bool>,
    /// Execution knob; mirrors --disable-tp-comm-overlap-rs; default true.
    #[prost(bool, optional, tag = "140")]
    pub tp_comm_overlap_rs: ::core::option::Option<bool>,
    /// Execution knob; mirrors --tp-comm-overlap-rs-dgrad; default false.
    #[prost(bool, optional, tag = "141")]
    pub tp_comm_overlap_rs_dgrad: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-overlap-p2p-communication; default false.
    #[prost(bool, optional, tag = "142")]
    pub overlap_p2p_comm: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-p2p-communication-warmup-flush; default false.
    #[prost(bool, optional, tag = "143")]
    pub overlap_p2p_comm_warmup_flush: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-grad-reduce; default false.
    #[prost(bool, optional, tag = "144")]
    pub overlap_grad_reduce: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-param-gather; default false.
    #[prost(bool, optional, tag = "145")]
    pub overlap_param_gather: ::core::option::Option<bool>,
    /// Execution knob; mirrors --overlap-param-gather-with-optimizer-step; default false.
    #[prost(bool, optional, tag = "146")]
    pub overlap_param_gather_with_optimizer_step: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-align-param-gather; default false.
    #[prost(bool, optional, tag = "147")]
    pub align_param_gather: ::core::option::Option<bool>,
    /// Execution knob; mirrors --defer-embedding-wgrad-compute; default false.
    #[prost(bool, optional, tag = "148")]
    pub defer_embedding_wgrad_compute: ::core::option::Option<bool>,
    /// Execution knob; mirrors --wgrad-deferral-limit; default 0.
    #[prost(int64, optional, tag = "149")]
    pub wgrad_deferral_limit: ::core::option::Option<i64>,
    /// Execution knob; one of full, selective; mirrors --recompute-granularity.
    #[prost(string, optional, tag = "150")]
    pub recompute_granularity: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; one of uniform, block; mirrors --recompute-method.
    #[prost(string, optional, tag = "151")]
    pub recompute_method: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --recompute-num-layers.
    #[prost(int64, optional, tag = "152")]
    pub recompute_num_layers: ::core::option::Option<i64>,
    /// Execution knob; mirrors --recompute-modules.
    #[prost(message, optional, tag = "153")]
    pub recompute_modules: ::core::option::Option<StringList>,
    /// Execution knob; mirrors --recompute-activations.
    #[prost(bool, optional, tag = "154")]
    pub recompute_activations: ::core::option::Option<bool>,
    /// Execution knob; mirrors --distribute-saved-activations; default false.
    #[prost(bool, optional, tag = "155")]
    pub distribute_saved_activations: ::core::option::Option<bool>,
    /// Execution knob; mirrors --moe-layer-recompute; default false.
    #[prost(bool, optional, tag = "156")]
    pub moe_layer_recompute: ::core::option::Option<bool>,
    /// Execution knob; mirrors --fine-grained-activation-offloading; default false.
    #[prost(bool, optional, tag = "157")]
    pub fine_grained_activation_offloading: ::core::option::Option<bool>,
    /// Execution knob; mirrors --offload-modules; default [].
    #[prost(message, optional, tag = "158")]
    pub offload_modules: ::core::option::Option<StringList>,
    /// Execution knob; mirrors --min-offloaded-tensor-size; default 1048576.
    #[prost(int64, optional, tag = "159")]
    pub min_offloaded_tensor_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --activation-offload-fraction; default 1.0.
    #[prost(double, optional, tag = "160")]
    pub activation_offload_fraction: ::core::option::Option<f64>,
    /// Execution knob; mirrors --delay-offload-until-cuda-graph; default false.
    #[prost(bool, optional, tag = "161")]
    pub delay_offload_until_cuda_graph: ::core::option::Option<bool>,
    /// Execution knob; mirrors --cpu-offloading-num-layers; default 0.
    #[prost(int64, optional, tag = "162")]
    pub cpu_offloading_num_layers: ::core::option::Option<i64>,
    /// Execution knob; mirrors --optimizer-cpu-offload; default false.
    #[prost(bool, optional, tag = "163")]
    pub optimizer_cpu_offload: ::core::option::Option<bool>,
    /// Execution knob; mirrors --optimizer-offload-fraction; default 0.0.
    #[prost(double, optional, tag = "164")]
    pub optimizer_offload_fraction: ::core::option::Option<f64>,
    /// Execution knob; mirrors --overlap-cpu-optimizer-d2h-h2d; default false.
    #[prost(bool, optional, tag = "165")]
    pub overlap_cpu_optimizer_d2h_h2d: ::core::option::Option<bool>,
    /// Execution knob; mirrors --use-torch-optimizer-for-cpu-offload; default false.
    #[prost(bool, optional, tag = "166")]
    pub use_torch_optimizer_for_cpu_offload: ::core::option::Option<bool>,
    /// Execution knob; one of none, local, transformer_engine, full_iteration; mirrors --cuda-graph-impl; default "none".
    #[prost(string, optional, tag = "167")]
    pub cuda_graph_impl: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --cuda-graph-modules; default "full".
    #[prost(message, optional, tag = "168")]
    pub cuda_graph_modules: ::core::option::Option<StringList>,
    /// Execution knob; mirrors --cuda-graph-warmup-steps; default 3.
    #[prost(int64, optional, tag = "169")]
    pub cuda_graph_warmup_steps: ::core::option::Option<i64>,
    /// Execution knob; one of none, layer, block; mirrors --inference-cuda-graph-scope.
    #[prost(string, optional, tag = "170")]
    pub inference_cuda_graph_scope: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --cuda-graph-scope.
    #[prost(message, optional, tag = "171")]
    pub cuda_graph_scope_deprecated: ::core::option::Option<StringList>,
    /// Execution knob; mirrors --te-rng-tracker; default false.
    #[prost(bool, optional, tag = "172")]
    pub te_rng_tracker: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-check-for-nan-in-loss-and-grad.
    #[prost(bool, optional, tag = "173")]
    pub check_for_nan_in_loss_and_grad: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --bf16; default false.
    #[prost(bool, optional, tag = "174")]
    pub bf16: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --fp16; default false.
    #[prost(bool, optional, tag = "175")]
    pub fp16: ::core::option::Option<bool>,
    /// Convergence knob; one of e4m3, hybrid; mirrors --fp8-format.
    #[prost(string, optional, tag = "176")]
    pub fp8: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of tensorwise, delayed, mxfp8, blockwise, custom; mirrors --fp8-recipe; default "delayed".
    #[prost(string, optional, tag = "177")]
    pub fp8_recipe: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of e2m1; mirrors --fp4-format.
    #[prost(string, optional, tag = "178")]
    pub fp4: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of nvfp4, custom; mirrors --fp4-recipe; default "nvfp4".
    #[prost(string, optional, tag = "179")]
    pub fp4_recipe: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --fp8-param-gather; default false.
    #[prost(bool, optional, tag = "180")]
    pub fp8_param_gather: ::core::option::Option<bool>,
    /// Execution knob; mirrors --reuse-grad-buf-for-mxfp8-param-ag; default false.
    #[prost(bool, optional, tag = "181")]
    pub reuse_grad_buf_for_mxfp8_param_ag: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --first-last-layers-bf16; default false.
    #[prost(bool, optional, tag = "182")]
    pub first_last_layers_bf16: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --num-layers-at-start-in-bf16; default 1.
    #[prost(int64, optional, tag = "183")]
    pub num_layers_at_start_in_bf16: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --num-layers-at-end-in-bf16; default 1.
    #[prost(int64, optional, tag = "184")]
    pub num_layers_at_end_in_bf16: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --grad-reduce-in-bf16.
    #[prost(bool, optional, tag = "185")]
    pub grad_reduce_in_bf16: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --fp8-amax-history-len; default 1.
    #[prost(int64, optional, tag = "186")]
    pub fp8_amax_history_len: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --fp8-margin; default 0.
    #[prost(int64, optional, tag = "187")]
    pub fp8_margin: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --disable-fp8-wgrad; default true.
    #[prost(bool, optional, tag = "188")]
    pub fp8_wgrad: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --fp4-param-gather; default false.
    #[prost(bool, optional, tag = "189")]
    pub fp4_param_gather: ::core::option::Option<bool>,
    /// Convergence knob; mirrors --accumulate-allreduce-grads-in-fp32.
    #[prost(bool, optional, tag = "190")]
    pub accumulate_allreduce_grads_in_fp32: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-gradient-accumulation-fusion; default false.
    #[prost(bool, optional, tag = "191")]
    pub gradient_accumulation_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-masked-softmax-fusion; default false.
    #[prost(bool, optional, tag = "192")]
    pub masked_softmax_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-bias-dropout-fusion; default false.
    #[prost(bool, optional, tag = "193")]
    pub bias_dropout_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-rope-fusion; default false.
    #[prost(bool, optional, tag = "194")]
    pub apply_rope_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --cross-entropy-loss-fusion; default false.
    #[prost(bool, optional, tag = "195")]
    pub cross_entropy_loss_fusion: ::core::option::Option<bool>,
    /// Execution knob; one of native, te; mirrors --cross-entropy-fusion-impl; default "native".
    #[prost(string, optional, tag = "196")]
    pub cross_entropy_fusion_impl: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --no-bias-swiglu-fusion.
    #[prost(bool, optional, tag = "197")]
    pub bias_swiglu_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-bias-gelu-fusion.
    #[prost(bool, optional, tag = "198")]
    pub bias_gelu_fusion: ::core::option::Option<bool>,
    /// Execution knob; mirrors --no-persist-layer-norm.
    #[prost(bool, optional, tag = "199")]
    pub no_persist_layer_norm: ::core::option::Option<bool>,
    /// Convergence knob; one of adam, sgd, muon, dist_muon, lion, soap, adaptive_muon; mirrors --optimizer; default "adam".
    #[prost(string, optional, tag = "200")]
    pub optimizer: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --lr.
    #[prost(double, optional, tag = "201")]
    pub lr: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --min-lr.
    #[prost(double, optional, tag = "202")]
    pub min_lr: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --weight-decay; default 0.01.
    #[prost(double, optional, tag = "203")]
    pub weight_decay: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --adam-beta1; default 0.9.
    #[prost(double, optional, tag = "204")]
    pub adam_beta1: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --adam-beta2; default 0.999.
    #[prost(double, optional, tag = "205")]
    pub adam_beta2: ::core::option::Option<f64>,
    /// Convergence knob; mirrors --clip-grad; default 1.0.
    #[prost(double, optional, tag = "206")]
    pub clip_grad: ::core::option::Option<f64>,
    /// Execution knob; mirrors --use-precision-aware-optimizer; default false.
    #[prost(bool, optional, tag = "207")]
    pub use_precision_aware_optimizer: ::core::option::Option<bool>,
    /// Convergence knob; one of fp32, bf16; mirrors --main-grads-dtype; default "fp32".
    #[prost(string, optional, tag = "208")]
    pub main_grads_dtype: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of fp32, fp16; mirrors --main-params-dtype; default "fp32".
    #[prost(string, optional, tag = "209")]
    pub main_params_dtype: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of fp32, fp16, bf16, fp8; mirrors --exp-avg-dtype; default "fp32".
    #[prost(string, optional, tag = "210")]
    pub exp_avg_dtype: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; one of fp32, fp16, bf16, fp8; mirrors --exp-avg-sq-dtype; default "fp32".
    #[prost(string, optional, tag = "211")]
    pub exp_avg_sq_dtype: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --use-distributed-optimizer; default false.
    #[prost(bool, optional, tag = "212")]
    pub use_distributed_optimizer: ::core::option::Option<bool>,
    /// Convergence knob; one of constant, linear, cosine, inverse-square-root, WSD; mirrors --lr-decay-style; default "linear".
    #[prost(string, optional, tag = "213")]
    pub lr_decay_style: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob; mirrors --lr-decay-iters.
    #[prost(int64, optional, tag = "214")]
    pub lr_decay_iters: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --lr-warmup-iters; default 0.
    #[prost(int64, optional, tag = "215")]
    pub lr_warmup_iters: ::core::option::Option<i64>,
    /// Convergence knob; mirrors --lr-warmup-fraction.
    #[prost(double, optional, tag = "216")]
    pub lr_warmup_fraction: ::core::option::Option<f64>,
    /// Execution knob; mirrors --num-distributed-optimizer-instances; default 1.
    #[prost(int64, optional, tag = "217")]
    pub num_distributed_optimizer_instances: ::core::option::Option<i64>,
    /// Execution knob; one of no_shard, optim, optim_grads, optim_grads_params; mirrors --data-parallel-sharding-strategy; default "no_shard".
    #[prost(string, optional, tag = "218")]
    pub data_parallel_sharding_strategy: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob; mirrors --use-megatron-fsdp; default false.
    #[prost(bool, optional, tag = "219")]
    pub use_megatron_fsdp: ::core::option::Option<bool>,
    /// Execution knob; mirrors --ddp-average-in-collective.
    #[prost(bool, optional, tag = "220")]
    pub ddp_average_in_collective: ::core::option::Option<bool>,
    /// Execution knob; mirrors --ddp-bucket-size.
    #[prost(int64, optional, tag = "221")]
    pub ddp_bucket_size: ::core::option::Option<i64>,
    /// Execution knob; mirrors --ddp-num-buckets.
    #[prost(int64, optional, tag = "222")]
    pub ddp_num_buckets: ::core::option::Option<i64>,
    /// Execution knob; mirrors --ddp-pad-buckets-for-high-nccl-busbw.
    #[prost(bool, optional, tag = "223")]
    pub ddp_pad_buckets_for_high_nccl_busbw: ::core::option::Option<bool>,
    /// Execution knob; mirrors --use-nccl-ub; default false.
    #[prost(bool, optional, tag = "224")]
    pub nccl_ub: ::core::option::Option<bool>,
    /// Execution knob; mirrors --use-torch-fsdp2; default false.
    #[prost(bool, optional, tag = "225")]
    pub use_torch_fsdp2: ::core::option::Option<bool>,
    /// Execution knob; mirrors --init-model-with-meta-device; default false.
    #[prost(bool, optional, tag = "226")]
    pub init_model_with_meta_device: ::core::option::Option<bool>,
    /// Execution knob; one of torch, torch_dist, torch_dcp, fsdp_dtensor; mirrors --ckpt-format; default "torch_dist".
    #[prost(string, optional, tag = "227")]
    pub ckpt_format: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --save.
    #[prost(string, optional, tag = "228")]
    pub save: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --load.
    #[prost(string, optional, tag = "229")]
    pub load: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob; mirrors --save-interval.
    #[prost(int64, optional, tag = "230")]
    pub save_interval: ::core::option::Option<i64>,
    /// Execution knob; mirrors --async-save; default false.
    #[prost(bool, optional, tag = "231")]
    pub async_save: ::core::option::Option<bool>,
    /// Execution knob; mirrors --deterministic-mode; default false.
    #[prost(bool, optional, tag = "232")]
    pub deterministic_mode: ::core::option::Option<bool>,
    /// Execution knob; mirrors --fake-process-group.
    #[prost(bool, optional, tag = "233")]
    pub fake_process_group: ::core::option::Option<bool>,
    /// Execution knob.
    #[prost(message, optional, tag = "234")]
    pub offload_tensors: ::core::option::Option<StringList>,
    /// Execution knob.
    #[prost(bool, optional, tag = "235")]
    pub bindpcie: ::core::option::Option<bool>,
    /// Execution knob.
    #[prost(int64, optional, tag = "236")]
    pub context_parallel_ulysses_degree: ::core::option::Option<i64>,
    /// Execution knob.
    #[prost(string, optional, tag = "237")]
    pub custom_pipeline_layers: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob.
    #[prost(string, optional, tag = "238")]
    pub custom_virtual_pipeline_layers: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob.
    #[prost(string, optional, tag = "239")]
    pub custom_pipeline_recompute_layers: ::core::option::Option<
        ::prost::alloc::string::String,
    >,
    /// Execution knob.
    #[prost(bool, optional, tag = "240")]
    pub enable_fa_within_mla: ::core::option::Option<bool>,
    /// Execution knob.
    #[prost(string, optional, tag = "241")]
    pub launch_hardware_target: ::core::option::Option<::prost::alloc::string::String>,
    /// Execution knob.
    #[prost(int64, optional, tag = "242")]
    pub launch_num_gpus: ::core::option::Option<i64>,
    /// Execution knob.
    #[prost(string, optional, tag = "243")]
    pub launch_recipe: ::core::option::Option<::prost::alloc::string::String>,
    /// Convergence knob.
    #[prost(string, optional, tag = "244")]
    pub launch_compute_dtype: ::core::option::Option<::prost::alloc::string::String>,
}
/// A list of integers.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IntList {
    /// In order.
    #[prost(int64, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<i64>,
}
/// A list of real numbers.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DoubleList {
    /// In order.
    #[prost(double, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<f64>,
}
/// A list of texts.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct StringList {
    /// In order.
    #[prost(string, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// What a probe measured on one GPU.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct HardwareProfile {
    /// Stable name.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// GPU type, as the driver names it.
    #[prost(string, tag = "2")]
    pub device_name: ::prost::alloc::string::String,
    /// GPU UUID.
    #[prost(string, tag = "3")]
    pub device_uuid: ::prost::alloc::string::String,
    /// Driver version.
    #[prost(string, tag = "4")]
    pub driver_version: ::prost::alloc::string::String,
    /// Version of the probe's code.
    #[prost(string, tag = "5")]
    pub probe_version: ::prost::alloc::string::String,
    /// When.
    #[prost(message, optional, tag = "6")]
    pub measure_time: ::core::option::Option<::prost_types::Timestamp>,
    /// Not everything was measured; `notes` says why.
    #[prost(bool, tag = "7")]
    pub partial: bool,
    /// The rows.
    #[prost(message, repeated, tag = "8")]
    pub rows: ::prost::alloc::vec::Vec<ProbeRow>,
    /// CUDA runtime the probe was built with: "13.0".
    #[prost(string, tag = "9")]
    pub cuda_version: ::prost::alloc::string::String,
    /// GPU system of the catalogue that `device_name` was recognised as; empty: none.
    #[prost(string, tag = "10")]
    pub gpu: ::prost::alloc::string::String,
    /// Streaming multiprocessors.
    #[prost(int32, tag = "11")]
    pub sm_count: i32,
    /// Memory of the device.
    #[prost(int64, tag = "12")]
    pub memory_bytes: i64,
    /// The device's state around the measurements.
    #[prost(message, optional, tag = "13")]
    pub conditions: ::core::option::Option<ProbeConditions>,
    /// "measured", or "synthetic" when a fake device replayed it; a synthetic profile is never evidence.
    #[prost(string, tag = "14")]
    pub kind: ::prost::alloc::string::String,
    /// What was refused, dropped or emulated, one sentence each.
    #[prost(string, repeated, tag = "15")]
    pub notes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// How long the whole run took.
    #[prost(int64, tag = "16")]
    pub duration_us: i64,
}
/// The state of a device while it was measured, from its management library.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ProbeConditions {
    /// Median SM clock under load, MHz.
    #[prost(int32, tag = "1")]
    pub sm_clock_mhz: i32,
    /// Memory clock, MHz.
    #[prost(int32, tag = "2")]
    pub memory_clock_mhz: i32,
    /// Highest power draw seen, watts.
    #[prost(double, tag = "3")]
    pub power_watts: f64,
    /// Power limit in force, watts.
    #[prost(double, tag = "4")]
    pub power_limit_watts: f64,
    /// Highest temperature seen, degrees Celsius.
    #[prost(int32, tag = "5")]
    pub temperature_celsius: i32,
    /// Reasons for reduced clocks that were seen: "sw_power_cap", "hw_thermal_slowdown".
    #[prost(string, repeated, tag = "6")]
    pub throttle_reasons: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Samples dropped because of throttling or of other processes on the device.
    #[prost(int32, tag = "7")]
    pub dropped_sample_count: i32,
}
/// One measured figure.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ProbeRow {
    /// Row id: "ceilings.copy".
    #[prost(string, tag = "1")]
    pub id: ::prost::alloc::string::String,
    /// Shape and other parameters. Each -1e18..1e18.
    #[prost(map = "string, double", tag = "2")]
    pub parameters: ::std::collections::HashMap<::prost::alloc::string::String, f64>,
    /// Median. Like low and high 0, or in the unit's range: us 1e-6..1e12, bytes_per_second 1..1e15, flops_per_second
    /// 1..1e18, ratio 1e-9..1e9.
    #[prost(double, tag = "3")]
    pub value: f64,
    /// Lower end of the interval of the median.
    #[prost(double, tag = "4")]
    pub low: f64,
    /// Upper end.
    #[prost(double, tag = "5")]
    pub high: f64,
    /// "us", "bytes_per_second", "flops_per_second", "ratio".
    #[prost(string, tag = "6")]
    pub unit: ::prost::alloc::string::String,
    /// Samples kept.
    #[prost(int32, tag = "7")]
    pub sample_count: i32,
    /// "measured"; "imported": measured between real peers by another program; "emulated": a link that is not there was
    /// stood in for; "synthetic": replayed.
    #[prost(string, tag = "8")]
    pub kind: ::prost::alloc::string::String,
    /// Parameters that are words: {"precision": "bf16", "pass": "backward"}.
    #[prost(map = "string, string", tag = "9")]
    pub labels: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// The output was compared to a reference and agreed.
    #[prost(bool, tag = "10")]
    pub checked: bool,
}
/// What to measure.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RunProbeRequest {
    /// Device index; unset: the first free one.
    #[prost(int32, optional, tag = "1")]
    pub device_index: ::core::option::Option<i32>,
    /// Groups: "ceilings", "dispatch", "experts", "exchange", "overlap", "launch", "memory"; empty: all.
    #[prost(string, repeated, tag = "2")]
    pub groups: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Time after which no new row is started. Range 1 s..30 s; unset: 20 s.
    #[prost(message, optional, tag = "3")]
    pub budget: ::core::option::Option<::prost_types::Duration>,
    /// Measure the MoE layer of this model; unset: Qwen3-30B-A3B's. INVALID_ARGUMENT: it has no experts, or kernels are not
    /// built for a size of it.
    #[prost(message, optional, tag = "4")]
    pub model: ::core::option::Option<ModelRef>,
    /// What one rank has of that layer. TP, CP, EP, ETP and the micro batch are read; EP unset: 8, or the largest number
    /// below that shares the experts out evenly. Needs `model`.
    #[prost(message, optional, tag = "5")]
    pub layout: ::core::option::Option<Layout>,
    /// Tokens per sample. Range 1..16777216; unset: 4096. Needs `model`.
    #[prost(int64, optional, tag = "6")]
    pub seq_length: ::core::option::Option<i64>,
    /// Memory of the GPU that is held, and no more than a quarter of what is free. Range 512 MiB..64 GiB; unset: 2 GiB, with
    /// which rows of a large layer are left out.
    #[prost(int64, optional, tag = "7")]
    pub memory_limit_bytes: ::core::option::Option<i64>,
    /// GPUs of one type that are measured together: exchanges between them, compute on all of them beside, and of the first
    /// what one GPU tells. 2 to 16 different indices; empty: one device alone. Not beside `device_index` or `all_devices`.
    #[prost(int32, repeated, tag = "8")]
    pub device_indices: ::prost::alloc::vec::Vec<i32>,
    /// The same, all devices of the node. Not beside `device_index`.
    #[prost(bool, tag = "9")]
    pub all_devices: bool,
}
/// A message of the probe stream.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RunProbeResponse {
    /// Progress while it runs, then exactly one profile.
    #[prost(oneof = "run_probe_response::Event", tags = "1, 2")]
    pub event: ::core::option::Option<run_probe_response::Event>,
}
/// Nested message and enum types in `RunProbeResponse`.
pub mod run_probe_response {
    /// Progress while it runs, then exactly one profile.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Event {
        /// How far it is.
        #[prost(message, tag = "1")]
        Progress(super::ProbeProgress),
        /// The result.
        #[prost(message, tag = "2")]
        Profile(super::HardwareProfile),
    }
}
/// How far a probe is.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ProbeProgress {
    /// Share done, 0..1.
    #[prost(double, tag = "1")]
    pub done_ratio: f64,
    /// What is being measured.
    #[prost(string, tag = "2")]
    pub current_row: ::prost::alloc::string::String,
}
/// Which profile.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetProfileRequest {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
}
/// A page of profiles.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListProfilesRequest {
    /// Entries per page; 0 means 100, more than 1,000 means 1,000.
    #[prost(int32, tag = "1")]
    pub page_size: i32,
    /// From the answer before.
    #[prost(string, tag = "2")]
    pub page_token: ::prost::alloc::string::String,
}
/// A page of profiles.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListProfilesResponse {
    /// The profiles.
    #[prost(message, repeated, tag = "1")]
    pub profiles: ::prost::alloc::vec::Vec<HardwareProfile>,
    /// Empty: no more.
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
/// A profile measured elsewhere.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ImportProfileRequest {
    /// The profile.
    #[prost(message, optional, tag = "1")]
    pub profile: ::core::option::Option<HardwareProfile>,
}
/// Generated client implementations.
pub mod probe_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Measures the attached GPUs. FAILED_PRECONDITION: no GPU, or it is busy or not ours. UNAVAILABLE: a probe is running.
    #[derive(Debug, Clone)]
    pub struct ProbeServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl ProbeServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> ProbeServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> ProbeServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            ProbeServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Runs the probe; streams progress, then the profile. Cancelling stops it within a second.
        pub async fn run_probe(
            &mut self,
            request: impl tonic::IntoRequest<super::RunProbeRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::RunProbeResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ProbeService/RunProbe",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.ProbeService", "RunProbe"));
            self.inner.server_streaming(req, path, codec).await
        }
        /// One stored profile. NOT_FOUND: no such name.
        pub async fn get_profile(
            &mut self,
            request: impl tonic::IntoRequest<super::GetProfileRequest>,
        ) -> std::result::Result<
            tonic::Response<super::HardwareProfile>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ProbeService/GetProfile",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.ProbeService", "GetProfile"));
            self.inner.unary(req, path, codec).await
        }
        /// Stored profiles, newest first.
        pub async fn list_profiles(
            &mut self,
            request: impl tonic::IntoRequest<super::ListProfilesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListProfilesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ProbeService/ListProfiles",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.ProbeService", "ListProfiles"));
            self.inner.unary(req, path, codec).await
        }
        /// Stores a profile that another machine measured; the same profile again is fine. Answers with it as stored.
        /// INVALID_ARGUMENT: not a whole profile, or a synthetic one. ALREADY_EXISTS: the name is taken by another content.
        pub async fn import_profile(
            &mut self,
            request: impl tonic::IntoRequest<super::ImportProfileRequest>,
        ) -> std::result::Result<
            tonic::Response<super::HardwareProfile>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ProbeService/ImportProfile",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.ProbeService", "ImportProfile"));
            self.inner.unary(req, path, codec).await
        }
    }
}
/// The question: everything a decision turns on.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResolveConfigRequest {
    /// The model. Required.
    #[prost(message, optional, tag = "1")]
    pub model: ::core::option::Option<ModelRef>,
    /// The GPUs. Required.
    #[prost(message, optional, tag = "2")]
    pub hardware: ::core::option::Option<Hardware>,
    /// Sequence, batches, precision, objective. Required.
    #[prost(message, optional, tag = "3")]
    pub workload: ::core::option::Option<Workload>,
    /// The framework. Required.
    #[prost(message, optional, tag = "4")]
    pub target: ::core::option::Option<TargetStack>,
    /// What is installed. Unset: unknown.
    #[prost(message, optional, tag = "5")]
    pub software: ::core::option::Option<SoftwareStack>,
    /// How far the run has come.
    #[prost(enumeration = "Stage", tag = "6")]
    pub stage: i32,
    /// The layout. Where it is open it is searched, as PlanLayouts does, and a finding says so.
    #[prost(message, optional, tag = "7")]
    pub layout: ::core::option::Option<Layout>,
    /// Knobs the caller insists on, typed. Never changed: an illegal one makes the plan infeasible, with fixes.
    #[prost(message, optional, tag = "8")]
    pub knobs: ::core::option::Option<Knobs>,
    /// The same by name, for knobs outside Knobs; at most 4,096. A knob given both ways with different values is refused,
    /// and so is one that says something else than `layout`. It goes over `workload`, and None over both.
    #[prost(message, repeated, tag = "9")]
    pub pinned_knobs: ::prost::alloc::vec::Vec<KnobSetting>,
    /// Environment variables the launch will carry, at most 1,024.
    #[prost(map = "string, string", tag = "10")]
    pub env: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// What a profile showed; moves the plan to its next step.
    #[prost(message, optional, tag = "11")]
    pub profile: ::core::option::Option<MeasuredProfile>,
    /// Extra renderings beside the target's own: "megatron-lm", "megatron-bridge", "megatron-bridge-perf", "loongforge",
    /// "yaml", "json"; "megatron-lm-one-gpu": the first rank of the job on one GPU with fake process groups, for its memory.
    #[prost(string, repeated, tag = "12")]
    pub dialects: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// What the probe measured on these GPUs; unset: the profiles that the service has stored.
    #[prost(message, optional, tag = "13")]
    pub probe_profile: ::core::option::Option<HardwareProfile>,
    /// How much of the answer to send. Unset: all of it.
    #[prost(enumeration = "AnswerView", tag = "14")]
    pub view: i32,
}
/// The answer.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResolveConfigResponse {
    /// Whether a plan exists.
    #[prost(enumeration = "Outcome", tag = "1")]
    pub outcome: i32,
    /// The stack's configuration code accepts it.
    #[prost(bool, tag = "2")]
    pub accepted_by_stack: bool,
    /// Nothing known makes it fail later.
    #[prost(bool, tag = "3")]
    pub will_run: bool,
    /// Every knob of the target that is written or that the stack sets, with its final value.
    #[prost(message, repeated, tag = "4")]
    pub config: ::prost::alloc::vec::Vec<ConfigEntry>,
    /// Why each decided knob has its value.
    #[prost(message, repeated, tag = "5")]
    pub decisions: ::prost::alloc::vec::Vec<Decision>,
    /// Everything found, sorted by severity, field, id.
    #[prost(message, repeated, tag = "6")]
    pub findings: ::prost::alloc::vec::Vec<Finding>,
    /// What the stack will silently change.
    #[prost(message, repeated, tag = "7")]
    pub effective_changes: ::prost::alloc::vec::Vec<EffectiveChange>,
    /// Memory and time.
    #[prost(message, optional, tag = "8")]
    pub estimate: ::core::option::Option<Estimate>,
    /// Command lines and files. The first is the target's own. Of an INFEASIBLE plan they are there, too, and would fail.
    #[prost(message, repeated, tag = "9")]
    pub launches: ::prost::alloc::vec::Vec<Launch>,
    /// A/B runs that would settle what the evidence does not.
    #[prost(message, repeated, tag = "10")]
    pub ab_suggestions: ::prost::alloc::vec::Vec<AbSuggestion>,
    /// The model as understood.
    #[prost(message, optional, tag = "11")]
    pub model: ::core::option::Option<ModelSpec>,
    /// The layout as understood, with derived sizes.
    #[prost(message, optional, tag = "12")]
    pub layout: ::core::option::Option<ResolvedLayout>,
    /// "fp1-" and a digest of request (without its view), catalogue and evidence revision: same digest, same answer.
    #[prost(string, tag = "13")]
    pub digest: ::prost::alloc::string::String,
    /// Content revision of the catalogue.
    #[prost(string, tag = "14")]
    pub catalog_revision: ::prost::alloc::string::String,
    /// Revision of the evidence snapshot.
    #[prost(int64, tag = "15")]
    pub evidence_revision: i64,
    /// The framework version judged: "megatron-lm main".
    #[prost(string, tag = "16")]
    pub target: ::prost::alloc::string::String,
}
/// One knob of the final configuration.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ConfigEntry {
    /// Knob name.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Final value; unset: None.
    #[prost(message, optional, tag = "2")]
    pub value: ::core::option::Option<KnobValue>,
    /// Where it comes from.
    #[prost(enumeration = "ConfigOrigin", tag = "3")]
    pub origin: i32,
    /// The target's spelling: "--recompute-modules", "model.recompute_modules"; empty where it has none.
    #[prost(string, tag = "4")]
    pub spelling: ::prost::alloc::string::String,
    /// Why, one line: the decision's reason, the model, the caller, the upstream rule.
    #[prost(string, tag = "5")]
    pub reason: ::prost::alloc::string::String,
}
/// The layout with what follows from it.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ResolvedLayout {
    /// The sizes.
    #[prost(message, optional, tag = "1")]
    pub sizes: ::core::option::Option<Layout>,
    /// Data-parallel size of the dense part: GPUs / (TP*CP*PP).
    #[prost(int32, tag = "2")]
    pub data_parallel_size: i32,
    /// Data-parallel size of the experts: GPUs / (ETP*EP*PP).
    #[prost(int32, tag = "3")]
    pub expert_data_parallel_size: i32,
    /// Microbatches per step and data-parallel rank.
    #[prost(int64, tag = "4")]
    pub microbatch_count: i64,
    /// NVLink domains one expert-parallel group spans.
    #[prost(int32, tag = "5")]
    pub ep_domain_count: i32,
}
/// A rendered launch.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Launch {
    /// "megatron-lm", "megatron-bridge", "megatron-bridge-perf", "loongforge", "slime", "ms-swift", "verl", "yaml", "json".
    #[prost(string, tag = "1")]
    pub dialect: ::prost::alloc::string::String,
    /// Arguments, one element each; empty for a file dialect.
    #[prost(string, repeated, tag = "2")]
    pub argv: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Environment to export.
    #[prost(map = "string, string", tag = "3")]
    pub env: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// The whole command, or the file's text. What no plan says is a placeholder that stops a shell: ${LR:?...}.
    #[prost(string, tag = "4")]
    pub text: ::prost::alloc::string::String,
    /// What must still be added, in no more than these places; empty: it starts as it is.
    #[prost(message, repeated, tag = "5")]
    pub required_inputs: ::prost::alloc::vec::Vec<RequiredInput>,
}
/// What a launch needs and no plan says.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RequiredInput {
    /// "train_iters", "lr", "tokenizer", "data", "save", "node_rank", "master_addr", "recipe" ...
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// What it is, a phrase.
    #[prost(string, tag = "2")]
    pub what: ::prost::alloc::string::String,
    /// How it is spelled in the launch's dialect.
    #[prost(string, tag = "3")]
    pub spelling: ::prost::alloc::string::String,
    /// Words that would do.
    #[prost(string, tag = "4")]
    pub example: ::prost::alloc::string::String,
    /// What happens where it is left out; empty: the launch does not start.
    #[prost(string, tag = "5")]
    pub without: ::prost::alloc::string::String,
}
/// Two runs that differ in one knob.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct AbSuggestion {
    /// The knob.
    #[prost(string, tag = "1")]
    pub knob: ::prost::alloc::string::String,
    /// Its value in the plan; unset: None.
    #[prost(message, optional, tag = "2")]
    pub plan_value: ::core::option::Option<KnobValue>,
    /// Its value in the other run; unset: None.
    #[prost(message, optional, tag = "3")]
    pub other_value: ::core::option::Option<KnobValue>,
    /// Knobs that must change with it for the other run to be legal.
    #[prost(message, repeated, tag = "4")]
    pub companions: ::prost::alloc::vec::Vec<KnobSetting>,
    /// Why it is worth it, one sentence.
    #[prost(string, tag = "5")]
    pub reason: ::prost::alloc::string::String,
    /// Expected relative change of the step time of the other run; negative is faster.
    #[prost(message, optional, tag = "6")]
    pub expected_step_ratio: ::core::option::Option<Range>,
    /// The plan's launch in the dialect of `other_launch`; unset: the first of the answer's launches.
    #[prost(message, optional, tag = "7")]
    pub plan_launch: ::core::option::Option<Launch>,
    /// The other launch.
    #[prost(message, optional, tag = "8")]
    pub other_launch: ::core::option::Option<Launch>,
}
/// A finished configuration, in one spelling.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ValidateConfigRequest {
    /// The framework it is for. Without a `framework` a file is judged for the stack that its text shows: by the program
    /// that its launch runs, its flags or its keys; flags and YAML that show none are read as Megatron-LM's. A script that
    /// launches no training that is known is not judged (COMPLETENESS_NONE, the answer's `target` empty). Arguments and
    /// knobs show no stack: with them it is required.
    #[prost(message, optional, tag = "4")]
    pub target: ::core::option::Option<TargetStack>,
    /// The GPUs it will run on; unset: hardware rules are not judged and the answer says so.
    #[prost(message, optional, tag = "5")]
    pub hardware: ::core::option::Option<Hardware>,
    /// What is installed. Unset: unknown. Set, be it empty: the caller says what is installed and exported, and what they
    /// leave out is not there; what else would be a warning of a variable that is missing is an error then.
    #[prost(message, optional, tag = "6")]
    pub software: ::core::option::Option<SoftwareStack>,
    /// Environment variables of the launch.
    #[prost(map = "string, string", tag = "7")]
    pub env: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
    /// World size, where `hardware` does not count the GPUs; beside its gpu_count the same number. Unset: WORLD_SIZE of env.
    #[prost(int32, optional, tag = "8")]
    pub world_size: ::core::option::Option<i32>,
    /// How arguments or file are written: "argv" (flags of Megatron-LM, LoongForge, slime or ms-swift), "shell",
    /// "megatron-lm-yaml", "bridge-overrides", "bridge-recipe", "bridge-perf", "bridge-yaml", "loongforge-yaml",
    /// "verl-overrides". Empty: recognised from the target, the file's name and its first lines; the answer says as what.
    /// Of `knobs` it is refused.
    #[prost(string, tag = "9")]
    pub input_format: ::prost::alloc::string::String,
    /// Answer with a repair too.
    #[prost(bool, tag = "10")]
    pub repair: bool,
    /// The repair may apply fixes that change convergence. Without `repair`: refused.
    #[prost(bool, tag = "11")]
    pub repair_convergence: bool,
    /// How much of the answer to send. Unset: all of it.
    #[prost(enumeration = "AnswerView", tag = "12")]
    pub view: i32,
    /// Files that the launch reads beside what is judged, named by their paths as the launch or another file writes them: of
    /// LoongForge the model's file and what its `defaults` name. At most 64, and 1 MiB together. In place of one that is
    /// not here the facts that are built in are taken.
    #[prost(message, repeated, tag = "13")]
    pub model_files: ::prost::alloc::vec::Vec<TextFile>,
    /// Knobs that hold beside what arguments or the file say, and over it: what only the tokenizer, the recipe or the job
    /// knows. They are judged like the rest, and no repair writes them. At most 4,096; with `knobs` there is no text to
    /// stand beside: refused.
    #[prost(message, repeated, tag = "14")]
    pub stated_knobs: ::prost::alloc::vec::Vec<KnobSetting>,
    /// What the probe measured on these GPUs; unset: the profiles that the service has stored. Moves the step's forecast.
    /// FAILED_PRECONDITION (PROFILE_MISMATCH): of another GPU than `hardware` or the launch names.
    #[prost(message, optional, tag = "15")]
    pub probe_profile: ::core::option::Option<HardwareProfile>,
    /// The repair also makes room where memory is tight: the first fix of fit.memory-marginal, which costs step time.
    /// Without `repair`: refused.
    #[prost(bool, tag = "16")]
    pub repair_room: bool,
    /// Exactly one spelling. Unset: INVALID_ARGUMENT.
    #[prost(oneof = "validate_config_request::Config", tags = "1, 2, 3")]
    pub config: ::core::option::Option<validate_config_request::Config>,
}
/// Nested message and enum types in `ValidateConfigRequest`.
pub mod validate_config_request {
    /// Exactly one spelling. Unset: INVALID_ARGUMENT.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Config {
        /// Megatron-LM or LoongForge arguments, or Bridge overrides, after the script name.
        #[prost(message, tag = "1")]
        Arguments(super::ArgumentList),
        /// A launch script or a file: shell, YAML, or one argument a line. At most 1 MiB; a server's --max_request_bytes
        /// (1 MiB by default) counts the request as a whole.
        #[prost(message, tag = "2")]
        File(super::TextFile),
        /// Typed and named knobs.
        #[prost(message, tag = "3")]
        Knobs(super::KnobSettings),
    }
}
/// Command-line arguments.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ArgumentList {
    /// At most 16,384, 64 KiB each.
    #[prost(string, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
/// A text file.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TextFile {
    /// Its name, for locations.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Its text.
    #[prost(string, tag = "2")]
    pub text: ::prost::alloc::string::String,
}
/// Knobs in both forms.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct KnobSettings {
    /// Typed.
    #[prost(message, optional, tag = "1")]
    pub knobs: ::core::option::Option<Knobs>,
    /// By name.
    #[prost(message, repeated, tag = "2")]
    pub settings: ::prost::alloc::vec::Vec<KnobSetting>,
}
/// The verdicts, kept apart.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ValidateConfigResponse {
    /// The stack's configuration code accepts it. Nothing is known against what is not judged: where `completeness` is NONE
    /// this and `will_run` are true and say nothing.
    #[prost(bool, tag = "1")]
    pub accepted_by_stack: bool,
    /// Nothing known makes it fail later. What is not known does not count: where `memory` is UNKNOWN, it holds but for memory.
    #[prost(bool, tag = "2")]
    pub will_run: bool,
    /// Everything found, sorted by severity, field, id.
    #[prost(message, repeated, tag = "3")]
    pub findings: ::prost::alloc::vec::Vec<Finding>,
    /// Final value of every knob that is written or that the stack sets.
    #[prost(message, repeated, tag = "4")]
    pub config: ::prost::alloc::vec::Vec<ConfigEntry>,
    /// What the stack will silently change.
    #[prost(message, repeated, tag = "5")]
    pub effective_changes: ::prost::alloc::vec::Vec<EffectiveChange>,
    /// What was not judged, and why.
    #[prost(string, repeated, tag = "6")]
    pub not_judged: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Digest of request, catalogue and evidence revision.
    #[prost(string, tag = "7")]
    pub digest: ::prost::alloc::string::String,
    /// Content revision of the catalogue.
    #[prost(string, tag = "8")]
    pub catalog_revision: ::prost::alloc::string::String,
    /// The framework and version judged, "slime main": of a request that names no framework the one that the text shows.
    /// Empty: it shows no training.
    #[prost(string, tag = "9")]
    pub target: ::prost::alloc::string::String,
    /// How the configuration was read; a value of the request's field of this name, or "knobs".
    #[prost(string, tag = "10")]
    pub input_format: ::prost::alloc::string::String,
    /// Where the request asked for it and there was an error.
    #[prost(message, optional, tag = "11")]
    pub repair: ::core::option::Option<Repair>,
    /// Memory, where the configuration says enough of the model and the hardware is given.
    #[prost(message, optional, tag = "12")]
    pub estimate: ::core::option::Option<Estimate>,
    /// Paths of files that the launch reads and the request does not hold: sent as model_files they would be judged, too.
    #[prost(string, repeated, tag = "13")]
    pub wanted_files: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// How much of the launch the verdicts are about.
    #[prost(enumeration = "Completeness", tag = "14")]
    pub completeness: i32,
    /// Rules that found something in values that the input does not show (those of a recipe, of another script, of a
    /// program with flags of its own), sorted. They are no findings: neither passed nor failed.
    #[prost(string, repeated, tag = "15")]
    pub set_aside_rules: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Whether it fits, in every view.
    #[prost(message, optional, tag = "16")]
    pub memory: ::core::option::Option<MemoryVerdict>,
    /// Revision of the evidence snapshot.
    #[prost(int64, tag = "17")]
    pub evidence_revision: i64,
    /// Environment variables of the launch that tune it (CUDA_, NCCL_, NVTE_ ...), as the text and the request say them.
    #[prost(map = "string, string", tag = "18")]
    pub env: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
/// The caller's own text, changed so that the errors are gone.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Repair {
    /// What was done, in order.
    #[prost(message, repeated, tag = "1")]
    pub steps: ::prost::alloc::vec::Vec<RepairStep>,
    /// The verdicts on the repaired text.
    #[prost(bool, tag = "2")]
    pub accepted_by_stack: bool,
    /// Nothing known makes it fail later.
    #[prost(bool, tag = "3")]
    pub will_run: bool,
    /// Errors that the repaired text still has.
    #[prost(message, repeated, tag = "4")]
    pub findings: ::prost::alloc::vec::Vec<Finding>,
    /// The repaired file, where a file was sent.
    #[prost(string, tag = "5")]
    pub text: ::prost::alloc::string::String,
    /// The repaired arguments, where arguments were sent.
    #[prost(string, repeated, tag = "6")]
    pub arguments: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Part of the repair that the text has no place for: variables beside arguments, knobs without a spelling.
    #[prost(message, optional, tag = "7")]
    pub unwritten: ::core::option::Option<Fix>,
    /// Memory and step of the repaired text; not in the view VERDICT.
    #[prost(message, optional, tag = "8")]
    pub estimate: ::core::option::Option<Estimate>,
}
/// One fix that was applied.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RepairStep {
    /// The finding it removes.
    #[prost(string, tag = "1")]
    pub rule_id: ::prost::alloc::string::String,
    /// What it sets.
    #[prost(message, optional, tag = "2")]
    pub fix: ::core::option::Option<Fix>,
    /// No fix of the rule's own removes the finding without a new one: found by search.
    #[prost(bool, tag = "3")]
    pub searched: bool,
}
/// A search.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PlanLayoutsRequest {
    /// The question; its layout fields are constraints, open ones are searched. Plans are answered in full: no view.
    #[prost(message, optional, tag = "1")]
    pub base: ::core::option::Option<ResolveConfigRequest>,
    /// Plans to return. Range 1..100; unset: 10.
    #[prost(int32, optional, tag = "2")]
    pub plan_count: ::core::option::Option<i32>,
    /// What to optimise.
    #[prost(enumeration = "PlanObjective", tag = "3")]
    pub objective: i32,
}
/// A message of the search stream.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PlanLayoutsResponse {
    /// Progress while it runs, then exactly one result.
    #[prost(oneof = "plan_layouts_response::Event", tags = "1, 2")]
    pub event: ::core::option::Option<plan_layouts_response::Event>,
}
/// Nested message and enum types in `PlanLayoutsResponse`.
pub mod plan_layouts_response {
    /// Progress while it runs, then exactly one result.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Event {
        /// How far it is.
        #[prost(message, tag = "1")]
        Progress(super::PlanProgress),
        /// The ranked plans.
        #[prost(message, tag = "2")]
        Result(super::PlanResult),
    }
}
/// How far a search is.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PlanProgress {
    /// Share of the space judged or pruned, 0..1.
    #[prost(double, tag = "1")]
    pub done_ratio: f64,
    /// Candidates judged.
    #[prost(int64, tag = "2")]
    pub judged_count: i64,
    /// Best step time so far, microseconds.
    #[prost(double, optional, tag = "3")]
    pub best_step_time_us: ::core::option::Option<f64>,
}
/// The result of a search.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PlanResult {
    /// Best first.
    #[prost(message, repeated, tag = "1")]
    pub plans: ::prost::alloc::vec::Vec<ResolveConfigResponse>,
    /// Candidates in the space.
    #[prost(int64, tag = "2")]
    pub space_count: i64,
    /// Candidates judged.
    #[prost(int64, tag = "3")]
    pub judged_count: i64,
    /// Candidates pruned, by bound.
    #[prost(map = "string, int64", tag = "4")]
    pub pruned_counts: ::std::collections::HashMap<::prost::alloc::string::String, i64>,
    /// Findings about the search itself, such as a space without legal members.
    #[prost(message, repeated, tag = "5")]
    pub findings: ::prost::alloc::vec::Vec<Finding>,
}
/// One request of a batch.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchResolveRequest {
    /// Echoed in the answer. At most 128 bytes of UTF-8.
    #[prost(string, tag = "1")]
    pub request_id: ::prost::alloc::string::String,
    /// Resolve or validate.
    #[prost(oneof = "batch_resolve_request::Request", tags = "2, 3")]
    pub request: ::core::option::Option<batch_resolve_request::Request>,
}
/// Nested message and enum types in `BatchResolveRequest`.
pub mod batch_resolve_request {
    /// Resolve or validate.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Request {
        /// Resolve.
        #[prost(message, tag = "2")]
        Resolve(super::ResolveConfigRequest),
        /// Validate.
        #[prost(message, tag = "3")]
        Validate(super::ValidateConfigRequest),
    }
}
/// One answer of a batch.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchResolveResponse {
    /// Of the request.
    #[prost(string, tag = "1")]
    pub request_id: ::prost::alloc::string::String,
    /// The answer, or the error that the same call alone would have returned.
    #[prost(oneof = "batch_resolve_response::Result", tags = "2, 3, 4")]
    pub result: ::core::option::Option<batch_resolve_response::Result>,
}
/// Nested message and enum types in `BatchResolveResponse`.
pub mod batch_resolve_response {
    /// The answer, or the error that the same call alone would have returned.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Result {
        /// Resolved.
        #[prost(message, tag = "2")]
        Resolve(super::ResolveConfigResponse),
        /// Validated.
        #[prost(message, tag = "3")]
        Validate(super::ValidateConfigResponse),
        /// Refused.
        #[prost(message, tag = "4")]
        Error(crate::rpc::Status),
    }
}
/// What to convert, and into what.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ConvertConfigRequest {
    /// The configuration with the framework and version that it is written for. Required. A file may leave its framework
    /// open, as in ValidateConfig, where its text shows one.
    #[prost(message, optional, tag = "1")]
    pub source: ::core::option::Option<ValidateConfigRequest>,
    /// The framework and version to write it for. Required.
    #[prost(message, optional, tag = "2")]
    pub target: ::core::option::Option<TargetStack>,
}
/// The converted configuration.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ConvertConfigResponse {
    /// The launch for the new target.
    #[prost(message, optional, tag = "1")]
    pub launch: ::core::option::Option<Launch>,
    /// Knobs that are spelled, placed or valued otherwise there.
    #[prost(message, repeated, tag = "2")]
    pub converted: ::prost::alloc::vec::Vec<ConvertedKnob>,
    /// Knobs that have no counterpart there, and why; they are not in `launch`.
    #[prost(message, repeated, tag = "3")]
    pub dropped: ::prost::alloc::vec::Vec<ConvertedKnob>,
    /// Knobs that the source leaves to a default that the new target does not share; `launch` writes the source's value.
    #[prost(message, repeated, tag = "4")]
    pub pinned_defaults: ::prost::alloc::vec::Vec<ConvertedKnob>,
    /// What the source's own check found, and what the new target's check finds in the converted configuration.
    #[prost(message, repeated, tag = "5")]
    pub source_findings: ::prost::alloc::vec::Vec<Finding>,
    /// As above, for the new target.
    #[prost(message, repeated, tag = "6")]
    pub target_findings: ::prost::alloc::vec::Vec<Finding>,
}
/// One knob of a conversion.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ConvertedKnob {
    /// Knob name.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// Its value; unset: None.
    #[prost(message, optional, tag = "2")]
    pub value: ::core::option::Option<KnobValue>,
    /// How the source spells it.
    #[prost(string, tag = "3")]
    pub source_spelling: ::prost::alloc::string::String,
    /// How the target spells it; empty: not at all.
    #[prost(string, tag = "4")]
    pub target_spelling: ::prost::alloc::string::String,
    /// Why, one sentence.
    #[prost(string, tag = "5")]
    pub reason: ::prost::alloc::string::String,
}
/// How much of an answer is worked out and sent. The question is the same and so is its digest; what one view shows, the
/// others show alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum AnswerView {
    /// FULL.
    Unspecified = 0,
    /// For who admits a job: the verdicts, the findings (but the next step; fixes of errors alone), what was not judged, a
    /// repair that was asked for, digest, revisions, target. Of ValidateConfig also `memory`, `completeness`,
    /// `set_aside_rules`, `input_format` and `wanted_files`.
    Verdict = 1,
    /// For who starts one: VERDICT, and the estimate, the launches and the layout.
    Basic = 2,
    /// For who wants to know why: every knob with its reason, decisions, changes, A/B runs and the next step too.
    Full = 3,
}
impl AnswerView {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            AnswerView::Unspecified => "ANSWER_VIEW_UNSPECIFIED",
            AnswerView::Verdict => "ANSWER_VIEW_VERDICT",
            AnswerView::Basic => "ANSWER_VIEW_BASIC",
            AnswerView::Full => "ANSWER_VIEW_FULL",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "ANSWER_VIEW_UNSPECIFIED" => Some(Self::Unspecified),
            "ANSWER_VIEW_VERDICT" => Some(Self::Verdict),
            "ANSWER_VIEW_BASIC" => Some(Self::Basic),
            "ANSWER_VIEW_FULL" => Some(Self::Full),
            _ => None,
        }
    }
}
/// Whether a plan exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Outcome {
    /// Never sent.
    Unspecified = 0,
    /// The configuration is complete and has no finding of level error.
    Resolved = 1,
    /// What the caller insists on cannot run; the findings say why and what would.
    Infeasible = 2,
}
impl Outcome {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Outcome::Unspecified => "OUTCOME_UNSPECIFIED",
            Outcome::Resolved => "OUTCOME_RESOLVED",
            Outcome::Infeasible => "OUTCOME_INFEASIBLE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "OUTCOME_UNSPECIFIED" => Some(Self::Unspecified),
            "OUTCOME_RESOLVED" => Some(Self::Resolved),
            "OUTCOME_INFEASIBLE" => Some(Self::Infeasible),
            _ => None,
        }
    }
}
/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum ConfigOrigin {
    /// Never sent.
    Unspecified = 0,
    /// The stack's own default.
    Default = 1,
    /// The model's architecture.
    Model = 2,
    /// The caller.
    Caller = 3,
    /// One of our decisions.
    Decided = 4,
    /// A silent change of the stack.
    Upstream = 5,
}
impl ConfigOrigin {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            ConfigOrigin::Unspecified => "CONFIG_ORIGIN_UNSPECIFIED",
            ConfigOrigin::Default => "CONFIG_ORIGIN_DEFAULT",
            ConfigOrigin::Model => "CONFIG_ORIGIN_MODEL",
            ConfigOrigin::Caller => "CONFIG_ORIGIN_CALLER",
            ConfigOrigin::Decided => "CONFIG_ORIGIN_DECIDED",
            ConfigOrigin::Upstream => "CONFIG_ORIGIN_UPSTREAM",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "CONFIG_ORIGIN_UNSPECIFIED" => Some(Self::Unspecified),
            "CONFIG_ORIGIN_DEFAULT" => Some(Self::Default),
            "CONFIG_ORIGIN_MODEL" => Some(Self::Model),
            "CONFIG_ORIGIN_CALLER" => Some(Self::Caller),
            "CONFIG_ORIGIN_DECIDED" => Some(Self::Decided),
            "CONFIG_ORIGIN_UPSTREAM" => Some(Self::Upstream),
            _ => None,
        }
    }
}
/// How much of a launch was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Completeness {
    /// Of a server older than this field.
    Unspecified = 0,
    /// Every rule that the target runs, but for what `not_judged` names.
    Full = 1,
    /// Errors were set aside: `accepted_by_stack` says only that nothing that is shown is refused.
    Partial = 2,
    /// There is no launch, or nothing of it can be read.
    None = 3,
}
impl Completeness {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Completeness::Unspecified => "COMPLETENESS_UNSPECIFIED",
            Completeness::Full => "COMPLETENESS_FULL",
            Completeness::Partial => "COMPLETENESS_PARTIAL",
            Completeness::None => "COMPLETENESS_NONE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "COMPLETENESS_UNSPECIFIED" => Some(Self::Unspecified),
            "COMPLETENESS_FULL" => Some(Self::Full),
            "COMPLETENESS_PARTIAL" => Some(Self::Partial),
            "COMPLETENESS_NONE" => Some(Self::None),
            _ => None,
        }
    }
}
/// What a search optimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum PlanObjective {
    /// Step time.
    Unspecified = 0,
    /// Shortest step.
    StepTime = 1,
    /// Most free memory.
    MemoryHeadroom = 2,
    /// Fewest GPUs.
    GpuCount = 3,
}
impl PlanObjective {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            PlanObjective::Unspecified => "PLAN_OBJECTIVE_UNSPECIFIED",
            PlanObjective::StepTime => "PLAN_OBJECTIVE_STEP_TIME",
            PlanObjective::MemoryHeadroom => "PLAN_OBJECTIVE_MEMORY_HEADROOM",
            PlanObjective::GpuCount => "PLAN_OBJECTIVE_GPU_COUNT",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "PLAN_OBJECTIVE_UNSPECIFIED" => Some(Self::Unspecified),
            "PLAN_OBJECTIVE_STEP_TIME" => Some(Self::StepTime),
            "PLAN_OBJECTIVE_MEMORY_HEADROOM" => Some(Self::MemoryHeadroom),
            "PLAN_OBJECTIVE_GPU_COUNT" => Some(Self::GpuCount),
            _ => None,
        }
    }
}
/// Generated client implementations.
pub mod resolver_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Resolves and validates training configurations. A wrong config is an answer (OK with findings), not an RPC error; RPC
    /// errors are for calls without meaning, limits, deadlines and our own faults. All rpcs are idempotent.
    #[derive(Debug, Clone)]
    pub struct ResolverServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl ResolverServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> ResolverServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> ResolverServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            ResolverServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Fills in a complete, validated configuration for a given layout.
        /// INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
        /// RESOURCE_EXHAUSTED with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
        pub async fn resolve_config(
            &mut self,
            request: impl tonic::IntoRequest<super::ResolveConfigRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ResolveConfigResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ResolverService/ResolveConfig",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.ResolverService", "ResolveConfig"),
                );
            self.inner.unary(req, path, codec).await
        }
        /// Judges a finished configuration in any spelling. Decides nothing. Errors as ResolveConfig.
        pub async fn validate_config(
            &mut self,
            request: impl tonic::IntoRequest<super::ValidateConfigRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ValidateConfigResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ResolverService/ValidateConfig",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.ResolverService", "ValidateConfig"),
                );
            self.inner.unary(req, path, codec).await
        }
        /// Searches all layouts that the constraints allow; streams progress, then the ranked result. Errors as ResolveConfig.
        pub async fn plan_layouts(
            &mut self,
            request: impl tonic::IntoRequest<super::PlanLayoutsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::PlanLayoutsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ResolverService/PlanLayouts",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("flightplan.v1.ResolverService", "PlanLayouts"));
            self.inner.server_streaming(req, path, codec).await
        }
        /// Many requests on one call; answers come as they are ready, with the request's id. At most 1,000 in flight per stream.
        pub async fn batch_resolve(
            &mut self,
            request: impl tonic::IntoStreamingRequest<
                Message = super::BatchResolveRequest,
            >,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::BatchResolveResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ResolverService/BatchResolve",
            );
            let mut req = request.into_streaming_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.ResolverService", "BatchResolve"),
                );
            self.inner.streaming(req, path, codec).await
        }
        /// Writes a finished configuration for another framework or version, and says what has no counterpart there. Errors as
        /// ResolveConfig.
        pub async fn convert_config(
            &mut self,
            request: impl tonic::IntoRequest<super::ConvertConfigRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ConvertConfigResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.ResolverService/ConvertConfig",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.ResolverService", "ConvertConfig"),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// What to draw.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DescribeTimelineRequest {
    /// Which views to send. Empty: all.
    #[prost(enumeration = "TimelineZoom", repeated, tag = "3")]
    pub zooms: ::prost::alloc::vec::Vec<i32>,
    /// Pipeline ranks of the view STEP, each from 0 and at most once. Empty: all.
    #[prost(int32, repeated, tag = "4")]
    pub pipeline_ranks: ::prost::alloc::vec::Vec<i32>,
    /// The rank of the views STEADY and LAYER. Unset: the one that holds layer_index, else the slowest one.
    #[prost(int32, optional, tag = "5")]
    pub detail_pipeline_rank: ::core::option::Option<i32>,
    /// The decoder layer of the view LAYER, from 0, which that rank holds. Unset: its heaviest.
    #[prost(int32, optional, tag = "6")]
    pub layer_index: ::core::option::Option<i32>,
    /// Events of the view STEP at most, of all ranks together. Where there are more, the passes in the middle of each rank
    /// stand as one event; 20 a rank are sent in any case. Range 64..32768; unset: 4,096.
    #[prost(int32, optional, tag = "7")]
    pub max_event_count: ::core::option::Option<i32>,
    /// Exactly one. Unset: INVALID_ARGUMENT. Their views are ignored.
    #[prost(oneof = "describe_timeline_request::Config", tags = "1, 2")]
    pub config: ::core::option::Option<describe_timeline_request::Config>,
}
/// Nested message and enum types in `DescribeTimelineRequest`.
pub mod describe_timeline_request {
    /// Exactly one. Unset: INVALID_ARGUMENT. Their views are ignored.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Config {
        /// A question; the step of its plan is drawn.
        #[prost(message, tag = "1")]
        Resolve(super::ResolveConfigRequest),
        /// A finished configuration. It must name the GPU and the number of GPUs.
        #[prost(message, tag = "2")]
        Validate(super::ValidateConfigRequest),
    }
}
/// The step, drawn.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DescribeTimelineResponse {
    /// The forecast's step in microseconds: what the other answers say, but for measurements that stand in its place there.
    #[prost(double, tag = "1")]
    pub step_time_us: f64,
    /// The end of the schedule as it is drawn: the step.
    #[prost(double, tag = "2")]
    pub scheduled_us: f64,
    /// What the answer of the same question says, where a profile or a reported run moved it; unset: the forecast's.
    #[prost(double, optional, tag = "4")]
    pub answer_step_time_us: ::core::option::Option<f64>,
    /// Jitter between ranks and gaps between kernels: every pass is that much longer than the sum of its kernels.
    #[prost(double, tag = "5")]
    pub stack_overhead_ratio: f64,
    /// The order of passes.
    #[prost(enumeration = "TimelineSchedule", tag = "6")]
    pub schedule: i32,
    /// Forward and backward of different microbatches share passes (overlap_moe_expert_parallel_comm).
    #[prost(bool, tag = "7")]
    pub combined: bool,
    /// Weight gradients of the experts wait until they fill an exchange (delay_wgrad_compute).
    #[prost(bool, tag = "8")]
    pub delayed_weight_gradients: bool,
    /// Pipeline ranks.
    #[prost(int32, tag = "9")]
    pub pipeline_model_parallel_size: i32,
    /// Model chunks a rank.
    #[prost(int32, tag = "10")]
    pub virtual_pipeline_model_parallel_size: i32,
    /// Microbatches of a step and data-parallel rank.
    #[prost(int64, tag = "11")]
    pub microbatch_count: i64,
    /// Microbatches that pass one chunk before the next chunk's turn.
    #[prost(int64, tag = "12")]
    pub microbatch_group_size_per_vp_stage: i64,
    /// The rank with the longest passes: its totals are the forecast's walls.
    #[prost(int32, tag = "13")]
    pub slowest_pipeline_rank: i32,
    /// Of the slowest rank, in the order of TimelineKind. `scheduled_us` of all are the step, and so are
    /// `forecast_us` of all.
    #[prost(message, repeated, tag = "14")]
    pub totals: ::prost::alloc::vec::Vec<TimelineTotal>,
    /// One entry a pipeline rank.
    #[prost(message, repeated, tag = "15")]
    pub ranks: ::prost::alloc::vec::Vec<TimelineRank>,
    /// What passes are made of; `pass_index` of events counts from 0 in this list.
    #[prost(message, repeated, tag = "16")]
    pub passes: ::prost::alloc::vec::Vec<TimelinePass>,
    /// The views, in the order of TimelineZoom.
    #[prost(message, repeated, tag = "17")]
    pub views: ::prost::alloc::vec::Vec<TimelineView>,
    /// What a reader must know beside the picture, a sentence each.
    #[prost(string, repeated, tag = "18")]
    pub notes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Digest of request, catalogue and evidence revision, as the answer of the same question has it.
    #[prost(string, tag = "19")]
    pub digest: ::prost::alloc::string::String,
    /// Content revision of the catalogue.
    #[prost(string, tag = "20")]
    pub catalog_revision: ::prost::alloc::string::String,
    /// The framework version: "megatron-lm main".
    #[prost(string, tag = "21")]
    pub target: ::prost::alloc::string::String,
    /// The configuration is accepted and runs, as far as is known. What does not run is drawn all the same.
    #[prost(bool, tag = "22")]
    pub will_run: bool,
    /// Where the same passes in the same order end when each begins as soon as what it needs has come. The forecast has closed
    /// formulas for how long ranks wait for each other; the waits of the drawing are made as long as it says.
    #[prost(double, tag = "23")]
    pub replayed_us: f64,
}
/// What one kind of event costs the slowest rank in a step.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelineTotal {
    /// The kind.
    #[prost(enumeration = "TimelineKind", tag = "1")]
    pub kind: i32,
    /// Microseconds of the replayed schedule in which the step waits for it.
    #[prost(double, tag = "2")]
    pub scheduled_us: f64,
    /// Microseconds of it that run beside compute, so that the step does not wait.
    #[prost(double, tag = "3")]
    pub hidden_us: f64,
    /// The forecast's figure in place of scheduled_us.
    #[prost(double, tag = "4")]
    pub forecast_us: f64,
}
/// One pipeline rank of a step. The figures are microseconds and add up to scheduled_us of the answer.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelineRank {
    /// From 0.
    #[prost(int32, tag = "1")]
    pub pipeline_rank: i32,
    /// In passes.
    #[prost(double, tag = "2")]
    pub busy_us: f64,
    /// Waiting for other ranks.
    #[prost(double, tag = "3")]
    pub bubble_us: f64,
    /// Exposed gradient reduction, weight gathering, optimizer and what is fixed per step.
    #[prost(double, tag = "4")]
    pub once_us: f64,
    /// Decoder layers by chunk.
    #[prost(int32, repeated, tag = "5")]
    pub layer_counts: ::prost::alloc::vec::Vec<i32>,
    /// It holds the embedding.
    #[prost(bool, tag = "6")]
    pub embedding: bool,
    /// It holds the output layer and the loss.
    #[prost(bool, tag = "7")]
    pub loss: bool,
    /// Forward passes before the first backward.
    #[prost(int64, tag = "8")]
    pub warm_up_count: i64,
    /// Exposed pipeline transfers, and waiting for transfers in flight.
    #[prost(double, tag = "9")]
    pub transfer_us: f64,
}
/// One sort of pass.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelinePass {
    /// FORWARD, BACKWARD or FORWARD_BACKWARD.
    #[prost(enumeration = "TimelineKind", tag = "1")]
    pub kind: i32,
    /// The first pipeline rank whose passes are such.
    #[prost(int32, tag = "2")]
    pub pipeline_rank: i32,
    /// The chunk from 0; of FORWARD_BACKWARD the forward's.
    #[prost(int32, tag = "3")]
    pub virtual_stage_index: i32,
    /// Of FORWARD_BACKWARD: the backward's chunk.
    #[prost(int32, optional, tag = "4")]
    pub backward_virtual_stage_index: ::core::option::Option<i32>,
    /// Its length in microseconds.
    #[prost(double, tag = "5")]
    pub duration_us: f64,
    /// What it is made of, without parts of no length.
    #[prost(message, repeated, tag = "6")]
    pub parts: ::prost::alloc::vec::Vec<TimelinePart>,
}
/// A part of a pass.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelinePart {
    /// The kind.
    #[prost(enumeration = "TimelineKind", tag = "1")]
    pub kind: i32,
    /// Microseconds that the pass waits for it; of all parts: the pass.
    #[prost(double, tag = "2")]
    pub exposed_us: f64,
    /// Microseconds of it beside the other parts.
    #[prost(double, tag = "3")]
    pub hidden_us: f64,
}
/// Events of one view, by rank, stream and start.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelineView {
    /// Which.
    #[prost(enumeration = "TimelineZoom", tag = "1")]
    pub zoom: i32,
    /// Its end; events start at 0 or later. Of STEP: scheduled_us.
    #[prost(double, tag = "2")]
    pub duration_us: f64,
    /// The events.
    #[prost(message, repeated, tag = "3")]
    pub events: ::prost::alloc::vec::Vec<TimelineEvent>,
    /// What is shown, one line: "rank 3: forward of chunk 1, microbatch 40, beside backward of chunk 2, microbatch 36".
    #[prost(string, tag = "4")]
    pub title: ::prost::alloc::string::String,
    /// Passes that stand in events of kind PASSES.
    #[prost(int64, tag = "5")]
    pub joined_pass_count: i64,
}
/// One bar.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TimelineEvent {
    /// What it is.
    #[prost(enumeration = "TimelineKind", tag = "1")]
    pub kind: i32,
    /// Where.
    #[prost(enumeration = "TimelineStream", tag = "2")]
    pub stream: i32,
    /// The rank.
    #[prost(int32, tag = "3")]
    pub pipeline_rank: i32,
    /// Microseconds from the view's start.
    #[prost(double, tag = "4")]
    pub start_us: f64,
    /// Its length.
    #[prost(double, tag = "5")]
    pub duration_us: f64,
    /// Of its length, what nothing else hides; of an event on COMPUTE all of it.
    #[prost(double, tag = "6")]
    pub exposed_us: f64,
    /// What it is called: "experts", "F 12.1", "dispatch". Unique for no one.
    #[prost(string, tag = "7")]
    pub name: ::prost::alloc::string::String,
    /// Of a pass: microbatch from 0; of FORWARD_BACKWARD the forward's.
    #[prost(int64, optional, tag = "8")]
    pub microbatch_index: ::core::option::Option<i64>,
    /// Of FORWARD_BACKWARD: the backward's microbatch.
    #[prost(int64, optional, tag = "9")]
    pub backward_microbatch_index: ::core::option::Option<i64>,
    /// Of a pass: its sort, an index into the answer's passes.
    #[prost(int32, optional, tag = "10")]
    pub pass_index: ::core::option::Option<i32>,
    /// Of PASSES: how many; of a layer's operators: layers in a row that are alike and stand here together. Unset: 1.
    #[prost(int64, optional, tag = "11")]
    pub repeat_count: ::core::option::Option<i64>,
    /// In STEADY and LAYER: the backward pass's, not the forward's.
    #[prost(bool, tag = "12")]
    pub backward: bool,
    /// In STEADY: decoder layer from 0, the first one of those that stand together; unset: none (output layer, MTP).
    #[prost(int32, optional, tag = "13")]
    pub layer_index: ::core::option::Option<i32>,
}
/// How much of a step a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum TimelineZoom {
    /// Never sent.
    Unspecified = 0,
    /// The whole step, a line for each pipeline rank.
    Step = 1,
    /// One forward and one backward pass of one rank in the steady state, layer by layer.
    Steady = 2,
    /// Forward and backward of one layer, operator by operator.
    Layer = 3,
}
impl TimelineZoom {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            TimelineZoom::Unspecified => "TIMELINE_ZOOM_UNSPECIFIED",
            TimelineZoom::Step => "TIMELINE_ZOOM_STEP",
            TimelineZoom::Steady => "TIMELINE_ZOOM_STEADY",
            TimelineZoom::Layer => "TIMELINE_ZOOM_LAYER",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "TIMELINE_ZOOM_UNSPECIFIED" => Some(Self::Unspecified),
            "TIMELINE_ZOOM_STEP" => Some(Self::Step),
            "TIMELINE_ZOOM_STEADY" => Some(Self::Steady),
            "TIMELINE_ZOOM_LAYER" => Some(Self::Layer),
            _ => None,
        }
    }
}
/// What an event is, and what a total adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum TimelineKind {
    /// Never sent.
    Unspecified = 0,
    /// Forward pass of one microbatch through one model chunk; in STEADY and LAYER and in totals: its compute alone.
    Forward = 1,
    /// Backward pass, with the weight gradients that are not delayed; in STEADY and LAYER and in totals: input gradients alone.
    Backward = 2,
    /// A forward and another microbatch's backward in one pass (overlap_moe_expert_parallel_comm). No total: its parts are
    /// totals of their own.
    ForwardBackward = 3,
    /// Passes of the middle of a step, `repeat_count` of them, in one event. No total.
    Passes = 4,
    /// Compute of weight gradients.
    WeightGradient = 5,
    /// Compute that runs again for the backward pass (activation recomputation).
    Recompute = 6,
    /// Dispatch of tokens to experts.
    Dispatch = 7,
    /// Combine of the experts' outputs.
    Combine = 8,
    /// Dispatch and combine together, where they are not told apart: totals and passes.
    ExpertExchange = 9,
    /// Collectives of tensor and sequence parallelism.
    TensorParallel = 10,
    /// Exchanges of context parallelism.
    ContextParallel = 11,
    /// Sends and receives between pipeline stages.
    PipelineTransfer = 12,
    /// Gradient reduction over data-parallel ranks.
    GradientReduce = 13,
    /// Gathering of weights from data-parallel ranks.
    ParameterGather = 14,
    /// Update of the weights, with copies of a state that is kept on the host.
    Optimizer = 15,
    /// What is fixed per step: logging, data, garbage collection, synchronisation.
    StepFixed = 16,
    /// The GPU waits for the host to launch kernels or to learn sizes.
    Host = 17,
    /// Activations leave for the host and come back (cpu_offloading).
    ActivationOffload = 18,
    /// The rank waits for other ranks, as long as the forecast counts.
    Bubble = 19,
}
impl TimelineKind {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            TimelineKind::Unspecified => "TIMELINE_KIND_UNSPECIFIED",
            TimelineKind::Forward => "TIMELINE_KIND_FORWARD",
            TimelineKind::Backward => "TIMELINE_KIND_BACKWARD",
            TimelineKind::ForwardBackward => "TIMELINE_KIND_FORWARD_BACKWARD",
            TimelineKind::Passes => "TIMELINE_KIND_PASSES",
            TimelineKind::WeightGradient => "TIMELINE_KIND_WEIGHT_GRADIENT",
            TimelineKind::Recompute => "TIMELINE_KIND_RECOMPUTE",
            TimelineKind::Dispatch => "TIMELINE_KIND_DISPATCH",
            TimelineKind::Combine => "TIMELINE_KIND_COMBINE",
            TimelineKind::ExpertExchange => "TIMELINE_KIND_EXPERT_EXCHANGE",
            TimelineKind::TensorParallel => "TIMELINE_KIND_TENSOR_PARALLEL",
            TimelineKind::ContextParallel => "TIMELINE_KIND_CONTEXT_PARALLEL",
            TimelineKind::PipelineTransfer => "TIMELINE_KIND_PIPELINE_TRANSFER",
            TimelineKind::GradientReduce => "TIMELINE_KIND_GRADIENT_REDUCE",
            TimelineKind::ParameterGather => "TIMELINE_KIND_PARAMETER_GATHER",
            TimelineKind::Optimizer => "TIMELINE_KIND_OPTIMIZER",
            TimelineKind::StepFixed => "TIMELINE_KIND_STEP_FIXED",
            TimelineKind::Host => "TIMELINE_KIND_HOST",
            TimelineKind::ActivationOffload => "TIMELINE_KIND_ACTIVATION_OFFLOAD",
            TimelineKind::Bubble => "TIMELINE_KIND_BUBBLE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "TIMELINE_KIND_UNSPECIFIED" => Some(Self::Unspecified),
            "TIMELINE_KIND_FORWARD" => Some(Self::Forward),
            "TIMELINE_KIND_BACKWARD" => Some(Self::Backward),
            "TIMELINE_KIND_FORWARD_BACKWARD" => Some(Self::ForwardBackward),
            "TIMELINE_KIND_PASSES" => Some(Self::Passes),
            "TIMELINE_KIND_WEIGHT_GRADIENT" => Some(Self::WeightGradient),
            "TIMELINE_KIND_RECOMPUTE" => Some(Self::Recompute),
            "TIMELINE_KIND_DISPATCH" => Some(Self::Dispatch),
            "TIMELINE_KIND_COMBINE" => Some(Self::Combine),
            "TIMELINE_KIND_EXPERT_EXCHANGE" => Some(Self::ExpertExchange),
            "TIMELINE_KIND_TENSOR_PARALLEL" => Some(Self::TensorParallel),
            "TIMELINE_KIND_CONTEXT_PARALLEL" => Some(Self::ContextParallel),
            "TIMELINE_KIND_PIPELINE_TRANSFER" => Some(Self::PipelineTransfer),
            "TIMELINE_KIND_GRADIENT_REDUCE" => Some(Self::GradientReduce),
            "TIMELINE_KIND_PARAMETER_GATHER" => Some(Self::ParameterGather),
            "TIMELINE_KIND_OPTIMIZER" => Some(Self::Optimizer),
            "TIMELINE_KIND_STEP_FIXED" => Some(Self::StepFixed),
            "TIMELINE_KIND_HOST" => Some(Self::Host),
            "TIMELINE_KIND_ACTIVATION_OFFLOAD" => Some(Self::ActivationOffload),
            "TIMELINE_KIND_BUBBLE" => Some(Self::Bubble),
            _ => None,
        }
    }
}
/// Where on a rank an event runs. Events of one stream of one rank do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum TimelineStream {
    /// Never sent.
    Unspecified = 0,
    /// Compute; waits that stop it stand here too.
    Compute = 1,
    /// Dispatch and combine.
    Expert = 2,
    /// Tensor and context parallelism.
    Model = 3,
    /// Activations on their way to the next stage.
    Pipeline = 4,
    /// Data parallelism.
    Data = 5,
    /// Gaps in which the GPU waits for the host.
    Host = 6,
    /// Gradients on their way to the stage before.
    PipelineBackward = 7,
}
impl TimelineStream {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            TimelineStream::Unspecified => "TIMELINE_STREAM_UNSPECIFIED",
            TimelineStream::Compute => "TIMELINE_STREAM_COMPUTE",
            TimelineStream::Expert => "TIMELINE_STREAM_EXPERT",
            TimelineStream::Model => "TIMELINE_STREAM_MODEL",
            TimelineStream::Pipeline => "TIMELINE_STREAM_PIPELINE",
            TimelineStream::Data => "TIMELINE_STREAM_DATA",
            TimelineStream::Host => "TIMELINE_STREAM_HOST",
            TimelineStream::PipelineBackward => "TIMELINE_STREAM_PIPELINE_BACKWARD",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "TIMELINE_STREAM_UNSPECIFIED" => Some(Self::Unspecified),
            "TIMELINE_STREAM_COMPUTE" => Some(Self::Compute),
            "TIMELINE_STREAM_EXPERT" => Some(Self::Expert),
            "TIMELINE_STREAM_MODEL" => Some(Self::Model),
            "TIMELINE_STREAM_PIPELINE" => Some(Self::Pipeline),
            "TIMELINE_STREAM_DATA" => Some(Self::Data),
            "TIMELINE_STREAM_HOST" => Some(Self::Host),
            "TIMELINE_STREAM_PIPELINE_BACKWARD" => Some(Self::PipelineBackward),
            _ => None,
        }
    }
}
/// Which order upstream runs the passes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum TimelineSchedule {
    /// Never sent.
    Unspecified = 0,
    /// Without a pipeline: forward, backward, microbatch by microbatch.
    NoPipelining = 1,
    /// One forward, one backward (1F1B).
    OneForwardOneBackward = 2,
    /// 1F1B over virtual stages, in groups of microbatches.
    Interleaved = 3,
}
impl TimelineSchedule {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            TimelineSchedule::Unspecified => "TIMELINE_SCHEDULE_UNSPECIFIED",
            TimelineSchedule::NoPipelining => "TIMELINE_SCHEDULE_NO_PIPELINING",
            TimelineSchedule::OneForwardOneBackward => {
                "TIMELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD"
            }
            TimelineSchedule::Interleaved => "TIMELINE_SCHEDULE_INTERLEAVED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "TIMELINE_SCHEDULE_UNSPECIFIED" => Some(Self::Unspecified),
            "TIMELINE_SCHEDULE_NO_PIPELINING" => Some(Self::NoPipelining),
            "TIMELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD" => {
                Some(Self::OneForwardOneBackward)
            }
            "TIMELINE_SCHEDULE_INTERLEAVED" => Some(Self::Interleaved),
            _ => None,
        }
    }
}
/// Generated client implementations.
pub mod timeline_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Draws one training step: what each pipeline rank does when, on which stream, from the numbers of the step's forecast.
    /// Idempotent.
    #[derive(Debug, Clone)]
    pub struct TimelineServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl TimelineServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> TimelineServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> TimelineServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            TimelineServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Replays the pipeline schedule of a resolved or a finished configuration, event by event.
        /// INVALID_ARGUMENT: a field is missing, malformed, out of range or names something unknown; fix it (all violations at once).
        /// FAILED_PRECONDITION: the configuration has no step to draw; the message says what is missing. RESOURCE_EXHAUSTED
        /// with RetryInfo: overloaded; retry after the delay. DEADLINE_EXCEEDED: give more time.
        pub async fn describe_timeline(
            &mut self,
            request: impl tonic::IntoRequest<super::DescribeTimelineRequest>,
        ) -> std::result::Result<
            tonic::Response<super::DescribeTimelineResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/flightplan.v1.TimelineService/DescribeTimeline",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("flightplan.v1.TimelineService", "DescribeTimeline"),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
