/// All cases. The files of cases/ are one such message in pieces.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CaseSet {
    /// In the order in which they run.
    #[prost(message, repeated, tag = "1")]
    pub cases: ::prost::alloc::vec::Vec<Case>,
}
/// One call, and what must hold in its answer.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Case {
    /// "service/what-it-shows". Unique.
    #[prost(string, tag = "1")]
    pub name: ::prost::alloc::string::String,
    /// How the call is made.
    #[prost(message, optional, tag = "50")]
    pub options: ::core::option::Option<CallOptions>,
    /// The same question on the command line; unset: it has no words for it.
    #[prost(message, optional, tag = "51")]
    pub command_line: ::core::option::Option<CommandLine>,
    /// What must hold in the answer.
    #[prost(message, repeated, tag = "60")]
    pub want: ::prost::alloc::vec::Vec<Check>,
    /// The call.
    #[prost(
        oneof = "case::Call",
        tags = "10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30, 31, 32, 40, 41, 42"
    )]
    pub call: ::core::option::Option<case::Call>,
}
/// Nested message and enum types in `Case`.
pub mod case {
    /// The call.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Call {
        #[prost(message, tag = "10")]
        ResolveConfig(::flightplan::v1::ResolveConfigRequest),
        #[prost(message, tag = "11")]
        ValidateConfig(::flightplan::v1::ValidateConfigRequest),
        #[prost(message, tag = "12")]
        PlanLayouts(::flightplan::v1::PlanLayoutsRequest),
        #[prost(message, tag = "13")]
        BatchResolve(super::Batch),
        #[prost(message, tag = "14")]
        ConvertConfig(::flightplan::v1::ConvertConfigRequest),
        #[prost(message, tag = "20")]
        GetModel(::flightplan::v1::GetModelRequest),
        #[prost(message, tag = "21")]
        ListModels(::flightplan::v1::ListModelsRequest),
        #[prost(message, tag = "22")]
        GetGpu(::flightplan::v1::GetGpuRequest),
        #[prost(message, tag = "23")]
        ListGpus(::flightplan::v1::ListGpusRequest),
        #[prost(message, tag = "24")]
        GetKnob(::flightplan::v1::GetKnobRequest),
        #[prost(message, tag = "25")]
        ListKnobs(::flightplan::v1::ListKnobsRequest),
        #[prost(message, tag = "26")]
        GetRule(::flightplan::v1::GetRuleRequest),
        #[prost(message, tag = "27")]
        ListRules(::flightplan::v1::ListRulesRequest),
        #[prost(message, tag = "28")]
        ImportModel(::flightplan::v1::ImportModelRequest),
        #[prost(message, tag = "30")]
        ReportMeasurement(::flightplan::v1::ReportMeasurementRequest),
        #[prost(message, tag = "31")]
        GetMeasurement(::flightplan::v1::GetMeasurementRequest),
        #[prost(message, tag = "32")]
        ListMeasurements(::flightplan::v1::ListMeasurementsRequest),
        #[prost(message, tag = "40")]
        GetProfile(::flightplan::v1::GetProfileRequest),
        #[prost(message, tag = "41")]
        ListProfiles(::flightplan::v1::ListProfilesRequest),
        #[prost(message, tag = "42")]
        ImportProfile(::flightplan::v1::ImportProfileRequest),
    }
}
/// The requests of one BatchResolve call. All are sent, then the sending side is closed.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Batch {
    /// In this order.
    #[prost(message, repeated, tag = "1")]
    pub requests: ::prost::alloc::vec::Vec<::flightplan::v1::BatchResolveRequest>,
}
/// How a call is made.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CallOptions {
    /// Deadline; unset: the client's own, from the shared service config. Below 0: it is over before the call starts.
    #[prost(int32, optional, tag = "1")]
    pub deadline_ms: ::core::option::Option<i32>,
    /// The request carries an environment variable PADDING of this many bytes (ResolveConfig only).
    #[prost(int32, tag = "2")]
    pub padding_bytes: i32,
    /// The caller cancels after the first message of the answer.
    #[prost(bool, tag = "3")]
    pub cancel_after_first: bool,
    /// Sent with the call.
    #[prost(map = "string, string", tag = "4")]
    pub metadata: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
/// Arguments of the command line, without --server and --format.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct CommandLine {
    /// "resolve", "--model", "deepseek-v3" ...
    #[prost(string, repeated, tag = "1")]
    pub args: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// How it ends. Where that is neither 0 nor 1, what it prints is no answer, and only `stderr_has` is looked at.
    #[prost(int32, tag = "2")]
    pub exit_code: i32,
    /// Text on standard error.
    #[prost(string, repeated, tag = "3")]
    pub stderr_has: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Files that `args` names, with their text; the command runs in their folder.
    #[prost(map = "string, string", tag = "4")]
    pub files: ::std::collections::HashMap<
        ::prost::alloc::string::String,
        ::prost::alloc::string::String,
    >,
}
/// One condition on the facts of an answer.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Check {
    /// Name of a fact.
    #[prost(string, tag = "1")]
    pub fact: ::prost::alloc::string::String,
    /// What must hold for its values.
    #[prost(oneof = "check::Condition", tags = "2, 3, 4, 5, 6, 7, 8, 9")]
    pub condition: ::core::option::Option<check::Condition>,
}
/// Nested message and enum types in `Check`.
pub mod check {
    /// What must hold for its values.
    #[allow(clippy::derive_partial_eq_without_eq)]
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Condition {
        /// There is exactly one, and this is it.
        #[prost(string, tag = "2")]
        Is(::prost::alloc::string::String),
        /// One of them is this.
        #[prost(string, tag = "3")]
        Has(::prost::alloc::string::String),
        /// None of them is this.
        #[prost(string, tag = "4")]
        Lacks(::prost::alloc::string::String),
        /// One of them contains this text.
        #[prost(string, tag = "5")]
        Contains(::prost::alloc::string::String),
        /// These stand beside each other, in this order.
        #[prost(message, tag = "6")]
        Run(super::Run),
        /// There is exactly one, an integer, and it is this or more.
        #[prost(int64, tag = "7")]
        AtLeast(i64),
        /// There is exactly one, an integer, and it is this or less.
        #[prost(int64, tag = "8")]
        AtMost(i64),
        /// There are so many; 0: the fact is absent.
        #[prost(int32, tag = "9")]
        Count(i32),
    }
}
/// Values in a row.
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Run {
    /// In this order.
    #[prost(string, repeated, tag = "1")]
    pub values: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
