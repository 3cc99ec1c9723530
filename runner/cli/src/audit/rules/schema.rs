//! Schemas that can be validated by (§3.3, §10.1).

use crate::audit::finding::Desk;
use crate::audit::shape::{MOST_VALUES, values};
use crate::audit::tool::{Provider, Tool};
use cetp_vectors::schema::{DRAFT_2020_12, faults};
use serde_json::Value as Json;

/// TC-18.
pub fn usable(tool: &Tool, provider: &Provider, desk: &mut Desk<'_>) {
    for (pointer, schema) in [tool.input(), tool.output()].into_iter().flatten() {
        if !schema.is_object() && !schema.is_boolean() {
            desk.finding(pointer, "It is no schema: neither an object nor true or false.", "Give a JSON Schema.");
            continue;
        }
        // Told here for every rule that looks into schemas.
        if values(pointer, schema).cut {
            let reason = "too many values, or too deep ones: no rule looks at more than the first";
            desk.unjudged(format!("{pointer} describes {reason} {MOST_VALUES}"));
        }
        // A provider of CETP v2 has one dialect for all (§3.2); elsewhere a schema says its own.
        let own = schema.get("$schema").and_then(Json::as_str);
        let dialect = provider.dialect.as_deref().or(own).unwrap_or(DRAFT_2020_12);
        match faults(schema, dialect) {
            Ok(faults) => {
                for fault in faults {
                    let advice = "Mend the schema; it must be whole in itself, and end.";
                    desk.finding(
                        &format!("{pointer}{}", fault.pointer),
                        format!("The schema cannot be used: {}.", fault.why),
                        advice,
                    );
                }
            }
            Err(why) => desk.unjudged(format!("{pointer}: {why}")),
        }
    }
}
