//! What the figures were measured on.

use std::{fs, process::Command, thread::available_parallelism};

use crate::Result;

/// Prints a line about the machine and the software.
pub(crate) async fn print() -> Result<()> {
    let cores = available_parallelism()?;
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, model)| model);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    println!("Machine: {cores} cores, {}; load before the run {load}", model.unwrap_or("unknown processor"));
    println!("Software: {}; {}", version("redis-server"), version("rustc"));
    Ok(())
}

fn version(program: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    let says = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let brief = says.split(" sha=").next().unwrap_or_default();
    if brief.is_empty() { format!("{program} unknown") } else { brief.to_owned() }
}

/// Processor time of this process, from the kernel's count of hundredths of a second.
pub(crate) fn own_cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold blanks. User and system time are fields 14 and 15.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
