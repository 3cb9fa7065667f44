//! The command line; see [`lienav::cli`].

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    lienav::cli::main()
}
