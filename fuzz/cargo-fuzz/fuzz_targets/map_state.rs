#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lienav_fuzz::run_by_name("map_state", data));
