//! JUnit XML, for CI servers. The main function is [`junit`].

use crate::error::ReportError;
use crate::model::VectorRow;
use crate::text::{difference, safe, telling};
use crate::view::{Row, View};
use cetp_vectors::judge::Outcome;
use quick_junit::{NonSuccessKind, Property, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::time::Duration;

/// The report as JUnit XML: one suite a level, one case a vector. A wrong answer is a failure, a broken target an error; what
/// was not run, or does not apply, is skipped with its reason.
///
/// # Errors
/// The writer's.
pub fn junit(view: &View<'_>) -> Result<String, ReportError> {
    let report = view.report;
    let mut out = Junit::new(format!("{} {}", report.suite.name, report.target.role.name()));
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    let mut total = Duration::ZERO;
    let mut times: BTreeMap<&str, Duration> = BTreeMap::new();
    for row in view.rows() {
        let level = row.row.level.as_str();
        let suite = suites.entry(level).or_insert_with(|| suite(view, level));
        let time = Duration::from_millis(row.row.duration_ms);
        *times.entry(level).or_default() += time;
        total += time;
        suite.add_test_case(case(&row, view));
    }
    for (level, mut suite) in suites {
        suite.set_time(times[level]);
        out.add_test_suite(suite);
    }
    out.set_time(total);
    out.to_string().map_err(|error| ReportError::Render { form: "JUnit XML", message: error.to_string() })
}

fn suite(view: &View<'_>, level: &str) -> TestSuite {
    let report = view.report;
    let mut suite = TestSuite::new(format!("{}-{level}", report.suite.name));
    for (name, value) in [
        ("target", format!("{} {}", report.target.name, report.target.version)),
        ("role", report.target.role.name().to_owned()),
        ("suite_version", report.suite.version.clone()),
        ("vectors_sha256", report.suite.vectors_sha256.clone()),
        ("verdict", report.levels.get(level).map_or("", |level| level.verdict.name()).to_owned()),
    ] {
        suite.add_property(Property::new(name, safe(&value)));
    }
    suite
}

fn case(row: &Row<'_>, view: &View<'_>) -> TestCase {
    let result: &VectorRow = row.row;
    let reason = safe(result.reason.as_deref().unwrap_or_default());
    let status = match result.outcome {
        Outcome::Pass | Outcome::Warn => TestCaseStatus::success(),
        Outcome::NotRun | Outcome::NotApplicable => {
            let mut status = TestCaseStatus::skipped();
            status.set_type(result.outcome.name()).set_message(reason.as_str());
            status
        }
        Outcome::Fail | Outcome::Error => {
            let kind = if result.outcome == Outcome::Fail { NonSuccessKind::Failure } else { NonSuccessKind::Error };
            let kind_name = result.failed_requirements.first().map_or(result.outcome.name(), String::as_str);
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(kind_name).set_message(reason.as_str()).set_description(explained(row, view));
            status
        }
    };
    // The id's last part is the name; what stands before it, dotted, groups the cases as servers expect of classes.
    let (class, name) = result.vector.rsplit_once('/').unwrap_or(("", &result.vector));
    let mut case = TestCase::new(safe(name), status);
    case.set_classname(safe(&class.replace('.', "_").replace('/', ".")))
        .set_time(Duration::from_millis(result.duration_ms));
    case.add_property(Property::new("vector", safe(&result.vector)));
    case.add_property(Property::new("outcome", result.outcome.name()));
    for (name, list) in [
        ("requirement", &result.requirements),
        ("failed_requirement", &result.failed_requirements),
        ("warned_requirement", &result.warned_requirements),
    ] {
        for id in list {
            case.add_property(Property::new(name, safe(id)));
        }
    }
    if result.outcome == Outcome::Warn {
        case.set_system_out(explained(row, view));
    }
    case
}

/// The findings as text, with the requirement that each breaks.
pub(crate) fn explained(row: &Row<'_>, view: &View<'_>) -> String {
    let mut out = safe(&row.vector.title) + "\n";
    for finding in row.findings() {
        out += &format!("step {}: {}\n", safe(&finding.at), safe(&finding.message));
        if let Some(requirement) = finding.requirement.as_ref().and_then(|id| view.requirement(id)) {
            out += &format!("  {} (§{}): {}\n", requirement.id, requirement.section, requirement.text);
        }
        for mismatch in telling(finding) {
            out += &difference(mismatch);
        }
    }
    out
}
