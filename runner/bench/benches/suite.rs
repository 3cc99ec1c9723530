//! The whole suite, and how it grows with vectors and children.

use cetp_bench::{Target, adapter, calls, catalogue, ratio};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use criterion::{BenchmarkId, Criterion, SamplingMode};
use serde_json::Value as Json;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    cetp_bench::bench(|| {
        let mut criterion = Criterion::default().sample_size(10).configure_from_args();
        embedded(&mut criterion);
        growth(&mut criterion);
        listing(&mut criterion);
        children(&mut criterion);
        criterion.final_summary();
        ratio("vectors", "1000", "10", "100 is linear");
        ratio("vectors", "10000", "1000", "10 is linear");
        ratio("list", "10000", "1000", "10 is linear");
        for n in ["2", "4", "8", "16"] {
            ratio("children", "1", n, "how many times faster than one");
        }
    })
}

/// The embedded provider suite in process.
fn embedded(criterion: &mut Criterion) {
    let catalogue = Catalogue::embedded();
    let vectors = cetp_bench::providers(&catalogue);
    let mut group = criterion.benchmark_group("embedded");
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function("in-process", |b| b.iter(|| Target::new(adapter("builtin:provider")).all(&vectors, 1)));
    group.bench_function("load", |b| b.iter(Catalogue::embedded));
    group.finish();
}

/// Small vectors, in process.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("vectors");
    group.sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(10));
    for count in [10, 1_000, 10_000] {
        let list: Vec<Json> = (0..count).map(|n| calls(n, 1)).collect();
        let catalogue = catalogue(&list);
        let vectors: Vec<&Vector> = catalogue.vectors.iter().collect();
        let mut target = Target::new(adapter("builtin:provider"));
        group.bench_function(BenchmarkId::from_parameter(count), |b| b.iter(|| target.all(&vectors, 1)));
    }
    group.finish();
}

/// What `--list` does before it prints.
fn listing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("list");
    group.sampling_mode(SamplingMode::Flat);
    for count in [1_000, 10_000] {
        let list: Vec<Json> = (0..count).map(|n| calls(n, 1)).collect();
        let file = cetp_bench::file(&list);
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| Catalogue::heads(Some(file.path())).unwrap());
        });
    }
    group.finish();
}

/// Children that run at the same time.
fn children(criterion: &mut Criterion) {
    let list: Vec<Json> = (0..320).map(|n| calls(n, 20)).collect();
    let catalogue = catalogue(&list);
    let vectors: Vec<&Vector> = catalogue.vectors.iter().collect();
    let target = format!("stdio:{} reference provider", cetp_bench::program());
    let mut group = criterion.benchmark_group("children");
    group.sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(10));
    for threads in [1, 2, 4, 8, 16] {
        group.bench_function(BenchmarkId::from_parameter(threads), |b| {
            b.iter(|| Target::new(adapter(&target)).all(&vectors, threads));
        });
    }
    group.finish();
}
