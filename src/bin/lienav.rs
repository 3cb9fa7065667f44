//! The command line; see [`lienav::cli`].

fn main() -> std::process::ExitCode {
    lienav::cli::main()
}
