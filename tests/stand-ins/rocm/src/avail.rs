//! `rocprofv3-avail`: what can be counted and sampled on the simulated GPUs.

use std::process::ExitCode;

use crate::{counters, settings};

/// Runs as `rocprofv3-avail`.
pub fn main(arguments: &[String]) -> ExitCode {
    let has = |name: &str| arguments.iter().any(|a| a == name);
    match arguments.first().map(String::as_str) {
        Some("list" | "info") if has("--pc-sampling") => pc_sampling(),
        Some("list") if has("--agent") => agents(),
        Some("list" | "info") => list(arguments[0] == "info"),
        Some("pmc-check") => return pmc_check(&arguments[1..]),
        Some("-h" | "--help") => println!("usage: rocprofv3-avail [-h] {{list,info,pmc-check}} ..."),
        _ => {
            eprintln!(
                "usage: rocprofv3-avail [-h] {{list,info,pmc-check}} ...\nrocprofv3-avail: error: invalid choice"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn agents() {
    let arch = settings::arch();
    for gpu in 0..settings::gpus() {
        println!("GPU:{gpu}\nName:{arch}\n");
    }
}

fn list(details: bool) {
    let arch = settings::arch();
    for gpu in 0..settings::gpus() {
        println!("GPU:{gpu}\nName:{arch}");
        if settings::fault("no_counters") {
            continue;
        }
        let names = counters::all(&arch);
        if details {
            for name in names {
                println!(
                    "\nCounter_Name        :\t{name}\nDescription         :\tstand-in\nBlock               :\t{}",
                    name.split('_').next().unwrap_or("")
                );
            }
        } else {
            println!("PMC:\t{}", names.join(" "));
        }
        println!();
    }
}

fn pc_sampling() {
    let arch = settings::arch();
    let stochastic = arch.starts_with("gfx94") || arch.starts_with("gfx95");
    for gpu in 0..settings::gpus() {
        println!("GPU:{gpu}\nName:{arch}");
        if stochastic {
            println!(
                "Method:\tstochastic\nUnit:\tcycles\nMinimum_Interval:\t256\nMaximum_Interval:\t2147483648\nFlags:\tinterval power of 2"
            );
        }
        if stochastic || arch == "gfx90a" {
            println!(
                "Method:\thost_trap\nUnit:\ttime\nMinimum_Interval:\t1\nMaximum_Interval:\t18446744073709551615"
            );
        }
        println!();
    }
}

fn pmc_check(arguments: &[String]) -> ExitCode {
    let arch = settings::arch();
    let mut words = arguments.iter();
    let mut names: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        if word == "-d" {
            words.next();
        } else {
            names.push(word.split(':').next().unwrap_or(word));
        }
    }
    for name in &names {
        if !counters::exists(name, &arch) {
            eprintln!("Invalid counter name: {name}");
            return ExitCode::FAILURE;
        }
    }
    if counters::over_limit(&names, &arch).is_some() {
        eprintln!("Following input counters cannot be collected together: {}", names.join(" "));
        return ExitCode::FAILURE;
    }
    for gpu in 0..settings::gpus() {
        println!("Following input counters can be collected together on GPU:{gpu}\n{}", names.join(" "));
    }
    ExitCode::SUCCESS
}
