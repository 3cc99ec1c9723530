//! Switches of the manifest (§2.1).

use crate::switches::{Fault, Leeway, Switches};
use serde_json::{Value as Json, json};

/// What the package manager tells instead.
pub(crate) fn manifest(switches: &Switches, v1: bool, manifest: &mut Json) {
    let service = &mut manifest["services"][0];
    if switches.broken(Fault::ManifestServiceNotExported) {
        service["exported"] = json!(false);
    }
    if switches.broken(Fault::ManifestOtherAction) {
        service["actions"] = json!(["org.cetp.reference.action.TOOL_PROVIDER"]);
    }
    let meta = &mut service["meta_data"];
    if switches.broken(Fault::ManifestWithoutAuthority) {
        super::remove(meta, "com.clawseed.tools.authority");
    }
    let mut set = |name: &str, value: Json| meta[format!("com.clawseed.tools.{name}")] = value;
    if v1 {
        if switches.broken(Fault::LegacyVersionGone) {
            set("version", json!({ "int": 2 }));
        }
        if switches.broken(Fault::ManifestVersionsNotASet) {
            set("versions", json!({ "int": 2 }));
        }
        if switches.broken(Fault::ManifestDeclares3) {
            set("versions", json!({ "string": "1,2,3" }));
        }
        if switches.broken(Fault::ManifestVersionIsTheSet) {
            set("version", json!({ "string": "1,2" }));
        }
        if switches.leeway(Leeway::ManifestTexts) {
            set("version", json!({ "string": "1" }));
            set("versions", json!({ "string": "2, 1" }));
        }
    } else {
        if switches.broken(Fault::ManifestV2OnlySaysVersion1) {
            set("version", json!({ "int": 1 }));
        }
        if switches.broken(Fault::ManifestV2OnlyWithoutVersions) {
            super::remove(meta, "com.clawseed.tools.versions");
        } else if switches.leeway(Leeway::ManifestTexts) {
            set("version", json!({ "string": "2" }));
            set("versions", json!({ "string": "2" }));
        }
    }
    if switches.broken(Fault::ManifestProviderNotExported) {
        manifest["providers"][0]["exported"] = json!(false);
    }
    if switches.broken(Fault::ManifestProviderElsewhere) {
        manifest["providers"] = json!([]);
    }
    if switches.leeway(Leeway::ManifestHasMore) {
        let others = [
            (
                "services",
                json!({ "name": "org.cetp.reference.Sync", "exported": true, "actions": [], "meta_data": {} }),
            ),
            (
                "providers",
                json!({ "name": "org.cetp.reference.Files", "authority": "org.cetp.reference.files", "exported": false, "permission": null }),
            ),
        ];
        for (list, other) in others {
            if let Some(list) = manifest[list].as_array_mut() {
                list.insert(0, other);
            }
        }
    }
}
