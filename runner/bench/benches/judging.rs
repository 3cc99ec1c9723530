//! Judging transcripts, and verifying whole reports.

use cetp_bench::{Target, adapter, providers};
use cetp_vectors::judge::judge;
use cetp_vectors::load::Catalogue;
use cetp_vectors::transcript::Transcript;
use criterion::{Criterion, SamplingMode, Throughput};
use std::hint::black_box;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    cetp_bench::bench(|| {
        let mut criterion = Criterion::default().sample_size(10).configure_from_args();
        judging(&mut criterion);
        verifying(&mut criterion);
        criterion.final_summary();
        cetp_bench::ratio("judge", "judge", "serde_json", "against reading the same bytes with serde_json");
        cetp_bench::ratio("verify", "verify", "serde_json", "against reading the same bytes with serde_json");
    })
}

/// All transcripts of the embedded suite, as they lie in a report.
fn judging(criterion: &mut Criterion) {
    let catalogue = Catalogue::embedded();
    let vectors = providers(&catalogue);
    let results = Target::new(adapter("builtin:provider")).all(&vectors, 1);
    let transcripts: Vec<_> = results
        .iter()
        .filter_map(|result| Some((catalogue.get(&result.vector)?, result.transcript.as_ref()?.to_json())))
        .collect();
    let texts: Vec<String> = transcripts.iter().map(|(_, json)| json.to_string()).collect();
    let mut group = criterion.benchmark_group("judge");
    group.sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum()));
    group.bench_function("serde_json", |b| {
        b.iter(|| texts.iter().map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap()).count());
    });
    group.bench_function("judge", |b| {
        b.iter(|| {
            for (vector, json) in &transcripts {
                black_box(judge(vector, &Transcript::from_json(json).unwrap()).unwrap());
            }
        });
    });
    group.finish();
}

/// A report as `report verify` takes it, from its bytes.
fn verifying(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(cetp_bench::program()).arg("run").arg("--report").arg(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let text = std::fs::read(folder.path().join("report.json")).unwrap();
    let catalogue = Catalogue::embedded();
    let mut group = criterion.benchmark_group("verify");
    group.sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("serde_json", |b| {
        b.iter(|| serde_json::from_slice::<serde_json::Value>(&text).unwrap());
    });
    group.bench_function("verify", |b| {
        b.iter(|| {
            let report = cetp_reports::read::report(&text).unwrap();
            black_box(cetp_reports::check::check(&report, &catalogue, &report.suite.version).unwrap());
        });
    });
    group.finish();
}
