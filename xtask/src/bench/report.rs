//! Medians of what was measured, as a table.

use std::collections::BTreeMap;

/// One measurement.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Calls per second.
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) cpu_per_thousand: f64,
}

/// All measurements, by target and number of clients, in the order of the rounds.
#[derive(Default)]
pub(super) struct BenchReport(BTreeMap<(String, usize), Vec<Sample>>);

impl BenchReport {
    pub(super) fn add(&mut self, target: &str, clients: usize, sample: Sample) {
        self.0.entry((target.to_owned(), clients)).or_default().push(sample);
    }

    /// Prints a row for each target and number of clients, then the memory of each target, idle and now.
    pub(super) fn print(&self, clients: &[usize], memory: &[(String, f64, f64)]) {
        println!("| | clients | calls/s | of direct | p50 ms | CPU s per 1000 calls |");
        println!("| --- | --- | --- | --- | --- | --- |");
        for clients in clients {
            for (target, ..) in memory {
                if let Some(row) = self.row(target, *clients) {
                    println!("{row}");
                }
            }
        }
        println!("\n| | RSS idle, MiB | RSS after, MiB |\n| --- | --- | --- |");
        for (target, idle, after) in memory {
            println!("| {target} | {idle:.1} | {after:.1} |");
        }
    }

    fn row(&self, target: &str, clients: usize) -> Option<String> {
        let samples = self.0.get(&(target.to_owned(), clients))?;
        let direct = self.0.get(&("direct".to_owned(), clients))?;
        // Of one round each: what disturbs the machine disturbs both.
        let ratios = samples.iter().zip(direct).map(|(sample, direct)| sample.rate / direct.rate);
        let of = |figure: fn(&Sample) -> f64| median(samples.iter().map(figure));
        Some(format!(
            "| {target} | {clients} | {:.0} | {:.2} | {:.2} | {:.4} |",
            of(|sample| sample.rate),
            median(ratios),
            of(|sample| sample.p50_ms),
            of(|sample| sample.cpu_per_thousand)
        ))
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_rounds() {
        let mut report = BenchReport::default();
        let sample = |rate| Sample { rate, p50_ms: 0.5, cpu_per_thousand: 0.04 };
        for (direct, gateway) in [(100.0, 50.0), (200.0, 80.0), (300.0, 180.0)] {
            report.add("direct", 16, sample(direct));
            report.add("gateway", 16, sample(gateway));
        }
        let row = report.row("gateway", 16);
        assert_eq!(row.as_deref(), Some("| gateway | 16 | 80 | 0.50 | 0.50 | 0.0400 |"));
        assert_eq!(report.row("gateway", 1), None);
    }
}
