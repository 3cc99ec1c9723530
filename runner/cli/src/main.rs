//! The binary `cetp-conformance`.

fn main() -> std::process::ExitCode {
    cetp_conformance::main()
}
